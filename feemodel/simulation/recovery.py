"""Revenue of a set of transactions, and the smallest margin at which revenue covers the cost of posting."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from feemodel.checks import WholeArray, function, instance, real_scalar, whole, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.linea.priority import Breakdown

HIGHEST = 1e6  # largest margin that `break_even_margin` tries [1]
TOLERANCE = 1e-4  # maximum amount by which its result is too large [1]


class Revenue(NamedTuple):
    """Revenue from all transactions, by part of the fee [wei]."""

    base: int  #: revenue from the base fee
    fixed: int
    size: int
    margin: int
    floor: int

    @property
    def total(self) -> int:
        """Total of all parts [wei]."""
        return sum(self)

    def shares(self) -> dict[str, float]:
        """Return, for each part of the fee, the share of the part in the total revenue [1]."""
        return {name: part / self.total if self.total else 0.0 for name, part in self._asdict().items()}


def revenue(parts: Breakdown, gas: WholeArray, *, base_fee: int) -> Revenue:
    """Return the sum of each part of the fee over all transactions, where a part is (fee per gas) · gas.

    Parameters
    ----------
    parts : parts of the priority fee, each of shape (n,) [wei / gas].
    gas : gas of each transaction, of shape (n,) [gas].
    base_fee : base fee [wei / gas].

    >>> from feemodel.linea.priority import breakdown
    >>> parts = breakdown(np.array([128]), 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2)
    >>> revenue(parts, np.array([21_000]), base_fee=7)
    Revenue(base=147000, fixed=630000000000, size=127999998000, margin=151599987000, floor=0)
    """
    instance("parts", parts, Breakdown)
    units, base_price = whole("gas", gas, unit="gas"), whole_scalar("base_fee", base_fee, unit="wei")
    for name, part in parts._asdict().items():
        if np.broadcast_shapes(np.shape(whole(f"parts.{name}", part, minimum=None)), np.shape(units)) != np.shape(
            units
        ):
            raise InvalidInput("gas", f"expected one number for each fee in the parts, of shape {np.shape(part)}", gas)

    def paid(per_gas: Any) -> int:
        # Totals in wei may exceed 64 bits, so they are computed as Python ints.
        return sum((np.asarray(per_gas).astype(object) * np.asarray(units)).reshape(-1).tolist())

    return Revenue(
        paid(np.full(np.shape(units), base_price, dtype=object)),
        *(
            paid(np.broadcast_to(part, np.shape(units)))
            for part in (parts.fixed, parts.size, parts.margin, parts.floor)
        ),
    )


def break_even_margin(surplus: Callable[[float], float]) -> float:
    """Return the smallest margin at which revenue covers cost, found by bisection; it is at most 0.0001 too large.

    Parameters
    ----------
    surplus : function that returns revenue − cost at a margin [wei]. The surplus must not decrease as the margin grows.

    Raises
    ------
    InvalidInput : a cost that no margin up to a million covers, or a surplus that is not a finite number.

    >>> round(break_even_margin(lambda margin: 3.0 * margin - 2.0), 3)
    0.667
    """
    function("surplus", surplus)

    def enough(margin: float) -> bool:
        return real_scalar("surplus", surplus(margin), minimum=None) >= 0.0

    if enough(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not enough(high):
        if high == HIGHEST:
            raise InvalidInput("surplus", f"expected at least 0 at the largest margin, {high:g}", surplus(high))
        low, high = high, min(2.0 * high, HIGHEST)
    while high - low > TOLERANCE and low < (middle := (low + high) / 2.0) < high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
