"""The pricing record: 32 bytes and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.linea.extra_data import MAX_KWEI, PricingRecord, recorded_cost

kwei = st.integers(0, MAX_KWEI)


@given(kwei, kwei, kwei)
def test_whole_kwei_survive_the_way_there_and_back(fixed, variable, gas_price):
    record = PricingRecord(fixed * 1000, variable * 1000, gas_price * 1000)

    assert PricingRecord.from_bytes(record.to_bytes()) == record


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x02" + bytes(31), "expected version 1 in the first byte, got '0x02"),
        (bytes(32), "expected version 1 in the first byte, got '0x00"),
        (b"\x01" + bytes(30), "expected 32 bytes, counted 31"),
        (b"\x01" + bytes(32), "expected 32 bytes, counted 33"),
        (b"", "expected 32 bytes, counted 0"),
        ("0x01", "expected bytes, got '0x01'"),
    ],
)
def test_other_bytes_are_refused(data, message):
    with pytest.raises(InvalidInput, match=message):
        PricingRecord.from_bytes(data)


# cost [wei] -> what a record holds of it [wei]
RECORDED = [
    (0.0, 0), (999.9, 0), (1_000.0, 1_000), (41_904_761.9, 41_904_000), (4_294_967_295_999.0, 4_294_967_295_000),
    (4_294_967_296_000.0, 4_294_967_295_000), (1e300, 4_294_967_295_000),
]  # fmt: skip


@pytest.mark.parametrize(("cost", "held"), RECORDED)
def test_a_cost_is_recorded_as_the_record_holds_it(cost, held):
    record = PricingRecord(fixed_cost=0, variable_cost=cost, eth_gas_price=0)

    assert held == recorded_cost(cost) == PricingRecord.from_bytes(record.to_bytes()).variable_cost
    assert type(recorded_cost(cost)) is int
    assert recorded_cost(np.array([cost, 2_500.0])).tolist() == [held, 2_000]


@pytest.mark.parametrize("cost", [[5, 6], np.array([5, 6]), True, "5", None, float("nan"), -1])
def test_a_record_holds_three_numbers(cost):
    for name in ("fixed_cost", "variable_cost", "eth_gas_price"):
        with pytest.raises(InvalidInput, match=name):
            PricingRecord(**{"fixed_cost": 1, "variable_cost": 1, "eth_gas_price": 1, name: cost})
    assert PricingRecord(np.int64(5_000), np.float64(6_500.5), 1).to_bytes()[:9].hex() == "010000000500000006"
