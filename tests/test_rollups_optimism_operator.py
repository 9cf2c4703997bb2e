"""What the operator of an OP Stack chain sets, against what chains have set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.rollups.optimism_operator import (
    MIXES,
    decode_scalars,
    encode_scalars,
    footprint_scalar,
    footprint_scalar_at_limit,
    posting_plan,
    published_scalars,
    scalars_for_margin,
)

# gas limit, elasticity, target blobs, seconds -> scalar: base/contract-deployments, worked examples set on chain
FOOTPRINTS = [
    (300_000_000, 5, 6, 2, 312), (375_000_000, 6, 6, 2, 325), (375_000_000, 6, 14, 2, 139),
    (1_200_000_000, 15, 21, 2, 119), (40_000_000, 2, 14, 2, 44), (30_000_000, 6, 6, 1, 52),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "elasticity", "blobs", "seconds", "expected"), FOOTPRINTS)
def test_the_footprint_scalar_is_the_published_one(limit, elasticity, blobs, seconds, expected):
    assert footprint_scalar(limit, elasticity=elasticity, target_blobs=blobs, block_seconds=seconds) == expected


@pytest.mark.parametrize(("limit", "expected"), [(400_000_000, 148), (1_200_000_000, 446)])
def test_anchored_at_the_blob_limit(limit, expected):
    assert footprint_scalar_at_limit(limit, maximum_blobs=21) == expected


def test_scalars_are_encoded_as_the_system_configuration_has_them():
    """superchain-ops, pull request 92."""
    word = "010000000000000000000000000000000000000000000000000c5fc500000558"

    assert encode_scalars(1_368, 810_949).hex() == word
    assert decode_scalars(bytes.fromhex(word)) == (1_368, 810_949)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_what_is_encoded_is_decoded(base, blob):
    assert decode_scalars(encode_scalars(base, blob)) == (base, blob)


@pytest.mark.parametrize("word", [b"", bytes([2]) + bytes(31), bytes([1, 1]) + bytes(30), bytes(24) + bytes([1] * 8)])
def test_another_word_is_refused(word):
    with pytest.raises(InvalidInput, match="word: expected 32 bytes of version 0 or 1"):
        decode_scalars(word)


# transactions a day, mix, margin, hours of a channel, of an output, fault proofs, state in fees -> the calculator's
PUBLISHED = [
    (500_000, "op-mainnet", 0.0, 5, 1, True, False, (1_542, 770_039)),
    (10_000, "mode", 0.05, 12, 12, False, True, (15_521, 759_112)),
    (100_000, "zora", 0.05, 24, 6, True, False, (1_485, 741_655)),
    (500_000, "op-mainnet", 0.05, 5, 1, True, True, (4_424, 810_568)),
]


@pytest.mark.parametrize(("count", "mix", "margin", "channel", "output", "proofs", "state", "expected"), PUBLISHED)
def test_the_documentation_s_calculator_to_the_unit(count, mix, margin, channel, output, proofs, state, expected):
    found = published_scalars(
        count, MIXES[mix], margin=margin, channel_hours=channel, output_hours=output, fault_proofs=proofs,
        state_in_fees=state,
    )  # fmt: skip

    assert found == expected


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("count", [2_000, 20_000, 2_000_000])
def test_ours_recover_the_margin_of_the_plan(margin, count):
    """Revenue of a day at these scalars, over what its blobs and its L1 gas cost: 1 / (1 − margin)."""
    mix, terms = MIXES["base"], {"margin": margin, "channel_hours": 6, "output_hours": 1}
    plan = posting_plan(count, mix, channel_hours=6)
    base, blob = scalars_for_margin(count, mix, **terms)
    size = count * mix.estimated_size
    paid_for_blobs, paid_for_gas = size * blob / 10**6, 16 * size * base / 10**6

    assert paid_for_blobs / (plan.blobs * 131_072) == pytest.approx(1 / (1 - margin), rel=1e-5)
    assert paid_for_gas / plan.l1_gas == pytest.approx(1 / (1 - margin), rel=1e-2)


def test_the_published_one_charges_part_filled_blobs_twice():
    """50 transactions of Mode a day: the published scalar passes the 32 bits of its field, ours says so."""
    terms = {"margin": 0.0, "channel_hours": 1, "output_hours": 1}

    assert published_scalars(50, MIXES["mode"], **terms).blob_base_fee_scalar > 2**32
    with pytest.raises(InvalidInput, match="blob_base_fee_scalar: expected a scalar that 32 bits hold"):
        scalars_for_margin(5, MIXES["mode"], **terms)
    few = scalars_for_margin(2_000, MIXES["mode"], **terms)
    twice = published_scalars(2_000, MIXES["mode"], **terms)
    fullness = posting_plan(2_000, MIXES["mode"], channel_hours=1).fullness
    assert twice.blob_base_fee_scalar == pytest.approx(few.blob_base_fee_scalar / fullness, rel=1e-6)


@pytest.mark.parametrize(("change", "message"), [
    ({"margin": 1.0}, "margin: expected a part of revenue from 0 to below 1"),
    ({"margin": -0.1}, "margin"), ({"channel_hours": 0}, "channel_hours: expected a number above 0"),
    ({"channel_hours": 25}, "channel_hours: expected at most 24"), ({"output_hours": float("nan")}, "output_hours"),
    ({"transactions_per_day": 0}, "transactions_per_day: expected a number above 0"),
])  # fmt: skip
def test_numbers_out_of_range_are_refused(change, message):
    terms = {"transactions_per_day": 10, "margin": 0.0, "channel_hours": 1, "output_hours": 1, "state_in_fees": True}
    with pytest.raises(InvalidInput, match=message):
        published_scalars(mix=MIXES["base"], **(terms | change))
