"""Call objects and sent transactions under the names that clients and extractors give to their fields."""

import json
from pathlib import Path

import pytest

import feemodel
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import parse_call
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import parse_transaction
from feemodel.io import read_transactions
from feemodel.linea._measure import fee_bytes
from tests.conftest import ROOT

TO, FROM, HASH = "0x" + "11" * 20, "0x" + "22" * 20, "0x" + "33" * 32
SENT = {
    "blockHash": HASH, "blockNumber": "0x1", "hash": HASH, "transactionIndex": "0x0", "from": FROM, "to": TO,
    "nonce": "0x5", "value": "0x0", "input": "0xa9059cbb", "gas": "0x5208", "gasPrice": "0x9", "type": "0x2",
    "maxFeePerGas": "0xa", "maxPriorityFeePerGas": "0x1", "chainId": "0xe708", "accessList": [],
    "v": "0x1", "yParity": "0x1", "r": "0x5", "s": "0x6",
}  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        # viem, ethers, web3.py, MetaMask, Hardhat and cast, as they come over the wire
        {"from": FROM, "to": TO, "data": "0x", "value": "0x1", "type": "0x2", "maxFeePerGas": "0x9", "nonce": "0x1"},
        {"to": TO, "data": "0x", "input": "0x", "accessList": [{"address": TO, "storageKeys": [HASH]}], "type": "0x1"},
        {"from": FROM, "to": TO, "estimateSuggested": "0x5208", "type": "0x2"},
        {
            "to": TO,
            "blobs": ["0x00"],
            "blobVersionedHashes": ["0x01" + HASH[4:]],
            "maxFeePerBlobGas": "0x1",
            "type": "0x3",
        },
        {
            "to": TO,
            "type": "0x4",
            "authorizationList": [
                {"chainId": "0x1", "address": TO, "nonce": "0x0", "yParity": "0x1", "r": "0x1", "s": "0x1"},
            ],
        },
        {"to": TO, "strict": True},
        {"to": bytes(20), "value": 5, "type": 2, "maxFeePerGas": 5, "gasLimit": 21_000},
    ],
)
def test_what_clients_send_is_taken(call):
    parsed = parse_call(call)
    assert (len(parsed.to or b""), parsed.sent_type) == (20, None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"valeu": "0x1"}, r"call\.valeu: unknown field, did you mean value\?, got '0x1'"),
        ({"gaslimit": "0x1"}, r"call\.gaslimit: unknown field, did you mean gasLimit\?"),
        ({"accesslist": []}, r"call\.accesslist: unknown field, did you mean accessList\?"),
        ({"x" * 10_000: "0x1"}, r"call\.x{60}…: unknown field, got '0x1'"),
        ({5: "0x1"}, "call: expected text as the name of each field, got 5"),
        ({"gas": "0x5208", "gasLimit": "0x5209"}, r"call\.gasLimit: expected the same value as in call\.gas"),
        ({"data": "0x01", "input": "0x02"}, r"call\.input: expected the same bytes as in call\.data, got '0x02'"),
        ({"from": FROM, "sender": TO}, r"call\.sender: expected the same bytes as in call\.from"),
        ({"type": "0x0", "maxFeePerGas": "0x1"}, r"call\.type: expected at least 2, because of the other fields"),
        ({"type": "0x2", "gasPrice": "0x1"}, r"call\.type: expected maxFeePerGas instead of gasPrice"),
        ({"type": "0x7e"}, r"call\.type: expected a type from 0 to 4, got '0x7e'"),
        ({"gasPrice": "0x1", "maxFeePerGas": "0x0"}, r"call\.gasPrice: expected either gasPrice or maxFeePerGas"),
        ({"blobs": ["0x00"]}, r"call\.blobs: expected only together with blobVersionedHashes"),
        ({"strict": False}, r"call\.strict: expected true"),
        ({"accessList": [{"address": TO, "storagekeys": []}]}, r"accessList\[0\]: expected an object with only"),
        ({"hash": HASH, "to": TO}, r"call\.nonce: expected a value: a transaction of type 0 that was sent has one"),
        ({k: v for k, v in SENT.items() if k != "input"}, r"call\.input: expected a value"),
        ({k: v for k, v in SENT.items() if k != "to"}, r"call\.to: expected an address, or null for a contract"),
    ],
)  # fmt: skip
def test_what_is_unknown_or_contradictory_is_refused_by_its_name(call, message):
    with pytest.raises(InvalidInput, match=message):
        parse_call(call)


@pytest.mark.parametrize("kind", ["eip1559", "DynamicFee", 2, "0x2"])
def test_types_have_the_names_of_libraries_and_databases(kind):
    assert fee_bytes({**SENT, "type": kind}) == fee_bytes(SENT)


def test_a_row_of_a_table_is_measured_as_the_transaction_that_it_is():
    folder = ROOT / "tests" / "data" / "extracts"
    table = read_transactions(folder / "transactions.etl.csv")
    block = json.loads((folder / "block_with_transactions.node.json").read_text())
    sent = [{**row, "chainId": "0xe708"} for row in block["transactions"]]
    expected = [feemodel.fee_size({k: v for k, v in row.items() if k not in ("v", "type")}) for row in sent]
    rows = [table.iloc[place] for place in range(3)], table.to_dict("records"), list(table.itertuples())
    for way in rows:
        assert [feemodel.fee_size(row) for row in way] == expected


def test_every_real_transaction_has_one_size_as_raw_bytes_and_as_fields(shared: Path):
    table = read_transactions(shared / "data" / "linea_mainnet_transactions.jsonl.gz").head(300)
    for raw, sender in zip(table["raw"], table["sender"], strict=True):
        one = parse_transaction(raw)
        fields = {
            "transactionHash": HASH, "from": to_hex(sender), "to": None if one.to is None else to_hex(one.to),
            "nonce": hex(one.nonce), "value": hex(one.value), "input": to_hex(one.data), "gas": hex(one.gas_limit),
            "type": hex(one.type), "chainId": None if one.chain_id is None else hex(one.chain_id),
            "accessList": [{"address": to_hex(a), "storageKeys": [to_hex(k) for k in keys]}
                           for a, keys in one.access_list] if one.type else None,
            "gasPrice": hex(one.gas_price), "v": hex(one.signature.v), "r": hex(one.signature.r),
            "s": hex(one.signature.s),
        }  # fmt: skip
        if one.type == 2:
            fields |= {"maxFeePerGas": hex(one.max_fee), "maxPriorityFeePerGas": hex(one.max_priority_fee)}
        sent = json.loads(json.dumps(fields))
        for form in ("sender_unsigned", "signed"):
            assert fee_bytes(sent, form=form) == fee_bytes(raw, form=form)
