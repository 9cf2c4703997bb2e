"""A real Prometheus on the shipped alert rules, and the dashboard's queries drawn from its answers."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import urllib3

from tests.conftest import ROOT

DEPLOY = ROOT / "deploy"
PATIENCE = 180.0  # seconds for what must happen at last, on a busy machine
FILLED_IN = {"$__rate_interval": "1m", "$instance": ".*"}  # as Grafana fills in its variables
UNITS = {"reqps": ("requests / s", 1), "s": ("s", 1), "bytes": ("MiB", 2**20), "short": ("", 1)}  # name, divisor


class Prometheus:
    """A Prometheus that is asked over HTTP."""

    def __init__(self, url: str, pool: urllib3.PoolManager) -> None:
        self.url, self.pool = url, pool

    def query(self, expression: str, kind: str = "query", **fields: float) -> dict[str, Any]:
        """The answer to an expression of the dashboard; with `kind="query_range"` over `start`, `end` and `step`."""
        for name, value in FILLED_IN.items():
            expression = expression.replace(name, value)
        asked = {"query": expression, **{name: str(value) for name, value in fields.items()}}
        answer: dict[str, Any] = self.pool.request("GET", f"{self.url}/api/v1/{kind}", fields=asked).json()
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
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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


def draw(
    prometheus: Prometheus, start: float, end: float, path: Path, events: Mapping[str, float] | None = None
) -> dict[str, int]:
    """The dashboard's panels as Matplotlib draws them: queries, titles, units, legends and places are the dashboard's.

    Parameters
    ----------
    start, end : Unix times of the picture's ends [s].
    path : of the PNG file.
    events : Unix times to mark, by their names [s].

    Returns how many series each panel has, by its title.
    """
    from matplotlib.figure import Figure

    panels, counts = dashboard(), {}
    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    figure = Figure(figsize=(18, rows * 0.42))
    for panel in panels:
        place = panel["gridPos"]
        left, bottom = place["x"] / 24 + 0.04, 1 - (place["y"] + place["h"] - 1.4) / rows
        axes = figure.add_axes((left, bottom, place["w"] / 24 - 0.05, (place["h"] - 2.6) / rows))
        unit, divisor = UNITS[panel["fieldConfig"]["defaults"]["unit"]]
        axes.set_ylabel(unit)
        for target in panel["targets"]:
            asked = {"start": start, "end": end, "step": (end - start) / 300}
            for series in prometheus.query(target["expr"], "query_range", **asked)["data"]["result"]:
                times, values = zip(*((float(when), float(value)) for when, value in series["values"]), strict=True)
                label = re.sub(r"{{(\w+)}}", lambda found, one=series: one["metric"][found[1]], target["legendFormat"])
                axes.plot([when - start for when in times], [value / divisor for value in values], label=label)
        counts[panel["title"]] = len(axes.get_lines())
        _dress(axes, panel, end - start, {name: when - start for name, when in (events or {}).items()})
    figure.savefig(path, dpi=80)
    return counts


def _dress(axes: Any, panel: dict[str, Any], seconds: float, events: Mapping[str, float]) -> None:
    field = panel["fieldConfig"]["defaults"]
    axes.set_title(panel["title"], loc="left", fontsize=11, fontweight="bold")
    if field.get("custom", {}).get("scaleDistribution", {}).get("type") == "log":
        axes.set_yscale("log")
    else:
        axes.set_ylim(0, axes.get_ylim()[1] * 1.1)
    axes.set_xlim(0, seconds)
    axes.set_xlabel("s")
    axes.grid(alpha=0.3)
    for place, (name, when) in enumerate(events.items()):
        axes.axvline(when, color="crimson", linestyle="--", linewidth=1)
        if panel["gridPos"]["w"] == 24:
            axes.annotate(f" {name}", (when, 0.92 - 0.1 * place), xycoords=("data", "axes fraction"), color="crimson")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=8, loc="best")
    else:
        axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color="grey")
