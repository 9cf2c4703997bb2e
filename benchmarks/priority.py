"""The exact integer fee of 1e8 elements, compared with adding the same two arrays."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks import interleaved, per_item, ratio
from feemodel.linea import priority
from feemodel.linea.kernels import BLOCK
from feemodel.progress import cores

ELEMENTS = 100_000_000
COSTS = {"variable_cost": 1_000_000_000, "fixed_cost": 30_000_000, "margin": 1.2}


def main(elements: int = ELEMENTS) -> None:
    rng = np.random.default_rng(1)
    size = rng.integers(30, 4_000, elements)
    gas = rng.integers(21_000, 5_000_000, elements)

    def add() -> None:
        result = np.empty(elements, dtype=np.int64)

        def block(start: int) -> None:
            part = slice(start, start + BLOCK)
            np.add(size[part], gas[part], out=result[part])

        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(block, range(0, elements, BLOCK)))

    seconds = interleaved(
        {
            "add": add,
            "priority_fee": lambda: priority.priority_fee(size, gas, **COSTS),
        }
    )
    for name, runs in seconds.items():
        print(f"   {name:18} {per_item(runs, elements):>9} an element")
    print(f"   priority_fee / add {ratio(seconds, 'priority_fee', 'add')}")


if __name__ == "__main__":
    main()
