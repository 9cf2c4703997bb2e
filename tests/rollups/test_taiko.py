"""Taiko's time-aware base fee, by hand from EIP-4396."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.rollups import taiko

LIMIT = 240_000_000

OTHER = taiko.TaikoChain(name="taiko-other", min_base_fee=5_000_000)


@pytest.mark.parametrize(("used", "time", "expected"), [
    (120_000_000, 2, 25_000_000), (180_000_000, 2, 26_562_500), (0, 2, 21_875_000),
    # 4 s double the target, so that the same block lowers the fee; 20 s meet the cap of 95 % of the limit
    (120_000_000, 4, 25_000_000 - 25_000_000 * (228_000_000 - 120_000_000) // 120_000_000 // 8),
    (228_000_000, 20, 25_000_000), (60_000_000, 1, 25_000_000),
])  # fmt: skip
def test_base_fee_follows_gas_and_time(used: int, time: int, expected: int) -> None:
    assert taiko.next_base_fee(25_000_000, used, LIMIT, time) == expected
    assert taiko.next_base_fee([25_000_000], used, LIMIT, [time]).tolist() == [expected]


def test_base_fee_stays_within_the_chain() -> None:
    assert taiko.next_base_fee(10_000_000, 0, LIMIT, 2) == 10_000_000
    assert taiko.next_base_fee(10_000_000, 0, LIMIT, 2, chain=OTHER) == 8_750_000
    assert taiko.next_base_fee(10**9, LIMIT, LIMIT, 2) == 10**9


def test_a_rise_is_1_wei_at_least_and_a_fall_may_be_none() -> None:
    assert taiko.next_base_fee(25_000_000, 120_000_001, LIMIT, 2) == 25_000_001
    assert taiko.next_base_fee(25_000_000, 119_999_999, LIMIT, 2) == 25_000_000
    assert taiko.next_base_fee(20_000_000, 0, 2, 2) == 17_500_000  # the least limit, whose target is 1


def test_the_bounds_are_the_published_ones() -> None:
    """taiko-mono: 0.01 gwei on mainnet, 0.005 gwei elsewhere, 1 gwei at most, 0.025 gwei at the start."""
    for chain, floor in ((taiko.MAINNET, 10_000_000), (OTHER, 5_000_000)):
        assert (chain.min_base_fee, chain.max_base_fee, chain.initial_base_fee) == (floor, 10**9, 25_000_000)
        assert taiko.next_base_fee(floor, 0, LIMIT, 2, chain=chain) == floor
    widest = taiko.TaikoChain(name="wide", min_base_fee=2**63 - 1, max_base_fee=2**63 - 1)
    assert taiko.next_base_fee([7], 0, LIMIT, 2, chain=widest).tolist() == [2**63 - 1]


@given(st.integers(10_000_000, 800_000_000), st.integers(0, LIMIT))
def test_at_the_target_time_it_is_eip_1559(fee: int, used: int) -> None:
    """Where the cap of 95 % does not matter: the target is half the limit."""
    expected = min(max(fee_market.next_base_fee(fee, used, LIMIT), 10_000_000), 10**9)
    assert taiko.next_base_fee(fee, used, LIMIT, 2) == expected


def test_impossible_blocks_are_refused() -> None:
    with pytest.raises(InvalidInput, match="gas_used"):
        taiko.next_base_fee(10**7, LIMIT + 1, LIMIT, 2)
    with pytest.raises(InvalidInput, match="gas_limit"):
        taiko.next_base_fee(10**7, 0, 1, 2)
