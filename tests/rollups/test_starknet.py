"""Starknet's prices and fees: published cases, limits, and the path of the L2 gas price."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel import rollups
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.rollups import starknet
from feemodel.rollups.starknet import L1GasSample


@given(st.integers(0, 2**128), st.integers(0, 2**100) | st.none())
def test_an_honest_proposal_is_accepted(target, actual):
    proposal = starknet.fee_proposal(target, actual or 0)
    lower, upper = starknet.proposal_bounds(actual or 0)
    assert lower <= proposal <= upper


def test_prices_and_proposals_end_at_128_bits():
    most = 2**128 - 1
    assert starknet.next_l2_gas_price(most, 2, gas_target=1, min_gas_price=8) == most
    assert starknet.next_l2_gas_price(most, 2, gas_target=1, min_gas_price=2 * most) == most
    assert starknet.proposal_bounds(most) == (most * 1000 // 1002, most)


def test_mean_fees_are_of_blocks_that_are_old_enough():
    samples = [L1GasSample(*row) for row in ((0, 0, 1), (2, 1, 2), (4, 4, 5), (6, 9, 10), (8, 16, 17))]
    assert starknet.mean_l1_fees(samples, 66, count=3, lag=60) == (6, 4, 5)
    assert starknet.mean_l1_fees(samples, 60, count=3, lag=60) == (0, 0, 1)
    assert starknet.mean_l1_fees(samples, 30) == (0, 0, 1)  # the lag of 600 s ends at second 0, as in the node
    with pytest.raises(InvalidInput, match="samples: expected a sample at most 900 s old"):
        starknet.mean_l1_fees(samples, 909, lag=60)
    with pytest.raises(InvalidInput, match="samples: expected a sample at least 60 s old"):
        starknet.mean_l1_fees(samples[-1:], 60, lag=60)


def test_the_rule_needs_the_rate():
    with pytest.raises(UnknownParameter, match="eth_to_fri_rate of starknet"):
        rollups.rule("starknet")
    known = rollups.rule("starknet", parameters={"eth_to_fri_rate": 30_000 * 10**18})
    assert (known.parameters.chain.token, known.parameters.token_per_eth) == ("STRK", 30_000)


def test_a_price_in_wei_is_rounded_down():
    """3,999 / 800 is just below 5."""
    assert starknet.fri_to_wei(3_999, 800 * 10**18) == 4


@pytest.mark.parametrize("call", [
    lambda: starknet.next_l2_gas_price(1, 0, gas_target=0, min_gas_price=1),
    lambda: starknet.fee_actual({}, 10, window=10**9),
])  # fmt: skip
def test_what_has_no_answer_is_refused(call):
    with pytest.raises(InvalidInput):
        call()
