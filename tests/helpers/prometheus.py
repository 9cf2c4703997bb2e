"""A real Prometheus on the shipped alert rules, asked for the dashboard's queries."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3

from tests.conftest import ROOT
from tests.helpers.anvil import free_port

DEPLOY = ROOT / "deploy"
PATIENCE = 180.0  # seconds for what must happen at last, on a busy machine
FILLED_IN = {"$__rate_interval": "1m", "$instance": ".*"}  # as Grafana fills in its variables


class Prometheus:
    """A Prometheus that is asked over HTTP."""

    def __init__(self, url: str, pool: urllib3.PoolManager) -> None:
        self.url, self.pool = url, pool

    def query(self, expression: str) -> dict[str, Any]:
        """Return the answer to an expression of the dashboard."""
        for name, value in FILLED_IN.items():
            expression = expression.replace(name, value)
        answer: dict[str, Any] = self.pool.request(
            "GET", f"{self.url}/api/v1/query", fields={"query": expression}
        ).json()
        return answer

    def value(self, expression: str) -> str | None:
        """The newest value of the first series; `None` without one."""
        result = self.query(expression)["data"]["result"]
        return result[0]["value"][1] if result else None

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        alerts = self.pool.request("GET", f"{self.url}/api/v1/alerts").json()["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def waits_for(self, condition: Callable[[], object]) -> bool:
        """Whether a condition comes to hold."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if condition():
                    return True
            except (urllib3.exceptions.HTTPError, ValueError):  # it has not started yet
                pass
            time.sleep(0.25)
        return False


@contextmanager
def running(folder: Path, target: str, rules: str, *, every: str = "500ms") -> Iterator[Prometheus]:
    """Prometheus with some alert rules, scraping one server, until the block ends.

    Parameters
    ----------
    folder : for its files.
    target : HOST:PORT of the server.
    rules : text of the file of rules.
    every : between two scrapes and two evaluations.
    """
    port = free_port()
    (folder / "alerts.yml").write_text(rules)
    (folder / "prometheus.yml").write_text(
        f"global: {{scrape_interval: {every}, scrape_timeout: {every}, evaluation_interval: {every}}}\n"
        "rule_files: [alerts.yml]\n"
        f"scrape_configs: [{{job_name: feemodel, static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    command = ["prometheus", "--config.file=prometheus.yml", f"--web.listen-address=127.0.0.1:{port}"]
    with (folder / "log").open("wb") as log, urllib3.PoolManager(timeout=10) as pool:
        process = subprocess.Popen([*command, "--storage.tsdb.path=data"], cwd=folder, stdout=log, stderr=log)
        try:
            yield Prometheus(f"http://127.0.0.1:{port}", pool)
        finally:
            process.terminate()
            process.wait(60)


def dashboard() -> list[dict[str, Any]]:
    """The panels of the Grafana dashboard."""
    panels: list[dict[str, Any]] = json.loads((DEPLOY / "grafana-dashboard.json").read_text(encoding="utf-8"))["panels"]
    return panels
