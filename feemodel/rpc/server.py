"""The processes of the server: one a core, each with a socket of its own on the same port.

The kernel spreads connections over sockets that share a port (`SO_REUSEPORT`), so that no process stands in front of
the others. A worker that dies is replaced; SIGTERM and SIGINT let every worker finish what it has accepted.
"""

import multiprocessing
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from types import FrameType

from feemodel.errors import FeeModelError, LimitExceeded

BACKLOG = 2_048  # connections that wait for `accept`
GRACE = 10.0  # seconds for requests under way, after the signal to stop
RESTARTS = 5  # of workers that die within seconds of their start, before the server gives up
SHORT_LIFE = 5.0  # seconds

_SPAWN = multiprocessing.get_context("spawn")  # a fork would share the parent's locks and open files


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server answers from, and where."""

    store: Path  #: a ledger with its genesis
    host: str = "127.0.0.1"
    port: int = 8545
    workers: int = 1


def serve(settings: Settings, *, ready: Callable[[str], object] = lambda address: None) -> None:
    """Serve until a signal says stop; `ready` is called with the address when the port is held.

    Raises `FeeModelError` where the port is taken, `LimitExceeded` where workers die as fast as they start.
    """
    # Sockets that share a port would share it with another server too: whether it is free is asked without sharing.
    _bound(settings.host, settings.port, shared=False).close()
    with _bound(settings.host, settings.port) as held:  # never listens, but keeps the port
        port = held.getsockname()[1]
        chosen = Settings(settings.store, settings.host, port, settings.workers)
        listening = _SPAWN.Event()
        workers = [_started(chosen, listening) for _ in range(settings.workers)]
        stopping = _on_signals()
        try:
            while not stopping and not listening.wait(0.05):
                _check_first(workers)
            ready(f"http://{settings.host}:{port}")
            _watch(workers, chosen, listening, stopping)
        finally:
            for worker, _ in workers:
                worker.terminate()
            for worker, _ in workers:
                worker.join(GRACE + 1.0)
                worker.kill()


def _check_first(workers: list[tuple[BaseProcess, float]]) -> None:
    for worker, _ in workers:
        if not worker.is_alive():
            raise FeeModelError(f"a worker ended with exit code {worker.exitcode} before it listened")


def _watch(workers: list[tuple[BaseProcess, float]], settings: Settings, listening: Event, stopping: list[int]) -> None:
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
            workers[place] = _started(settings, listening)


def _on_signals() -> list[int]:
    """A list that receives the signals to stop."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, note)
    return received


def _started(settings: Settings, listening: Event) -> tuple[BaseProcess, float]:
    worker = _SPAWN.Process(target=_work, args=(settings, listening), daemon=True)
    worker.start()
    return worker, time.monotonic()


def _work(settings: Settings, listening: Event) -> None:
    import uvicorn

    from feemodel.ledger.store import Store
    from feemodel.rpc.app import App
    from feemodel.rpc.methods import proof_methods

    with _bound(settings.host, settings.port) as listener, Store(settings.store, read_only=True) as store:
        config = uvicorn.Config(
            App(proof_methods(store)), ws="none", log_level="warning", backlog=BACKLOG,
            timeout_graceful_shutdown=int(GRACE),
        )  # fmt: skip
        listener.listen(BACKLOG)  # from here on connections wait instead of being refused
        listening.set()
        uvicorn.Server(config).run(sockets=[listener])


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
