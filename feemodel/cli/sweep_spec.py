"""Read a sweep from a TOML file: formula, samples and reduction. `data/specs/` contains an example of each form."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import feemodel
from feemodel.checks import flag, real_scalar, text, whole_scalar
from feemodel.cli.parameters import check_known
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io.files import read_toml
from feemodel.linea.from_l1 import priority_fee_from_l1
from feemodel.simulation.samples import Samples, grid, joined, monte_carlo, rows, sobol, whole_numbers
from feemodel.simulation.statistics import Over, over
from feemodel.simulation.surfaces import Workload

FORMULAS: dict[str, Callable[..., Any]] = {
    "priority_fee": feemodel.priority_fee,
    "priority_fee_from_l1": priority_fee_from_l1,
    "verification_priority_fee": feemodel.verification_priority_fee,
}
SHIPPED = "shipped"
REDUCTION = ("quantile", "above")
KEYS = ("formula", "over", *REDUCTION, "transactions", "grid", "monte_carlo", "sobol")
LONGEST_AXIS = 10_000_000  # maximum number of values of an axis
DOUBLE_EXACT = 2**53
SPACINGS: dict[str, Callable[..., Any]] = {"linear": np.linspace, "log": np.geomspace}


class SweepSpec(NamedTuple):
    """Contents of a file that describes a sweep."""

    formula: Callable[..., Any]
    samples: Samples
    reduce: Over | None


def read_sweep_spec(path: str) -> SweepSpec:
    """Read a sweep from a TOML file.

    Raises
    ------
    UnreadableFile : the file does not exist, or is not valid TOML.
    InvalidInput : an unknown key, or an invalid value.
    """
    return parse_sweep_spec(read_toml(path), Path(path).parent)


def parse_sweep_spec(spec: Mapping[str, Any], folder: Path) -> SweepSpec:
    """Return the sweep that a TOML document describes.

    Parameters
    ----------
    spec : the document.
    folder : folder to which file names in the document are relative.

    >>> spec = {"formula": "priority_fee", "grid": {"margin": [1.0, 1.2], "gas": 21_000}}
    >>> parse_sweep_spec(spec, Path()).samples["gas"]
    21000
    """
    _check_keys("the sweep file", spec, KEYS)
    formula = _one_of("formula", spec.get("formula"), FORMULAS)
    made: list[Samples] = []
    axes = {name: _axis(name, value) for name, value in _table(spec, "grid").items()}
    if "transactions" in spec:
        axes["transactions"] = _transactions(_table(spec, "transactions"), folder)
    random: dict[str, tuple[Callable[..., Samples], Callable[[str, Any, Path], Any]]] = {
        "monte_carlo": (monte_carlo, _distribution),
        "sobol": (sobol, _range),
    }
    for name, (make, value_of) in random.items():
        if name in spec:
            table = _table(spec, name)
            _check_keys(f"[{name}]", table, ("count", "rng", "inputs"))
            inputs = {key: value_of(key, value, folder) for key, value in _table(table, "inputs").items()}
            made.append(make(table.get("count"), rng=table.get("rng"), **inputs))
    if axes:
        made.append(grid(**axes))
    if not made:
        raise InvalidInput("the sweep file", "expected [grid], [monte_carlo] or [sobol]", sorted(spec))
    return SweepSpec(formula, joined(*made), _reduction(spec))


def _reduction(spec: Mapping[str, Any]) -> Over | None:
    options = {name: spec[name] for name in REDUCTION if name in spec}
    if "over" in spec:
        if not isinstance(spec["over"], list):
            raise InvalidInput("over", 'expected a list of names, such as ["sample"]', spec["over"])
        return over(*spec["over"], **options)
    if options:
        raise InvalidInput(next(iter(options)), 'expected only together with over = ["…"]', spec[next(iter(options))])
    return None


def _axis(name: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    _check_keys(name, value, ("from", "to", "count", "spacing"))
    if missing := {"from", "to", "count"} - set(value):
        raise InvalidInput(name, f"missing {', '.join(sorted(missing))}", value)
    spacing = _one_of(f"{name}.spacing", value.get("spacing", "linear"), SPACINGS)
    count = whole_scalar(f"{name}.count", value["count"], minimum=1, maximum=LONGEST_AXIS)
    ends = [real_scalar(f"{name}.{end}", value[end], minimum=None) for end in ("from", "to")]
    if spacing is np.geomspace and min(ends) <= 0:
        raise InvalidInput(name, "expected ends above 0 for logarithmic spacing", value)
    if not math.isfinite(ends[1] - ends[0]):
        raise InvalidInput(name, "expected ends whose difference is finite", value)
    values = spacing(*ends, count)
    if not (isinstance(value["from"], int) and isinstance(value["to"], int)):
        return values
    if max(map(abs, ends)) >= DOUBLE_EXACT:
        raise InvalidInput(name, "expected whole numbers below 2**53, which doubles represent exactly", value)
    whole = np.rint(values).astype(np.int64)  # round evenly spaced values to integers
    if len(np.unique(whole)) != count:
        first, last = value["from"], value["to"]
        raise InvalidInput(
            name, f"expected fewer whole numbers from {first} to {last}: some would be equal after rounding", count
        )
    return whole


def _distribution(name: str, value: Any, folder: Path) -> Any:
    if not isinstance(value, dict):
        return value
    if "rows" in value:
        return _rows(name, value, folder)
    from scipy import stats

    shape = dict(value)
    asked, whole = shape.pop("distribution", None), flag(f"{name}.whole", shape.pop("whole", False))
    known = {
        key: made
        for key in dir(stats)
        if isinstance(made := getattr(stats, key), (stats.rv_continuous, stats.rv_discrete))
    }
    try:
        frozen = _one_of(f"{name}.distribution", asked, known)(**shape)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInput(name, f"expected parameters of scipy.stats.{asked} ({error})", shape) from None
    return whole_numbers(frozen) if whole else frozen


def _rows(name: str, value: dict[str, Any], folder: Path) -> Samples:
    """Return samples from the rows of a table of L1 fees. The values of each input are one column of the table."""
    from feemodel.io.blocks import read_l1_fees
    from feemodel.io.shipped import read_shipped_l1_fees

    _check_keys(name, value, ("rows", "columns"))
    file, columns = value["rows"], value.get("columns")
    if not isinstance(file, str):
        raise InvalidInput(f"{name}.rows", 'expected "shipped" or the name of a file of L1 fees', file)
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        raise InvalidInput(f"{name}.columns", 'expected a list of names, such as ["base_fee"]', columns)
    table = read_shipped_l1_fees() if file == SHIPPED else read_l1_fees(folder / file)
    for column in columns:
        check_known(f"{name}.columns", column, [*map(str, table)])
    return rows(**{column: table[column].to_numpy() for column in columns})


def _range(name: str, value: Any, folder: Path) -> Any:
    return tuple(value) if isinstance(value, list) else _distribution(name, value, folder)


def _transactions(table: Mapping[str, Any], folder: Path) -> Workload:
    from feemodel.io.shipped import read_shipped_transactions
    from feemodel.io.transactions import read_measured

    _check_keys("[transactions]", table, ("file", "compressed_size", "gas"))
    for key, value in table.items():
        text(f"transactions.{key}", value)
    file = table.get("file", SHIPPED)
    columns = [table.get(name, name) for name in ("compressed_size", "gas")]
    if file != SHIPPED:
        measured = read_measured(folder / file, columns[0], gas=columns[1])
        if measured is None:
            raise UnreadableFile(f"{folder / file}: expected CSV or Parquet with a column {columns[0]}")
        return Workload(**measured)
    rows = read_shipped_transactions()
    for column in columns:
        check_known("[transactions]", column, [*rows])
    known = rows.dropna(subset=columns)
    size, gas = (known[column].to_numpy() for column in columns)
    named = f"of {len(rows):,} transactions of {file}, those with {' and '.join(columns)}"
    return Workload(named, *(array.astype(np.int64) if (array % 1 == 0).all() else array for array in (size, gas)))


def _table(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = spec.get(name, {})
    if not isinstance(table, dict):
        raise InvalidInput(name, f"expected a table [{name}]", table)
    return table


def _check_keys(where: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in given:
        check_known(where, key, known)


def _one_of(name: str, asked: Any, known: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    check_known(name, asked, list(known))
    return known[asked]
