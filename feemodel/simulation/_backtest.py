"""Compare the fees that users would have paid with the costs of posting their transactions, for given L1 fees.

Transactions are drawn with replacement at a constant rate over the period of the L1 fees; the timestamps of
transactions are not used. The attribute `resampling` of a result describes how transactions were drawn, and other
attributes list further assumptions.
"""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray

from feemodel._records import compared_by_value
from feemodel.checks import (
    INT64_MAX,
    RealArray,
    WholeArray,
    check_limit,
    check_plausible,
    instance,
    real_scalar,
    whole,
    whole_scalar,
)
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.linea.priority import priority_fee
from feemodel.progress import Progress, reporting
from feemodel.simulation._l1_columns import RATIOS, TIP
from feemodel.simulation._metadata import with_metadata
from feemodel.simulation.announced import PricingRule, announced_variable_cost
from feemodel.simulation.posting import Posting, post
from feemodel.simulation.scenarios import MAX_PER_SECOND, PER_SECOND, Rng, check_scenario, duration, generator_of
from feemodel.simulation.surfaces import Workload

if TYPE_CHECKING:
    import pandas as pd

HOUR = 3_600  # seconds
LARGEST_PATH = 1 << 28  # maximum number of ticks or transactions of a path; such a path takes about 10 GB of memory
INT32_MAX = 2**31 - 1  # indices of transactions in the workload are stored in 32 bits
CHUNK = 1_000_000  # number of transactions priced at a time, with temporary arrays of about 100 MB
RATIO_EDGES = np.concatenate([[0.0], np.logspace(-2, 2, 81), [np.inf]])  # edges of the bins of fee / cost


@compared_by_value
class Traffic(NamedTuple):
    """Transactions that were drawn for the ticks of a path."""

    kind: WholeArray  #: for each transaction in order of arrival, the index in the workload
    ends: WholeArray  #: number of transactions that have arrived by the end of each tick


def backtest(
    workload: "Workload | pd.DataFrame",
    l1_fees: xr.Dataset,
    rule: PricingRule | None = None,
    posting: Posting | None = None,
    *,
    arrival_rate: float,
    calldata: WholeArray | None = None,
    rng: Rng,
    progress: Progress = None,
) -> xr.Dataset:
    """Compute revenue and cost for each hour and path of a scenario of L1 fees.

    In each tick of the pricing rule, a Poisson-distributed number of transactions is drawn from the workload with
    replacement. Per unit of gas, a user pays the base fee and a priority fee. `feemodel.priority_fee` computes the
    priority fee from the announced costs and the margin of the fee estimate. Bytes are posted in order of arrival. The
    cost of a transaction is the cost of posting its bytes.

    Parameters
    ----------
    workload : sizes and gas of transactions, or a table of `feemodel.io.read_transactions`, which is converted by
        `Workload.from_transactions`.
    l1_fees : scenario of `feemodel.simulation.scenarios`.
    rule : pricing rule: how costs are announced, and which margin users pay; `None` means the published defaults.
    posting : posting policy: when and how bytes are posted to L1; `None` means that full blobs are posted.
    arrival_rate : mean number of transactions per second [1 / s].
    calldata : calldata length of each transaction of the workload, required if the rule has calldata pressure [byte].
    rng : seed, SeedSequence or Generator. Each path has its own random stream. With the same seed, all rules with ticks
        of the same length get the same transactions.
    progress : `True` for a progress bar, or a function that is called for each path.

    Returns
    -------
    Dataset. Over path and hour: `revenue` [wei]; `size_revenue`, the part of the revenue that depends on size [wei];
    `cost`, the cost of the bytes that were posted in the hour [wei]; `attributed_cost`, the cost of posting the
    transactions that arrived in the hour [wei]; `transactions`, the number of transactions [1]; `unprofitable`, the
    number of transactions whose fee was below their cost [1]; and `variable_cost`, the mean announced cost [wei /
    byte]. Over path: `total_revenue`, `total_size_revenue` and `total_cost` [wei]; `max_drawdown`, the maximum drawdown
    of cumulative revenue minus cost, sampled at the end of each hour [wei]; `recovery`, total revenue / total cost;
    `size_recovery`, total size revenue / total cost; `unprofitable_share`, the share of unprofitable transactions;
    `submissions`, the number of submissions; and `fill`, posted bytes / capacity of the submissions [1]. Over path and
    ratio_bin: `charged`, a histogram of fee / cost [1].

    Raises
    ------
    InvalidInput : a workload without transactions or with sizes of 0, a scenario shorter than a tick, a path without
        transactions, or calldata pressure without calldata.
    LimitExceeded : more than 268,435,456 transactions or ticks on a path.

    A transfer of 128 bytes and 21,000 gas pays the base fee of 7 wei per gas and a priority fee with a margin of 1.2,
    in total 7 + trunc(1.2 · (30,000,000 + 90,000,000 · 128 // 21,000)) wei per gas:

    >>> from feemodel.simulation.scenarios import replay
    >>> fees = replay({"timestamp": [0, 1_800], "base_fee": [7e7, 7e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    >>> transfers = Workload("transfers", np.array([128]), np.array([21_000]))
    >>> found = backtest(transfers, fees, arrival_rate=0.1, rng=1)
    >>> (found.total_revenue / found.transactions.sum("hour")).values.tolist()
    [769824132000.0]
    """
    rule = PricingRule() if rule is None else instance("rule", rule, PricingRule)
    posting = Posting() if posting is None else instance("posting", posting, Posting)
    if not isinstance(workload, Workload):
        workload = Workload.from_transactions(workload)
    if calldata is None and rule.pressure is not None:
        calldata = workload.calldata
    check_workload(workload, calldata)
    calldata = None if calldata is None else np.asarray(calldata)
    check_scenario("l1_fees", l1_fees)
    rate, paths = real_scalar("arrival_rate", arrival_rate), l1_fees.sizes["path"]
    found = []
    with reporting(progress, paths, "paths") as advance:
        for path, stream in enumerate(generator_of(rng).spawn(paths)):
            one = l1_fees.isel(path=[path])
            ticks = path_ticks(one, rule, rate)
            traffic = draw_traffic(len(workload), rate * rule.tick, ticks, stream)
            found.append(_path(workload, one, rule, posting, traffic, calldata))
            advance(1)
    result = xr.concat(found, "path").assign_coords(path=l1_fees["path"].to_numpy())
    if "time" in l1_fees:
        start = l1_fees["time"].to_numpy()[0]
        result = result.assign_coords(time=("hour", start + result["hour"].to_numpy() * np.timedelta64(1, "h")))
    return with_metadata(result.assign_attrs(_attributes(workload, l1_fees, rule, posting, rate)), rng)


def resampling(rate: float) -> str:
    """Return the text of the attribute `resampling`, which describes how transactions are drawn.

    >>> resampling(1.45)
    'transactions are drawn with replacement at 1.45 a second; their own times are not used'
    """
    per_second = f"{real_scalar('rate', rate):g} a second"
    return f"transactions are drawn with replacement at {per_second}; their own times are not used"


def path_ticks(l1_fees: xr.Dataset, rule: PricingRule, rate: float) -> int:
    """Return the number of whole ticks of a path.

    Raises `LimitExceeded` for a path of more than 268,435,456 ticks or transactions.

    >>> from feemodel.simulation.scenarios import replay
    >>> fees = replay({"timestamp": [0, 600], "base_fee": [7e7, 7e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    >>> path_ticks(fees, PricingRule(), rate=1.0)
    100
    """
    length = duration(l1_fees)
    instance("rule", rule, PricingRule)
    check_plausible("rate", real_scalar("rate", rate), PER_SECOND, highest=MAX_PER_SECOND)
    check_limit(length / rule.tick, "ticks of a path", LARGEST_PATH)
    check_limit(length * rate, "transactions of a path", LARGEST_PATH)
    return int(length // rule.tick)


def draw_traffic(kinds: int, per_tick: float, ticks: int, stream: Generator) -> Traffic:
    """Draw the transactions of each tick.

    The number of transactions in a tick is Poisson-distributed with the mean `per_tick`. Each transaction is one of the
    `kinds` transactions of a workload, drawn with equal probability.

    >>> traffic = draw_traffic(2, per_tick=3.0, ticks=4, stream=np.random.default_rng(1))
    >>> len(traffic.ends), bool(len(traffic.kind) == traffic.ends[-1]), set(traffic.kind.tolist()) <= {0, 1}
    (4, True, True)
    """
    count, rate = whole_scalar("kinds", kinds, minimum=1), real_scalar("per_tick", per_tick)
    if whole_scalar("ticks", ticks) < 1:
        raise InvalidInput("l1_fees", "expected a scenario of at least one tick", ticks)
    check_limit(ticks, "ticks of a path", LARGEST_PATH)
    check_limit(rate * ticks, "transactions of a path", LARGEST_PATH)
    ends = np.cumsum(instance("stream", stream, Generator).poisson(rate, ticks))
    if ends[-1] == 0:
        raise InvalidInput("arrival_rate", "expected a rate at which at least one transaction arrives", per_tick)
    check_limit(count, "kinds of transactions", INT32_MAX)
    return Traffic(stream.integers(count, size=ends[-1], dtype=np.int32), ends)


def _path(
    workload: Workload,
    l1_fees: xr.Dataset,
    rule: PricingRule,
    posting: Posting,
    traffic: Traffic,
    calldata: WholeArray | None,
) -> xr.Dataset:
    ticks = len(traffic.ends)
    ends = posted_bytes(workload, traffic, posting)
    posted = post(ends[traffic.ends], rule.tick, posting, l1_fees)
    calldata_by_tick = None if calldata is None else sums_by_tick(calldata[traffic.kind], traffic)
    announced = announced_variable_cost(l1_fees, rule, ticks=ticks, calldata=calldata_by_tick)
    tick_hour = (np.arange(ticks) * rule.tick // HOUR).astype(np.int64)
    hours = int(tick_hour[-1]) + 1
    sums, charged = _charges(workload, traffic, announced, np.diff(posted.cost_up_to(ends)), tick_hour, rule)
    # A submission at the end of the path belongs to the last hour.
    posted_hour = np.minimum(posted.time / HOUR, hours - 1).astype(np.int64)
    sums["cost"] = np.asarray(np.bincount(posted_hour, weights=posted.cost, minlength=hours), np.float64)
    sums["variable_cost"] = np.asarray(np.bincount(tick_hour, weights=announced) / np.bincount(tick_hour), np.float64)
    fill = float(ends[-1]) / (len(posted.cost) * posting.submission.capacity)
    return _summary(sums, charged, len(posted.cost), fill)


def _charges(
    workload: Workload,
    traffic: Traffic,
    announced: WholeArray,
    costs: RealArray,
    tick_hour: WholeArray,
    rule: PricingRule,
) -> tuple[dict[str, RealArray], RealArray]:
    """Return sums for each hour of arrival, and a histogram of the fee / cost of transactions."""
    hours, ticks = int(tick_hour[-1]) + 1, np.arange(len(traffic.ends))
    tick_of = np.repeat(ticks, np.diff(traffic.ends, prepend=0))
    names = ("transactions", "revenue", "size_revenue", "attributed_cost", "unprofitable")
    sums, charged = {name: np.zeros(hours) for name in names}, np.zeros(len(RATIO_EDGES) - 1)
    for start in range(0, len(costs), CHUNK):
        part = slice(start, start + CHUNK)
        tick, cost = tick_of[part], costs[part]
        paid, for_size = _paid(workload, traffic.kind[part], announced[tick], rule)
        for name, values in zip(names, (np.ones_like(paid), paid, for_size, cost, paid < cost), strict=True):
            sums[name] += np.bincount(tick_hour[tick], weights=values, minlength=hours)
        bin_of = np.searchsorted(RATIO_EDGES, paid / cost, side="right") - 1
        charged += np.bincount(bin_of, minlength=len(charged))
    return sums, charged


def _paid(
    workload: Workload, kind: NDArray[Any], announced: WholeArray, rule: PricingRule
) -> tuple[RealArray, RealArray]:
    """Return the total fee of each transaction, and the part of the fee that depends on size [wei]."""
    gas, margin = workload.gas[kind], rule.estimate_margin
    size = workload.compressed_size[kind]
    fee = priority_fee(size, gas, variable_cost=announced, fixed_cost=rule.fixed_cost, margin=margin)
    without_size = priority_fee(0, 1, variable_cost=0, fixed_cost=rule.fixed_cost, margin=margin)
    used = gas.astype(np.float64)
    return (rule.base_fee + fee) * used, (fee - without_size) * used


def posted_bytes(workload: Workload, traffic: Traffic, posting: Posting) -> RealArray:
    """Return the total number of posted bytes before the first transaction, and after each transaction [byte].

    >>> traffic = Traffic(np.array([0, 1, 0]), np.array([2, 3]))
    >>> posted_bytes(Workload("two", np.array([10, 30]), np.array([1, 1])), traffic, Posting(stream_ratio=0.5)).tolist()
    [0.0, 5.0, 20.0, 25.0]
    """
    drawn, posted = instance("traffic", traffic, Traffic), instance("posting", posting, Posting)
    sizes = instance("workload", workload, Workload).compressed_size[drawn.kind]
    return np.asarray(float(posted.stream_ratio) * _running_sums("compressed_size", sizes), np.float64)


def sums_by_tick(values: WholeArray, traffic: Traffic) -> WholeArray:
    """Return the sum of `values` over the transactions of each tick; `values` has one value for each transaction.

    >>> sums_by_tick(np.array([10, 30, 10]), Traffic(np.array([0, 1, 0]), np.array([2, 3]))).tolist()
    [40, 10]
    """
    ends, each = instance("traffic", traffic, Traffic).ends, whole("values", values, minimum=None)
    if np.shape(each) != (ends[-1],):
        raise InvalidInput("values", f"expected one value for each of {ends[-1]:,} transactions", values)
    return np.diff(_running_sums("values", np.asarray(each))[ends], prepend=0)


def _running_sums(name: str, values: WholeArray) -> WholeArray:
    """Return 0 followed by the cumulative sums of `values`; raises `Int64Overflow` if a sum may not fit in 64 bits."""
    largest = max(int(values.max(initial=0)), -int(values.min(initial=0)))
    if largest * len(values) > INT64_MAX:
        raise Int64Overflow(name, f"expected {len(values):,} values whose sum is below 2**63", largest)
    return np.append(0, np.cumsum(values))


def _summary(sums: dict[str, RealArray], charged: RealArray, submissions: int, fill: float) -> xr.Dataset:
    units = dict.fromkeys(("revenue", "size_revenue", "cost", "attributed_cost"), "wei") | {
        "variable_cost": "wei / byte"
    }
    balance = np.append(0.0, np.cumsum(sums["revenue"] - sums["cost"]))
    revenue, size_revenue, cost = (float(sums[name].sum()) for name in ("revenue", "size_revenue", "cost"))
    totals = {
        "total_revenue": revenue,
        "total_size_revenue": size_revenue,
        "total_cost": cost,
        "max_drawdown": float((np.maximum.accumulate(balance) - balance).max()),
        "recovery": revenue / cost,
        "size_recovery": size_revenue / cost,
        "unprofitable_share": float(sums["unprofitable"].sum() / sums["transactions"].sum()),
        "submissions": float(submissions),
        "fill": fill,
    }
    wei = {"total_revenue", "total_size_revenue", "total_cost", "max_drawdown"}
    return xr.Dataset(
        {name: (("path", "hour"), values[None], {"units": units.get(name, "1")}) for name, values in sums.items()}
        | {name: ("path", [value], {"units": "wei" if name in wei else "1"}) for name, value in totals.items()}
        | {"charged": (("path", "ratio_bin"), charged[None], {"units": "1"})},
        {
            "hour": ("hour", np.arange(len(sums["revenue"])), {"units": "h"}),
            "ratio_low": ("ratio_bin", RATIO_EDGES[:-1], {"units": "1"}),
            "ratio_high": ("ratio_bin", RATIO_EDGES[1:], {"units": "1"}),
        },
    )


def _attributes(
    workload: Workload, l1_fees: xr.Dataset, rule: PricingRule, posting: Posting, rate: float
) -> dict[str, Any]:
    has = [name for name in RATIOS if name in l1_fees]
    exponent = rule.usage_exponent
    assumed = f"a block's weight is its fee to the power {exponent:g}" if exponent else "all blocks have equal weights"
    weights = "of the series" if len(has) == len(RATIOS) else f"assumed: {assumed}"
    if len(has) == 1:
        weights = f"{has[0]} of the series; for the other ratio, {weights}"
    announced, paid = rule.tip / WEI_PER_GWEI, posting.submission.tip / WEI_PER_GWEI
    tips = f"assumed: {announced:g} gwei / gas in the pricing, {paid:g} gwei / gas paid"
    return {
        "workload": workload.name,
        "l1_fees": l1_fees.attrs["source"],
        "resampling": resampling(rate),
        "arrival_rate": rate,
        "usage_ratios": weights,
        "tips": "of the series" if TIP in l1_fees else tips,
        "l1_fees_assumed": l1_fees.attrs.get("assumed", "nothing"),
        "rule": json.dumps(asdict(rule)),
        "posting": json.dumps(asdict(posting)),
        "not_counted": "proving, finalization, machines",
    }


def check_workload(workload: Workload, calldata: WholeArray | None) -> None:
    """Raise `InvalidInput` if the workload is empty or has sizes of 0, or if the length of `calldata` is not valid.

    >>> check_workload(Workload("transfers", np.array([128]), np.array([21_000])), None)
    """
    instance("workload", workload, Workload)
    whole("compressed_size", workload.compressed_size, minimum=1, unit="bytes")
    whole("gas", workload.gas, minimum=1, unit="gas")
    if calldata is not None and np.shape(whole("calldata", calldata, unit="bytes")) != np.shape(workload.gas):
        shape = f"an array of shape {np.shape(calldata)}"
        raise InvalidInput("calldata", f"expected one value for each of {len(workload):,} transactions", shape)
