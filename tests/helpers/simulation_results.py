"""Results of the simulation by case, to hold that a change leaves them equal to the bit.

`python -m tests.helpers.simulation_results` writes them anew, after a change that is meant to alter them.
"""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
import xarray as xr
from models import vault
from models.finality import Clairvoyant, price_of_finality
from scipy import stats

import feemodel
from feemodel import grid, monte_carlo, over, sobol, sweep
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation import (
    Bootstrap,
    Costs,
    Demand,
    Eip1559,
    Fixed,
    OpStackPricing,
    Posting,
    PriceCap,
    baseline_pricing,
    break_even,
    simulate,
)
from feemodel.simulation.announced import CalldataPressure, PricingRule
from feemodel.simulation.backtest import backtest
from feemodel.simulation.calibrate import calibrate
from feemodel.simulation.closed_loop.baseline import PRICINGS
from feemodel.simulation.policies.arbitrum import ArbitrumPricing
from feemodel.simulation.policies.linea import LineaPricing
from feemodel.simulation.scenarios import bootstrap, replay
from feemodel.simulation.sensitivity import sobol_indices
from feemodel.simulation.surfaces import Workload
from tests.conftest import ROOT

FILE = ROOT / "tests" / "vectors" / "simulation_results.json"
DAY = 86_400.0
Case = Callable[[], Any]


@cache
def month() -> xr.Dataset:
    return replay(read_shipped_l1_fees(), source="the month that ships").isel(step=slice(10 * 144))


@cache
def workload() -> Workload:
    draw = np.random.default_rng(11)
    sizes, gas = draw.integers(60, 4_000, 300), draw.integers(21_000, 900_000, 300)
    return Workload("drawn", sizes, gas, calldata=sizes * 3)


@cache
def even() -> Any:
    return break_even(month(), Posting(), Demand())


def loop(pricing: Any = None, posting: Any = None, demand: Any = None, costs: Any = None, **options: Any) -> xr.Dataset:
    return simulate(month(), pricing or Fixed(price=even().price), posting, demand, costs, **options)


def answering(**fields: Any) -> Demand:
    return Demand(elasticity=0.7, reference_fee=even().price * 119.42, **fields)


def own_fee(size: Any, gas: Any, margin: Any) -> dict[str, Any]:
    return {"fee": margin * np.sqrt(size) / gas, "whole": gas // 7 + size * 0 + np.int64(margin * 10)}


def draws() -> Any:
    return monte_carlo(3_000, rng=7, size=stats.lognorm(s=1.0, scale=200.0), gas=stats.randint(21_000, 900_000))


SWEPT = {
    "sweep, own function": lambda: sweep(own_fee, draws() | grid(margin=[1.0, 1.3]), chunk=500),
    "sweep, Sobol points": lambda: sweep(
        own_fee, sobol(1_024, rng=3, size=(50.0, 900.0), gas=(21_000, 90_000)) | grid(margin=[1.0])
    ),
    "sweep, sums": lambda: sweep(own_fee, draws() | grid(margin=[1.0, 1.3]), reduce=over("sample"), chunk=700),
    "Sobol indices": lambda: sobol_indices(
        lambda x, z: 2.0 * x + z * z, 1_024, rng=1, resamples=50, x=(0.0, 1.0), z=(0.0, 2.0)
    ),
    "backtest": lambda: backtest(workload(), month().isel(step=slice(144)), arrival_rate=0.5, rng=5),
    "backtest, deadline and pressure": lambda: backtest(
        workload(), bootstrap(month(), paths=2, block_seconds=DAY, horizon=DAY, rng=2),
        PricingRule(pressure=CalldataPressure(), update_interval=60.0), Posting(deadline=3_600.0, stream_ratio=0.5),
        arrival_rate=0.3, rng=5,
    ),
    "calibrate": lambda: calibrate(
        workload(), bootstrap(month(), paths=8, block_seconds=DAY, horizon=DAY, rng=2), loss_probability=0.3,
        arrival_rate=0.3, rng=4,
    )._asdict(),
}  # fmt: skip

LOOPED = {
    **{
        f"loop, {kind}": lambda kind=kind: loop(baseline_pricing(kind, even()), Posting(), answering())
        for kind in PRICINGS
    },
    "loop, Linea under pressure": lambda: loop(
        LineaPricing(window=1_200.0, update_interval=60.0, pressure=CalldataPressure(), level=1.3, l1_lag=7),
        demand=Demand(calldata_per_transaction=600.0, cycle=tuple(range(1, 25)), l1_correlation=0.2),
    ),
    "loop, Arbitrum, reports late": lambda: loop(
        ArbitrumPricing(price=even().price, report_delay=3, reward=5.0), demand=answering(poisson=True, lag=4)
    ),
    "loop, vault with every term": lambda: loop(
        vault.VaultPricing(
            kp=1e7, ki=1e3, kd=1e6, target_balance=10 * even().cost_per_day, max_price=3e8, balance_lag=9
        ),
        Posting(kind="price-cap", cap=PriceCap(target_delay=7_200.0)), answering(lag=2),
    ),
    "loop, vault by EIP-1559": lambda: loop(
        vault.VaultEip1559(price=even().price, target_balance=even().cost_per_day, max_price=1e9),
        Posting(deadline=600.0), answering(),
    ),
    "loop, OP Stack, three blobs": lambda: loop(
        OpStackPricing(), Posting(blobs=3, further_blob_gas=900.0), answering()
    ),
    "loop, base fee of the OP Stack": lambda: loop(
        Eip1559(operator_fee_scalar=3, operator_fee_multiplier=100.0, operator_fee_constant=7.0),
        demand=Demand(rate=100.0, elasticity=0.7, reference_fee=3e11, responds_to="total", poisson=True), rng=9,
    ),
    "loop, blob or calldata": lambda: loop(posting=Posting(kind="blob-or-calldata")),
    "loop, another layer": lambda: loop(posting=Posting(kind="alternative-layer", layer_cost_per_mib=1e15)),
    "loop, all costs": lambda: loop(
        posting=Posting(kind="price-cap", cap=PriceCap(tip="constant", from_first_byte=False, time_of_day=False)),
        costs=Costs(finalization_gas=66_500.0, finalization_gas_per_blob=100.0, finalize_seconds=7_200.0,
                    proving_per_gas=3.0, proving_per_byte=5.0, overhead_per_month=1e18),
        days="utc",
    ),
    "loop, finalization by blobs": lambda: loop(costs=Costs(finalization_gas=66_500.0, finalize_blobs=3)),
    "loop, drawn paths": lambda: simulate(
        month(), vault.VaultPricing(), Posting(), answering(poisson=True), step=600.0, rng=8, record=1,
        bootstrap=Bootstrap(paths=3, block_seconds=DAY, horizon=5 * DAY),
    ),
    "finality, price cap": lambda: price_of_finality(month(), Posting(kind="price-cap")),
    "finality, clairvoyant": lambda: price_of_finality(month(), Clairvoyant(deadline=3_600.0)),
}  # fmt: skip

CASES: dict[str, Case] = SWEPT | LOOPED


def arrays(result: Any) -> dict[str, np.ndarray]:
    """The numbers of a result by name."""
    if isinstance(result, xr.Dataset):
        result = {str(name): result[name].to_numpy() for name in result.variables}
    found = {name: np.asarray(value) for name, value in result.items()}
    return {name: values for name, values in found.items() if values.dtype.kind in "iufb"}


def recorded(result: Any) -> dict[str, list[Any]]:
    """SHA-256 of each array with its type and shape, and the sum of its finite elements."""
    found = {}
    for name, values in sorted(arrays(result).items()):
        sha = hashlib.sha256(f"{values.dtype.str} {values.shape}".encode() + np.ascontiguousarray(values).tobytes())
        with np.errstate(invalid="ignore"):
            finite = values[np.isfinite(values)].astype(np.float64)
        found[name] = [sha.hexdigest()[:32], float(np.abs(finite).sum())]
    return found


def arithmetic() -> str:
    """A digest of elementary functions and sums, whose last bits depend on the processor and on versions."""
    points = np.linspace(0.01, 40.0, 10_000)
    reduced = over("x").sums(points[np.newaxis], (1,))
    compiled = numba.njit(lambda x: np.exp(x) + np.log(x) + x**0.7)(points)
    parts = (np.exp(points), np.log(points), points**-0.7, np.sqrt(points), compiled, points.sum(), points @ points,
             *reduced, stats.lognorm(s=1.0).ppf(points / 41.0), np.random.default_rng(1).poisson(points))  # fmt: skip
    sha = hashlib.sha256(np.__version__.encode())
    for part in parts:
        sha.update(np.asarray(part).tobytes())
    return sha.hexdigest()[:32]


def main() -> None:
    found = {name: recorded(case()) for name, case in CASES.items()}
    FILE.write_text(json.dumps({"arithmetic": arithmetic(), "cases": found}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(found)} cases of feemodel {feemodel.__version__} into {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
