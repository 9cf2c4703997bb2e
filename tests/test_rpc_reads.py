"""Short reads and quick calls that share a request to the node, and batches that are answered without a task."""

import asyncio
import json

import pytest

from feemodel.rpc import pass_through
from feemodel.rpc import reads as sharing
from tests import node_server
from tests.rpc_parts import exchange, head_block, request
from tests.test_rpc_upstream import kept_connection, on

ADDRESSES = [f"0x{number:040x}" for number in range(20)]


def balance(address):
    return hex(int(address, 16) + 1)


def answering(node, **others):
    known = {"eth_chainId": "0x539", "eth_getBlockByNumber": head_block(), "eth_call": "0xca11", "eth_getLogs": []}
    node.always = node_server.results(eth_getBalance=lambda params: balance(params[0]), **known | others)


@pytest.fixture
def node():
    with node_server.running() as node:
        answering(node)
        yield node


def together(client, bodies):
    """The responses to requests that come at the same time."""

    async def asked():
        return await asyncio.gather(*(exchange(client.app, "POST", "/", body) for body in bodies))

    return [answer.json() if answer.body else None for answer in client.loop.run(asked())]


def reads(addresses=ADDRESSES, block="latest"):
    return [request("eth_getBalance", address, block) for address in addresses]


def right(answers, addresses=ADDRESSES):
    return [answer.get("result") for answer in answers] == [balance(address) for address in addresses]


def sizes(node):
    """The number of calls in each request behind the chain id, which comes first in all of them."""
    batches = [batch for _, _, batch in node.requests]
    assert all(batch[0]["method"] == "eth_chainId" for batch in batches)
    return [len(batch) - 1 for batch in batches]


def test_reads_at_the_newest_block_that_come_together_share_requests(node):
    with on(node) as client:
        kept_connection(client, node)
        assert right(together(client, reads()))
        assert sum(sizes(node)) == len(ADDRESSES)
        assert max(sizes(node)) == 8
        node.requests.clear()
        assert right(together(client, reads(ADDRESSES[:1])), ADDRESSES[:1])
        assert sizes(node) == [1]


@pytest.mark.parametrize(
    "body",
    [
        request("eth_call", {"to": ADDRESSES[0]}, "latest"),
        request("eth_call", {"to": ADDRESSES[0], "data": "0x70a08231"}, "0x5"),
        request("eth_call", {"to": ADDRESSES[0], "data": "0x70a08231"}, "pending"),
        request("eth_call", {"to": ADDRESSES[0], "data": "0x70a08231"}, "latest", {}),
        request("eth_call", {"to": ADDRESSES[0], "data": "0x70a08231" + "00" * 2_000}, "latest"),
        request("eth_call", {"data": "0x70a08231"}, "latest"),
        request("eth_estimateGas", {"to": ADDRESSES[0], "data": "0x70a08231"}, "latest"),
        request("eth_getBlockByNumber", "latest", True),
        request("eth_getBlockByNumber", "pending", False),
        request("eth_getLogs", {}),
        request("eth_getBalance", ADDRESSES[0], "0x5"),
        request("eth_getBalance", ADDRESSES[0], {"blockNumber": "0x5"}),
        request("eth_getBalance", "0x" + "0" * 300, "latest"),
        request("eth_getBalance", ADDRESSES[0], "latest", "more"),
    ],
    ids=str,
)
def test_whatever_may_take_the_node_long_is_sent_by_itself(node, body, monkeypatch):
    monkeypatch.setattr(sharing, "QUICK_SECONDS", 60.0)
    with on(node) as client:
        answering(node, eth_estimateGas="0x5208")
        kept_connection(client, node)
        assert all("result" in answer for answer in together(client, [body] * 10))
        assert sizes(node) == [1] * 10


def test_an_error_of_one_read_is_no_other_ones(node):
    def refusing(handler, payload):
        replies = [{"jsonrpc": "2.0", "id": call["id"], "result": "0x539"} for call in payload]
        for call, reply in zip(payload, replies, strict=True):
            if call["method"] == "eth_getBalance":
                reply["result"] = balance(call["params"][0])
                if call["params"][0] == ADDRESSES[3]:
                    del reply["result"]
                    reply["error"] = {"code": -32000, "message": "missing trie node"}
        handler.send(200, json.dumps(replies).encode())

    with on(node) as client:
        kept_connection(client, node)
        node.always = refusing
        answers = together(client, reads())
        assert answers.pop(3)["error"] == {"code": -32000, "message": "missing trie node"}
        assert right(answers, ADDRESSES[:3] + ADDRESSES[4:])
        assert max(sizes(node)) == 8


def only_alone(fault):
    """The right answers to a call by itself, another thing to several."""
    answered = node_server.results(eth_chainId="0x539", eth_getBalance=lambda params: balance(params[0]))
    return lambda handler, payload: (answered if len(payload) == 2 else fault)(handler, payload)


ALONE = {
    "too many": node_server.body(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}'),
    "status": node_server.status(413),
    "torn down": node_server.reset,
    "cut off": node_server.truncated,
    "another order": node_server.edited(lambda replies: replies[1:]),
    "no JSON": node_server.body(b"<html>"),
    "long": node_server.body(b" " * (1 << 20)),
}


@pytest.mark.parametrize("name", ALONE)
def test_reads_that_a_node_does_not_answer_together_are_asked_one_by_one_and_apart_for_a_while(node, name):
    with on(node) as client:
        kept_connection(client, node)
        node.always = only_alone(ALONE[name])
        assert right(together(client, reads()))
        assert max(sizes(node)) == 8
        node.requests.clear()
        assert right(together(client, reads()))
        assert set(sizes(node)) == {1}


def test_what_is_asked_several_times_is_sent_once(node):
    with on(node) as client:
        kept_connection(client, node)
        blocks = [request("eth_getBlockByNumber", "latest", False)] * 8
        assert len({json.dumps(answer["result"]) for answer in together(client, blocks)}) == 1
        assert sizes(node) == [1]
        node.requests.clear()
        again = [*ADDRESSES[:3], *ADDRESSES[:3]]
        assert right(together(client, reads(again)), again)
        assert sizes(node) == [3]


# Quick calls


def called(argument, selector="0x70a08231"):
    return request("eth_call", {"to": ADDRESSES[0], "data": f"{selector}{argument:064x}"}, "latest")


def calls(count=20):
    return [called(argument) for argument in range(count)]


def called_right(answers):
    return [int(answer["result"], 16) for answer in answers] == list(range(len(answers)))


@pytest.fixture
def echoing(node):
    """Calls are answered with their argument, and one was before."""
    echo = {"eth_call": lambda params: "0x" + params[0]["data"][10:]}
    answering(node, **echo)
    with on(node) as client:
        kept_connection(client, node)
        assert called_right(together(client, calls(1)))
        node.requests.clear()
        yield client, node


def test_calls_of_a_function_that_is_known_to_be_quick_share_requests(echoing, monkeypatch):
    monkeypatch.setattr(sharing, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(pass_through, "SHARED_SECONDS", 60.0)
    client, node = echoing
    assert called_right(together(client, calls()))
    assert (sum(sizes(node)), max(sizes(node))) == (20, 8)


@pytest.mark.parametrize(("seconds", "selector"), [(0.0, "0x70a08231"), (60.0, "0x18160ddd")], ids=["slow", "unknown"])
def test_calls_of_a_function_that_is_slow_or_not_known_go_by_themselves(echoing, monkeypatch, seconds, selector):
    monkeypatch.setattr(sharing, "QUICK_SECONDS", seconds)
    client, node = echoing
    assert called_right(together(client, [called(argument, selector) for argument in range(10)]))
    assert sizes(node) == [1] * 10


@pytest.mark.parametrize("name", [*ALONE, "silent"])
def test_calls_that_a_node_does_not_answer_together_are_asked_one_by_one(echoing, monkeypatch, name):
    monkeypatch.setattr(sharing, "QUICK_SECONDS", 60.0)
    client, node = echoing
    fault = (ALONE | {"silent": node_server.silent})[name]
    node.always = lambda handler, payload: (echoed if len(payload) == 2 else fault)(handler, payload)
    monkeypatch.setattr(pass_through, "SHARED_SECONDS", 0.05 if name == "silent" else 60.0)
    assert called_right(together(client, calls()))
    assert max(sizes(node)) > 1
    node.requests.clear()
    assert called_right(together(client, calls()))
    assert set(sizes(node)) == {1}
    node.stopping.set()


def echoed(handler, payload):
    """The right answer to a call."""
    node_server.results(eth_chainId="0x539", eth_call=lambda params: "0x" + params[0]["data"][10:])(handler, payload)


def test_an_error_of_one_call_is_no_other_ones(echoing, monkeypatch):
    monkeypatch.setattr(sharing, "QUICK_SECONDS", 60.0)
    monkeypatch.setattr(pass_through, "SHARED_SECONDS", 60.0)
    client, node = echoing

    def reverting(handler, payload):
        replies = [{"jsonrpc": "2.0", "id": call["id"], "result": "0x539"} for call in payload]
        for call, reply in zip(payload[1:], replies[1:], strict=True):
            reply["result"] = argument = "0x" + call["params"][0]["data"][10:]
            if int(argument, 16) == 3:
                del reply["result"]
                reply["error"] = {"code": 3, "message": "execution reverted", "data": "0x"}
        handler.send(200, json.dumps(replies).encode())

    node.always = reverting
    answers = together(client, calls(8))
    assert answers.pop(3)["error"] == {"code": 3, "message": "execution reverted", "data": "0x"}
    assert [int(answer["result"], 16) for answer in answers] == [0, 1, 2, 4, 5, 6, 7]
    assert sizes(node) == [8]


def test_the_least_time_of_a_function_counts_and_is_forgotten_by_and_by():
    times, quick, slow = sharing.Quickness(), ("0x1", "0x2"), ("0x1", "0x3")
    for seconds in (0.1, 0.0004, 0.1):
        times.note(quick, seconds)
        times.note(slow, 0.1)
    assert (times.is_quick(quick), times.is_quick(slow), times.is_quick(("0x2", "0x2"))) == (True, False, False)
    times.note(quick, 0.1)
    assert not times.is_quick(quick)
    for number in range(sharing.KNOWN_TARGETS):
        times.note((str(number), ""), 0.0)
    assert times.is_quick(("0", ""))
    times.note(slow, 0.0)  # which was forgotten: its first time is its least
    assert times.is_quick(slow)


def test_reads_that_came_with_another_chain_id_are_not_given_out(node):
    with on(node) as client:
        kept_connection(client, node)
        answering(node, eth_chainId="0x1")
        messages = {answer["error"]["message"] for answer in together(client, reads())}
        assert messages == {"the node: its chain id is 1, the chain that is served has 1337"}
        assert max(sizes(node)) > 1
        answering(node)
        assert right(together(client, reads()))


def test_reads_that_a_node_does_not_answer_are_given_up_in_time(node):
    with on(node, node_timeout=0.3) as client:
        kept_connection(client, node)
        node.always = node_server.silent
        answers = together(client, reads())
        assert {answer["error"]["message"] for answer in answers} == {"the node: no answer in 0.3 s"}
        node.stopping.set()


# Batches


def batch(*calls):
    return json.dumps(
        [{"jsonrpc": "2.0", "method": method, "params": params, **more} for method, params, more in calls]
    )


BATCHES = {
    "ids": batch(*(("eth_getBalance", [address, "latest"], {"id": address}) for address in ADDRESSES[:10])),
    "one id": batch(*(("eth_getBalance", [address, "latest"], {"id": 1}) for address in ADDRESSES[:10])),
    "a notification": batch(("eth_getBalance", [ADDRESSES[0]], {}), ("eth_getBalance", [ADDRESSES[1]], {"id": 1})),
    "notifications": batch(("eth_getBalance", [ADDRESSES[0]], {}), ("eth_getBalance", [ADDRESSES[1]], {})),
    "an unknown field": batch(
        ("eth_call", [{"valeu": "0x1"}], {"id": 1}), ("eth_call", [{"to": ADDRESSES[0]}], {"id": 2}),
        ("eth_getBalance", [ADDRESSES[1]], {"id": None}),
    ),
    "unknown fields": batch(*(("eth_call", [{"valeu": "0x1"}], {"id": place}) for place in range(3))),
    "large integers": batch(("eth_call", [{}, 2**70], {"id": 1}), ("eth_getBalance", [ADDRESSES[0]], {"id": 2})),
    "other methods": batch(("eth_getBalance", [ADDRESSES[0]], {"id": 1}), ("nothing", [], {"id": 2})),
    "more than sixteen": batch(*(("eth_getBalance", [address], {"id": address}) for address in ADDRESSES)),
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_is_answered_the_same_with_and_without_a_task(node, name):
    """Without a connection at hand each batch has a task."""
    with on(node) as client:
        (expected,) = together(client, [BATCHES[name].encode()])
        kept_connection(client, node)
        assert [expected] * 2 == together(client, [BATCHES[name].encode()] * 2)


def test_a_batch_that_fails_as_a_whole_has_an_error_for_each_call(node):
    with on(node) as client:
        for fault in (node_server.status(500), node_server.edited(lambda replies: replies[1:])):
            answering(node)
            kept_connection(client, node)
            node.always = fault
            (answers,) = together(client, [BATCHES["ids"].encode()])
            assert [answer["id"] for answer in answers] == ADDRESSES[:10]
            assert {answer["error"]["code"] for answer in answers} == {-32002}


def test_a_transaction_in_a_batch_is_sent_once_where_the_node_may_have_it(node):
    calls = [("eth_sendRawTransaction", ["0x02"], {"id": 1}), ("eth_getBalance", [ADDRESSES[0]], {"id": 2})]
    with on(node) as client:
        kept_connection(client, node)
        node.faults.append(node_server.reset)
        (answers,) = together(client, [batch(*calls).encode()])
        assert {answer["error"]["code"] for answer in answers} == {-32002}
        assert sizes(node) == [2]
