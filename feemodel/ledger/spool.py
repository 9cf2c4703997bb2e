"""Rows of bytes on disk while an import needs them: what it would otherwise hold in memory."""

import os
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import UnreadableFile

Bytes = NDArray[np.uint8]


class Spool:
    """Rows of one width in a temporary file without a name, which the system removes with the process.

    Parameters
    ----------
    width : [bytes] of a row.
    folder : where the file is; the system's folder for temporary files unless given.

    Raises `UnreadableFile` where the disk is full or fails.

    >>> with Spool(2) as spool:
    ...     spool.append(np.array([[1, 2], [3, 4]], dtype=np.uint8))
    ...     spool.rows(1, 2).tolist()
    [[3, 4]]
    """

    def __init__(self, width: int, folder: Path | None = None) -> None:
        self._width, self._folder = width, folder
        self._count = 0
        try:
            self._file = TemporaryFile(dir=folder)  # noqa: SIM115 closed by `__exit__`
        except OSError as error:
            raise self._named(error) from None

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Bytes) -> None:
        """Add rows [n, width]."""
        try:
            self._file.write(np.ascontiguousarray(rows).data)
            self._file.flush()
        except OSError as error:
            raise self._named(error) from None
        self._count += len(rows)

    def rows(self, start: int, stop: int) -> Bytes:
        """The rows from one place to another [n, width]."""
        try:
            data = os.pread(self._file.fileno(), (stop - start) * self._width, start * self._width)
        except OSError as error:
            raise self._named(error) from None
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, self._width)

    def _named(self, error: OSError) -> UnreadableFile:
        where = self._folder or "the folder of temporary files"
        return UnreadableFile(f"{where}: no temporary file for the import ({(error.strerror or str(error)).lower()})")
