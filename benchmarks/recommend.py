"""Fee parameters, recommended anew every day, in the closed loop over the package's month."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.stats import binomtest

from feemodel.checks import RealArray
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation import Fixed, LineaPricing, OpStackPricing
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.forecast.recommend import SUBMISSIONS, recommend
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import replay

PAYS_TIPS = ("op-stack", "recommended")  # family and policy with an operator fee per transaction
WARM_UP = 8  # days of history for the first forecast
LOSS = 0.05  # target probability of a loss on a day
DEADLINE = 3_600.0  # deadline of posting; a blob is full after 750 s [s]


class Days(NamedTuple):
    """Daily fees and costs of a policy [wei]."""

    fees: RealArray
    costs: RealArray

    @property
    def overcharge(self) -> float:
        """Sum of each day's fees in excess of its costs, divided by all costs [1]."""
        return float(np.maximum(self.fees - self.costs, 0.0).sum() / self.costs.sum())

    @property
    def losing(self) -> int:
        return int((self.fees < self.costs).sum())


def daily(history: xr.Dataset, family: str, *, warm_up: int = WARM_UP) -> dict[str, Days]:
    """Run three policies over the same days: daily recommendations, the chain's own parameters, and a fixed price.

    The fixed price is chosen in hindsight so that it loses on as many days as the recommendations.
    """
    times = history["time"].to_numpy()
    first = times[0].astype("datetime64[D]") + np.timedelta64(warm_up + 1, "D")
    found: Mapping[str, list[tuple[float, float]]] = {"recommended": [], "chain": [], "unit": []}
    for day in np.arange(first, times[-1].astype("datetime64[D]")):
        past = history.isel(step=times < day)
        today = history.isel(step=(times >= day) & (times < day + np.timedelta64(1, "D")))
        terms = recommend(past, family=family, loss_probability=LOSS, paths=500, rng=1).parameters
        if family == "op-stack":
            scalars = {name: int(terms[name].value) for name in ("base_fee_scalar", "blob_base_fee_scalar")}
            policies = {"recommended": OpStackPricing(**scalars), "chain": OpStackPricing()}
        else:
            level = terms["margin"].value
            policies = {
                "recommended": LineaPricing(level=level, estimate_margin=1.0, lower_bound=None, upper_bound=None),
                "chain": LineaPricing(),
            }
        for name, policy in {**policies, "unit": Fixed(price=1e9)}.items():
            run = simulate(today, policy, Posting(submission=SUBMISSIONS[family], deadline=DEADLINE))
            by_transaction = float(terms["operator_fee_constant"].value) if (family, name) == PAYS_TIPS else 0.0
            fees = float(run["data_fees"].sum()) + by_transaction * float(run["transactions"].sum())
            found[name].append((fees, float(run["accrued_data_cost"].sum())))
    made = {name: Days(*np.array(rows).T) for name, rows in found.items()}
    unit = made.pop("unit")
    even = np.sort(unit.costs / unit.fees)[::-1]  # each day's break-even factor on 1 gwei per byte
    factor = float(even[min(made["recommended"].losing, len(even) - 1)])
    made["fixed"] = Days(factor * unit.fees, unit.costs)
    return made


def main() -> None:
    history = replay(read_shipped_l1_fees(), source="Ethereum mainnet, 2026-01-07 to 02-06, ten-minute means")
    for family in ("op-stack", "linea"):
        print(f"\n   {family}, a target of {LOSS:.0%} losing days")
        found = daily(history, family)
        for name, days in found.items():
            count, losing = len(days.fees), days.losing
            interval = binomtest(losing, count).proportion_ci(0.95)
            print(
                f"   {name:12} recovery {days.fees.sum() / days.costs.sum():6.3f}, losing days {losing} of {count}"
                f" ({interval.low:.2f} to {interval.high:.2f}), overcharge {days.overcharge:.3f} of the cost",
                flush=True,
            )
