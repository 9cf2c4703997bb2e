"""Access to the SQLite file of a ledger; all failures are raised as errors of this package."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeAlias

from feemodel.errors import LedgerDamaged, UnreadableFile

BUSY_SECONDS = 30.0  # maximum time that a writer waits for another writer [s]
ADVICE = {
    sqlite3.SQLITE_BUSY: "another process writes to it",
    sqlite3.SQLITE_LOCKED: "another process writes to it",
    sqlite3.SQLITE_CANTOPEN: "check that the file and its folder exist and can be written",
    # On a full disk, SQLite's shared-memory file fails with these codes.
    sqlite3.SQLITE_IOERR_SHMOPEN: "check that its disk has room",
    sqlite3.SQLITE_IOERR_SHMSIZE: "check that its disk has room",
    sqlite3.SQLITE_IOERR_WRITE: "check that its disk has room",
}
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT}

Mode: TypeAlias = Literal["ro", "rw", "rwc"]  # SQLite's names, see `Database`


class Database:
    """Connection to the file of a ledger: "ro" to read; "rw" to read and write; "rwc" to also create a missing file.

    Raises `UnreadableFile` for a file that cannot be opened, and `LedgerDamaged` if SQLite reports a malformed file.
    """

    def __init__(self, path: Path, mode: Mode) -> None:
        self.path = path
        if mode in ("ro", "rw") and not path.is_file():
            raise UnreadableFile(f"{path}: no such ledger")
        with self._named_errors():
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode={mode}",
                uri=True, isolation_level=None, timeout=BUSY_SECONDS,
            )  # fmt: skip

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def one(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the first row of the result, or `None` if the result has no rows."""
        with self._named_errors():
            return self._connection.execute(query, values).fetchone()

    def each(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the rows that a query returns."""
        with self._named_errors():
            yield from self._connection.execute(query, values)

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for each row of values."""
        with self._named_errors():
            self._connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the enclosed statements as one transaction: either all of their writes become durable, or none."""
        self.one("BEGIN IMMEDIATE")
        try:
            yield
            self.one("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # if the disk was full, SQLite has already rolled back
                self._connection.execute("ROLLBACK")
            raise

    def damaged(self, reason: str) -> NoReturn:
        """Raise `LedgerDamaged` with the name of the file."""
        raise LedgerDamaged(f"{self.path}: {reason}")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OverflowError:
            raise LedgerDamaged(f"{self.path}: a row number beyond 64 bits") from None
        except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
            raise  # the connection is closed, or belongs to another thread
        except sqlite3.Error as error:
            extended = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            if extended & 0xFF in DAMAGE:
                raise LedgerDamaged(f"{self.path}: {error}") from None
            advice = ADVICE.get(extended, ADVICE.get(extended & 0xFF))
            raise UnreadableFile(f"{self.path}: {error}{f' ({advice})' if advice else ''}") from None


def file_size(path: Path) -> int:
    """Return the size of a ledger on disk, including its write-ahead log [byte]."""
    return sum(file.stat().st_size for file in (path, Path(f"{path}-wal")) if file.exists())
