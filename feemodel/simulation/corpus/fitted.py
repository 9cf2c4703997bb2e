"""Numbers that the corpus generator takes from real transactions, and draws from them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Shares: TypeAlias = Mapping[int, float]  # of each count of bytes
Indices: TypeAlias = NDArray[np.int64]

# A distribution is kept as the means of its strata, cut at these quantiles: the mean is kept, and most of the tail.
STRATA = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class ShapeFit:
    """One shape of transaction, as real ones have it.

    Parameters
    ----------
    seen : real transactions of this shape.
    dynamic_fee, with_value : the share of them of type 2, and the share that moves ether.
    execution_gas : gas used beyond the intrinsic gas [gas], stratum means.
    tail : words in the tail, stratum means; empty where the shape has no tail.
    mixture : what the words of the tail are, as shares.
    """

    seen: int
    dynamic_fee: float
    with_value: float
    execution_gas: tuple[int, ...]
    tail: tuple[int, ...] = ()
    mixture: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class WordFit:
    """Shares of integers, amounts and packed bytes inside a word, each a number or one per number of bytes."""

    offsets_in_tiny: float
    counts_in_tiny: float
    offsets_in_small: float
    deadlines_in_time: float
    amount_bytes: Shares
    amount_zeros: Shares  # zero bytes at the right end
    packed_bytes: Shares


@dataclass(frozen=True)
class Zipf:
    """A pool of which the member of rank r is used in proportion to r to the power of minus `exponent`."""

    members: int
    exponent: float

    def draw(self, rng: np.random.Generator, count: int) -> Indices:
        """Indices of members, the most used first."""
        drawn: Indices = np.searchsorted(self._heights, rng.random(count) * self._heights[-1])
        return drawn

    @cached_property
    def _heights(self) -> NDArray[np.float64]:
        return np.cumsum(np.arange(1.0, self.members + 1) ** -self.exponent)


@dataclass(frozen=True)
class Fitted:
    """Everything that the generator takes from real transactions."""

    shapes: Mapping[str, ShapeFit]
    words: WordFit
    nonce_bytes: Shares
    price_bytes: Shares
    value_bytes: Shares
    contracts: Zipf
    users: Zipf


def draw_keys(shares: Mapping[Any, float], rng: np.random.Generator, count: int) -> NDArray[Any]:
    """Keys of a table of shares."""
    weights = np.fromiter(shares.values(), dtype=np.float64)
    return rng.choice(np.array([*shares]), count, p=weights / weights.sum())


def draw_strata(means: tuple[int, ...], rng: np.random.Generator, count: int) -> Indices:
    """Stratum means, each as often as its stratum is wide."""
    return rng.choice(np.array(means, dtype=np.int64), count, p=np.diff(STRATA))


def draw_between_strata(means: tuple[int, ...], rng: np.random.Generator, count: int) -> Indices:
    """Values between the stratum means, by linear interpolation of the quantile function."""
    middles = (np.array(STRATA[:-1]) + np.array(STRATA[1:])) / 2
    return np.interp(rng.random(count), middles, means).astype(np.int64)


def parse_fitted(text: str) -> Fitted:
    """The fit that `scripts/fit-corpus` prints, as JSON: tuples are lists there, and counts of bytes are text."""
    fit: dict[str, Any] = json.loads(text, object_hook=_whole_keys)
    made: dict[str, Any] = {name: Zipf(**fit[name]) for name in ("contracts", "users")}
    made["words"] = WordFit(**fit["words"])
    made["shapes"] = {
        name: ShapeFit(**{**shape, "execution_gas": tuple(shape["execution_gas"]), "tail": tuple(shape["tail"])})
        for name, shape in fit["shapes"].items()
    }
    return Fitted(**{name: made.get(name, fit[name]) for name in fit if name != "source"})


def _whole_keys(value: dict[str, Any]) -> dict[Any, Any]:
    return {int(name) if name.isdigit() else name: one for name, one in value.items()}


LINEA = parse_fitted(Path(__file__).with_name("linea.json").read_text(encoding="utf-8"))
