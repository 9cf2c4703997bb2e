"""`fee_size`: what is measured, in which form, under which codec."""

import gzip
import json

import pytest

import feemodel
from feemodel.errors import InvalidInput
from feemodel.linea._measure import fee_bytes, fee_size
from feemodel.sizes._lzss import Lzss, packed_size

CALL = {"from": "0x" + "22" * 20, "to": "0x" + "11" * 20, "value": "0x1", "data": "0x" + "00" * 100}


def test_a_size_is_that_of_the_measured_bytes_under_the_codec():
    for codec in ("zstd", "brotli", "fastlz", feemodel.Zstd(level=19)):
        assert fee_size(CALL, codec=codec) == feemodel.compressed_size(fee_bytes(CALL), codec)
    assert fee_size(CALL, packed=True) == packed_size(fee_size(CALL))


def test_gas_of_a_call_is_the_estimate_or_its_own_or_its_intrinsic_gas():
    assert fee_bytes(CALL, gas=50_000) == fee_bytes(CALL | {"gas": "0xc350"})
    assert fee_bytes(CALL) == fee_bytes(CALL, gas=22_000)  # 21,000 and the floor of 10 for each of 100 zero bytes


def test_what_a_call_leaves_out_can_be_given():
    assert fee_bytes(CALL, nonce=5) == fee_bytes(CALL | {"nonce": 5})
    assert fee_bytes(CALL, base_fee=9) == fee_bytes(CALL | {"gasPrice": 9})
    dynamic = CALL | {"maxFeePerGas": 9}
    assert fee_bytes(dynamic, chain_id=1) == fee_bytes(dynamic | {"chainId": 1})


@pytest.mark.parametrize("codec", ["lzss", "gzip", 7, None])
def test_a_codec_that_is_none_is_refused(codec):
    with pytest.raises(InvalidInput, match="codec"):
        fee_size(CALL, codec=codec)


def test_every_production_size_given_is_reproduced(shared):
    dictionary = Lzss.from_file(shared / "data" / "linea-dict-2025-04-21.bin")
    with gzip.open(shared / "data" / "linea_mainnet_transactions.jsonl.gz") as lines:
        rows = [row for row in map(json.loads, lines) if "linea_lzss_size" in row]

    assert len(rows) >= 796
    for row in rows:
        assert fee_size(row["raw"], codec=dictionary) == row["linea_lzss_size"]
        assert fee_size(row["raw"], codec=dictionary, packed=True) == row["linea_packed_size"]
