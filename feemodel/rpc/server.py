"""The processes of the server: one a core, each with a socket of its own on the same port.

The kernel spreads connections over sockets that share a port (`SO_REUSEPORT`), so that no process stands in front of
the others. A worker that dies is replaced; SIGTERM and SIGINT let every worker finish what it has accepted.
"""

import asyncio
import gc
import multiprocessing
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Any

from feemodel.config import Settings
from feemodel.errors import FeeModelError, LimitExceeded
from feemodel.rpc.head import shared_chain_id
from feemodel.rpc.metrics import forget_process

if TYPE_CHECKING:
    from feemodel.rpc.app import App

BACKLOG = 2_048  # connections that wait for `accept`
GRACE = 12.0  # seconds for requests under way, after the signal to stop
RESTARTS = 5  # of workers that die within seconds of their start, before the server gives up
SHORT_LIFE = 5.0  # seconds
SPARE_FILES = 256  # open beside the connections
FOREVER = 1_000_000  # seconds: idle connections are ended by `feemodel.rpc.protocol`

_SPAWN = multiprocessing.get_context("spawn")  # a fork would share the parent's locks and open files


@dataclass(frozen=True, slots=True)
class Place:
    """What the processes of one server share."""

    settings: Settings
    store: Path | None  #: the ledger that proves
    metrics: Path  #: folder of the counters
    failures: "SimpleQueue[FeeModelError]"  #: why a worker could not begin
    chain_ids: tuple[Any, Any]  #: of the nodes, see `feemodel.rpc.service.Service`


def serve(
    settings: Settings, *, store: Path | None = None, ready: Callable[[str], object] = lambda address: None
) -> None:
    """Serve until a signal says stop; `ready` is called with the address when a worker listens.

    Parameters
    ----------
    settings : everything else.
    store : the ledger that proves, with its genesis; `None` for none.

    Raises `FeeModelError` where the port is taken, what a worker meets that cannot begin, `LimitExceeded` where workers
    die as fast as they start.
    """
    # Sockets that share a port would share it with another server too: whether it is free is asked without sharing.
    _bound(settings.host, settings.port, shared=False).close()
    with _bound(settings.host, settings.port) as held:  # never listens, but keeps the port
        port = held.getsockname()[1]
        stopping = _on_signals()
        with TemporaryDirectory(prefix="feemodel-metrics-") as metrics:
            place = Place(replace(settings, port=port), store, Path(metrics), _SPAWN.SimpleQueue(), _chain_ids())
            listening = _SPAWN.Event()
            workers = [_started(place, listening) for _ in range(settings.workers)]
            try:
                while not stopping and not listening.wait(0.05):
                    _check_first(workers, place)
                if not stopping:
                    ready(f"http://{_written(settings.host)}:{port}")
                _watch(workers, place, listening, stopping)
            finally:
                for worker, _ in workers:
                    worker.terminate()
                for worker, _ in workers:
                    worker.join(GRACE + 2.0)
                    worker.kill()


def _chain_ids() -> tuple[Any, Any]:
    return shared_chain_id(_SPAWN), shared_chain_id(_SPAWN)


def _check_first(workers: list[tuple[BaseProcess, float]], place: Place) -> None:
    ended = [worker for worker, _ in workers if not worker.is_alive()]
    if not place.failures.empty():  # which a worker says before it ends
        raise place.failures.get()
    for worker in ended:
        raise FeeModelError(f"a worker ended with exit code {worker.exitcode} before it listened")


def _watch(workers: list[tuple[BaseProcess, float]], shared: Place, listening: Event, stopping: list[int]) -> None:
    """Replace workers that end, until a signal is there."""
    early = 0
    while not stopping:
        wait([worker.sentinel for worker, _ in workers], timeout=0.2)
        for place, (worker, since) in enumerate(workers):
            if stopping or worker.is_alive():
                continue
            early = early + 1 if time.monotonic() - since < SHORT_LIFE else 0
            if early > RESTARTS:
                raise LimitExceeded(f"workers: {early} ended within {SHORT_LIFE:g} s of their start, the last with "
                                    f"exit code {worker.exitcode}")  # fmt: skip
            forget_process(shared.metrics, worker.pid or 0)
            workers[place] = _started(shared, listening)


def _on_signals() -> list[int]:
    """A list that receives the signals to stop."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, note)
    return received


def _started(place: Place, listening: Event) -> tuple[BaseProcess, float]:
    worker = _SPAWN.Process(target=_work, args=(place, listening), daemon=True)
    worker.start()
    return worker, time.monotonic()


def _work(place: Place, listening: Event) -> None:
    """One process: its own socket, its own event loop, its own copy of what it answers from."""
    import uvicorn

    from feemodel.rpc import logs
    from feemodel.rpc.protocol import STOPPING, Connections, DrainingServer, protocol_of

    settings = place.settings
    # Connections are taken before uvicorn minds signals: one that comes in between is kept for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    _end_with_parent()
    _allow_files(settings.connections + SPARE_FILES)
    logs.set_up(settings.log)
    try:
        app = _application(place)
    except FeeModelError as error:
        place.failures.put(error)
        raise SystemExit(1) from None
    gc.collect()
    gc.freeze()  # what is there now stays: walking through it again and again would cost every request
    with _bound(settings.host, settings.port) as listener:
        config = uvicorn.Config(
            app, ws="none", log_config=None, access_log=False, proxy_headers=False, server_header=False,
            backlog=BACKLOG,
            http=protocol_of(Connections(idle_seconds=settings.idle_seconds, limit=settings.connections)),
            timeout_keep_alive=FOREVER, timeout_graceful_shutdown=int(GRACE),
        )  # fmt: skip
        listener.listen(BACKLOG)  # from here on connections wait instead of being refused
        listening.set()
        DrainingServer(config).run(sockets=[listener])


def _allow_files(wanted: int) -> None:
    """Connections are files, of which a process may often have no more than 1,024 open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _end_with_parent() -> None:
    """A parent that was killed cannot say when to end."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _application(place: Place) -> "App":
    from feemodel.rpc.app import LOOPBACK, Access, App, Page
    from feemodel.rpc.logs import request_writer
    from feemodel.rpc.metrics import Metrics
    from feemodel.rpc.openrpc import document
    from feemodel.rpc.page import page
    from feemodel.rpc.service import Service

    settings, metrics = place.settings, Metrics(place.metrics)
    service = Service(settings, place.store, count_estimate=metrics.count_estimate, chain_ids=place.chain_ids)
    note = request_writer() if settings.log == "requests" else None

    def observe(method: str, code: int, seconds: float) -> None:
        metrics.observe(method, code, seconds)
        if note is not None:
            note(method, code, seconds)

    async def measured() -> bytes:
        node = service.upstream
        metrics.set_state(
            pricing_age=service.pricing.age,
            pricing_poll_age=service.pricing.poll_age,
            node_block_age=None if node is None else node.head.age,
            node_poll_age=None if node is None else node.head.poll_age,
            finalized=service.finalized,
        )
        return await asyncio.to_thread(metrics.text)

    body, policy = page()
    headers = (
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"no-referrer"),  # the path may hold the key
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-cache"),
    )
    return App(
        service.methods,
        access=Access(
            hosts=frozenset({*LOOPBACK, settings.host.lower(), *map(str.lower, settings.allowed_hosts)}),
            api_key=settings.api_key,
            cors_origins=settings.cors_origins,
            body_limit=settings.body_limit,
            body_seconds=settings.body_seconds,
            batch_limit=settings.batch_limit,
            requests=settings.requests,
        ),
        state=service,
        page=Page(body, headers),
        openrpc=document(service.methods),
        metrics=measured,
        observe=observe,
    )


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
