"""Finished paths of a simulation in a folder, so that an interrupted run goes on where it stopped."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io.files import PathLike, reading, written_whole

#: Sums of the days, the statistics by their names, and the series over steps where they were recorded.
Finished = tuple[NDArray[np.float64], dict[str, float], NDArray[np.float64] | None]

EXPERIMENT = "experiment.json"


class PathFolder:
    """A folder with one file for each finished path; each appears whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = PathFolder(folder)
    ...     paths.open("an experiment")
    ...     print(paths.get(0))
    None
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise InvalidInput("folder", "expected a folder that exists", str(folder))

    def open(self, experiment: str) -> None:
        """Take an experiment's description; raises `InvalidInput` where the folder holds another one's paths."""
        digest = hashlib.sha256(experiment.encode()).hexdigest()
        path = self.folder / EXPERIMENT
        if not path.exists():
            if any(self.folder.iterdir()):
                raise InvalidInput("folder", "expected an empty folder, or one of this experiment", str(self.folder))
            with written_whole(path) as file:
                file.write(json.dumps({"sha256": digest, "experiment": experiment}).encode())
            return
        with reading(path):
            try:
                held = json.loads(path.read_text(encoding="utf-8"))["sha256"]
            except (ValueError, KeyError, TypeError) as error:
                raise UnreadableFile(f"{path}: no description of an experiment ({error})") from None
        if held != digest:
            raise InvalidInput("folder", "expected the folder of this experiment, it holds another's", str(self.folder))

    def get(self, path: int) -> Finished | None:
        """A finished path, `None` where it is not there."""
        file = self._file(path)
        if not file.exists():
            return None
        with reading(file):
            try:
                with np.load(file, allow_pickle=False) as held:
                    summary = dict(zip(held["names"].tolist(), held["values"].tolist(), strict=True))
                    series = held.get("series")
                    return held["days"], summary, series
            except (ValueError, KeyError, EOFError) as error:
                raise UnreadableFile(f"{file}: no finished path ({error}); remove it") from None

    def put(self, path: int, finished: Finished) -> None:
        """Keep a finished path."""
        days, summary, series = finished
        columns: dict[str, Any] = {"days": days, "names": [*summary], "values": [*summary.values()]}
        if series is not None:
            columns["series"] = series
        with written_whole(self._file(path)) as file:
            np.savez(file, **columns)

    def _file(self, path: int) -> Path:
        return self.folder / f"path-{path:07d}.npz"
