"""The description at /openrpc.json: it is of the methods that are served, and answers are as it says."""

import inspect
import json

import pytest
from jsonschema import Draft202012Validator

from feemodel.io.shipped import shipped_path
from feemodel.rpc.development import LEDGER
from feemodel.rpc.openrpc import CALL, FAILURES, METHODS, OVERRIDES, document
from feemodel.rpc.pass_through import PASSED
from feemodel.rpc.service import Service
from feemodel.rpc.settings import Settings
from tests import openrpc_examples
from tests.anvil import binary
from tests.rpc_calls import ANNA, BERT, LIST, TOKEN, TRANSFER, data
from tests.rpc_parts import opened
from tests.system.clients import require

SUM = {"to": LIST, "data": data("sum(uint256)", 20)}
POINT = {"compressedSize": 128, "gas": "0x5208"}
SEND = {"gas": "0x5208", "baseFee": "0x4c4b40", "maxFeePerGas": "0x5b8d80", "l1BaseFee": "0x1", "blobBaseFee": "0x1"}

#: Of a method what else it may be called with than in its example.
CALLS = {
    "rollup_estimateGas": [[TRANSFER], [TRANSFER, {ANNA: {"nonce": "0x1"}}], [TRANSFER, {"blockNumber": "0x0"}],
                           [TRANSFER, "latest", {ANNA: {"balance": "0xffffffffffff"}}], [TRANSFER, {"blocks": 5}],
                           [TRANSFER, "latest", {}, {"blocks": "0x5"}], [SUM, None, None, {"details": True}]],
    "rollup_getProof": [[LIST, ["0x0", "0x1"], "latest"], [BERT, [], "0x0"]],
    "linea_getProof": [["0x" + "77" * 20, [], "finalized"]],
    "eth_getBlockByNumber": [["latest"], ["0x0", True], ["0x5", False]],
    "eth_getTransactionCount": [[ANNA], [TOKEN, "latest"]],
    "eth_getBalance": [[ANNA], [ANNA, {"blockNumber": "latest"}]],
    "eth_getCode": [[TOKEN], [ANNA, "pending"]],
    "eth_call": [[SUM], [SUM, "latest", {LIST: {"stateDiff": {"0x" + "00" * 32: "0x" + "00" * 31 + "ff"}}}],
                 [SUM, "latest", {}, {"number": "0x5", "feeRecipient": ANNA}]],
    "eth_estimateGas": [[TRANSFER], [SUM, "latest", {LIST: {"code": "0x00", "state": {}}}]],
    "eth_createAccessList": [[TRANSFER], [{**SUM, "from": ANNA}, "latest", {ANNA: {"balance": hex(10**20)}}]],
    "eth_simulateV1": [
        [{"blockStateCalls": [{"calls": [SUM, {**TRANSFER, "gas": "0x9c40"}, {"to": LIST, "data": "0x12345678"}]}]}],
        [{"blockStateCalls": [{"stateOverrides": {ANNA: {"balance": "0x5"}}, "blockOverrides": {"number": "0x1"},
                               "calls": [TRANSFER]}], "traceTransfers": True, "returnFullTransactions": True}, "0x0"],
    ],
    "eth_feeHistory": [["0x1", "latest"], ["0x4", "0x0", [10, 50.5]]],
    "rpc.discover": [[]],
    "feemodel_curve": [[{**POINT, "axis": "compressedSize", "from": 1, "to": 1_000}]],
    "feemodel_film": [[{}], [{"pricing": "vault-p", "posting": "deadline", "slaHours": 2}]],
    "feemodel_explain": [[TRANSFER], [SUM, {"gas": "0x10000"}]],
    "feemodel_compare": [[TRANSFER, {"at": "2026-02-01"}], [TRANSFER, {"at": "2026-02-01", "rules": ["base"]}]],
    "feemodel_maxSend": [["op-mainnet", "0x1", {"to": TOKEN}, {**SEND, "blocksAhead": 0, "at": "2026-02-01"}]],
}  # fmt: skip


@pytest.fixture(scope="module")
def client():
    with opened(Settings(), store=shipped_path(LEDGER), started=False) as client:
        yield client


@pytest.fixture(scope="module")
def described(client):
    """The document of a server with everything, and its methods by name."""
    found = json.loads(document(client.answered))
    return found, {method["name"]: method for method in found["methods"]}


def valid(schema, value):
    return Draft202012Validator(schema).is_valid(value)


def test_the_document_is_one_by_the_specification(described):
    """OpenRPC 1.3: what it must have, and what its parts must have."""
    found, _ = described
    assert found["openrpc"] == "1.3.2"
    assert found.keys() == {"openrpc", "info", "methods", "components"}
    assert found["info"].keys() >= {"title", "version"}
    names = [method["name"] for method in found["methods"]]
    assert names == sorted(set(names))
    for method in found["methods"]:
        assert method["paramStructure"] in ("by-name", "by-position", "either")
        required = [parameter["required"] for parameter in method["params"]]
        assert required == sorted(required, reverse=True)  # no required one behind an optional one
        assert len({parameter["name"] for parameter in method["params"]}) == len(required)
        for descriptor in (*method["params"], method["result"]):
            assert isinstance(descriptor["name"], str)
            Draft202012Validator.check_schema(descriptor["schema"])
        for reference in method["errors"]:
            assert reference["$ref"].removeprefix("#/components/errors/") in found["components"]["errors"]
    for error in found["components"]["errors"].values():
        assert (type(error["code"]), type(error["message"])) == (int, str)


def test_its_errors_are_the_table_of_errors(described):
    found, _ = described
    errors = found["components"]["errors"].values()
    assert [(error["code"], error["message"], error["data"]) for error in errors] == [tuple(row) for row in FAILURES]


def test_every_method_is_described(client, described):
    assert described[1].keys() == client.answered.keys()


def example_of(method):
    """The parameters of a method's example, and its result."""
    (example,) = method["examples"]
    assert [one["name"] for one in example["params"]] == [
        one["name"] for one in method["params"][: len(example["params"])]
    ]
    return [one["value"] for one in example["params"]], example["result"]


def test_every_method_answers_as_its_example_says(client, described):
    for name, method in described[1].items():
        params, result = example_of(method)
        if name == "rpc.discover":
            assert result == {"name": "result", "externalValue": "/openrpc.json"}
        else:
            answer = client.result(name, *params)
            if name == "feemodel_history":  # whose one sample is of now
                answer["times"] = result["value"]["times"]
            assert agrees(answer, result["value"]), name
            assert described_as(method, params, result["value"])


def test_every_method_of_a_node_answers_as_its_example_says():
    """anvil on the development genesis stands behind the server; hashes of its blocks are in the examples."""
    require(binary(), "node", openrpc_examples.HARDHAT)
    service = Service(Settings(node="http://127.0.0.1:1"), None)
    methods = {method["name"]: method for method in json.loads(document(service.answered))["methods"]}
    service.upstream.close()
    names = set(PASSED) - own_names() - set(openrpc_examples.OF_HARDHAT)
    for behind_a_node, asked in [
        (openrpc_examples.behind_a_server, sorted(names)),
        (openrpc_examples.behind_hardhat, openrpc_examples.OF_HARDHAT),
    ]:
        with behind_a_node() as behind:
            for name in asked:
                params, result = example_of(methods[name])
                answer = behind.ask(name, *params)["result"]
                assert name in openrpc_examples.IDS or agrees(answer, result["value"]), name
                assert described_as(methods[name], params, answer)


def own_names():
    """The methods that a server answers itself on the development chain."""
    with opened(Settings(), store=shipped_path(LEDGER), started=False) as client:
        return set(client.answered)


def agrees(answer, example):
    """Whether two answers are equal; floats to six digits, which is what films have."""
    if isinstance(example, dict):
        return answer.keys() == example.keys() and all(agrees(answer[name], one) for name, one in example.items())
    if isinstance(example, list):
        return len(answer) == len(example) and all(map(agrees, answer, example))
    return answer == (pytest.approx(example, rel=1e-5) if isinstance(example, float) else example)


@pytest.mark.parametrize("settings", [{"prefix": "my_chain"}, {"node": "http://127.0.0.1:1"}], ids=str)
def test_whatever_a_server_is_made_of_can_be_described(settings):
    service = Service(Settings(**settings), None)
    described = {method["name"] for method in json.loads(document(service.answered))["methods"]}
    passed = PASSED if service.upstream is not None else ()
    assert described == service.answered.keys() > {f"{service.settings.prefix}_estimateGas", *passed}
    for part in (service.runner, service.upstream):
        if part is not None:
            part.close()


def test_the_parameters_are_those_of_the_functions(client, described):
    for name, method in described[1].items():
        function = inspect.signature(client.methods[name]).parameters.values()
        least = sum(parameter.default is parameter.empty for parameter in function)
        listed = [(parameter["name"], parameter["required"]) for parameter in method["params"]]
        assert sum(required for _, required in listed) == least, name
        assert len(listed) <= len(function), name
        if method["paramStructure"] == "either":
            assert [parameter for parameter, _ in listed] == [parameter.name for parameter in function], name


@pytest.mark.parametrize(
    ("name", "params"), [(name, params) for name, calls in CALLS.items() for params in calls], ids=str
)
def test_the_answer_to_what_is_described_is_as_described(client, described, name, params):
    method = described[1][name]
    assert described_as(method, params, client.result(name, *params))


def described_as(method, params, result):
    """Whether a call and its result are as a method's schemas say."""
    for parameter, value in zip(method["params"], params, strict=False):
        assert valid(parameter["schema"], value), parameter["name"]
    assert len(params) >= sum(parameter["required"] for parameter in method["params"])
    errors = [error.message for error in Draft202012Validator(method["result"]["schema"]).iter_errors(result)]
    assert errors == []
    return True


@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("feemodel_")])
def test_the_methods_of_this_package_take_parameters_by_name(client, described, name):
    params, listed = openrpc_examples.read()[name]["params"], described[1][name]["params"]
    named = {parameter["name"]: value for parameter, value in zip(listed, params, strict=False)}
    body = {"jsonrpc": "2.0", "id": 1, "method": name, "params": named}
    answer = client.http("POST", "/", json.dumps(body).encode()).json()
    assert answer["result"] == client.result(name, *params)


WORD = "0x" + "00" * 32
VALUES = [
    (CALL, {}, True),
    (CALL, {**TRANSFER, "input": "0x", "accessList": [], "nonce": "0x0"}, True),
    (CALL, {"value": "0x01"}, False),
    (CALL, {"value": "1"}, False),
    (CALL, {"value": "0x"}, False),
    (CALL, {"value": -1}, False),
    (CALL, {"data": "0x1"}, False),
    (CALL, {"data": "a9"}, False),
    (CALL, {"from": "0x12"}, False),
    (CALL, {"accessList": {}}, False),
    (CALL, [], False),
    (CALL, "0x", False),
    (OVERRIDES, {}, True),
    (OVERRIDES, {ANNA: {}}, True),
    (OVERRIDES, {ANNA: {"balance": "0xde0b6b3a7640000", "nonce": "0x1", "code": "0x", "state": {WORD: WORD}}}, True),
    (OVERRIDES, {"0x12": {}}, False),
    (OVERRIDES, {ANNA: {"balance": "0x00"}}, False),
    (OVERRIDES, {ANNA: {"code": "0x1"}}, False),
    (OVERRIDES, {ANNA: {"fake": "0x1"}}, False),
    (OVERRIDES, {ANNA: {"state": {}, "stateDiff": {}}}, False),
    (OVERRIDES, {ANNA: {"stateDiff": {"0x1": WORD}}}, False),
    (OVERRIDES, {ANNA: {"stateDiff": {WORD: "0x01"}}}, False),
    (OVERRIDES, {ANNA: []}, False),
]


@pytest.mark.parametrize(("schema", "value", "accepted"), VALUES, ids=str)
def test_the_server_takes_what_the_schema_takes(client, schema, value, accepted):
    params = [value] if schema is CALL else [TRANSFER, "latest", value]
    answer = client.ask("rollup_estimateGas", *params)
    refused = answer.get("error", {}).get("code") == -32602
    assert (valid(schema, value), not refused) == (accepted, accepted)
