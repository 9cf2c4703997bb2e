"""Examples of deployment: nginx with TLS in front of a real server, Kubernetes, what an image is built from."""

import json
import re
import socket
import ssl
import subprocess
from contextlib import contextmanager

import pytest
import urllib3
import yaml
from websockets.sync.client import connect

from feemodel.server.settings import ENVIRONMENT_PREFIX, Settings, load_settings
from tests.conftest import ROOT
from tests.serving import serving
from tests.system import nginx as nginx_server

DEPLOY = ROOT / "deploy"
NGINX = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
HOST = "rpc.example.org"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}


def nginx_seconds(name, text=NGINX):
    (found,) = re.findall(rf"^\s*{name} (\d+)s;", text, flags=re.MULTILINE)
    return int(found)


def test_idle_connections_are_closed_by_nginx_before_the_server_closes_them():
    upstream = NGINX[NGINX.index("upstream") : NGINX.index("server {")]
    assert nginx_seconds("keepalive_timeout", upstream) < Settings().idle_seconds
    assert nginx_seconds("client_body_timeout") <= Settings().body_seconds
    assert nginx_seconds("proxy_read_timeout") > 120


@contextmanager
def nginx(folder, upstream):
    """nginx as the example has it, on a port that was free, with a certificate of its own."""
    port = nginx_server.free_port()
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}", "-addext",
         f"subjectAltName=DNS:{HOST}", "-keyout", key, "-out", certificate], check=True, capture_output=True,
    )  # fmt: skip
    site = NGINX.replace("/etc/ssl/feemodel", str(folder)).replace("listen 443", f"listen 127.0.0.1:{port}")
    site = site.replace("server 127.0.0.1:8545", f"server {upstream}")
    with nginx_server.running(folder, port, site):
        yield port, ssl.create_default_context(cafile=certificate)


@pytest.mark.skipif(nginx_server.BINARY is None, reason="needs nginx, of Debian's package of that name")
def test_calls_and_websockets_pass_through_nginx_with_tls(tmp_path):
    with (
        serving("--workers", "1", "--allowed-hosts", HOST) as server,
        nginx(tmp_path, server.address.removeprefix("http://")) as (port, trusted),
        urllib3.HTTPSConnectionPool(
            "127.0.0.1", port, ssl_context=trusted, server_hostname=HOST, assert_hostname=HOST, headers={"host": HOST},
            timeout=60,
        ) as pool,
    ):  # fmt: skip
        answer = pool.request("POST", "/", json=CALL, headers={"host": HOST})
        assert answer.json() == server.ask("eth_chainId")
        assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"]), "nginx's id of the request"
        batch = pool.request("POST", "/", json=[CALL] * 3, headers={"host": HOST}).json()
        assert [reply["result"] for reply in batch] == [answer.json()["result"]] * 3
        kind = {"host": HOST, "content-type": "application/json"}
        assert pool.request("POST", "/", body=b" " * (1 << 21), headers=kind).status == 413
        for path in ("/metrics", "/health", "/ready"):
            assert pool.request("GET", path, headers={"host": HOST}).status == 404
            assert server.pool.request("GET", server.address + path).status == 200
        assert pool.request("GET", "/", headers={"host": HOST}).status == 200
        with (
            socket.create_connection(("127.0.0.1", port)) as plain,
            connect(f"wss://{HOST}/", sock=plain, ssl=trusted, server_hostname=HOST) as websocket,
        ):
            websocket.send(json.dumps(CALL))
            assert json.loads(websocket.recv(60)) == answer.json()
            websocket.send(json.dumps(CALL | {"method": "eth_subscribe", "params": ["newHeads"]}))
            assert json.loads(websocket.recv(60))["result"].startswith("0x")


def test_kubernetes_probes_what_the_server_answers():
    deployment, service = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    environment = {variable["name"]: variable["value"] for variable in container["env"]}
    assert all(name.startswith(ENVIRONMENT_PREFIX) for name in environment)
    settings = load_settings(environment=environment)
    (port,) = container["ports"]
    assert (port["containerPort"], settings.host) == (settings.port, "0.0.0.0")
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == str(settings.port)
    assert deployment["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"] == service["spec"]["selector"]
    assert service["spec"]["ports"] == [{"name": "rpc", "port": settings.port, "targetPort": port["name"]}]
    assert service["metadata"]["name"] in settings.allowed_hosts
    flags = [flag for flag in container["args"] if flag.startswith("--")]
    assert {flag[2:] for flag in flags} <= set(Settings.__dataclass_fields__)
    probes = {name: container[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {probe["port"] for probe in probes.values()} == {port["name"]}
    with serving("--workers", "1") as server:
        for probe in probes.values():
            assert server.pool.request("GET", server.address + probe["path"]).status == 200


def test_what_the_image_copies_is_not_ignored():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    image = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    copied = {source for line in re.findall(r"^COPY (?!--from)(.*) \S+$", image, flags=re.MULTILINE)
              for source in line.split()}  # fmt: skip
    assert lines[1] == "*"
    assert copied == kept
