"""JSON-RPC 2.0: every example of the specification, and the package's errors as error objects."""

import asyncio
import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.errors import InvalidInput, LimitExceeded, NotFinalized, UpstreamError
from feemodel.rpc.jsonrpc import CallError, respond


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
    "wrong input": failing(InvalidInput("gas", "expected whole gas", 1.5)),
    "too much": failing(LimitExceeded("at most 5")),
    "not final": failing(NotFinalized("block 0x5 is not final")),
    "upstream": failing(UpstreamError("no answer")),
    "own": failing(CallError(3, "execution reverted", "0x08c379a0")),
    "bug": failing(ZeroDivisionError("secret detail")),
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
        ("too much", {"code": -32602, "message": "at most 5"}),
        ("not final", {"code": -32600, "message": "block 0x5 is not final"}),
        ("upstream", {"code": -32603, "message": "no answer"}),
        ("own", {"code": 3, "message": "execution reverted", "data": "0x08c379a0"}),
    ],
)
def test_errors_of_the_package_keep_their_message(method, error):
    request = {"jsonrpc": "2.0", "method": method, "id": 7}
    assert call(json.dumps(request)) == {"jsonrpc": "2.0", "id": 7, "error": error}


def test_an_unexpected_error_tells_the_log_and_not_the_caller(caplog):
    with caplog.at_level(logging.ERROR):
        response = call('{"jsonrpc": "2.0", "method": "bug", "id": 1}')
    assert response["error"] == {"code": -32603, "message": "Internal error"}
    assert "secret detail" in caplog.text


@pytest.mark.parametrize("params", ["[1]", "[1, 2, 3]", '{"minuend": 1}', '{"minuend": 1, "subtrahend": 2, "more": 3}'])
def test_parameters_must_fit_the_method(params):
    response = call(f'{{"jsonrpc": "2.0", "method": "subtract", "params": {params}, "id": 1}}')
    assert response["error"]["code"] == -32602
    assert "expected (minuend, subtrahend)" in response["error"]["message"]


@pytest.mark.parametrize(
    "change",
    [
        *({"jsonrpc": version} for version in ("1.0", 2, None)),
        *({"id": identity} for identity in (True, [], {}, 2**70)),
        {"params": "x"},
        {"method": None},
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


@pytest.mark.parametrize("body", [b"", b"\xff", b"nul", b"[" * 100_000, b'{"jsonrpc"', b'"\\ud800"'])
def test_what_is_not_json_is_a_parse_error(body):
    assert call(body)["error"]["code"] in (-32700, -32600)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:012.e-jsonrpcmethdia \\u', max_size=60).map(str.encode))
def test_any_bytes_get_an_answer_or_were_a_notification(body):
    response = call(body)
    for answer in response if isinstance(response, list) else [response or INVALID]:
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer)
