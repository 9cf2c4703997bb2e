"""zkSync Era's prices against published vectors, and arrays against their elements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.ethereum.fee_market import fake_exponential
from feemodel.rollups import zksync


def test_a_pubdata_byte_never_takes_more_than_50000_gas() -> None:
    assert zksync.base_fee(10**8, 10**13) == (2 * 10**8, 50_000)
    assert zksync.base_fee(10**8, 10**12) == (10**8, 10_000)
    assert zksync.base_fee(10**8, 10**12 + 1) == (10**8, 10_001)
    assert zksync.base_fee(10**8, 0) == (10**8, 0)


def test_pubdata_price_by_mode() -> None:
    prices = [zksync.l1_pubdata_price(7, 5, mode=mode) for mode in zksync.PUBDATA_MODES]
    assert prices == [5, 119, 0]
    assert zksync.l1_pubdata_price(7, [5, 100], multiplier=1.5, max_blob_base_fee=100).tolist() == [7, 100]
    with pytest.raises(InvalidInput, match="mode: expected one of blobs, calldata, validium"):
        zksync.l1_pubdata_price(7, 5, mode="blob")


def test_a_prediction_that_64_bits_do_not_hold_is_refused() -> None:
    assert zksync.predicted_blob_base_fee(1, pending_blobs=1_130, l1_blocks=1) < 2**64
    with pytest.raises(Int64Overflow, match="pending_blobs: expected a predicted fee that fits an unsigned 64-bit"):
        zksync.predicted_blob_base_fee(1, pending_blobs=1_140, l1_blocks=1)


@given(st.integers(1, 10**13), st.sampled_from([3_338_477, 5_007_716, 11_684_671]))
def test_excess_is_the_least_that_costs_as_much(fee: int, fraction: int) -> None:
    excess = zksync.excess_behind(fee, fraction)
    assert fake_exponential(1, excess, fraction) >= fee
    assert excess == 0 or fake_exponential(1, excess - 1, fraction) < fee
