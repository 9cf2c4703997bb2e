"""The closed loop in steps a second: fluid, with elasticity and Poisson arrivals, with a policy of one's own."""

import statistics

import numba
import numpy as np

from benchmarks import interleaved, ratio
from feemodel.processors import cores
from feemodel.simulation import Bootstrap, Demand, Fixed, LineaPricing, simulate
from feemodel.simulation.scenarios import replay

STEPS = 216_000  # of a path: 30 days of 12 s
PATHS = 40
GOALS = {"fluid": 16e6, "elasticity and Poisson": 6e6}  # steps a second on two processors


def main() -> None:
    rng = np.random.default_rng(1)
    fees = {
        "timestamp": 12 * np.arange(STEPS),
        "base_fee": np.exp(rng.normal(18.5, 0.8, STEPS)).round(),
        "blob_base_fee": np.exp(rng.normal(15.0, 1.0, STEPS)).round(),
    }
    history = replay(fees, source="random")
    alike = history.isel(path=[0] * PATHS)
    months = Bootstrap(paths=PATHS, block_seconds=86_400.0)
    answering = Demand(elasticity=0.5, reference_fee=1e10, poisson=True)
    seconds = interleaved(
        {
            "fluid": lambda: simulate(alike, LineaPricing()),
            "elasticity and Poisson": lambda: simulate(alike, LineaPricing(), demand=answering),
            "the same, months drawn anew": lambda: simulate(
                history, LineaPricing(), demand=answering, bootstrap=months
            ),
            "built-in fixed price": lambda: simulate(alike, Fixed(price=1e8)),
            "fixed price of one's own": lambda: simulate(alike, _Own()),
        },
        rounds=3,
    )
    for name, taken in seconds.items():
        middle, goal = statistics.median(taken), GOALS.get(name)
        rate = STEPS * PATHS / middle
        aim = "" if goal is None else f", goal {goal / 1e6:.0f}"
        print(f"   {name}: {rate / 1e6:.1f} million steps a second on {cores()} processors{aim}")
        print(f"      1,000 paths of 30 days: {1_000 * middle / PATHS:.0f} s")
    share = ratio(seconds, "fixed price of one's own", "built-in fixed price")
    print(f"   a policy of one's own over the built-in one: {share}, goal 1.3")


@numba.njit
def _announce(state, seen, price):  # type: ignore[no-untyped-def]
    price[0], price[1], price[2] = state[0], 0.0, 0.0


@numba.njit
def _settle(state, settled):  # type: ignore[no-untyped-def]
    pass


class _Own:
    """A fixed price as a user's policy."""

    announce, settle = staticmethod(_announce), staticmethod(_settle)

    def start(self, setting: object) -> np.ndarray:
        return np.array([1e8])
