"""FastLZ: the compiled length is the OP Stack's; `tests/test_vectors.py` has op-geth's answers for real ones."""

import pytest

from feemodel.sizes._codecs import FastLz


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
