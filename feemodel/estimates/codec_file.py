"""Create a codec whose dictionary is in a file."""

import os

from feemodel.errors import InvalidInput
from feemodel.io.files import contents, reading
from feemodel.sizes._codecs import Codec, Zstd, get_codec


def read_codec(name: str, dictionary: str | os.PathLike[str] | None = None) -> Codec:
    """Return a codec by name, with a dictionary from a file: required for lzss, optional for zstd (may be gzipped).

    Raises `InvalidInput` for an unknown name, and `UnreadableFile`. Warns with `UnknownDictionary` if the dictionary of
    lzss is not a published one.

    >>> read_codec("fastlz").size(bytes(100))
    12
    """
    if dictionary is None and name == "lzss":
        raise InvalidInput("codec", "lzss needs a dictionary file (see docs/explanation/sizes.md)", name)
    if dictionary is not None and name not in ("lzss", "zstd"):
        raise InvalidInput("dictionary", "expected only with codec lzss or zstd", dictionary)
    if name == "lzss" and dictionary is not None:
        from feemodel.sizes._lzss import Lzss  # imported on first use, because the import loads compiled kernels

        return Lzss.from_file(dictionary)
    if name == "zstd" and dictionary is not None:
        with reading(dictionary):
            return Zstd(dictionary=contents(dictionary))
    return get_codec(name)
