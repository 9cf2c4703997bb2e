"""One serving process: its own socket, its own event loop, its own copy of what it answers from."""

import asyncio
import gc
import logging
import multiprocessing
import os
import resource
import signal
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from feemodel.errors import FeeModelError
from feemodel.explorer.page import page
from feemodel.rpc import processes
from feemodel.rpc.app import LOOPBACK, Access, App, Page
from feemodel.rpc.keys import Key, Keys, Rates, read_keys
from feemodel.rpc.listener import serve_until
from feemodel.rpc.metrics import Metrics
from feemodel.rpc.openrpc import document
from feemodel.rpc.processes import BEAT, GRACE, IGNORED, STOPPING, Shared, bound
from feemodel.rpc.protocol import REQUEST, Bounds, Connections, most_connections, most_within
from feemodel.rpc.service import Service
from feemodel.rpc.settings import Settings

BACKLOG = 2_048  # connections that wait for `accept`
SPARE_FILES = 16  # that a worker may open beside its connections
FILES_OF_A_CHILD = 4  # that a child process takes of its worker

_log = logging.getLogger(__name__)


def work(shared: Shared, place: int) -> None:
    """One process: its own socket, its own event loop, its own copy of what it answers from."""
    # Signals are blocked from before its start: one that comes before connections are taken is kept until then.
    settings = shared.settings
    _end_with_parent()
    processes.set_up_log(settings.log)
    metrics = Metrics(shared.board, place)
    try:
        run_loop(_serving(shared, metrics))
    except FeeModelError as error:
        shared.failures.put(error)
        raise SystemExit(1) from None


async def _serving(shared: Shared, metrics: Metrics) -> None:
    settings, loop, stop = shared.settings, asyncio.get_running_loop(), asyncio.Event()
    service = Service(settings, shared.store, count_estimate=metrics.count_estimate, chain_ids=shared.chain_ids)
    app, observe = _application(service, shared, metrics)
    connections = Connections(app, _bounds(settings), observe)
    gc.collect()
    gc.freeze()  # what is there now stays: walking through it again and again would cost every request
    for number in STOPPING:
        loop.add_signal_handler(number, stop.set)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    if settings.api_keys is not None:
        loop.add_signal_handler(signal.SIGHUP, _read_keys_again, app, shared)
    with bound(settings.host, settings.port) as listener:
        listener.setblocking(False)
        listener.listen(BACKLOG)  # from here on connections wait instead of being refused
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING | IGNORED)
        beating = asyncio.create_task(_beat(metrics))
        await serve_until(stop, listener, connections, ready=shared.answering.release, grace=GRACE)
        beating.cancel()
        metrics.write()
    if service.is_compiling:
        os._exit(0)  # nothing is left to do, and a thread that compiles cannot be stopped: it would be waited for


def _read_keys_again(app: App, shared: Shared) -> None:
    try:
        app.keys = _keys(shared)
    except FeeModelError as error:  # which the parent has not met a moment before
        _log.error("the keys were not read again: %s", error)


def _keys(shared: Shared) -> Keys | None:
    settings = shared.settings
    if settings.api_key is not None:
        return Keys.of({settings.api_key: Key(name="api_key", operator=True)})
    return None if settings.api_keys is None else Keys.of(read_keys(settings.api_keys), Rates(shared.rates))


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
    wanted = settings.connections
    beside = len(list(Path("/dev/fd").iterdir())) + SPARE_FILES + FILES_OF_A_CHILD * settings.processes
    free = _allowed_files(most_connections(wanted) + beside) - beside
    possible = max(min(wanted, most_within(free)), 1)
    if possible < wanted:
        _log.warning("the limit of open files leaves room for %d connections, of %d", possible, wanted)
    return Bounds(
        connections=possible, requests=settings.requests, idle_seconds=settings.idle_seconds,
        body_limit=settings.body_limit, body_seconds=settings.body_seconds,
    )  # fmt: skip


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


def _application(service: Service, shared: Shared, metrics: Metrics) -> tuple[App, Callable[[int], None]]:
    """The application of a worker, and what counts the status of its answers."""
    settings = shared.settings
    note = processes.request_writer() if settings.log == "requests" else None

    def observe(method: str, code: int, seconds: float) -> None:
        metrics.observe(method, code, seconds)
        if note is not None:
            note("call", method=method, code=code, ms=round(seconds * 1_000, 3), request=REQUEST.get())

    def answered(status: int) -> None:
        metrics.count_answer(status)
        if note is not None and status >= 400:
            note("refused", status=status)

    async def measured() -> bytes:
        return metrics.text(service.gauges(), **service.states())

    body, policy = page()
    headers = (
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-security-policy", policy.encode()),
        (b"referrer-policy", b"no-referrer"),  # the path may hold the key
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-cache"),
    )
    if note is None:  # only the counters see an answer
        observe, answered = metrics.observe, metrics.count_answer
    app = App(
        service.methods,
        access=Access(
            hosts=frozenset({*LOOPBACK, settings.host.lower(), *map(str.lower, settings.allowed_hosts)}),
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
