"""What the operator of an OP Stack chain sets, against what chains have set."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.io.shipped import shipped_path
from feemodel.rollups.optimism_operator import (
    MIXES,
    decode_scalars,
    encode_scalars,
    footprint_scalar,
    footprint_scalar_at_limit,
    measured_mix,
    posting_plan,
    recovery,
    scalars_for_margin,
)
from tests.helpers.optional import optional

pd = optional("pandas")

# gas limit, elasticity, target blobs, seconds -> scalar: base/contract-deployments, worked examples set on chain
FOOTPRINTS = [
    (300_000_000, 5, 6, 2, 312), (375_000_000, 6, 6, 2, 325), (375_000_000, 6, 14, 2, 139),
    (1_200_000_000, 15, 21, 2, 119), (40_000_000, 2, 14, 2, 44), (30_000_000, 6, 6, 1, 52),
]  # fmt: skip


@pytest.mark.parametrize(("limit", "elasticity", "blobs", "seconds", "expected"), FOOTPRINTS)
def test_the_footprint_scalar_is_the_published_one(limit, elasticity, blobs, seconds, expected):
    assert footprint_scalar(limit, elasticity=elasticity, target_blobs=blobs, block_seconds=seconds) == expected


def test_a_footprint_scalar_fits_16_bits_and_is_not_0():
    limits = (128_000, 65_535 * 128_000 + 127_999)
    assert [footprint_scalar_at_limit(limit, maximum_blobs=1) for limit in limits] == [1, 65_535]
    for limit in (127_999, 65_536 * 128_000):
        with pytest.raises(
            InvalidInput, match="footprint_scalar: expected arguments for which the scalar is from 1 to 65,535"
        ):
            footprint_scalar_at_limit(limit, maximum_blobs=1)
    # 128,000 bytes in 12 s, and half as many again: exactly 16,000 bytes in a second
    assert footprint_scalar(16_000, elasticity=1, target_blobs=1, block_seconds=1) == 1
    with pytest.raises(InvalidInput, match="footprint_scalar"):
        footprint_scalar(15_999, elasticity=1, target_blobs=1, block_seconds=1)


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


OTHER_WORDS = [
    b"", bytes([2]) + bytes(31), bytes([1, 1]) + bytes(30), bytes([1]) + bytes(22) + bytes([1]) + bytes(8),
    bytes(24) + bytes([1]) + bytes(7), bytes(27) + bytes([1]) + bytes(4), bytes(31), bytes(33), "0" * 32, bytearray(32),
]  # fmt: skip


@pytest.mark.parametrize("word", OTHER_WORDS)
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
    found = scalars_for_margin(
        count, MIXES[mix], margin=margin, channel_hours=channel, output_hours=output, fault_proofs=proofs,
        state_in_fees=state, as_published=True,
    )  # fmt: skip

    assert found == expected


@pytest.mark.parametrize("published", [True, False])
def test_a_chain_without_outputs_charges_none(published):
    """0 hours between outputs are no outputs, whoever pays for them."""
    terms = {"margin": 0.05, "channel_hours": 5, "output_hours": 0, "as_published": published}
    found = scalars_for_margin(500_000, MIXES["op-mainnet"], **terms, state_in_fees=True)

    assert found == scalars_for_margin(500_000, MIXES["op-mainnet"], **terms)


# mix, transactions a day, hours of a channel, as published -> blobs a day, fullness, blobs of a transaction, L1 gas:
# a blob holds 129,638 bytes times the mix's size per blob gas
PLANS = [
    ("op-mainnet", 500_000, 5, True, (1_394.13, 1.0, 5, 5_855_328.9)),
    ("op-mainnet", 10_000, 5, True, (27.883, 1.0, 1, 585_533.0)),  # 0.26 blobs of calldata: one all the same
    ("op-mainnet", 10_000, 5, False, (27.883, 1.0, 5, 117_106.6)),  # 27.883 · 5 / 24 = 5.8, and 5 are the most
    ("base", 1_000, 24, False, (1.29650, 1.0, 1, 27_226.5)),
    ("base", 100, 6, False, (4.0, 0.032413, 1, 84_000.0)),
    ("zora", 10_000, 24, False, (9.3855, 1.0, 5, 39_419.1)),
    ("mode", 10_000, 12, False, (7.9393, 1.0, 4, 41_681.2)),  # 3.97 blobs
]


@pytest.mark.parametrize(("mix", "count", "hours", "published", "expected"), PLANS)
def test_a_plan_has_the_blobs_that_hold_the_transactions(mix, count, hours, published, expected):
    plan = posting_plan(count, MIXES[mix], channel_hours=hours, as_published=published)

    assert plan == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("margin", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("count", [2_000, 20_000, 2_000_000])
def test_ours_recover_the_margin_of_the_plan(margin, count):
    """Revenue of a day at these scalars, over what its blobs and its L1 gas cost: 1 / (1 − margin)."""
    mix, terms = MIXES["base"], {"margin": margin, "channel_hours": 6, "output_hours": 1}
    plan = posting_plan(count, mix, channel_hours=6, as_published=False)
    base, blob = scalars_for_margin(count, mix, **terms)
    size = count * mix.estimated_size
    paid_for_blobs, paid_for_gas = size * blob / 10**6, 16 * size * base / 10**6

    assert paid_for_blobs / (plan.blobs * 131_072) == pytest.approx(1 / (1 - margin), rel=1e-5)
    assert paid_for_gas / plan.l1_gas == pytest.approx(1 / (1 - margin), rel=1e-2)


def test_the_published_one_charges_part_filled_blobs_twice():
    """50 transactions of Mode a day: the published scalar passes the 32 bits of its field, ours says so."""
    terms = {"margin": 0.0, "channel_hours": 1, "output_hours": 1}

    assert scalars_for_margin(50, MIXES["mode"], **terms, as_published=True).blob_base_fee_scalar > 2**32
    with pytest.raises(InvalidInput, match="blob_base_fee_scalar: expected a scalar of at most 32 bits"):
        scalars_for_margin(5, MIXES["mode"], **terms)
    few = scalars_for_margin(2_000, MIXES["mode"], **terms)
    twice = scalars_for_margin(2_000, MIXES["mode"], **terms, as_published=True)
    fullness = posting_plan(2_000, MIXES["mode"], channel_hours=1).fullness
    assert twice.blob_base_fee_scalar == pytest.approx(few.blob_base_fee_scalar / fullness, rel=1e-6)


@pytest.mark.parametrize(("change", "message"), [
    ({"margin": 1.0}, "margin: expected a share of revenue, at least 0 and below 1"),
    ({"margin": -0.1}, "margin"), ({"channel_hours": 0}, "channel_hours"), ({"channel_hours": 1e-7}, "channel_hours"),
    ({"transactions_per_day": 1e-300}, "transactions_per_day"), ({"output_hours": -1}, "output_hours"),
    ({"output_hours": 1e-310}, "output_hours: expected 0, or at least 1e-06"),
    ({"channel_hours": 25}, "channel_hours: expected at most 24"), ({"output_hours": float("nan")}, "output_hours"),
    ({"transactions_per_day": 0}, "transactions_per_day"),
])  # fmt: skip
def test_numbers_out_of_range_are_refused(change, message):
    terms = {"transactions_per_day": 10, "margin": 0.0, "channel_hours": 1, "output_hours": 1, "state_in_fees": True}
    with pytest.raises(InvalidInput, match=message):
        scalars_for_margin(mix=MIXES["base"], **(terms | change), as_published=True)


CHANNEL_BYTES = 615_361  # of the channel on L1, in five blobs of one transaction
L1_FEES = [(153_278_231, 8_284_247), (10 * 10**9, 1), (10**9, 10**9)]


@pytest.fixture(scope="module")
def channel():
    """FastLZ lengths of the 1,766 transactions of one real channel of OP Mainnet, 2024-06-14."""
    table = pd.read_csv(shipped_path("rollup_transactions.csv"))
    return table[table["set"] == "op-channel"]["fastlz_size"].to_numpy()


@pytest.mark.parametrize(("base_fee", "blob_base_fee"), L1_FEES)
@pytest.mark.parametrize(("asked", "found"), [(0.0, -0.0534), (0.05, -0.0007), (0.2, 0.1573)])
def test_the_margin_asked_for_is_found_on_a_real_channel_but_for_its_last_blob(
    channel, asked, found, base_fee, blob_base_fee
):
    """One channel an hour takes 4.75 blobs by the plan and five on L1: the last one costs 5.3 % of the plan."""
    mix = measured_mix("channel", channel, CHANNEL_BYTES)
    scalars = scalars_for_margin(24 * 1_766, mix, margin=asked, channel_hours=1, output_hours=1)
    fees = {"l1_base_fee": base_fee, "blob_base_fee": blob_base_fee}
    plan = posting_plan(24 * 1_766, mix, channel_hours=1, as_published=False)

    assert recovery(scalars, channel, blobs=5, l1_transactions=1, **fees).margin == pytest.approx(found, abs=2e-4)
    assert plan.blobs / 24 == pytest.approx(4.747, abs=1e-3)
    planned = (plan.blobs / 24) / 5
    assert 1 - (1 - found) * planned == pytest.approx(asked, abs=2e-4)


def test_the_mix_of_the_documentation_is_another_chain_s_by_now(channel):
    """Its OP Mainnet compresses a third better than this channel did: the margin asked for, 5 %, becomes −32 %."""
    scalars = scalars_for_margin(24 * 1_766, MIXES["op-mainnet"], margin=0.05, channel_hours=1, output_hours=1)
    fees = {"l1_base_fee": 153_278_231, "blob_base_fee": 8_284_247}

    assert recovery(scalars, channel, blobs=5, l1_transactions=1, **fees).margin == pytest.approx(-0.318, abs=1e-3)


def test_the_published_count_of_blobs_in_a_transaction_is_of_the_calldata_size(channel):
    """The real channel put five blobs into one transaction; the published code takes one, and charges five times."""
    mix = measured_mix("channel", channel, CHANNEL_BYTES)
    plans = [posting_plan(24 * 1_766, mix, channel_hours=1, as_published=kind) for kind in (True, False)]

    assert [plan.blobs_per_transaction for plan in plans] == [1, 5]


def test_ours_charge_for_state_outputs_where_users_shall_pay_them():
    """24 outputs of 420,926 gas (86,847.5 without fault proofs), over 16 gas a byte of all estimated bytes."""
    mix = MIXES["op-mainnet"]
    terms = {"margin": 0.0, "channel_hours": 5, "output_hours": 1}
    without, proved, unproved = (
        scalars_for_margin(500_000, mix, **terms, **state).base_fee_scalar
        for state in ({}, {"state_in_fees": True}, {"state_in_fees": True, "fault_proofs": False})
    )
    gas = 24 / (16 * 500_000 * mix.estimated_size) * 10**6

    assert proved - without == pytest.approx(420_926 * gas, abs=1)
    assert unproved - without == pytest.approx(86_847.5 * gas, abs=1)


def test_scalars_that_just_fit_are_encoded():
    largest = 2**32 - 1
    assert decode_scalars(encode_scalars(largest, largest)) == (largest, largest)
    for scalars in ((2**32, 0), (0, 2**32), (-1, 0)):
        with pytest.raises(InvalidInput, match="base_fee_scalar: expected"):
            encode_scalars(*scalars)


def test_a_word_of_version_0_has_the_base_fee_s_scalar_alone():
    assert decode_scalars(bytes(28) + (684_000).to_bytes(4, "big")) == (684_000, 0)


def test_blocks_of_a_part_of_a_second():
    """Base's 200 ms: a fifth of a second's gas in each block gives the scalar of the same throughput."""
    assert footprint_scalar(37_500_000, elasticity=6, target_blobs=6, block_seconds=Fraction(1, 5)) == 325
    for seconds in (0, -1, 0.2, True, Fraction(0)):
        with pytest.raises(InvalidInput, match="block_seconds: expected a whole number or Fraction above 0"):
            footprint_scalar(37_500_000, elasticity=6, target_blobs=6, block_seconds=seconds)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: measured_mix("none", [], 5), "fastlz_sizes: expected a list of lengths, one for each transaction"),
    (lambda: measured_mix("none", [[5]], 5), "fastlz_sizes: expected a list of lengths, one for each transaction"),
    (lambda: measured_mix("none", [5], 0), "posted_bytes: expected whole bytes of at least 1"),
    (lambda: recovery((0, 1), [5], blobs=1, l1_transactions=1, l1_base_fee=1, blob_base_fee=1), "scalars"),
    (lambda: recovery(decode_scalars(bytes(32)), [5], blobs=1, l1_transactions=1, l1_base_fee=1, blob_base_fee=1),
     "scalars: expected scalars with a revenue above 0"),
])  # fmt: skip
def test_a_channel_that_says_nothing_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
