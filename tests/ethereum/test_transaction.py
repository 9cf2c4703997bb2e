"""Calls and transactions: read, encoded, measured in the forms that a node measures."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from ethereum_rlp import rlp
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.ethereum._call import parse_call
from feemodel.ethereum._hashes import Authorization, Signature
from feemodel.ethereum._transaction import (
    FORMS,
    LINEA_CHAIN_ID,
    Transaction,
    intrinsic_gas,
    parse_sender_unsigned,
    parse_transaction,
    rlp_encoded,
)
from feemodel.linea._measure import fee_bytes

# Linea mainnet block 41,640, transaction 0 (2023-07-24)
RAW = (
    "0x02f87782e7088255f885012a05f200852e90edd000825208945e971b1e3d22764789442cde789efd2fe8cb8498872386f26fc1006880c0"
    "01a0e634f8712b93499615e1ef9fa3c1ba88ded15a68fcaecc5d37098bb7afce0fe7a002533afbcaaa9b382697dcee1e99bfdc38ba4cbc61"
    "81ad750889431141541c7a"
)
SENDER = "80c67432656d59144ceff962e8faf8926599bcf8"

# The legacy estimate of Linea mainnet block 28,279,187, transaction 0: {nonce 20, gasPrice 7, gas 21000, …}, v 27
PLACEHOLDER_TAIL = (
    "1ba092cb833525c26bac21a06d03ae0f91836fd08f4fccac1db10fc21687e7797dafa036ac78a3951a18eb686d7611ea06d984a2f7f329875"
    "8d17d9eed1352c49eea68"
)

TO = "0x" + "11" * 20

addresses = st.binary(min_size=20, max_size=20)
access_lists = st.lists(
    st.tuples(addresses, st.lists(st.binary(min_size=32, max_size=32), max_size=3).map(tuple)), max_size=3
).map(tuple)
amounts = st.integers(0, 2**256 - 1)


authorizations = st.builds(
    Authorization, chain_id=amounts, address=addresses, nonce=st.integers(0, 2**64 - 1), y_parity=st.integers(0, 255),
    r=amounts, s=amounts,
)  # fmt: skip


@st.composite
def transactions(draw):
    kind = draw(st.sampled_from([0, 1, 2, 4]))
    chain_id = draw(st.integers(1, 2**32)) if kind else draw(st.none() | st.integers(1, 2**32))
    parity = draw(st.integers(0, 1))
    v = parity if kind else 27 + parity if chain_id is None else 35 + 2 * chain_id + parity
    fees = {"max_fee": draw(amounts), "max_priority_fee": draw(amounts)} if kind > 1 else {"gas_price": draw(amounts)}
    return Transaction(
        type=kind,
        chain_id=chain_id,
        nonce=draw(st.integers(0, 2**64 - 1)),
        gas_limit=draw(st.integers(0, 2**63)),
        to=draw(addresses if kind == 4 else st.none() | addresses),
        value=draw(amounts),
        data=draw(st.binary(max_size=100)),
        access_list=draw(access_lists) if kind else (),
        authorizations=tuple(draw(st.lists(authorizations, min_size=1, max_size=3))) if kind == 4 else (),
        signature=Signature(v, draw(amounts), draw(amounts)),
        **fees,
    )


@given(transactions())
def test_decoding_undoes_encoding(transaction):
    assert parse_transaction(transaction.signed()) == transaction


@given(transactions(), addresses)
def test_decoding_undoes_encoding_without_a_signature(transaction, sender):
    unsigned = replace(transaction, signature=None)

    assert parse_sender_unsigned(sender + unsigned.unsigned()) == (sender, unsigned)


@given(st.recursive(st.binary(max_size=60), lambda items: st.lists(items, max_size=20)))
def test_rlp_is_that_of_the_specification(item):
    assert rlp_encoded(item) == rlp.encode(item)


@pytest.mark.parametrize("size", [0, 1, 55, 56, 255, 256, 65_535, 65_536])
def test_long_rlp_is_that_of_the_specification(size):
    assert rlp_encoded(bytes(size)) == rlp.encode(bytes(size))
    assert rlp_encoded((b"",) * size) == rlp.encode([b""] * size)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_read_in_full_or_refused(data):
    try:
        transaction = parse_transaction(data)
    except InvalidInput:
        return
    assert transaction.signed() == data


def test_a_real_transaction():
    transaction = parse_transaction(RAW)

    assert transaction.sender().hex() == SENDER
    assert (transaction.type, transaction.chain_id, transaction.nonce) == (2, LINEA_CHAIN_ID, 22_008)
    assert (transaction.max_fee, transaction.max_priority_fee) == (200_000_000_000, 5_000_000_000)
    assert fee_bytes(RAW).hex() == (
        SENDER
        + "02f482e7088255f885012a05f200852e90edd000825208945e971b1e3d22764789442cde789efd2fe8cb8498872386f26fc1006880c0"
    )
    assert fee_bytes(RAW, form="unsigned") == fee_bytes(transaction.signed())[20:]
    assert fee_bytes(RAW, form="signed").hex() == "b87a" + RAW[2:]


def test_all_real_transactions_are_encoded_and_recovered_as_on_chain(shared):
    with gzip.open(shared / "data" / "linea_mainnet_transactions.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]

    assert len(rows) == 1193
    for row in rows:
        transaction = parse_transaction(row["raw"])
        assert "0x" + transaction.signed().hex() == row["raw"]
        assert "0x" + transaction.sender().hex() == row["sender"]


def test_a_call_becomes_a_legacy_transaction_at_the_base_fee():
    measured = fee_bytes({"to": TO, "value": "0x1", "nonce": 20}, gas=21_000, form="signed").hex()

    assert measured == "f85f1407825208" + "94" + "11" * 20 + "0180" + PLACEHOLDER_TAIL


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ({"to": TO}, 0),
        ({"to": TO, "gasPrice": "0x9"}, 0),
        ({"to": TO, "accessList": []}, 1),
        ({"to": TO, "maxFeePerGas": "0x9"}, 2),
        ({"to": TO, "maxPriorityFeePerGas": "0x0", "accessList": []}, 2),
        ({"to": TO, "maxFeePerBlobGas": "0x1"}, 2),
    ],
)
def test_the_fields_of_a_call_choose_the_type(call, kind):
    measured = fee_bytes(call, gas=21_000, form="unsigned")

    assert (measured[0] if measured[0] < 0x80 else 0) == kind


def test_a_legacy_call_carries_a_chain_id_only_if_it_names_one():
    without = fee_bytes({"to": TO}, gas=21_000, chain_id=1)
    protected = fee_bytes({"to": TO, "chainId": "0x1"}, gas=21_000, chain_id=5)

    assert without == bytes(20) + bytes.fromhex("dc8007825208" + "94" + "11" * 20 + "8080")
    assert protected == bytes(20) + bytes.fromhex("df8007825208" + "94" + "11" * 20 + "8080018080")


def test_a_contract_creation_writes_twenty_zero_bytes_before_compression():
    creation = {"from": TO, "to": None, "data": "0x6000"}

    assert fee_bytes(creation, gas=53_000).hex() == "11" * 20 + "de800782cf0894" + "00" * 20 + "80826000"
    assert fee_bytes(creation, gas=53_000, form="unsigned").hex() == "ca800782cf088080826000"


def test_ints_and_bytes_from_python_are_taken():
    assert parse_call({"to": bytes(20), "value": 5, "data": b"\x01"}) == parse_call(
        {"to": "0x" + "00" * 20, "value": "0x5", "data": "0x01", "input": "0x01"}
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"data": "0x123"}, r"call\.data: expected an even number of hexadecimal digits, counted 3, got '0x123'"),
        ({"data": "0xzz"}, r"call\.data: expected hexadecimal digits.* got '0xzz'"),
        ({"to": "0x1234"}, r"call\.to: expected an address of 20 bytes, counted 2, got '0x1234'"),
        ({"from": ""}, r"call\.from: .* got ''"),
        ({"value": "5"}, r"call\.value: expected a quantity.* got '5'"),
        ({"value": -5}, r"call\.value: .* got -5"),
        ({"value": 1.5}, r"call\.value: .* got 1\.5"),
        ({"value": 2**256}, r"call\.value: expected a number below 2\*\*256"),
        ({"nonce": "0x1" + "0" * 16}, r"call\.nonce: expected a number below 2\*\*64, got '0x10000000000000000'"),
        ({"accessList": [{"address": TO, "storageKeys": ["0x01"]}]}, r"accessList\[0\]\.storageKeys\[0\].*got '0x01'"),
        ({"accessList": [TO]}, r"call\.accessList\[0\]: expected an object"),
        ("0x01", "call: expected an object"),
    ],
)
def test_a_bad_call_is_refused_with_the_path_of_the_field(call, message):
    with pytest.raises(InvalidInput, match=message):
        parse_call(call)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (RAW[:-1], "expected an even number of hexadecimal digits, counted 243"),
        (RAW[:-2], r"expected RLP"),
        ("0x", "expected a transaction"),
        ("0x05c0", "expected type 0, 1, 2 or 4, got '0x05c0'"),
        ("0x03c0", "no fee for this type is published, got 3"),
        ("0x02c0", "expected a list of 12 fields for type 2"),
        ("0xc0", "expected a list of 9 fields for type 0"),
        ("0xca" + "80" * 3 + "81ff" + "80" * 5, r"transaction.to: expected an address.*counted 1"),
    ],
)
def test_a_bad_transaction_is_refused(raw, message):
    with pytest.raises(InvalidInput, match=message):
        parse_transaction(raw)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": 2**256}, "value: expected at most"),
        ({"value": -1}, "value: expected an integer of at least 0, got -1"),
        ({"gas_limit": 1.5}, "gas_limit: expected an integer, not float64, got 1.5"),
        ({"nonce": 2**64}, "nonce: expected at most"),
        ({"to": "0x" + "1" * 18}, "to: expected an address of 20 bytes"),  # twenty characters
    ],
)
def test_what_no_transaction_holds_is_refused(fields, message):
    with pytest.raises(InvalidInput, match=message):
        Transaction(**{"gas_limit": 21_000} | fields)


def test_integers_of_numpy_and_text_are_those_of_python():
    plain = Transaction(gas_limit=200, to=b"\x11" * 20, value=255, data=b"\x12")
    other = Transaction(gas_limit=np.uint8(200), to="0x" + "11" * 20, value=np.int64(255), data=bytearray(b"\x12"))
    assert (other, other.unsigned()) == (plain, plain.unsigned())


def test_a_signature_that_belongs_to_no_key_is_refused():
    with pytest.raises(InvalidInput, match="signature: expected a signature from which a key can be recovered"):
        Transaction(gas_limit=21_000, signature=Signature(27, 0, 0)).sender()
    with pytest.raises(InvalidInput, match="signature: expected a signed transaction"):
        Transaction(gas_limit=21_000).sender()


def test_an_unknown_form_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match=f"form: expected one of {', '.join(FORMS)}, got 'raw'"):
        fee_bytes({"to": TO}, gas=21_000, form="raw")


@pytest.mark.parametrize(
    ("call", "gas"),
    [
        (Transaction(type=None, to=bytes(20)), 21_000),
        (Transaction(type=None, to=bytes(20), data=bytes(10)), 21_100),  # the floor: 10 a zero byte
        (Transaction(type=None, to=bytes(20), data=b"\1" * 10), 21_400),
        (Transaction(type=None, data=b"\1" * 33), 53_000 + 16 * 33 + 4),
        (Transaction(type=None, to=bytes(20), access_list=((bytes(20), (bytes(32), bytes(32))),)), 27_200),
    ],
)
def test_intrinsic_gas(call, gas):
    assert intrinsic_gas(call) == gas
