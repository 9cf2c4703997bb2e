"""The document at /openrpc.json: it describes the methods that are served, and answers are as it says."""

import pytest
from jsonschema import Draft202012Validator

from tests.server.wire import ANNA, BERT, LIST, TOKEN, TRANSFER, data

SUM = {"to": LIST, "data": data("sum(uint256)", 20)}
POINT = {"compressedSize": 128, "gas": "0x5208"}
WORD = "0x" + "00" * 32

#: Of a method what else it may be called with than in its example.
CALLS = {
    "rollup_estimateGas": [[TRANSFER], [TRANSFER, {ANNA: {"nonce": "0x1"}}], [TRANSFER, {"blockNumber": "0x0"}],
                           [TRANSFER, "latest", {ANNA: {"balance": "0xffffffffffff"}}]],
    "rollup_getProof": [[LIST, ["0x0", "0x1"], "latest"], [BERT, [], "0x0"]],
    "linea_getProof": [["0x" + "77" * 20, [], "finalized"]],
    "eth_getBlockByNumber": [["latest"], ["0x0", True], ["0x5", False]],
    "eth_getBalance": [[ANNA], [ANNA, {"blockNumber": "latest"}]],
    "eth_getCode": [[TOKEN], [ANNA, "pending"]],
    "eth_call": [[SUM], [SUM, "latest", {LIST: {"stateDiff": {WORD: "0x" + "00" * 31 + "ff"}}}], [SUM, "latest", {}],
                 [{}], [{**TRANSFER, "input": "0x", "accessList": [], "nonce": "0x0"}],
                 [{"customData": {}, "feeCurrency": "0x"}], [TRANSFER, "latest", {ANNA: {}}],
                 [TRANSFER, "latest", {ANNA: {"balance": "0xde0b6b3a7640000", "nonce": "0x1", "code": "0x",
                                              "state": {WORD: WORD}}}]],
    "eth_estimateGas": [[TRANSFER], [SUM, "latest", {LIST: {"code": "0x00", "state": {}}}]],
    "eth_feeHistory": [["0x1", "latest"], ["0x4", "0x0", [10, 50.5]]],
    "feemodel_fee": [[POINT, "compressedSize", [1, 1_000]]],
    "feemodel_explain": [[TRANSFER], [SUM, {"gas": "0x10000"}]],
}  # fmt: skip


@pytest.fixture(scope="module")
def document(client):
    return client.http("GET", "/openrpc.json").json()


def validator(document, schema):
    return Draft202012Validator({**schema, "components": document["components"]})


def method_of(document, name):
    (found,) = [method for method in document["methods"] if method["name"] == name]
    return found


def test_the_document_is_one_by_the_specification(document):
    """OpenRPC 1.3: what it must have, and what its parts must have."""
    assert document["openrpc"] == "1.3.2"
    assert document.keys() == {"openrpc", "info", "methods", "components"}
    names = [method["name"] for method in document["methods"]]
    assert names == sorted(set(names))
    for method in document["methods"]:
        required = [parameter["required"] for parameter in method["params"]]
        assert required == sorted(required, reverse=True)  # no required one behind an optional one
        for descriptor in (*method["params"], method["result"]):
            validator(document, descriptor["schema"]).check_schema(descriptor["schema"])


def test_every_method_is_described(client, document):
    assert {method["name"] for method in document["methods"]} == set(client.service.methods)
    assert all(method["summary"] for method in document["methods"])


@pytest.mark.parametrize(
    ("name", "params"),
    [
        pytest.param(name, params, id=f"{name}-{index}")
        for name, calls in CALLS.items()
        for index, params in enumerate(calls)
    ],
)
def test_a_call_and_its_answer_are_as_described(client, document, name, params):
    method = method_of(document, name)
    for parameter, value in zip(method["params"], params, strict=False):
        if value is not None or parameter["required"]:
            assert validator(document, parameter["schema"]).is_valid(value), parameter["name"]
    assert list(validator(document, method["result"]["schema"]).iter_errors(client.result(name, *params))) == []


def test_every_method_has_an_example_that_is_answered_as_described(client, document):
    for method in document["methods"]:
        (example,) = method["examples"]
        values = {one["name"]: one["value"] for one in example["params"]}
        for parameter in method["params"]:
            assert parameter["name"] in values or not parameter["required"], method["name"]
            if parameter["name"] in values:
                assert validator(document, parameter["schema"]).is_valid(values[parameter["name"]]), method["name"]
        result = client.result(method["name"], *values.values())
        assert list(validator(document, method["result"]["schema"]).iter_errors(result)) == [], method["name"]


@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("eth_feeHistory", ["0x0", "latest"], 0),
        ("eth_feeHistory", ["0x401", "latest"], 0),
        ("eth_getBalance", [ANNA, {"blockNumber": "0x0", "blockHash": WORD}], 1),
        ("rollup_getProof", [ANNA, ["0xg"], "latest"], 1),
        ("rollup_getProof", [ANNA, ["0x0"] * 1_025, "latest"], 1),
        ("eth_call", [{"to": BERT, "type": "0x9"}], 0),
        ("eth_call", [{"to": BERT, "accessList": [{"storageKeys": []}]}], 0),
        ("eth_call", [{"to": BERT, "authorizationList": [{"address": BERT}]}], 0),
        ("eth_call", [{"value": "0x01"}], 0),
        ("eth_call", [{"value": "0x"}], 0),
        ("eth_call", [{"value": -1}], 0),
        ("eth_call", [{"data": "0x1"}], 0),
        ("eth_call", [{"data": "a9"}], 0),
        ("eth_call", [{"from": "0x12"}], 0),
        ("eth_call", [{"accessList": {}}], 0),
        ("eth_call", ["0x"], 0),
        ("eth_call", [TRANSFER, "latest", {"0x12": {}}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: []}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: {"balance": "0x00"}}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: {"code": "0x1"}}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: {"fake": "0x1"}}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: {"state": {}, "stateDiff": {}}}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: {"stateDiff": {"0x1": WORD}}}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: {"stateDiff": {WORD: "0x01"}}}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: {"nonce": hex(2**64)}}], 2),
        ("eth_call", [TRANSFER, "latest", {ANNA: {"balance": hex(2**256)}}], 2),
    ],
)
def test_the_schema_refuses_what_the_server_refuses(client, document, method, params, place):
    schema = method_of(document, method)["params"][place]["schema"]
    assert client.error(method, *params)["code"] == -32602
    assert not validator(document, schema).is_valid(params[place])
