"""Distributions that were fitted to real transactions for the corpus generator, and random draws from them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Shares: TypeAlias = Mapping[int, float]  # number of bytes → share of the items that have this number of bytes
Indices: TypeAlias = NDArray[np.int64]

# Quantile levels that divide a fitted distribution into strata. Only the mean of each stratum is stored. The means of
# the strata preserve the mean of the whole distribution and most of its upper tail.
STRATA = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class ShapeFit:
    """Fitted distributions of one shape of transaction.

    Parameters
    ----------
    seen : number of real transactions of this shape.
    dynamic_fee : share of the real transactions of this shape that have type 2 (EIP-1559) [1].
    with_value : share of the real transactions of this shape that transfer ether [1].
    execution_gas : mean of (gas used − intrinsic gas) in each stratum of the distribution [gas].
    tail : mean number of words in the tail in each stratum of the distribution; empty if the shape has no tail.
    mixture : mapping from the name of a word to its share of the words in the tail [1].
    """

    seen: int
    dynamic_fee: float
    with_value: float
    execution_gas: tuple[int, ...]
    tail: tuple[int, ...] = ()
    mixture: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class WordFit:
    """Fitted distributions of words: which integers are offsets, counts or deadlines, and lengths of other words."""

    offsets_in_tiny: float
    counts_in_tiny: float
    offsets_in_small: float
    deadlines_in_time: float
    amount_bytes: Shares
    amount_zeros: Shares  # share of amounts by number of zero bytes at their right end
    packed_bytes: Shares


@dataclass(frozen=True)
class Zipf:
    """Pool from which the member of rank r is drawn with a probability proportional to r ** -exponent."""

    members: int
    exponent: float

    def draw(self, rng: np.random.Generator, count: int) -> Indices:
        """Draw `count` members of the pool and return their indices; the most frequent member has index 0."""
        drawn: Indices = np.searchsorted(self._heights, rng.random(count) * self._heights[-1])
        return drawn

    @cached_property
    def _heights(self) -> NDArray[np.float64]:
        return np.cumsum(np.arange(1.0, self.members + 1) ** -self.exponent)


@dataclass(frozen=True)
class Fitted:
    """All fitted distributions of the generator."""

    shapes: Mapping[str, ShapeFit]
    words: WordFit
    nonce_bytes: Shares
    price_bytes: Shares
    value_bytes: Shares
    contracts: Zipf
    users: Zipf


def draw_keys(shares: Mapping[Any, float], rng: np.random.Generator, count: int) -> NDArray[Any]:
    """Draw keys with probabilities proportional to their shares.

    Parameters
    ----------
    shares : mapping from keys to shares, which need not add up to 1.
    rng : random generator.
    count : number of draws.

    Returns
    -------
    Keys, of shape (count,).

    >>> draw_keys({4: 1.0, 8: 0.0}, np.random.default_rng(1), 3).tolist()
    [4, 4, 4]
    """
    weights = np.fromiter(shares.values(), dtype=np.float64)
    return rng.choice(np.array([*shares]), count, p=weights / weights.sum())


def draw_strata(means: tuple[int, ...], rng: np.random.Generator, count: int) -> Indices:
    """Draw from the means of the strata; each mean has a probability equal to the width of its stratum."""
    return rng.choice(np.array(means, dtype=np.int64), count, p=np.diff(STRATA))


def draw_between_strata(means: tuple[int, ...], rng: np.random.Generator, count: int) -> Indices:
    """Draw integers from a distribution whose quantile function is linear between the stratum means.

    Parameters
    ----------
    means : mean of the distribution in each stratum of `STRATA`.
    rng : random generator.
    count : number of draws.

    Returns
    -------
    Drawn integers, of shape (count,), in the unit of `means`.

    >>> draw_between_strata((7,) * (len(STRATA) - 1), np.random.default_rng(1), 2).tolist()
    [7, 7]
    """
    middles = (np.array(STRATA[:-1]) + np.array(STRATA[1:])) / 2
    return np.interp(rng.random(count), middles, means).astype(np.int64)


def parse_fitted(text: str) -> Fitted:
    """Parse the JSON output of `scripts/fit-corpus`. JSON stores tuples as lists, and integer keys as text."""
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
