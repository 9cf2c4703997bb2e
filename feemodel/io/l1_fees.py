"""What L1 charged: fee histories from files, and from the answer of `eth_feeHistory`."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from feemodel.errors import InvalidInput
from feemodel.io.blocks import parse_blocks
from feemodel.io.files import PathLike, container_of, opened, parse_json, reading
from feemodel.io.formats import ETL_L1_FEES, L1_BLOBS, L1_FEE_HISTORY, read_format
from feemodel.io.tables import L1_FEES, in_order
from feemodel.io.values import cell

GAS_PER_BLOB = 131_072  # EIP-4844


def read_l1_fees(path: PathLike) -> pd.DataFrame:
    """The L1 fees of a file as the table `feemodel.io.tables.L1_FEES`, sorted by block number.

    Parameters
    ----------
    path : CSV or Parquet with `block_number`, `timestamp` and `base_fee_per_gas`, and what it has of
        `excess_blob_gas`, `blob_gas_used`, `blob_base_fee`; or with `blob_count` and `excess_blob_gas`, without base
        fees; or L1 blocks in any form that `feemodel.io.read_blocks` takes. CSV and JSON may be gzipped.

    What the file does not say stays `<NA>`: the blob base fee follows from the excess blob gas and the schedule of
    forks by `feemodel.fees.l1_market.blob_base_fee`.

    Raises `UnreadableFile`, which names the file, the place and what was found there.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "fees.csv")
    ...     _ = path.write_text("block_number,timestamp,base_fee_per_gas\\n17,1683029999,80869370967\\n")
    ...     print(read_l1_fees(path)[["block_number", "base_fee"]].to_numpy().tolist())
    [[17, 80869370967]]
    """
    with reading(path):
        container = container_of(path)
        if container == "json":
            with opened(path) as file:
                blocks = parse_blocks(file.read()).rename(columns={"base_fee_per_gas": "base_fee"})
            blocks["blob_base_fee"] = pd.Series(pd.NA, index=blocks.index, dtype="Int64")
            return blocks[[column.name for column in L1_FEES]]
        form, table = read_format(path, container, (L1_BLOBS, L1_FEE_HISTORY, ETL_L1_FEES))
        if form is L1_BLOBS:
            table["blob_gas_used"] *= GAS_PER_BLOB
        return in_order(table, "block_number")


@dataclass(frozen=True, slots=True)
class FeeHistory:
    """The answer of `eth_feeHistory`, oldest block first; of `n` blocks."""

    oldest_block: int
    base_fees: tuple[int, ...]  #: n + 1: the last is that of the block that comes next [wei / gas]
    gas_used_ratios: tuple[float, ...]  #: n, gas used over gas limit [1]
    blob_base_fees: tuple[int, ...]  #: n + 1, or empty where the node knows no blobs [wei / gas]
    blob_gas_used_ratios: tuple[float, ...]  #: n, or empty where the node knows no blobs [1]
    rewards: tuple[tuple[int, ...], ...]  #: n rows, a priority fee for every percentile that was asked [wei / gas]


def parse_fee_history(answer: bytes | str | Mapping[str, Any]) -> FeeHistory:
    """The fee history in the answer of `eth_feeHistory`.

    Parameters
    ----------
    answer : JSON text or the object made of it: the result, or the whole JSON-RPC response.

    Raises `InvalidInput` that names the field, also where the lists do not have the lengths that belong together.

    >>> history = parse_fee_history('{"oldestBlock": "0x10", "baseFeePerGas": ["0x7", "0x8"], "gasUsedRatio": [0.5]}')
    >>> history.base_fees, history.gas_used_ratios
    ((7, 8), (0.5,))
    """
    result = parse_json(answer, "the fee history") if isinstance(answer, (bytes, str)) else answer
    if isinstance(result, Mapping) and "result" in result:
        result = result["result"]
    if not isinstance(result, Mapping):
        raise InvalidInput("the fee history", "expected the answer of eth_feeHistory", result)
    ratios = _ratios(result, "gasUsedRatio")
    blob_ratios = _ratios(result, "blobGasUsedRatio") if result.get("blobGasUsedRatio") is not None else ()
    _check_length("blobGasUsedRatio", blob_ratios, len(ratios), may_be_empty=True)
    history = FeeHistory(
        oldest_block=cell("whole", result.get("oldestBlock"), "oldestBlock"),
        base_fees=_fees(result, "baseFeePerGas"),
        gas_used_ratios=ratios,
        blob_base_fees=_fees(result, "baseFeePerBlobGas") if blob_ratios else (),
        blob_gas_used_ratios=blob_ratios,
        rewards=_rewards(result, len(ratios)),
    )
    _check_length("baseFeePerGas", history.base_fees, len(ratios) + 1)
    _check_length("baseFeePerBlobGas", history.blob_base_fees, len(ratios) + 1, may_be_empty=not blob_ratios)
    return history


def _list(holder: Mapping[str, Any], name: str) -> list[Any]:
    values = holder.get(name)
    if not isinstance(values, list):
        raise InvalidInput(name, "expected a list", values)
    return values


def _fees(result: Mapping[str, Any], name: str) -> tuple[int, ...]:
    return tuple(cell("whole", value, f"{name}[{index}]") for index, value in enumerate(_list(result, name)))


def _ratios(result: Mapping[str, Any], name: str) -> tuple[float, ...]:
    ratios = _list(result, name)
    for index, ratio in enumerate(ratios):
        if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio <= sys.float_info.max:
            raise InvalidInput(f"{name}[{index}]", "expected a ratio of at least 0", ratio)
    return tuple(map(float, ratios))


def _rewards(result: Mapping[str, Any], blocks: int) -> tuple[tuple[int, ...], ...]:
    if not result.get("reward"):  # absent, null or empty where no percentile was asked
        return ()
    rows = _list(result, "reward")
    _check_length("reward", rows, blocks)
    rewards = tuple(_fees({f"reward[{index}]": row}, f"reward[{index}]") for index, row in enumerate(rows))
    for index, row in enumerate(rewards):
        _check_length(f"reward[{index}]", row, len(rewards[0]))
    return rewards


def _check_length(name: str, values: Any, length: int, *, may_be_empty: bool = False) -> None:
    if len(values) != length and not (may_be_empty and not values):
        raise InvalidInput(name, f"expected {length} values to go with gasUsedRatio, counted {len(values)}", values)
