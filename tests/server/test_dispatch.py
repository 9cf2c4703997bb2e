"""JSON-RPC 2.0: requests, batches and their limits, and what the log and the caller are told of errors."""

import asyncio
import gc
import json
import logging
import weakref

import pytest

from feemodel.server import dispatch
from feemodel.server.dispatch import CallError, Dispatcher, Method
from feemodel.server.metrics import ERRORS, REGISTRY
from tests.server.parts import request


def subtract(minuend: int, subtrahend: int) -> int:
    """Return a difference."""
    return minuend - subtrahend


async def later(value: int) -> int:
    """Return a value."""
    await asyncio.sleep(0)
    return value


def unforeseen() -> None:
    """Fail."""
    raise RuntimeError("s3cret")


METHODS = {"subtract": Method(subtract), "later": Method(later), "unforeseen": Method(unforeseen)}


def respond(body, **options):
    answer = asyncio.run(Dispatcher(METHODS, **options).answer(body if isinstance(body, bytes) else body.encode()))
    return None if answer is None else json.loads(answer)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23]}', None),
        (b"[%b, %b]" % (request("later", 1), request("subtract", 5, 3)),
         [{"jsonrpc": "2.0", "id": 1, "result": 1}, {"jsonrpc": "2.0", "id": 1, "result": 2}]),
        (b'[{"jsonrpc": "2.0", "method": "later", "params": [1]}]', None),
    ],
)  # fmt: skip
def test_calls_notifications_and_batches(body, expected):
    assert expected == respond(body)


@pytest.mark.parametrize("identity", [0, -1, 2**64 - 1, 2**64, -(2**70), 10**4_000, 1.5, "", "a", None])
def test_an_id_comes_back_as_it_was_sent(identity):
    for method in ("later", "nothing"):
        call = {"jsonrpc": "2.0", "id": identity, "method": method, "params": [1]}
        assert respond(json.dumps(call))["id"] == identity


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700), (b"\xff", -32700), (b"[" * 100_000, -32700), (b'{"a": 1, "a": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "later", "method": 5}', -32600),
        (b"1", -32600), (b"{}", -32600), (b"[]", -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "later", "params": [1e999]}', -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "later", "params": [1], "other": "\xff"}', -32700),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "later"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "later"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "later", "params": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "nothing"}', -32601),
        (request("later"), -32602), (request("later", 1, 2), -32602), (request("later", "x"), -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "later", "params": {"other": 1}}', -32602),
    ],
)  # fmt: skip
def test_what_is_not_a_call_is_refused_by_the_specification(body, code):
    assert code == respond(body)["error"]["code"]


def test_an_error_is_freed_with_its_answer_and_not_by_the_next_garbage_collection():
    raised = []

    def fail() -> None:
        error = CallError(-32602, "storageKeys: too many")
        raised.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error

    dispatcher = Dispatcher({"fail": Method(fail)})
    gc.disable()
    try:
        asyncio.run(dispatcher.answer(request("fail")))
        assert [one() for one in raised] == [None]
    finally:
        gc.enable()


def test_of_two_members_with_one_name_the_last_counts():
    """As with the parsers of clients."""
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "nothing", "params": [5], "method": "later", "id": 2}'
    assert respond(body) == {"jsonrpc": "2.0", "id": 2, "result": 5}


def test_the_log_has_the_unforeseen_and_the_caller_its_identifier(caplog):
    with caplog.at_level(logging.ERROR):
        error = respond(request("unforeseen"))["error"]
    assert (error["code"], error["message"]) == (-32603, "Internal error")
    (record,) = caplog.records
    assert record.fields == {"id": error["data"]["id"]}
    assert "s3cret" not in json.dumps(error)


def test_no_further_call_of_a_batch_begins_after_so_many_bytes(monkeypatch):
    monkeypatch.setattr(dispatch, "BATCH_BYTES", 1)
    three = b"[%b]" % b",".join([request("later", 10**6)] * 3)
    assert [one.get("error", {}).get("code") for one in respond(three)] == [None, -32005, -32005]


def test_no_further_call_of_a_batch_begins_after_its_time(monkeypatch):
    monkeypatch.setattr(dispatch, "BATCH_SECONDS", 0.01)

    async def slow() -> None:
        await asyncio.sleep(0.02)

    dispatcher = Dispatcher({"slow": Method(slow)})
    answer = json.loads(asyncio.run(dispatcher.answer(b"[%b]" % b",".join([request("slow")] * 3))))
    assert [one.get("error", {}).get("code") for one in answer] == [None, -32005, -32005]


def test_calls_of_a_batch_wait_for_a_node_together_and_transactions_are_sent_in_order():
    under_way = []

    async def forward(method, params):
        under_way.append(method)
        await asyncio.sleep(0)
        return len(under_way)

    reads = b"[%b]" % b",".join(request(name) for name in ("eth_a", "eth_b"))
    sends = b"[%b]" % b",".join(request(name) for name in ("eth_sendRawTransaction", "eth_c"))
    assert [one["result"] for body in (reads, sends) for one in respond(body, forward=forward)] == [2, 2, 3, 4]


def test_every_call_is_counted_under_names_and_codes_that_callers_cannot_invent():
    async def forward(method, params):
        if method == "eth_any":
            raise CallError(-39_001, "of a node")
        return method

    def counts():
        errors = [("unknown", "-32601"), ("forwarded", "other"), ("", "-32600")]
        names = ("later", "eth_known")  # the node answers the second one
        calls = [REGISTRY.get_sample_value("feemodel_call_seconds_count", {"method": name}) or 0.0 for name in names]
        return calls + [ERRORS.labels(*labels)._value.get() for labels in errors]

    before = counts()
    for body, options in (
        (request("nothing"), {}), (request("later", 1), {}), (request("eth_any"), {"forward": forward}), ("1", {}),
        (request("eth_known"), {"forward": forward}),
    ):  # fmt: skip
        respond(body, **options)
    assert counts() == [count + 1 for count in before]


def test_the_request_log_has_the_method_and_no_parameters(caplog):
    with caplog.at_level(logging.INFO, "feemodel.calls"):
        respond(request("later", 12_345))
    respond(request("later", 12_345))
    (record,) = [record for record in caplog.records if record.name == "feemodel.calls"]
    assert record.fields == {"method": "later", "code": 0, "milliseconds": record.fields["milliseconds"]}
    assert record.getMessage() == "call"
