"""FastLZ: the compiled length is the OP Stack's; `tests/test_vectors.py` has op-geth's answers for real ones."""

from feemodel.sizes._codecs import FastLz


def test_a_match_reaches_back_8191_bytes_and_no_farther() -> None:
    def marked_twice(distance: int) -> bytes:
        marker = bytes(range(240, 249))
        return marker + bytes(distance - len(marker)) + marker + bytes(range(100, 120))

    lengths = [FastLz().size(marked_twice(distance)) for distance in (8190, 8191, 8192)]

    assert lengths[0] == lengths[1] < lengths[2]
