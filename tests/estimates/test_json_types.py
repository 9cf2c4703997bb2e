"""Types of JSON parameters: what is taken, and what is refused in which words."""

import pytest

from feemodel.errors import InvalidInput
from feemodel.estimates.json_types import CallObject, call_object, parse
from tests.server.wire import ANNA, AUTHORIZATION, BERT, BLOB, EMPTY


@pytest.mark.parametrize("creation", [{}, {"to": None}, {"to": "0x"}])
def test_a_call_without_a_target_creates(creation):
    assert parse("call", {"data": "0x00", **creation}, CallObject).to is None


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"authorizationList": [AUTHORIZATION]}, "call.to"),
        ({"blobVersionedHashes": [BLOB]}, "call.to"),
        ({"type": "0x1", "to": BERT, "blobVersionedHashes": [BLOB]}, "call.type"),
        ({"type": "0x3", "to": BERT, "authorizationList": [AUTHORIZATION]}, "call.type"),
        ({"type": "0x0", "accessList": [{"address": BERT, "storageKeys": []}]}, "call.type"),
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
        (
            {"accessList": [{"address": BERT, "storageKeys": [EMPTY, "0x1"]}]},
            "call.accessList[0].storageKeys[1]",
            "0x1",
        ),
        ({"blobVersionedHashes": [BLOB, "0x02" + "00" * 31]}, "call.blobVersionedHashes[1]", "0x02" + "00" * 31),
        ({"to": BERT, "authorizationList": {}}, "call.authorizationList", {}),
        ({"to": BERT, "blobVersionedHashes": "0x01"}, "call.blobVersionedHashes", "0x01"),
        ("0x", "call", "0x"),
    ],
)
def test_an_error_names_the_field_and_shows_its_value(value, name, shown):
    with pytest.raises(InvalidInput) as caught:
        parse("call", value, CallObject)
    assert (caught.value.name, caught.value.value) == (name, shown)


def test_a_call_is_told_to_a_node_as_it_was_read():
    fields = {"from": ANNA, "to": BERT, "gas": "0x5208", "maxFeePerGas": 9, "maxPriorityFeePerGas": "0x0",
              "accessList": [{"address": BERT, "storageKeys": [EMPTY]}], "authorizationList": [AUTHORIZATION],
              "input": "0x01",
              "blobVersionedHashes": [BLOB], "maxFeePerBlobGas": "0x5", "nonce": "0x7", "chainId": "0x539"}  # fmt: skip
    told = call_object(parse("call", fields, CallObject))
    data = fields.pop("input")
    assert told == fields | {"maxFeePerGas": "0x9", "data": data}
    for asked in ({}, {"gasPrice": "0x7", "value": hex(2**255)}):
        assert call_object(parse("call", asked, CallObject)) == asked
