"""Keep finished parts of a run in a folder, so that an interrupted run can be resumed."""

import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io._files import PathLike, reading, written_whole

EXPERIMENT = "experiment.json"
SHOWN = 3  # maximum number of differences in an error message
PART_FILE = re.compile(r"part-(\d{7,})\.npz")


class FinishedFolder:
    """Folder of one run, with its description and a file per finished piece of a `sweep` or path of a `simulate` run.

    Each file becomes visible only when it is complete. Raises `InvalidInput` if there is no such folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = FinishedFolder(folder)
    ...     parts.open('{"margin": "1.2"}')
    ...     parts.put(2, {"fee": np.array([7, 8])})
    ...     print(parts.numbers(), parts.get(2)["fee"].tolist())
    ...     parts.open('{"margin": "1.5"}')  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: folder: expected a folder of this run: margin is 1.2 in the folder, 1.5 now, got '...'
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise InvalidInput("folder", "expected a folder that exists", str(folder))

    def open(self, experiment: str) -> None:
        """Set the description of the run, a JSON object; raises `InvalidInput` if the folder has another one."""
        path = self.folder / EXPERIMENT
        if not path.exists():
            if any(self.folder.iterdir()):
                raise InvalidInput("folder", "expected an empty folder, or the folder of this run", str(self.folder))
            with written_whole(path) as file:
                file.write(experiment.encode())
            return
        with reading(path):
            stored, now = path.read_text(encoding="utf-8"), json.loads(experiment)
        try:
            held = dict(json.loads(stored))
        except (ValueError, TypeError) as error:
            raise UnreadableFile(f"{path}: no description of a run ({error})") from None
        keys = [key for key in {**held, **now} if held.get(key) != now.get(key)]
        if keys:
            told = [f"{k} is {held.get(k, 'missing')} in the folder, {now.get(k, 'missing')} now" for k in keys[:SHOWN]]
            more = f"; and {len(keys) - SHOWN:,} more" if len(keys) > SHOWN else ""
            raise InvalidInput("folder", f"expected a folder of this run: {'; '.join(told)}{more}", str(self.folder))

    def numbers(self) -> list[int]:
        """Return the numbers of the finished parts in ascending order."""
        found = (PART_FILE.fullmatch(file.name) for file in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def get(self, number: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a part by name; raises `UnreadableFile` if the file is missing or damaged."""
        path = self._file(number)
        try:
            with reading(path), path.open("rb") as file, np.load(file) as arrays:
                return dict(arrays)
        except (UnreadableFile, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
            raise UnreadableFile(f"{path}: not a finished part ({error}); remove this file") from None

    def put(self, number: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays of a finished part."""
        columns: dict[str, Any] = dict(arrays)
        with written_whole(self._file(number)) as file:
            np.savez(file, **columns)

    def _file(self, number: int) -> Path:
        return self.folder / f"part-{number:07d}.npz"
