"""Compressed sizes of payloads by zstd (the default), brotli and FastLZ.

| name    | measured                                                                     | at most the payload's size  |
|---------|------------------------------------------------------------------------------|-----------------------------|
| zstd    | a frame of level 3, magicless, without content size, checksum, dictionary id | yes (`capped`)              |
| brotli  | Arbitrum's measure of a transaction: quality 1, window 22                    | no, as in Arbitrum          |
| fastlz  | the OP Stack's measure of a transaction since Fjord                          | no, as in the OP Stack      |

The codecs of this module are frozen, hashable and thread-safe.
"""

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from threading import get_ident
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Protocol

import brotli
import numpy as np
import zstandard

from feemodel._extras import has_numba
from feemodel.arguments import check_fields
from feemodel.errors import InvalidInput
from feemodel.progress import Progress, cores, map_in_order, reporting
from feemodel.quantities import Quantity
from feemodel.sizes._payloads import Payload, Sizes, lengths_of, payload_bytes, payload_list

CHUNK = 2_048  # number of payloads per task; zstd takes some milliseconds for a task
DICTIONARY_SIZE = 65_536  # default size of a dictionary, as in Linea's production compressor [byte]


class Codec(Protocol):
    """Interface of a codec: any object with these three members. A subclass needs only a name and `sizes`."""

    @property
    def name(self) -> str:
        """Name of the codec."""

    def size(self, data: Payload) -> int:
        """Return the compressed size of one payload [byte]."""
        return int(self.sizes([payload_bytes(data)])[0])

    def sizes(self, payloads: Iterable[Payload]) -> Sizes:
        """Return the compressed size of each payload [byte], computed on the calling thread."""


@dataclass(frozen=True)
class Zstd(Codec):
    """Codec that measures the length of a zstd frame.

    Parameters
    ----------
    level : 1 to 22.
    dictionary : a trained dictionary (recognised by its magic number), or at least 8 other bytes as raw content.
    window_log : base-2 logarithm of the window [bytes], 10 to 31; `None` means the default of libzstd for the level and
        the length of the payload.
    magicless : whether to leave out the magic number, the first 4 bytes of a frame.
    content_size : whether to write the payload's length into the frame's header.
    capped : whether to limit the size to the length of the payload, as for a rollup that publishes a payload
        uncompressed if compression does not make the payload shorter.

    The frame never contains the id of the dictionary. Raises `InvalidInput` for a level or window outside its range and
    for a dictionary that is empty or damaged. Source: RFC 8878; facebook/zstd 1.5.

    >>> Zstd().size(bytes(1000)), Zstd(magicless=False).size(bytes(1000)), Zstd().size(b"ab")
    (14, 18, 2)
    """

    level: Annotated[int, Quantity("1", minimum=1, maximum=22)] = 3
    dictionary: bytes | None = field(default=None, repr=False)
    window_log: Annotated[int, Quantity("1", minimum=10, maximum=31)] | None = None
    magicless: bool = True
    content_size: bool = False
    capped: bool = True
    name: ClassVar[str] = "zstd"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.dictionary is None:
            return
        if len(self.dictionary) < 8:  # libzstd ignores fewer
            raise InvalidInput("dictionary", "expected at least 8 bytes", self.dictionary)
        try:
            zstandard.ZstdCompressionDict(self.dictionary).precompute_compress(level=self.level)
        except zstandard.ZstdError as error:
            reason = f"expected a whole trained dictionary after its magic number ({error})"
            raise InvalidInput("dictionary", reason, self.dictionary) from None

    def size(self, data: Payload) -> int:
        """Return the size of one payload [byte]."""
        if type(data) is not bytes:
            data = payload_bytes(data)
        length = len(_zstd_compressor(self, get_ident()).compress(data))
        return min(length, len(data)) if self.capped else length

    def sizes(self, payloads: Iterable[Payload]) -> Sizes:
        """Return the sizes of many payloads [byte], computed on the calling thread."""
        chunk = payload_list(payloads)
        if not any(chunk):  # multi_compress_to_buffer raises an error if all payloads are empty
            return np.full(len(chunk), self.size(b""), dtype=np.int64)
        compressed = lengths_of(_zstd_compressor(self, get_ident()).multi_compress_to_buffer(chunk, threads=1))
        return np.minimum(compressed, lengths_of(chunk)) if self.capped else compressed


@lru_cache(maxsize=64)
def _zstd_compressor(codec: Zstd, thread: int) -> zstandard.ZstdCompressor:
    """Return the compressor of a thread; compressors are not thread-safe, and are expensive to create."""
    # If only the level is set, libzstd chooses the other parameters by the length of each payload.
    parameters = zstandard.ZstdCompressionParameters(
        compression_level=codec.level,
        window_log=codec.window_log or 0,
        format=zstandard.FORMAT_ZSTD1_MAGICLESS if codec.magicless else zstandard.FORMAT_ZSTD1,
        write_content_size=codec.content_size,
        write_dict_id=False,
    )
    trained = None if codec.dictionary is None else zstandard.ZstdCompressionDict(codec.dictionary)
    return zstandard.ZstdCompressor(dict_data=trained, compression_params=parameters)


@dataclass(frozen=True)
class Brotli(Codec):
    """Codec that measures the length of a brotli stream.

    Parameters
    ----------
    quality : quality setting of brotli, 0 to 11. The default, 1, is the quality that Arbitrum has used since ArbOS 20.
        OP Stack batches use quality 10, and the default of the brotli library is quality 11.
    window : base-2 logarithm of the window [bytes], 10 to 24.

    Source: RFC 7932; OffchainLabs/nitro, arbos/l1pricing/l1pricing.go (2026-04-23).

    >>> Brotli().size(bytes(1000)), Brotli(quality=11).size(bytes(1000))
    (20, 11)
    """

    quality: Annotated[int, Quantity("1", maximum=11)] = 1
    window: Annotated[int, Quantity("1", minimum=10, maximum=24)] = 22
    name: ClassVar[str] = "brotli"

    def __post_init__(self) -> None:
        check_fields(self)

    def sizes(self, payloads: Iterable[Payload]) -> Sizes:
        """Return the sizes of many payloads [byte], computed on the calling thread."""
        return lengths_of(
            [brotli.compress(data, quality=self.quality, lgwin=self.window) for data in payload_list(payloads)]
        )


@dataclass(frozen=True)
class FastLz(Codec):
    """Codec that measures the length of a FastLZ level 1 stream, as the OP Stack has done since Fjord.

    Source: ethereum-optimism/op-geth, core/types/rollup_cost.go (2024-10-23).

    >>> FastLz().size(bytes(1000))
    21
    """

    name: ClassVar[str] = "fastlz"

    def sizes(self, payloads: Iterable[Payload]) -> Sizes:
        """Return the sizes of many payloads [byte], computed on the calling thread."""
        from feemodel.sizes._fastlz import fastlz_lengths  # import on first use, because numba is slow to import

        chunk = payload_list(payloads)
        bounds = np.cumsum([0, *map(len, chunk)], dtype=np.int64)
        joined = b"".join(chunk)
        measured: Sizes = fastlz_lengths(np.frombuffer(joined, dtype=np.uint8) if has_numba() else joined, bounds)
        return measured


# Codec with which Scroll has measured sizes since version 8 of scroll-tech/da-codec (libzstd). Scroll also turns off
# the compression of literals. python-zstandard has no such option, but computes the same sizes as in Scroll's tests.
SCROLL_ZSTD = Zstd(level=3, window_log=22, content_size=True)

_NAMED: tuple[Codec, ...] = (Zstd(), Brotli(), FastLz())
CODECS = MappingProxyType({codec.name: codec for codec in _NAMED})


def get_codec(codec: str | Codec) -> Codec:
    """Return the codec with a given name and default parameters. A codec object is returned unchanged.

    Parameters
    ----------
    codec : "zstd", "brotli" or "fastlz", or a codec object.

    Returns
    -------
    Codec.

    Raises
    ------
    InvalidInput : an unknown name; "lzss", which needs a dictionary; or an object that is not a codec.

    >>> get_codec("zstd")
    Zstd(level=3, window_log=None, magicless=True, content_size=False, capped=True)
    """
    if isinstance(codec, str):
        if codec in CODECS:
            return CODECS[codec]
        if codec == "lzss":
            hint = "lzss needs a dictionary: pass feemodel.Lzss.from_file(FILE)"
            raise InvalidInput("codec", hint, codec)
    elif not isinstance(codec, type) and all(hasattr(codec, member) for member in ("name", "size", "sizes")):
        return codec
    raise InvalidInput("codec", f"expected one of {', '.join(CODECS)}, or a codec object", codec)


def compressed_size(data: Payload, codec: str | Codec = "zstd") -> int:
    """Return the compressed size of one payload.

    Parameters
    ----------
    data : bytes-like object.
    codec : a name ("zstd", "brotli", "fastlz") or a codec object.

    Returns
    -------
    int [byte].

    Raises
    ------
    InvalidInput : a payload that is not bytes-like, or an unknown codec.

    >>> compressed_size(bytes(1000))
    14
    """
    return get_codec(codec).size(payload_bytes(data))


def compressed_sizes(
    payloads: Iterable[Payload], codec: str | Codec = "zstd", threads: int | None = None, progress: Progress = None
) -> Sizes:
    """Return the compressed sizes of many payloads, in the order of the payloads.

    Parameters
    ----------
    payloads : iterable of bytes-like objects, which is read in chunks. For a table of transactions, see
        `feemodel.fee_sizes`.
    codec : a name ("zstd", "brotli", "fastlz") or a codec object.
    threads : number of threads, at least 1; `None` means one thread per processor.
    progress : function that is called with the number of payloads in each finished chunk; `True` for a progress bar, if
        standard error is a terminal.

    Returns
    -------
    int64 array, one size for each payload [byte].

    Raises
    ------
    InvalidInput : a payload that is not bytes-like, an unknown codec, or fewer than one thread.

    >>> compressed_sizes([bytes(1000), b"ab"]).tolist()
    [14, 2]
    """
    measured_by = get_codec(codec)
    if isinstance(payloads, (str, bytes, bytearray, memoryview)) or not isinstance(payloads, Iterable):
        raise InvalidInput("payloads", "expected an iterable of payloads; use compressed_size for one", payloads)
    threads = cores() if threads is None else Quantity("1", minimum=1).check_one("threads", threads)
    total = len(payloads) if isinstance(payloads, Sized) else None

    def measure(piece: tuple[int, list[Payload]]) -> Sizes:
        first, chunk = piece
        return measured_by.sizes(payload_list(chunk, first))

    measured = [np.empty(0, dtype=np.int64)]
    with reporting(progress, total, "payloads measured") as report:
        for sizes in map_in_order(measure, _chunks(payloads, total, threads), threads):
            measured.append(sizes)
            report(len(sizes))
    return np.concatenate(measured)


def _chunks(payloads: Iterable[Any], total: int | None, threads: int) -> Iterator[tuple[int, list[Any]]]:
    """Yield lists of at most `CHUNK` payloads, each with the index of the first payload in the list."""
    # Split a short list into smaller chunks, so that every thread gets some chunks.
    size = CHUNK if total is None else min(CHUNK, total // (4 * threads) + 1)
    remaining, first = iter(payloads), 0
    while chunk := list(islice(remaining, size)):
        yield first, chunk
        first += len(chunk)


def train_dictionary(payloads: Iterable[Payload], size: int = DICTIONARY_SIZE) -> bytes:
    """Train a zstd dictionary on sample payloads, for `Zstd(dictionary=...)`.

    Parameters
    ----------
    payloads : samples. For a good dictionary, use a few hundred samples that are together at least ten times as long as
        the dictionary.
    size : maximum length of the dictionary, at least 256 [byte]; the result may be shorter if there are few samples.

    Returns
    -------
    bytes.

    Raises
    ------
    InvalidInput : too few or too short samples, or a size outside its range.

    Source: facebook/zstd, lib/dictBuilder (the fast cover trainer).

    >>> samples = [b"transfer(address,uint256)" + n.to_bytes(4, "big") * 8 for n in range(500)]
    >>> dictionary = train_dictionary(samples, size=1_024)
    >>> dictionary[:4].hex(), len(dictionary) <= 1_024  # the magic number, little endian
    ('37a430ec', True)
    >>> Zstd(dictionary=dictionary).size(samples[7]) < Zstd().size(samples[7])
    True
    """
    size = Quantity("byte", minimum=256, maximum=2**31 - 1).check_one("size", size)  # ZDICT_DICTSIZE_MIN
    samples = payload_list(payloads)
    try:
        return zstandard.train_dictionary(size, samples, level=Zstd.level).as_bytes()
    except zstandard.ZstdError as error:
        found = f"{len(samples):,} samples of {sum(map(len, samples)):,} bytes in total"
        raise InvalidInput("payloads", f"expected more or longer samples to train on ({error})", found) from None
