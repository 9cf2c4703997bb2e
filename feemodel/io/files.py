"""Read TOML, JSON, gzip, CSV and Parquet files, and write files that become visible only when complete.

JSON objects with duplicate names are refused. For an invalid file, `UnreadableFile` states the path and the fault.
"""

import csv
import gzip
import json
import os
import re
import secrets
import sys
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from feemodel._extras import need
from feemodel.errors import InvalidInput, UnreadableFile, unreadable

if TYPE_CHECKING:
    import pyarrow as pa

PathLike: TypeAlias = str | os.PathLike[str]
Container: TypeAlias = Literal["parquet", "csv", "json"]

GZIP_MAGIC, PARQUET_MAGIC = b"\x1f\x8b", b"PAR1"
BOM = b"\xef\xbb\xbf"  # byte order mark that some editors write before UTF-8 text
_NAME = re.compile(rb'"?[A-Za-z_][A-Za-z0-9_]*"?\Z')  # header of a CSV file with one column
CSV_BLOCK = 1 << 26  # number of bytes that the CSV parser reads at a time; a longer row cannot be read
_QUOTED = re.compile(r"""(['"])(?:[^\\]|\\.){2,}\1""")  # quoted names; a quoted sign such as '=' is no name
#: Missing values in text files of pandas, R, Dune, Spark and PostgreSQL.
NO_VALUE = ("", "<nil>", "<NA>", "NA", "null", "NULL", "None", "nan", "NaN", "\\N")


def read_toml(path: str | Path) -> dict[str, Any]:
    """Read a TOML file; a leading byte order mark is skipped.

    Raises `UnreadableFile` if the file cannot be read, or is not TOML. The error shows the position of a fault but no
    names from the file, because the file may contain keys.
    """
    try:
        with reading(path):
            content = contents(path)
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnreadableFile:
        raise
    except RecursionError:
        raise UnreadableFile(f"{path}: not TOML: nested too deeply") from None
    except ValueError as error:  # text that is not TOML or not UTF-8, or a very long integer
        reason = _QUOTED.sub("'…'", str(error)) if isinstance(error, tomllib.TOMLDecodeError) else str(error)
        raise UnreadableFile(f"{path}: not TOML: {reason}") from None


@contextmanager
def reading(path: PathLike) -> Iterator[None]:
    """Convert errors about a file or its content to `UnreadableFile`. The error message begins with the path."""
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(path):
        raise InvalidInput("path", "expected the name of a file, without a null byte", path)
    arrow = getattr(sys.modules.get("pyarrow"), "ArrowException", InvalidInput)  # if pyarrow is imported
    try:
        yield
    except UnreadableFile:
        raise
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}: not UTF-8 text: {error.reason} at byte {error.start:,}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableFile(f"{path}: damaged gzip data: {error}") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except (InvalidInput, csv.Error, arrow) as error:
        raise UnreadableFile(f"{path}: {error}") from None


@contextmanager
def opened(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for reading from start to end; a gzip file is decompressed."""
    with Path(path).open("rb") as file:
        if file.peek(2).startswith(GZIP_MAGIC):  # a pipe cannot be read twice
            with gzip.open(file) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield file


def contents(path: PathLike) -> bytes:
    """Return the content of a file; a gzip file is decompressed.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "call.json").write_text('{"value": "0x1"}')
    ...     contents(pathlib.Path(folder, "call.json"))
    b'{"value": "0x1"}'
    """
    with opened(path) as file:
        return file.read()


def container_of(path: PathLike) -> Container:
    """Return whether a file is Parquet, CSV or JSON, by its first bytes. Lines of hexadecimal data count as JSON."""
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise UnreadableFile(f"{path}: a pipe or a device, which cannot be read twice; save it as a file first")
    with opened(path) as file:
        start = file.read(4096)
    if not start:
        raise UnreadableFile(f"{path}: the file is empty")
    if start.startswith(PARQUET_MAGIC):
        return "parquet"
    text = start.removeprefix(BOM).lstrip()
    if text.startswith((b"{", b"[", b"0x")):
        return "json"
    header, line_break, _ = text.partition(b"\n")
    if b"\0" not in start and (b"," in header or (line_break and _NAME.match(header.strip()))):
        return "csv"
    raise UnreadableFile(f"{path}: neither Parquet nor CSV with commas nor JSON; it begins with {start[:16]!r}")


def column_names(path: PathLike, container: Container) -> list[str]:
    """Return the column names of a Parquet or CSV file."""
    if container == "parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(path).names)
    with opened(path) as file:
        return next(csv.reader([file.readline().decode("utf-8-sig")]))


def read_columns(path: PathLike, container: Container, names: Sequence[str]) -> "pa.Table":
    """Read columns of a Parquet or CSV file into an Arrow table; columns of a CSV file are text."""
    need(f"reading {path}", "pyarrow")
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    if container == "parquet":
        return pq.read_table(path, columns=list(names), partitioning=None).combine_chunks()
    as_text = arrow_csv.ConvertOptions(
        include_columns=list(names), column_types=dict.fromkeys(names, pa.string()), null_values=NO_VALUE,
        strings_can_be_null=True,
    )  # fmt: skip
    # with several threads, errors of the parser do not contain the row number
    options = arrow_csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK)
    with opened(path) as file:
        return arrow_csv.read_csv(file, read_options=options, convert_options=as_text)


def parse_json(text: str | bytes, position: str = "the document") -> Any:
    """Parse a JSON value.

    Raises `InvalidInput` if the text is not valid JSON, or if an object has two members with the same name.

    >>> parse_json('{"value": 1, "gas": 2}')
    {'value': 1, 'gas': 2}
    """

    def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
            raise InvalidInput(position, "expected each name only once", name)
        return value

    try:
        return json.loads(text, object_pairs_hook=unique_names)
    except InvalidInput:
        raise
    except json.JSONDecodeError as error:
        reason = f"not JSON at line {error.lineno} column {error.colno} ({error.msg})"
        raise InvalidInput(position, reason, error.doc[error.pos :]) from None
    except (ValueError, TypeError, RecursionError) as error:  # not UTF-8, not text, deep nesting, a very long integer
        raise InvalidInput(position, f"not JSON ({error})", text) from None


def json_objects(data: bytes | str) -> list[Mapping[str, Any]]:
    """Return the objects of a JSON document, of a list, or of JSON Lines.

    The responses of a node, and of a query of Dune, are replaced by their results. A line of hexadecimal data becomes
    an object with the member `raw`.
    """
    text = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    values = (_lines(text) if isinstance(text, bytes) else None) or [parse_json(text)]
    objects: list[Any] = []
    for value in map(_result, values):
        objects += map(_result, value if isinstance(value, list) else [value])
    for row, item in enumerate(objects, 1):
        if not isinstance(item, Mapping):
            raise InvalidInput(f"row {row}", "expected an object", item)
    return objects


def _lines(data: bytes) -> list[Any] | None:
    """Return the values of JSON Lines, or of lines of hexadecimal data; `None` if the data are one document."""
    data = data.removeprefix(BOM)
    first, _, rest = data.strip().partition(b"\n")
    if not first.startswith(b"0x") and not (rest and _is_json(first)):
        return None
    lines = ((number, line.strip()) for number, line in enumerate(data.split(b"\n"), 1))
    return [
        {"raw": line.decode(errors="replace")} if line.startswith(b"0x") else parse_json(line, f"line {number}")
        for number, line in lines
        if line
    ]


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _result(item: Any) -> Any:
    if not isinstance(item, Mapping) or not ("result" in item or {"id", "error"} <= item.keys()):
        return item
    if item.get("error") is not None:
        raise InvalidInput("response", "expected a result of the node, not an error", item["error"])
    if (result := item.get("result")) is None:
        raise InvalidInput("response", "expected a result; the node does not have this block or transaction", result)
    return result["rows"] if isinstance(result, Mapping) and "rows" in result else result


@contextmanager
def written_whole(path: PathLike, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a new file for writing. The file becomes visible only after it is complete.

    The file is written under another name in the same directory, flushed to disk, and renamed. If an exception occurs,
    including an interrupt, the file is removed.

    Raises `InvalidInput` if the file exists and `overwrite` is not set, or if its directory is not writable.
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInput("out", "expected a file, not a folder", str(target))
    if target.exists() and not overwrite:
        raise InvalidInput("out", "the file exists; remove it, or set overwrite", str(target))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        file = part.open("xb")
    except OSError as error:
        raise InvalidInput("out", f"cannot be written ({error.strerror})", str(target)) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
