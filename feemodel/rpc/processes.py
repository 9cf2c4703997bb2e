"""What the server's parent and its workers have in common.

The parent answers nobody, so it is kept free of what answers: a worker starts the sooner.
"""

import signal
import socket
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from typing import Any

from feemodel.errors import FeeModelError
from feemodel.rpc.metrics import Board
from feemodel.rpc.settings import Settings

BEAT = 0.5  # seconds between two signs of life of a worker
GRACE = 12.0  # seconds for requests under way, after the signal to stop
STOPPING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGQUIT})
IGNORED = frozenset({
    signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO,
})  # fmt: skip


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


def start_worker(shared: Shared, place: int) -> None:
    """What a new process runs; only there is what answers imported."""
    from feemodel.rpc.worker import work

    work(shared, place)


def bound(host: str, port: int, *, shared: bool = True) -> socket.socket:
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
