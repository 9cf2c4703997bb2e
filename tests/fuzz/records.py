"""The pricing record of a header."""

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_KWEI
from feemodel.linea.extra_data import LENGTH, PricingRecord, latest_variable_cost
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


TARGETS = {
    "record": Target(_record, (InvalidInput,), _check_record, _record_seeds),
}
