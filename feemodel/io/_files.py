"""Open and write files. For an invalid file, `UnreadableFile` states the path and the fault."""

import csv
import json
import os
import re
import secrets
import stat
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from feemodel._extras import need
from feemodel.errors import InvalidInput, UnreadableFile, unreadable
from feemodel.io._documents import GZIP_MAGIC, encoded, opened, parse_json

if TYPE_CHECKING:
    import pyarrow as pa

PathLike: TypeAlias = str | os.PathLike[str]
Container: TypeAlias = Literal["parquet", "csv", "json", "lines"]

PARQUET_MAGIC = b"PAR1"  # the first and the last four bytes of every Parquet file
BOM = b"\xef\xbb\xbf"  # byte order mark that some editors write before UTF-8 text
_NAME = re.compile(rb'"?[A-Za-z_][A-Za-z0-9_]*"?\Z')  # header of a CSV file with one column
_OTHER_SEPARATORS = {b";": "semicolons", b"\t": "tabs", b"|": "bars"}
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
CSV_BLOCK = 1 << 26  # number of bytes that the CSV parser reads at a time; a longer row cannot be read


@contextmanager
def reading(path: PathLike) -> Iterator[None]:
    """Convert errors about a file or its content to `UnreadableFile`. The error message begins with the path."""
    try:
        yield
    except UnreadableFile:
        raise
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}: not UTF-8 text: {error.reason} at byte {error.start:,}") from None
    except OSError as error:
        raise unreadable(path, error) from None
    except _errors_of_content() as error:
        raise UnreadableFile(f"{path}: {error}") from None


def _errors_of_content() -> tuple[type[Exception], ...]:
    """Return the exception types that mean invalid content, including pyarrow's exceptions if pyarrow is imported."""
    arrow = getattr(sys.modules.get("pyarrow"), "ArrowException", None)  # `None` during the import of pyarrow
    return (InvalidInput, csv.Error) if arrow is None else (InvalidInput, csv.Error, arrow)


def container_of(path: PathLike) -> Container:
    """Return whether a file is Parquet, CSV, JSON or hexadecimal lines, according to the first bytes of the file."""
    check_regular(path)
    with Path(path).open("rb") as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    with opened(path) as file:
        start = file.read(4096)
    if not start:
        raise UnreadableFile(f"{path}: the file is empty")
    if start.startswith(PARQUET_MAGIC):
        if packed:
            raise UnreadableFile(f"{path}: Parquet within gzip; unpack it first")
        return "parquet"
    text = start.removeprefix(BOM).lstrip()
    if text.startswith((b"{", b"[")):
        return "json"
    if text.startswith(b"0x"):
        return "lines"
    header, line_break, _ = text.partition(b"\n")
    if b"\0" not in start and (b"," in header or (line_break and _NAME.match(header.strip()))):
        return "csv"
    for separator, name in _OTHER_SEPARATORS.items():
        if separator in header and all(_NAME.match(part.strip()) for part in header.split(separator)):
            raise UnreadableFile(f"{path}: columns separated by {name}, expected commas")
    if start.startswith(_UTF_16_MARKS):
        raise UnreadableFile(f"{path}: UTF-16 text, expected UTF-8")
    raise UnreadableFile(f"{path}: neither Parquet nor CSV nor JSON; it begins with {start[:16]!r}")


def check_regular(path: PathLike) -> None:
    """Raise `UnreadableFile` for a pipe or a device.

    No error is raised for a directory, because opening the directory later raises an error.
    """
    mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise UnreadableFile(f"{path}: a pipe or a device, which cannot be read twice; save it as a file first")


def column_names(path: PathLike, container: Container) -> list[str]:
    """Return the column names of a Parquet or CSV file."""
    if container == "parquet":
        import pyarrow.parquet as pq

        with Path(path).open("rb") as file:
            file.seek(-len(PARQUET_MAGIC), os.SEEK_END)
            if file.read() != PARQUET_MAGIC:
                raise UnreadableFile(f"{path}: begins but does not end like a Parquet file: the file is cut off")
            return list(pq.read_schema(file).names)
    with opened(path) as file:
        return next(csv.reader([file.readline().decode("utf-8-sig")]))


def column_units(path: PathLike) -> dict[str, str]:
    """Return the units that a Parquet file states in its metadata, by column."""
    import pyarrow.parquet as pq

    found = {field.name: (field.metadata or {}).get(b"unit") for field in pq.read_schema(path)}
    return {name: unit.decode(errors="replace") for name, unit in found.items() if unit is not None}


def read_columns(path: PathLike, container: Container, names: Sequence[str]) -> "pa.Table":
    """Read columns of a Parquet or CSV file into an Arrow table; columns of a CSV file are text."""
    need(f"reading {path}", "pyarrow")
    return _read_parquet(path, names) if container == "parquet" else _read_csv(path, names)


def _read_parquet(path: PathLike, names: Sequence[str]) -> "pa.Table":
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(columns=list(names)).combine_chunks()


def _read_csv(path: PathLike, names: Sequence[str]) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    wrong: list[Any] = []

    def on_wrong_row(row: Any) -> str:
        wrong.append(row)
        return "error"

    with opened(path) as file:
        source = _EndsWithLineBreak(file)
        try:
            table = arrow_csv.read_csv(
                source,
                # Use one thread: with several threads, errors of the parser do not contain the row number.
                read_options=arrow_csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK),
                parse_options=arrow_csv.ParseOptions(invalid_row_handler=on_wrong_row),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=list(names), column_types=dict.fromkeys(names, pa.string())
                ),
            )
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):
                raise UnreadableFile(f"{path}: a row of more than {CSV_BLOCK:,} bytes") from None
            if not wrong:
                raise
            row = wrong[0]
            raise UnreadableFile(
                f"{path}: line {row.number}: expected {row.expected_columns} values, found {row.actual_columns}"
            ) from None
    if not source.complete:
        text = "the last line has no line break: if the file was cut off, its last value may be too"
        warnings.warn(f"{path}: {text}", stacklevel=2)
    return table


class _EndsWithLineBreak:
    """Stream that records whether its last byte was a line break."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.complete, self.closed = file, False, False

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if data:
            self.complete = data.endswith(b"\n")
        return data


def json_documents(data: bytes | str) -> Iterator[tuple[str, Any]]:
    """Yield each JSON value of a text, with its position for error messages.

    The position is "" for a single document, or for example "line 3" for a line of JSON Lines.
    """
    try:
        text = encoded("data", data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text: {error.reason} at byte {error.start:,}"
        raise InvalidInput("the document", reason, error.object[error.start : error.end]) from None
    first, _, rest = text.strip().partition("\n")
    if rest and _is_json(first):
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield f"line {number}", parse_json(line, f"line {number}")
    else:
        yield "", parse_json(text, "the document")


def json_items(
    data: bytes | str, kind: str, only: str, *, inside: Callable[[Any], Any] = lambda document: document
) -> Iterator[tuple[str, Any]]:
    """Yield the items of JSON lists with their positions. A document that is not a list is yielded as one item.

    Parameters
    ----------
    kind : word before the number in the position of an item, such as "block" in "block 2".
    only : position yielded for a document that is the only one and is not a list.
    inside : function that returns the part of a document that contains the items.
    """
    for line, document in json_documents(data):
        found = inside(document)
        for number, item in enumerate(found if isinstance(found, list) else [found], 1):
            own = f"{kind} {number}" if isinstance(found, list) else ""
            yield ", ".join(part for part in (line, own) if part) or only, item


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


@contextmanager
def written_whole(path: PathLike, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Open a new file for writing. The file becomes visible only after it is complete and on disk.

    The file is written under another name in the same directory, flushed to disk, and renamed. If an exception occurs,
    including an interrupt, the file is removed.

    Raises `InvalidInput` if the file exists and `overwrite` is not set, or if its directory is not writable.
    """
    target = Path(path)
    _check_target(target, overwrite)
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
        _check_target(target, overwrite)  # another process may have created the target file
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _check_target(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise InvalidInput("out", "expected a file, not a folder", str(target))
    if target.exists() and not overwrite:
        raise InvalidInput("out", "the file exists; remove it, or set overwrite", str(target))


def _sync_folder(folder: Path) -> None:
    # Write the folder to disk, so that the renamed file survives a crash. The write is skipped on systems that cannot
    # open folders.
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
