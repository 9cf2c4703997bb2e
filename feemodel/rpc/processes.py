"""What the server's parent and its workers have in common, the log too: a line of JSON an event on standard error.

The parent answers nobody, so it is kept free of what answers: a worker starts the sooner. The log has neither calldata
nor keys.
"""

import logging
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from typing import Any

import msgspec

from feemodel.errors import FeeModelError
from feemodel.rpc.metrics import Board
from feemodel.rpc.settings import Settings

ID_BYTES = 32  # of a chain id
MOST_KEYS = 1_024  # API keys
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
    chain_ids: tuple[Any, Any]  #: of the nodes, an array of `ID_BYTES` each, see `feemodel.rpc.service.Service`
    answering: Semaphore  #: released by each worker that answers
    rates: Any  #: of the keys, four doubles each, see `feemodel.rpc.keys.Rates`


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


_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "process": record.process,
            "event": _text(record.getMessage()),
        }
        if record.exc_info:
            line["trace"] = _text("".join(traceback.format_exception(*record.exc_info)))
        return _encode(line).decode()


def _text(text: str) -> str:
    """A text that can be written: a node's words may hold half a surrogate pair."""
    return text.encode(errors="backslashreplace").decode()


def set_up_log(kind: str) -> None:
    """Log as the setting says: "requests" and "errors" write warnings and worse, "off" nothing."""
    root = logging.getLogger()
    handler: logging.Handler = logging.NullHandler() if kind == "off" else logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("feemodel.lifecycle").setLevel(logging.INFO)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # its warnings quote whole addresses, which may hold a key


def request_writer() -> Callable[..., None]:
    """A function that writes a line of fields to the request log; what cannot be written is lost."""
    process = os.getpid()

    def note(event: str, **fields: str | float) -> None:
        line = {"time": round(time.time(), 3), "level": "info", "process": process, "event": event}
        with suppress(OSError):
            sys.stderr.write(_encode(line | fields).decode() + "\n")

    return note
