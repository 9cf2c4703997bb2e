"""Codecs: the published sizes, many = one by one, valid frames, and the refusals."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.sizes._codecs import (
    CODECS,
    SCROLL_ZSTD,
    Brotli,
    Codec,
    FastLz,
    Zstd,
    _zstd_compressor,
    compressed_size,
    compressed_sizes,
    get_codec,
    train_dictionary,
)

DICTIONARY = b"".join(n.to_bytes(4, "big") for n in range(2000))
ZSTDS = [
    Zstd(),
    Zstd(level=1, window_log=10),
    Zstd(level=19, magicless=False, content_size=True),
    Zstd(capped=False),
    Zstd(dictionary=DICTIONARY),
    Zstd(dictionary=DICTIONARY, window_log=12, content_size=True, capped=False),
    SCROLL_ZSTD,
]
ALL = [*ZSTDS, Brotli(), Brotli(quality=11, window=10), FastLz()]

# Calldata: a selector, then words that are mostly zeros, addresses and repeats of earlier words.
words = st.one_of(
    st.integers(0, 2**64).map(lambda n: n.to_bytes(32, "big")),
    st.sampled_from([bytes(12) + bytes(range(n, n + 20)) for n in range(5)]),
    st.binary(min_size=32, max_size=32),
)
calldata = st.tuples(st.binary(max_size=4), st.lists(words, max_size=40)).map(
    lambda parts: parts[0] + b"".join(parts[1])
)
payloads = st.one_of(st.binary(max_size=300), calldata)


def test_scroll_sizes_and_ratios(shared: Path) -> None:
    """Chaintable/go-ethereum-scrl@5f34f2a, rollup/fees/rollup_fee_test.go."""
    rows = json.loads((shared / "data/scroll-compression-payloads.json").read_text())
    measured = [row for row in rows if row["ratio"] is not None]

    assert len(measured) == 9
    for row in measured:
        payload = bytes.fromhex(row["payload"][2:])
        assert row["size"] == SCROLL_ZSTD.size(payload), row["name"]
        assert row["ratio"] == len(payload) * 10**9 // SCROLL_ZSTD.size(payload), row["name"]


@pytest.mark.parametrize("codec", ALL, ids=repr)
@settings(deadline=None)  # FastLZ is compiled at its first use
@given(many=st.lists(payloads, max_size=12))
def test_many_equal_one_by_one(codec: Codec, many: list[bytes]) -> None:
    expected = [codec.size(data) for data in many]

    assert expected == codec.sizes(many).tolist()
    assert expected == compressed_sizes(many, codec, threads=2).tolist()
    assert expected == [compressed_size(data, codec) for data in many]


@pytest.mark.parametrize("codec", ZSTDS, ids=repr)
@given(data=payloads)
def test_zstd_measures_a_frame_that_decompresses(codec: Zstd, data: bytes) -> None:
    frame = frame_of(codec, data)
    decompressor = zstandard.ZstdDecompressor(
        dict_data=zstandard.ZstdCompressionDict(codec.dictionary) if codec.dictionary else None,
        format=zstandard.FORMAT_ZSTD1_MAGICLESS if codec.magicless else zstandard.FORMAT_ZSTD1,
    )

    assert data == decompressor.decompress(frame, max_output_size=max(1, len(data)))
    assert codec.size(data) == (min(len(frame), len(data)) if codec.capped else len(frame))


def frame_of(codec: Zstd, data: bytes) -> bytes:
    return _zstd_compressor(codec, thread=0).compress(data)


@pytest.mark.parametrize(("quality", "window"), [(1, 22), (11, 10)])
@given(data=payloads)
def test_brotli_measures_a_stream(quality: int, window: int, data: bytes) -> None:
    stream = brotli.compress(data, quality=quality, lgwin=window)

    assert Brotli(quality, window).size(data) == len(stream)


def test_order_is_kept_over_chunks_and_threads() -> None:
    many = [bytes(n % 5000) + n.to_bytes(4, "big") for n in range(0, 60_000, 7)]

    expected = [len(brotli.compress(data, quality=1, lgwin=22)) for data in many]
    assert expected == compressed_sizes(iter(many), "brotli", threads=3).tolist()


def test_any_iterable_of_bytes_like_payloads() -> None:
    data = bytes(100)
    many = [data, bytearray(data), memoryview(data), np.zeros(100, np.uint8), memoryview(bytes(200))[::2]]

    assert [compressed_size(data)] * 5 == compressed_sizes(many).tolist()
    assert [compressed_size(data)] * 5 == compressed_sizes(item for item in many).tolist()
    assert compressed_sizes([]).dtype == np.int64
    assert compressed_sizes([]).shape == (0,)
    assert compressed_sizes([b"", b""]).tolist() == [0, 0]


def test_only_some_chunks_are_taken_ahead() -> None:
    taken, done, lead = 0, 0, 0

    def stream() -> Any:
        nonlocal taken, lead
        for _ in range(100_000):
            taken += 1
            lead = max(lead, taken - done)
            yield b"payload"

    def count(increment: int) -> None:
        nonlocal done
        done += increment

    assert len(compressed_sizes(stream(), threads=2, progress=count)) == 100_000
    assert done == 100_000
    assert lead <= 6 * 2048


def test_codecs_are_values() -> None:
    assert Zstd(level=3) == Zstd()
    assert {Zstd(), Zstd(level=3), Zstd(level=4)} == {Zstd(level=4), Zstd()}
    assert [pickle.loads(pickle.dumps(codec)) for codec in ALL] == ALL
    assert "dictionary" not in repr(Zstd(dictionary=DICTIONARY))


def test_names_lead_to_codecs() -> None:
    assert {"zstd", "brotli", "fastlz"} <= set(CODECS)
    for name, codec in CODECS.items():
        assert name == codec.name
        assert codec is get_codec(name)
        assert codec is get_codec(codec)


def test_a_codec_of_the_callers_own() -> None:
    class Plain:
        name = "plain"

        def size(self, data: Any) -> int:
            return len(data)

        def sizes(self, payloads: Any) -> Any:
            return np.array([len(data) for data in payloads])

    assert compressed_size(b"abc", Plain()) == 3
    assert compressed_sizes([b"abc", b"d"], Plain()).tolist() == [3, 1]


def test_a_dictionary_helps_raw_or_trained() -> None:
    rng = np.random.default_rng(0)
    known = [rng.bytes(40) for _ in range(50)]
    samples = [b"".join(known[n] for n in rng.integers(0, 50, 6)) + rng.bytes(8) for _ in range(2000)]
    trained = train_dictionary(samples[:1500], size=4096)
    without = compressed_sizes(samples[1500:]).sum()

    assert trained[:4] == bytes.fromhex("37a430ec")
    assert len(trained) <= 4096
    assert trained == train_dictionary(iter(samples[:1500]), size=4096)
    for dictionary in (trained, b"".join(known)):
        assert compressed_sizes(samples[1500:], Zstd(dictionary=dictionary)).sum() < without / 3
        frame = frame_of(Zstd(dictionary=dictionary), samples[-1])
        reader = zstandard.ZstdDecompressor(zstandard.ZstdCompressionDict(dictionary), format=1)
        assert samples[-1] == reader.decompress(frame, max_output_size=1000)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ("0x00", "from_hex reads hexadecimal text"),
        (7, "expected bytes, got 7"),
        (None, "expected bytes, got None"),
        ([1, 2], "expected bytes"),
        (np.bytes_(b"a\0"), "drops trailing zeros"),
        (np.arange(3), "items of 8 bytes"),
        (np.uint8(3), "expected bytes, not a single number"),
    ],
)
@pytest.mark.parametrize("codec", ["zstd", "brotli", "fastlz"])
def test_payloads_that_are_not_bytes(payload: Any, reason: str, codec: str) -> None:
    with pytest.raises(InvalidInput, match=rf"data: .*{reason}"):
        compressed_size(payload, codec)
    with pytest.raises(InvalidInput, match=rf"payloads\[5001\]: .*{reason}"):
        compressed_sizes([b"fine"] * 5001 + [payload], codec)
    with pytest.raises(InvalidInput, match=rf"data: .*{reason}"):
        CODECS[codec].size(payload)
    with pytest.raises(InvalidInput, match=rf"payloads\[1\]: .*{reason}"):
        CODECS[codec].sizes([b"fine", payload])


def test_an_array_of_bytes_is_one_payload_and_a_matrix_is_its_rows() -> None:
    rows = np.arange(600, dtype=np.uint8).reshape(2, 300)

    assert compressed_size(rows[0]) == compressed_size(rows[0].tobytes())
    assert compressed_sizes(rows).tolist() == [compressed_size(row.tobytes()) for row in rows]
    with pytest.raises(InvalidInput, match=r"payloads\[0\]: expected bytes, not a single number"):
        compressed_sizes(rows[0])


def test_options_may_be_numbers_of_numpy() -> None:
    level = np.int64(5)

    assert (Zstd(level=level), Brotli(quality=level)) == (Zstd(5), Brotli(5))
    assert repr(Brotli(quality=level)) == repr(Brotli(5))
    assert Zstd(level=level, window_log=np.uint8(17)).size(bytes(300)) == Zstd(5, window_log=17).size(bytes(300))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Zstd(level=0), "level: expected an integer of at least 1, got 0"),
        (lambda: Zstd(level=23), "level"),
        (lambda: Zstd(level=3.0), "level"),
        (lambda: Zstd(window_log=9), "window_log: expected an integer of at least 10, got 9"),
        (lambda: Zstd(dictionary=bytes(7)), "dictionary: expected at least 8 bytes"),
        (lambda: Zstd(dictionary="dictionary"), "dictionary"),
        (lambda: Zstd(dictionary=bytes.fromhex("37a430ec") + bytes(400)), "dictionary: expected a whole trained"),
        (lambda: Brotli(quality=12), "quality: expected at most 11, got 12"),
        (lambda: Brotli(window=25), "window: expected at most 24, got 25"),
        (lambda: Brotli(quality=-1), "quality: expected an integer of at least 0, got -1"),
        (lambda: train_dictionary([bytes(100)] * 100, size=255), "size: expected whole bytes of at least 256"),
        (lambda: train_dictionary(["0x00"]), r"payloads\[0\]: expected bytes"),
        (lambda: train_dictionary([], 1_000), "payloads: expected more or longer samples.*0 samples of"),
        (lambda: train_dictionary([b""] * 100, 1_000), "payloads: expected more or longer samples.*100 samples of"),
        (lambda: train_dictionary([bytes(300)] * 4, 65_536), "payloads: expected more or longer samples.*4 samples of"),
        (lambda: compressed_sizes([b"fine"], threads=0), "threads: expected an integer"),
        (lambda: compressed_sizes([b"fine"], threads=1.0), "threads: expected an integer"),
        (lambda: compressed_sizes([b"fine"], progress="yes"), "progress: expected a callable"),
        (lambda: compressed_sizes(bytearray(b"one")), "payloads: expected an iterable of payloads"),
        (lambda: compressed_sizes("0x00"), "payloads: expected an iterable of payloads"),
        (lambda: compressed_sizes(5), "payloads: expected an iterable of payloads"),
        (lambda: compressed_size(b"fine", "lzss"), r"pass feemodel.Lzss.from_file\(FILE\)"),
        (
            lambda: compressed_size(b"fine", "gzip"),
            "expected one of zstd, brotli, fastlz.*, got 'gzip'",
        ),
        (lambda: compressed_size(b"fine", Zstd), "or a codec object"),
    ],
)
def test_what_cannot_be_measured_or_set_is_named(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        make()
