"""The processes of the server: one a core, each with a socket of its own on the same port.

The kernel spreads connections over sockets that share a port (`SO_REUSEPORT`), so that no process stands in front of
the others. A worker that dies or no longer answers is replaced; SIGTERM, SIGINT and SIGQUIT let every worker finish
what it has accepted; SIGHUP has the keys read again; signals that mean nothing here are noted and change nothing.
"""

import asyncio
import gc
import logging
import multiprocessing
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

import feemodel
from feemodel.errors import FeeModelError, LimitExceeded
from feemodel.rpc import logs
from feemodel.rpc.head import shared_chain_id
from feemodel.rpc.keys import Keys, Rates, read_keys, shared_rates
from feemodel.rpc.listener import GRACE, serve_until
from feemodel.rpc.metrics import Board, Metrics
from feemodel.rpc.protocol import REQUEST, Bounds, Connections, most_connections, most_within
from feemodel.rpc.settings import Settings

if TYPE_CHECKING:
    from feemodel.rpc.app import App

BACKLOG = 2_048  # connections that wait for `accept`
RESTARTS = 5  # of workers that die within seconds of their start, before the server gives up
SHORT_LIFE = 5.0  # seconds
BEAT = 0.5  # seconds between two signs of life of a worker
SILENCE = 30.0  # seconds without one, after which a worker is replaced: to compile a kernel takes ten on a busy machine
LOOK = 0.2  # seconds between two looks at the workers
SPARE_FILES = 16  # that a worker may open beside its connections
FILES_OF_A_CHILD = 4  # that a child process takes of its worker
STOPPING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGQUIT})
IGNORED = frozenset({
    signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO,
})  # fmt: skip

_SPAWN = multiprocessing.get_context("spawn")  # a fork would share the parent's locks and open files
_log = logging.getLogger(__name__)
_lifecycle = logging.getLogger("feemodel.lifecycle")


@dataclass(frozen=True, slots=True)
class Shared:
    """What the processes of one server share."""

    settings: Settings
    store: Path | None  #: the ledger that proves
    board: Board  #: what they count; the last place is the parent's
    failures: "SimpleQueue[FeeModelError]"  #: why a worker could not begin
    chain_ids: tuple[Any, Any]  #: of the nodes, see `feemodel.rpc.service.Service`
    answering: Semaphore  #: released by each worker that answers
    rates: Any  #: of the keys, see `feemodel.rpc.keys.Rates`


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
    logs.set_up(settings.log)
    if settings.api_keys is not None:
        read_keys(settings.api_keys)  # whose errors are told before anything begins
    # Sockets that share a port would share it with another server too: whether it is free is asked without sharing.
    _bound(settings.host, settings.port, shared=False).close()
    with _bound(settings.host, settings.port) as held:  # never listens, but keeps the port
        port = held.getsockname()[1]
        board = Board(settings.workers + 1)
        shared = Shared(
            replace(settings, port=port),
            store,
            board,
            _SPAWN.SimpleQueue(),
            _chain_ids(),
            _SPAWN.Semaphore(0),
            shared_rates(_SPAWN),
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
                ready(f"http://{_written(settings.host)}:{port}")
                _lifecycle.info(
                    "started: version %s, %d workers on port %d", feemodel.__version__, settings.workers, port
                )
            _watch(workers, shared, signals)
        finally:
            if signals.stopping:
                _lifecycle.info("stopping on %s", signal.Signals(signals.stopping[0]).name)
            for worker in workers:
                worker.process.terminate()
            for worker in workers:
                worker.process.join(GRACE + 2.0)
                worker.process.kill()
                worker.process.join()
            if started:
                _lifecycle.info("stopped")


def _chain_ids() -> tuple[Any, Any]:
    return shared_chain_id(_SPAWN), shared_chain_id(_SPAWN)


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
            if now - looked > BEAT and worker.heard is not None:  # this process stood still itself
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
        count = len(read_keys(settings.api_keys))
    except FeeModelError as error:
        _log.error("the keys were not read again: %s", error)
        return
    for worker in workers:
        with suppress(ProcessLookupError):
            os.kill(worker.process.pid or 0, signal.SIGHUP)
    _lifecycle.info("reloaded %d keys", count)


def _started(shared: Shared, place: int) -> Worker:
    process = _SPAWN.Process(target=_work, args=(shared, place), daemon=True)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING | IGNORED)  # which a process inherits until it is ready
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return Worker(place, process, writings=shared.board.writings(place))


def _work(shared: Shared, place: int) -> None:
    """One process: its own socket, its own event loop, its own copy of what it answers from."""
    # Signals are blocked from before its start: one that comes before connections are taken is kept until then.
    settings = shared.settings
    _end_with_parent()
    logs.set_up(settings.log)
    metrics = Metrics(shared.board, place)
    try:
        run_loop(_serving(shared, metrics))
    except FeeModelError as error:
        shared.failures.put(error)
        raise SystemExit(1) from None


async def _serving(shared: Shared, metrics: Metrics) -> None:
    settings, loop, stop = shared.settings, asyncio.get_running_loop(), asyncio.Event()
    app, observe = _application(shared, metrics)
    connections = Connections(app, _bounds(settings), observe)
    gc.collect()
    gc.freeze()  # what is there now stays: walking through it again and again would cost every request
    for number in STOPPING:
        loop.add_signal_handler(number, stop.set)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    if settings.api_keys is not None:
        loop.add_signal_handler(signal.SIGHUP, _read_keys_again, app, shared)
    with _bound(settings.host, settings.port) as listener:
        listener.setblocking(False)
        listener.listen(BACKLOG)  # from here on connections wait instead of being refused
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING | IGNORED)
        beating = asyncio.create_task(_beat(metrics))
        await serve_until(stop, listener, app, connections, ready=shared.answering.release)
        beating.cancel()
        metrics.write()


def _read_keys_again(app: "App", shared: Shared) -> None:
    try:
        app.keys = _keys(shared)
    except FeeModelError as error:  # which the parent has not met a moment before
        _log.error("the keys were not read again: %s", error)


def _keys(shared: Shared) -> Keys | None:
    path = shared.settings.api_keys
    return None if path is None else Keys.of(read_keys(path), Rates(shared.rates))


async def _beat(metrics: Metrics) -> None:
    while True:
        metrics.write()
        await asyncio.sleep(BEAT)


def run_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run to the end, on uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


def _bounds(settings: Settings) -> Bounds:
    """The limits of a worker; of connections no more than there may be open files."""
    wanted, beside = settings.connections, _files_beside(settings)
    free = _allowed_files(most_connections(wanted) + beside) - beside
    possible = max(min(wanted, most_within(free)), 1)
    if possible < wanted:
        _log.warning("the limit of open files leaves room for %d connections, of %d", possible, wanted)
    return Bounds(
        connections=possible, requests=settings.requests, idle_seconds=settings.idle_seconds,
        body_limit=settings.body_limit, body_seconds=settings.body_seconds,
    )  # fmt: skip


def _files_beside(settings: Settings) -> int:
    """Files that a worker has open beside its connections."""
    return len(list(Path("/dev/fd").iterdir())) + SPARE_FILES + FILES_OF_A_CHILD * settings.processes


def _allowed_files(wanted: int) -> int:
    """Open files that this process may have, after it has asked for so many: often there are no more than 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else soft


def _end_with_parent() -> None:
    """A parent that was killed cannot say when to end."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _application(shared: Shared, metrics: Metrics) -> "tuple[App, Callable[[int], None]]":
    """The application of a worker, and what is told the status of its answers."""
    from feemodel.explorer.page import page
    from feemodel.rpc.app import LOOPBACK, Access, App, Page
    from feemodel.rpc.openrpc import document
    from feemodel.rpc.service import Service

    settings = shared.settings
    service = Service(settings, shared.store, count_estimate=metrics.count_estimate, chain_ids=shared.chain_ids)
    note = logs.request_writer() if settings.log == "requests" else None

    def observe(method: str, code: int, seconds: float) -> None:
        metrics.observe(method, code, seconds)
        if note is not None:
            note("call", method=method, code=code, ms=round(seconds * 1_000, 3), request=REQUEST.get())

    def answered(status: int) -> None:
        metrics.count_answer(status)
        if note is not None and status >= 400:
            note("refused", status=status)

    async def measured() -> bytes:
        node = service.upstream
        return metrics.text(
            service.gauges(),
            head_block=service.head_block,
            ledger_head_block=service.ledger_head,
            subscriptions=service.feeds.count,
            pricing_age_seconds=service.pricing.age,
            pricing_poll_age_seconds=service.pricing.poll_age,
            node_block_age_seconds=None if node is None else node.head.age,
            node_poll_age_seconds=None if node is None else node.head.poll_age,
            finalized_block=service.finalized,
        )

    body, policy = page()
    headers = (
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"no-referrer"),  # the path may hold the key
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-cache"),
    )
    app = App(
        service.methods,
        access=Access(
            hosts=frozenset({*LOOPBACK, settings.host.lower(), *map(str.lower, settings.allowed_hosts)}),
            api_key=settings.api_key,
            keys=_keys(shared),
            guarded=frozenset(f"/{name}" for name in settings.guarded),
            cors_origins=settings.cors_origins,
            batch_limit=settings.batch_limit,
        ),
        state=service,
        page=Page(body, headers),
        openrpc=document(service.answered),
        metrics=measured,
        observe=observe,
        feeds=service.feeds,
    )
    return app, answered


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _bound(host: str, port: int, *, shared: bool = True) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise FeeModelError(f"{host}:{port}: {error.strerror}") from None
    return listener
