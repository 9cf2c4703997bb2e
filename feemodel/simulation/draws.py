"""Draw random numbers, and convert Sobol points to values of ranges, distributions and rows."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.arguments import checked
from feemodel.checks import require
from feemodel.errors import InvalidInput
from feemodel.quantities import ANY_REAL, ANY_WHOLE, WHOLE
from feemodel.simulation.quantities import CountAboveZero

Rng: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None

LARGEST_EXACT = 2.0**53  # doubles represent all integers up to this number exactly
LARGEST_SAMPLE = 1 << 30  # maximum number of draws or points; also the number of points of SciPy's Sobol sequence
ROW = "row"  # name of the dimension of rows, unless a name is given
HALF_CELL = 0.5**31  # half of 2**-30; the distance between Sobol points is 2**-30


def seed_sequence(rng: Rng) -> np.random.SeedSequence:
    """Return the seed sequence from which all random streams of an experiment are spawned.

    >>> seed_sequence(5).entropy
    5
    """
    if isinstance(rng, np.random.SeedSequence):
        return rng
    if isinstance(rng, np.random.Generator):
        seeds = rng.bit_generator.seed_seq
        if not isinstance(seeds, np.random.SeedSequence):
            raise InvalidInput("rng", "expected a generator that can spawn streams", rng)
        return seeds.spawn(1)[0]  # calls with the same generator return different seeds
    return np.random.SeedSequence(None if rng is None else WHOLE.check_one("rng", rng))


def stream_of(seed: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """Return the random stream of a seed with the given key, however many streams were spawned from the seed.

    >>> int(stream_of(seed_sequence(5), 3).integers(100)), int(stream_of(seed_sequence(5), 3).integers(100))
    (22, 22)
    """
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key)))


@checked
def sobol_points(count: CountAboveZero, inputs: int, stream: np.random.Generator) -> NDArray[np.float64]:
    """Return scrambled Sobol points in [0, 1), of shape (count, inputs); `count` must be a power of two.

    >>> sobol_points(4, 2, stream_of(seed_sequence(5))).shape
    (4, 2)
    """
    from scipy.stats import qmc

    if count & (count - 1) or count > LARGEST_SAMPLE:
        nearest = LARGEST_SAMPLE if count > LARGEST_SAMPLE else 1 << round(math.log2(count))
        raise InvalidInput("count", f"expected a power of two up to 2**30, such as {nearest:,}", count)
    return np.asarray(qmc.Sobol(inputs, scramble=True, rng=stream).random_base2(count.bit_length() - 1))


def split_ranges(
    name: str, values: Mapping[str, Any], kinds: Any, what: str = "range, such as margin=(1.0, 2.0)"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate the inputs that are drawn, at least one, from those that are listed.

    >>> split_ranges("sobol", {"x": (0, 1), "k": 2.0}, tuple)
    ({'x': (0, 1)}, {'k': 2.0})
    """
    for key, value in values.items():
        check_rows(key, value)
    drawn = {key: value for key, value in values.items() if isinstance(value, (Mapping, kinds)) or is_frozen(value)}
    if not drawn:
        raise InvalidInput(name, f"expected at least one {what}", values)
    return drawn, {key: value for key, value in values.items() if key not in drawn}


def check_rows(name: str, value: Any) -> None:
    """Raise `InvalidInput` for a mapping that is not a result of `rows`."""
    if isinstance(value, Mapping) and not (value and all(getattr(one, "dims", ()) == (ROW,) for one in value.values())):
        raise InvalidInput(name, "expected numbers, or a result of rows", value)


def columns_at(name: str, within: Any, unit: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Convert Sobol points, multiples of 2**-30 in [0, 1), to values of a range, a distribution or rows.

    Each point stands for the interval of length 2**-30 that starts at the point. For a distribution, the result is the
    quantile at the middle of the point's interval. The quantile at the point 0 itself would be infinite for an
    unbounded distribution, and below the minimum for a discrete distribution.

    >>> columns_at("gas", (1, 3), np.array([0.0, 0.5, 0.999]))
    {'gas': array([1, 2, 3])}
    """
    if isinstance(within, Mapping):
        count = _length(within)
        at = np.minimum((unit * count).astype(np.int64), count - 1)
        return {column: array.to_numpy()[at] for column, array in within.items()}
    if is_frozen(within):
        return {name: _finite_numbers(name, within, lambda: within.ppf(unit + HALF_CELL), len(unit))}
    low, high = _checked_range(name, within)
    if isinstance(low, int) and isinstance(high, int):
        # All points are below 1, but `unit * (high - low + 1)` may be rounded up to high − low + 1.
        return {name: np.minimum(low + np.floor(unit * (high - low + 1)).astype(np.int64), high)}
    return {name: np.asarray(low + unit * (high - low))}


def _finite_numbers(name: str, within: Any, make: Callable[[], Any], count: int) -> NDArray[Any]:
    """Call `make`, which draws values from a distribution, and check that the values are `count` finite numbers."""
    try:
        column = np.asarray(make())
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise InvalidInput(name, f"expected a distribution of finite numbers ({error})", described(within)) from None
    if column.shape != (count,) or column.dtype.kind not in "iuf":
        reason = f"expected a distribution of scalars, not of {column.dtype} arrays of shape {column.shape}"
        raise InvalidInput(name, reason, described(within))
    reason = f"expected a distribution of finite numbers, not {described(within)}"
    require(name, reason, column, column.dtype.kind != "f" or np.isfinite(column))
    # SciPy returns quantiles as doubles, even for a discrete distribution.
    discrete = column.dtype.kind == "f" and hasattr(getattr(within, "dist", None), "pmf")
    if discrete and (np.rint(column) == column).all() and (np.abs(column) < LARGEST_EXACT).all():
        return column.astype(np.int64)
    return column


def _checked_range(name: str, within: Any) -> tuple[Any, Any]:
    """Return the ends of a range after checking them.

    >>> _checked_range("margin", (1, 2.5))
    (1.0, 2.5)
    """
    if not isinstance(within, tuple) or len(within) != 2:
        raise InvalidInput(name, "expected a range (low, high)", within)
    both_whole = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in within)
    low, high = (ANY_WHOLE.check(name, end) if both_whole else ANY_REAL.check_one(name, end) for end in within)
    if not (low <= high if both_whole else low < high):
        raise InvalidInput(name, "expected a range (low, high) with low below high", within)
    if both_whole and not (low >= -(2**63) and high < 2**63 and high - low < 2**63):
        raise InvalidInput(name, "expected a range of 64-bit integers, less than 2**63 wide", within)
    if not math.isfinite(high - low):
        raise InvalidInput(name, "expected a range whose width is finite", within)
    return low, high


def described(within: Any) -> str:
    """Return a range, a distribution, choices or rows as text.

    >>> described((1.0, 2.0))
    '1.0 to 2.0'
    """
    if isinstance(within, tuple):
        return f"{within[0]} to {within[1]}"
    if isinstance(within, np.ndarray):
        return f"one of {within.size:,} values" if within.size > 20 else f"one of {within.tolist()}"
    if isinstance(within, Mapping):
        return f"one of {_length(within):,} rows of {', '.join(within)}"
    frozen = getattr(within, "dist", None)
    if frozen is None:
        return repr(within)
    arguments = [*map(repr, within.args), *(f"{name}={value!r}" for name, value in within.kwds.items())]
    return f"{frozen.name}({', '.join(arguments)})"


def is_frozen(value: Any) -> bool:
    """Return whether a value is a frozen `scipy.stats` distribution.

    >>> is_frozen((1.0, 2.0))
    False
    """
    return hasattr(value, "rvs") and hasattr(value, "ppf")


def drawn_columns(name: str, of: Any, stream: np.random.Generator, size: int) -> dict[str, NDArray[Any]]:
    """Draw values of an input, or whole rows."""
    if isinstance(of, Mapping):
        at = stream.integers(0, _length(of), size)
        return {column: array.to_numpy()[at] for column, array in of.items()}
    if isinstance(of, np.ndarray):
        return {name: of[stream.integers(0, of.size, size)]}
    return {name: _finite_numbers(name, of, partial(of.rvs, size=size, random_state=stream), size)}


def _length(table: Mapping[str, Any]) -> int:
    return int(next(iter(table.values())).size)
