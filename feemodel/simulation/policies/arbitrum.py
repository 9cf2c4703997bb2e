"""Arbitrum's L1 pricing controller.

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23), arbos/l1pricing/l1pricing.go.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.quantities import Quantity
from feemodel.simulation.closed_loop.loop import run_loop, uncounted
from feemodel.simulation.closed_loop.observations import Setting, State, policy_state, records
from feemodel.simulation.policies.base import BuiltIn
from feemodel.simulation.quantities import BytePrice, FactorAboveZero, Lag

UNITS_PER_BYTE = 16.0  # L1 calldata units of a compressed byte

#: Values of a batch that was posted, but not yet reported to the controller.
BATCH = np.dtype([("surplus", np.float64), ("units", np.float64)], align=True)


class ArbitrumState(NamedTuple):
    """State of the controller."""

    terms: np.record
    batches: NDArray[Any]  #: ring buffer of `BATCH` records


@cached_njit(nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Set the price of a byte to (price per unit) · (units per byte)."""
    price.per_byte = state.terms.price_per_unit * state.terms.units_per_byte


@cached_njit(nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """Add the data fees of a step to the surplus. After a posting, update the price from the batch that is reported."""
    terms, batches = state.terms, state.batches
    terms.surplus += settled.data_fees
    if settled.posted_bytes <= 0.0:
        return
    units = settled.posted_bytes * terms.units_per_byte
    terms.surplus -= settled.posted_cost + terms.reward * units
    number = int(terms.posted)
    posted = batches[number % batches.size]
    posted.surplus, posted.units = terms.surplus, units
    terms.posted += 1.0
    if number + 1 < batches.size:
        return
    reported = batches[(number + 1) % batches.size]
    desired = -reported.surplus / terms.equilibration_units
    actual = (reported.surplus - terms.last_surplus) / reported.units
    moved = (desired - actual) * reported.units / (terms.equilibration_units / terms.inertia + reported.units)
    terms.price_per_unit = max(0.0, terms.price_per_unit + moved)
    terms.last_surplus = reported.surplus


@cached_njit(nogil=True, error_model="numpy")
def run(state, path, rng):  # type: ignore[no-untyped-def]
    """Simulate one path with this policy."""
    run_loop(announce, settle, state, uncounted(path), rng)


@dataclass(frozen=True, kw_only=True)
class ArbitrumPricing(BuiltIn):
    """Arbitrum's L1 pricing controller, which changes the price at each report of the cost of a batch.

    The change of the price depends on the surplus of fees over costs, and on the change of the surplus since the
    previous report.
    """

    price: BytePrice  #: initial price
    #: number of posted units over which a surplus is returned
    equilibration_units: Annotated[float, Quantity("unit", double=True, above_zero=True)] = 160_000_000.0
    inertia: FactorAboveZero = 10.0  #: divisor of `equilibration_units` in the damping of price changes
    reward: Annotated[float, Quantity("wei / unit", double=True)] = 0.0  #: reward that is paid for each posted unit
    report_delay: Lag = 0  #: number of further batches posted before a batch is reported
    #: L1 calldata units of a compressed byte
    units_per_byte: Annotated[float, Quantity("unit / byte", double=True, above_zero=True)] = UNITS_PER_BYTE

    announce, settle, run = staticmethod(announce), staticmethod(settle), staticmethod(run)

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
        terms = policy_state(
            equilibration_units=self.equilibration_units,
            inertia=self.inertia,
            reward=self.reward,
            units_per_byte=self.units_per_byte,
            price_per_unit=self.price / self.units_per_byte,
            surplus=0.0,
            last_surplus=0.0,
            posted=0.0,
        )
        return ArbitrumState(terms, records(self.report_delay + 1, BATCH))
