"""Compressed sizes of payloads.

compressed_size : size of one payload
compressed_sizes : sizes of many payloads, computed on all processors
Zstd, Brotli, FastLz, Lzss : classes of codecs with options
get_codec : codec with a given name
train_dictionary : train a zstd dictionary on payloads
packed_size : size after packing into whole field elements of a blob

>>> from feemodel import sizes
>>> sizes.compressed_size(bytes(100), "fastlz")
12
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.sizes._codecs import Brotli as Brotli
    from feemodel.sizes._codecs import Codec as Codec
    from feemodel.sizes._codecs import FastLz as FastLz
    from feemodel.sizes._codecs import Zstd as Zstd
    from feemodel.sizes._codecs import compressed_size as compressed_size
    from feemodel.sizes._codecs import compressed_sizes as compressed_sizes
    from feemodel.sizes._codecs import get_codec as get_codec
    from feemodel.sizes._codecs import train_dictionary as train_dictionary
    from feemodel.sizes._lzss import Lzss as Lzss
    from feemodel.sizes._lzss import packed_size as packed_size

__getattr__, __dir__ = lazy_names(__name__)
