"""Simulate a pricing policy over a month, with the baseline of `feemodel simulate` and with hourly results.

The first request imports the simulator.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from feemodel.checks import RealArray, choice, known_fields, real_scalar
from feemodel.errors import InvalidInput
from feemodel.simulation.closed_loop._choices import POSTINGS, PRICINGS, WITH_SLA

if TYPE_CHECKING:
    import xarray as xr

    from feemodel.simulation.policies.base import BreakEven

HOUR, STEP = 3_600.0, 12.0  # seconds
STEPS = round(HOUR / STEP)
DEFAULTS = {"pricing": "linea", "posting": "fill", "slaHours": 16.0, "elasticity": 0.0}
CACHED_MONTHS = 32  # about 0.1 MB each

#: Option → allowed values, which the page offers for selection.
CHOICES: dict[str, tuple[Any, ...]] = {
    "pricing": PRICINGS,
    "posting": POSTINGS,
    "slaHours": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0),
    "elasticity": (0.0, 0.5, 1.0, 2.0),
}


def simulate_month(choices: Any) -> dict[str, Any]:
    """Simulate a month of a pricing policy in a closed loop with users and L1.

    Parameters
    ----------
    choices : an object with any of `pricing`, `posting`, `slaHours` and `elasticity`. `CHOICES` lists the allowed
        values of each option, and `DEFAULTS` its default.

    Returns
    -------
    dict : `series`, name → `{unit, values}` with one value per hour: `price` (mean), `l1Cost` of a byte in a full blob
        (mean), `backlog` (maximum), `balance` (at the end of the hour). `days`: recovery of each UTC day,
        data fees / accrued data cost [1]. The dict also has the choices, the start of the month (UTC), the statistics
        of the whole month, and the source of the L1 fees.

    Raises
    ------
    InvalidInput : an unknown option, or a value that the option does not allow.

    >>> month = simulate_month({"pricing": "fixed"})
    >>> month["start"], len(month["series"]["price"]["values"]), round(month["recovery"], 6)
    ('2026-01-07T14:10:00Z', 724, 1.0)
    """
    given = {**DEFAULTS, **known_fields("choices", choices, DEFAULTS)}
    for name in ("slaHours", "elasticity"):
        given[name] = real_scalar(f"choices.{name}", given[name])
        if given[name] not in CHOICES[name]:
            reason = f"expected one of {', '.join(f'{one:g}' for one in CHOICES[name])}"
            raise InvalidInput(f"choices.{name}", reason, given[name])
    for name in ("pricing", "posting"):
        choice(f"choices.{name}", given[name], CHOICES[name])
    return _simulated(given["pricing"], given["posting"], given["slaHours"], given["elasticity"])


@lru_cache(maxsize=1)
def _l1_fees() -> "tuple[xr.Dataset, BreakEven]":
    from feemodel.io.shipped import read_shipped_l1_fees
    from feemodel.simulation.closed_loop.baseline import break_even, unweighted
    from feemodel.simulation.closed_loop.demand import Demand
    from feemodel.simulation.posting import Posting
    from feemodel.simulation.scenarios import replay

    source = "Ethereum mainnet, 2026-01-07 to 02-06, means of ten minutes"
    fees = unweighted(replay(read_shipped_l1_fees(), source=source))
    return fees, break_even(fees, Posting(), Demand())


@lru_cache(maxsize=CACHED_MONTHS)
def _simulated(pricing: str, posting: str, sla_hours: float, elasticity: float) -> dict[str, Any]:
    from feemodel.simulation.closed_loop._l1_steps import fees_by_step
    from feemodel.simulation.closed_loop.baseline import baseline_posting, baseline_pricing
    from feemodel.simulation.closed_loop.demand import Demand
    from feemodel.simulation.closed_loop.simulator import simulate

    fees, even = _l1_fees()
    demand = Demand(elasticity=elasticity, reference_fee=even.price * Demand().bytes_per_transaction)
    rule = baseline_posting(posting, sla=sla_hours * HOUR)
    found = simulate(fees, baseline_pricing(pricing, even), rule, demand, days="utc", record=1)
    submission = rule.submission
    (base_fee, blob_base_fee, tip), first = fees_by_step(fees, STEP, submission.tip)
    l1_cost = submission.cost(base_fee, tip, blob_base_fee)
    price, balance, backlog = (found[name].to_numpy()[0] for name in ("price", "balance", "backlog"))
    starts = np.arange(0, len(price), STEPS)
    ends = np.minimum(starts + STEPS, len(price)) - 1
    accrued = found["accrued_data_cost"].to_numpy()[0]
    daily = found["data_fees"].to_numpy()[0] / np.where(accrued > 0.0, accrued, np.nan)
    dates = [str(date)[:10] for date in found["date"].to_numpy()]
    return {
        "pricing": pricing,
        "posting": posting,
        "slaHours": sla_hours if posting in WITH_SLA else None,
        "elasticity": elasticity,
        "start": f"{np.datetime64(round(first), 's')}Z",
        "seconds": HOUR,
        "series": {
            "price": _series("gwei / byte", _means(price, starts) / 1e9),
            "l1Cost": _series("gwei / byte", _means(l1_cost / submission.capacity, starts) / 1e9),
            "backlog": _series("byte", np.maximum.reduceat(backlog, starts)),
            "balance": _series("ETH", balance[ends] / 1e18),
        },
        "days": [{"date": date, "recovery": _number(value)} for date, value in zip(dates, daily, strict=True)],
        "recovery": float(found["recovery"][0]),
        "underRecoveryDays": int(found["under_recovery_days"][0]),
        "wholeDays": int(found["whole_days"][0]),
        "meanWaitHours": float(found["mean_wait"][0]) / HOUR,
        "lostDemand": float(found["lost_demand"][0]),
        "l1Fees": found.attrs["l1_fees"],
        "notCounted": found.attrs["not_counted"],
    }


def _means(values: RealArray, starts: Any) -> RealArray:
    return np.asarray(np.add.reduceat(values, starts) / np.diff(np.append(starts, len(values))))


def _series(unit: str, values: RealArray) -> dict[str, Any]:
    return {"unit": unit, "values": [_number(value) for value in values]}


def _number(value: Any) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None
