"""nginx as in `deploy/nginx.conf`: keys, rates, limits; `test_clients_sending.py` has WebSockets to the node."""

import re
import time
from collections import Counter

import pytest
import urllib3

from tests.system.nginx import BINARY, HOST, KEYS, Shipped, shipped
from tests.system.start import started

needs_nginx = pytest.mark.skipif(BINARY is None, reason="needs nginx, of Debian's package of that name")
CALL = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}


@pytest.fixture(scope="module")
def server():
    with started("--workers", "1") as server:
        yield server


@pytest.fixture(scope="module")
def front(server, tmp_path_factory):
    """nginx in front of a server."""
    with shipped(tmp_path_factory.mktemp("nginx"), f"127.0.0.1:{server.port}") as front:
        yield front


@pytest.fixture
def pool(front):
    with pool_of(front) as pool:
        yield pool


def pool_of(front):
    """Connections of a client."""
    return urllib3.HTTPSConnectionPool(
        "127.0.0.1", front.port, ssl_context=front.tls, server_hostname=HOST, assert_hostname=HOST, timeout=60,
        headers={"host": HOST}, retries=False,
    )  # fmt: skip


def asked(pool, path="/", call=CALL, **headers):
    return pool.request("POST", path, json=call, headers={"host": HOST, **headers})


@needs_nginx
def test_a_key_in_the_path_or_in_a_header_is_asked_for(pool):
    expected = {"jsonrpc": "2.0", "id": 1, "result": "0x539"}

    assert asked(pool, f"/v3/{KEYS['wallet']}").json() == expected
    assert asked(pool, "/", **{"x-api-key": KEYS["wallet"]}).json() == expected
    for path in ("/", "/v3/", "/v3/guess", f"/v3/{KEYS['wallet']}/more", f"/{KEYS['wallet']}", "/ws/guess"):
        assert asked(pool, path).status == 401, path
    assert asked(pool, "/", **{"x-api-key": "guess"}).status == 401


@needs_nginx
def test_batches_pages_and_limits_pass_through(pool, server):
    path = f"/v3/{KEYS['wallet']}"

    assert [reply["result"] for reply in asked(pool, path, [CALL] * 1_000).json()] == ["0x539"] * 1_000
    page = pool.request("GET", path, headers={"host": HOST})
    assert page.status == 200
    for name in re.findall(r'(?:src|href)="(static/[^"]+)"', page.data.decode()):
        assert pool.request("GET", f"/v3/{name}", headers={"host": HOST}).status == 200, name
    kind = {"host": HOST, "content-type": "application/json"}
    assert pool.request("POST", path, body=b" " * (1 << 21), headers=kind).status == 413
    for path in ("/metrics", "/health", "/ready"):
        for key in (KEYS["wallet"], "guess"):
            assert pool.request("GET", path, headers={"host": HOST, "x-api-key": key}).status == 404
        assert urllib3.request("GET", server.address + path).status == 200


@needs_nginx
def test_pages_of_a_listed_origin_may_read_answers(pool):
    listed, other = {"origin": "https://app.example.org"}, {"origin": "https://evil.example"}
    preflight = pool.request("OPTIONS", "/", headers={"host": HOST, **listed, "access-control-request-method": "POST"})
    assert preflight.status == 204
    assert preflight.headers["access-control-allow-origin"] == listed["origin"]
    assert "x-api-key" in preflight.headers["access-control-allow-headers"]
    path = f"/v3/{KEYS['wallet']}"
    assert asked(pool, path, **listed).headers["access-control-allow-origin"] == listed["origin"]
    assert "access-control-allow-origin" not in asked(pool, path, **other).headers


@needs_nginx
def test_a_killed_instance_costs_no_later_request(tmp_path):
    """The other instance answers, as soon as the killed one refuses connections."""
    with (
        started() as first,
        started() as second,
        shipped(tmp_path, f"127.0.0.1:{first.port}", second=f"127.0.0.1:{second.port}") as front,
        pool_of(front) as pool,
    ):
        path = f"/v3/{KEYS['wallet']}"
        before = Counter(asked(pool, path).status for _ in range(20))
        first.process.kill()
        first.process.wait(60)
        after = Counter(asked(pool, path).status for _ in range(20))

    assert before == {200: 20}
    assert after == {200: 20}


@needs_nginx
def test_a_key_has_its_rate_and_other_keys_have_theirs(front: Shipped, pool):
    seen, until = Counter(), time.monotonic() + 2.0
    while time.monotonic() < until and not seen[429]:
        batch = [asked(pool, f"/v3/{KEYS['attacker']}").status for _ in range(50)]
        seen.update(batch)
    assert seen.keys() <= {200, 429}
    if seen.total() > 400:  # on a busy machine fewer may be sent in that time
        assert seen[429] > 0
    assert asked(pool, f"/v3/{KEYS['wallet']}").status == 200


@needs_nginx
def test_no_log_has_a_key(front: Shipped, pool):
    asked(pool, f"/v3/{KEYS['wallet']}")
    asked(pool, f"/v3/{KEYS['wallet']}/more")
    log = (front.folder / "feemodel.log").read_text()

    assert " wallet POST 200 " in log
    assert KEYS["wallet"] not in log
