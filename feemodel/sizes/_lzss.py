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
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from feemodel._extras import has_native
from feemodel.errors import InvalidInput, LimitExceeded, unreadable
from feemodel.formula import formula
from feemodel.quantities import CompressedSize
from feemodel.sizes._lzss_format import HEADER_BYTES, LONGEST_DICTIONARY, LONGEST_INPUT, RESERVED
from feemodel.sizes._payloads import Payload, Sizes, lengths_of, payload_bytes, payload_list

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
class Lzss:
    """Codec that computes the sizes of Linea's production compressor with a given dictionary.

    The codec is thread-safe. The native package computes the size of a transaction in microseconds. Without the native
    package, numba takes 0.3 milliseconds, after some seconds for compiling once per installation; without numba, plain
    Python takes about 5 milliseconds.

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
        if codec.dictionary_name is None:
            published = ", ".join(f"{name}: {digest}" for digest, name in PUBLISHED_DICTIONARIES.items())
            text = f"{os.fspath(path)}: {len(codec.dictionary):,} bytes with SHA-256 {codec.sha256}"
            warnings.warn(f"{text}, not a published dictionary ({published})", UnknownDictionary, stacklevel=2)
        return codec

    @cached_property
    def sha256(self) -> str:
        """SHA-256 hash of the dictionary, in hexadecimal."""
        return hashlib.sha256(self.dictionary).hexdigest()

    @property
    def dictionary_name(self) -> str | None:
        """Name of a published dictionary, "2024" or "2025-04-21"; `None` for any other dictionary."""
        return PUBLISHED_DICTIONARIES.get(self.sha256)

    def __reduce__(self) -> tuple[type[Lzss], tuple[bytes]]:
        return type(self), (self.dictionary,)  # the native package's index of the dictionary cannot be pickled

    def size(self, data: Payload) -> int:
        r"""Return the compressed size of one payload [byte], at most the payload's length plus three.

        >>> Lzss(b"").size(b"\xff"), Lzss(b"").raw_size(b"\xff")  # a reserved byte needs a reference of 37 bits
        (4, 8)
        """
        return int(self.sizes([payload_bytes(data)])[0])

    def raw_size(self, data: Payload) -> int:
        """Return the compressed size of one payload [byte], without the upper limit of `size`."""
        return int(self._raw_sizes([payload_bytes(data)])[0])

    def sizes(self, payloads: Iterable[Payload]) -> Sizes:
        """Return the sizes of many payloads [byte], an int64 array, computed on the calling thread.

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
            raise LimitExceeded(
                f"a payload of {longest:,} bytes is longer than the maximum of the compressor, {LONGEST_INPUT:,} bytes"
            )
        return np.array(self._compiled.sizes(payloads), dtype=np.int64)

    @cached_property
    def _compiled(self) -> Any:
        """The compressor of the native package or, without that package, of `_lzss_plain`."""
        dictionary = complete_dictionary(self.dictionary)
        if has_native():
            import feemodel_native as native

            return native.Lzss(dictionary)
        from feemodel.sizes._lzss_plain import PlainLzss  # import on first use, because numba is slow to import

        return PlainLzss(dictionary)


def complete_dictionary(dictionary: bytes) -> bytes:
    """Return a dictionary that contains both reserved bytes.

    If a reserved byte is missing in the dictionary, append both reserved bytes, as the compressor does.

    >>> complete_dictionary(b"ab").hex()
    '6162feff'
    """
    return dictionary if all(byte in dictionary for byte in RESERVED) else dictionary + RESERVED


@formula
def packed_size(size: CompressedSize) -> CompressedSize:
    """Size after packing into field elements: `32 * ceil(8 * size / 254)`.

    Source: Consensys/linea-monorepo, prover/lib/compressor/blob (2025-05-15).

    103 bytes are 8 · 103 = 824 bits, which need 824 / 254 = 3.2 field elements, rounded up to 4:

    >>> packed_size(103), packed_size(128)
    (128, 160)
    """
    return -(-8 * size // FIELD_ELEMENT_BITS) * FIELD_ELEMENT_BYTES
