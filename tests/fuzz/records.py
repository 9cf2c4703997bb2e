"""The pricing record of a header, and the fee history of a node."""

import json
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_KWEI
from feemodel.io.fee_history import FeeHistory, parse_fee_history
from feemodel.linea.extra_data import LENGTH, PricingRecord, latest_variable_cost
from tests.fuzz.mutators import mutated_json
from tests.fuzz.target import Target, check, check_equal

FIELDS = slice(1, 13)


def _record(data: bytes) -> PricingRecord:
    """The record, or what is known of a header that has none."""
    try:
        return PricingRecord.from_bytes(data)
    except InvalidInput:
        check_equal(0.0, latest_variable_cost(data), "the variable cost of a header without a record")
        _lenient_record(data)
        raise


def _check_record(data: bytes, record: PricingRecord) -> None:
    """What is read is written again to the byte; the lenient reader and the coordinator's see the same."""
    check_equal(data[:13].ljust(LENGTH, b"\0"), record.to_bytes(), "the record written again")
    check_equal(record, PricingRecord.from_bytes(data, strict=False), "the lenient reader")
    check_equal(float(record.variable_cost), latest_variable_cost(data), "the latest variable cost")


def _lenient_record(data: bytes) -> None:
    if len(data) >= FIELDS.stop:
        record = PricingRecord.from_bytes(data, strict=False)
        check_equal(data[FIELDS], record.to_bytes()[FIELDS], "the fields written again")
        for cost in (record.fixed_cost, record.variable_cost, record.eth_gas_price):
            check(isinstance(cost, int) and cost % WEI_PER_KWEI == 0, f"a cost that is not whole kwei: {cost}")


def _record_seeds() -> list[bytes]:
    production = bytes.fromhex("0100007530000f42400000a3b0").ljust(LENGTH, b"\0")
    largest = PricingRecord(2**32 * 1_000, 2**32 * 1_000, 2**32 * 1_000).to_bytes()
    return [production, production + bytes(65), largest, bytes(32), b"\2" + production[1:], production[:13]]


def _check_fee_history(data: bytes, history: FeeHistory) -> None:
    """Lists as long as belong together, and the same history from what is written of it."""
    blocks = len(history.gas_used_ratios)
    check_equal(blocks + 1, len(history.base_fees), "base fees")
    check(len(history.blob_base_fees) in (0, blocks + 1), "blob base fees")
    check(len(history.blob_gas_used_ratios) in (0, blocks), "blob ratios")
    check(len(history.rewards) in (0, blocks) and len({len(row) for row in history.rewards}) < 2, "rewards")
    check(all(isinstance(ratio, float) and ratio >= 0 for ratio in history.gas_used_ratios), "a ratio")
    answer = _fee_answer(history)
    check_equal(history, parse_fee_history(json.dumps(answer)), "the history of its own text")
    check_equal(history, parse_fee_history({"jsonrpc": "2.0", "id": 1, "result": answer}), "the history of a response")


def _fee_answer(history: FeeHistory) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "oldestBlock": hex(history.oldest_block),
        "baseFeePerGas": list(map(hex, history.base_fees)),
        "gasUsedRatio": list(history.gas_used_ratios),
        "reward": [list(map(hex, row)) for row in history.rewards],
    }
    if history.blob_gas_used_ratios:
        answer["blobGasUsedRatio"] = list(history.blob_gas_used_ratios)
    if history.blob_base_fees:
        answer["baseFeePerBlobGas"] = list(map(hex, history.blob_base_fees))
    return answer


def _fee_history_seeds() -> list[bytes]:
    full = FeeHistory(24_183_331, (7, 8, 9), (0.5, 0.25), (1, 2, 3), (0.0, 1.0), ((1, 2), (3, 4)))
    plain = FeeHistory(0, (7,), (), (), (), ())
    wrapped = {"jsonrpc": "2.0", "id": 1, "result": _fee_answer(full)}
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}}
    return [json.dumps(answer).encode() for answer in (_fee_answer(full), _fee_answer(plain), wrapped, error)]


TARGETS = {
    "record": Target(_record, (InvalidInput,), _check_record, _record_seeds),
    "fee_history": Target(parse_fee_history, (InvalidInput,), _check_fee_history, _fee_history_seeds, mutated_json),
}
