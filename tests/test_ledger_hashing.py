"""The hashes of the state tree: published vectors, the plain twins, and what is refused."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.ethereum.quantities import slot_bytes
from feemodel.ledger import mimc, poseidon2, poseidon2_kernel, poseidon2_permutation
from feemodel.ledger.account import Account, account_hash
from feemodel.ledger.scheme import DEPTH, FIRST_FREE, HEAD, MIMC, NOTHING, POSEIDON2, TAIL, scheme_of
from tests import poseidon2_plain

SMALL = "".join(f"{value:08x}" for value in (*range(20, 100, 10), *range(120, 200, 10), *range(320, 400, 10)))

POSEIDON2_VECTORS = {  # gnark-crypto koalabear/poseidon2 test vectors; besu-native LibGnarkTest; linea-monorepo
    "": "0" * 64,
    "0" * 64: "0656ab853b3f52840362a8177e217b630c3f876b11e848365145aa24220647fc",
    "0" * 63 + "1": "532d760a239087f458d23ee549db4a5771815a387616ec5f31be90fd690886a5",
    SMALL: "7c8ad6b34babbc1801ea1e515940657747308fcd3f2849f356f31ba72a10dc06",
    "23606e592b8189b03ff2ca6226e815b62caf773660cc667c5ac60c666977b762": (
        "3ca47eb00262ff782f30e24c6d2131c62c3e20d756ca58173ef058a720230b87"
    ),
}
MIMC_VECTORS = {  # besu-native LibGnarkTest
    "": "0" * 64,
    "0" * 64: "0134373b65f439c874734ff51ea349327c140cde2e47a933146e6f9f2ad8eb17",
    "0" * 63 + "1": "0d962bab9f4e4213383f25abc12d6ee78855fff118c94ca4352032b802ef8b87",
}
ACCOUNT_KEYS = {  # linea-monorepo account-key-test-vectors.json
    "0x0000000000000000000000000000000000000000": "225471e76dca970375f18cc4222539bf1893f40b2c28b7d62119af207704c426",
    "0xd8da6bf26964af9d7eed9e03e53415d37aa96045": "77da6a9c3c0efb6a7135620d580952cb75aaa5c53e9761ea2ceb1f4935d8ed43",
}
elements = st.integers(0, poseidon2.P - 1) | st.sampled_from([0, 1, poseidon2.P - 1, poseidon2.P // 2, 2**24, 2**30])


@pytest.mark.parametrize(("data", "digest"), POSEIDON2_VECTORS.items())
def test_poseidon2_gives_the_published_digests(data, digest):
    assert poseidon2.digest(bytes.fromhex(data)).hex() == digest


@pytest.mark.parametrize(("data", "digest"), MIMC_VECTORS.items())
def test_mimc_gives_the_published_digests(data, digest):
    assert mimc.digest(bytes.fromhex(data)).hex() == digest


def test_mimc_hashes_each_of_several_messages():
    words = [number.to_bytes(32) for number in range(1, 7)]
    pairs = [words[0] + words[1], words[2] + words[3], words[4] + words[5]]

    assert mimc.digests(b"".join(pairs), 64) == b"".join(map(mimc.digest, pairs))
    assert mimc.digests(b"".join(words), 32) == b"".join(map(mimc.digest, words))
    assert mimc.first_wrong(pairs, [mimc.digest(pair) for pair in pairs]) is None
    assert mimc.first_wrong([*words, b""], [*map(mimc.digest, words), bytes(32)]) == 6
    assert mimc.first_wrong([words[0], bytes(31)], [mimc.digest(words[0]), bytes(32)]) == 1
    for size in (-32, 0, 64):
        with pytest.raises(InvalidInput, match=f"expected whole messages of {size} bytes"):
            mimc.digests(bytes(96), size)


def test_mimc_takes_elements_below_the_order_of_its_field():
    """-1 in the field: (x + h + c)**17 with x + h + c taken modulo the order."""
    last = (mimc.FIELD - 1).to_bytes(32)
    element = -1
    for constant in mimc.round_constants():
        element = pow(element + constant, 17, mimc.FIELD)

    assert int.from_bytes(mimc.digest(last)) == (element - 1) % mimc.FIELD
    with pytest.raises(InvalidInput, match="below the order of the BLS12-377 scalar field"):
        mimc.digest(bytes(32) + mimc.FIELD.to_bytes(32))
    with pytest.raises(InvalidInput, match="expected a multiple of 32 bytes"):
        mimc.digest(bytes(33))


def test_the_constants_follow_from_the_seeds():
    keys = poseidon2.round_keys()
    assert [len(row) for row in keys] == [16] * 3 + [1] * 21 + [16] * 3
    assert (keys[0][0], keys[3][0], keys[23][0]) == (1954447561, 271263440, 1053550888)
    constants = mimc.round_constants()
    assert len(constants) == 62
    assert constants[0] == 6780559962679281898511952483033644312910028090361101779689089025541625982996
    assert constants[61] == 6961288456480688271133399693659146309378114560595485436408179085016705585674


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 130), blocks=st.integers(1, 3), data=st.data())
def test_the_kernel_equals_the_plain_twin_in_every_lane(count, blocks, data):
    some = data.draw(st.lists(elements, min_size=1, max_size=40))
    words = [some[i * i % len(some)] for i in range(count * blocks * 8)]
    size = blocks * 32
    joined = b"".join(word.to_bytes(4) for word in words)
    digests = poseidon2.digests(joined, size)
    places = {0, count // 2, count - 1}
    for place in places:
        expected = poseidon2_plain.digest(joined[place * size : (place + 1) * size])
        assert digests[place * 32 : (place + 1) * 32] == expected


def test_a_large_batch_is_as_its_messages_one_by_one():
    count = poseidon2_kernel.PARALLEL + 200
    data = b"".join((number * 7919 % poseidon2.P).to_bytes(4) for number in range(count * 16))
    digests = poseidon2.digests(data, 64)
    for place in (0, 1, count // 2 - 1, count // 2, count - 1):
        message = data[place * 64 : (place + 1) * 64]
        assert digests[place * 32 : (place + 1) * 32] == poseidon2_plain.digest(message)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=150).map(lambda data: bytes(byte & 0x7E for byte in data)))
def test_a_short_last_block_is_padded_on_the_left(data):
    assert poseidon2.digest(data) == poseidon2_plain.digest(data)
    if data:
        assert poseidon2.digests(3 * data, len(data)) == 3 * poseidon2_plain.digest(data)


@pytest.mark.parametrize("element", [0, poseidon2.P - 1])
def test_extreme_elements_do_not_overflow(element):
    message = element.to_bytes(4) * 16
    for count in (1, 64, 100):
        assert poseidon2.digests(count * message, 64) == count * poseidon2_plain.digest(message)


@settings(max_examples=30, deadline=None)
@given(indices=st.lists(st.integers(0, 2**40 - 1), min_size=1, max_size=40), height=st.integers(0, 40))
def test_roots_of_paths_in_one_call_equal_those_level_by_level(indices, height):
    hashes = POSEIDON2.word_hashes([number.to_bytes(32) for number in range(len(indices) * (height + 1))])
    nodes, beside = hashes[: len(indices)], hashes[len(indices) :]
    paths = [beside[place * height : (place + 1) * height] for place in range(len(indices))]
    assert POSEIDON2.path_roots(nodes, paths, indices) == replace(POSEIDON2, hash_paths=None).path_roots(
        nodes, paths, indices
    )


@pytest.mark.parametrize(
    ("nodes", "siblings", "indices", "message"),
    [
        (b"", b"", [], "nodes"),
        (bytes(33), bytes(32), [0], "nodes"),
        (bytes(32), bytes(64), [0, 1], "nodes"),
        (bytes(64), bytes(96), [0, 1], "siblings"),
        (bytes(28) + b"\xff" * 4, bytes(32), [0], r"nodes\[0, 7\]"),
        (bytes(32), bytes(60) + b"\xff" * 4, [0], r"siblings\[0, 1, 7\]"),
    ],
)
def test_what_is_no_path_is_refused(nodes, siblings, indices, message):
    with pytest.raises(InvalidInput, match=message):
        poseidon2.path_roots(nodes, siblings, indices)


class Lane(int):
    """A lane of a vector in plain Python: a number of 64 bits that wraps."""

    def __add__(self, other):
        return Lane((int(self) + int(other) + 2**63) % 2**64 - 2**63)

    def __sub__(self, other):
        return self + -int(other)

    def __mul__(self, other):
        return Lane(0) + int(self) * int(other)

    def __and__(self, other):
        return Lane(int(self) & other)

    def __rshift__(self, bits):
        return Lane(int(self) >> bits)

    def __lshift__(self, bits):
        return self * 2**bits

    def low(self):
        return Lane((int(self) + 2**31) % 2**32 - 2**31)


@pytest.mark.parametrize("fused", [False, True])
@given(a=st.integers(-(2**31), 2**31 - 1), b=st.integers(-(2**31), 2**31 - 1))
def test_both_ways_to_multiply_are_montgomerys(fused, a, b):
    """In plain Python, whatever this processor compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(poseidon2_permutation, "FUSED_PRODUCT", fused)
        found = int(poseidon2_permutation.multiply(Lane(a), Lane(b)))
    assert abs(found) < 2**31
    assert (found * 2**32 - a * b) % poseidon2.P == 0


def test_no_sum_in_the_kernel_leaves_the_range_of_its_product():
    """Follows the largest absolute value of each element through a permutation, as the kernel reduces it."""
    p, factor, limit = poseidon2.P, 2**31, 2**31

    def reduced(bound):
        quotient = (bound + 2**30) >> 31
        return quotient * (2**31 - p) + 2**30

    def cubed(bound):
        assert bound < limit
        return factor

    wide = [35 * factor] * 16  # M4 multiplies by at most 7, the sum over the groups by 5
    for _ in range(poseidon2.FULL_ROUNDS // 2):
        wide = [35 * cubed(reduced(bound + p)) for bound in wide]
    multiplied = {1: 1, 2: 2, 4: 3, 5: 4, 7: 3, 8: 4}
    halved = {3: 1, 6: 1, 9: 8, 10: 3, 11: 24, 12: 8, 13: 3, 14: 4, 15: 24}
    for number in range(poseidon2.PARTIAL_ROUNDS):
        if number % poseidon2_permutation.ROUNDS_BETWEEN_REDUCTIONS == 0:
            for place in poseidon2_permutation.GROWING:
                wide[place] = reduced(wide[place])
        first = cubed(reduced(wide[0] + p))
        others = sum(wide[1:])
        assert others < 2**62
        others = reduced(others)
        total = others + first
        rest = [
            total + (multiplied[i] * wide[i] if i in multiplied else (wide[i] >> halved[i]) + 1 + 2**31)
            for i in range(1, 16)
        ]
        wide = [others + first, *rest]
    wide = list(map(reduced, wide))
    for _ in range(poseidon2.FULL_ROUNDS // 2):
        wide = [35 * cubed(reduced(bound + p)) for bound in wide]
    assert reduced(wide[0] + factor) < limit
    assert math.log2(wide[0]) < 37


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, mimc.FIELD - 1), max_size=3))
def test_mimc_equals_its_definition(values):
    state = 0
    for value in values:
        x = value
        for constant in mimc.round_constants():
            base, x = x + state + constant, 1
            for _ in range(17):
                x = x * base % mimc.FIELD
        state = (x + 2 * state + value) % mimc.FIELD
    assert mimc.digest(b"".join(value.to_bytes(32) for value in values)) == state.to_bytes(32)


@pytest.mark.parametrize("bad", [poseidon2.P, 2**32 - 1])
def test_elements_out_of_the_field_are_refused_by_poseidon2(bad):
    with pytest.raises(InvalidInput, match=f"got {bad}"):
        poseidon2.digest(bytes(28) + bad.to_bytes(4))
    with pytest.raises(InvalidInput, match=r"data\[2, 7\]"):
        poseidon2.digests(bytes(92) + bad.to_bytes(4), 32)


def test_elements_out_of_the_field_are_refused_by_mimc():
    with pytest.raises(InvalidInput, match=hex(mimc.FIELD)):
        mimc.digest(mimc.FIELD.to_bytes(32))
    with pytest.raises(InvalidInput, match="multiple of 32"):
        mimc.digest(bytes(33))


@pytest.mark.parametrize("digests", [poseidon2.digests, mimc.digests])
@pytest.mark.parametrize(("data", "size"), [(bytes(33), 32), (b"", 0), (bytes(32), -32)])
def test_a_batch_must_hold_whole_messages(digests, data, size):
    with pytest.raises(InvalidInput, match="whole messages"):
        digests(data, size)


@pytest.mark.parametrize("size", [32, 64, 96])
def test_a_batch_of_mimc_is_its_messages_one_by_one(size):
    messages = [bytes(31) + bytes([number]) + bytes(size - 32) for number in range(5)]
    assert mimc.digests(b"".join(messages), size) == b"".join(map(mimc.digest, messages))


def test_a_batch_of_mimc_may_be_empty_and_its_messages_are_checked():
    assert mimc.digests(b"", 1) == b""
    with pytest.raises(InvalidInput, match="expected a multiple of 32 bytes"):
        mimc.digests(bytes(2), 1)


@pytest.mark.parametrize(("address", "hkey"), ACCOUNT_KEYS.items())
def test_account_keys_are_the_published_ones(address, hkey):
    assert POSEIDON2.account_key(bytes.fromhex(address[2:])).hex() == hkey


def test_mimc_hashes_the_low_half_of_a_word_first():
    word = bytes(range(32))
    assert MIMC.word_hash(word) == mimc.digest(bytes(16) + word[16:] + bytes(16) + word[:16])


@pytest.mark.parametrize(
    ("scheme", "digest"),
    [
        (POSEIDON2, "495340db00ecc17b5cb435d5731f8d6635e6b3ef42507a8303a068d178a95d22"),
        (MIMC, "11314cf80cdd63a376e468ea9e6c672109bcfe516f0349382df82e1a876ca8b2"),
    ],
)
def test_account_hash_is_the_published_one(scheme, digest):
    keccak = bytes.fromhex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
    account = Account(65, 835, scheme.empty_root, scheme.empty_code_hash, keccak, 0)
    assert account_hash(scheme, account.to_bytes()).hex() == digest
    assert Account.from_bytes(account.to_bytes()) == account


@pytest.mark.parametrize("scheme", [POSEIDON2, MIMC])
@pytest.mark.parametrize("size", [1, 15, 16, 17, 31, 32, 33])
def test_code_is_hashed_in_pieces_of_sixteen_bytes(scheme, size):
    code = bytes(range(1, size + 1))
    padded = code[: size - size % 16] + (code[size - size % 16 :].rjust(16, b"\0") if size % 16 else b"")
    expected = b"".join(scheme.pieces(padded[i : i + 16]) for i in range(0, len(padded), 16))
    assert scheme.code_hash(code) == scheme.digest(expected)
    assert scheme.code_hash(b"") == scheme.digest(bytes(32))


@pytest.mark.parametrize("scheme", [POSEIDON2, MIMC])
def test_the_constants_of_an_empty_tree_are_those_that_are_computed(scheme):
    ends = [scheme.digest(scheme.leaf(HEAD, TAIL, hkey, NOTHING)) for hkey in (NOTHING, scheme.tail_key)]
    (sub_root,) = scheme.path_roots([scheme.node(*ends)], [scheme.zeros[1:DEPTH]], [HEAD])

    assert scheme.empty_sub_root == sub_root
    assert scheme.empty_root == scheme.digest(scheme.top(FIRST_FREE, sub_root))
    assert scheme.empty_code_hash == scheme.digest(bytes(32))


def test_an_unknown_generation_is_refused():
    with pytest.raises(InvalidInput, match="one of poseidon2, mimc"):
        scheme_of("keccak")


@pytest.mark.parametrize("bad", ["1", "0x", "0xg", "0x" + "0" * 65, -1, 2**256, True, None, 1.0, bytes(33)])
def test_slots_are_up_to_32_bytes(bad):
    with pytest.raises(InvalidInput):
        slot_bytes(bad)
