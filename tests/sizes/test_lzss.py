"""LZSS: the published sizes, every way of measuring alike, the refusals."""

import hashlib
import json
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel import _compiled, _extras
from feemodel._extras import has_numba
from feemodel.errors import Int64Overflow, InvalidInput, LimitExceeded, UnreadableFile
from feemodel.sizes._codecs import compressed_sizes
from feemodel.sizes._lzss import PUBLISHED_DICTIONARIES, Lzss, UnknownDictionary, packed_size
from feemodel.sizes._lzss_plain import PlainLzss
from tests.conftest import IN_CI
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE

NEVER, AT_ONCE = 2**40, -1  # patience: matches searched one by one to the end, or tabulated from the start
WINDOW = 2**14
Ways = dict[str, Callable[[list[bytes]], list[int]]]  # functions that return the sizes of payloads


@cache
def in_python() -> ModuleType:
    """`_lzss_plain` as it is without numba."""
    spec = find_spec("feemodel.sizes._lzss_plain")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for part in (_compiled, _extras):
            patch.setattr(part, "has_numba", lambda: False)
        spec.loader.exec_module(module)
    return module


def complete_dictionary(dictionary: bytes) -> bytes:
    """The dictionary as the compressor takes it, with both reserved bytes."""
    return dictionary if b"\xfe" in dictionary and b"\xff" in dictionary else dictionary + b"\xfe\xff"


@cache
def quick_ways(dictionary: bytes) -> Ways:
    """Every way of measuring that is compiled; each takes payloads."""
    complete = complete_dictionary(dictionary)
    ways: Ways = {}
    if has_numba():
        ways["numba"] = PlainLzss(complete).sizes
    if HAS_NATIVE:
        import feemodel_native as native

        compressor = native.Lzss(complete)
        ways["native"] = compressor.sizes
        for patience in (NEVER, AT_ONCE, 1):
            ways[f"native, patience {patience}"] = partial(compressor.sizes, patience=patience)
    return ways


@cache
def every_way(dictionary: bytes) -> Ways:
    """Every way of measuring."""
    return quick_ways(dictionary) | {"Python": in_python().PlainLzss(complete_dictionary(dictionary)).sizes}


def check_ways(ways: Ways, payloads: list[bytes], expected: list[int]) -> None:
    assert dict.fromkeys(ways, expected) == {name: way(payloads) for name, way in ways.items()}


def seeded(seed: int, length: int, below: int = 256) -> bytes:
    return np.random.default_rng(seed).integers(0, below, length).astype(np.uint8).tobytes()


def chosen(values: bytes, choices: bytes) -> bytes:
    """One of the values for each choice."""
    return bytes(values[choice % len(values)] for choice in choices)


DICTIONARIES = {
    "empty": b"",
    "random": seeded(1, 1_000),
    "two values": seeded(2, 500, 2),
    "runs": b"".join(bytes([n % 7]) * n for n in range(1, 70)),
    "reserved": chosen(b"\xfd\xfe\xff", seeded(3, 300)),
    "without 0xfe": seeded(4, 800).replace(b"\xfe", b"\xff"),
    "without 0xff": seeded(5, 800).replace(b"\xff", b"\xfe"),
    "words": b"".join(bytes(28) + seeded(n, 4) for n in range(6, 26)) + b"\xff" * 32 + bytes(40),
}
CODECS = {name: Lzss(dictionary) for name, dictionary in DICTIONARIES.items()}


@pytest.mark.parametrize(("key", "name"), [("dict2025", "2025-04-21"), ("dictOld", "2024")])
def test_published_sizes_under_the_published_dictionaries(shared, key, name):
    codec = Lzss.from_file(shared / "data" / f"linea-dict-{name}.bin")  # a warning would fail the test
    vectors = json.loads((shared / "vectors" / "linea" / "fees.json").read_text())["lzss_sizes"]["items"]
    payloads = [bytes.fromhex(vector["hex"][2:]) for vector in vectors]
    check_ways(every_way(codec.dictionary), payloads, [vector[key]["lzss"] for vector in vectors])


def pieces(dictionary: bytes) -> st.SearchStrategy[bytes]:
    """What makes matches hard to find: few values, periods, runs, reserved bytes, the dictionary with faults."""
    lengths, seeds = st.integers(1, 90), st.integers(0, 2**32 - 1)
    alphabets = st.sampled_from([b"\x00\x01", b"\xfe\xff", b"\x00\xfe\xff", b"\x00\x01\xfe"])
    few_values = st.builds(lambda values, seed, n: chosen(values, seeded(seed, n)), alphabets, seeds, lengths)
    periodic = st.builds(lambda unit, n: (unit * n)[:n], st.binary(min_size=1, max_size=9), lengths)
    run_lengths = st.integers(1, 12) | st.integers(155, 260)
    runs = st.builds(lambda byte, n: bytes([byte]) * n, st.sampled_from([0, 1, 0xFE, 0xFF]), run_lengths)
    kinds = [st.binary(min_size=1, max_size=30), few_values, periodic, runs]
    if dictionary:
        starts = st.integers(0, len(dictionary) - 1)
        slices = st.builds(lambda start, n: dictionary[start : start + n], starts, lengths)
        kinds += [slices, st.builds(mutated, slices, seeds)]
    return st.one_of(kinds)


def mutated(data: bytes, seed: int, share: int = 20) -> bytes:
    """The data with about one byte in `share` changed."""
    rng = np.random.default_rng(seed)
    changed = np.frombuffer(data, dtype=np.uint8).copy()
    where = rng.integers(0, len(data), len(data) // share + 1)
    changed[where] ^= rng.integers(1, 256, len(where)).astype(np.uint8)
    return changed.tobytes()


@st.composite
def payloads_with_repeats(draw: Callable[..., Any], dictionary: bytes) -> bytes:
    """Some pieces, some of them again."""
    parts = draw(st.lists(pieces(dictionary), max_size=7))
    again = draw(st.lists(st.sampled_from(parts), max_size=5)) if parts else []
    return b"".join(parts + again)[:700]


@pytest.mark.parametrize("name", DICTIONARIES)
@given(data=st.data())
def test_every_way_measures_alike(name, data):
    dictionary = DICTIONARIES[name]
    payloads = data.draw(st.lists(payloads_with_repeats(dictionary), min_size=1, max_size=3))
    expected = [CODECS[name].raw_size(payload) for payload in payloads]
    check_ways(every_way(dictionary), payloads, expected)
    with_fallback = [
        len(payload) + 3 if size > len(payload) else size for size, payload in zip(expected, payloads, strict=True)
    ]
    assert with_fallback == CODECS[name].sizes(payloads).tolist()


BLOCK = seeded(7, 300)
LARGE = {
    "mutated run": mutated(b"\x01" * 120_000, 1, 30),
    "two values": seeded(2, 40_000, 2),
    "sixteen values": seeded(3, 200_000, 16),
    "reserved": chosen(b"\xfe\xff", seeded(4, 20_000)),
    "half reserved": chosen(b"\xfd\xfe\xff\x00", seeded(5, 20_000)),
    "period of 2, mutated": mutated(b"\x01\x02" * 30_000, 6),
    "period of 32, mutated": mutated(BLOCK[:32] * 2_000, 7, 100),
    "a block, mutated each time": b"".join(mutated(BLOCK, n, 400) for n in range(870)),
    "runs and bytes": b"".join(bytes(4 + b % 37) + bytes([b]) for b in seeded(8, 8_000)),
    "runs of any byte": b"".join(bytes([b]) * (150 + b % 20) for b in seeded(9, 1_500)),
    "longer and longer runs": b"".join(bytes(n) + b"\x01" for n in range(1, 400)),
    "zeros, as long as may be": bytes(2**18),
    "random, as long as may be": seeded(10, 2**18),
}


@pytest.mark.skipif(not (HAS_NATIVE or has_numba()), reason="takes minutes in plain Python")
@pytest.mark.parametrize("name", LARGE)
def test_every_way_measures_large_payloads_alike(name):
    dictionaries = (DICTIONARIES["words"] + b"\xfe", seeded(11, 65_536))
    for dictionary in dictionaries[: 2 if IN_CI else 1]:
        ways = quick_ways(dictionary)
        check_ways(ways, [LARGE[name]], next(iter(ways.values()))([LARGE[name]]))


@pytest.mark.parametrize(("distance", "reference_bytes"), [(WINDOW, 4), (WINDOW + 1, 5)])
def test_the_window_ends_after_2_to_the_14_bytes(distance, reference_bytes):
    """Forty bytes again, so far away: all before stands for itself, and a reference of 30 or 37 bits for them."""
    block, filling = seeded(12, 40, 0xFE), seeded(13, distance - 40, 0xFE)
    check_ways(every_way(b"\xfe\xff"), [block + filling + block], [3 + distance + reference_bytes])


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_the_native_package_refuses_what_it_cannot_measure():
    import feemodel_native as native

    with pytest.raises(ValueError, match="expected both reserved bytes, 0xfe and 0xff"):
        native.Lzss(b"\xfe")
    with pytest.raises(ValueError, match="dictionary: more than 1835010 bytes"):
        native.Lzss(b"\xfe\xff" * 2**20)


def test_a_codec_is_pickled_after_its_first_call():
    codec = Lzss(DICTIONARIES["words"])
    assert codec.size(BLOCK) == pickle.loads(pickle.dumps(codec)).size(BLOCK)


def test_sizes_of_any_iterable():
    payloads = [seeded(n, n) for n in range(50)]
    expected = [CODECS["words"].size(payload) for payload in payloads]
    assert expected == CODECS["words"].sizes(iter(payloads)).tolist()
    assert expected == CODECS["words"].sizes(np.array(payloads, dtype=object)).tolist()
    assert expected == compressed_sizes(payloads, CODECS["words"], threads=2).tolist()
    assert CODECS["words"].sizes([]).dtype == CODECS["words"].sizes(payloads).dtype == np.int64


def test_threads_measure_at_once():
    codec = Lzss(DICTIONARIES["words"])  # not yet indexed
    payloads = [seeded(n, 200, 3) for n in range(300)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(codec.sizes, [payloads] * 8))
    assert all(np.array_equal(found[0], sizes) for sizes in found)
    assert [CODECS["words"].size(payload) for payload in payloads] == found[0].tolist()


def test_a_dictionary_without_a_reserved_byte_gets_both_at_its_end():
    assert Lzss(b"without").raw_size(b"\xfe\xff") == 3 + 5  # one reference to both
    assert Lzss(b"with \xff and \xfe").raw_size(b"\xfe\xff") == 3 + 10


@pytest.mark.parametrize("payload", ["0x02", 5, None, [1, 2], np.zeros(2)])
def test_payloads_that_are_not_bytes_are_refused(payload):
    with pytest.raises(InvalidInput, match=r"^data: expected bytes"):
        CODECS["empty"].size(payload)
    with pytest.raises(InvalidInput, match=r"^payloads\[600\]: expected bytes"):
        CODECS["empty"].sizes([b"good"] * 600 + [payload])


def test_a_payload_beyond_256_kib_is_refused():
    assert CODECS["empty"].size(bytes(2**18)) < 2**18
    with pytest.raises(LimitExceeded, match="262,145 bytes is longer than the maximum of the compressor, 262,144"):
        CODECS["empty"].sizes([b"", bytes(2**18 + 1)])


def test_a_dictionary_is_bytes_within_reach():
    with pytest.raises(InvalidInput, match="dictionary: expected bytes"):
        Lzss("dictionary.bin")
    with pytest.raises(LimitExceeded, match="more than the maximum of 1,835,008 bytes"):
        Lzss(bytes(2**21 - 2**18 + 1))


def test_another_dictionary_is_read_with_a_warning_that_names_its_sha256(tmp_path):
    file = tmp_path / "dictionary.bin"
    file.write_bytes(DICTIONARIES["words"])
    digest = hashlib.sha256(DICTIONARIES["words"]).hexdigest()
    with pytest.warns(UnknownDictionary, match=digest) as warned:
        codec = Lzss.from_file(file)
    assert all(known in str(warned[0].message) for known in PUBLISHED_DICTIONARIES)
    assert codec == CODECS["words"]


def test_an_unreadable_dictionary_file_is_named(tmp_path):
    with pytest.raises(UnreadableFile, match=r"none\.bin: no such file"):
        Lzss.from_file(tmp_path / "none.bin")
    with pytest.raises(UnreadableFile, match="a folder, not a file"):
        Lzss.from_file(str(tmp_path))


@given(st.integers(0, 2**59))
def test_packed_size_is_the_least_number_of_field_elements(size):
    elements, rest = divmod(packed_size(size), 32)
    assert rest == 0
    assert (elements - 1) * 254 < 8 * size <= elements * 254
    assert packed_size(np.array([[size]])).tolist() == [[elements * 32]]


@pytest.mark.parametrize("size", [-1, 1.0, "100", True, [1, -1], [0.5]])
def test_sizes_that_cannot_be_packed(size):
    with pytest.raises(InvalidInput, match=r"^size"):
        packed_size(size)


def test_packed_sizes_that_do_not_fit_an_array():
    assert packed_size(2**62) == 32 * -(-(2**65) // 254)
    assert packed_size([1, 2**59 + 1, 2**62]).tolist() == [packed_size(size) for size in (1, 2**59 + 1, 2**62)]
    with pytest.raises(Int64Overflow, match=r"size\[1\]: expected a result of at most 2\*\*63 - 1"):
        packed_size([1, 2**63 - 1])
