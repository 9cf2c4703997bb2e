"""Compressed sizes of the production compressor of Linea's blobs, exact to the byte.

The compressor is LZSS with a dictionary of 65,536 bytes. The dictionary is published, but not included in this package:
`prover/lib/compressor/dict/25-04-21.bin` (before May 2025 `prover/lib/compressor/compressor_dict.bin`) in
Consensys/linea-monorepo. Since May 2025, nodes measure the size after packing into field elements. Since February 2026,
nodes compress the sender and the unsigned transaction. Before February 2026, nodes compressed the signed transaction.
"""

from __future__ import annotations  # so that `help` shows the names of quantities

import hashlib
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from feemodel._extras import has_native
from feemodel.errors import InvalidInput, LimitExceeded, unreadable
from feemodel.formula import formula
from feemodel.quantities import CompressedSize
from feemodel.sizes._codecs import Codec
from feemodel.sizes._payloads import Payload, Sizes, lengths_of, payload_bytes, payload_list

HEADER_BYTES = 3  # the header contains the version, and whether the payload is compressed
RESERVED = bytes((0xFE, 0xFF))  # bytes that mark references, see `_lzss_plain`; every dictionary contains both
LONGEST_INPUT = 2**18  # bytes
LONGEST_DICTIONARY = 2**21 - LONGEST_INPUT  # maximum size of a dictionary, in the range of far references [byte]
FIELD_ELEMENT_BITS, FIELD_ELEMENT_BYTES = 254, 32  # usable bits and total bytes of a field element in a blob

# SHA-256 of the dictionaries in Consensys/linea-monorepo (cb180134, 2026-06-12) → name.
PUBLISHED_DICTIONARIES = MappingProxyType(
    {
        "f6655e380d230c4ca177945cfe60a9448dcc66b499d3ace5f3d0ac3267f5c6f0": "2024",
        "8b0ec4e54e3523f1bc6f9f690df1e4b712eea872759cdb5a998c1e5b9b0f2b7d": "2025-04-21",
    }
)


class UnknownDictionary(UserWarning):
    """Warning that a dictionary is not a published dictionary, so that sizes differ from the sizes on mainnet."""


@dataclass(frozen=True)
class Lzss(Codec):
    """Codec that computes the sizes of Linea's production compressor with a given dictionary.

    The codec is thread-safe. The native package computes the size of a transaction in microseconds. Without the native
    package, numba takes 0.2 milliseconds, after some seconds for compiling once per installation; without numba, plain
    Python takes about 15 milliseconds.

    Parameters
    ----------
    dictionary : bytes that are frequent in payloads; `from_file` reads a published dictionary.

    Raises
    ------
    InvalidInput : a dictionary that is not bytes.
    LimitExceeded : a dictionary of more than 1,835,008 bytes.

    Source: Consensys/compress v0.2.5, lzss, `CompressedSize256k`.

    For 100 zero bytes, the size is a header of 3 bytes, the first zero in 8 bits, and a reference of 30 bits for the
    other 99 zeros:

    >>> Lzss(b"").size(bytes(100))
    8
    """

    dictionary: bytes = field(repr=False)
    name: ClassVar[str] = "lzss"

    def __post_init__(self) -> None:
        if not isinstance(self.dictionary, bytes):
            raise InvalidInput("dictionary", "expected bytes", self.dictionary)
        if len(self.dictionary) > LONGEST_DICTIONARY:
            raise LimitExceeded(f"dictionary: more than the maximum of {LONGEST_DICTIONARY:,} bytes")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Lzss:
        """Create the codec with the dictionary in a file.

        Warns with `UnknownDictionary` if the dictionary is not one of `PUBLISHED_DICTIONARIES`.

        Parameters
        ----------
        path : path of the file.

        Raises
        ------
        UnreadableFile : a file that cannot be read.
        """
        try:
            with Path(path).open("rb") as file:
                codec = cls(file.read(LONGEST_DICTIONARY + 1))
        except OSError as error:
            raise unreadable(os.fspath(path), error) from error
        digest = hashlib.sha256(codec.dictionary).hexdigest()
        if digest not in PUBLISHED_DICTIONARIES:
            published = ", ".join(f"{name}: {known}" for known, name in PUBLISHED_DICTIONARIES.items())
            text = f"{os.fspath(path)}: {len(codec.dictionary):,} bytes with SHA-256 {digest}"
            warnings.warn(f"{text}, not a published dictionary ({published})", UnknownDictionary, stacklevel=2)
        return codec

    def raw_size(self, data: Payload) -> int:
        r"""Return the compressed size of one payload [byte], without the upper limit of `size`.

        >>> Lzss(b"").size(b"\xff"), Lzss(b"").raw_size(b"\xff")  # a reserved byte needs a reference of 37 bits
        (4, 8)
        """
        return int(self._raw_sizes([payload_bytes(data)])[0])

    def sizes(self, payloads: Iterable[Payload]) -> Sizes:
        """Return the sizes of many payloads [byte], each at most the payload's length plus three.

        Raises
        ------
        InvalidInput : a payload that is not bytes-like.
        LimitExceeded : a payload of more than 256 KiB.
        """
        listed = payload_list(payloads)
        raw, plain = self._raw_sizes(listed), lengths_of(listed)
        return np.where(raw > plain, plain + HEADER_BYTES, raw)

    def _raw_sizes(self, payloads: Sequence[Any]) -> Sizes:
        longest = max(map(len, payloads), default=0)
        if longest > LONGEST_INPUT:
            limit = f"the maximum of the compressor, {LONGEST_INPUT:,} bytes"
            raise LimitExceeded(f"a payload of {longest:,} bytes is longer than {limit}")
        return np.array(_compressor(self.dictionary).sizes(payloads), dtype=np.int64)


@lru_cache(maxsize=8)
def _compressor(dictionary: bytes) -> Any:
    """Return the compressor of the native package or, without that package, of `_lzss_plain`."""
    if not all(byte in dictionary for byte in RESERVED):
        dictionary += RESERVED  # as the production compressor does if one of them is missing
    if has_native():
        import feemodel_native as native

        return native.Lzss(dictionary)
    from feemodel.sizes._lzss_plain import PlainLzss  # import on first use, because numba is slow to import

    return PlainLzss(dictionary)


@formula
def packed_size(size: CompressedSize) -> CompressedSize:
    """Size after packing into field elements: `32 * ceil(8 * size / 254)`.

    Source: Consensys/linea-monorepo, prover/lib/compressor/blob (2025-05-15).

    103 bytes are 8 · 103 = 824 bits, which need 824 / 254 = 3.2 field elements, rounded up to 4:

    >>> packed_size(103), packed_size(128)
    (128, 160)
    """
    return -(-8 * size // FIELD_ELEMENT_BITS) * FIELD_ELEMENT_BYTES
