"""`feemodel sweep`: evaluate a formula on a grid, Sobol points or random draws, as described in a TOML file.

The keys of the file are arguments of `grid`, `sobol`, `monte_carlo` and `over`. `data/specs/` has two examples.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

import feemodel
from feemodel.cli.output import DATASETS, Answer, Table
from feemodel.cli.parameters import Resume, SpecFile, Workers, check_known
from feemodel.cli.subjects import read_workload, shipped_workload
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.estimates.json_types import parse
from feemodel.io.files import read_toml
from feemodel.sizes._codecs import Zstd

if TYPE_CHECKING:
    from feemodel.simulation.samples import Samples
    from feemodel.simulation.statistics import Over

Formula: TypeAlias = Callable[..., Any]
KNOWN: tuple[Formula, ...] = (feemodel.priority_fee, feemodel.priority_fee_from_l1, feemodel.verification_priority_fee)
FORMULAS = {formula.__name__: formula for formula in KNOWN}


class Axis(msgspec.Struct, forbid_unknown_fields=True):
    """Evenly spaced values, which are whole numbers if both ends are."""

    first: int | float = msgspec.field(name="from")
    last: int | float = msgspec.field(name="to")
    count: Annotated[int, Meta(ge=1, le=10_000_000)]
    spacing: Literal["linear", "log"] = "linear"

    def values(self, name: str) -> Any:
        """Return the values."""
        import numpy as np

        ends = (self.first, self.last)
        if self.spacing == "log" and min(ends) <= 0:
            raise InvalidInput(name, "expected ends above 0 for logarithmic spacing", min(ends))
        if (is_whole := all(isinstance(end, int) for end in ends)) and max(map(abs, ends)) >= 2**53:
            raise InvalidInput(name, "expected whole numbers below 2**53, which doubles represent exactly", max(ends))
        values = np.geomspace(*ends, self.count) if self.spacing == "log" else np.linspace(*ends, self.count)
        return np.rint(values).astype(np.int64) if is_whole else values


class Draws(msgspec.Struct, forbid_unknown_fields=True):
    """Random draws, or Sobol points."""

    count: int
    inputs: dict[str, Any]
    rng: Annotated[int, Meta(ge=0)] | None = None


class Spec(msgspec.Struct, forbid_unknown_fields=True):
    """Contents of a file that describes a sweep."""

    formula: str
    over: list[str] = []
    quantile: list[float] = []
    above: list[float] = []
    transactions: str | None = None
    columns: dict[str, str] = {}
    grid: dict[str, Any] = {}
    monte_carlo: Draws | None = None
    sobol: Draws | None = None


@verb(out=DATASETS, what="all values")
def command(spec: SpecFile, /, *, workers: Workers = None, resume: Resume = None, file: Path | None = None) -> Answer:
    from feemodel.io.results import FinishedFolder
    from feemodel.simulation.sweep import sweep

    finished = None if resume is None else FinishedFolder(resume)
    formula, samples, reduce = parse_sweep_spec(read_toml(spec), Path(spec).parent)
    if file is not None and file.suffix.lower() != ".nc" and reduce is not None and (reduce.quantile or reduce.above):
        reason = "expected a file name that ends in .nc, because the result has quantiles or shares"
        raise InvalidInput("--out", reason, str(file))
    result = sweep(formula, samples, reduce=reduce, workers=workers, finished=finished, progress=True)
    ranges = {
        str(name): {"min": float(values.min()), "mean": float(values.mean()), "max": float(values.max())}
        for name, values in result.data_vars.items()
    }
    data = {"dimensions": dict(result.sizes), "results": ranges, "attributes": result.attrs}
    axes = " × ".join(f"{size:,} {name}" for name, size in result.sizes.items()) or "one value"
    title = "{evaluations:,} evaluations of {function}: ".format(**result.attrs) + axes
    units = {name: result[name].attrs.get("units", "") for name in ranges}
    rows = [{"result": name.replace("_", " "), "unit": units[name], **row} for name, row in ranges.items()]
    notes = [f"{name}: {value}" for name, value in result.attrs.items() if name not in ("evaluations", "function")]
    return Answer(data, [Table(title, rows)], notes, file=result)


def parse_sweep_spec(document: Mapping[str, Any], folder: Path) -> "tuple[Formula, Samples, Over | None]":
    """Return the formula, the samples and the statistics of a document, whose files are relative to a folder."""
    from feemodel.simulation.samples import grid, joined, monte_carlo, sobol
    from feemodel.simulation.statistics import over

    for key in document:
        check_known("the sweep file", key, Spec.__struct_fields__)
    spec: Spec = parse("the sweep file", document, Spec)
    check_known("formula", spec.formula, FORMULAS)
    axes = {
        name: parse(f"grid.{name}", value, Axis).values(name) if isinstance(value, dict) else value
        for name, value in spec.grid.items()
    }
    if spec.columns and spec.transactions in (None, "shipped"):
        raise InvalidInput("columns", "expected only with a file of transactions", spec.columns)
    if spec.transactions == "shipped":
        axes["transactions"] = shipped_workload()
    elif spec.transactions is not None:
        columns = [f"{field}={name}" for field, name in spec.columns.items()]
        axes["transactions"] = read_workload(str(folder / spec.transactions), Zstd(), columns)
    parts = [grid(**axes)] if axes else []
    for draw, asked, listed in ((monte_carlo, spec.monte_carlo, list), (sobol, spec.sobol, tuple)):
        if asked is not None:  # in `sobol`, a list is a range
            inputs = {name: _distribution(name, value, listed) for name, value in asked.inputs.items()}
            parts.insert(0, draw(asked.count, rng=asked.rng, **inputs))
    if not parts:
        raise InvalidInput("the sweep file", "expected [grid], [monte_carlo] or [sobol]", sorted(document))
    is_reduced = spec.over or spec.quantile or spec.above
    reduce = over(*spec.over, quantile=spec.quantile, above=spec.above) if is_reduced else None
    return FORMULAS[spec.formula], joined(*parts), reduce


def _distribution(name: str, value: Any, listed: type) -> Any:
    """Return a distribution of `scipy.stats`, given by its name and its parameters, or a list as `listed`."""
    if not isinstance(value, dict):
        return listed(value) if isinstance(value, list) else value
    from scipy import stats

    shape = dict(value)
    asked = shape.pop("distribution", None)
    kinds = stats.rv_continuous, stats.rv_discrete
    known = {key: made for key, made in vars(stats).items() if isinstance(made, kinds)}
    check_known(f"{name}.distribution", asked, known)
    try:
        return known[asked](**shape)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidInput(name, f"expected parameters of scipy.stats.{asked} ({error})", shape) from None
