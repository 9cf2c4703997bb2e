"""The ASGI application in process: who is answered, what is refused before anything is read, what GET says."""

import asyncio
import json

import pytest

from feemodel.rpc.app import Access, App, Page
from feemodel.rpc.keys import Key, Keys
from tests.rpc_parts import Client, exchange, request

PAGE = Page(b"<!doctype html>", ((b"content-type", b"text/html; charset=utf-8"), (b"referrer-policy", b"no-referrer")))
ECHO = request("echo", 1)
ECHOED = {"jsonrpc": "2.0", "id": 1, "result": [1]}
DEFAULT = Access()


class State:
    """What a process says of itself, and whether it was told to begin and to end."""

    def __init__(self):
        self.told, self.reasons = [], []

    async def start(self):
        self.told.append("start")

    async def close(self):
        self.told.append("close")

    def health(self):
        return {"status": "ok", "finalizedBlock": 7}

    def unready(self):
        return self.reasons


async def text():
    return b"feemodel_calls_total 1\n"


def application(access=DEFAULT, **parts):
    methods = {"echo": lambda *values: list(values), "wait": asyncio.sleep}
    return App(methods, access=access, **{"page": PAGE, "openrpc": b"{}", "metrics": text, "state": State(), **parts})


@pytest.fixture(scope="module")
def loop():
    with asyncio.Runner() as loop:
        yield loop


@pytest.fixture
def client(loop):
    return Client(application(), loop)


def test_a_call_is_answered_and_a_notification_has_no_answer(client):
    answer = client.http("POST", "/", ECHO)
    assert (answer.status, answer.headers["content-type"], answer.json()) == (200, "application/json", ECHOED)

    answer = client.http("POST", "/", b'{"jsonrpc": "2.0", "method": "echo"}')
    assert (answer.status, answer.body) == (204, b"")


@pytest.mark.parametrize(
    ("method", "path", "status", "body", "kind"),
    [
        ("GET", "/", 200, PAGE.body, "text/html; charset=utf-8"),
        ("GET", "/health", 200, b'{"status":"ok","finalizedBlock":7}', "application/json"),
        ("GET", "/ready", 200, b'{"ready":true,"reasons":[]}', "application/json"),
        ("GET", "/metrics", 200, b"feemodel_calls_total 1\n", "text/plain; version=0.0.4; charset=utf-8"),
        ("GET", "/openrpc.json", 200, b"{}", "application/json"),
        ("HEAD", "/health", 200, b'{"status":"ok","finalizedBlock":7}', "application/json"),
        ("GET", "/nothing", 404, b'{"error":"not found"}', "application/json"),
        ("POST", "/nothing", 404, b'{"error":"not found"}', "application/json"),
        ("POST", "/v3/abc", 404, b'{"error":"not found"}', "application/json"),
        ("GET", "/../../etc/passwd", 404, b'{"error":"not found"}', "application/json"),
        ("GET", "/healt\N{LATIN SMALL LETTER H WITH STROKE}", 404, b'{"error":"not found"}', "application/json"),
        ("POST", "/health", 405, b'{"error":"method not allowed"}', "application/json"),
        ("PUT", "/", 405, b'{"error":"method not allowed"}', "application/json"),
        ("OPTIONS", "/", 405, b'{"error":"method not allowed"}', "application/json"),
        ("DELETE", "/metrics", 405, b'{"error":"method not allowed"}', "application/json"),
    ],
)
def test_what_each_path_answers(client, method, path, status, body, kind):
    answer = client.http(method, path)
    assert (status, body, kind) == (answer.status, answer.body, answer.headers["content-type"])


@pytest.mark.parametrize(
    ("parts", "method", "path", "allowed"),
    [
        ({}, "PUT", "/", "GET, HEAD, POST"),
        ({"page": None}, "GET", "/", "POST"),
        ({}, "POST", "/health", "GET, HEAD"),
    ],
)
def test_a_method_that_is_not_allowed_is_told_which_are(loop, parts, method, path, allowed):
    answer = Client(application(**parts), loop).http(method, path)
    assert (405, allowed) == (answer.status, answer.headers["allow"])


@pytest.mark.parametrize("path", ["/metrics", "/openrpc.json"])
def test_what_a_server_does_not_have_is_not_found(loop, path):
    assert Client(application(metrics=None, openrpc=None), loop).http("GET", path).status == 404


def test_ready_says_why_it_is_not(loop):
    state = State()
    client = Client(application(state=state), loop)
    state.reasons = ["the newest block: none yet"]
    answer = client.http("GET", "/ready")
    assert (503, {"ready": False, "reasons": state.reasons}) == (answer.status, answer.json())
    assert client.http("GET", "/health").status == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8545", "127.0.0.1", "127.0.0.1:1", "[::1]:8545", "[::1]"])
def test_the_names_of_loopback_are_answered(client, host):
    assert client.http("POST", "/", ECHO, host=host).json() == ECHOED


@pytest.mark.parametrize("host", ["192.0.2.7", "192.0.2.7:8545", "[2001:db8::1]:8545", "[::2]", "[::ffff:192.0.2.7]"])
@pytest.mark.parametrize(("method", "path"), [("POST", "/"), ("GET", "/health")])
def test_addresses_are_answered_for_nobody_can_point_them_elsewhere(client, host, method, path):
    assert client.http(method, path, ECHO, host=host).status == 200


@pytest.mark.parametrize("upgrade", ["websocket", "WebSocket", "h2c, websocket", "websocket/13"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_websocket_is_told_that_there_is_none(client, method, upgrade):
    answer = client.http(method, "/", ECHO, upgrade=upgrade, connection="Upgrade")
    assert (answer.status, answer.headers["upgrade"]) == (426, "HTTP/1.1")
    assert answer.json() == {"error": "expected JSON-RPC by POST; there is no WebSocket here"}


def test_another_upgrade_is_not_taken_up(client):
    assert client.http("POST", "/", ECHO, upgrade="h2c", connection="Upgrade").json() == ECHOED


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8545",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "",
        "::1",
        "[",
        ":80",
        "[::1]evil.example",
        "127.0.0.1 evil.example",
        "127.0.0.1:80:80",
        "[127.0.0.1",
        "0x7f.1",
        "2130706433",
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "/"), ("GET", "/"), ("GET", "/health"), ("GET", "/nothing")])
def test_a_page_whose_name_points_here_is_refused(client, host, method, path):
    answer = client.http(method, path, ECHO, host=host)
    assert answer.status == 403
    assert answer.json() == {"error": f"the host {host!r} is not one of those that are answered"}


def test_a_request_without_a_host_is_refused(loop):
    answer = loop.run(exchange(application(), "POST", "/", ECHO, {"content-type": "application/json"}))
    assert answer.status == 403


@pytest.mark.parametrize(
    ("allowed", "host", "status"),
    [
        ({"node.example"}, "NODE.example:443", 200),
        ({"node.example"}, "localhost", 403),
        ({"*"}, "anything.example", 200),
        ({"*"}, "", 200),
    ],
)
def test_the_hosts_that_are_named_are_answered(loop, allowed, host, status):
    client = Client(application(Access(hosts=frozenset(allowed))), loop)
    assert client.http("POST", "/", ECHO, host=host).status == status


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/jsonp", 415),
        ("", 415),
    ],
)
def test_only_json_is_read(client, kind, status):
    """A page elsewhere may send the others without asking first."""
    answer = client.http("POST", "/", ECHO, content_type=kind)
    assert answer.status == status
    if status == 415:
        assert answer.json() == {"error": f"expected content-type application/json, got {kind!r}"}


@pytest.mark.parametrize(
    ("encoding", "status"), [("identity", 200), ("gzip", 415), ("br", 415), ("gzip, identity", 415)]
)
def test_a_compressed_body_is_not_unpacked(client, encoding, status):
    answer = client.http("POST", "/", ECHO, content_encoding=encoding)
    assert answer.status == status
    if status == 415:
        assert answer.json() == {"error": f"expected no content-encoding, got {encoding!r}"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v3/s3cret-key", 200),
        ("POST", "/v3/s3cret-ke", 401),
        ("POST", "/v3/s3cret-keyy", 401),
        ("POST", "/v3/s3cret-key/", 401),
        ("POST", "/v3/S3CRET-KEY", 401),
        ("POST", "/v3/", 401),
        ("POST", "/", 401),
        ("GET", "/", 401),
        ("GET", "/v3/wrong", 401),
        ("GET", "/v3/s3cret-key", 200),
        ("OPTIONS", "/v3/wrong", 401),
        ("POST", "/v3", 404),
        ("GET", "/health", 200),
        ("GET", "/metrics", 200),
        ("POST", "/health", 405),
    ],
)
def test_with_a_key_only_its_path_answers_calls(loop, method, path, status):
    client = Client(application(Access(keys=Keys.of({"s3cret-key": Key(name="api_key", operator=True)}))), loop)
    answer = client.http(method, path, ECHO)
    assert answer.status == status
    assert b"s3cret-key" not in answer.body
    if status == 401:
        assert answer.json() == {"error": "this request does not have a key that is known here"}


@pytest.mark.parametrize(
    ("named", "origin", "allowed"),
    [
        ((), "https://page.example", None),
        (("https://page.example",), None, None),
        (("https://page.example",), "https://page.example", "https://page.example"),
        (("https://page.example",), "https://page.example.evil.example", None),
        (("https://page.example",), "null", None),
        (("https://a.example", "https://b.example"), "https://b.example", "https://b.example"),
        (("*",), "https://anything.example", "https://anything.example"),
    ],
)
def test_a_page_elsewhere_reads_answers_only_where_its_origin_was_named(loop, named, origin, allowed):
    client = Client(application(Access(cors_origins=named)), loop)
    headers = {} if origin is None else {"origin": origin}
    for method, path in (("POST", "/"), ("GET", "/health"), ("GET", "/nothing")):
        answer = client.http(method, path, ECHO, **headers)
        assert answer.headers.get("access-control-allow-origin") == allowed
        assert answer.headers.get("vary") == (allowed and "origin")

    asked = client.http("OPTIONS", "/", **headers, access_control_request_method="POST")
    assert asked.status == (204 if allowed else 405)
    assert asked.headers.get("access-control-allow-methods") == (allowed and "POST")
    assert asked.headers.get("access-control-allow-headers") == (allowed and "content-type, x-api-key, authorization")


def test_a_batch_is_held_to_its_limit(loop):
    client = Client(application(Access(batch_limit=3)), loop)
    calls = [json.loads(ECHO)] * 4
    assert len(client.http("POST", "/", json.dumps(calls[:3]).encode()).json()) == 3
    refused = client.http("POST", "/", json.dumps(calls).encode()).json()
    assert refused["error"]["code"] == -32600
    assert refused["error"]["data"] == "a batch holds 1 to 3 calls, this one 4"


def test_the_process_is_told_when_it_begins_and_ends(loop):
    state = State()
    app = application(state=state)
    loop.run(app.start())
    loop.run(app.close())
    assert state.told == ["start", "close"]
