"""Axes of samples.

An axis has one or more inputs that vary together. The values of the inputs are listed, drawn at random, or computed
from Sobol points.

An axis can return any range of its rows. Random values are drawn in blocks of `DRAW_BLOCK` rows. Each block of rows has
its own random stream, so a value depends only on the seed and the row, and not on the requested range.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import raise_first, whole_scalar
from feemodel.errors import InvalidInput

Inputs: TypeAlias = dict[str, NDArray[Any]]
Constant: TypeAlias = int | float | str
Rng: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None

DRAW_BLOCK = 1 << 16  # number of draws from one random stream
LARGEST_EXACT = 2.0**53  # doubles represent all integers up to this number exactly
HALF_CELL = 0.5**31  # half of 2**-30; the distance between Sobol points is 2**-30
SAMPLE = "sample"  # name of the dimension of draws and of Sobol points


@dataclass(frozen=True, eq=False)
class Listed:
    """Axis with values given by the caller."""

    dim: str
    columns: Inputs
    described: str
    generated: bool = False  #: whether the values are computed on request instead of stored

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.columns)

    def __len__(self) -> int:
        return int(next(iter(self.columns.values())).size)

    def values(self, start: int, stop: int, into: Inputs | None = None) -> Inputs:
        """Return the values of each input in a range of rows; `into` is not used, because no values are generated."""
        return _part(self.columns, start, stop)

    def example(self) -> Inputs:
        """Return one value of each input, for a test call of a function."""
        return self.values(0, 1)

    def attributes(self) -> dict[str, Constant]:
        """Return attributes that describe the axis, for results without the values of the axis."""
        return {f"{self.dim}_values": self.described}


@dataclass(frozen=True, eq=False)
class Rows:
    """Table of inputs, as created by `rows`; a draw selects one row, with the values of all columns."""

    columns: Inputs

    def __len__(self) -> int:
        return int(next(iter(self.columns.values())).size)

    def at(self, index: NDArray[np.int64]) -> Inputs:
        """Return the rows with the given indices, as one array for each input."""
        return {name: column[index] for name, column in self.columns.items()}


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Distribution with rounded draws and quantiles, of type int64, as created by `whole_numbers`."""

    distribution: Any

    def rvs(self, size: int, random_state: np.random.Generator) -> NDArray[np.int64]:
        """Return random draws, rounded to int64."""
        return _rounded(self.distribution.rvs(size=size, random_state=random_state))

    def ppf(self, share: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the quantiles at the given probabilities, rounded to int64."""
        return _rounded(self.distribution.ppf(share))


def _rounded(values: Any) -> NDArray[np.int64]:
    nearest = np.rint(np.asarray(values, dtype=np.float64))
    if not (np.abs(nearest) < LARGEST_EXACT).all():  # also raises for NaN
        raise ValueError("expected whole numbers below 2**53, which doubles represent exactly")
    return nearest.astype(np.int64)


@dataclass(frozen=True, eq=False)
class GeneratedAxes:
    """Base class of axes with random draws or Sobol points."""

    count: int
    ranges: Mapping[str, Any]  #: ranges, distributions, choices or rows
    seed: np.random.SeedSequence
    dim: str = SAMPLE
    generated: bool = True
    sampling: ClassVar[str]
    range_name: ClassVar[str]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sampled inputs; for `rows`, the names of the columns."""
        return tuple(
            name for key, of in self.ranges.items() for name in (of.columns if isinstance(of, Rows) else [key])
        )

    def __len__(self) -> int:
        return self.count

    def attributes(self) -> dict[str, Constant]:
        """Return attributes for results: the sampling method, the distribution of each input, and the seed."""
        described = {f"{name}_{self.range_name}": described_values(of) for name, of in self.ranges.items()}
        # The seed is stored as text because it may be longer than 64 bits.
        key = ", ".join(map(str, self.seed.spawn_key))
        seed = {"seed": str(self.seed.entropy)} | ({"seed_spawn_key": key} if key else {})
        return {"sampling": self.sampling, "samples": self.count, **seed, **described}


@dataclass(frozen=True, eq=False)
class Draws(GeneratedAxes):
    """Independent random draws."""

    sampling = "Monte Carlo"
    range_name = "drawn_from"

    def values(self, start: int, stop: int, into: Inputs | None = None) -> Inputs:
        """Return the inputs of a range of rows. If `into` is given, the values are written to `into`."""
        numbers = range(start // DRAW_BLOCK, -(-stop // DRAW_BLOCK))
        blocks = [self._part_of_block(number, start, stop, into) for number in numbers]
        if into is not None:
            return into
        if len(blocks) == 1:
            return blocks[0]
        return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}

    def example(self) -> Inputs:
        """Return the inputs of the first row, for a test call of a function."""
        return self._example

    @cached_property
    def _example(self) -> Inputs:
        return _drawn(self.ranges, stream_of(self.seed), 1)

    def _part_of_block(self, number: int, start: int, stop: int, into: Inputs | None) -> Inputs:
        first = number * DRAW_BLOCK
        last = min(first + DRAW_BLOCK, self.count)
        target = None if into is None else _part(into, max(first - start, 0), last - start)
        if start <= first and last <= stop:
            return _draw_block(self, number, target)
        # Cache this block of draws: if the samples have other axes too, many parts of the result use the same draws.
        return _put(_part(_recent_draw_block(self, number), max(start - first, 0), stop - first), target)


@dataclass(frozen=True, eq=False)
class SobolPoints(GeneratedAxes):
    """Points of a scrambled Sobol sequence."""

    sampling = "Sobol"
    range_name = "range"

    def values(self, start: int, stop: int, into: Inputs | None = None) -> Inputs:
        """Return the inputs of a range of rows. If `into` is given, the values are written to `into`."""
        return _put(dict(_recent_sobol_points(self, start, stop)), into)

    def example(self) -> Inputs:
        """Return the inputs of the first row, for a test call of a function."""
        return self.values(0, 1)


Axis: TypeAlias = Listed | Draws | SobolPoints  # inputs that vary together along one dimension


def columns_at(name: str, within: Any, unit: NDArray[np.float64]) -> Inputs:
    """Convert points in [0, 1) to values of inputs; the points are from a Sobol sequence or an experimental design.

    >>> columns_at("l1", Rows({"base_fee": np.array([7, 8]), "tip": np.array([1, 2])}), np.array([0.0, 0.6]))
    {'base_fee': array([7, 8]), 'tip': array([1, 2])}
    """
    if isinstance(within, Rows):
        return within.at(np.minimum((unit * len(within)).astype(np.int64), len(within) - 1))
    return {name: finite_numbers(name, within, partial(from_unit, unit, within), len(unit))}


def from_unit(values: NDArray[np.float64], within: Any) -> NDArray[Any]:
    """Map points of a Sobol sequence, multiples of 2**-30 in [0, 1), to values of a range or a distribution.

    Each point stands for the interval of length 2**-30 that starts at the point. For a distribution, the result is the
    quantile at the middle of the point's interval. The quantile at the point 0 itself would be infinite for an
    unbounded distribution, and below the minimum for a discrete distribution.

    >>> from_unit(np.array([0.0, 0.5, 0.999]), (1, 3)).tolist()
    [1, 2, 3]
    """
    if is_frozen(within):
        return np.asarray(within.ppf(values + HALF_CELL))
    low, high = within
    if isinstance(low, int) and isinstance(high, int):
        # All values are below 1, but `values * (high - low + 1)` may be rounded up to high − low + 1.
        return np.minimum(low + np.floor(values * (high - low + 1)).astype(np.int64), high)
    return np.asarray(low + values * (high - low))


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
    return np.random.SeedSequence(None if rng is None else whole_scalar("rng", rng))


def stream_of(seed: np.random.SeedSequence, *key: int) -> np.random.Generator:
    """Return one random stream of a seed; the integers `key` identify the stream.

    The stream does not depend on how many streams were spawned from the seed earlier.

    >>> int(stream_of(seed_sequence(5), 3).integers(100)), int(stream_of(seed_sequence(5), 3).integers(100))
    (22, 22)
    """
    return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key)))


def finite_numbers(name: str, within: Any, make: Callable[[], Any], count: int) -> NDArray[Any]:
    """Call `make`, which draws values from a distribution, and check that the values are `count` finite numbers.

    Raises `InvalidInput` with the name of the input if a value is not finite, if the number of values is wrong, or if
    the distribution raises an exception.
    """
    try:
        column = np.asarray(make())
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise InvalidInput(
            name, f"expected a distribution of finite numbers ({error})", described_values(within)
        ) from None
    if column.shape != (count,) or column.dtype.kind not in "iuf":
        reason = f"expected a distribution of scalars, not of {column.dtype} arrays of shape {column.shape}"
        raise InvalidInput(name, reason, described_values(within))
    if column.dtype.kind == "f" and not (finite := np.isfinite(column)).all():
        reason = f"expected a distribution of finite numbers, not {described_values(within)}"
        raise_first(name, reason, column, ~finite)
    return _as_whole(column) if hasattr(getattr(within, "dist", None), "pmf") else column  # discrete


def _as_whole(column: NDArray[Any]) -> NDArray[Any]:
    """Convert values of a discrete distribution to int64 if all values are integers.

    SciPy returns quantiles as doubles, even for a discrete distribution.
    """
    if column.dtype.kind == "f" and (np.rint(column) == column).all() and (np.abs(column) < LARGEST_EXACT).all():
        return column.astype(np.int64)
    return column


def described_values(within: Any) -> str:
    """Return a range, a distribution or a list of choices as text.

    >>> described_values((1.0, 2.0))
    '1.0 to 2.0'
    """
    if isinstance(within, tuple):
        return f"{within[0]} to {within[1]}"
    if isinstance(within, np.ndarray):
        return f"one of {within.size:,} values" if within.size > 20 else f"one of {within.tolist()}"
    if isinstance(within, Rows):
        return f"one of {len(within):,} rows of {', '.join(within.columns)}"
    if isinstance(within, WholeNumbers):
        return f"{described_values(within.distribution)}, rounded"
    frozen = getattr(within, "dist", None)
    if frozen is None:
        return repr(within)
    arguments = [*map(repr, within.args), *(f"{name}={value!r}" for name, value in within.kwds.items())]
    return f"{frozen.name}({', '.join(arguments)})"


def _draw_block(draws: Draws, number: int, into: Inputs | None = None) -> Inputs:
    stream = stream_of(draws.seed, number)
    return _drawn(draws.ranges, stream, min(DRAW_BLOCK, draws.count - number * DRAW_BLOCK), into)


_recent_draw_block = lru_cache(maxsize=8)(_draw_block)  # the cache compares axes by identity


def _drawn(
    distributions: Mapping[str, Any], stream: np.random.Generator, count: int, into: Inputs | None = None
) -> Inputs:
    drawn: Inputs = {}
    for name, of in distributions.items():
        if isinstance(of, Rows):
            columns = of.at(stream.integers(0, len(of), count))
        elif isinstance(of, np.ndarray):
            columns = {name: of[stream.integers(0, of.size, count)]}
        else:
            columns = {name: finite_numbers(name, of, partial(of.rvs, size=count, random_state=stream), count)}
        drawn |= _put(columns, into)
    return drawn


def _put(columns: Inputs, into: Inputs | None) -> Inputs:
    """Return the columns; if `into` is given, copy the columns to `into` and return the arrays in `into`."""
    if into is None:
        return columns
    for name, column in columns.items():
        into[name][...] = column
    return {name: into[name] for name in columns}


def _part(columns: Inputs, start: int, stop: int) -> Inputs:
    return {name: column[start:stop] for name, column in columns.items()}


@lru_cache(maxsize=8)
def _recent_sobol_points(points: SobolPoints, start: int, stop: int) -> Inputs:
    from scipy.stats import qmc

    sequence = qmc.Sobol(len(points.ranges), scramble=True, rng=stream_of(points.seed))
    if start:
        sequence.fast_forward(start)
    # SciPy warns if the first call requests a number of points that is not a power of two, so round the number up to
    # the next power of two.
    unit = sequence.random(stop - start) if start else sequence.random_base2((stop - 1).bit_length())[:stop]
    found: Inputs = {}
    for index, (name, within) in enumerate(points.ranges.items()):
        found |= columns_at(name, within, unit[:, index])
    return found


def is_frozen(value: Any) -> TypeGuard[Any]:
    """Return whether a value is a frozen `scipy.stats` distribution."""
    return hasattr(value, "rvs") and hasattr(value, "ppf")
