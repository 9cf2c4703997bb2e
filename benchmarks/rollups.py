"""Excess blob gas and blob base fee of five million blocks of mainnet, on one thread."""

import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks import interleaved
from feemodel.ethereum import fee_market

SHARED = Path(os.environ.get("FEEMODEL_SHARED", "../shared"))


def main() -> None:
    every_block()


def every_block() -> None:
    """Compute both branches (EIP-7918) of excess blob gas, and blob base fees, of all mainnet blocks since Cancun."""
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
