"""All rules for a million transactions at a thousand points in time, and the L1 rules for five million blocks."""

import os
import resource
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks import interleaved, ratio
from feemodel.ethereum import fee_market
from feemodel.rollups import kernels
from feemodel.rollups.factors import evaluate
from feemodel.rollups.rules import all_rules, rule
from feemodel.rollups.tables import compare_sums

SHARED = Path(os.environ.get("FEEMODEL_SHARED", "../shared"))
TRANSACTIONS, MOMENTS = 1_000_000, 1_000


def main() -> None:
    transactions, moments = inputs(TRANSACTIONS, MOMENTS)
    every_rule(transactions, moments)  # runs first: memory of other runs would hide its own
    compiled_beside_exact()
    every_block()


def inputs(transactions: int, moments: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Draw realistic sizes, L1 base fees from 0.1 to 50 gwei and blob base fees from 1 wei to 10 gwei."""
    rng = np.random.default_rng(5)
    sizes = {
        name: rng.integers(80, 1_500, transactions)
        for name in ("zero_bytes", "nonzero_bytes", "length", "fastlz_size", "brotli_size", "zstd_size", "linea_size")
    }
    table = sizes | {"gas": rng.integers(21_000, 500_000, transactions), "pubdata": rng.integers(0, 500, transactions)}
    fees = {"base_fee": rng.integers(10**8, 5 * 10**10, moments), "blob_base_fee": rng.integers(1, 10**10, moments)}
    return table, fees


def compiled_beside_exact(transactions: int = 5_000) -> None:
    """Compare compiled sums of fees with NumPy, and with a sum of the same number of doubles."""
    table, fees = inputs(transactions, MOMENTS)
    factors = rule("op-mainnet/jovian").factors(table, **fees)
    column = factors._replace(units=np.asarray(factors.units)[:, None], gas=table["gas"][:, None])
    numbers = np.ones(transactions * MOMENTS)
    runs = {
        "sum of doubles": numbers.sum,
        "compiled": lambda: kernels.l1_sums(factors, transactions, MOMENTS),
        "NumPy": lambda: evaluate(column).l1.sum(),
    }
    seconds = interleaved(runs, rounds=5)
    print(f"  {transactions * MOMENTS:,} fees of {rule('op-mainnet/jovian').name}")
    print(f"    times as fast as NumPy: {ratio(seconds, 'NumPy', 'compiled')}")
    print(f"    time / time to add as many doubles, on 1 thread: {ratio(seconds, 'compiled', 'sum of doubles')}")


def every_rule(table: dict[str, np.ndarray], fees: dict[str, np.ndarray]) -> None:
    """Measure the time of all rules and the growth of memory."""
    compare_sums({name: column[:10] for name, column in table.items()}, fees, list(all_rules()))  # compile first
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    compare_sums(table, fees, list(all_rules()))
    seconds = time.perf_counter() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10
    count = len(all_rules()) * TRANSACTIONS * MOMENTS
    print(f"  {len(all_rules())} rules × {TRANSACTIONS:,} transactions × {MOMENTS:,} moments, {os.cpu_count()} threads")
    print(f"    {seconds:.1f} s, {seconds / count * 1e9:.2f} ns a fee, {grown:,.0f} MiB more peak memory")


def every_block() -> None:
    """Compute the excess blob gas and blob base fee of all mainnet blocks since Cancun, in both branches."""
    path = SHARED / "data" / "l1_blobs_19426587_24465653.parquet"
    if not path.exists():
        print("  the L1 rules over every blob block: needs the shared inputs")
        return
    blocks = pq.read_table(path)
    time_, blobs, excess = (
        blocks[name].to_numpy().astype(np.int64) for name in ("timestamp", "blob_count", "excess_blob_gas")
    )
    runs = {
        "branches": lambda: fee_market.excess_branches(excess[:-1], blobs[:-1] * fee_market.GAS_PER_BLOB, time_[1:]),
        "blob base fees": lambda: fee_market.blob_base_fee(excess, time_),
    }
    seconds = interleaved(runs, rounds=3)
    print(f"  {len(time_):,} blocks of mainnet, 1 thread")
    for name, times in seconds.items():
        print(f"    {name:<15} {sorted(times)[len(times) // 2]:.2f} s ({min(times):.2f}..{max(times):.2f})")


if __name__ == "__main__":
    main()
