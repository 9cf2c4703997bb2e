"""Store finished parts of an experiment in a folder, so that an interrupted run can be resumed."""

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from feemodel._records import array_digest
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io._files import PathLike, reading, written_whole

EXPERIMENT = "experiment.json"
CHECKSUM = "sha256"
SHOWN = 3  # maximum number of differences in an error message
PART_FILE = re.compile(r"part-(\d{7,})\.npz")


class FinishedFolder:
    """Folder of one experiment, with one file per finished block of a `sweep` or finished path of a `simulate` run.

    Each file contains a checksum, and becomes visible only when it is complete.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parts = FinishedFolder(folder)
    ...     parts.open("an experiment")
    ...     parts.put(2, {"results/fee": np.array([7, 8])})
    ...     print(parts.numbers(), parts.get(2)["results/fee"].tolist())
    ...     parts.open("another")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: folder: expected a folder of this experiment, not of another experiment, got '...'
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self._experiment = ""  # digest of the experiment, set by `open`
        if not self.folder.is_dir():
            raise InvalidInput("folder", "expected a folder that exists", str(folder))

    def open(self, experiment: str) -> None:
        """Set the experiment's description; raises `InvalidInput` if the folder has parts of another experiment."""
        path = self.folder / EXPERIMENT
        self._experiment = hashlib.sha256(experiment.encode()).hexdigest()
        if not path.exists():
            if any(self.folder.iterdir()):
                raise InvalidInput(
                    "folder",
                    "expected an empty folder, or a folder with finished parts of this experiment",
                    str(self.folder),
                )
            with written_whole(path) as file:
                file.write(json.dumps({"sha256": self._experiment, "experiment": experiment}).encode())
            return
        with reading(path):
            try:
                held = json.loads(path.read_text(encoding="utf-8"))["experiment"]
            except (ValueError, KeyError, TypeError) as error:
                raise UnreadableFile(f"{path}: no description of an experiment ({error})") from None
        if held != experiment:
            reason = f"expected a folder of this experiment, not of another experiment{_differing(held, experiment)}"
            raise InvalidInput("folder", reason, str(self.folder))

    def numbers(self) -> list[int]:
        """Return the numbers of the finished parts in ascending order."""
        found = (PART_FILE.fullmatch(file.name) for file in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def get(self, number: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a part by name; raises `UnreadableFile` if the part is missing or corrupt."""
        file = self._file(number)
        try:
            with reading(file), file.open("rb") as stored:
                columns = dict(np.load(stored))
            if CHECKSUM not in columns or str(columns.pop(CHECKSUM)) != self._checksum(number, columns):
                raise UnreadableFile("the checksum does not match")
            return columns
        except (UnreadableFile, ValueError, KeyError, EOFError, BadZipFile, zlib.error) as error:
            raise UnreadableFile(f"{file}: not a finished part ({error}); remove this file") from None

    def put(self, number: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays of a finished part."""
        columns: dict[str, Any] = {**arrays, CHECKSUM: np.array(self._checksum(number, arrays))}
        with written_whole(self._file(number)) as file:
            np.savez(file, **columns)

    def _file(self, number: int) -> Path:
        return self.folder / f"part-{number:07d}.npz"

    def _checksum(self, number: int, arrays: Mapping[str, NDArray[Any]]) -> str:
        """Return a checksum of the experiment, the part's number, and the name, type, shape and data of every array."""
        told = [self._experiment, number, *((name, array_digest(arrays[name])) for name in sorted(arrays))]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _differing(held: str, wanted: str) -> str:
    """Return the differences between two descriptions of experiments, or "" if they are not JSON objects."""
    try:
        one, other = json.loads(held), json.loads(wanted)
    except (ValueError, TypeError):
        return ""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ""
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    shown = [f"{key}: {one.get(key, 'nothing')} in the folder, {other.get(key, 'nothing')} now" for key in keys[:SHOWN]]
    more = f"; and {len(keys) - SHOWN:,} more" if len(keys) > SHOWN else ""
    return f" (it differs in {'; '.join(shown)}{more})"
