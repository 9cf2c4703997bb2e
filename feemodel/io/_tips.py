"""Compute the tips of blocks from the transactions of the blocks, in the same way as `eth_feeHistory`.

Source: go-ethereum, eth/gasprice/feehistory.go: transactions of a block are sorted by priority fee. The tip of the
block is the priority fee of the first transaction at which the cumulative gas used reaches floor(gas used by the block
· `percentile` / 100).
"""

import os
from collections.abc import Sequence

import numpy as np
import pandas as pd

from feemodel.checks import WholeArray, real_scalar, sequence, whole
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io._files import PathLike, container_of, reading
from feemodel.io._formats import PRICED_FILES, read_format


def percentile_tips(
    block: WholeArray, tip: WholeArray, gas_used: WholeArray, *, percentile: float
) -> tuple[WholeArray, WholeArray]:
    """Return block numbers in ascending order, and the tip of each block at a percentile of the block's gas used.

    Parameters
    ----------
    block : block number of each transaction, of shape (n,).
    tip : priority fee of each transaction, of shape (n,) [wei / gas].
    gas_used : gas used by each transaction, of shape (n,) [gas].
    percentile : percentile of the tips in a block, weighted by gas used, from 0 to 100.

    Returns
    -------
    Block numbers and tips [wei / gas], each of shape (blocks,).

    Raises
    ------
    InvalidInput : a percentile out of range, arrays of different lengths, or values that are not whole numbers
        of at least 0.

    In the example, a transaction with a tip of 3 wei uses 21,000 gas, and a transaction with a tip of 5 wei uses 79,000
    gas. The tip of the block is 3 wei at percentile 21, and 5 wei at percentile 22.

    >>> both = [np.array([7, 7]), np.array([5, 3]), np.array([79_000, 21_000])]
    >>> [percentile_tips(*both, percentile=at)[1].tolist() for at in (21, 22)]
    [[3], [5]]
    """
    columns = {"block": block, "tip": tip, "gas_used": gas_used}
    numbers, tips, gas = (np.atleast_1d(np.asarray(whole(name, values))) for name, values in columns.items())
    if numbers.ndim != 1 or not numbers.shape == tips.shape == gas.shape:
        raise InvalidInput(
            "block, tip, gas_used", "expected columns of equal length", [len(v) for v in columns.values()]
        )
    level = checked_percentile("percentile", percentile)
    order = np.lexsort((tips, numbers))
    numbers, tips, gas = numbers[order], tips[order], gas[order]
    found, first = np.unique(numbers, return_index=True)
    reached = np.cumsum(gas)
    before = reached[first] - gas[first]
    last = np.append(first[1:], len(numbers)) - 1
    needed = np.floor((reached[last] - before) * level / 100.0).astype(np.int64)
    return found, tips[np.searchsorted(reached, np.maximum(before + needed, reached[first]))] if len(found) else tips


def add_tips(l1_fees: pd.DataFrame, transactions: PathLike | Sequence[PathLike], *, percentile: float) -> pd.DataFrame:
    """Add the column `tip` to a table of L1 fees, from files that contain all transactions of the table's blocks.

    Parameters
    ----------
    l1_fees : table of `feemodel.io.read_l1_fees` with block numbers, base fees and gas used.
    transactions : path or paths of Parquet or CSV files from xatu (canonical_execution_transaction), cryo, or another
        source. The files have the columns `block_number`, `gas_used`, and `gas_price` or `effective_gas_price`.
        Transactions of blocks that are not in `l1_fees` are ignored.
    percentile : percentile of the tips in a block, weighted by gas used, from 0 to 100.

    Returns
    -------
    The table `l1_fees` with a column `tip` [wei / gas]; the tip of a block without transactions is 0, as in
    `eth_feeHistory`.

    Raises
    ------
    InvalidInput : a percentile out of range, a table that lacks a column or already has tips, a block whose gas used is
        not the sum over its transactions, or a price below the base fee.
    UnreadableFile : a file that cannot be read, or is neither Parquet nor CSV.

    A transfer that pays 9 wei at a base fee of 7 wei has a tip of 2 wei:

    >>> import tempfile, pathlib
    >>> row = {"block_number": [17], "base_fee": [7], "gas_used": [21_000]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "transactions.csv")
    ...     _ = path.write_text("block_number,gas_used,gas_price\\n17,21000,9\\n")
    ...     add_tips(pd.DataFrame(row), path, percentile=50)["tip"].tolist()
    [2]
    """
    level = checked_percentile("percentile", percentile)
    needed = ("block_number", "base_fee", "gas_used")
    known = isinstance(l1_fees, pd.DataFrame) and all(name in l1_fees for name in needed)
    if not known or l1_fees[[*needed]].isna().any(axis=None):
        raise InvalidInput("l1_fees", f"expected a table with {', '.join(needed)} in every row", [*l1_fees])
    if "tip" in l1_fees and l1_fees["tip"].notna().any():
        raise InvalidInput("l1_fees", "expected a table without tips", [*l1_fees])
    blocks, base_fees, gas = (np.asarray(whole(f"l1_fees.{name}", l1_fees[name].to_numpy())) for name in needed)
    if (falls := np.diff(blocks) <= 0).any():
        raise InvalidInput("l1_fees.block_number", "expected increasing block numbers", int(blocks[1:][falls][0]))
    files = [transactions] if isinstance(transactions, (str, os.PathLike)) else sequence("transactions", transactions)
    paid = _read(files)
    row = np.searchsorted(blocks, paid["block_number"]).clip(max=len(blocks) - 1)
    paid = paid[blocks[row] == paid["block_number"].to_numpy()]
    row = np.searchsorted(blocks, paid["block_number"])
    sums = np.bincount(row, weights=paid["gas_used"], minlength=len(blocks))
    if (other := sums != gas).any():
        at = int(other.argmax())
        reason = f"expected transactions of {gas[at]:,} gas in block {blocks[at]}, as in its header"
        raise InvalidInput("transactions", reason, int(sums[at]))
    tips = paid["price"].to_numpy() - base_fees[row]
    if (below := tips < 0).any():
        at = int(below.argmax())
        reason = f"expected at least the base fee of block {blocks[row[at]]}, {base_fees[row[at]]} wei"
        raise InvalidInput("transactions.gas_price", reason, int(paid["price"].iloc[at]))
    found, tip = percentile_tips(blocks[row], tips, paid["gas_used"].to_numpy(), percentile=level)
    column = np.zeros(len(blocks), np.int64)
    column[np.searchsorted(blocks, found)] = tip
    return l1_fees.assign(tip=pd.Series(column, l1_fees.index, dtype="Int64"))


def _read(files: Sequence[PathLike]) -> pd.DataFrame:
    """Return the block number, gas used and gas price of all transactions in the files."""
    tables = []
    for path in files:
        with reading(path):
            container = container_of(path)
            if container not in ("parquet", "csv"):
                raise UnreadableFile(f"{path}: expected Parquet or CSV")
            _, table = read_format(path, container, (PRICED_FILES,))
            price = table["effective_gas_price"].fillna(table["gas_price"])
            if price.isna().any():
                raise InvalidInput(f"row {int(price.isna().argmax()) + 1}: gas_price", "expected a value")
            tables.append(table[["block_number", "gas_used"]].assign(price=price.astype(np.int64)))
    if not tables:
        raise InvalidInput("transactions", "expected at least one file", files)
    return pd.concat(tables, ignore_index=True)


def checked_percentile(name: str, value: float) -> float:
    """Return a number from 0 to 100; raises `InvalidInput` for other values.

    >>> checked_percentile("percentile", 60)
    60.0
    """
    level = real_scalar(name, value)
    if level > 100.0:
        raise InvalidInput(name, "expected a number from 0 to 100", value)
    return level
