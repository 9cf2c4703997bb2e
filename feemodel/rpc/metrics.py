"""What the server counts, added up over its processes, for Prometheus.

Each process keeps its numbers in memory, and writes them into its place of a `Board` again and again, where every
process reads those of all. A process that replaces another one goes on with its numbers.
"""

import mmap
import os
import platform
import resource
import struct
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

import feemodel

if TYPE_CHECKING:
    from feemodel.execution.estimate import GasEstimate

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # s
HALF = 1 << 16  # bytes, of which a place has two
LABELS = 64  # codes of one method that are counted one by one; a node's may be any
OTHER = "other"
#: What is so at one moment → what it is.
STATES = {
    "pricing_age_seconds": "Age of the block that the polled costs come from",
    "pricing_poll_age_seconds": "Time since the last look at the costs that succeeded",
    "node_block_age_seconds": "Age of the newest block of the node",
    "node_poll_age_seconds": "Time since the last look at the node that succeeded",
    "finalized_block": "Newest final block",
    "head_block": "Newest block of the chain that is served",
    "ledger_head_block": "Newest block of the ledger",
    "subscriptions": "Subscriptions of the process that was asked",
}
#: Gauges with one label: the label, and what they are.
LABELLED = {
    "price": ("name", "Prices that an estimate is computed with now, in wei; margins and ratios as they are"),
    "node_up": ("node", "Whether the last look at a node succeeded; nodes are numbered as in the settings"),
    "node_latency_seconds": ("node", "Time that a look at a node takes"),
    "node_head_block": ("node", "Newest block of a node"),
    "node_lag_blocks": ("node", "Blocks between that and the highest newest block of all nodes"),
    "node_in_use": ("node", "Whether calls go to a node"),
}
#: What each process says of itself.
OF_PROCESS = {
    "process_resident_memory_bytes": "Memory of a process; the last one is the parent of the workers",
    "process_cpu_seconds_total": "Processor time of a process",
    "process_open_fds": "Open files of a process",
    "process_start_time_seconds": "Unix time at which a process began",
}

_HEADER = struct.Struct("<QII")  # number of the writing, length, checksum


class Board:
    """Memory that the processes of a server share: a place for each, which it alone writes and all read.

    It is no file of any folder, and all of it is there from the start, so that no full disk can take it away.

    Parameters
    ----------
    places : how many processes have one.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        if hasattr(os, "memfd_create"):
            self._open(os.memfd_create("feemodel-metrics"))
        else:
            with tempfile.TemporaryFile() as file:
                self._open(os.dup(file.fileno()))

    def _open(self, descriptor: int) -> None:
        size = self.places * 2 * HALF
        self._descriptor = descriptor
        if os.fstat(descriptor).st_size < size:
            os.pwrite(descriptor, bytes(size), 0)
        self._memory = mmap.mmap(descriptor, size)

    def __getstate__(self) -> tuple[int, Any]:
        return self.places, DupFd(self._descriptor)  # to a process that is started

    def __setstate__(self, state: tuple[int, Any]) -> None:
        self.places, descriptor = state
        self._open(descriptor.detach())

    def write(self, place: int, data: bytes) -> None:
        """Replace what is in a place, in the half that is older; what is too long is not written."""
        if len(data) > HALF - _HEADER.size:
            return
        number, _ = self._newest(place)
        start = (2 * place + (number + 1) % 2) * HALF
        self._memory[start + _HEADER.size : start + _HEADER.size + len(data)] = data
        self._memory[start : start + _HEADER.size] = _HEADER.pack(number + 1, len(data), crc32(data))

    def read(self, place: int) -> bytes:
        """What was written last; nothing where nothing was."""
        return self._newest(place)[1]

    def writings(self, place: int) -> int:
        """How often a place was written."""
        return self._newest(place)[0]

    def _newest(self, place: int) -> tuple[int, bytes]:
        return max(self._halves(place), default=(0, b""))

    def _halves(self, place: int) -> Iterator[tuple[int, bytes]]:
        """Those that were written as a whole: a process may end while it writes."""
        for start in (2 * place * HALF, (2 * place + 1) * HALF):
            number, length, checksum = _HEADER.unpack_from(self._memory, start)
            data = self._memory[start + _HEADER.size : start + _HEADER.size + length]
            if number and crc32(data) == checksum:
                yield number, data


#: Counters with one label, fields of `Counts`: the label, and what they are.
COUNTED = {
    "estimates": ("engine", "Gas estimates by the engine that executed"),
    "estimate_limits": ("how", "Gas limits tried: executed or proven"),
    "http_answers": ("status", "Answers by HTTP status"),
    "workers_ended": ("reason", "Serving processes that ended unasked"),
}


class Counts(msgspec.Struct):
    """The numbers of one process, those of `COUNTED` by their label."""

    calls: dict[str, dict[str, int]] = {}  #: by method and error code, 0 for none
    seconds: dict[str, float] = {}  #: by method
    buckets: dict[str, list[int]] = {}  #: calls by method and the time that they took
    estimates: dict[str, int] = {}
    estimate_limits: dict[str, int] = {}
    http_answers: dict[str, int] = {}
    workers_ended: dict[str, int] = {}
    process: dict[str, float] = {}  #: of `OF_PROCESS`, not added up

    def add(self, other: "Counts") -> None:
        """Add the numbers of another process."""
        for method, codes in other.calls.items():
            _add(self.calls.setdefault(method, {}), codes)
        for method, counts in other.buckets.items():
            mine = self.buckets.setdefault(method, [0] * (len(BUCKETS) + 1))
            self.buckets[method] = [here + there for here, there in zip(mine, counts, strict=True)]
        for method, seconds in other.seconds.items():
            self.seconds[method] = self.seconds.get(method, 0.0) + seconds
        for name in COUNTED:
            _add(getattr(self, name), getattr(other, name))


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count


def _of_process(began: float) -> dict[str, float]:
    """What this process says of itself; on systems without /proc its processor time alone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = {"process_cpu_seconds_total": used.ru_utime + used.ru_stime, "process_start_time_seconds": began}
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        found["process_resident_memory_bytes"] = pages * os.sysconf("SC_PAGE_SIZE")
        found["process_open_fds"] = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return found


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Counts).decode


class Metrics:
    """The counters of one process.

    Parameters
    ----------
    board : that all processes of the server share.
    place : of this process; what another one left there is counted on.
    """

    def __init__(self, board: Board, place: int) -> None:
        self._board, self._place, self._began = board, place, time.time()
        left = board.read(place)
        self._counts = _decode(left) if left else Counts()

    def observe(self, method: str, code: int, seconds: float) -> None:
        """Count a call: its method, its error's code or 0, and the time it took [s]."""
        counts = self._counts
        codes = counts.calls.get(method)
        if codes is None:
            codes = counts.calls[method] = {}
            counts.buckets[method], counts.seconds[method] = [0] * (len(BUCKETS) + 1), 0.0
        label = "0" if code == 0 else str(code) if -(2**31) <= code < 2**31 else OTHER
        if label not in codes and len(codes) >= LABELS:
            label = OTHER
        codes[label] = codes.get(label, 0) + 1
        counts.buckets[method][bisect_left(BUCKETS, seconds)] += 1
        counts.seconds[method] += seconds

    def count_estimate(self, estimate: "GasEstimate") -> None:
        """Count an estimate by the engine that executed it, and the gas limits that its search tried."""
        estimates, limits = self._counts.estimates, self._counts.estimate_limits
        estimates[estimate.engine] = estimates.get(estimate.engine, 0) + 1
        limits["executed"] = limits.get("executed", 0) + estimate.executions
        limits["proven"] = limits.get("proven", 0) + estimate.proven

    def count_answer(self, status: int) -> None:
        """Count an answer of HTTP."""
        answers, label = self._counts.http_answers, str(status)
        answers[label] = answers.get(label, 0) + 1

    def count_ended(self, reason: str) -> None:
        """Count a worker that has ended."""
        _add(self._counts.workers_ended, {reason: 1})

    def write(self) -> None:
        """Show the other processes what was counted, and that this one is alive."""
        self._counts.process = _of_process(self._began)
        self._board.write(self._place, _encode(self._counts))

    def text(self, labelled: Mapping[str, Mapping[str, float | None]] | None = None, **states: float | None) -> bytes:
        """The numbers of all processes in Prometheus' text format.

        Parameters
        ----------
        labelled : of `LABELLED`, by the value of the label.
        states : of `STATES`, as this process knows them; `None` where it does not.
        """
        from prometheus_client import generate_latest
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
        from prometheus_client.registry import Collector
        from prometheus_client.utils import floatToGoString

        self.write()
        total = Counts()
        processes: dict[str, dict[str, float]] = {name: {} for name in OF_PROCESS}
        for place in range(self._board.places):
            if left := self._board.read(place):
                counts = _decode(left)
                total.add(counts)
                for name, value in counts.process.items():
                    processes[name][str(place)] = value

        def family(name: str, label: str, what: str, numbers: Mapping[str, float | None]) -> Metric:
            """Counters where the name says so, else gauges."""
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            found = kind(f"feemodel_{name.removesuffix('_total')}", what, labels=[label])
            for value, number in numbers.items():
                if number is not None:
                    found.add_metric([value], number)
            return found

        class All(Collector):
            def collect(self) -> Iterator[Metric]:
                calls = CounterMetricFamily(
                    "feemodel_calls", "JSON-RPC calls by method and error code, 0 for none", labels=["method", "code"]
                )
                for method, codes in total.calls.items():
                    for code, count in codes.items():
                        calls.add_metric([method, code], count)
                yield calls
                times = HistogramMetricFamily("feemodel_call_seconds", "Time to answer a call", labels=["method"])
                limits = [*map(floatToGoString, BUCKETS), "+Inf"]
                for method, counts in total.buckets.items():
                    buckets = list(zip(limits, accumulate(counts), strict=True))
                    times.add_metric([method], buckets=buckets, sum_value=total.seconds.get(method, 0.0))
                yield times
                for counted, (label, what) in COUNTED.items():
                    yield family(f"{counted}_total", label, what, getattr(total, counted))
                for name, state in states.items():
                    if state is not None:
                        yield GaugeMetricFamily(f"feemodel_{name}", STATES[name], state)
                for name, values in (labelled or {}).items():
                    yield family(name, *LABELLED[name], values)
                for name, numbers in processes.items():
                    yield family(name, "process", OF_PROCESS[name], numbers)
                build = GaugeMetricFamily("feemodel_build_info", "Versions, as labels", labels=["version", "python"])
                build.add_metric([feemodel.__version__, platform.python_version()], 1)
                yield build

        return bytes(generate_latest(All()))
