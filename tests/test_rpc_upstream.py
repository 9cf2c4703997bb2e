"""A node behind the server: its gas, its errors as it gave them, and a clear error for whatever else it does."""

import asyncio
import functools
import json
import socket
import time
from contextlib import contextmanager

import pytest
import urllib3

import feemodel
from feemodel.io.shipped import shipped_path
from feemodel.rpc.app import App
from feemodel.rpc.development import LEDGER
from feemodel.rpc.pass_through import PASSED
from feemodel.rpc.service import Service
from feemodel.rpc.settings import Settings
from tests import node_server
from tests.development import RECORDS
from tests.rpc_calls import ANNA, BERT, LIST, NOBODY, SWAP, TOKEN, TOKENS, TRANSFER, data
from tests.rpc_parts import ANY_AGE, PATIENCE, behind, exchange, head_block, listening, opened, request


def results():
    """What the node answers; its newest block is of now, however long the tests before took."""
    return {
        "eth_getBlockByNumber": head_block(),
        "eth_estimateGas": "0x5208",
        "eth_chainId": "0x539",
        "eth_getTransactionCount": "0x7",
    }


@pytest.fixture(scope="module")
def address():
    """A node that answers well: a server of this package."""
    with behind(Settings(), store=shipped_path(LEDGER)) as address:
        yield address


@pytest.fixture(scope="module")
def direct(address):
    """The same chain without a node between."""
    with opened(Settings(), store=shipped_path(LEDGER), started=False) as client:
        yield client


@pytest.fixture(scope="module")
def client(address):
    with opened(Settings(node=address, max_age=ANY_AGE)) as client:
        yield client


@pytest.fixture
def node():
    """A node that answers what a test says, and misbehaves as it says."""
    with node_server.running() as node:
        answering(node)
        yield node


def replies(payload, known):
    if isinstance(payload, list):
        return [replies(call, known) for call in payload]
    return {"jsonrpc": "2.0", "id": payload["id"], "result": known.get(payload["method"])}


def answering(node, **others):
    def answer(handler, payload):
        handler.send(200, json.dumps(replies(payload, results() | others)).encode())

    node.always = answer


@contextmanager
def on(node, **settings):
    """A server before a node; its first look at the newest block is not among the requests."""
    with opened(Settings(node=node.url, **{"poll_seconds": PATIENCE, "node_timeout": PATIENCE, **settings})) as client:
        node.requests.clear()
        yield client


# What it passes on


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_chainId", []),
        ("eth_blockNumber", []),
        ("eth_getBlockByNumber", ["latest", False]),
        ("eth_getTransactionCount", [TOKEN, "latest"]),
        ("eth_getBalance", [ANNA, {"blockNumber": "0x0"}]),
        ("eth_getCode", [TOKEN, "0x0"]),
        ("eth_call", [{"to": LIST, "data": data("sum(uint256)", 20)}, "latest"]),
        ("eth_call", [{"to": LIST}, "latest", {LIST: {"code": "0x305f5260205ff3"}}]),
        ("eth_estimateGas", [TOKENS]),
        ("eth_createAccessList", [TOKENS]),
        ("eth_gasPrice", []),
        ("eth_maxPriorityFeePerGas", []),
        ("eth_feeHistory", ["0x1", "latest", [10]]),
        ("net_version", []),
        ("rollup_getProof", [LIST, ["0x0"], "latest"]),
        ("linea_getProof", [NOBODY, [], "0x0"]),
    ],
)
def test_what_the_node_answers_is_answered(client, direct, method, params):
    expected = direct.ask(method, *params)  # first, as it may compile for longer than is waited for a node
    assert client.ask(method, *params) == expected
    assert "result" in expected


def test_what_wallets_call_reaches_the_node_behind_the_chain_id(node):
    with on(node) as client:
        for method in PASSED:
            answering(node, **{method: ["0x539"] if method != "eth_chainId" else "0x539"})
            node.requests.clear()
            assert client.result(method, "0x1", None) in (["0x539"], "0x539")
            ((_, _, batch),) = node.requests
            asked = [(call["method"], call["params"]) for call in batch]
            assert asked == [("eth_chainId", []), (method, ["0x1", None])]


def test_calls_of_one_batch_reach_the_node_together_and_are_answered_in_their_order(node):
    answering(node, eth_blockNumber="0x6", eth_getBalance="0x7")
    calls = [("eth_blockNumber",), ("web3_clientVersion",), ("eth_getBalance", ANNA), ("eth_gasPrice",), ("nothing",)]
    batch = [{"jsonrpc": "2.0", "id": place, "method": name, "params": params}
             for place, (name, *params) in enumerate(calls)]  # fmt: skip
    with on(node) as client:
        answers = client.http("POST", "/", json.dumps(batch).encode()).json()
        ((_, _, asked),) = node.requests
    assert [call["method"] for call in asked] == ["eth_chainId", "eth_blockNumber", "eth_getBalance", "eth_gasPrice"]
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 4]
    assert [answer.get("result") for answer in answers[:4]] == ["0x6", f"feemodel/{feemodel.__version__}", "0x7", None]
    assert answers[4]["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas", "eth_createAccessList"])
def test_a_misspelt_field_of_a_call_never_reaches_the_node(node, method):
    """A node would execute it as if the field were absent."""
    with on(node) as client:
        error = client.error(method, {"to": LIST, "valeu": "0x1"}, "latest")
        assert (error["code"], error["message"]) == (
            -32602, "call.valeu: unknown field, did you mean value?, got '0x1'"
        )  # fmt: skip
        calls = [(method, [{"to": LIST, "valeu": "0x1"}]), ("eth_chainId", []), (method, [{"to": LIST}])]
        batch = [{"jsonrpc": "2.0", "id": i, "method": name, "params": given} for i, (name, given) in enumerate(calls)]
        answers = client.http("POST", "/", json.dumps(batch).encode()).json()
        assert [answer.get("error", {}).get("code") for answer in answers] == [-32602, None, None]
        assert "valeu" not in str(node.requests)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_call", [{"to": LIST}]),
        ("eth_estimateGas", [{**TRANSFER, "value": hex(10**23)}]),
        ("eth_estimateGas", [{"to": SWAP, "data": data("quote(address,uint256)", RECORDS, 1)}]),
        ("eth_getBalance", [ANNA, "0x5"]),
        ("eth_getBalance", ["0x12"]),
        ("rollup_getProof", [ANNA, [], "0x1"]),
    ],
)
def test_the_errors_of_the_node_are_passed_on_with_code_and_data(client, direct, method, params):
    assert client.error(method, *params) == direct.error(method, *params)


@pytest.mark.parametrize(
    "method",
    ["eth_sendTransaction", "eth_sign", "debug_traceCall", "admin_peers", "personal_sign", "txpool_status", "echo", ""],
)
def test_nothing_else_reaches_the_node(node, method):
    with on(node) as client:
        assert client.error(method, "0x") == {"code": -32601, "message": "Method not found", "data": method}
        assert client.result("eth_accounts") == []
        assert client.error("eth_getProof", ANNA, [], "latest")["message"].endswith(
            "rollup_getProof proves under the rollup's"
        )
        assert node.requests == []


def test_a_method_that_is_named_is_passed_on(node):
    answering(node, debug_traceCall={"gas": 1})
    with on(node, pass_methods=("debug_traceCall",)) as client:
        assert client.result("debug_traceCall", {}) == {"gas": 1}


@pytest.mark.parametrize("method", ["eth_sendRawTransaction", "eth_getLogs", "eth_getProof", "eth_subscribe"])
def test_a_method_that_only_a_node_answers_says_so(direct, method):
    error = direct.error(method, "0x")
    reason = {"eth_getProof": "rollup_getProof", "eth_subscribe": "WebSocket"}.get(method, "feemodel serve --node URL")
    assert (error["code"], reason in error["message"]) == (-32601, True)


def test_a_node_without_proofs_refuses_them_in_its_own_words():
    with behind(Settings()) as address, opened(Settings(node=address, max_age=ANY_AGE)) as client:
        error = {"code": -32601, "message": "Method not found", "data": "linea_getProof"}
        assert client.error("rollup_getProof", ANNA, [], "0x0") == error


# Estimates


@pytest.mark.parametrize(
    "call", [TRANSFER, TOKENS, {"to": BERT}, {**TOKENS, "nonce": "0x3", "gasPrice": "0x9"}], ids=str
)
def test_an_estimate_has_the_nodes_gas_and_our_fee(client, direct, call):
    gas = int(direct.result("eth_estimateGas", call), 16)
    size = feemodel.fee_size(call, gas=gas, nonce=0, base_fee=7, chain_id=1337)
    fee = feemodel.priority_fee(size, gas, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2)
    expected = {"gasLimit": hex(gas), "baseFeePerGas": "0x7", "priorityFeePerGas": hex(fee)}
    assert client.result("rollup_estimateGas", call) == client.result("linea_estimateGas", call) == expected


def test_an_override_reaches_the_node(client):
    call = {"from": NOBODY, "to": BERT, "value": "0x1", "gasPrice": "0x7"}
    rich = {NOBODY: {"balance": hex(10**18)}}
    for parameters in ([rich], ["latest", rich], [{"blockNumber": "0x0"}, rich]):
        assert client.result("rollup_estimateGas", call, *parameters)["gasLimit"] == "0x5208"
    assert client.error("rollup_estimateGas", call) == {"code": -32000, "message": "insufficient funds for transfer"}


PENDING = [TRANSFER, "pending"]
RICH = {BERT: {"balance": "0x1", "nonce": "0x2", "stateDiff": {}}}


@pytest.mark.parametrize(
    ("params", "asked", "counted"),
    [
        ([TRANSFER], PENDING, [ANNA, "pending"]),
        ([TRANSFER, "latest"], [TRANSFER, "latest"], [ANNA, "latest"]),
        ([TRANSFER, RICH], [*PENDING, RICH], [ANNA, "pending"]),
        ([TRANSFER, "0x5", RICH], [TRANSFER, "0x5", RICH], [ANNA, "0x5"]),
        ([TRANSFER, {}], PENDING, [ANNA, "pending"]),
        ([{**TRANSFER, "nonce": 7}], [{**TRANSFER, "nonce": "0x7"}, "pending"], None),
        ([{**TRANSFER, "value": 1, "gas": 90_000, "strict": True}],
         [{**TRANSFER, "gas": hex(90_000), "strict": True}, "pending"], [ANNA, "pending"]),
        ([TRANSFER, 5, {BERT: {"balance": 1, "nonce": 2, "stateDiff": {}}}], [TRANSFER, "0x5", RICH], [ANNA, "0x5"]),
        ([{"to": BERT}], [{"to": BERT}, "pending"], None),
    ],
    ids=str,
)  # fmt: skip
def test_the_node_is_asked_once_in_the_words_that_nodes_take(node, params, asked, counted):
    with on(node) as client:
        found = client.result("rollup_estimateGas", *params)
    assert found["gasLimit"] == "0x5208"
    ((_, _, batch),) = node.requests
    calls = [(call["method"], call["params"]) for call in batch]
    expected = [
        ("eth_chainId", []),
        ("eth_estimateGas", asked),
        ("eth_getBlockByNumber", ["latest", False]),
        ("eth_feeHistory", ["0x1", "latest", []]),
    ]
    assert calls == expected + ([("eth_getTransactionCount", counted)] if counted else [])


def test_the_nonce_of_the_node_is_measured(node):
    """A longer nonce is a longer transaction: 0x7 is one byte, 2**40 six with its length."""
    with on(node) as client:
        short = client.result("rollup_estimateGas", TRANSFER)
        answering(node, eth_getTransactionCount=hex(2**40))
        long = client.result("rollup_estimateGas", TRANSFER)
    fees = [int(found["priorityFeePerGas"], 16) for found in (short, long)]
    assert fees == [38_799_999, int(1.2 * (55 * 10**9 // 21_000 + 30_000_000))]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (["0x"], "call: expected an object"),
        ([{"value": "0x01"}], "call.value: expected a quantity"),
        ([{"gas": hex(30_000_001)}], "call.gas: expected at most 30,000,000"),
        ([{}, {NOBODY: {"balance": "1"}}], f"overrides.{NOBODY}.balance: expected a quantity"),
        ([{}, "latest", 5], "overrides: expected an object"),
    ],
)
def test_what_cannot_be_read_is_refused_before_the_node_is_asked(node, params, message):
    with on(node) as client:
        error = client.error("rollup_estimateGas", *params)
        assert (error["code"], error["message"].startswith(message)) == (-32602, True)
        assert node.requests == []


@pytest.mark.parametrize("code", [-32000, -32003, -32015, -32602, 3, 429_000])
def test_the_error_of_an_estimate_has_the_nodes_code(node, code):
    def refusing(payload):
        if isinstance(payload, list):
            return [refusing(call) for call in payload]
        if payload["method"] != "eth_estimateGas":
            return replies(payload, results())
        return {"jsonrpc": "2.0", "id": payload["id"], "error": {"code": code, "message": "in the node's words"}}

    with on(node) as client:
        node.always = lambda handler, payload: handler.send(200, json.dumps(refusing(payload)).encode())
        for method in ("rollup_estimateGas", "eth_estimateGas"):
            assert client.error(method, TRANSFER) == {"code": code, "message": "in the node's words"}


# A node that misbehaves


def each(change):
    """The right answers, each changed."""
    return node_server.edited(lambda batch: [change(reply) for reply in batch])


IDS = "the answers to a batch do not have the ids of its 1 calls"
MISBEHAVIOUR = {
    "torn down": (node_server.reset, "the connection broke before the answer was whole"),
    "truncated": (node_server.truncated, "the connection broke before the answer was whole"),
    "not found": (node_server.status(404), "HTTP 404 Not Found"),
    "broken": (node_server.status(500), "HTTP 500 Internal Server Error"),
    "bad gateway": (node_server.status(502), "HTTP 502 Bad Gateway"),
    "a web page": (node_server.body(b"<html>", content_type="text/html"), "the answer is not JSON-RPC"),
    "nothing": (node_server.body(b""), "the answer is not JSON-RPC"),
    "compressed unasked": (node_server.zipped, "the answer is not JSON-RPC"),
    "no HTTP": (lambda handler, _: handler.wfile.write(b"SSH-2.0\r\n\r\n"), "the answer cannot be read"),
    "a head without end": (lambda handler, _: handler.wfile.write(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 70_000),
                           "more than 65,536 bytes before the answer"),
    "no text": (node_server.body(b'[{"jsonrpc":"2.0","id":0,"result":"0x539"},{"id":1,"result":"\xff"}]'),
                "the answer is not JSON-RPC"),
    "another id": (each(lambda reply: {**reply, "id": reply["id"] + 1}), IDS),
    "the id as text": (each(lambda reply: {**reply, "id": str(reply["id"])}), IDS),
    "no id": (each(lambda reply: {"result": "0x1"}), IDS),
    "neither": (each(lambda reply: {"id": reply["id"]}), "the answer has neither result nor error"),
    "no code": (each(lambda reply: {"id": reply["id"], "error": {}}), "an error without a code"),
    "its name in an error": (
        lambda handler, payload: node_server.rpc_error(-32000, handler.server.url)(handler, payload),
        "the node: eth_chainId: the node (code -32000)",
    ),
}  # fmt: skip


def kept_connection(client, node):
    """Have a connection on which the next call is sent at once, without a task."""
    assert client.result("eth_chainId") == "0x539"
    node.requests.clear()


CONNECTIONS = pytest.mark.parametrize("is_kept", [False, True], ids=["new connection", "kept connection"])


@CONNECTIONS
@pytest.mark.parametrize("name", MISBEHAVIOUR)
def test_a_node_that_misbehaves_is_a_clear_error(node, name, is_kept):
    fault, message = MISBEHAVIOUR[name]
    with on(node) as client:
        if is_kept:
            kept_connection(client, node)
        node.always = fault
        error = client.error("eth_blockNumber")
        assert (error["code"], message in error["message"]) == (-32002, True), error
        assert error["message"].startswith("the node: ")
        assert node.url.removeprefix("http://") not in json.dumps(error)
        answering(node, eth_blockNumber="0x6")
        assert client.result("eth_blockNumber") == "0x6"


@CONNECTIONS
@pytest.mark.parametrize("fault", [node_server.silent, node_server.dripping])
def test_a_node_that_does_not_end_its_answer_is_not_waited_for(node, fault, is_kept):
    with on(node, node_timeout=0.3) as client:
        if is_kept:
            kept_connection(client, node)
        node.always = fault
        for _ in range(2):
            assert client.error("eth_blockNumber") == {"code": -32002, "message": "the node: no answer in 0.3 s"}
        assert client.error("rollup_estimateGas", TRANSFER)["message"] == "the node: no answer in 0.3 s"
        node.stopping.set()  # which ends the answers that hang


def changed(change):
    """The right answers to a batch, changed."""
    return lambda handler, payload: handler.send(200, json.dumps(change(replies(payload, results()))).encode())


def other_ids(batch):
    return [{**reply, "id": reply["id"] + 10} for reply in batch]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (changed(other_ids), "the answers to a batch do not have the ids of its 5 calls"),
        (changed(lambda batch: batch[:1]), "the answers to a batch do not have the ids of its 5 calls"),
        (changed(lambda batch: batch * 2), "the answers to a batch do not have the ids of its 5 calls"),
        (changed(lambda batch: [1, None]), "the answers to a batch do not have the ids of its 5 calls"),
    ],
)
def test_a_batch_that_is_answered_with_other_ids_is_no_answer(node, fault, message):
    with on(node) as client:
        node.always = fault
        assert client.error("rollup_estimateGas", TRANSFER) == {"code": -32002, "message": f"the node: {message}"}


def test_the_answers_of_a_batch_may_come_in_any_order(node):
    def reversed_answer(handler, payload):
        answers = replies(payload, results())
        handler.send(200, json.dumps(answers[::-1] if isinstance(answers, list) else answers).encode())

    with on(node) as client:
        expected = client.result("rollup_estimateGas", TRANSFER)
        node.always = reversed_answer
        assert client.result("rollup_estimateGas", TRANSFER) == expected


@pytest.mark.parametrize("value", [None, "5208", "0x", 21_000, {}, "0xzz", "\ud800"], ids=repr)
@pytest.mark.parametrize("method", ["eth_estimateGas", "eth_getTransactionCount", "eth_chainId"])
def test_what_is_no_quantity_is_no_answer(node, method, value):
    with on(node) as client:
        answering(node, **{method: value})
        error = client.error("rollup_estimateGas", TRANSFER)
        assert (error["code"], method in error["message"], node.url in error["message"]) == (-32002, True, False)
        answering(node)
        assert client.result("rollup_estimateGas", TRANSFER)["gasLimit"] == "0x5208"


def test_an_answer_that_is_no_text_is_no_answer(node):
    with on(node) as client:
        answering(node, eth_call=["\ud800"])
        error = client.error("eth_call", {})
        assert (error["code"], "the answer is not JSON-RPC" in error["message"]) == (-32002, True)


def long_answer(handler, payload, cut=0):
    """A result of five megabytes, as a whole or cut off."""
    answers = [{"jsonrpc": "2.0", "id": call["id"], "result": "0x539" if call["method"] == "eth_chainId" else LONG}
               for call in payload]  # fmt: skip
    data = json.dumps(answers).encode()
    handler.send(200, data[: len(data) - cut], content_length=str(len(data)))
    handler.close_connection = bool(cut)


LONG = ["ab" * 50_000] * 50


def served(node):
    """The application of a server before a node, made in the thread that serves."""

    def made():
        service = Service(Settings(node=node.url, poll_seconds=PATIENCE, node_timeout=PATIENCE), None)
        return App(service.methods, state=service)

    return listening(made, factory=True)


def test_a_long_answer_is_passed_on_while_it_arrives(node):
    with served(node) as port:
        node.always = long_answer
        for _ in range(2):
            answer = urllib3.request("POST", f"http://127.0.0.1:{port}", json=json.loads(request("eth_getLogs", {})))
            assert answer.headers["transfer-encoding"] == "chunked"
            assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": LONG}


def test_a_client_of_http_1_0_gets_a_long_answer_too(node):
    body = request("eth_getLogs", {})
    head = b"POST / HTTP/1.0\r\ncontent-type: application/json\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n"
    with served(node) as port, socket.create_connection(("127.0.0.1", port)) as client:
        node.always = long_answer
        client.sendall(head % len(body) + body)
        head, _, answer = client.makefile("rb").read().partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert json.loads(answer) == {"jsonrpc": "2.0", "id": 1, "result": LONG}


def test_a_long_answer_that_breaks_off_is_no_whole_answer(node):
    with served(node) as port:
        node.always = functools.partial(long_answer, cut=100)
        with pytest.raises(urllib3.exceptions.ProtocolError):
            urllib3.request(
                "POST", f"http://127.0.0.1:{port}", json=json.loads(request("eth_getLogs", {})), retries=False
            )
        answering(node)
        answer = urllib3.request("POST", f"http://127.0.0.1:{port}", json=json.loads(request("eth_chainId")))
        assert answer.json()["result"] == "0x539"


def test_a_long_answer_of_another_chain_is_not_passed_on(node):
    with served(node) as port:
        urllib3.request("POST", f"http://127.0.0.1:{port}", json=json.loads(request("eth_chainId")))
        node.always = lambda handler, payload: handler.send(200, json.dumps([
            {"jsonrpc": "2.0", "id": call["id"], "result": "0x1" if call["method"] == "eth_chainId" else LONG}
            for call in payload]).encode())  # fmt: skip
        answer = urllib3.request("POST", f"http://127.0.0.1:{port}", json=json.loads(request("eth_getLogs", {})))
        assert "its chain id is 1" in answer.json()["error"]["message"]


@CONNECTIONS
def test_a_transaction_is_sent_once_where_the_node_may_have_it(node, is_kept):
    with on(node) as client:
        for fault in (node_server.reset, node_server.truncated, node_server.status(503)):
            if is_kept:
                kept_connection(client, node)
            node.requests.clear()
            node.faults.append(fault)
            assert client.error("eth_sendRawTransaction", "0x02")["code"] == -32002
            assert len(node.requests) == 1
        node.requests.clear()
        node.faults.append(node_server.status(429))  # which says that it was not taken
        assert client.result("eth_sendRawTransaction", "0x02") is None
        assert len(node.requests) == 2


def test_an_answer_without_bounds_is_passed_on_as_it_is(node):
    with on(node) as client:
        answering(node, eth_call=[2**70, 1.5, None, {"a": ["ключ"]}])
        assert client.result("eth_call", {}) == [2**70, 1.5, None, {"a": ["ключ"]}]


def test_who_waits_for_a_silent_node_keeps_nobody_else_waiting(node):
    """More calls than there are connections to the node; each has its error, and others their answers before that."""
    with on(node, node_timeout=1.0) as client:
        node.always = node_server.silent

        async def asked():
            began, done = time.monotonic(), []

            async def one(*call):
                answer = await exchange(client.app, "POST", "/", request(*call))
                done.append((answer.json(), time.monotonic() - began))

            await asyncio.gather(
                *(one("eth_blockNumber") for _ in range(40)), *(one("web3_clientVersion") for _ in "ab")
            )
            return done

        done = client.loop.run(asked())
        assert [("result" in answer) for answer, _ in done] == [True] * 2 + [False] * 40
        errors = {(answer["error"]["code"], answer["error"]["message"]) for answer, _ in done[2:]}
        assert errors == {(-32002, "the node: no answer in 1 s")}
        node.stopping.set()


def until_health(client, reachable):
    end = time.monotonic() + PATIENCE
    while client.http("GET", "/health").json()["node"]["reachable"] is not reachable:
        assert time.monotonic() < end
        client.wait(0.02)
    return client.http("GET", "/health").json()["node"]


def test_health_and_readiness_follow_the_node(node):
    with on(node, poll_seconds=0.05) as client:
        assert until_health(client, True)["error"] is None
        assert client.http("GET", "/ready").json() == {"ready": True, "reasons": []}
        for _ in range(2):
            node.always = node_server.status(500)
            assert until_health(client, False)["error"] == "the node: HTTP 500 Internal Server Error"
            ready = client.http("GET", "/ready")
            assert (ready.status, ready.json()["reasons"]) == (503, ["the node: HTTP 500 Internal Server Error"])
            assert client.http("GET", "/health").status == 200  # the process is well

            answering(node)
            seen = until_health(client, True)
            assert (seen["error"], 0 <= seen["ageSeconds"] < PATIENCE) == (None, True)
            assert client.http("GET", "/ready").status == 200
            assert client.result("rollup_estimateGas", TRANSFER)["gasLimit"] == "0x5208"


@pytest.mark.parametrize("head", [None, [], "0x5", {}], ids=repr)
def test_a_newest_block_that_is_none_is_said(node, head):
    answering(node, eth_getBlockByNumber=head)
    with opened(Settings(node=node.url, poll_seconds=PATIENCE)) as client:
        seen = client.http("GET", "/health").json()["node"]
        assert not seen["reachable"]


def test_a_node_that_is_gone_is_said_at_once():
    with node_server.running() as gone:
        url = gone.url
    with opened(Settings(node=url, node_timeout=PATIENCE, poll_seconds=PATIENCE)) as client:
        for method, params in (("eth_chainId", []), ("rollup_estimateGas", [TRANSFER])):
            error = client.error(method, *params)
            assert error["code"] == -32002
            assert error["message"].startswith("the node: no connection (")
        error = client.error("feemodel_pricing")  # whose base fee is the node's
        assert error["message"].startswith("the newest block: none yet, the node: no connection (")
        assert client.http("GET", "/ready").status == 503
