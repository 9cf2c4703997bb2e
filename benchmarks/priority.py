"""The exact integer fee of 1e8 elements, compared with adding the same two arrays."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from benchmarks import interleaved, per_item, ratio
from feemodel._processors import cores
from feemodel.linea import priority
from feemodel.linea.kernels import BLOCK

ELEMENTS = 100_000_000
COSTS = {"variable_cost": 1_000_000_000, "fixed_cost": 30_000_000, "margin": 1.2}


def main(elements: int = ELEMENTS) -> None:
    rng = np.random.default_rng(1)
    size = rng.integers(30, 4_000, elements)
    gas = rng.integers(21_000, 5_000_000, elements)
    out = np.empty(elements, dtype=np.int64)

    def add(result: np.ndarray) -> None:
        def block(start: int) -> None:
            part = slice(start, start + BLOCK)
            np.add(size[part], gas[part], out=result[part])

        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(block, range(0, elements, BLOCK)))

    seconds = interleaved(
        {
            "add, new array": lambda: add(np.empty(elements, dtype=np.int64)),
            "priority_fee, new array": lambda: priority.priority_fee(size, gas, **COSTS),
            "add, given array": lambda: add(out),
            "priority_fee, given array": lambda: priority.priority_fee(size, gas, **COSTS, out=out),
        }
    )
    for name, runs in seconds.items():
        print(f"   {name:28} {per_item(runs, elements):>9} an element")
    print(f"   priority_fee / add, new arrays    {ratio(seconds, 'priority_fee, new array', 'add, new array')}")
    print(f"   priority_fee / add, given arrays  {ratio(seconds, 'priority_fee, given array', 'add, given array')}")


if __name__ == "__main__":
    main()
