"""A codec with a dictionary that is in a file."""

import os

from feemodel.io._documents import contents
from feemodel.io._files import reading
from feemodel.sizes._codecs import Codec, Zstd, get_codec


def read_codec(name: str, dictionary: str | os.PathLike[str] | None = None) -> Codec:
    """Return the codec of a name, with the dictionary of a file.

    Parameters
    ----------
    name : "lzss" or a name of `feemodel.sizes.get_codec`.
    dictionary : a file, which lzss needs and zstd may have; no other codec reads one. Zstd's may be gzipped.

    Raises `InvalidInput` for an unknown name, and `UnreadableFile`. Warns with `feemodel.sizes._lzss.UnknownDictionary`
    where a dictionary of lzss is not a published one.

    >>> read_codec("fastlz").size(bytes(100))
    12
    """
    if name == "lzss" and dictionary is not None:
        from feemodel.sizes._lzss import Lzss  # and with it its kernels, which other codecs do not need

        return Lzss.from_file(dictionary)
    if name == "zstd" and dictionary is not None:
        with reading(dictionary):
            return Zstd(dictionary=contents(dictionary))
    return get_codec(name)
