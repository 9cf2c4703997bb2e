"""Read TOML, JSON and gzip files. JSON objects with duplicate names are refused."""

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

GZIP_MAGIC = b"\x1f\x8b"
_QUOTED = re.compile(r"""(['"])(?:[^\\]|\\.){2,}\1""")  # quoted names; a quoted sign such as '=' is no name


def read_toml(path: str | Path, *, secret: bool = False) -> dict[str, Any]:
    """Read a TOML file; a leading byte order mark is skipped.

    Parameters
    ----------
    path : the file.
    secret : whether the file may contain secret keys. If `secret` is true, error messages show the position of a fault
        but no names from the file.

    Raises
    ------
    UnreadableFile : the file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(contents(path).decode("utf-8-sig"))
    except UnreadableFile:
        raise
    except OSError as error:
        raise unreadable(path, error) from None
    except RecursionError:
        raise UnreadableFile(f"{path}: not TOML: nested too deeply") from None
    except ValueError as error:  # text that is not TOML or not UTF-8, a very long integer, or a NUL in the path
        reason = _QUOTED.sub("'…'", str(error)) if secret and isinstance(error, tomllib.TOMLDecodeError) else str(error)
        raise UnreadableFile(f"{path}: not TOML: {reason}") from None


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading from start to end; a gzip file is decompressed.

    Raises `UnreadableFile` if gzip data is truncated or corrupt, and `OSError` if the file cannot be opened.
    """
    with Path(path).open("rb") as file:
        if not file.peek(2).startswith(GZIP_MAGIC):  # a pipe cannot be read twice
            yield file
            return
        try:
            with gzip.open(file) as unpacked:
                yield unpacked  # type: ignore[misc]
        except EOFError:
            raise UnreadableFile(f"{path}: the compressed data ends too early: the file is cut off") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise UnreadableFile(f"{path}: damaged gzip data: {error}") from None


def contents(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file; a gzip file is decompressed.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "call.json").write_text('{"value": "0x1"}')
    ...     contents(pathlib.Path(folder, "call.json"))
    b'{"value": "0x1"}'
    """
    with opened(path) as file:
        return file.read()


def parse_json(text: str | bytes, position: str = "the document") -> Any:
    """Parse a JSON value.

    Raises `InvalidInput` if the text is not valid JSON, or if an object has two members with the same name.

    >>> parse_json('{"value": 1, "gas": 2}')
    {'value': 1, 'gas': 2}
    """
    try:
        return json.loads(text, object_pairs_hook=unique_names)
    except InvalidInput as error:
        raise InvalidInput(position, error.reason, error.value) from None
    except json.JSONDecodeError as error:
        reason = f"not JSON at line {error.lineno} column {error.colno} ({error.msg})"
        raise InvalidInput(position, reason, error.doc[error.pos :]) from None
    except (ValueError, RecursionError) as error:  # text not in UTF-8, deep nesting, or a very long integer
        raise InvalidInput(position, f"not JSON ({error})", text) from None


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object from its members, as an `object_pairs_hook` for `json`.

    Raises `InvalidInput` for a duplicate name.

    >>> unique_names([("value", 1), ("gas", 2)])
    {'value': 1, 'gas': 2}
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise InvalidInput("JSON", "expected each name only once", name)
    return value


def encoded(name: str, data: Any) -> bytes:
    """Return bytes unchanged and text as UTF-8; raises `InvalidInput` for other types.

    >>> encoded("data", "0x02")
    b'0x02'
    """
    if isinstance(data, str):
        return data.encode("utf-8", "surrogateescape")
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidInput(name, "expected the bytes or the text of a document", data)
    return bytes(data)
