"""What the server counts, added up over its processes, for Prometheus.

prometheus-client keeps each process's numbers in a file of a shared folder, from which any process answers for all.
The folder must be named before that package is first imported, so a process begins with `Metrics(folder)`.
"""

import asyncio
import os
from bisect import bisect_left
from collections import Counter as Counter_
from collections import defaultdict
from math import nan
from pathlib import Path
from typing import Any, Literal

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # s
WRITE_SECONDS = 0.25  # until a count is in the file
AS_ASKED: Literal["livemostrecent"] = "livemostrecent"  # the others' is from when they were asked


class Metrics:
    """The counters of one process, for use within its event loop.

    Parameters
    ----------
    folder : that all processes of the server share, empty when the first of them starts.
    """

    def __init__(self, folder: str | Path) -> None:
        os.environ[FOLDER_VARIABLE] = str(folder)
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        registry = CollectorRegistry()
        self._calls = Counter(
            "feemodel_calls",
            "JSON-RPC calls by method and error code, 0 for none",
            ["method", "code"],
            registry=registry,
        )
        self._seconds = Histogram(
            "feemodel_call_seconds", "Time to answer a call", ["method"], buckets=BUCKETS, registry=registry
        )
        self._estimates = Counter(
            "feemodel_estimates", "Gas estimates by the engine that executed", ["engine"], registry=registry
        )
        # What is written to the file in one go, soon: counts, calls by method and bucket, and their time together.
        self._noted: Counter_[tuple[Any, ...]] = Counter_()
        self._took: Counter_[tuple[str, int]] = Counter_()
        self._seconds_of: defaultdict[str, float] = defaultdict(float)
        self._writing = False
        self._told: set[str] = set()
        self._state = {
            name: Gauge(f"feemodel_{name}", text, registry=registry, multiprocess_mode=AS_ASKED)
            for name, text in {
                "pricing_age_seconds": "Age of the block that the polled costs come from",
                "pricing_poll_age_seconds": "Time since the last look at the costs that succeeded",
                "node_block_age_seconds": "Age of the newest block of the node",
                "node_poll_age_seconds": "Time since the last look at the node that succeeded",
                "finalized_block": "Newest final block",
            }.items()
        }

    def observe(self, method: str, code: int, seconds: float) -> None:
        """Count a call: its method, its error's code or 0, and the time it took [s]."""
        self._note(self._calls, method, code)
        self._took[method, bisect_left(BUCKETS, seconds)] += 1
        self._seconds_of[method] += seconds

    def count_estimate(self, engine: str) -> None:
        """Count an estimate by the engine that executed it."""
        self._note(self._estimates, engine)

    def _note(self, *what: Any) -> None:
        self._noted[what] += 1
        if not self._writing:
            self._writing = True
            asyncio.get_running_loop().call_later(WRITE_SECONDS, self._write)

    def _write(self) -> None:
        self._writing = False
        for (metric, *labels), count in self._noted.items():
            metric.labels(*labels).inc(count)
        self._noted.clear()
        # A histogram takes one observation at a time, each of which is written; its parts take many at once.
        for (method, bucket), count in self._took.items():
            self._seconds.labels(method)._buckets[bucket].inc(count)
        for method, seconds in self._seconds_of.items():
            self._seconds.labels(method)._sum.inc(seconds)
        self._took.clear()
        self._seconds_of.clear()

    def set_state(
        self,
        *,
        pricing_age: float | None = None,
        pricing_poll_age: float | None = None,
        node_block_age: float | None = None,
        node_poll_age: float | None = None,
        finalized: int | None = None,
    ) -> None:
        """What stands at this moment; `None` where there is nothing of it."""
        self._write()
        for name, value in {
            "pricing_age_seconds": pricing_age,
            "pricing_poll_age_seconds": pricing_poll_age,
            "node_block_age_seconds": node_block_age,
            "node_poll_age_seconds": node_poll_age,
            "finalized_block": finalized,
        }.items():
            if value is not None:
                self._told.add(name)
                self._state[name].set(value)
            elif name in self._told:  # a value that is known no more must not stand there as if it were
                self._state[name].set(nan)

    def text(self) -> bytes:
        """The numbers of all processes in Prometheus' text format."""
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.multiprocess import MultiProcessCollector

        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return bytes(generate_latest(registry))


def forget_process(folder: str | Path, process: int) -> None:
    """Take back what stood at one moment only in a process that has ended; its counts stay."""
    for file in Path(folder).glob(f"gauge_live*_{process}.db"):
        file.unlink(missing_ok=True)
