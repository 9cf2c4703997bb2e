"""The dashboard and the alert rules: what they ask for is there, and the rules fire on what they should."""

import json
import re
import shutil
import socket
import subprocess
import time

import pytest
import urllib3

from feemodel.rpc.metrics import Board, Metrics
from tests import node_server
from tests.conftest import ROOT
from tests.rpc_parts import head_block
from tests.serving import serving

DEPLOY = ROOT / "deploy"
NAME = re.compile(r"\bfeemodel_[a-z_]+\b")
#: Of settings that a server without a node or ledger does not have, or of what has not happened yet.
CONDITIONAL = {
    "feemodel_pricing_age_seconds", "feemodel_pricing_poll_age_seconds", "feemodel_ledger_head_block",
    "feemodel_finalized_block",
}  # fmt: skip


@pytest.fixture(scope="module")
def exported():
    """The names of what a server with a node shows, and the text."""
    with node_server.running() as node:
        node.always = node_server.results(
            eth_chainId="0x539", eth_getBlockByNumber=lambda params: head_block(), eth_blockNumber="0x5"
        )
        with serving("--workers", "1", "--node", node.url) as server:
            server.ask("eth_blockNumber")
            answer = server.pool.request("GET", f"{server.address}/metrics", headers={"x-request-id": "mine-1"})
            other = server.pool.request("GET", f"{server.address}/health")
    assert answer.headers["x-request-id"] == "mine-1"
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]+", other.headers["x-request-id"])
    return {*NAME.findall(answer.data.decode())}, answer.data.decode()


def asked_for():
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return {name for text in (*panels, (DEPLOY / "alerts.yml").read_text()) for name in NAME.findall(text)}


def test_what_the_dashboard_and_the_rules_ask_for_is_exported(exported):
    names, _ = exported
    assert asked_for() - names <= CONDITIONAL


def test_prices_nodes_and_processes_are_shown(exported):
    _, text = exported
    for line in (
        'feemodel_price{name="variableCost"} 1e+09', 'feemodel_price{name="margin"} 1.2',
        'feemodel_node_up{node="0"} 1.0',
        'feemodel_node_head_block{node="0"} 5.0', 'feemodel_node_lag_blocks{node="0"} 0.0', "feemodel_head_block 5.0",
    ):  # fmt: skip
        assert line in text, line
    assert re.search(r'feemodel_process_resident_memory_bytes\{process="0"\} [0-9.e+]+', text)
    assert re.search(r'feemodel_build_info\{python="3\.[0-9.]+",version="[0-9.]+[^"]*"\} 1\.0', text)


def test_a_process_that_is_replaced_says_its_own_figures():
    board = Board(1)
    Metrics(board, 0).write()
    text = Metrics(board, 0).text().decode()
    assert text.count("feemodel_process_cpu_seconds_total{") == 1


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Debian's package prometheus")
@pytest.mark.parametrize("command", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts-test.yml")])
def test_promtool_takes_the_rules(command):
    done = subprocess.run(["promtool", *command], cwd=DEPLOY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs prometheus, of Debian's package of that name")
def test_an_alert_fires_in_a_real_prometheus_when_the_node_is_stopped(tmp_path):
    """The rules wait two seconds here instead of 30 or more."""
    rules = re.sub(r"for: \d+[sm]", "for: 2s", (DEPLOY / "alerts.yml").read_text(encoding="utf-8"))
    (tmp_path / "alerts.yml").write_text(rules)
    port = free_port()
    with node_server.running() as node, urllib3.PoolManager(timeout=10) as pool:
        node.always = node_server.results(
            eth_chainId="0x539", eth_getBlockByNumber=lambda params: head_block(), eth_blockNumber="0x5"
        )
        with serving("--workers", "1", "--node", node.url, "--poll-seconds", "0.5") as server:
            server.ask("eth_blockNumber")
            target = server.address.removeprefix("http://")
            (tmp_path / "prometheus.yml").write_text(
                "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\n"
                "rule_files: [alerts.yml]\n"
                f"scrape_configs: [{{job_name: feemodel, static_configs: [{{targets: ['{target}']}}]}}]\n"
            )
            command = ["prometheus", "--config.file=prometheus.yml", f"--web.listen-address=127.0.0.1:{port}"]
            with (tmp_path / "log").open("wb") as log:
                prometheus = subprocess.Popen(
                    [*command, "--storage.tsdb.path=data"], cwd=tmp_path, stdout=log, stderr=log
                )
            try:
                told = Prometheus(f"http://127.0.0.1:{port}", pool)
                assert told.waits_for(lambda: told.value('feemodel_node_up{node="0"}') == "1")
                assert told.firing() == set()
                for expression in panels():
                    assert told.query(expression)["status"] == "success", expression
                node.always = node_server.reset
                assert told.waits_for(lambda: {"FeemodelNodeDown", "FeemodelNoNode"} <= told.firing())
                assert told.value('feemodel_node_up{node="0"}') == "0"
            finally:
                prometheus.terminate()
                prometheus.wait(60)


class Prometheus:
    """A Prometheus that is asked over HTTP."""

    def __init__(self, url, pool):
        self.url, self.pool = url, pool

    def query(self, expression):
        expression = expression.replace("$__rate_interval", "1m").replace("$instance", ".*")
        return self.pool.request("GET", f"{self.url}/api/v1/query", fields={"query": expression}).json()

    def value(self, expression):
        result = self.query(expression)["data"]["result"]
        return result[0]["value"][1] if result else None

    def firing(self):
        alerts = self.pool.request("GET", f"{self.url}/api/v1/alerts").json()["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def waits_for(self, condition):
        """Whether a condition comes to hold, for which there is time on a busy machine."""
        end = time.monotonic() + 180
        while time.monotonic() < end:
            try:
                if condition():
                    return True
            except (urllib3.exceptions.HTTPError, ValueError):  # it has not started yet
                pass
            time.sleep(0.25)
        return False


def panels():
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
