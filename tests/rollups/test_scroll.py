"""Scroll's fees against published vectors; arrays against Python ints, also where 64 bits are too few."""

import pytest

from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.rollups import Now, max_send, scroll

GALILEO = {"exec_scalar": 2_394_981_796, "blob_scalar": 1_019_097_245, "penalty_factor": 10_000}
ONE_GWEI = {"l1_base_fee": 10**9, "blob_base_fee": 10**9}


def test_galileo_without_penalty_factor_counts_one() -> None:
    terms = {**ONE_GWEI, **GALILEO, "penalty_factor": 0}
    assert scroll.galileo_l1_fee(10, **terms) == scroll.galileo_l1_fee(10, **{**terms, "penalty_factor": 1})


def test_compression_ratio_refuses_what_has_none() -> None:
    with pytest.raises(InvalidInput, match=r"length\[1\]"):
        scroll.compression_ratio([5, 0], [5, 0])
    with pytest.raises(InvalidInput, match="compressed_size"):
        scroll.compression_ratio(5, 0)


def test_a_fee_ends_at_64_bits() -> None:
    terms = {"l1_base_fee": 10**18, "blob_base_fee": 0, "commit_scalar": 10**12, "blob_scalar": 0}
    assert scroll.curie_l1_fee(4, **terms) == 2**64 - 1
    with pytest.raises(Int64Overflow):
        scroll.curie_l1_fee([4], **terms)


def test_what_can_be_sent_on_scroll_has_the_bound_of_its_base_fee():
    now = Now(base_fee=10**7, l1_base_fee=10**9, blob_base_fee=10**6)
    ahead = max_send("scroll", 10**18, {"to": "0x" + "11" * 20}, now=now, gas_limit=21_000)
    next_block = max_send("scroll", 10**18, {"to": "0x" + "11" * 20}, now=now, gas_limit=21_000, blocks_ahead=0)

    assert (ahead.max_fee_per_gas, next_block.max_fee_per_gas) == (10**10, 10**7)
