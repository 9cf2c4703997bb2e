"""Prometheus metrics of the server; with several workers, the multiprocess mode of the client library adds them up."""

import os
import platform
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from prometheus_client import Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY

from feemodel import __version__

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # s

SECONDS = Histogram("feemodel_call_seconds", "Time to answer a JSON-RPC call", ["method"], buckets=BUCKETS)
ERRORS = Counter("feemodel_call_errors", "Calls that were answered with an error, by error code", ["method", "code"])


def gauge(name: str, meaning: str, value: Any) -> Metric:
    """Return a gauge with a number, or with a number for each label `name`; `None` stands for an unknown number."""
    if not isinstance(value, Mapping):
        return GaugeMetricFamily(f"feemodel_{name}", meaning, value=value)
    family = GaugeMetricFamily(f"feemodel_{name}", meaning, labels=["name"])
    for label, number in value.items():
        if number is not None:
            family.add_metric([label], number)
    return family


def text(gauges: Sequence[Metric]) -> bytes:
    """Return the metrics of all workers, and gauges of this one, in the text format of Prometheus."""
    versions = {"version": __version__, "python": platform.python_version()}
    build = InfoMetricFamily("feemodel_build", "Versions, as labels", versions)
    own: Any = SimpleNamespace(collect=lambda: [*gauges, build])
    several = "PROMETHEUS_MULTIPROC_DIR" in os.environ
    counted = MultiProcessCollector(None) if several else REGISTRY  # type: ignore[no-untyped-call]
    return bytes(generate_latest(counted) + generate_latest(own))
