"""FastLZ: the compiled length is the OP Stack's; `tests/test_vectors.py` has op-geth's answers for real ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.sizes._codecs import FastLz

# An unsigned transaction of GasPriceOracle.t.sol: charged for 235 bytes, its FastLZ length and 68 for the signature.
ORACLE_TRANSACTION = bytes.fromhex(
    "1d2c3ec4f5a9b3f3cd2c024e455c1143a74bbd637c324adcbd4f74e346786ac44e23e78f47d932abedd8d106daadcea350be16478461046273"
    "101034601364012364701331dfad43729dc486abd134bcad61b34d6ca1f2eb31655b7d61ca33ba6d172cdf7d8b5b0ef389a314ca7a9a831c09"
    "fc2ca9090d059b4dd25194f3de297bdba6d6d796e4f80be94f8a9151d685607826e7ba25177b40cb127ea9f1438470"
)

# Few distinct bytes and long repeats, so that matches are many, long and overlapping.
repetitive = st.lists(
    st.tuples(st.sampled_from([b"\0", b"ab", b"\xff\xff\xff", b"0123456789"]), st.integers(1, 600))
).map(lambda runs: b"".join(piece * count for piece, count in runs))
payloads = st.one_of(st.binary(max_size=2000), repetitive)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"\x01" * 1000, 21),
        (b"\x00" * 1000, 21),
        (bytes.fromhex("dd80808094095e7baea6a6c7c4c2dfeb977efac326af552d878080808080"), 31),
        (ORACLE_TRANSACTION, 235 - 68),
    ],
    ids=["empty", "ones", "zeros", "empty transaction", "oracle transaction"],
)
def test_published_lengths(data: bytes, expected: int) -> None:
    """ethereum-optimism/op-geth, core/types/rollup_cost_test.go; optimism, GasPriceOracle.t.sol."""
    assert expected == FastLz().size(data)


@pytest.mark.parametrize(("data", "expected"), [
    (bytes(13), 14), (bytes(14), 15), (bytes(15), 16), (bytes(16), 17), (bytes(17), 12), (bytes(20), 12),
    (bytes(range(20)) + b"abcabcdefghijklmnop", 40), (bytes(range(20)) + b"abcabcdefghijklmnopq", 41),
])  # fmt: skip
def test_a_match_14_bytes_before_the_end_is_discarded(data: bytes, expected: int) -> None:
    """Answers of op-geth v1.101702.3, `types.FlzCompressLen`."""
    assert expected == FastLz().size(data)


def test_a_match_reaches_back_8191_bytes_and_no_farther() -> None:
    def marked_twice(distance: int) -> bytes:
        marker = bytes(range(240, 249))
        return marker + bytes(distance - len(marker)) + marker + bytes(range(100, 120))

    lengths = [FastLz().size(marked_twice(distance)) for distance in (8190, 8191, 8192)]

    assert lengths[0] == lengths[1] < lengths[2]


@settings(deadline=None)  # the kernel is compiled at its first use
@given(st.lists(payloads, max_size=6))
def test_many_equal_one_by_one(many: list[bytes]) -> None:
    """The table that the payloads of a call share gives no payload a match in another."""
    assert [FastLz().size(data) for data in many] == FastLz().sizes(many).tolist()
