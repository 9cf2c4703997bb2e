"""A copy of a ledger while it may be written."""

import os
import tempfile
from pathlib import Path

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ledger.store import Block, Store


def back_up(store: Store, path: str | Path) -> Block | None:
    """Copy a ledger as it is at one moment into a new file; the head of the copy.

    Another process may import blocks meanwhile. The copy appears under its name when all of it is on disk, or not at
    all; it is one file, without a write-ahead log.

    Raises `InvalidInput` where the file exists or its folder cannot be written, `UnreadableFile` where the disk fails.

    >>> import tempfile
    >>> from feemodel.ledger.genesis import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [])
    ...     back_up(store, f"{folder}/copy.db") == block
    True
    """
    target = Path(path)
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InvalidInput("out", f"cannot be written ({error.strerror})", str(target)) from None
    with folder:
        part = Path(folder.name) / target.name
        store.database.copy_to(part)
        with Store(part, read_only=True) as copy:
            head = copy.head
        with part.open("rb") as file:
            os.fsync(file.fileno())
        try:
            os.link(part, target)  # which fails where the file exists
        except FileExistsError:
            raise InvalidInput("out", "exists already", str(target)) from None
        except OSError as error:
            raise UnreadableFile(f"{target}: {error.strerror}") from None
    return head
