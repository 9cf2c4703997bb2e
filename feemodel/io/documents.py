"""TOML files, JSON whose objects have each name once, and files that may be gzipped."""

import gzip
import json
import os
import re
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from feemodel.errors import InvalidInput, UnreadableFile, unreadable
from feemodel.io.bounds import bounded, most_bytes, most_json_bytes, reported, too_large

GZIP_MAGIC = b"\x1f\x8b"
_QUOTED = re.compile(r"""(['"])(?:[^\\]|\\.){2,}\1""")  # names of the file in an error's text, not '=' or ']'


def read_toml(path: str | Path, *, secret: bool = False) -> dict[str, Any]:
    """The document of a TOML file; a byte order mark before it is skipped.

    Parameters
    ----------
    path : the file.
    secret : whether the file may hold keys: an error then shows the place of a mistake and no name of the file.

    Raises
    ------
    UnreadableFile : a file that cannot be read, or that is not TOML.
    """
    try:
        return tomllib.loads(contents(path).decode("utf-8-sig"))
    except UnreadableFile:
        raise
    except OSError as error:
        raise unreadable(path, error) from None
    except RecursionError:
        raise UnreadableFile(f"{path}: not TOML: nested too deeply") from None
    except ValueError as error:  # TOML, UTF-8, a NUL in the name, and a whole number of more digits than Python reads
        reason = _QUOTED.sub("'…'", str(error)) if secret and isinstance(error, tomllib.TOMLDecodeError) else str(error)
        raise UnreadableFile(f"{path}: not TOML: {reason}") from None


@contextmanager
def opened(path: str | os.PathLike[str], *, most: int | None = None, streamed: bool = False) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it begins like gzip, read from the beginning to the end once.

    Parameters
    ----------
    path : the file.
    most : bytes that may be read of it, unpacked; `feemodel.io.bounds.most_bytes` unless given.
    streamed : it is read in parts that are bounded each, such as lines, and may be of any length.

    Raises `UnreadableFile` for gzip data that is cut off or damaged, and for more bytes than the bound; `OSError` as
    `open` does.
    """
    most = most_bytes() if most is None else most
    with Path(path).open("rb") as file, reported(file, path) as read:
        if not read.peek(2).startswith(GZIP_MAGIC):  # type: ignore[attr-defined]  # a pipe cannot be read twice
            if not streamed and os.fstat(file.fileno()).st_size > most:
                raise too_large(path, most)
            yield read if streamed else bounded(read, path, most)
            return
        try:
            with gzip.open(read) as unpacked:
                yield unpacked if streamed else bounded(unpacked, path, most)  # type: ignore[arg-type, misc]
        except EOFError:
            raise UnreadableFile(f"{path}: the compressed data ends too early: the file is cut off") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise UnreadableFile(f"{path}: damaged gzip data: {error}") from None


def contents(path: str | os.PathLike[str]) -> bytes:
    """A whole document, unpacked where it begins like gzip; raises as `opened` with the bound of JSON.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "call.json").write_text('{"value": "0x1"}')
    ...     contents(pathlib.Path(folder, "call.json"))
    b'{"value": "0x1"}'
    """
    with opened(path, most=most_json_bytes()) as file:
        return file.read()


def parse_json(text: str | bytes, place: str = "the document") -> Any:
    """One JSON value.

    Raises `InvalidInput` with the place where the text stops being JSON, or the name that an object has twice.

    >>> parse_json('{"value": 1, "gas": 2}')
    {'value': 1, 'gas': 2}
    """
    try:
        return json.loads(text, object_pairs_hook=unique_names)
    except InvalidInput as error:
        raise InvalidInput(place, error.reason, error.value) from None
    except json.JSONDecodeError as error:
        reason = f"not JSON at line {error.lineno} column {error.colno} ({error.msg})"
        raise InvalidInput(place, reason, error.doc[error.pos :]) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, an integer of thousands of digits, nested too deeply
        raise InvalidInput(place, f"not JSON ({error})", text) from None


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, for `object_pairs_hook`; raises `InvalidInput` for a name that it has twice.

    >>> unique_names([("value", 1), ("gas", 2)])
    {'value': 1, 'gas': 2}
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidInput("JSON", "expected each name once", name)
    return value


def encoded(name: str, data: Any) -> bytes:
    """The bytes of a document, or of its text; raises `InvalidInput` for anything else.

    >>> encoded("data", "0x02")
    b'0x02'
    """
    if isinstance(data, str):
        return data.encode("utf-8", "surrogateescape")
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidInput(name, "expected the bytes or the text of a document", data)
    return bytes(data)
