"""A chain at its genesis: its rules and its hash, and errors that name the field or the file."""

from hashlib import sha256

import pytest
from ethereum.crypto.hash import keccak256 as specified_hash
from ethereum.forks.osaka.blocks import Header
from ethereum.forks.osaka.trie import EMPTY_TRIE_ROOT
from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes8, Bytes20, Bytes32, Bytes256
from ethereum_types.numeric import U64, U256, Uint

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.estimates.chain import development_genesis, genesis_chain, read_genesis_document
from feemodel.ethereum._quantities import from_hex, to_hex

SMALL = {"config": {"chainId": 5, "londonBlock": 0}, "gasLimit": "0x1c9c380", "alloc": {}}


@pytest.mark.parametrize(
    ("config", "timestamp", "fork"),
    [
        ({"londonBlock": 0}, 0, "london"),
        ({"londonBlock": 0, "mergeNetsplitBlock": 0}, 0, "paris"),
        ({"londonBlock": 0, "shanghaiTime": 0, "cancunTime": 100}, 99, "shanghai"),
        ({"londonBlock": 0, "shanghaiTime": 0, "cancunTime": 100}, 100, "cancun"),
        ({"cancunTime": 0, "pragueTime": 0, "osakaTime": None}, 0, "prague"),
        ({"osakaTime": 0}, 0, "osaka"),
        ({"osakaTime": 0, "bpo1Time": 5, "bpo2Time": 9}, 5, "bpo1"),
        ({"osakaTime": 0, "bpo1Time": "0x5", "bpo2Time": "9"}, 9, "bpo2"),
    ],
)
def test_the_rules_are_those_that_the_genesis_has_begun(config, timestamp, fork):
    document = {"config": {"chainId": 1, **config}, "gasLimit": 30_000_000, "timestamp": timestamp, "alloc": {}}
    assert genesis_chain(document).call_state.fork.name == fork


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": None}, "genesis.config: expected an object with chainId"),
        ({"config": {}}, "genesis.config: expected an object with chainId"),
        ({"config": {"chainId": "x"}}, "genesis.chainId: expected a whole number, got 'x'"),
        (
            {"config": {"chainId": 1, "londonBlock": -1}},
            "genesis.londonBlock: expected a number from 0 to 2**256 - 1, got -1",
        ),
        ({"gasLimit": None}, "genesis.gasLimit: expected a whole number, got None"),
        ({"baseFeePerGas": 1.5}, "genesis.baseFeePerGas: expected a whole number, got 1.5"),
        ({"coinbase": "0x12"}, "genesis.coinbase: expected 20 bytes, counted 1"),
        ({"mixHash": "12"}, "genesis.mixHash: expected hexadecimal data"),
        ({"extraData": "0x1"}, "genesis.extraData: expected an even number"),
        ({"config": {"chainId": 1, "berlinBlock": 0}}, "genesis.config: expected the rules of London or of a later"),
        ({"alloc": {"0x12": {"balance": "1"}}}, "alloc"),
    ],
)
def test_a_genesis_that_cannot_be_read_names_the_field(change, message):
    with pytest.raises((InvalidInput, UnreadableFile)) as refused:
        genesis_chain({**SMALL, **change})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "Expecting value"),
        (b"[1]", "expected a JSON object"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_a_genesis_file_that_cannot_be_read_is_named(tmp_path, content, message):
    path = tmp_path / "genesis.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=f"genesis.json: .*{message}"):
        read_genesis_document(path)


def test_the_hash_of_a_genesis_is_that_of_the_specified_header():
    root, coinbase, mix_hash = bytes(31) + b"1", bytes(19) + b"2", bytes(31) + b"3"
    fields = {
        "coinbase": to_hex(coinbase), "mixHash": to_hex(mix_hash), "difficulty": 3, "number": 4, "timestamp": 9,
        "baseFeePerGas": "0x8", "excessBlobGas": 131_072,
    }  # fmt: skip
    genesis = development_genesis() | fields
    block = genesis_chain(genesis, state_root=root).block()
    header = Header(
        parent_hash=Bytes32(bytes(32)), ommers_hash=specified_hash(rlp.encode([])), coinbase=Bytes20(coinbase),
        state_root=Bytes32(root), transactions_root=EMPTY_TRIE_ROOT, receipt_root=EMPTY_TRIE_ROOT,
        bloom=Bytes256(bytes(256)), difficulty=Uint(3), number=Uint(4), gas_limit=Uint(2_000_000_000), gas_used=Uint(0),
        timestamp=U256(9), extra_data=from_hex(genesis["extraData"]),
        prev_randao=Bytes32(mix_hash), nonce=Bytes8(bytes(8)), base_fee_per_gas=Uint(8),
        withdrawals_root=EMPTY_TRIE_ROOT, blob_gas_used=U64(0), excess_blob_gas=U64(131_072),
        parent_beacon_block_root=Bytes32(bytes(32)), requests_hash=Bytes32(sha256(b"").digest()),
    )  # fmt: skip
    names = ("gasLimit", "extraData", "mixHash", "baseFeePerGas")
    assert {name: block[name] for name in names} == {name: genesis[name] for name in names}
    assert (block["number"], block["timestamp"]) == ("0x4", "0x9")
    assert (block["stateRoot"], block["transactions"]) == (to_hex(root), [])
    assert block["hash"] == to_hex(specified_hash(rlp.encode(header)))
