"""Simulate L1 fees from random demand for gas and blobs, by the fee rules of the protocol.

Demand for gas is expressed as a demand price: the base fee at which demand would equal the gas target. The normal score
z of the demand price is the sum of a daily cycle and of two Ornstein-Uhlenbeck processes, one fast and one slow. The
demand price is the price whose normal score in the observed distribution is z. Above the observed range, the logarithm
of the price has an exponential tail. The exponential tail and the fast process produce price spikes. The demand for
blobs is random and does not depend on the price, because in the month used for calibration, demand did not fall when
blobs became more expensive. The base fee, the excess blob gas and the blob base fee are computed block by block
according to EIP-1559, EIP-4844 and EIP-7918.
"""

import math
import reprlib
from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np
import xarray as xr
from numpy.random import Generator
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.arguments import check_fields, check_of
from feemodel.checks import INT64_MAX, RealArray, instance
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import (
    BASE_FEE_CHANGE_DENOMINATOR,
    BLOB_BASE_COST,
    GAS_PER_BLOB,
    MAINNET,
    BlobRules,
    Schedule,
    blob_base_fee,
)
from feemodel.quantities import ANY_REAL, Quantity, Seconds
from feemodel.simulation._l1_columns import LATEST_SECOND, NO_GAPS
from feemodel.simulation._metadata import with_metadata
from feemodel.simulation.draws import seed_sequence
from feemodel.simulation.policies.eip1559 import next_base_fee
from feemodel.simulation.quantities import CountAboveZero, Horizon, WholeGas
from feemodel.simulation.scenarios import (
    Rng,
    check_scenario,
    check_scenario_size,
    duration,
    scenario,
    step_seconds,
)

SLOT = 12  # seconds
DAY, HOUR = 86_400, 3_600  # seconds
GAS_LIMIT = 60_000_000  # assumed gas limit of an L1 block; only (gas used / gas limit) matters
BLOBS_PER_BLOCK = 4.81  # mean over 214,985 blocks, 2026-01-07 to 02-05 (Chainscore/score-da, CC BY 4.0)
BLOB_SHAPE = 1.56  # shape of the negative binomial distribution, chosen for the observed variance of 19.6
GAS_NOISE = 0.5  # assumed standard deviation of log(gas of a block / mean demand)
TAIL = 0.01  # the exponential tail is fitted to the highest 1 % of the observed prices
Blobs = Annotated[float, Quantity("1", double=True, above_zero=True, maximum=1_000_000)]
Relaxation = Annotated[float, Quantity("s", double=True, above_zero=True, maximum=10**12)]
Score = Annotated[float, Quantity("1", double=True, minimum=None)]
Deviation = Annotated[float, Quantity("1", double=True, maximum=50)]
SERIES_ERROR = 1e-4  # upper bound of the relative difference between the integer series and the exponential
EXACT = 2.0**61  # maximum of update_fraction · e**(excess / update_fraction) at which the series fits 64 bits
LARGEST_LOG_PRICE = 50.0  # maximum logarithm of a demand price; e**50 wei are 5e21 wei
FITTED_LAGS = (600, 1_200, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400, 172_800, 259_200)  # seconds


@dataclass(frozen=True, slots=True, repr=False)
class DemandModel:
    """Model of the demand for gas and blobs. `fit` estimates the fields before `blobs_per_block` from a history."""

    probabilities: tuple[float, ...]  #: probabilities of the quantiles `log_prices` [1]
    log_prices: tuple[Score, ...]  #: quantiles of the logarithm of the demand price [log(wei / gas)]
    tail_scale: Deviation  #: mean excess of log prices above the last quantile
    cycle: tuple[Score, ...]  #: mean of the normal score z in each hour of the day, UTC [1]
    deviation: Deviation  #: standard deviation of the normal score z around its daily cycle
    #: share of the fast process in the variance of z around the cycle
    fast_share: Annotated[float, Quantity("1", double=True, maximum=1)]
    fast_time: Relaxation  #: relaxation time of the fast process
    slow_time: Relaxation  #: relaxation time of the slow process
    source: str
    blobs_per_block: Blobs = BLOBS_PER_BLOCK
    blob_shape: Blobs = BLOB_SHAPE
    gas_noise: Deviation = GAS_NOISE
    gas_limit: Annotated[int, Quantity("gas", minimum=1, maximum=INT64_MAX)] = GAS_LIMIT

    def __post_init__(self) -> None:
        for name in ("probabilities", "log_prices"):
            column = np.asarray(ANY_REAL.check(name, getattr(self, name)))
            if column.ndim != 1 or len(column) < 2 or (np.diff(column) < 0).any():
                raise InvalidInput(name, "expected at least two numbers that do not decrease", getattr(self, name))
        if len(self.probabilities) != len(self.log_prices):
            raise InvalidInput(
                "log_prices",
                f"expected {len(self.probabilities)} numbers, one for each probability",
                len(self.log_prices),
            )
        if not 0.0 <= self.probabilities[0] <= self.probabilities[-1] < 1.0:
            raise InvalidInput("probabilities", "expected numbers of at least 0 and below 1", self.probabilities[-1])
        if np.max(np.abs(self.log_prices)) > LARGEST_LOG_PRICE:
            raise InvalidInput(
                "log_prices",
                f"expected numbers from -{LARGEST_LOG_PRICE} to {LARGEST_LOG_PRICE}",
                float(np.max(np.abs(self.log_prices))),
            )
        if np.shape(ANY_REAL.check("cycle", self.cycle)) != (24,):
            raise InvalidInput("cycle", "expected one number for each hour of the day", self.cycle)
        check_fields(self)

    def __repr__(self) -> str:  # shorten tuples, because a fitted model contains 424 numbers
        values = ", ".join(
            f"{field.name}={reprlib.repr(value) if isinstance(value, tuple) else repr(value)}"
            for field in fields(self)
            for value in (getattr(self, field.name),)
        )
        return f"DemandModel({values})"

    def price(self, score: RealArray) -> RealArray:
        """Return the demand price for a normal score, at least the lowest observed price [wei / gas]."""
        from scipy.special import log_ndtr, ndtr

        inside = np.interp(ndtr(score), self.probabilities, self.log_prices)
        beyond = np.maximum(0.0, math.log(1 - self.probabilities[-1]) - log_ndtr(-score))
        return np.asarray(np.exp(inside + self.tail_scale * beyond))


def fit(history: xr.Dataset) -> DemandModel:
    """Fit the model of demand for gas to a history of base fees.

    Parameters
    ----------
    history : scenario of one path with dates, at least eight days long, whose steps last at most an hour.

    Raises
    ------
    InvalidInput : several paths, no dates, or a history that is too short or too coarse.

    >>> from feemodel.simulation.scenarios import replay
    >>> days = np.arange(0, 8 * DAY, 600)
    >>> wave = 1e8 * np.exp(np.sin(days / 40_000) + 0.1 * np.sin(days / 700))
    >>> history = replay({"timestamp": days, "base_fee": wave, "blob_base_fee": wave}, source="two waves")
    >>> model = fit(history)
    >>> len(model.cycle), model.fast_time <= model.slow_time, model.source
    (24, True, 'two waves')
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    check_scenario("history", history)
    if history.sizes["path"] != 1 or "time" not in history.coords:
        raise InvalidInput("history", "expected one path with datetimes", dict(history.sizes))
    step = step_seconds(history)
    if step > HOUR or duration(history) < 8 * DAY:
        raise InvalidInput("history", "expected at least 8 days in steps of at most an hour", dict(history.sizes))
    gaps = history.attrs.get("gaps", NO_GAPS)
    apart = "" if gaps == NO_GAPS else f" (rows {step:g} s apart, also over gaps: {gaps})"
    log_fee = np.log(history["base_fee"].to_numpy()[0])
    score = ndtri((rankdata(log_fee) - 0.5) / len(log_fee))
    hour = history["time"].dt.hour.to_numpy()
    cycle = np.array([score[hour == h].mean() for h in range(24)])
    rest = score - cycle[hour]
    lags = np.array([lag for lag in FITTED_LAGS if lag >= step])
    seen = np.array([autocorrelation(rest[None, :], round(lag / step))[0] for lag in lags])
    share, fast, slow = _two_times(lags, seen, duration(history))
    lost = _variance_of_mean(share, fast, slow, duration(history))
    probabilities = np.linspace(0, 1 - TAIL, 200)
    quantiles = np.quantile(log_fee, probabilities)
    return DemandModel(
        probabilities=tuple(probabilities.tolist()),
        log_prices=tuple(quantiles.tolist()),
        tail_scale=float((log_fee[log_fee > quantiles[-1]] - quantiles[-1]).mean()),
        cycle=tuple(cycle.tolist()),
        deviation=float(rest.std()) / math.sqrt(1 - lost),
        fast_share=share,
        fast_time=fast,
        slow_time=slow,
        source=history.attrs["source"] + apart,
    )


def simulate(
    model: DemandModel,
    *,
    paths: int,
    horizon: float,
    timestamp: int,
    blocks_per_step: int = 1,
    schedule: Schedule = MAINNET,
    rng: Rng,
) -> xr.Dataset:
    """Simulate L1 fees from simulated demand, with one block in every slot of 12 s.

    Parameters
    ----------
    model : model of demand.
    paths : number of paths; each has its own random stream.
    horizon : length of a path [s].
    timestamp : Unix time of the start of the paths, which determines the blob rules and the hour of the daily cycle
        [s].
    blocks_per_step : number of blocks whose average is one step of the scenario.
    schedule : blob rules of the chain.
    rng : seed, SeedSequence or Generator.

    Returns
    -------
    Scenario with usage ratios.

    Raises
    ------
    InvalidInput : a horizon shorter than a step, or a blob base fee out of range, because demand exceeds the target
        for too long.

    >>> from feemodel.simulation.scenarios import replay
    >>> days = np.arange(0, 8 * DAY, 600)
    >>> wave = 1e8 * np.exp(np.sin(days / 40_000) + 0.1 * np.sin(days / 700))
    >>> history = replay({"timestamp": days, "base_fee": wave, "blob_base_fee": wave}, source="two waves")
    >>> simulated = simulate(fit(history), paths=2, horizon=3_600, timestamp=1_770_000_000, blocks_per_step=5, rng=1)
    >>> dict(simulated.sizes), duration(simulated), bool((simulated.base_fee > 0).all())
    ({'path': 2, 'step': 60}, 3600.0, True)
    """
    instance("model", model, DemandModel)
    begin = check_of(Seconds)("timestamp", timestamp)
    rules = instance("schedule", schedule, Schedule).at(begin)
    per_step = check_of(CountAboveZero)("blocks_per_step", blocks_per_step)
    check_of(Horizon)("horizon", horizon)
    steps = int(horizon) // (SLOT * per_step)
    if steps < 1:
        raise InvalidInput("horizon", f"expected at least one step, {SLOT * per_step} s", horizon)
    count = check_of(CountAboveZero)("paths", paths)
    check_scenario_size(count, steps * per_step)
    if begin + steps * SLOT * per_step > LATEST_SECOND:
        raise InvalidInput("timestamp", f"expected an end of at most {LATEST_SECOND:,} s", begin)
    columns: dict[str, list[NDArray[np.float64]]] = {}
    for stream in map(np.random.default_rng, seed_sequence(rng).spawn(count)):
        for name, values in _simulated_blocks(model, steps * per_step, timestamp, rules, stream).items():
            columns.setdefault(name, []).append(values.reshape(steps, per_step).mean(axis=1))
    elapsed = np.arange(steps) * (SLOT * per_step)
    found = scenario(
        {name: np.stack(values) for name, values in columns.items()},
        elapsed,
        source=f"demand-driven, {rules.name} blob rules, demand for gas calibrated on: {model.source}",
        unit="wei",
    )
    dates = ((timestamp + elapsed) * 1_000_000_000).astype("datetime64[ns]")
    return with_metadata(found.assign_coords(time=("step", dates)), rng)


def _simulated_blocks(
    model: DemandModel, blocks: int, timestamp: int, rules: BlobRules, stream: Generator
) -> dict[str, NDArray[np.float64]]:
    """Simulate one path block by block, and return the columns of a scenario.

    >>> from feemodel.simulation.scenarios import replay
    >>> days = np.arange(0, 8 * DAY, 600)
    >>> wave = 1e8 * np.exp(np.sin(days / 40_000) + 0.1 * np.sin(days / 700))
    >>> history = replay({"timestamp": days, "base_fee": wave, "blob_base_fee": wave}, source="two waves")
    >>> rules = MAINNET.at(1_770_000_000)
    >>> path = _simulated_blocks(fit(history), 50, 1_770_000_000, rules, np.random.default_rng(1))
    >>> [*path], path["base_fee"].shape, bool(path["blob_gas_used_ratio"].max() <= 1)
    (['base_fee', 'blob_base_fee', 'gas_used_ratio', 'blob_gas_used_ratio'], (50,), True)
    """
    for name in ("maximum", "update_fraction"):
        check_of(WholeGas)(f"rules.{name}", getattr(rules, name) * GAS_PER_BLOB)
    demand = model.price(_scores(model, blocks, timestamp, stream))
    noise = np.exp(model.gas_noise * stream.standard_normal(blocks) - model.gas_noise**2 / 2)
    demanded = stream.negative_binomial(
        model.blob_shape, model.blob_shape / (model.blob_shape + model.blobs_per_block), blocks
    )
    blobs = np.minimum(demanded, rules.maximum)
    base_fee = max(1, round(float(demand[0])))
    # Start with the blob base fee at its reserve price, if the rules have a reserve price.
    excess = round(rules.update_fraction * math.log(max(1.0, base_fee / 16))) if rules.reserve else 0
    base_fees, excesses, used = drive(
        demand * noise,
        blobs,
        base_fee,
        excess,
        model.gas_limit,
        rules.target * GAS_PER_BLOB,
        rules.maximum * GAS_PER_BLOB,
        rules.update_fraction,
        rules.reserve,
    )
    return {
        "base_fee": base_fees.astype(np.float64),
        "blob_base_fee": blob_base_fee(excesses, rules.timestamp, Schedule((rules,))).astype(np.float64),
        "gas_used_ratio": used / model.gas_limit,
        "blob_gas_used_ratio": blobs / rules.maximum,
    }


def _scores(model: DemandModel, blocks: int, timestamp: int, stream: Generator) -> RealArray:
    hours = (timestamp + SLOT * np.arange(blocks)) / HOUR % 24
    middles = np.arange(-1, 25) + 0.5  # hourly means apply at the middle of each hour; hour 24 is hour 0
    cycle = np.interp(hours, middles, [model.cycle[h % 24] for h in range(-1, 25)])
    fast = _ornstein_uhlenbeck(blocks, model.fast_time, stream) * math.sqrt(model.fast_share)
    slow = _ornstein_uhlenbeck(blocks, model.slow_time, stream) * math.sqrt(1 - model.fast_share)
    return np.asarray(cycle + model.deviation * (fast + slow))


def _ornstein_uhlenbeck(blocks: int, time: float, stream: Generator) -> RealArray:
    # Rescale the first shock, so that the variance of the process is 1 in every block, including the first block.
    from scipy.signal import lfilter

    decay = math.exp(-SLOT / time)
    shocks = stream.standard_normal(blocks) * math.sqrt(1 - decay**2)
    shocks[0] /= math.sqrt(1 - decay**2)
    return np.asarray(lfilter([1.0], [1.0, -decay], shocks))


def autocorrelation(values: RealArray, lag: int) -> RealArray:
    """Return the autocorrelation of each row at a lag of `lag` columns; NaN if the row is too short.

    >>> autocorrelation(np.array([[1.0, 2.0, 1.0, 2.0, 1.0]]), 1).round(2)
    array([-0.8])
    """
    rows, columns = np.asarray(ANY_REAL.check("values", values)), check_of(int)("lag", lag)
    if rows.ndim != 2 or not rows.size:
        raise InvalidInput("values", "expected rows of at least one number", rows.shape)
    if columns >= rows.shape[1] or columns < 1:
        return np.full(len(rows), np.nan)
    centred = rows - rows.mean(axis=1, keepdims=True)
    return np.asarray((centred[:, columns:] * centred[:, :-columns]).sum(axis=1) / (centred**2).sum(axis=1))


def _two_times(lags: RealArray, seen: RealArray, length: float) -> tuple[float, float, float]:
    """Fit `share`, `fast` and `slow` of `share · e**(−lag / fast) + (1 − share) · e**(−lag / slow)` by least squares.

    The fit accounts for the finite `length` of the sample [s]. Subtracting the sample mean has reduced the variance of
    the sample by the share that `_variance_of_mean` returns.
    """
    from scipy.optimize import curve_fit

    def shown(lag: RealArray, share: float, fast: float, slow: float) -> RealArray:
        memory = share * np.exp(-lag / fast) + (1 - share) * np.exp(-lag / slow)
        lost = _variance_of_mean(share, fast, slow, length)
        return np.asarray((memory - lost) / (1 - lost))

    bounds = ([0.0, 60.0, 4 * HOUR], [1.0, 4 * HOUR, length / 2])
    found, _ = curve_fit(shown, lags, seen, p0=(0.3, HOUR, 2 * DAY), bounds=bounds)
    share, fast, slow = map(float, found)
    return share, fast, slow


def _variance_of_mean(share: float, fast: float, slow: float, length: float) -> float:
    """Return (variance of the sample mean) / (variance of the process).

    The result equals the mean autocorrelation over all pairs of times in the sample.
    """
    parts = ((share, fast / length), (1 - share, slow / length))
    return sum(weight * 2 * time * (1 - time * -math.expm1(-1 / time)) for weight, time in parts)


@cached_njit(nogil=True, error_model="numpy")
def compiled_blob_base_fee(excess, update_fraction):  # type: ignore[no-untyped-def]
    """Price of blob gas [wei / gas], see `feemodel.ethereum.fee_market.blob_base_fee`.

    Up to about 100 gwei, the terms of the integer series fit 64 bits, and the result is the series. At higher prices,
    the result is exp(excess / update_fraction) in doubles, at most 2**62. A result below 2**62 differs from the series
    by less than one part in 10**9.

    >>> int(compiled_blob_base_fee(2_314_058, 3_338_477))
    2
    """
    estimate = math.exp(excess / update_fraction)
    if not estimate * update_fraction < EXACT:
        return np.int64(min(estimate, 2.0**62))
    term, total, i = update_fraction, 0, 1
    while term > 0:
        total += term
        divisor = update_fraction * i
        # Compute term · excess // divisor in doubles, then correct the quotient by the remainder modulo 2**64.
        quotient = np.int64(np.float64(term) * np.float64(excess) / np.float64(divisor))
        remainder = term * excess - quotient * divisor
        term = quotient + remainder // divisor
        i += 1
    return total // update_fraction


@cached_njit(nogil=True, error_model="numpy")
def reserve_binds(excess, base_fee, update_fraction):  # type: ignore[no-untyped-def]
    """Return the result of `feemodel.ethereum.fee_market.reserve_binds` for blob rules with a reserve price (EIP-7918).

    The exponential in doubles differs from the integer series by less than one part in 10,000 plus three wei. The
    series is summed only if the error of the exponential could change the result.

    >>> bool(reserve_binds(0, 17, 5_007_716)), bool(reserve_binds(0, 16, 5_007_716))
    (True, False)
    """
    ratio = GAS_PER_BLOB // BLOB_BASE_COST
    estimate = math.exp(excess / update_fraction)
    distance = estimate * SERIES_ERROR + 3.0
    if base_fee > ratio * (estimate + distance):
        return True
    if base_fee < ratio * (estimate - distance):
        return False
    return base_fee > ratio * compiled_blob_base_fee(excess, update_fraction)


@cached_njit(nogil=True, error_model="numpy")
def next_excess_blob_gas(excess, used, base_fee, target, maximum, update_fraction, reserve):  # type: ignore[no-untyped-def]
    """Excess blob gas of the next block [gas], see `feemodel.ethereum.fee_market.next_excess_blob_gas`.

    >>> int(next_excess_blob_gas(0, 4 * 131_072, 10**9, 3 * 131_072, 6 * 131_072, 3_338_477, False))
    131072
    """
    if excess + used < target:
        return np.int64(0)
    if reserve and reserve_binds(excess, base_fee, update_fraction):
        return excess + used * (maximum - target) // maximum
    return excess + used - target


@cached_njit(nogil=True, error_model="numpy")
def drive(demand, blobs, base_fee, excess, gas_limit, target, maximum, fraction, reserve):  # type: ignore[no-untyped-def]
    """Return the base fee, the excess blob gas and the gas used of each block.

    Each block uses min(gas_limit / 2 · demand / base_fee, gas_limit) gas.
    """
    count = demand.size
    base_fees = np.empty(count, dtype=np.int64)
    excesses = np.empty(count, dtype=np.int64)
    used = np.empty(count, dtype=np.int64)
    half = gas_limit // 2
    for i in range(count):
        base_fees[i], excesses[i] = base_fee, excess
        used[i] = np.int64(min(half * demand[i] / base_fee, float(gas_limit)))
        excess = next_excess_blob_gas(excess, blobs[i] * GAS_PER_BLOB, base_fee, target, maximum, fraction, reserve)
        base_fee = next_base_fee(base_fee, used[i], half, half, BASE_FEE_CHANGE_DENOMINATOR)
    return base_fees, excesses, used
