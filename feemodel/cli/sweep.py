"""`feemodel sweep`: evaluate a formula on a grid, Sobol points or random draws, as described in a TOML file.

The keys of the file are arguments of `grid`, `sobol`, `monte_carlo` and `over`. `data/specs/` has two examples.
"""

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlsplit

import feemodel
from feemodel._extras import need
from feemodel.checks import flag, real_scalar, sequence, text, whole_scalar
from feemodel.cli.output import DATASETS, Answer, Table
from feemodel.cli.parameters import Resume, SpecFile, Workers, check_known, option
from feemodel.cli.subjects import measured_workload
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput, UnreadableFile, UpstreamError
from feemodel.io.files import read_toml
from feemodel.linea.from_l1 import priority_fee_from_l1

if TYPE_CHECKING:
    from feemodel.simulation.samples import Samples
    from feemodel.simulation.statistics import Over
    from feemodel.simulation.surfaces import Workload

SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")  # protocols of Dask
TIMEOUT = 5  # seconds until a scheduler that does not answer is an error
FORMULAS: dict[str, Callable[..., Any]] = {
    "priority_fee": feemodel.priority_fee,
    "priority_fee_from_l1": priority_fee_from_l1,
    "verification_priority_fee": feemodel.verification_priority_fee,
}
SHIPPED = "shipped"
STATISTICS = ("quantile", "above")
LONGEST_AXIS = 10_000_000  # maximum number of values of an axis
DOUBLE_EXACT = 2**53


class SweepSpec(NamedTuple):
    """Contents of a file that describes a sweep."""

    formula: Callable[..., Any]
    samples: "Samples"
    reduce: "Over | None"


def _address(name: str, typed: str) -> str:
    parts = urlsplit(typed if "://" in typed else f"tcp://{typed}")
    if parts.scheme not in SCHEMES or not parts.hostname or not parts.netloc.rpartition(":")[2].isdecimal():
        raise InvalidInput(name, "expected an address such as tcp://host:8786", typed)
    return typed


@verb(out=DATASETS, what="all values")
def command(
    spec: SpecFile,
    /,
    *,
    workers: Workers = None,
    dask: Annotated[
        str | None, option(_address, "address of a Dask scheduler, such as tcp://host:8786", metavar="ADDRESS")
    ] = None,
    resume: Resume = None,
    file: Path | None = None,
) -> Answer:
    """Evaluate a formula over a grid, Sobol points or random draws, as described in a file."""
    from feemodel.io.results import FinishedFolder
    from feemodel.simulation.sweep import sweep

    finished = None if resume is None else FinishedFolder(resume)
    read = parse_sweep_spec(read_toml(spec), Path(spec).parent)
    levels = read.reduce is not None and bool(read.reduce.quantile or read.reduce.above)
    if file is not None and file.suffix.lower() != ".nc" and levels:
        reason = "expected a file name that ends in .nc, because the result has quantiles or shares"
        raise InvalidInput("--out", reason, str(file))
    sizes = {dim: size for value in read.samples.values() for dim, size in getattr(value, "sizes", {}).items()}
    then = "printing only minimum, mean and maximum (--out FILE writes all values)"
    then = then if file is None else f"written to {file}"
    work = f"{prod(sizes.values()):,} evaluations of {read.formula.__name__}: {_axes(sizes)}"
    print(f"feemodel: {work}; {then}", file=sys.stderr)
    started = time.perf_counter()
    with dask_client(dask) as executor:
        result = sweep(read.formula, read.samples, reduce=read.reduce, executor=executor, workers=workers,
                       finished=finished, progress=True)  # fmt: skip
    seconds = time.perf_counter() - started
    ranges = {
        str(name): {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}
        for name, values in result.data_vars.items()
    }
    evaluations = result.attrs["evaluations"]
    data = {"evaluations": evaluations, "seconds": round(seconds, 3), "dimensions": dict(result.sizes),
            "results": ranges, "attributes": result.attrs, "file": None if file is None else str(file)}  # fmt: skip
    title = f"{evaluations:,} evaluations of {result.attrs['function']} in {seconds:.2f} s: {_axes(result.sizes)}"
    rows = [
        (name, result[name].attrs.get("units", ""), *(f"{value:,.6g}" for value in row.values()))
        for name, row in ranges.items()
    ]
    notes = [f"{name}: {value}" for name, value in result.attrs.items() if name not in ("evaluations", "function")]
    return Answer(data, [Table(title, ("result", "unit", "min", "mean", "max"), rows, left=2)], notes, file=result)


def _axes(sizes: Mapping[Any, int]) -> str:
    return " × ".join(f"{size:,} {name}" for name, size in sizes.items()) or "one value"


@contextmanager
def dask_client(address: str | None) -> Iterator[Any]:
    """Yield a client of the Dask scheduler at an address, or `None` without an address: the tasks run in threads."""
    if address is None:
        yield None
        return
    need("--dask", "distributed")
    import distributed

    client_of: Any = distributed.Client
    try:
        client = client_of(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UpstreamError(f"{address}: no Dask scheduler answers ({error})") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)
        except TimeoutError:
            raise UpstreamError(f"{address}: the Dask cluster has no workers") from None
        yield client


def parse_sweep_spec(spec: Mapping[str, Any], folder: Path) -> SweepSpec:
    """Return the sweep that a TOML document describes.

    Parameters
    ----------
    spec : the document.
    folder : folder to which file names in the document are relative.

    Raises
    ------
    InvalidInput : an unknown key, or an invalid value.

    >>> spec = {"formula": "priority_fee", "grid": {"margin": [1.0, 1.2], "gas": 21_000}}
    >>> parse_sweep_spec(spec, Path()).samples["gas"]
    21000
    """
    from feemodel.simulation.samples import Samples, grid, joined, monte_carlo, sobol
    from feemodel.simulation.statistics import over

    drawn: dict[str, tuple[Callable[..., Samples], Callable[..., Any]]] = {
        "monte_carlo": (monte_carlo, _distribution), "sobol": (sobol, _range),
    }  # fmt: skip
    for key in spec:
        check_known("the sweep file", key, ("formula", "over", *STATISTICS, "transactions", "grid", *drawn))
    check_known("formula", spec.get("formula"), FORMULAS)
    parts = []
    for name, (make, value_of) in drawn.items():
        if name in spec:
            table = _table(spec, name, ("count", "rng", "inputs"))
            inputs = {key: value_of(key, value, folder) for key, value in _table(table, "inputs").items()}
            parts.append(make(table.get("count"), rng=table.get("rng"), **inputs))
    axes = {name: _axis(name, value) for name, value in _table(spec, "grid").items()}
    if "transactions" in spec:
        axes["transactions"] = _transactions(_table(spec, "transactions", ("file", "compressed_size", "gas")), folder)
    if axes:
        parts.append(grid(**axes))
    if not parts:
        raise InvalidInput("the sweep file", "expected [grid], [monte_carlo] or [sobol]", sorted(spec))
    statistics = {name: spec[name] for name in STATISTICS if name in spec}
    if statistics and "over" not in spec:
        name, value = statistics.popitem()
        raise InvalidInput(name, 'expected only together with over = ["…"]', value)
    reduce = None
    if "over" in spec:
        reduce = over(*sequence("over", spec["over"], 'names, such as ["sample"]'), **statistics)
    return SweepSpec(FORMULAS[spec["formula"]], joined(*parts), reduce)


def _table(spec: Mapping[str, Any], name: str, known: Collection[str] | None = None) -> dict[str, Any]:
    """Return a table of the file; raises `InvalidInput` for a key that is not known."""
    table = spec.get(name, {})
    if not isinstance(table, dict):
        raise InvalidInput(name, f"expected a table [{name}]", table)
    for key in () if known is None else table:
        check_known(f"[{name}]", key, known or ())
    return table


def _axis(name: str, value: Any) -> Any:
    """Return the values of an axis: those of a list, or evenly spaced ones, rounded if both ends are integers."""
    import numpy as np

    if not isinstance(value, dict):
        return value
    for key in value:
        check_known(name, key, ("from", "to", "count", "spacing"))
    if missing := {"from", "to", "count"} - set(value):
        raise InvalidInput(name, f"missing {', '.join(sorted(missing))}", value)
    spacings: dict[str, Callable[..., Any]] = {"linear": np.linspace, "log": np.geomspace}
    spacing = value.get("spacing", "linear")
    check_known(f"{name}.spacing", spacing, spacings)
    count = whole_scalar(f"{name}.count", value["count"], minimum=1, maximum=LONGEST_AXIS)
    ends = [real_scalar(f"{name}.{end}", value[end], minimum=None) for end in ("from", "to")]
    if spacing == "log" and min(ends) <= 0:
        raise InvalidInput(name, "expected ends above 0 for logarithmic spacing", value)
    values = spacings[spacing](*ends, count)
    if not (isinstance(value["from"], int) and isinstance(value["to"], int)):
        return values
    if max(map(abs, ends)) >= DOUBLE_EXACT:
        raise InvalidInput(name, "expected whole numbers below 2**53, which doubles represent exactly", value)
    return np.rint(values).astype(np.int64)


def _distribution(name: str, value: Any, folder: Path) -> Any:
    """Return a distribution of `scipy.stats`, given by its name and its parameters, or the rows of a file."""
    if not isinstance(value, dict):
        return value
    if "rows" in value:
        return _rows(name, value, folder)
    from scipy import stats

    from feemodel.simulation.samples import whole_numbers

    shape = dict(value)
    asked, whole = shape.pop("distribution", None), flag(f"{name}.whole", shape.pop("whole", False))
    known = {
        key: made for key, made in vars(stats).items() if isinstance(made, (stats.rv_continuous, stats.rv_discrete))
    }
    check_known(f"{name}.distribution", asked, known)
    try:
        frozen = known[asked](**shape)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInput(name, f"expected parameters of scipy.stats.{asked} ({error})", shape) from None
    return whole_numbers(frozen) if whole else frozen


def _range(name: str, value: Any, folder: Path) -> Any:
    return tuple(value) if isinstance(value, list) else _distribution(name, value, folder)


def _rows(name: str, value: dict[str, Any], folder: Path) -> "Samples":
    """Return samples from the rows of a table of L1 fees. The values of each input are one column of the table."""
    from feemodel.io import read_l1_fees, read_shipped_l1_fees
    from feemodel.simulation.samples import rows

    for key in value:
        check_known(name, key, ("rows", "columns"))
    file = text(f"{name}.rows", value["rows"])
    table = read_shipped_l1_fees() if file == SHIPPED else read_l1_fees(folder / file)
    columns = sequence(f"{name}.columns", value.get("columns"), 'names, such as ["base_fee"]')
    for column in columns:
        check_known(f"{name}.columns", column, [*map(str, table)])
    return rows(**{column: table[column].to_numpy() for column in columns})


def _transactions(table: Mapping[str, Any], folder: Path) -> "Workload":
    """Return the sizes and the gas of the transactions in a file, or of those in the package."""
    file, size, gas = (
        text(f"transactions.{key}", table.get(key, own))
        for key, own in (("file", SHIPPED), ("compressed_size", "compressed_size"), ("gas", "gas"))
    )
    path = None if file == SHIPPED else folder / file
    workload = measured_workload(path, size, gas)
    if workload is None:
        raise UnreadableFile(f"{path}: expected CSV or Parquet with a column {size}")
    return workload
