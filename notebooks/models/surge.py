"""Arbitrum's gas price during a surge of demand, and at constant gas use, by the legacy rule and by gas constraints.

As in Arbitrum's own simulator, prices change every second. In a surge, demand rises, stays constant and falls; higher
fees reduce demand. The gas used is added to the backlogs, which decrease every second. In the simulation of a surge, a
new base fee applies immediately; on the chain, a new base fee applies one block later.

Source: OffchainLabs/nitro at 6dce8d1 (2026-04-23): cmd/l2pricing-simulator/{config, gas, main}.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from feemodel.arguments import check_fields, check_of
from feemodel.checks import INT64_MAX, check_limit, instance, sequence
from feemodel.errors import Int64Overflow, InvalidInput, LimitExceeded
from feemodel.quantities import Quantity, Seconds
from feemodel.rollups.arbitrum_l2_pricing import (
    DIA_CONSTRAINTS,
    GasConstraint,
    base_fees,
    l2_base_fee,
    next_backlog,
    update_pricing,
)
from feemodel.simulation._metadata import described_dataset

LEGACY_SPEED_LIMIT = 7_000_000  # gas / s
LONGEST_SURGE = 100_000  # seconds
#: Gas per second; a number below 10,000 is probably in millions of gas.
RATE = Quantity("gas / s", lowest=10_000, maximum=INT64_MAX, hint="in gas per second; 7 Mgas = 7,000,000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surge:
    """Demand for gas over time at the minimum base fee; the defaults are those of Arbitrum's simulator."""

    demand: Annotated[int, RATE] = 200_000_000  #: maximum demand
    duration: Seconds = 30  #: time during which demand is at its maximum
    #: duration of the rise, which is also the duration of the fall
    ramp: Annotated[int, Quantity("s", minimum=1)] = 10
    throughput: Annotated[int, replace(RATE, minimum=1)] = 128_000_000  #: maximum throughput of the sequencer

    def __post_init__(self) -> None:
        check_fields(self)
        check_limit(self.duration + self.ramp, "seconds of a surge", LONGEST_SURGE)


class SurgePath(NamedTuple):
    """Base fee and gas used in each second during and after a surge."""

    base_fees: NDArray[np.int64]  #: base fee after each second [wei / gas]
    gas_used: NDArray[np.int64]  #: gas used in each second [gas]
    peak: int  #: maximum base fee [wei / gas]
    peak_second: int  #: time at which the base fee first reaches its maximum [s]


def surge_path(
    surge: Surge, *, constraints: Sequence[GasConstraint] | None = None, min_base_fee: int = 20_000_000
) -> SurgePath:
    """Return the base fee and the gas used during and after a surge; all backlogs are 0 at the start.

    Parameters
    ----------
    surge : demand during the surge at the minimum base fee. As in Arbitrum's simulator, demand is at least the gas
        target of the chain. If there are several constraints, demand is at least the target of the constraint with the
        longest window.
    constraints : gas constraints of the chain; `None` means the legacy rule with a target of 7 million gas per second.
    min_base_fee : minimum base fee of the chain, at least 1 [wei / gas].

    Returns
    -------
    Base fee and gas used in each second; the arrays cover twice the duration of the surge.

    Raises
    ------
    InvalidInput : `constraints` is empty, or `min_base_fee` is not an integer of at least 1.

    >>> from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS
    >>> old, new = surge_path(Surge()), surge_path(Surge(), constraints=DIA_CONSTRAINTS)
    >>> (old.peak, old.peak_second), (new.peak, new.peak_second)
    ((182230000, 45), (72846000, 39))
    """
    instance("surge", surge, Surge)
    floor = Quantity("wei", minimum=1, maximum=INT64_MAX).check_one("min_base_fee", min_base_fee)
    given = None if constraints is None else sequence("constraints", constraints)
    if given is not None and not given:
        raise InvalidInput("constraints", "expected at least one constraint", constraints)
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
    """Return the gas used in a second, and the demand that remains for the next second.

    `waiting` is the demand that remains from the previous second, and `price` is base fee / minimum base fee.
    """
    end = 2 * surge.ramp + surge.duration
    demand = 0.0
    if second < surge.ramp:
        demand = second * surge.demand / surge.ramp
    elif second < surge.ramp + surge.duration:
        demand = float(surge.demand)
    elif second < end:
        demand = (end - second - 1) * surge.demand / surge.ramp
    demanded = waiting + max(demand, float(target))
    room = surge.throughput * price
    return int(min(demanded, room) / price), int(max(0.0, demanded - room) / price)


MIN_BASE_FEE = 1_000_000_000  # minimum base fee of Arbitrum's simulator [wei / gas]
MAX_SECONDS = 10_000_000


def surge_prices(surge: Surge | None = None, *, constraints: Sequence[GasConstraint] = DIA_CONSTRAINTS) -> xr.Dataset:
    """Return the base fee during a surge of demand, by the legacy rule and by gas constraints.

    Parameters
    ----------
    surge : demand at the minimum base fee of 1 gwei; `None` means the demand of Arbitrum's simulator.
    constraints : gas constraints of the chain; demand is at least the target of the constraint with the longest window.

    Returns
    -------
    Dataset over `rule` ("legacy", "constraints") and `second`: `base_fee`, the base fee at the end of the second [wei /
    gas]; `gas_used`, the gas used in the second [gas]; and `paid`, gas used · base fee at the start of the second
    [wei].

    >>> found = surge_prices()
    >>> (found.base_fee.max("second") / 1e9).round(4).values.tolist(), found.base_fee.argmax("second").values.tolist()
    ([9.1115, 3.6423], [45, 39])
    """
    terms = Surge() if surge is None else instance("surge", surge, Surge)
    paths = [surge_path(terms, constraints=rule, min_base_fee=MIN_BASE_FEE) for rule in (None, constraints)]
    fees, gas = (np.array([getattr(path, name) for path in paths]) for name in ("base_fees", "gas_used"))
    before = np.hstack([np.full((2, 1), MIN_BASE_FEE), fees[:, :-1]])
    variables = {
        "base_fee": (("rule", "second"), fees, "wei / gas"),
        "gas_used": (("rule", "second"), gas, "gas"),
        "paid": (("rule", "second"), gas.astype(np.float64) * before, "wei"),
    }
    seconds = ("second", np.arange(fees.shape[1]), "s")
    return described_dataset(variables, {"rule": ["legacy", "constraints"], "second": seconds})


def sustained_use(
    gas_per_second: float,
    hours: float,
    *,
    min_base_fee: int,
    constraints: Sequence[GasConstraint] = DIA_CONSTRAINTS,
) -> xr.Dataset:
    """Return the base fee and the fees paid if the gas use is constant and does not depend on the base fee.

    Parameters
    ----------
    gas_per_second : gas used per second [gas / s].
    hours : duration [h].
    min_base_fee : minimum base fee of the chain [wei / gas].
    constraints : gas constraints of the chain.

    Returns
    -------
    Dataset over `second`: `base_fee` [wei / gas], and `paid`, the fees paid in the second [wei].

    Raises
    ------
    InvalidInput : a number or `constraints` is not valid.
    LimitExceeded : more than 10,000,000 seconds.

    After one second in which 120 million gas are used, the exponent of the base fee is 1111 + 370 + 95 + 23 + 5 + 1
    basis points, with one term for each of six constraints:

    >>> float(sustained_use(120e6, 0.5, min_base_fee=20_000_000).base_fee[0])
    23480000.0
    """
    gas = int(check_of(Annotated[float, replace(RATE, double=True)])("gas_per_second", gas_per_second))
    seconds = int(check_of(float)("hours", hours) * 3_600)
    if not 1 <= seconds <= MAX_SECONDS:
        raise LimitExceeded(f"{seconds:,} seconds are not between 1 and {MAX_SECONDS:,}")
    # Each second has one block. The gas used in block i first affects the base fee of block i + 2, so `base_fee` of
    # second i is the base fee of block i + 2. The fees paid in second i are computed with the base fee of block i + 1.
    blocks = seconds + 2
    used, times = np.full(blocks, gas), np.arange(blocks)
    fees = base_fees(used, times, constraints=constraints, min_base_fee=min_base_fee).base_fees.astype(np.float64)
    return described_dataset(
        {"base_fee": ("second", fees[2:], "wei / gas"), "paid": ("second", float(gas) * fees[1:-1], "wei")},
        {"second": ("second", np.arange(seconds), "s")},
        {"gas_per_second": gas, "min_base_fee": min_base_fee},
    )
