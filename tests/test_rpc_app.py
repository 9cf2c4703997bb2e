"""The ASGI application, in process and behind a real server, answering proofs of the development genesis."""

import asyncio
import json
import socket
import threading
import time

import pytest
import urllib3
import uvicorn

from feemodel.ledger import check_proof
from feemodel.rpc.app import App
from feemodel.rpc.methods import DEVELOPMENT_ADDRESSES, DEVELOPMENT_BALANCE, development_store, proof_methods

DEVELOPMENT_ROOT = "0x77efb4a7116ebcda21e394d603881cd375b2a71f601d32b05b00b7e12139b4bf"


@pytest.fixture
def store(tmp_path):
    with development_store(tmp_path / "ledger.db") as store:
        yield store


def http(app, method, path, body=b"", chunk=100):
    """Status and body of one request."""
    parts = [body[start : start + chunk] for start in range(0, len(body), chunk)] or [b""]
    incoming = iter(
        {"type": "http.request", "body": part, "more_body": number < len(parts)} for number, part in enumerate(parts, 1)
    )
    sent = []

    async def receive():
        return next(incoming, {"type": "http.disconnect"})

    async def send(message):
        sent.append(message)

    asyncio.run(app({"type": "http", "method": method, "path": path}, receive, send))
    start, content = sent
    assert dict(start["headers"])[b"content-length"] == str(len(content["body"])).encode()
    return start["status"], content["body"]


def request(*params, method="rollup_getProof"):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


@pytest.mark.parametrize("method", ["rollup_getProof", "linea_getProof"])
@pytest.mark.parametrize("block", ["0x0", "earliest", "latest", "pending", "safe", "finalized"])
def test_the_development_genesis_is_provable(store, method, block):
    app = App(proof_methods(store))
    for address in (*DEVELOPMENT_ADDRESSES, "0x" + "77" * 20):
        status, body = http(app, "POST", "/", request(address, ["0x1", "0x1"], block, method=method))
        assert status == 200
        proven = check_proof(json.loads(body)["result"], root=DEVELOPMENT_ROOT, address=address, storage_keys=[1, 1])
        balance = proven.account.balance if proven.account else None
        assert balance == (DEVELOPMENT_BALANCE if address in DEVELOPMENT_ADDRESSES else None)


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ((DEVELOPMENT_ADDRESSES[0], [], "0x1"), -32600, "block 0x1 is not final: the newest final block is 0"),
        ((DEVELOPMENT_ADDRESSES[0], [], "best"), -32602, "block: expected a quantity"),
        ((DEVELOPMENT_ADDRESSES[0], ["0x1"] * 3, "0x0"), -32602, "storageKeys: at most 2 a request, got 3"),
        (("0x12", [], "0x0"), -32602, "address: expected 20 bytes"),
        ((DEVELOPMENT_ADDRESSES[0], []), -32602, "expected (address, storageKeys, block)"),
    ],
)
def test_what_is_wrong_is_said(store, params, code, message):
    status, body = http(App(proof_methods(store, key_limit=2)), "POST", "/", request(*params))
    error = json.loads(body)["error"]
    assert (status, error["code"]) == (200, code)
    assert message in error["message"]


def test_other_requests():
    app = App({}, body_limit=500)
    assert http(app, "GET", "/health") == (200, b'{"status":"ok"}')
    assert http(app, "GET", "/")[0] == 405
    assert http(app, "GET", "/nothing")[0] == 404
    assert http(app, "POST", "/", b" " * 501) == (413, b'{"error":"the request is longer than 500 bytes"}')
    assert http(app, "POST", "/", b'{"jsonrpc": "2.0", "method": "x"}') == (204, b"")


def test_a_client_that_goes_away_gets_nothing():
    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        raise AssertionError("an answer to nobody")

    asyncio.run(App({})({"type": "http", "method": "POST", "path": "/"}, receive, send))


def test_behind_a_real_server(tmp_path):
    """The store belongs to the thread that serves."""
    listener = socket.create_server(("127.0.0.1", 0))
    state = {}

    def serve():
        with development_store(tmp_path / "ledger.db") as store:
            config = uvicorn.Config(App(proof_methods(store)), ws="none", log_level="error")
            state["server"] = uvicorn.Server(config)
            state["server"].run(sockets=[listener])

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        body = request(DEVELOPMENT_ADDRESSES[0], ["0x0"], "latest")
        with urllib3.PoolManager(retries=urllib3.Retry(5, backoff_factor=0.1)) as pool:
            response = pool.request("POST", url, body=body, timeout=20)
            check_proof(response.json()["result"], root=DEVELOPMENT_ROOT)
    finally:
        while "server" not in state and thread.is_alive():
            time.sleep(0.01)
        state["server"].should_exit = True
        thread.join(20)
