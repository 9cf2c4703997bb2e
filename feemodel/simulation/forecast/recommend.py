"""Recommend fee parameters of a chain with which fees cover the cost of posting with a requested probability.

The pricing rule of a chain computes the price of a byte from L1 fees. The price of a byte differs from the cost of
posting the byte, because users pay before their bytes are posted, and because most rules do not include the L1 tip. The
recommended parameters multiply the price by a factor, so that fees cover the cost. The factor is computed from sample
paths of L1 fees.
"""

from __future__ import annotations  # so that `help` shows the names of quantities

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import xarray as xr

from feemodel.arguments import checked
from feemodel.checks import RealArray
from feemodel.errors import InvalidInput
from feemodel.linea.parameters import COORDINATOR, NODE
from feemodel.quantities import Probability
from feemodel.rollups.optimism import L1_GAS_PER_BYTE
from feemodel.simulation.closed_loop.demand import BytesOfTransaction, Demand
from feemodel.simulation.draws import seed_sequence
from feemodel.simulation.forecast.distribution import History, L1Fees, forecast, history_of
from feemodel.simulation.forecast.methods import Method
from feemodel.simulation.forecast.series import BIN, DAY
from feemodel.simulation.quantities import CountAboveZero, Duration
from feemodel.simulation.scenarios import Rng
from feemodel.simulation.surfaces import Submission

Family: TypeAlias = Literal["linea", "op-stack", "scroll", "zksync", "arbitrum"]
#: Submissions of one blob. Linea: coordinator configuration. OP Stack: a transfer to the batch inbox, which has no code
#: and no calldata, with (4 · 31 + 3) · 1,024 − 4 bytes in a blob (ethereum-optimism/specs, derivation from blobs).
#: Arbitrum: the gas that ArbOS counts for a batch since ArbOS 11 (OffchainLabs/nitro, l1pricing). Checked 2026-11-25.
#: No source gives the gas of Scroll's and ZKsync's submissions.
SUBMISSIONS = {
    "linea": Submission(),
    "op-stack": Submission(execution_gas=21_000, capacity=130_044),
    "arbitrum": Submission(execution_gas=210_000),
}
HOLD = 86_400.0  # default of `hold`, the time for which recommended parameters are used [s]
LONGEST_HOLD = 3 * 86_400.0  # maximum of `hold` [s]
ARBITRUM_UNITS_PER_BYTE = 16
PARTS = 5  # number of price updates in ten minutes
STEP = BIN // PARTS  # interval of price updates [s]
INTERVAL = 720.0  # approximate time in which 1.45 transactions per second fill a blob [s]
BYTES_PER_TRANSACTION = Demand().bytes_per_transaction
CONFIDENCE = 0.9  # confidence level of the intervals of the parameters
BLOCKS = 5  # number of blocks of the history, each of which is left out once for the intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommended:
    """Recommended value of a parameter, and the ends of its 90 % confidence interval."""

    value: float
    low: float
    high: float
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """Recommended fee parameters of a chain, and their expected effect."""

    family: str
    submission: Submission  #: submission whose cost the fees must cover
    parameters: Mapping[str, Recommended]  #: parameters by their names on the chain
    factor: float  #: multiplier of the rule's price; at constant L1 fees without tips, a factor of 1 covers posting [1]
    factor_interval: tuple[float, float]  #: 90 % confidence interval of `factor` [1]
    loss_probability: float  #: probability that fees during `hold` do not cover the cost of posting [1]
    expected_margin: float  #: median over the paths of (fees / cost of posting), minus 1 [1]
    hold: float  #: time for which the parameters will be used [s]
    valid_for: float  #: time until the loss probability exceeds the target, at most twice `hold` [s]
    valid_until: str  #: end of `valid_for`, ISO 8601, UTC
    cost_per_byte: tuple[float, float, float]  #: 5, 50, 95 % quantiles of the mean cost during `hold` [wei / byte]


@checked
def recommend(
    l1: L1Fees,
    *,
    family: Family,
    loss_probability: Probability = 0.05,
    hold: Duration = HOLD,
    interval: Duration = INTERVAL,
    submission: Submission | None = None,
    bytes_per_transaction: BytesOfTransaction = BYTES_PER_TRANSACTION,
    method: Method = "auto",
    paths: CountAboveZero = 1_000,
    rng: Rng = 0,
) -> Recommendation:
    """Recommend fee parameters of a chain with which fees cover the cost with a requested probability.

    | family | recommended parameters |
    |---|---|
    | linea | the coordinator's margin, and the present `variableCost` and `fixedCost` |
    | op-stack | the two scalars since Ecotone, and an operator fee per transaction, which covers the tip |
    | scroll | the two scalars of Galileo |
    | zksync | the multiplier on the price of pubdata in blobs |
    | arbitrum | the reward per unit; the controller adapts its price to L1 fees |

    Parameters
    ----------
    l1 : L1 fees up to now: a table or scenario for `feemodel.forecast`.
    family : family of the chain's pricing rule, from the table above.
    loss_probability : maximum probability that fees during `hold` do not cover the cost of posting, at least
        1 / `paths` [1].
    hold : time for which the parameters are used, from an hour to three days, a multiple of ten minutes [s].
    interval : time between two submissions, a multiple of two minutes, at most a day and at most `hold` [s].
    submission : gas, capacity and tip of the submissions; `None` means those of the family in `SUBMISSIONS`.
    bytes_per_transaction : mean posted bytes of a transaction, to compute the operator fee of the OP Stack [byte].
    method, paths, rng : as in `feemodel.forecast`.

    Returns
    -------
    Recommended parameters and their expected effect. The interval of a parameter covers the random draw of the paths
    and the shortness of the history. It is a block jackknife: the fit and the draw of paths are repeated without each
    of five blocks of days, and the width follows from the spread of the results, by Student's distribution.

    Raises
    ------
    InvalidInput : `feemodel.forecast` rejects an argument; the family has no known submission and none is given; or
        `hold` is no multiple of ten minutes, `interval` is none of two minutes, or one is out of range.

    >>> times = np.arange(0, 8 * 86_400, 600) + 1_770_000_000
    >>> flat = {"timestamp": times, "base_fee": 1e9 + 0.0 * times, "blob_base_fee": 1e9 / 16 + 0.0 * times}
    >>> found = recommend(flat, family="op-stack", paths=20, hold=7_200.0, rng=1)
    >>> 1.0 < found.factor < 1.3, found.parameters["operator_fee_scalar"].value
    (True, 0)
    """
    if paths < 1.0 / loss_probability:
        reason = f"expected at least 1 / {paths:,}, because {paths:,} paths cannot show a smaller probability"
        raise InvalidInput("loss_probability", reason, loss_probability)
    length = _steps("hold", hold, BIN, 3_600.0, LONGEST_HOLD)
    window = _steps("interval", interval, STEP, STEP, min(DAY, length) * BIN)
    posted_by = _submission(family, submission)
    history, streams = history_of(l1), seed_sequence(rng).spawn(1 + BLOCKS)
    count = length * PARTS // window
    factors = []
    # The whole history comes last. Its paths last twice `hold`, the limit of `valid_for`.
    for block, stream in zip((*range(BLOCKS), None), streams, strict=True):
        spans = 2 if block is None else 1
        found = forecast(
            history if block is None else history.without(block, BLOCKS),
            horizons=[spans * length * BIN + -(-window * STEP // BIN) * BIN],
            method=method,
            paths=paths,
            rng=stream,
            submission=posted_by,
            step=STEP,
        )
        price, now = _rule_price(family, found, history, posted_by)
        cost = found["cost"].to_numpy() / posted_by.capacity
        # Users pay the prices of the interval in which their bytes arrive. The bytes of an interval are posted in the
        # first block after the interval.
        prices = price[:, : spans * count * window].reshape(paths, spans * count, window).mean(axis=2)
        costs = cost[:, window : (spans * count + 1) * window : window]
        ratios = np.cumsum(costs, axis=1) / np.cumsum(prices, axis=1)  # cost / fees, summed up to each interval
        factors.append(float(np.quantile(ratios[:, count - 1], 1.0 - loss_probability)))
    factor, low, high = _interval(factors)
    losing = (ratios > factor).mean(axis=0)
    reached = float(losing[count - 1])
    exceeding = np.flatnonzero(losing[count:] > max(loss_probability, reached))
    valid_for = float((count + (exceeding[0] if exceeding.size else count)) * window * STEP)
    cost_per_byte = np.quantile(cost[:, : length * PARTS].mean(axis=1), (0.05, 0.5, 0.95)).tolist()
    terms = {"tip": history.tip_of(posted_by), "size": bytes_per_transaction, "now": now, "cost": cost_per_byte[1]}
    values, lows, highs = (_parameters(family, end, posted_by, **terms) for end in (factor, low, high))
    return Recommendation(
        family=family,
        submission=posted_by,
        parameters={
            name: Recommended(value=value, low=lows[name][0], high=highs[name][0], unit=unit, meaning=meaning)
            for name, (value, unit, meaning) in values.items()
        },
        factor=factor,
        factor_interval=(low, high),
        loss_probability=reached,
        expected_margin=float(factor / np.median(ratios[:, count - 1]) - 1.0),
        hold=float(length * BIN),
        valid_for=valid_for,
        valid_until=str(np.datetime_as_string(np.datetime64(int(history.newest + valid_for), "s"), timezone="UTC")),
        cost_per_byte=tuple(cost_per_byte),
    )


def _submission(family: str, given: Submission | None) -> Submission:
    if given is None and family not in SUBMISSIONS:
        raise InvalidInput("submission", f"expected one, because no source gives that of family {family}", given)
    found = given or SUBMISSIONS[family]
    if not found.execution_gas and not found.blob_gas:
        raise InvalidInput("submission", "expected a submission that uses gas or blob gas", found)
    return found


def _interval(values: list[float]) -> tuple[float, float, float]:
    """Return the last value, and the ends of its jackknife interval; each other value leaves out one block.

    The interval depends on the deviations of the other values from their mean. Deviations from the last value, which
    has random paths of its own, would be larger.
    """
    from scipy.stats import t

    deviation = math.sqrt(BLOCKS - 1) * float(np.log(values[:-1]).std())
    width = math.exp(float(t.ppf((1.0 + CONFIDENCE) / 2.0, BLOCKS - 1)) * deviation)
    return values[-1], values[-1] / width, values[-1] * width


def _steps(name: str, seconds: float, step: int, minimum: float, maximum: float) -> int:
    if seconds % step or not minimum <= seconds <= maximum:
        raise InvalidInput(name, f"expected multiples of {step} s from {minimum:,.0f} to {maximum:,.0f}", seconds)
    return int(seconds) // step


def _rule_price(family: str, found: xr.Dataset, history: History, submission: Submission) -> tuple[RealArray, float]:
    """Return byte prices by the chain's rule without the factor: on each path, and at present [wei / byte]."""
    base_fee, blob_base_fee = (found[name].to_numpy() for name in ("base_fee", "blob_base_fee"))
    tip = history.tip_of(submission)
    if family == "zksync":
        return blob_base_fee, float(blob_base_fee[0, 0])
    if family != "linea":
        # On the OP Stack, the recommended operator fee covers the tip. The pricing rules of Scroll and Arbitrum do not
        # include a tip.
        counted = tip if family == "op-stack" else 0.0
        plain = submission.cost(base_fee, counted, blob_base_fee) / submission.capacity
        return plain, float(plain[0, 0])
    # Linea's coordinator averages L1 fees over 12,000 s.
    window = round(COORDINATOR.window / STEP)
    fees = []
    for name, ahead in (("base_fee", base_fee), ("blob_base_fee", blob_base_fee)):
        past = np.repeat(np.exp(history.series[name].means[-window // PARTS :]), PARTS)[-window:]
        fees.append(np.concatenate((np.tile(past, (len(ahead), 1)), ahead), axis=1))
    costs = submission.cost(fees[0], tip, fees[1]) / COORDINATOR.bytes_per_submission
    sums = np.cumsum(costs, axis=1)
    averaged = (sums[:, window:] - sums[:, :-window]) / window
    return averaged, float(costs[0, :window].mean())


def _parameters(
    family: str, factor: float, submission: Submission, *, tip: float, size: float, now: float, cost: float
) -> dict[str, tuple[float, str, str]]:
    """Return each parameter of the family, given the factor: value, unit and meaning."""
    gas, blob_gas = (part / submission.capacity for part in (submission.execution_gas, submission.blob_gas))
    if family == "op-stack":
        constant = math.ceil(factor * tip * gas * size)
        if constant >= 1 << 64:
            reason = "expected values for which the operator fee per transaction fits 64 bits"
            raise InvalidInput("bytes_per_transaction, tip", reason, (size, tip))
        base = math.ceil(factor * gas / L1_GAS_PER_BYTE * 1e6)
        return {
            "base_fee_scalar": (base, "1e-6", "factor on the L1 base fee"),
            "blob_base_fee_scalar": (math.ceil(factor * blob_gas * 1e6), "1e-6", "factor on the blob base fee"),
            "operator_fee_scalar": (0, "1e-6", "L2 gas has no cost on L1"),
            "operator_fee_constant": (constant, "wei", "covers the L1 tip of a transaction"),
        }
    if family == "scroll":
        return {
            "exec_scalar": (math.ceil(factor * gas * 1e9), "1e-9", "factor on the L1 base fee"),
            "blob_scalar": (math.ceil(factor * blob_gas * 1e9), "1e-9", "factor on the blob base fee"),
        }
    if family == "zksync":
        return {"pubdata_multiplier": (factor, "1", "factor on the price of pubdata in blobs")}
    if family == "arbitrum":
        reward = math.ceil(max(0.0, factor - 1.0) * cost / ARBITRUM_UNITS_PER_BYTE)
        return {"l1_reward": (reward, "wei / unit", "added to the cost of batches")}
    announced = math.ceil(factor * now / 1e3) * 1_000
    return {
        "margin": (factor, "1", "margin of the coordinator's variable cost"),
        "variable_cost": (announced, "wei / byte", "to announce now, in whole kwei"),
        "fixed_cost": (NODE.fixed_cost, "wei / gas", "unchanged, because it does not depend on L1"),
    }
