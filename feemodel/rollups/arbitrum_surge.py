"""A surge of demand on Arbitrum under its legacy rule and under gas constraints, as the chain's own simulator has it.

The simulator prices second by second: demand rises, stays and falls; what is asked for at a dearer fee is less; the
gas used joins the backlogs, a second is paid off, and the new fee holds at once (a real header lags by one block).

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23): cmd/l2pricing-simulator/{config, gas, main}.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import INT64_MAX, check_fields, instance, sequence
from feemodel.equality import compared_by_value
from feemodel.errors import Int64Overflow, InvalidInput, LimitExceeded
from feemodel.integers import one_whole
from feemodel.printed import printed_as_table
from feemodel.rollups.arbitrum_l2_pricing import GasConstraint, l2_base_fee, next_backlog, update_pricing

LEGACY_SPEED_LIMIT = 7_000_000  # gas / s
MOST_SECONDS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Surge:
    """Demand at the minimum base fee; the defaults are the simulator's."""

    demand: int = 200_000_000  #: at the peak [gas / s]
    duration: int = 30  #: of the peak [s]
    ramp: int = 10  #: until the peak, and after it, at least 1 [s]
    throughput: int = 128_000_000  #: of the sequencer [gas / s]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("ramp", "throughput"))
        for name in ("demand", "throughput"):
            if getattr(self, name) > INT64_MAX:
                raise Int64Overflow(name, "expected gas that fits 64 bits", getattr(self, name))
        if self.duration + self.ramp > MOST_SECONDS:
            raise LimitExceeded(f"a surge of {self.duration + self.ramp:,} s is longer than {MOST_SECONDS:,} s")


@compared_by_value
@printed_as_table
class SurgePath(NamedTuple):
    """What a surge did, second by second."""

    base_fees: NDArray[np.int64]  #: after each second [wei / gas]
    gas_used: NDArray[np.int64]  #: in each second [gas]
    peak: int  #: the highest base fee [wei / gas]
    peak_second: int  #: when it was first reached [s]


def surge_path(
    surge: Surge, *, constraints: Sequence[GasConstraint] | None = None, min_base_fee: int = 20_000_000
) -> SurgePath:
    """The base fee during a surge and as long again after it, on empty backlogs.

    Parameters
    ----------
    surge : the demand.
    constraints : of the chain; `None`: the legacy rule, 7 million gas a second.
    min_base_fee : of the chain, at which the demand is what the surge says, at least 1 [wei / gas].

    Demand below the chain's long-term target is raised to it, as in the simulator. Raises `InvalidInput` for anything
    that is not such a whole number.

    >>> from feemodel.rollups.arbitrum import DIA_CONSTRAINTS
    >>> old, new = surge_path(Surge()), surge_path(Surge(), constraints=DIA_CONSTRAINTS)
    >>> (old.peak, old.peak_second), (new.peak, new.peak_second)
    ((182230000, 45), (72846000, 39))
    """
    instance("surge", surge, Surge)
    floor = one_whole("min_base_fee", min_base_fee, minimum=1, unit="wei")
    if floor > INT64_MAX:
        raise Int64Overflow("min_base_fee", "expected a fee that fits 64 bits", min_base_fee)
    given = None if constraints is None else sequence("constraints", constraints)
    if given is not None and not given:
        raise InvalidInput("constraints", "expected at least one", constraints)
    for one in given or ():
        instance("constraints", one, GasConstraint)
    target = LEGACY_SPEED_LIMIT if given is None else max(given, key=lambda one: one.window).target
    backlogs: tuple[int, ...] = (0,) * (1 if given is None else len(given))
    waiting, fee = 0, floor
    fees, used = [], []
    for second in range(2 * (surge.duration + surge.ramp) + 1):
        gas, waiting = _gas_used(surge, second, waiting, fee / floor, target)
        if given is None:
            backlogs = (int(next_backlog(backlogs[0], gas, 1, speed_limit=LEGACY_SPEED_LIMIT)),)
            fee = int(l2_base_fee(backlogs[0], min_base_fee=floor, speed_limit=LEGACY_SPEED_LIMIT))
        else:
            grown = [backlog + gas for backlog in backlogs]
            fee, _, backlogs = update_pricing(grown, 1, constraints=given, min_base_fee=floor)
        fees.append(fee)
        used.append(gas)
    if max(fees) > INT64_MAX:
        raise Int64Overflow("min_base_fee", "expected fees that fit 64 bits", min_base_fee)
    path = np.array(fees, dtype=np.int64)
    return SurgePath(path, np.array(used, dtype=np.int64), max(fees), int(path.argmax()))


def _gas_used(surge: Surge, second: int, waiting: int, price: float, target: int) -> tuple[int, int]:
    """Gas used in a second, and gas that waits for the next, in the simulator's doubles; `price` 1 is the minimum."""
    end = 2 * surge.ramp + surge.duration
    demand = 0.0
    if second < surge.ramp:
        demand = second * surge.demand / surge.ramp
    elif second < surge.ramp + surge.duration:
        demand = float(surge.demand)
    elif second < end:
        demand = (end - second - 1) * surge.demand / surge.ramp
    asked = waiting + max(demand, float(target))
    room = surge.throughput * price
    return int(min(asked, room) / price), int(max(0.0, asked - room) / price)
