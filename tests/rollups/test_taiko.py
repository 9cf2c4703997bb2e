"""Taiko's time-aware base fee, by hand from EIP-4396."""

import pytest

from feemodel.errors import InvalidInput
from feemodel.rollups import taiko

LIMIT = 240_000_000


def test_the_bounds_are_the_published_ones() -> None:
    """taiko-mono: 0.01 gwei on mainnet, 0.005 gwei elsewhere, 1 gwei at most, 0.025 gwei at the start."""
    assert (taiko.MIN_BASE_FEE, taiko.MAX_BASE_FEE, taiko.INITIAL_BASE_FEE) == (10_000_000, 10**9, 25_000_000)
    assert taiko.next_base_fee(5_000_000, 0, LIMIT, 2, min_base_fee=5_000_000) == 5_000_000
    highest = {"min_base_fee": 2**63 - 1, "max_base_fee": 2**63 - 1}
    assert taiko.next_base_fee([7], 0, LIMIT, 2, **highest).tolist() == [2**63 - 1]


def test_impossible_blocks_are_refused() -> None:
    with pytest.raises(InvalidInput, match="gas_used"):
        taiko.next_base_fee(10**7, LIMIT + 1, LIMIT, 2)
    with pytest.raises(InvalidInput, match="gas_limit"):
        taiko.next_base_fee(10**7, 0, 1, 2)
