"""API keys: what each opens, its rates and methods, the file that is read again, and what the log says."""

import asyncio
import json
import os
import signal
import time

import pytest

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.rpc.app import Access, App
from feemodel.rpc.keys import Key, Keys, Rates, read_keys
from feemodel.rpc.service import Service
from feemodel.rpc.settings import Settings
from tests.rpc_calls import TRANSFER
from tests.rpc_parts import PATIENCE, Client, request
from tests.serving import serving

NARROW = Key(name="narrow", methods=("eth_*", "web3_clientVersion"))
KEYS = {
    "plain": Key(name="plain"),
    "slow": Key(name="slow", requests_per_second=3.0),
    "light": Key(name="light", gas_per_second=1_000.0),
    "narrow": NARROW,
    "own/er": Key(name="owner", operator=True),
}


@pytest.fixture
def client():
    async def made():
        return Service(Settings(), None)

    with asyncio.Runner() as loop:
        service = loop.run(made())
        access = Access(keys=Keys.of(KEYS), guarded=frozenset({"/metrics", "/health"}), cors_origins=("*",))

        async def metrics():
            return b"up 1\n"

        yield Client(App(service.methods, access=access, state=service, metrics=metrics), loop)
        loop.run(service.close())


def asked(client, key, *call, where="header"):
    """The answer with a key in a header or in the path."""
    headers = {"header": {"x_api_key": key}, "bearer": {"authorization": f"bearer {key}"}}
    fields = headers.get(where, {})
    return client.http("POST", f"/v3/{key}" if where == "path" else "/", request(*call), **fields)


@pytest.mark.parametrize("where", ["header", "bearer", "path"])
@pytest.mark.parametrize(
    ("key", "status"), [("plain", 200), ("own/er", 200), ("plai", 401), ("plainn", 401), ("", 401)]
)
def test_a_key_opens_from_the_header_and_the_path(client, where, key, status):
    assert status == asked(client, key, "web3_clientVersion", where=where).status


def test_guarded_paths_open_for_operators_only(client):
    assert client.http("GET", "/metrics").status == 401
    assert client.http("GET", "/health", x_api_key="plain").status == 401
    assert client.http("GET", "/health", authorization="Bearer own/er").status == 200
    assert client.http("GET", "/metrics", x_api_key="own/er").body == b"up 1\n"
    assert client.http("GET", "/ready").status == 200  # which is not guarded here


def test_a_browser_may_ask_whether_it_may_send_a_key(client):
    answer = client.http("OPTIONS", "/", origin="https://app.example")
    assert (answer.status, "x-api-key" in answer.headers["access-control-allow-headers"]) == (204, True)


def test_a_key_calls_the_methods_that_it_names(client):
    assert "result" in asked(client, "narrow", "eth_chainId").json()
    error = asked(client, "narrow", "feemodel_pricing").json()["error"]
    assert (error["code"], error["message"]) == (-32601, "feemodel_pricing is not among the methods of this key")


def test_a_rate_of_calls_ends_in_429_with_the_seconds_to_wait(client):
    answers = [asked(client, "slow", "eth_chainId") for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[3].headers["retry-after"] == "1"
    assert asked(client, "plain", "eth_chainId").status == 200  # another key is none the wiser


def test_the_calls_of_a_batch_count_one_by_one(client):
    batch = [json.loads(request("eth_chainId")) for _ in range(5)]
    answers = client.http("POST", "/", json.dumps(batch).encode(), x_api_key="slow").json()
    assert ["result" in answer for answer in answers] == [True] * 3 + [False] * 2
    assert {-32005} == {answer["error"]["code"] for answer in answers[3:]}


def test_gas_that_was_executed_counts(client):
    """One estimate of 21,000 gas is more than twenty seconds of this key's rate."""
    assert "result" in asked(client, "light", "eth_estimateGas", TRANSFER).json()
    answer = asked(client, "light", "eth_chainId")
    assert answer.status == 429
    assert 15 <= int(answer.headers["retry-after"]) <= 22


def test_a_rate_comes_back_with_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("feemodel.rpc.keys.monotonic", lambda: now[0])
    rates = Rates()
    assert [rates.take(0, 2.0, 1.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    now[0] += 0.5
    assert [rates.take(0, 2.0, 1.0) for _ in range(2)] == [0.0, 0.5]
    now[0] += 1_000
    assert [rates.take(0, 2.0, 1.0) for _ in range(3)] == [0.0, 0.0, 0.5]


def test_a_refused_key_is_logged_with_the_client_and_without_the_key(client, caplog):
    asked(client, "s3cret-guess", "eth_chainId")
    client.http("POST", "/", request("eth_chainId"))
    for _ in range(100):
        asked(client, "s3cret-guess", "eth_chainId")
    told = [record.getMessage() for record in caplog.records if record.name == "feemodel.audit"]
    assert "s3cret-guess" not in caplog.text
    assert told[:2] == ["refused a request with a wrong key from ", "refused a request with no key from "]
    assert len(told) < 20


FILES = [
    ("", "expected 1 to 1,024 tables, got 0"),
    ("a = 1", "a: expected a table"),
    ("[a]", "a.key: expected text"),
    ("[a]\nkey = 's3cret key'", "a.key: expected ASCII that a path holds"),
    ("[a]\nkey = 's3cret'\nkex = 1", "a.kex: expected one of key, requests_per_second"),
    ("[a]\nkey = 's3cret'\nrequests_per_second = 0", "a.requests_per_second: expected a number above 0"),
    ("[a]\nkey = 's3cret'\ngas_per_second = 'x'", "a.gas_per_second: expected"),
    ("[a]\nkey = 's3cret'\nmethods = 'eth_call'", "a.methods: expected a list"),
    ("[a]\nkey = 's3cret'\noperator = 1", "a.operator: expected true or false"),
    ("[a]\nkey = 's3cret'\n[b]\nkey = 's3cret'", "b.key: expected another key than that of a"),
]


@pytest.mark.parametrize(("text", "message"), FILES)
def test_a_file_that_says_something_else_is_refused_without_showing_a_key(tmp_path, text, message):
    path = tmp_path / "keys.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_keys(path)
    assert message in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("text", ["[a]\nkey = s3cret", None])
def test_a_file_that_cannot_be_read_is_refused_without_showing_a_key(tmp_path, text):
    path = tmp_path / "keys.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UnreadableFile) as refused:
        read_keys(path)
    assert "s3cret" not in str(refused.value)


def test_sighup_has_all_workers_read_the_file_again(tmp_path):
    path = tmp_path / "keys.toml"
    path.write_text("[a]\nkey = 'first'\nrequests_per_second = 1000")
    with serving("--workers", "2", "--api-keys", str(path)) as server:

        def statuses(key):
            return {
                server.pool.request(
                    "POST", f"{server.address}/v3/{key}", json=json.loads(request("eth_chainId"))
                ).status
                for _ in range(20)
            }

        assert {200} == statuses("first")
        path.write_text("[a]\nkey = 'first'\nbroken")
        os.kill(server.pid, signal.SIGHUP)
        time.sleep(0.5)
        assert {200} == statuses("first")  # a file with an error changes nothing
        path.write_text("[a]\nkey = 'second'")
        os.kill(server.pid, signal.SIGHUP)
        end = time.monotonic() + PATIENCE
        while statuses("first") != {401} or statuses("second") != {200}:
            assert time.monotonic() < end
            time.sleep(0.05)
