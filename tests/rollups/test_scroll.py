"""Scroll's fees against published vectors; arrays against Python ints, also where 64 bits are too few."""

import pytest

from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.rollups import Now, max_send, scroll
from feemodel.rollups.chains import chain

GALILEO = {"exec_scalar": 2_394_981_796, "blob_scalar": 1_019_097_245, "penalty_factor": 10_000}
ONE_GWEI = {"l1_base_fee": 10**9, "blob_base_fee": 10**9}


def test_first_rules_are_the_published_ones() -> None:
    """Chaintable/go-ethereum-scrl at 5f34f2a, rollup_fee_test.go; the data is 00 0a 01 00."""
    assert scroll.pre_curie_l1_fee(2, 2, l1_base_fee=15_000_000, overhead=100, scalar=10) == 30
    fees = {"l1_base_fee": 1_500_000_000, "blob_base_fee": 150_000_000}
    assert scroll.curie_l1_fee(4, **fees, commit_scalar=10, blob_scalar=10) == 21


def test_galileo_without_penalty_factor_counts_one() -> None:
    terms = {**ONE_GWEI, **GALILEO, "penalty_factor": 0}
    assert scroll.galileo_l1_fee(10, **terms) == scroll.galileo_l1_fee(10, **{**terms, "penalty_factor": 1})


@pytest.mark.parametrize(("data_length", "compressed", "fee"), [
    (50, 10, 6_000), (60, 10, 3_000), (59, 10, 6_000), (0, 0, 3_000),
])  # fmt: skip
def test_feynman_penalizes_below_the_threshold(data_length: int, compressed: int, fee: int) -> None:
    """The published case, and its edge: ratio 6 pays none, and neither do no data."""
    terms = {
        **ONE_GWEI, "exec_scalar": 10, "blob_scalar": 20, "penalty_threshold": 6 * 10**9, "penalty_factor": 2 * 10**9,
    }  # fmt: skip
    assert scroll.feynman_l1_fee(100, data_length, compressed, **terms) == fee
    assert scroll.feynman_l1_fee(100, [data_length], [compressed], **terms).tolist() == [fee]


@pytest.mark.parametrize(("length", "size", "ratio"), [
    (612, 126, 4_857_142_857), (36, 36, 10**9), (8_516, 947, 8_992_608_236), (1_028, 421, 2_441_805_225),
    (548, 422, 1_298_578_199), (36, 40, 10**9), (0, 0, 2**256 - 1),
])  # fmt: skip
def test_compression_ratio_is_the_published_one(length: int, size: int, ratio: int) -> None:
    assert scroll.compression_ratio(length, size) == ratio


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


def test_upgrades_are_found_by_time() -> None:
    names = [chain("scroll").at(time)["upgrade"] for time in (1_755_575_999, 1_755_576_000, 1_766_041_200)]
    assert names == ["curie", "feynman", "galileo-v2"]


@pytest.mark.parametrize(("l1_base_fee", "expected"), [
    (0, 15_680_000), (10**9, 15_714_000), (2_164 * 10**9, 89_256_000), (10**15, 10**10),
])  # fmt: skip
def test_the_l2_base_fee_of_curie(l1_base_fee, expected):
    """scroll-tech/reth at 0504d4e, CURIE_PARAMS_TEST_CASES; at most 10 gwei."""
    assert scroll.curie_l2_base_fee(l1_base_fee) == expected
    assert scroll.curie_l2_base_fee([l1_base_fee]).tolist() == [expected]


def test_what_can_be_sent_on_scroll_has_the_bound_of_its_base_fee():
    now = Now(base_fee=10**7, l1_base_fee=10**9, blob_base_fee=10**6)
    ahead = max_send("scroll", 10**18, {"to": "0x" + "11" * 20}, now=now, gas_limit=21_000)
    next_block = max_send("scroll", 10**18, {"to": "0x" + "11" * 20}, now=now, gas_limit=21_000, blocks_ahead=0)

    assert (ahead.max_fee_per_gas, next_block.max_fee_per_gas) == (10**10, 10**7)
