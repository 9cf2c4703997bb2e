"""Output of the commands: a table, one JSON object, or a new file."""

import argparse
import json
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI

FIGURES = (".png", ".svg", ".pdf")


def add_out(parser: argparse.ArgumentParser, metavar: str, text: str, *, required: bool = False) -> None:
    """Add the options `--out` and `--overwrite`, which `checked_out` reads."""
    parser.add_argument("--out", metavar=metavar, required=required, help=text)
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")


def add_figure(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the options `--figure` and `--overwrite`, which `checked_out` reads."""
    parser.add_argument("--figure", metavar="FILE.png", help=f"{text} to a .png, .svg or .pdf file")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")


def checked_out(options: argparse.Namespace, suffixes: Collection[str] = (), *, option: str = "--out") -> Path | None:
    """Return the file that an option names, or `None` if the option is not given.

    Raises `InvalidInput` for an unknown suffix, for a folder that does not exist, and for a file that exists, unless
    `--overwrite` is given.
    """
    asked = getattr(options, option[2:].replace("-", "_"))
    if asked is None:
        return None
    path = Path(asked)
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidInput(option, f"expected a file name that ends in {' or '.join(suffixes)}", asked)
    if not path.name or path.is_dir():
        raise InvalidInput(option, "expected a file, not a folder", asked)
    if not path.parent.is_dir():
        raise InvalidInput(option, "expected a folder that exists", asked)
    if path.exists() and not options.overwrite:
        raise InvalidInput(option, "the file exists (--overwrite replaces it)", asked)
    return path


def print_json(answer: Any, *, flush: bool = False) -> None:
    """Print one indented JSON object with exact integers. Set `flush` if the process continues after printing."""
    print(json.dumps(answer, indent=2, default=_plain), flush=flush)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right_from: int = 1) -> None:
    """Print a table. Columns with an index of at least `right_from` contain numbers and are right-aligned."""
    from tabulate import DataRow, TableFormat, tabulate

    # Do not shorten cells on a narrow terminal, because a truncated number is wrong.
    row = DataRow("", " ", "")
    plain = TableFormat(None, None, None, None, headerrow=row, datarow=row, padding=1, with_header_hide=None)
    alignment = ["right" if index >= right_from else "left" for index in range(len(columns))]
    cells = [[str(cell) for cell in one] for one in (columns, *rows)]
    # Pass the header as an ordinary row, because tabulate makes columns wider than their header.
    table = tabulate(cells, tablefmt=plain, disable_numparse=True, colalign=alignment, preserve_whitespace=True)
    head, *lines = table.split("\n")
    width = max(map(len, (head, *lines)))
    print(title, head, f" {'─' * (width - 1)}", *lines, "", sep="\n")


def in_gwei(wei: float) -> str:
    """Format an amount of wei in gwei.

    >>> in_gwei(43_314_285)
    '0.043314285 gwei'
    """
    return f"{wei / WEI_PER_GWEI:,.9f}".rstrip("0").rstrip(".") + " gwei"


def in_eth(wei: float, decimals: int = 15) -> str:
    """Format an amount of wei in ETH.

    >>> in_eth(909_599_985_000)
    '0.000000909599985 ETH'
    """
    return f"{wei / WEI_PER_ETH:,.{decimals}f}".rstrip("0").rstrip(".") + " ETH"


def length_text(seconds: float) -> str:
    """Format a duration of whole minutes as the option `--horizon` accepts it, such as `10min`.

    >>> length_text(600.0), length_text(86_400.0)
    ('10min', '24h')
    """
    minutes = round(seconds / 60)
    return f"{minutes}min" if minutes % 60 else f"{minutes // 60}h"


def _plain(value: Any) -> Any:
    # Convert NumPy values, which the json module cannot serialize.
    return value.item() if hasattr(value, "item") else value.tolist()
