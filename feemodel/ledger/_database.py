"""Access to the SQLite file of a ledger; all failures are raised as errors of this package.

A file that is open only for reading is mapped into memory. By default, Linux reads 128 KiB (the disk's setting
`read_ahead_kb`) around each mapped page that is accessed. A proof needs only about twenty scattered pages, so
read-ahead is disabled.
"""

import ctypes
import sqlite3
import sys
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

from feemodel.errors import LedgerDamaged, UnreadableFile, unreadable

BUSY_SECONDS = 30.0  # maximum time that a writer waits for another writer [s]
MAPPED_BYTES = 1 << 40  # maximum mapped size of a read-only file [byte]; SQLite's own limit is usually 2 GiB
ADVICE = {
    sqlite3.SQLITE_BUSY: "another process writes to it",
    sqlite3.SQLITE_LOCKED: "another process writes to it",
    sqlite3.SQLITE_CANTOPEN: "check that the file and its folder exist and can be written",
}
# Error codes that mean, like SQLITE_FULL, that the disk is full. SQLITE_IOERR_SHMOPEN and SQLITE_IOERR_SHMSIZE concern
# the file through which processes share memory.
NO_ROOM = {sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_WRITE}
# Error codes with causes other than a corrupt file; all error codes not in `NO_DAMAGE` mean that the file is corrupt.
NO_DAMAGE = {
    *ADVICE, sqlite3.SQLITE_PERM, sqlite3.SQLITE_ABORT, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_AUTH,
}  # fmt: skip

Mode: TypeAlias = Literal["ro", "rw", "rwc", "memory"]  # SQLite's names, see `Database`


class Database:
    """Connection to the file of a ledger.

    On a full or read-only disk, SQLite may be able to open the file only if the file is declared immutable.
    If the file was declared immutable, `check_file` reopens the file when another process has changed it.

    Parameters
    ----------
    path : the file.
    mode : "ro" to read; "rw" to read and write; "rwc" to also create a missing file; "memory" for no file.

    Raises `UnreadableFile` for a file that cannot be opened, and `LedgerDamaged` if SQLite reports a malformed file.
    """

    def __init__(self, path: Path, mode: Mode) -> None:
        self.path, self._mode = path, mode
        if mode in ("ro", "rw") and not path.is_file():
            raise UnreadableFile(f"{path}: no such ledger")
        self._open()

    def _open(self) -> None:
        self.is_immutable = False
        self._connection = self._connected(self._mode)
        if self._mode == "memory":
            weakref.finalize(self, self._connection.close)  # in-memory databases are never closed explicitly
            return
        self._state = self._file_state()
        if self._mode != "ro":
            return
        try:
            self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            self._connection.close()
            code = error.sqlite_errorcode
            no_files = code in NO_ROOM or code & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            if not no_files or self._has_log():
                raise self._named(error) from None
            # SQLite could not create the write-ahead log and the shared-memory file in the folder of the ledger.
            self.is_immutable = True
            self._connection = self._connected("ro&immutable=1")
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise self._named(error) from None
        self._map()

    def _map(self) -> None:
        """Map the file into memory, for reading scattered pages.

        Read-ahead can be disabled only after the file is mapped, so the first access through the mapping could read up
        to 8 MiB around the accessed page. To avoid a read of 8 MiB, the method reads the page once before the file is
        mapped. The method uses the page with the first row of `node`: imports never rewrite this page, so the page is
        never in the write-ahead log.
        """
        if not self.one("SELECT count(*) FROM sqlite_master WHERE name = 'node' AND type = 'table'")[0]:
            return  # the file is not a ledger, for which another method raises an error
        self.one("SELECT id FROM node WHERE id = 1")
        self.run(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        self.one("SELECT id FROM node WHERE id = 1")
        _advise(self.path, RANDOM)

    @contextmanager
    def read_whole(self) -> Iterator[None]:
        """Enable read-ahead while the whole of a mapped file is read."""
        _advise(self.path, NORMAL)
        try:
            yield
        finally:
            _advise(self.path, RANDOM)

    def _connected(self, mode: str) -> sqlite3.Connection:
        address = f"{self.path.resolve().as_uri()}?mode={mode}"
        try:
            return sqlite3.connect(
                address, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=mode != "memory"
            )
        except sqlite3.Error as error:
            raise self._named(error) from None

    def _has_log(self) -> bool:
        """Return whether there is a write-ahead log with blocks that the main file does not contain yet."""
        log = Path(f"{self.path}-wal")
        return log.exists() and log.stat().st_size > 0

    def _file_state(self) -> tuple[int, int, int, int]:
        try:
            found = self.path.stat()
        except OSError as error:
            raise unreadable(self.path, error) from None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def check_file(self) -> bool:
        """Return whether the file has changed since the last call, for example because of an import.

        Raises `UnreadableFile` if the path now names another file.
        """
        state = self._file_state()
        if state == self._state and not (self.is_immutable and self._has_log()):
            return False
        if state[:2] != self._state[:2]:
            raise UnreadableFile(f"{self.path}: the file was replaced after it was opened; open the ledger again")
        self._state = state
        if self.is_immutable:
            self._connection.close()
            self._open()
        elif self._mode == "ro":
            self._map()  # the file may have been empty at opening, with all rows in the write-ahead log
        return True

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def one(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the first row of the result, or `None` if the result has no rows."""
        try:
            return self._connection.execute(query, values).fetchone()
        except (sqlite3.Error, OverflowError) as error:
            raise self._named(error) from None

    def all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return all rows."""
        try:
            return self._connection.execute(query, values).fetchall()
        except (sqlite3.Error, OverflowError) as error:
            raise self._named(error) from None

    def each(self, query: str, size: int) -> Iterator[list[Any]]:
        """Yield the rows that a query returns, at most `size` rows at a time."""
        try:
            cursor = self._connection.execute(query)
            while part := cursor.fetchmany(size):
                yield part
        except (sqlite3.Error, OverflowError) as error:
            raise self._named(error) from None

    def run(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement that returns no rows."""
        self.one(statement, values)

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> int:
        """Execute a statement for each row of values; return the total number of rows written."""
        try:
            return self._connection.executemany(statement, rows).rowcount
        except (sqlite3.Error, OverflowError) as error:
            raise self._named(error) from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the enclosed statements as one transaction: either all of their writes become durable, or none."""
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # if the disk was full, SQLite has already rolled back
                self._connection.execute("ROLLBACK")
            raise

    def damaged(self, reason: str) -> NoReturn:
        """Raise `LedgerDamaged` with the name of the file."""
        raise LedgerDamaged(f"{self.path}: {reason}")

    def _named(self, error: Exception) -> Exception:
        if isinstance(error, OverflowError):
            return LedgerDamaged(f"{self.path}: a row number beyond 64 bits")
        if isinstance(
            error, (sqlite3.ProgrammingError, sqlite3.InterfaceError)
        ):  # the connection is closed, or belongs to another thread
            return error
        extended = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        code = extended & 0xFF
        if code not in NO_DAMAGE:
            return LedgerDamaged(f"{self.path}: {error}")
        advice = f" ({ADVICE[code]})" if code in ADVICE else ""
        if extended in NO_ROOM:
            advice = " (check that its disk has room)"
        return UnreadableFile(f"{self.path}: {error}{advice}")


def file_size(path: Path) -> int:
    """Return the size of a ledger on disk, including its write-ahead log [byte]."""
    return sum(file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.exists())


RANDOM, NORMAL = 1, 0  # Linux's MADV_RANDOM and MADV_NORMAL, which SQLite cannot set


def _advise(path: Path, advice: int) -> int:
    """Call `madvise` for all memory mappings of a file, if the system is Linux; return the number of mappings."""
    if not sys.platform.startswith("linux"):
        return 0
    name = str(path.resolve())
    count = 0
    with Path("/proc/self/maps").open(encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            addresses, *_, mapped = line.rstrip("\n").split(None, 5)
            if mapped == name:
                start, end = (int(address, 16) for address in addresses.split("-"))
                count += _libc().madvise(start, end - start, advice) == 0
    return count


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc
