"""The closed loop in steps a second: fluid, with elasticity and Poisson arrivals, with a policy of one's own."""

import numba
import numpy as np

from benchmarks import interleaved
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
    months = Bootstrap(paths=PATHS, block_seconds=86_400.0)
    answering = Demand(elasticity=0.5, reference_fee=1e10, poisson=True)
    seconds = interleaved(
        {
            "fluid": lambda: simulate(history, LineaPricing(), bootstrap=months),
            "elasticity and Poisson": lambda: simulate(history, LineaPricing(), demand=answering, bootstrap=months),
            "built-in fixed price": lambda: simulate(history, Fixed(price=1e8), bootstrap=months),
            "fixed price of one's own": lambda: simulate(history, _Own(), bootstrap=months),
        },
        rounds=3,
    )
    for name, taken in seconds.items():
        rate, goal = STEPS * PATHS / taken, GOALS.get(name)
        aim = "" if goal is None else f", goal {goal / 1e6:.0f}"
        print(f"   {name}: {rate / 1e6:.1f} million steps a second on {cores()} processors{aim}")
        print(f"      1,000 paths of 30 days: {1_000 * taken / PATHS:.0f} s")
    share = seconds["fixed price of one's own"] / seconds["built-in fixed price"]
    print(f"   a policy of one's own takes {share:.2f} × the built-in one, goal 1.3")


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
