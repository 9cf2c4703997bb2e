"""What `print` shows of a result: a small table, one line a field; `repr` stays what it was."""

from collections.abc import Iterable
from typing import Any, TypeVar

Record = TypeVar("Record", bound=type)

LISTED = 6  # elements of a sequence that are shown one by one
SHOWN_BYTES = 16


def printed_as_table(record: Record) -> Record:
    """Class decorator of a named tuple or a dataclass: `print` shows its fields as a table.

    >>> from feemodel import breakdown
    >>> print(breakdown(128, 21_000, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2))
    Breakdown
      fixed  30,000,000
      size    6,095,238
      margin  7,219,047
      floor           0
    """
    record.__str__ = _table  # type: ignore[assignment]
    return record


def _table(record: Any) -> str:
    return "\n".join([type(record).__name__, *_lines(record, "  ")])


def _lines(record: Any, indent: str) -> list[str]:
    names = _fields(record)
    values = {name: getattr(record, name) for name in names}
    shown = {name: _shown(value) for name, value in values.items() if not _fields(value)}
    numbers = [text for name, text in shown.items() if isinstance(values[name], int | float)]
    left, right = max(map(len, names), default=0), max(map(len, numbers), default=0)
    lines = []
    for name, value in values.items():
        if name not in shown:
            lines += [f"{indent}{name}", *_lines(value, indent + "  ")]
        else:
            text = shown[name].rjust(right) if isinstance(value, int | float) else shown[name]
            lines.append(f"{indent}{name:{left}} {text}".rstrip())
    return lines


def _fields(value: Any) -> tuple[str, ...]:
    """The names of a record's fields; none of anything else."""
    if isinstance(value, type):
        return ()
    fields: Iterable[str] = getattr(value, "_fields", ()) or getattr(value, "__dataclass_fields__", ())
    return tuple(fields)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, bytes):
        return f"0x{value[:SHOWN_BYTES].hex()}" + (f"… ({len(value):,} bytes)" if len(value) > SHOWN_BYTES else "")
    if hasattr(value, "shape") and value.size > LISTED:
        return f"{value.min():,} to {value.max():,}, {' × '.join(map(str, value.shape))} values"
    if isinstance(value, tuple | list | frozenset | set) and len(value) > LISTED:
        return f"{len(value):,} values"
    return str(value)
