"""Limits on the memory and the time that reading a file may take.

| environment variable       | limit                                                              | default          |
|----------------------------|--------------------------------------------------------------------|------------------|
| FEEMODEL_MAX_FILE_BYTES    | decompressed bytes of a file, or of the tables and arrays in it    | 536,870,912      |
| FEEMODEL_MAX_FILE_SECONDS  | time to read a NetCDF file                                         | 30               |

The limit for JSON is a quarter of FEEMODEL_MAX_FILE_BYTES, because parsed values take about twenty times the memory of
their text. Each row of a table is counted as at least 32 bytes. Files that are read in parts (a ledger's blocks and
trie logs, a large genesis) may have any length; the limit for JSON applies to each line or account of such a file.
"""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.progress import Progress, reporting

BYTES, SECONDS = "FEEMODEL_MAX_FILE_BYTES", "FEEMODEL_MAX_FILE_SECONDS"
DEFAULT_BYTES, DEFAULT_SECONDS = 1 << 29, 30
ROW = 32  # minimum size assumed for a row of a table [byte]
JSON_SHARE = 4  # maximum size of JSON = maximum size of a file / JSON_SHARE
LONG_READ = 1 << 26  # size of a file above which progress is shown [byte]

_PROGRESS: ContextVar[Progress] = ContextVar("progress of reading files", default=None)


def max_bytes() -> int:
    """Return the maximum size of a decompressed file [byte].

    Raises `InvalidInput` if FEEMODEL_MAX_FILE_BYTES is not an integer above 0.

    >>> max_bytes()
    536870912
    """
    return _setting(BYTES, DEFAULT_BYTES)


def max_json_bytes() -> int:
    """Return the maximum size of a JSON document, or of a line of JSON Lines [byte].

    >>> max_json_bytes()
    134217728
    """
    return max(1, max_bytes() // JSON_SHARE)


def max_seconds() -> int:
    """Return the maximum time to read a NetCDF file [s].

    >>> max_seconds()
    30
    """
    return _setting(SECONDS, DEFAULT_SECONDS)


def _setting(name: str, default: int) -> int:
    text = os.environ.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 19 and int(text)):
        raise InvalidInput(name, "expected a whole number above 0", text)
    return int(text)


def too_large(path: object, maximum: int, what: str = "bytes") -> UnreadableFile:
    """Return the error for a file that exceeds a limit.

    >>> str(too_large("fees.csv.gz", 1_000))
    'fees.csv.gz: holds more than 1,000 bytes once unpacked; the environment variable FEEMODEL_MAX_FILE_BYTES \
(536,870,912 bytes) raises the bound'
    """
    return UnreadableFile(f"{path}: holds more than {maximum:,} {what} once unpacked; {raised_by()}")


def raised_by() -> str:
    """Return the part of an error message that says how to raise the limit on bytes.

    >>> raised_by()
    'the environment variable FEEMODEL_MAX_FILE_BYTES (536,870,912 bytes) raises the bound'
    """
    return f"the environment variable {BYTES} ({max_bytes():,} bytes) raises the bound"


def check_rows(path: object, rows: int) -> None:
    """Raise `UnreadableFile` if a table has more rows than the limit on bytes allows.

    >>> check_rows("fees.csv", 1_000_000)
    """
    if rows > (maximum := max_bytes() // ROW):
        raise too_large(path, maximum, "rows")


def bounded(file: BinaryIO, path: object, maximum: int) -> BinaryIO:
    """Return a stream that raises `UnreadableFile` when more bytes than the limit have been read.

    >>> bounded(io.BytesIO(bytes(2_000)), "zeros", 1_000).read()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    feemodel.errors.UnreadableFile: zeros: holds more than 1,000 bytes once unpacked; ...
    """
    return io.BufferedReader(_Bounded(file, path, maximum), 1 << 16)


class _Bounded(io.RawIOBase):
    def __init__(self, file: BinaryIO, path: object, maximum: int) -> None:
        self._file, self._path, self._maximum, self._left = file, path, maximum, maximum

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count: int = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self._left -= count
        if self._left < 0:
            raise too_large(self._path, self._maximum)
        return count


def bounded_lines(file: BinaryIO, path: object) -> Iterator[bytes]:
    """Yield the lines of a stream of any length; raises `UnreadableFile` for a line that exceeds the limit for JSON.

    >>> list(bounded_lines(io.BytesIO(b"one\\ntwo"), "words"))
    [b'one\\n', b'two']
    """
    maximum = max_json_bytes()
    number = 1
    while line := file.readline(maximum + 1):
        if len(line) > maximum:
            raise too_large(f"{path}, line {number}", maximum)
        yield line
        number += 1


@contextmanager
def showing_progress(progress: Progress) -> Iterator[None]:
    """Return a context manager that reports the progress of reading large files.

    Parameters
    ----------
    progress : `True` shows a progress bar for each file of more than 64 MiB if standard error is a terminal. If
        `progress` is a function, it is called with the number of bytes read since the previous call, counted before
        decompression.

    Returns
    -------
    A context manager.

    Raises
    ------
    InvalidInput : `progress` is neither a bool nor a function (raised only when a file is read).

    >>> with showing_progress(True):
    ...     pass
    """
    token = _PROGRESS.set(progress)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


@contextmanager
def reported(file: BinaryIO, path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a stream that reports progress if `showing_progress` is active and the file is large."""
    progress, size = _PROGRESS.get(), os.fstat(file.fileno()).st_size
    if not progress or size < LONG_READ:
        yield file
        return
    with reporting(progress, size, f"bytes of {Path(path).name}") as advance:
        yield io.BufferedReader(_Reported(file, advance), 1 << 20)


class _Reported(io.RawIOBase):
    def __init__(self, file: BinaryIO, advance: Callable[[int], object]) -> None:
        self._file, self._advance = file, advance

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count: int = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self._advance(count)
        return count
