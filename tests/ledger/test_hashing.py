"""The hashes of the state tree, compiled and in Python: definitions, and what is refused.

`test_proof.py` runs the published vectors on both.
"""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel import _extras as extras
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import slot_bytes
from feemodel.ledger import plain_hashes
from feemodel.ledger.scheme import MIMC, POSEIDON2, Scheme, scheme_of
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE

ELEMENT_SIZES = {"poseidon2": 4, "mimc": 32}
IN_LANES = 4_296  # messages, more than are hashed in one thread


BOTH = POSEIDON2, MIMC


class Plain(Scheme):
    """A hash without the compiled package."""

    @property
    def compiled(self):
        return plain_hashes.DIGESTS[self.name]


EACH = [
    *(pytest.param(one, id=one.name, marks=pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)) for one in BOTH),
    *(pytest.param(Plain(*(getattr(one, each.name) for each in fields(one))), id=f"{one.name} plain") for one in BOTH),
]
of_each = pytest.mark.parametrize("hash_", EACH)
of_poseidon2 = pytest.mark.parametrize("hash_", EACH[::2])
of_mimc = pytest.mark.parametrize("hash_", EACH[1::2])
elements = st.integers(0, POSEIDON2.order - 1) | st.sampled_from(
    [0, 1, POSEIDON2.order - 1, POSEIDON2.order // 2, 2**24, 2**30]
)


M4 = [(2, 3, 1, 1), (1, 2, 3, 1), (1, 1, 2, 3), (3, 1, 1, 2)]
EXTERNAL = np.kron(np.ones((4, 4), dtype=int) + np.eye(4, dtype=int), np.array(M4)).astype(object)
INTERNAL = np.ones((16, 16), dtype=object) + np.diag(plain_hashes.DIAGONAL.astype(object))


def message(hash_, numbers):
    """Elements as bytes."""
    return b"".join(number.to_bytes(ELEMENT_SIZES[hash_.name]) for number in numbers)


def poseidon2_digest(data):
    """Poseidon2 written down from its definition."""
    state = np.zeros(8, dtype=object)
    for start in range(0, len(data), 32):
        piece = data[start : start + 32].rjust(32, b"\0")
        block = np.array([int.from_bytes(piece[place : place + 4]) for place in range(0, 32, 4)], dtype=object)
        mixed = EXTERNAL @ np.concatenate([state, block]) % POSEIDON2.order
        for keys in plain_hashes.round_keys():
            mixed[: len(keys)] = (mixed[: len(keys)] + keys) ** 3
            mixed = (EXTERNAL if len(keys) == 16 else INTERNAL) @ mixed % POSEIDON2.order
        state = (mixed[8:] + block) % POSEIDON2.order
    return b"".join(element.to_bytes(4) for element in state)


def mimc_digest(values):
    """MiMC written down from its definition."""
    state = 0
    for value in values:
        x = value
        for constant in plain_hashes.round_constants():
            base, x = x + state + constant, 1
            for _ in range(17):
                x = x * base % MIMC.order
        state = (x + 2 * state + value) % MIMC.order
    return state.to_bytes(32)


@of_poseidon2
@given(count=st.integers(1, 40), blocks=st.integers(1, 3), data=st.data())
def test_poseidon2_equals_its_definition_in_every_lane(hash_, count, blocks, data):
    some = data.draw(st.lists(elements, min_size=1, max_size=40))
    size = blocks * 32
    joined = message(hash_, [some[i * i % len(some)] for i in range(count * blocks * 8)])
    digests = hash_.digests(joined, size)
    for place in {0, count // 2, count - 1}:
        expected = poseidon2_digest(joined[place * size : (place + 1) * size])
        assert digests[place * 32 : (place + 1) * 32] == expected


@of_mimc
@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, MIMC.order - 1) | st.sampled_from([0, 1, MIMC.order - 1]), max_size=5))
def test_mimc_equals_its_definition(hash_, values):
    assert hash_.digest(message(hash_, values)) == mimc_digest(values)


@of_each
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 130])
def test_a_batch_is_as_its_messages_one_by_one(hash_, count):
    data = message(hash_, [number * 7919 % hash_.order for number in range(count * 64 // ELEMENT_SIZES[hash_.name])])
    messages = [data[start : start + 64] for start in range(0, len(data), 64)]

    assert hash_.digests(data, 64) == b"".join(map(hash_.digest, messages))
    assert hash_.digests(data, 32) == b"".join(hash_.digest(one[part:][:32]) for one in messages for part in (0, 32))


@of_poseidon2
def test_a_batch_on_all_cores_is_as_its_messages_one_by_one(hash_):
    data = message(hash_, [number * 7919 % hash_.order for number in range(IN_LANES * 16)])
    digests = hash_.digests(data, 64)
    for place in (0, 1, IN_LANES // 2 - 1, IN_LANES // 2, IN_LANES - 1):
        assert digests[place * 32 : (place + 1) * 32] == poseidon2_digest(data[place * 64 : (place + 1) * 64])

    wrong = data[:-4] + hash_.order.to_bytes(4)
    with pytest.raises(InvalidInput, match="expected whole elements below the order"):
        hash_.digests(wrong, 64)


@of_poseidon2
@given(st.binary(max_size=150).map(lambda data: bytes(byte & 0x7E for byte in data)))
def test_a_short_last_block_is_padded_on_the_left(hash_, data):
    assert hash_.digest(data) == poseidon2_digest(data)
    if data:
        assert hash_.digests(3 * data, len(data)) == 3 * poseidon2_digest(data)


@of_poseidon2
@pytest.mark.parametrize("element", [0, POSEIDON2.order - 1])
def test_extreme_elements_do_not_overflow(hash_, element):
    data = element.to_bytes(4) * 16
    for count in (1, 64, 100):
        assert hash_.digests(count * data, 64) == count * poseidon2_digest(data)


@of_each
@pytest.mark.parametrize("height", [0, 1, 5, 40])
@pytest.mark.parametrize("indices", [[0], [2**40 - 1], [5, 2, 7], list(range(0, 90, 4))])
def test_roots_of_paths_are_hashed_level_by_level(hash_, indices, height):
    nodes = [hash_.digest(number.to_bytes(32)) for number in range(len(indices))]
    paths = [
        [hash_.digest((100 * level + path).to_bytes(32)) for level in range(height)] for path in range(len(indices))
    ]
    roots = []
    for node, index, path in zip(nodes, indices, paths, strict=True):
        for level, sibling in enumerate(path):
            node = hash_.digest(sibling + node if index >> level & 1 else node + sibling)
        roots.append(node)

    assert hash_.path_roots(b"".join(nodes), b"".join(map(b"".join, paths)), indices) == b"".join(roots)


@of_each
def test_a_path_out_of_the_field_is_refused(hash_):
    for nodes, siblings in ((b"\xff" * 32, bytes(32)), (bytes(32), b"\xff" * 32)):
        with pytest.raises(InvalidInput, match="expected whole elements below the order"):
            hash_.path_roots(nodes, siblings, [0])


@of_each
def test_elements_out_of_the_field_are_refused(hash_):
    for bad in (hash_.order, 2 ** (8 * ELEMENT_SIZES[hash_.name]) - 1):
        element = bad.to_bytes(ELEMENT_SIZES[hash_.name])
        with pytest.raises(InvalidInput, match="expected whole elements below the order"):
            hash_.digest(bytes(32 - len(element)) + element)
        with pytest.raises(InvalidInput, match="expected whole elements below the order"):
            hash_.digests(bytes(96 - len(element)) + element, 32)


@of_mimc
def test_mimc_takes_whole_blocks(hash_):
    with pytest.raises(InvalidInput, match="expected whole elements"):
        hash_.digest(bytes(33))
    with pytest.raises(InvalidInput, match="expected whole elements"):
        hash_.digests(bytes(2), 1)


@of_each
def test_a_batch_holds_whole_messages(hash_):
    assert hash_.digests(b"", 32) == b""
    for data, size in ((bytes(33), 32), (b"", 0), (bytes(32), -32)):
        with pytest.raises(InvalidInput, match="whole messages"):
            hash_.digests(data, size)


@pytest.mark.parametrize("scheme", [POSEIDON2, MIMC])
@pytest.mark.parametrize("size", [1, 15, 16, 17, 31, 32, 33])
def test_code_is_hashed_in_pieces_of_sixteen_bytes(scheme, size):
    code = bytes(range(1, size + 1))
    padded = code[: size - size % 16] + (code[size - size % 16 :].rjust(16, b"\0") if size % 16 else b"")
    expected = b"".join(scheme.pieces(padded[i : i + 16]) for i in range(0, len(padded), 16))
    assert scheme.code_hash(code) == scheme.digest(expected)
    assert scheme.code_hash(b"") == scheme.digest(bytes(32))


def test_an_unknown_generation_is_refused():
    with pytest.raises(InvalidInput, match="one of poseidon2, mimc"):
        scheme_of("keccak")


@pytest.mark.parametrize("bad", ["1", "0x", "0xg", "0x" + "0" * 65, -1, 2**256, True, None, 1.0, bytes(33)])
def test_slots_are_up_to_32_bytes(bad):
    with pytest.raises(InvalidInput):
        slot_bytes(bad)


@pytest.mark.parametrize(
    ("machine", "flags", "runs"),
    [
        ("x86_64", "flags\t\t: fpu avx avx2 bmi1 bmi2 fma", True),
        ("x86_64", "flags\t\t: fpu sse4_2 avx", False),
        ("x86_64", "flags\t\t: fpu avx2 bmi2", False),
        ("AMD64", None, True),
        ("aarch64", "Features\t: fp asimd", True),
    ],
)
def test_a_processor_without_avx2_does_not_run_the_compiled_package(machine, flags, runs, tmp_path):
    if flags is not None:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{flags}\n\nprocessor\t: 1\n")
    assert extras._runs_native(machine, tmp_path / "cpuinfo") is runs
