"""Responses of `eth_feeHistory`."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from feemodel.checks import INT64_MAX, sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import as_integer
from feemodel.io.files import parse_json


@dataclass(frozen=True, slots=True)
class FeeHistory:
    """Response of `eth_feeHistory` for `n` blocks, oldest block first."""

    oldest_block: int
    base_fees: tuple[int, ...]  #: n + 1 values; the last value is for the next block [wei / gas]
    gas_used_ratios: tuple[float, ...]  #: n values of gas used / gas limit [1]
    blob_base_fees: tuple[int, ...]  #: n + 1 fees, 0 before Cancun; empty if the node returns no blob fees [wei / gas]
    blob_gas_used_ratios: tuple[float, ...]  #: n values; empty if the node does not return them [1]
    rewards: tuple[tuple[int, ...], ...]  #: n rows, with a priority fee for each requested percentile [wei / gas]

    def as_table(self) -> dict[str, Any]:
        """Return the columns that `feemodel.simulation.scenarios.replay` needs, one row per block.

        Blob base fees are left out if all of them are 0, because geth returns 0 for blocks before Cancun. Raises
        `InvalidInput` for a history of several percentiles, of which only one can be the tip.

        >>> FeeHistory(16, (7, 8), (0.5,), (), (), ((3,),)).as_table()["tip"]
        [3]
        """
        count, asked = len(self.gas_used_ratios), len(self.rewards[0]) if self.rewards else 0
        if asked > 1:
            raise InvalidInput("the fee history", "expected one percentile, which is the tip", asked)
        table: dict[str, Any] = {
            "slot": list(range(count)),
            "block_number": [self.oldest_block + index for index in range(count)],
            "base_fee": list(self.base_fees[:count]),
            "gas_used_ratio": list(self.gas_used_ratios),
        }
        if any(self.blob_base_fees[:count]):
            table["blob_base_fee"] = list(self.blob_base_fees[:count])
            if self.blob_gas_used_ratios:
                table["blob_gas_used_ratio"] = list(self.blob_gas_used_ratios)
        if asked:
            table["tip"] = [row[0] for row in self.rewards]
        return table


def parse_fee_history(answer: bytes | str | Mapping[str, Any]) -> FeeHistory:
    """Parse a response of `eth_feeHistory`.

    Parameters
    ----------
    answer : result of the method, or the whole JSON-RPC response, as JSON text or as the parsed object.

    Returns
    -------
    The fee history; fees [wei / gas], ratios [1].

    Raises
    ------
    InvalidInput : invalid JSON, a missing or invalid field, or lists whose lengths do not match; the message names the
        field.

    >>> history = parse_fee_history('{"oldestBlock": "0x10", "baseFeePerGas": ["0x7", "0x8"], "gasUsedRatio": [0.5]}')
    >>> history.base_fees, history.gas_used_ratios
    ((7, 8), (0.5,))
    """
    result = parse_json(answer, "the fee history") if isinstance(answer, (bytes, str)) else answer
    if isinstance(result, Mapping) and "result" in result:
        result = result["result"]
    if not isinstance(result, Mapping):
        raise InvalidInput("the fee history", "expected the answer of eth_feeHistory", result)
    ratios, blob_ratios = (_ratios(result, name) for name in ("gasUsedRatio", "blobGasUsedRatio"))
    blob_fees = result.get("baseFeePerBlobGas")
    history = FeeHistory(
        oldest_block=as_integer("oldestBlock", result.get("oldestBlock")),
        base_fees=_fees("baseFeePerGas", result.get("baseFeePerGas")),
        gas_used_ratios=ratios,
        blob_base_fees=_fees("baseFeePerBlobGas", blob_fees) if blob_ratios or blob_fees is not None else (),
        blob_gas_used_ratios=blob_ratios,
        rewards=_rewards(result, ratios),
    )
    count = len(ratios)
    _check_length("baseFeePerGas", history.base_fees, count + 1)
    _check_length("baseFeePerBlobGas", history.blob_base_fees or range(count + 1), count + 1)
    _check_length("blobGasUsedRatio", blob_ratios or range(count), count)
    _check_length("reward", history.rewards or range(count), count)
    return history


def _fees(name: str, values: Any) -> tuple[int, ...]:
    return tuple(as_integer(f"{name}[{at}]", one, maximum=INT64_MAX) for at, one in enumerate(sequence(name, values)))


def _ratios(result: Mapping[str, Any], name: str) -> tuple[float, ...]:
    if name != "gasUsedRatio" and result.get(name) is None:
        return ()
    ratios = sequence(name, result.get(name))
    for index, ratio in enumerate(ratios):
        if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio <= sys.float_info.max:
            raise InvalidInput(f"{name}[{index}]", "expected a ratio of at least 0", ratio)
    return tuple(map(float, ratios))


def _rewards(result: Mapping[str, Any], ratios: Sequence[float]) -> tuple[tuple[int, ...], ...]:
    rows = sequence("reward", result.get("reward") or [])  # absent, null or empty if no percentile was requested
    asked = max((len(row) for row in rows if isinstance(row, list)), default=0)
    # For a block without transactions, go-ethereum returns a list of zeros as rewards, and other nodes return null.
    is_empty = [used == 0 for used in ratios] + [False] * len(rows)
    rewards = tuple(
        (0,) * asked if row is None and is_empty[index] else _fees(f"reward[{index}]", row)
        for index, row in enumerate(rows)
    )
    for index, row in enumerate(rewards):
        _check_length(f"reward[{index}]", row, asked)
    return rewards if asked else ()


def _check_length(name: str, values: Sequence[Any], length: int) -> None:
    if len(values) != length:
        reason = f"expected {length} values, because of the length of gasUsedRatio, not {len(values)}"
        raise InvalidInput(name, reason, values)
