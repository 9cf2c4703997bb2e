"""A codec with a dictionary in a file: the one that commands and the server measure with."""

import gzip

import pytest

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.estimates import Measuring
from feemodel.estimates.codec_file import read_codec
from feemodel.sizes._codecs import Zstd, get_codec

WORDS = b"transfer(address,uint256) approve(address,uint256) " * 8


def test_a_dictionary_of_zstd_may_be_gzipped(tmp_path):
    plain, packed = tmp_path / "words.bin", tmp_path / "words.bin.gz"
    plain.write_bytes(WORDS)
    packed.write_bytes(gzip.compress(WORDS))
    sizes = [read_codec("zstd", path).size(WORDS) for path in (plain, packed)]

    assert sizes == [Zstd(dictionary=WORDS).size(WORDS)] * 2
    assert sizes[0] < get_codec("zstd").size(WORDS)


def test_a_codec_that_cannot_be_read_is_refused_by_name(tmp_path):
    assert read_codec("brotli") is get_codec("brotli")
    with pytest.raises(InvalidInput, match="lzss needs a dictionary file"):
        read_codec("lzss")
    for name in ("zstd", "lzss"):
        with pytest.raises(UnreadableFile, match=r"none\.bin: no such file"):
            read_codec(name, tmp_path / "none.bin")


@pytest.mark.parametrize("settings", [{"codec": "lz4"}, {"form": "raw"}, {"packed": "yes"}])
def test_how_a_transaction_is_measured_is_checked(settings):
    with pytest.raises(InvalidInput):
        Measuring(**settings)
