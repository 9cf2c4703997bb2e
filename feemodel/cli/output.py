"""Output of the commands: rich tables that fit the terminal, one JSON object, or a new file."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI, camel

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

HOUR = 3_600  # seconds
FIGURES = (".png", ".svg", ".pdf")
TABLES = (".csv", ".parquet")
DATASETS = (".nc", *TABLES)
#: Unit of a result → unit in a table, size of that unit, and end of the JSON key.
UNITS = {
    "wei": (" [ETH]", WEI_PER_ETH, "Wei"),
    "wei / byte": (" [gwei / byte]", WEI_PER_GWEI, "Wei"),
    "s": (" [h]", HOUR, "Seconds"),
}
LEVELS = {"p5": 0.05, "median": 0.5, "p95": 0.95}  # quantiles over paths
NOTED = ("workload", "l1_fees", "l1_fees_assumed", "resampling", "tips", "usage_ratios", "not_counted", "price")
GAP = 3  # characters between two columns
LONGEST_WORD = 20  # characters of a word that is not broken
NUMBER = re.compile(r"[-+.,\d]*(e[-+]?\d+)?[%×?]?")


@dataclass(frozen=True)
class Table:
    """Rows with the same named fields, whose names are the heads; columns of numbers are aligned to the right."""

    title: str
    rows: list[dict[str, Any]]


@dataclass
class Answer:
    """Result of a command."""

    data: Any  #: what `--json` prints
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    file: Any = None  #: what `--out` writes if not the first table: bytes, a list of rows, a DataFrame or a Dataset
    figure: "Callable[[Figure], object] | None" = None  #: draws what `--figure` writes
    size: tuple[float, float] = (8, 6)  #: figure size [inch]
    code: int = 0

    def end(self, *, file: Path | None, picture: Path | None, as_json: bool, overwrite: bool) -> int:
        """Write the files; print the tables and the notes, or the data as JSON; return the exit code."""
        if file is not None:
            write_table(self.tables[0].rows if self.file is None else self.file, file, overwrite=overwrite)
        if picture is not None and self.figure is not None:
            from matplotlib.figure import Figure
            from matplotlib.style import context

            with context("feemodel.plots.style"):
                figure = Figure(figsize=self.size, layout="constrained")
                self.figure(figure)
                figure.savefig(picture)
        if as_json:
            print_json(self.data)
        else:
            for table in self.tables:
                print_table(table)
            for note in self.notes:
                print_text(note)
        return self.code


def result(
    found: "xarray.Dataset", title: str, data: dict[str, Any], draw: "Callable[[Figure], object]", **more: Any
) -> Answer:
    """Return the measures of a result: each value, or the mean and quantiles over paths with a finite value."""

    def titled(figure: "Figure") -> None:
        draw(figure)
        drawn = " (first path)" * (len(found.recovery) > 1)
        figure.suptitle(f"Data fees are {found.recovery[0].item():.2f} times the cost of posting{drawn}")

    heads = ["mean", *LEVELS] if found.sizes["path"] > 1 else ["value"]
    values, rows = {}, []
    for name in (str(name) for name, column in found.items() if column.dims == ("path",)):
        finite = found[name].to_series().loc[lambda all: all.abs() < math.inf]
        numbers = [finite.mean(), *finite.quantile([*LEVELS.values()])]
        each = {head: float(number) if len(finite) else None for head, number in zip(heads, numbers, strict=False)}
        unit, size, end = UNITS.get(found[name].attrs["units"], ("", 1, ""))
        values[camel(name) + end] = each
        rows.append(
            {"measure": name.replace("_", " ") + unit} | {head: value and value / size for head, value in each.items()}
        )
    notes = [f"{name.replace('_', ' ')}: {found.attrs[name]}" for name in NOTED if name in found.attrs]
    return Answer(data | values | {"assumed": found.attrs}, [Table(title, rows)], notes, figure=titled, **more)


def new_file(option: str, text: str | None, suffixes: Sequence[str], *, overwrite: bool) -> Path | None:
    """Return the file that an option names, or `None` without the option; checked before anything is computed."""
    if text is None:
        return None
    path = Path(text)
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidInput(option, f"expected a file name that ends in {' or '.join(suffixes)}", text)
    if not path.name or path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(option, "expected a file in a folder that exists", text)
    if path.exists() and not overwrite:
        raise InvalidInput(option, "the file exists (--overwrite replaces it)", text)
    return path


def write_table(table: Any, path: Path, *, overwrite: bool) -> None:
    """Write bytes to a file, or rows, a DataFrame or a Dataset in the format of its suffix."""
    from feemodel.io import write_dataset
    from feemodel.io.files import written_whole

    if hasattr(table, "data_vars"):
        write_dataset(table, path, overwrite=overwrite)
        return
    with written_whole(path, overwrite=overwrite) as file:
        if isinstance(table, bytes):
            file.write(table)
            return
        import pandas as pd

        table = pd.DataFrame(table)
        if path.suffix.lower() == ".csv":
            table.to_csv(file, index=False)
        else:
            table.map(lambda cell: str(cell) if isinstance(cell, int) and cell >= 2**63 else cell).to_parquet(file)


def print_json(answer: Any, *, flush: bool = False) -> None:
    """Print one indented JSON object with exact integers. Set `flush` if the process continues after printing."""
    print(json.dumps(answer, indent=2, default=methodcaller("tolist")), flush=flush)  # NumPy values


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal, or wider if needed: long words are cut, numbers are not."""
    from rich.box import Box
    from rich.table import Table as RichTable
    from rich.text import Text

    lines = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
    rich = RichTable(box=lines, show_edge=False, pad_edge=False, header_style="bold")
    least = -GAP
    for name in table.rows[0] if table.rows else ():
        head, cells = name.replace("_", " "), [shown(row[name]) for row in table.rows]
        number = all(NUMBER.fullmatch(cell) for cell in cells)
        words = [len(word) for cell in (head, *cells) for word in cell.split()]
        width = max(map(len, (head, *cells))) if number else min(max(words, default=1), LONGEST_WORD)
        justify: Any = "right" if number else "left"
        rich.add_column(Text(head), justify=justify, no_wrap=number, overflow="fold", min_width=width)
        least += width + GAP
    for row in table.rows:
        rich.add_row(*(Text(shown(cell)) for cell in row.values()))
    if table.title:
        print_text(Text(table.title, style="bold"))
    print_text(rich, least)
    print()


def print_text(what: Any, width: int = 0) -> None:
    """Print a sentence or a table as wide as the terminal, without the blanks that fill lines."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    console.width = max(console.width, width)
    with console.capture() as captured:
        console.print(what)
    print("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))


def shown(value: Any) -> str:
    """Format a cell: digits in groups of three, six significant digits of a double, the members of a list."""
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def counted(count: int, noun: str = "transaction") -> str:
    """Return a number and its noun, such as "1 blob" and "2 blobs"."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def in_eth(wei: float) -> str:
    """Format an amount of wei in ETH."""
    return f"{wei / WEI_PER_ETH:,.15f}".rstrip("0").rstrip(".") + " ETH"
