"""Prometheus metrics of the server; with several workers, the multiprocess mode of the client library adds them up."""

import os
import platform
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import REGISTRY, Collector

from feemodel import __version__

Gauges: TypeAlias = Mapping[str, Mapping[str, float | None]]

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # s
#: Name of a gauge → its label and description. The values are computed when the metrics are requested.
GAUGES = {
    "pricing_age_seconds": ("", "Age of the block that the polled costs come from"),
    "pricing_poll_age_seconds": ("", "Time since the last poll of the costs that succeeded"),
    "node_block_age_seconds": ("", "Age of the newest block of the node"),
    "node_poll_age_seconds": ("", "Time since the last poll of the node that succeeded"),
    "node_up": ("", "Whether the last poll of the node succeeded"),
    "ready": ("", "Whether estimates and proofs are answered"),
    "price": ("name", "Current price, in wei, or a ratio"),
    "l1_fee": ("name", "Newest fee of L1, in wei per gas"),
    "engine": ("name", "The engine that executes calls"),
}

SECONDS = Histogram("feemodel_call_seconds", "Time to answer a JSON-RPC call", ["method"], buckets=BUCKETS)
ERRORS = Counter("feemodel_call_errors", "Calls that were answered with an error, by error code", ["method", "code"])


class _Asked(Collector):
    """Gauges whose values are computed when the metrics are requested."""

    def __init__(self, gauges: Gauges) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        for name, values in self._gauges.items():
            label, help_text = GAUGES[name]
            family = GaugeMetricFamily(f"feemodel_{name}", help_text, labels=[label] if label else None)
            for value, number in values.items():
                if number is not None:
                    family.add_metric([value] if label else [], number)
            yield family
        build = GaugeMetricFamily("feemodel_build_info", "Versions, as labels", labels=["version", "python"])
        build.add_metric([__version__, platform.python_version()], 1)
        yield build


def text(gauges: Gauges) -> bytes:
    """Return the metrics of all workers in the text format of Prometheus.

    Parameters
    ----------
    gauges : values of the gauges in `GAUGES`, by name and label; `None` for an unknown value.
    """
    asked = CollectorRegistry()
    asked.register(_Asked(gauges))
    registry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return bytes(generate_latest(registry) + generate_latest(asked))
