"""The processes of the server: one a core, each with a socket of its own on the same port.

The kernel spreads connections over sockets that share a port (`SO_REUSEPORT`), so that no process stands in front of
the others. A worker that dies or no longer answers is replaced; SIGTERM, SIGINT and SIGQUIT let every worker finish
what it has accepted; SIGHUP has the keys read again; signals that mean nothing here are noted and change nothing.
"""

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Self

import feemodel
from feemodel.errors import FeeModelError, LimitExceeded
from feemodel.rpc import processes
from feemodel.rpc.metrics import Board, Metrics
from feemodel.rpc.processes import BEAT, GRACE, ID_BYTES, IGNORED, MOST_KEYS, STOPPING, Shared, bound, start_worker
from feemodel.rpc.settings import Settings

RESTARTS = 5  # of workers that die within seconds of their start, before the server gives up
SHORT_LIFE = 5.0  # seconds
SILENCE = 30.0  # seconds without a sign of life, after which a worker is replaced: compiling a kernel takes ten
LOOK = 0.2  # seconds between two looks at the workers

_SPAWN = multiprocessing.get_context("spawn")  # a fork would share the parent's locks and open files
_log = logging.getLogger(__name__)
_lifecycle = logging.getLogger("feemodel.lifecycle")


@dataclass(slots=True)
class Worker:
    """A serving process, as the parent sees it."""

    place: int
    process: BaseProcess
    started: float = field(default_factory=time.monotonic)
    writings: int = 0  #: of its place of the board
    heard: float | None = None  #: when it gave its last sign of life; `None` before the first

    def is_silent(self, board: Board, now: float) -> bool:
        """Whether it has given no sign of life for too long."""
        writings = board.writings(self.place)
        if writings != self.writings:
            self.writings, self.heard = writings, now
        return self.heard is not None and now - self.heard > SILENCE

    @property
    def end(self) -> str:
        """How it has ended."""
        code = self.process.exitcode or 0
        return f"exit code {code}" if code >= 0 else f"signal {-code}"


class Signals:
    """Handlers of all signals that would end the process without leave, while a block runs.

    At first the signals to stop raise `SystemExit`, so that what was begun is taken back; later they are only noted.
    """

    def __init__(self) -> None:
        self.stopping: list[int] = []
        self.interrupts = True
        self.reloads = 0  #: signals to read again what can be read again
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._stop) for number in STOPPING}
            self._before |= {number: signal.signal(number, _ignored) for number in IGNORED}
            signal.signal(signal.SIGHUP, self._reload)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, _: FrameType | None) -> None:
        self.stopping.append(number)
        if self.interrupts:
            raise SystemExit(128 + number)

    def _reload(self, _: int, __: FrameType | None) -> None:
        self.reloads += 1


def _ignored(number: int, _: FrameType | None) -> None:
    _log.warning("%s changes nothing", signal.Signals(number).name)


def serve(
    settings: Settings,
    signals: Signals,
    *,
    store: Path | None = None,
    ready: Callable[[str], object] = lambda address: None,
) -> None:
    """Serve until a signal says stop; `ready` is called with the address when all workers answer.

    Parameters
    ----------
    settings : everything else.
    signals : whose block this runs in.
    store : the ledger that proves, with its genesis; `None` for none.

    Raises `FeeModelError` where the port is taken, what a worker meets that cannot begin, `LimitExceeded` where workers
    die as fast as they start.
    """
    processes.set_up_log(settings.log)
    _check_keys(settings)  # whose errors come before anything starts
    # Sockets that share a port would share it with another server too: whether it is free is asked without sharing.
    bound(settings.host, settings.port, shared=False).close()
    with bound(settings.host, settings.port) as held:  # never listens, but keeps the port
        port = held.getsockname()[1]
        board = Board(settings.workers + 1)
        shared = Shared(
            replace(settings, port=port),
            store,
            board,
            _SPAWN.SimpleQueue(),
            (_SPAWN.Array("B", ID_BYTES), _SPAWN.Array("B", ID_BYTES)),
            _SPAWN.Semaphore(0),
            _SPAWN.Array("d", 4 * MOST_KEYS),
        )
        workers: list[Worker] = []
        started = False
        try:
            for place in range(settings.workers):
                workers.append(_started(shared, place))
            signals.interrupts = False
            answering = 0
            while not signals.stopping and answering < settings.workers:
                answering += shared.answering.acquire(timeout=0.05)
                _check_first(workers, shared)
            if not signals.stopping:
                started = True
                host = f"[{settings.host}]" if ":" in settings.host else settings.host
                ready(f"http://{host}:{port}")
                _lifecycle.info(
                    "started: version %s, %d workers on port %d", feemodel.__version__, settings.workers, port
                )
            _watch(workers, shared, signals)
        finally:
            if signals.stopping:
                _lifecycle.info("stopping on %s", signal.Signals(signals.stopping[0]).name)
            for worker in workers:
                worker.process.terminate()
            deadline = time.monotonic() + GRACE + 2.0  # of all together
            for worker in workers:
                worker.process.join(max(deadline - time.monotonic(), 0.0))
                if worker.process.is_alive():
                    _lifecycle.warning("process %s did not end in %g s and is killed", worker.process.pid, GRACE + 2.0)
                worker.process.kill()
                worker.process.join()
            if started:
                _lifecycle.info("stopped")


def _check_keys(settings: Settings) -> int:
    """How many keys there are; raises `FeeModelError` for a file that has none that can be read."""
    if settings.api_keys is None:
        return 0
    from feemodel.rpc.keys import read_keys

    return len(read_keys(settings.api_keys))


def _check_first(workers: list[Worker], shared: Shared) -> None:
    ended = [worker for worker in workers if not worker.process.is_alive()]
    if not shared.failures.empty():  # which a worker says before it ends
        raise shared.failures.get()
    for worker in ended:
        raise FeeModelError(f"a worker ended with {worker.end} before it answered")


def _watch(workers: list[Worker], shared: Shared, signals: Signals) -> None:
    """Replace workers that end or fall silent, and have keys read again, until a signal says stop."""
    stopping, reloads = signals.stopping, signals.reloads
    metrics = Metrics(shared.board, len(workers))
    early, looked = 0, time.monotonic()
    while not stopping:
        wait([worker.process.sentinel for worker in workers], timeout=LOOK)
        now = time.monotonic()
        if signals.reloads != reloads:
            reloads = signals.reloads
            _reload(workers, shared.settings)
        for place, worker in enumerate(workers):
            if now - looked > BEAT and worker.heard is not None:  # this process was suspended itself
                worker.heard = now
            reason = ""
            if not worker.process.is_alive():
                reason = worker.end
            elif worker.is_silent(shared.board, now):
                reason = "silence"
                worker.process.kill()
                worker.process.join()
            if stopping or not reason:
                continue
            _log.error("worker %d ended: %s; another one takes its place", worker.process.pid, reason)
            metrics.count_ended(reason)
            metrics.write()
            early = early + 1 if time.monotonic() - worker.started < SHORT_LIFE else 0
            if early > RESTARTS:
                raise LimitExceeded(
                    f"workers: {early} ended within {SHORT_LIFE:g} s of their start, the last with {worker.end}"
                )
            workers[place] = _started(shared, place)
        looked = time.monotonic()


def _reload(workers: list[Worker], settings: Settings) -> None:
    """Have all workers read the keys again; a file with an error changes nothing."""
    if settings.api_keys is None:
        _log.warning("SIGHUP changes nothing: there is no file of keys")
        return
    try:
        count = _check_keys(settings)
    except FeeModelError as error:
        _log.error("the keys were not read again: %s", error)
        return
    for worker in workers:
        with suppress(ProcessLookupError):
            os.kill(worker.process.pid or 0, signal.SIGHUP)
    _lifecycle.info("reloaded %d keys", count)


def _started(shared: Shared, place: int) -> Worker:
    process = _SPAWN.Process(target=start_worker, args=(shared, place), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING | IGNORED)  # which a process inherits until it is ready
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return Worker(place, process, writings=shared.board.writings(place))
