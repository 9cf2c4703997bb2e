"""A codec with a dictionary in a file: the one that commands and the server measure with."""

import gzip

import pytest

from feemodel.errors import InvalidInput
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


@pytest.mark.parametrize("settings", [{"codec": "lz4"}, {"form": "raw"}, {"packed": "yes"}])
def test_how_a_transaction_is_measured_is_checked(settings):
    with pytest.raises(InvalidInput):
        Measuring(**settings)
