"""A surge of demand on Arbitrum's two gas prices, as nitro's own simulator runs it.

`cmd/l2pricing-simulator` of OffchainLabs/nitro at 6dce8d1 (2026-04-23): demand rises to its peak, stays and falls; what
it asks for is divided by the price in gwei; the sequencer takes so much a second, the rest waits in its queue.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from feemodel.checks import INT64_MAX, instance, real_scalar, sequence, whole_scalar
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.rollups.arbitrum_l2_pricing import (
    DIA_CONSTRAINTS,
    GasConstraint,
    l2_base_fee,
    next_backlog,
    update_pricing,
)
from feemodel.simulation.metadata import with_metadata

LEGACY_SPEED_LIMIT = 7_000_000  # gas a second; nitro, InitialSpeedLimitPerSecondV6
MOST_SECONDS = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Surge:
    """Demand for gas at a price of 1 gwei, second by second; the defaults are the simulator's."""

    peak: int = 200_000_000  #: [gas / s]
    ramp: int = 10  #: in which it rises, and falls again [s]
    duration: int = 30  #: at the peak [s]
    throughput: int = 128_000_000  #: that the sequencer takes at most [gas / s]
    min_base_fee: int = 1_000_000_000  #: [wei / gas]

    def __post_init__(self) -> None:
        for name in ("peak", "ramp", "duration"):
            whole_scalar(name, getattr(self, name))
        for name in ("throughput", "min_base_fee"):
            whole_scalar(name, getattr(self, name), minimum=1)
        if self.seconds > MOST_SECONDS:
            raise LimitExceeded(f"{self.seconds:,} seconds are more than {MOST_SECONDS:,}")

    @property
    def seconds(self) -> int:
        """That are simulated: the surge, and as long again for the price to fall [s]."""
        return 2 * self.duration + 2 * self.ramp + 1

    def demand(self, second: int) -> float:
        """What is asked for at a price of 1 gwei [gas].

        >>> [Surge().demand(second) for second in (0, 5, 39, 45, 50)]
        [0.0, 100000000.0, 200000000.0, 80000000.0, 0.0]
        """
        at = whole_scalar("second", second)
        if at < self.ramp:
            return at * self.peak / self.ramp
        if at < self.ramp + self.duration:
            return float(self.peak)
        if at < 2 * self.ramp + self.duration:
            return (2 * self.ramp + self.duration - at - 1) * self.peak / self.ramp
        return 0.0


def surge_prices(
    surge: Surge | None = None,
    *,
    constraints: Sequence[GasConstraint] = DIA_CONSTRAINTS,
    speed_limit: int = LEGACY_SPEED_LIMIT,
) -> xr.Dataset:
    """The base fee of the legacy rule and of the constraints while a surge of demand comes and goes.

    Parameters
    ----------
    surge : the demand; the simulator's own unless given.
    constraints : of the chain; the target of the one with the longest window is the least demand.
    speed_limit : of the legacy rule, and its least demand [gas / s].

    Returns
    -------
    Dataset over `rule` ("legacy", "constraints") and `second`: `base_fee` after the second [wei / gas], `gas_used` in
    it [gas], `paid` for it at the base fee before [wei].

    >>> found = surge_prices()
    >>> (found.base_fee.max("second") / 1e9).round(4).values.tolist(), found.base_fee.argmax("second").values.tolist()
    ([9.1115, 3.6423], [45, 39])
    """
    terms = Surge() if surge is None else instance("surge", surge, Surge)
    limit = whole_scalar("speed_limit", speed_limit, minimum=1, maximum=INT64_MAX, unit="gas")
    rows = _constraints(constraints)
    longest = max(rows, key=lambda one: one.window)
    runs = [_run(terms, limit, None), _run(terms, longest.target, rows)]
    variables = {
        name: (("rule", "second"), np.array([run[place] for run in runs]), {"units": units})
        for place, (name, units) in enumerate((("base_fee", "wei / gas"), ("gas_used", "gas"), ("paid", "wei")))
    }
    seconds = ("second", np.arange(terms.seconds), {"units": "s"})
    return with_metadata(xr.Dataset(variables, {"rule": ["legacy", "constraints"], "second": seconds}))


def _constraints(given: Any) -> tuple[GasConstraint, ...]:
    rows = tuple(instance("constraints", row, GasConstraint) for row in sequence("constraints", given))
    if not rows:
        raise InvalidInput("constraints", "expected at least one", given)
    return rows


def _run(
    surge: Surge, least: int, constraints: Sequence[GasConstraint] | None
) -> tuple[list[int], list[int], list[float]]:
    """Second by second; without constraints the legacy rule, whose speed limit is the least demand."""
    fee, queue, backlogs = surge.min_base_fee, 0, (0,) * (1 if constraints is None else len(constraints))
    fees, used, paid = [], [], []
    for second in range(surge.seconds):
        arrived = queue + max(surge.demand(second), float(least))
        price = fee / 1e9  # in gwei, by which the simulator divides demand
        taken = min(arrived, surge.throughput * price)
        queue, gas = int(max(0.0, arrived - surge.throughput * price) / price), int(taken / price)
        paid.append(float(gas) * fee)
        if constraints is None:
            backlogs = (int(next_backlog(backlogs[0], gas, 1, speed_limit=least)),)
            fee = int(l2_base_fee(backlogs[0], min_base_fee=surge.min_base_fee, speed_limit=least))
        else:
            added = [backlog + gas for backlog in backlogs]
            update = update_pricing(added, 1, constraints=constraints, min_base_fee=surge.min_base_fee)
            fee, backlogs = update.base_fee, update.backlogs
        fees.append(fee)
        used.append(gas)
    return fees, used, paid


def sustained_use(
    gas_per_second: float,
    hours: float,
    *,
    min_base_fee: int,
    constraints: Sequence[GasConstraint] = DIA_CONSTRAINTS,
) -> xr.Dataset:
    """The base fee, and what is paid, while somebody keeps using so much gas a second whatever it costs.

    Parameters
    ----------
    gas_per_second : [gas / s].
    hours : [h].
    min_base_fee : of the chain [wei / gas].
    constraints : of the chain.

    Returns
    -------
    Dataset over `second`: `base_fee` [wei / gas], `paid` [wei].

    Raises `LimitExceeded` for more than 10,000,000 seconds, and as `update_pricing`.

    After a second of 120 million gas the exponent is 1111 + 370 + 95 + 23 + 5 + 1 basis points:

    >>> float(sustained_use(120e6, 0.5, min_base_fee=20_000_000).base_fee[0])
    23480000.0
    """
    gas = int(real_scalar("gas_per_second", gas_per_second, unit="gas"))
    seconds = int(real_scalar("hours", hours) * 3_600)
    if not 1 <= seconds <= MOST_SECONDS:
        raise LimitExceeded(f"{seconds:,} seconds are not between 1 and {MOST_SECONDS:,}")
    rows, least = _constraints(constraints), whole_scalar("min_base_fee", min_base_fee, maximum=INT64_MAX, unit="wei")
    backlogs: Sequence[int] = (0,) * len(rows)
    fees, fee = np.empty(seconds), least
    paid = np.empty(seconds)
    for second in range(seconds):
        paid[second] = float(gas) * fee
        added = [backlog + gas for backlog in backlogs]
        fee, _, backlogs = update_pricing(added, 1, constraints=rows, min_base_fee=least)
        fees[second] = fee
    return with_metadata(
        xr.Dataset(
            {"base_fee": ("second", fees, {"units": "wei / gas"}), "paid": ("second", paid, {"units": "wei"})},
            {"second": ("second", np.arange(seconds), {"units": "s"})},
            {"gas_per_second": gas, "min_base_fee": min_base_fee},
        )
    )
