"""Revenue of a set of transactions."""

from typing import Any, NamedTuple

import numpy as np

from feemodel.arguments import checked
from feemodel.checks import WholeArray
from feemodel.errors import InvalidInput
from feemodel.linea.priority import Breakdown
from feemodel.quantities import ANY_WHOLE, BaseFee, Quantity


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


@checked
def revenue(parts: Breakdown, gas: WholeArray, *, base_fee: BaseFee) -> Revenue:
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
    units = Quantity("gas").check("gas", gas)
    for name, part in parts._asdict().items():
        if np.broadcast_shapes(np.shape(ANY_WHOLE.check(f"parts.{name}", part)), np.shape(units)) != np.shape(units):
            raise InvalidInput("gas", f"expected one number for each fee in the parts, of shape {np.shape(part)}", gas)

    def paid(per_gas: Any) -> int:
        # Totals in wei may exceed 64 bits, so they are computed as Python ints.
        return sum((np.asarray(per_gas).astype(object) * np.asarray(units)).reshape(-1).tolist())

    return Revenue(
        paid(np.full(np.shape(units), base_fee, dtype=object)),
        *(
            paid(np.broadcast_to(part, np.shape(units)))
            for part in (parts.fixed, parts.size, parts.margin, parts.floor)
        ),
    )
