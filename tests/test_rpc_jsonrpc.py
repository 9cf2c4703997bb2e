"""JSON-RPC 2.0: every example of the specification, and the package's errors as error objects."""

import asyncio
import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.errors import ExecutionFailed, InvalidInput, InvalidProof, LimitExceeded, NotFinalized, UpstreamError
from feemodel.io.node import NodeError
from feemodel.rpc.jsonrpc import CallError, failure
from tests.rpc_parts import respond


def subtract(minuend, subtrahend):
    return minuend - subtrahend


def failing(error):
    def method():
        raise error

    return method


async def later(value):
    await asyncio.sleep(0)
    return value


METHODS = {
    "subtract": subtract,
    "sum": lambda *numbers: sum(numbers),
    "get_data": lambda: ["hello", 5],
    "update": lambda *numbers: None,
    "notify_hello": lambda number: None,
    "notify_sum": lambda *numbers: None,
    "later": later,
    "optional": lambda first, second=2, third=3: [first, second, third],
    "wrong input": failing(InvalidInput("gas", "expected whole gas", 1.5)),
    "too much": failing(LimitExceeded("at most 5")),
    "not final": failing(NotFinalized("block 0x5 is not final")),
    "upstream": failing(UpstreamError("no answer")),
    "proof": failing(InvalidProof("the root differs")),
    "own": failing(CallError(3, "execution reverted", "0x08c379a0")),
    "revert": failing(ExecutionFailed("execution reverted: no", 3, "0x01")),
    "node": failing(NodeError("eth_call", -32015, "VM execution error", {"reason": ["a", 1]})),
    "no text": failing(NodeError("eth_call", -32000, "half a character: \ud800")),
    "bug": failing(ZeroDivisionError("secret detail")),
    "unwritable": lambda: {"no": object()},
    "no text at all": lambda: ["\udfff"],
}
INVALID = {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": None}


def call(body, **options):
    response = asyncio.run(respond(body if isinstance(body, bytes) else body.encode(), METHODS, **options))
    return None if response is None else json.loads(response)


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [  # the examples of the specification, section 7
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}', {"result": 19, "id": 1}),
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}', {"result": -19, "id": 2}),
        (
            '{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}',
            {"result": 19, "id": 3},
        ),
        (
            '{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}',
            {"result": 19, "id": 4},
        ),
        ('{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}', None),
        ('{"jsonrpc": "2.0", "method": "foobar"}', None),
        ('{"jsonrpc": "2.0", "method": "foobar", "id": "1"}', {"code": -32601, "id": "1"}),
        ('{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]', {"code": -32700, "id": None}),
        ('{"jsonrpc": "2.0", "method": 1, "params": "bar"}', {"code": -32600, "id": None}),
        ('[{"jsonrpc": "2.0", "method": "sum", "id": "1"}, {"jsonrpc": "2.0", "method"', {"code": -32700, "id": None}),
        ("[]", {"code": -32600, "id": None}),
        (
            '[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]}, '
            '{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]',
            None,
        ),
    ],
)  # fmt: skip
def test_examples_of_the_specification(request_text, expected):
    response = call(request_text)
    if expected is None:
        assert response is None
    elif "code" in expected:
        assert response["jsonrpc"] == "2.0"
        assert (response["error"]["code"], response["id"]) == (expected["code"], expected["id"])
    else:
        assert response == {"jsonrpc": "2.0", **expected}


def test_an_invalid_batch_gives_an_error_for_each_call():
    assert call("[1]") == [INVALID]
    assert call("[1,2,3]") == [INVALID] * 3


def test_the_mixed_batch_of_the_specification():
    response = call("""[
        {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
        {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},
        {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"},
        {"foo": "boo"},
        {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"},
        {"jsonrpc": "2.0", "method": "get_data", "id": "9"}
    ]""")
    assert response == [
        {"jsonrpc": "2.0", "result": 7, "id": "1"},
        {"jsonrpc": "2.0", "result": 19, "id": "2"},
        INVALID,
        {
            "jsonrpc": "2.0",
            "error": {"code": -32601, "message": "Method not found", "data": "foo.get"},
            "id": "5",
        },
        {"jsonrpc": "2.0", "result": ["hello", 5], "id": "9"},
    ]


def test_a_coroutine_is_awaited():
    assert call('{"jsonrpc": "2.0", "method": "later", "params": ["x"], "id": null}')["result"] == "x"


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("wrong input", {"code": -32602, "message": "gas: expected whole gas, got 1.5"}),
        ("too much", {"code": -32005, "message": "at most 5"}),
        ("not final", {"code": -32600, "message": "block 0x5 is not final"}),
        ("upstream", {"code": -32002, "message": "no answer"}),
        ("own", {"code": 3, "message": "execution reverted", "data": "0x08c379a0"}),
        ("revert", {"code": 3, "message": "execution reverted: no", "data": "0x01"}),
        ("node", {"code": -32015, "message": "VM execution error", "data": {"reason": ["a", 1]}}),
    ],
)
def test_errors_of_the_package_keep_their_message(method, error):
    request = {"jsonrpc": "2.0", "method": method, "id": 7}
    assert call(json.dumps(request)) == {"jsonrpc": "2.0", "id": 7, "error": error}


class Deep:
    """A value that is nested too deep to be shown."""

    def __repr__(self):
        raise RecursionError


@pytest.mark.parametrize("value", [10**5_000, Deep()], ids=["long", "deep"])
def test_a_value_that_is_hard_to_show_is_no_internal_error(value):
    methods = {"unshown": failing(InvalidInput("call.gas", "expected a number", value))}
    response = asyncio.run(respond(b'{"jsonrpc": "2.0", "method": "unshown", "id": 1}', methods))
    error = json.loads(response)["error"]
    assert (error["code"], error["message"].startswith("call.gas: expected a number")) == (-32602, True)


@pytest.mark.parametrize(
    ("method", "in_the_log"),
    [
        ("bug", "ZeroDivisionError: secret detail"),
        ("proof", "the root differs"),  # which no method of the server raises
        ("unwritable", "object"),
        ("no text at all", "surrogates not allowed"),
        ("no text", "surrogates not allowed"),
    ],
)
def test_the_unforeseen_tells_the_log_all_and_the_caller_where_to_look(caplog, method, in_the_log):
    with caplog.at_level(logging.ERROR):
        response = call(json.dumps({"jsonrpc": "2.0", "method": method, "id": "x"}))

    identity = response["error"]["data"]["id"]
    error = {"code": -32603, "message": "Internal error", "data": {"id": identity}}
    assert {"jsonrpc": "2.0", "id": "x", "error": error} == response
    assert len(identity) == 16
    assert (caplog.records[-1].getMessage(), len(caplog.records)) == (f"internal error {identity}", 1)
    assert in_the_log in caplog.text


def test_one_call_that_cannot_be_answered_does_not_spoil_its_batch(caplog):
    calls = [
        {"jsonrpc": "2.0", "method": method, "id": place}
        for place, method in enumerate(["get_data", "no text at all", "bug", "get_data"])
    ]
    codes = [response.get("error", {}).get("code") for response in call(json.dumps(calls))]
    assert codes == [None, -32603, -32603, None]
    assert len(caplog.records) == 2


def test_a_notification_is_carried_out_and_its_failure_told_to_nobody(caplog):
    assert call('{"jsonrpc": "2.0", "method": "bug"}') is None
    assert "secret detail" in caplog.text
    assert call('{"jsonrpc": "2.0", "method": "get_data", "id": null}')["result"] == ["hello", 5]  # not a notification


@pytest.mark.parametrize("params", [[], [1], [1, 2, 3], {"minuend": 1}, {"minuend": 1, "subtrahend": 2, "more": 3}])
def test_parameters_must_fit_the_method(params):
    response = call(json.dumps({"jsonrpc": "2.0", "method": "subtract", "params": params, "id": 1}))
    assert response["error"]["code"] == -32602
    assert "expected (minuend, subtrahend)" in response["error"]["message"]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ([1], [1, 2, 3]),
        ([1, 5], [1, 5, 3]),
        ([1, 5, 6], [1, 5, 6]),
        ({"first": 1, "third": 7}, [1, 2, 7]),
        ([None, None], [None, None, 3]),
    ],
)
def test_parameters_behind_the_needed_ones_may_be_left_out(params, expected):
    assert call(json.dumps({"jsonrpc": "2.0", "method": "optional", "params": params, "id": 1}))["result"] == expected


@pytest.mark.parametrize("params", ["null", "[]", "{}"])
def test_no_parameters_may_be_said_in_three_ways_and_left_out(params):
    expected = call('{"jsonrpc": "2.0", "method": "get_data", "id": 1}')
    assert expected["result"] == ["hello", 5]
    assert expected == call(f'{{"jsonrpc": "2.0", "method": "get_data", "params": {params}, "id": 1}}')


@pytest.mark.parametrize("identity", [0, -1, 1.5, 2**53 + 1, -(2**63), 2**64 - 1, "", "0x1", "ключ", None])
def test_the_id_comes_back_as_it_was(identity):
    request = json.dumps({"jsonrpc": "2.0", "method": "get_data", "id": identity})
    assert call(request) == {"jsonrpc": "2.0", "result": ["hello", 5], "id": identity}


def test_a_request_that_was_not_read_has_a_response_too():
    assert json.loads(failure(CallError(-32005, "busy"))) == {
        "jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": "busy"},
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        *({"jsonrpc": version} for version in ("1.0", 2, None)),
        *({"id": identity} for identity in (True, [], {}, 2**70)),
        *({"params": params} for params in ("x", 1, True)),
        *({"method": method} for method in (None, 1, ["get_data"])),
    ],
)
def test_what_is_not_a_request_is_refused(change):
    assert call(json.dumps({"jsonrpc": "2.0", "method": "get_data", "id": 1} | change)) == INVALID


def test_a_batch_has_a_limit():
    calls = [{"jsonrpc": "2.0", "method": "get_data", "id": number} for number in range(4)]
    assert [response["id"] for response in call(json.dumps(calls), batch_limit=4)] == [0, 1, 2, 3]
    response = call(json.dumps(calls), batch_limit=3)
    assert response["error"]["code"] == -32600
    assert response["error"]["data"] == "a batch holds 1 to 3 calls, this one 4"


def test_others_are_answered_between_the_calls_of_a_batch():
    order = []

    async def both():
        methods = {"note": order.append}
        calls = [{"jsonrpc": "2.0", "method": "note", "params": [f"batch {place}"]} for place in range(3)]
        other = {"jsonrpc": "2.0", "method": "note", "params": ["other"]}
        await asyncio.gather(*(respond(json.dumps(body).encode(), methods) for body in (calls, other)))

    asyncio.run(both())
    assert order == ["batch 0", "other", "batch 1", "batch 2"]


def test_every_call_is_observed_by_a_name_that_is_ours():
    seen = []
    bodies = [
        {"jsonrpc": "2.0", "method": "get_data", "id": 1},
        {"jsonrpc": "2.0", "method": "get_data"},
        {"jsonrpc": "2.0", "method": "x" * 1_000, "id": 1},
        {"jsonrpc": "2.0", "method": "too much", "id": 1},
        {"jsonrpc": "2.0", "method": "subtract", "params": ["5"], "id": 1},
        [{"jsonrpc": "2.0", "method": "own", "id": 1}, 7],
        [],
        {"jsonrpc": "1.0", "method": "get_data"},
    ]
    for body in bodies:
        call(json.dumps(body), observe=lambda method, code, seconds: seen.append((method, code, seconds >= 0)))
    call(b"{", observe=lambda method, code, seconds: seen.append((method, code, seconds >= 0)))

    expected = [
        ("get_data", 0), ("get_data", 0), ("unknown", -32601), ("too much", -32005), ("subtract", -32602), ("own", 3),
        ("", -32600), ("", -32600), ("", -32600), ("", -32700),
    ]  # fmt: skip
    assert [(method, code, True) for method, code in expected] == seen


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff", b"nul", b"[" * 100_000, b'{"a":' * 100_000, b'{"jsonrpc"', b'"\\ud800"', b"\xef\xbb\xbf{}",
        b"{} {}", b'{"id": NaN}', b'{"id": 1e999}', b"{'id': 1}",
    ],
)  # fmt: skip
def test_what_is_not_json_is_a_parse_error(body):
    response = call(body)
    reason = response["error"].pop("data")
    assert response == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    assert len(reason) < 100


@pytest.mark.parametrize("body", [b"1", b'"x"', b"null", b"true", b"{}", b'{"jsonrpc": "2.0"}'])
def test_json_that_is_no_request_is_invalid(body):
    assert call(body) == INVALID


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:012.e-jsonrpcmethdia \\u', max_size=60).map(str.encode))
def test_any_bytes_get_an_answer_or_were_a_notification(body):
    response = call(body)
    for answer in response if isinstance(response, list) else [response or INVALID]:
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer)
