"""Finished parts of an experiment in a folder, so that an interrupted run goes on where it stopped."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io.arrays import read_arrays
from feemodel.io.files import PathLike, reading, written_whole

#: Sums of the days, the statistics by their names, and the series over steps where they were recorded.
Finished = tuple[NDArray[np.float64], dict[str, float], NDArray[np.float64] | None]

EXPERIMENT = "experiment.json"
CHECKSUM = "sha256"
SHOWN = 3  # differences that a refusal names
BLOCK_FILE = re.compile(r"block-(\d{7,})\.npz")


class FinishedFolder:
    """What `PathFolder` and `BlockFolder` share: a folder that belongs to one experiment, with a file for each part.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     BlockFolder(folder).open("an experiment")
    ...     BlockFolder(folder).open("another")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: folder: expected the folder of this experiment, it holds another's, got '...'
    """

    part = ""  # what a file holds

    def __init__(self, folder: PathLike) -> None:
        self.folder = Path(folder)
        self._experiment = ""  # its digest, once it is opened
        if not self.folder.is_dir():
            raise InvalidInput("folder", "expected a folder that exists", str(folder))

    def open(self, experiment: str) -> None:
        """Take an experiment's description; raises `InvalidInput` where the folder holds parts of another one."""
        path = self.folder / EXPERIMENT
        self._experiment = hashlib.sha256(experiment.encode()).hexdigest()
        if not path.exists():
            if any(self.folder.iterdir()):
                raise InvalidInput("folder", "expected an empty folder, or one of this experiment", str(self.folder))
            with written_whole(path) as file:
                digest = hashlib.sha256(experiment.encode()).hexdigest()
                file.write(json.dumps({"sha256": digest, "experiment": experiment}).encode())
            return
        with reading(path):
            try:
                held = json.loads(path.read_text(encoding="utf-8"))["experiment"]
            except (ValueError, KeyError, TypeError) as error:
                raise UnreadableFile(f"{path}: no description of an experiment ({error})") from None
        if held != experiment:
            reason = f"expected the folder of this experiment, it holds another's{_differing(held, experiment)}"
            raise InvalidInput("folder", reason, str(self.folder))

    def _file(self, number: int) -> Path:
        return self.folder / f"{self.part}-{number:07d}.npz"

    def _read(self, number: int) -> dict[str, Any]:
        file = self._file(number)
        try:
            columns = read_arrays(file)
            if CHECKSUM not in columns or str(columns.pop(CHECKSUM)) != self._checksum(number, columns):
                raise UnreadableFile("its checksum is not that of what it holds")
            return columns
        except UnreadableFile as error:
            raise UnreadableFile(f"{file}: no finished {self.part} ({error}); remove it") from None

    def _write(self, number: int, columns: Mapping[str, Any]) -> None:
        arrays: dict[str, Any] = {name: np.asarray(values) for name, values in columns.items()}
        arrays[CHECKSUM] = np.array(self._checksum(number, arrays))
        with written_whole(self._file(number)) as file:
            np.savez(file, **arrays)

    def _checksum(self, number: int, columns: Mapping[str, NDArray[Any]]) -> str:
        """Of the experiment, the part's number, and every array with its name, type and shape."""
        sha = hashlib.sha256(f"{self._experiment} {number}".encode())
        for name in sorted(columns):
            array = np.ascontiguousarray(columns[name])
            sha.update(f"{name} {array.dtype.str} {columns[name].shape} ".encode() + array.tobytes())
        return sha.hexdigest()


class PathFolder(FinishedFolder):
    """A folder with one file for each finished path of `simulate`; each appears whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = PathFolder(folder)
    ...     paths.open("an experiment")
    ...     print(paths.get(0))
    None
    """

    part = "path"

    def get(self, path: int) -> Finished | None:
        """A finished path, `None` where it is not there."""
        if not self._file(path).exists():
            return None
        held = self._read(path)
        try:
            summary = dict(zip(held["names"].tolist(), held["values"].tolist(), strict=True))
            return held["days"], summary, held.get("series")
        except (ValueError, KeyError) as error:
            raise UnreadableFile(f"{self._file(path)}: no finished path ({error}); remove it") from None

    def put(self, path: int, finished: Finished) -> None:
        """Keep a finished path."""
        days, summary, series = finished
        columns: dict[str, Any] = {"days": days, "names": [*summary], "values": [*summary.values()]}
        self._write(path, columns if series is None else columns | {"series": series})


class BlockFolder(FinishedFolder):
    """A folder with one file for each finished block of `sweep`; each appears whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     blocks = BlockFolder(folder)
    ...     blocks.open("an experiment")
    ...     blocks.put(2, {"results/fee": np.array([7, 8])})
    ...     print(blocks.numbers(), blocks.get(2)["results/fee"].tolist())
    [2] [7, 8]
    """

    part = "block"

    def numbers(self) -> list[int]:
        """Which blocks are there, in order."""
        found = (BLOCK_FILE.fullmatch(file.name) for file in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def get(self, block: int) -> dict[str, NDArray[Any]]:
        """The arrays of a block, by name; raises `UnreadableFile` where it is not there or not whole."""
        return self._read(block)

    def put(self, block: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the arrays of a finished block."""
        self._write(block, arrays)


def _differing(held: str, wanted: str) -> str:
    """What two descriptions differ in, where both are objects of JSON."""
    try:
        one, other = json.loads(held), json.loads(wanted)
    except (ValueError, TypeError):
        return ""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ""
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    shown = [f"{key}: {one.get(key, 'nothing')} there, {other.get(key, 'nothing')} here" for key in keys[:SHOWN]]
    more = f"; and {len(keys) - SHOWN:,} more" if len(keys) > SHOWN else ""
    return f" (it differs in {'; '.join(shown)}{more})"
