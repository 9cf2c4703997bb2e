"""The dashboard and the alert rules: what they ask for is there, and the rules fire on what they should."""

import re
import shutil
import subprocess

import pytest
import urllib3

from tests.helpers import node_server, prometheus
from tests.helpers.prometheus import DEPLOY, dashboard
from tests.server.parts import answering
from tests.system.start import serving

NAME = re.compile(r"\bfeemodel_[a-z_]+\b")
#: Of settings that a server without a node or ledger does not have, or of what has not happened yet.
CONDITIONAL = {"feemodel_pricing_age_seconds", "feemodel_pricing_poll_age_seconds"}


@pytest.fixture(scope="module")
def node():
    with node_server.running() as node:
        answering(node)
        yield node


@pytest.fixture(scope="module")
def server(node):
    with serving("--workers", "1", "--node", node.url, "--poll-seconds", "0.5") as server:
        server.ask("eth_blockNumber")
        yield server


def asked_for():
    queries = [target["expr"] for panel in dashboard() for target in panel["targets"]]
    return {name for text in (*queries, (DEPLOY / "alerts.yml").read_text()) for name in NAME.findall(text)}


def test_what_the_dashboard_and_the_rules_ask_for_is_exported(server):
    text = urllib3.request("GET", f"{server.address}/metrics").data.decode()
    assert asked_for() - {*NAME.findall(text)} <= CONDITIONAL
    assert "feemodel_node_up 1.0" in text
    assert re.search(r'feemodel_build_info\{python="3\.[0-9.]+",version="[0-9.]+[^"]*"\} 1\.0', text)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Debian's package prometheus")
@pytest.mark.parametrize("command", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts-test.yml")])
def test_promtool_takes_the_rules(command):
    done = subprocess.run(["promtool", *command], cwd=DEPLOY, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs prometheus, of Debian's package of that name")
def test_an_alert_fires_in_a_real_prometheus_when_the_node_is_stopped(node, server, tmp_path):
    """The rules wait two seconds here instead of 30 or more."""
    rules = re.sub(r"for: \d+[sm]", "for: 2s", (DEPLOY / "alerts.yml").read_text(encoding="utf-8"))
    (tmp_path / "alerts.yml").write_text(rules)
    with prometheus.running(tmp_path, server.address.removeprefix("http://"), rules) as told:
        assert told.waits_for(lambda: told.value("feemodel_node_up") == "1")
        assert told.firing() == set()
        for panel in dashboard():
            for target in panel["targets"]:
                assert told.query(target["expr"])["status"] == "success", target
        node.always = node_server.reset
        assert told.waits_for(lambda: {"FeemodelNodeDown"} <= told.firing())
        assert told.value("feemodel_node_up") == "0"
        shown = {panel["title"]: [told.value(target["expr"]) for target in panel["targets"]] for panel in dashboard()}
    assert shown["Nodes: up"] == ["0"]
    assert None not in shown["Alerts: 1 pending, 2 firing"]
