"""Types of JSON parameters: what is taken, and what is refused in which words."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.estimates import json_types
from feemodel.estimates.json_types import CallObject, call_object, parse
from tests.server.wire import ANNA, AUTHORIZATION, BERT, BLOB, EMPTY

WIRES = {name: getattr(json_types, name) for name in ("Address", "Uint64")}
DIGITS = "0123456789abcdefABCDEF"
SPECIAL = (
    "0x", "0X1", "0x0", "0x00", "0x1_0", "0x1\n", " 0x1", "0xzz", "0x\u0661", "0x" + "f" * 16, "0x1" + "0" * 16,
    "0x" + "f" * 64, "0x1" + "0" * 64, "1", "", "latest", "0x" + "0" * 40, "0x" + "0" * 64,
)  # fmt: skip
TEXTS = st.one_of(
    st.text(DIGITS, max_size=70).map("0x{}".format),
    *(st.text(DIGITS, min_size=2 * size, max_size=2 * size).map("0x{}".format) for size in (20, 32)),
    st.text("0xX_ \n\tfF1-+.", max_size=8),
    st.sampled_from(SPECIAL),
)


@pytest.mark.parametrize("name", WIRES)
@given(value=TEXTS)
def test_what_the_document_describes_is_taken(name, value):
    kind = WIRES[name]
    if re.fullmatch(kind.schema["pattern"], value):
        kind.read(value)


def test_fields_that_are_not_known_are_ignored_as_nodes_do():
    found = parse(
        "call", {"from": ANNA, "to": BERT, "value": "0x1", "customData": {"a": 1}, "feeCurrency": 5}, CallObject
    )
    assert (found.from_address.hex(), found.value) == (ANNA[2:], 1)


def test_a_call_has_its_lists():
    fields = {"from": ANNA, "to": BERT, "gas": "0x5208", "maxFeePerGas": 9, "input": "0x01", "data": "0x01",
              "accessList": [{"address": BERT, "storageKeys": [EMPTY]}], "authorizationList": [AUTHORIZATION],
              "blobVersionedHashes": [BLOB], "nonce": "0x7", "chainId": "0x539"}  # fmt: skip
    call = parse("call", fields, CallObject)
    assert (call.gas_limit, call.max_fee, call.data, call.nonce, call.chain_id) == (21_000, 9, b"\x01", 7, 1_337)
    assert call.access_list == ((bytes.fromhex(BERT[2:]), (bytes(32),)),)
    assert [one.chain_id for one in call.authorizations] == [1_337]
    assert call.blob_hashes == (bytes.fromhex(BLOB[2:]),)


@pytest.mark.parametrize("creation", [{}, {"to": None}, {"to": "0x"}])
def test_a_call_without_a_target_creates(creation):
    assert parse("call", {"data": "0x00", **creation}, CallObject).to is None


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"data": "0x01", "input": "0x02"}, "call.input"),
        ({"gasPrice": "0x1", "maxPriorityFeePerGas": "0x1"}, "call.gasPrice"),
        ({"strict": False}, "call.strict"),
        ({"authorizationList": [AUTHORIZATION]}, "call.to"),
        ({"blobVersionedHashes": [BLOB]}, "call.to"),
        ({"type": "0x0", "maxFeePerGas": "0x1"}, "call.type"),
        ({"type": "0x1", "to": BERT, "blobVersionedHashes": [BLOB]}, "call.type"),
        ({"type": "0x3", "to": BERT, "authorizationList": [AUTHORIZATION]}, "call.type"),
        ({"type": "0x0", "accessList": [{"address": BERT, "storageKeys": []}]}, "call.type"),
        ({"type": "0x2", "gasPrice": "0x1"}, "call.type"),
        ({"type": "0x5"}, "call.type"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(fields, name):
    with pytest.raises(InvalidInput) as caught:
        parse("call", fields, CallObject)
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("value", "name", "shown"),
    [
        ({"gas": "0x"}, "call.gas", "0x"),
        ({"to": "0x12"}, "call.to", "0x12"),
        ({"accessList": [{"address": "0x12"}]}, "call.accessList[0].address", "0x12"),
        (
            {"accessList": [{"address": BERT, "storageKeys": [EMPTY, "0x1"]}]},
            "call.accessList[0].storageKeys[1]",
            "0x1",
        ),
        ({"blobVersionedHashes": [BLOB, "0x02" + "00" * 31]}, "call.blobVersionedHashes[1]", "0x02" + "00" * 31),
        ({"to": BERT, "strict": "yes"}, "call.strict", "yes"),
        ({"to": BERT, "authorizationList": {}}, "call.authorizationList", {}),
        ({"to": BERT, "blobVersionedHashes": "0x01"}, "call.blobVersionedHashes", "0x01"),
        ("0x", "call", "0x"),
    ],
)
def test_an_error_names_the_field_and_shows_its_value(value, name, shown):
    with pytest.raises(InvalidInput) as caught:
        parse("call", value, CallObject)
    assert (caught.value.name, caught.value.value) == (name, shown)


def test_every_type_of_a_parameter_has_a_schema():
    found, components = json_types.schemas(
        [CallObject, json_types.Block, json_types.Overrides, json_types.EstimateOption]
    )
    assert len(found) == 4
    assert found[0]["properties"]["gas"]["anyOf"][0]["pattern"] == json_types.Uint64.schema["pattern"]
    msgspec.json.encode(components)


def test_a_call_is_told_to_a_node_as_it_was_read():
    fields = {"from": ANNA, "to": BERT, "gas": "0x5208", "maxFeePerGas": 9, "maxPriorityFeePerGas": "0x0",
              "accessList": [{"address": BERT, "storageKeys": [EMPTY]}], "authorizationList": [AUTHORIZATION],
              "input": "0x01",
              "blobVersionedHashes": [BLOB], "maxFeePerBlobGas": "0x5", "nonce": "0x7", "chainId": "0x539"}  # fmt: skip
    for call in (parse("call", asked, CallObject) for asked in (fields, {}, {"gasPrice": 7, "value": 2**255})):
        told = call_object(call)
        assert parse("call", told, CallObject) == call
        assert all(isinstance(value, str | list) for value in told.values())
