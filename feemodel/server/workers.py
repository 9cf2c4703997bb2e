"""Run the server with uvicorn: one process, or several that share one listening socket."""

import json
import logging
import os
import pickle
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from feemodel.errors import FeeModelError
from feemodel.server.loaded import Loaded

if TYPE_CHECKING:
    from starlette.types import ASGIApp

BACKLOG = 2_048  # maximum number of connections waiting to be accepted
IDLE_SECONDS = 15  # time after which an idle connection is closed; nginx closes its own earlier, see deploy/nginx.conf
STOP_SECONDS = 10  # maximum time to finish requests after the signal to stop
LOADED = "_FEEMODEL_LOADED"  # variable with the path of the pickled `Loaded` of the parent
METRICS = "PROMETHEUS_MULTIPROC_DIR"  # variable of prometheus_client: folder in which workers add up their metrics


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket; raises `FeeModelError` if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise FeeModelError(f"{host}:{port}: {os.strerror(error.errno or 0)}") from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the body of a response waits for an ACK
    return listener


def application() -> "ASGIApp":
    """Return the application of a process, made from what the parent has read before the start."""
    loaded: Loaded = pickle.loads(Path(os.environ[LOADED]).read_bytes())
    set_up_log(loaded.settings.log)
    from feemodel.server import app
    from feemodel.server.service import Service

    return app.application(Service(loaded))


def serve(loaded: Loaded, *, ready: Callable[[str], object] = lambda address: None) -> None:
    """Run the server until a signal stops it.

    Parameters
    ----------
    loaded : contents of the files that the settings name.
    ready : function that is called with the server's address when the port accepts connections. Requests wait until
        the engine, the codec and the ledger are loaded.
    """
    settings = loaded.settings
    set_up_log(settings.log)
    # uvicorn finishes its requests and raises the signal again; exit then, so that the folder is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with listening(settings.host, settings.port) as listener, tempfile.TemporaryDirectory(prefix="feemodel-") as folder:
        path = Path(folder) / "loaded"
        path.write_bytes(pickle.dumps(loaded))
        os.environ[LOADED] = str(path)
        if settings.workers > 1:
            os.environ[METRICS] = folder
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        ready(f"http://{host}:{listener.getsockname()[1]}")
        uvicorn.run(
            "feemodel.server.workers:application",
            factory=True,
            fd=listener.fileno(),
            workers=settings.workers,
            http="httptools",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        )


class JsonLines(logging.Formatter):
    """A log record as one line of JSON, with the fields of `extra={"fields": …}`."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": round(record.created, 3), "level": record.levelname.lower(), "process": record.process,
            "event": record.getMessage(), **getattr(record, "fields", {}),
        }  # fmt: skip
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)  # msgspec raises an error for lone surrogates; json escapes them


def set_up_log(kind: str) -> None:
    """Set up logging: "errors" logs warnings and errors, "requests" also logs every call."""
    root, handler = logging.getLogger(), logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("feemodel.calls").setLevel(logging.INFO if kind == "requests" else logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # logging each malformed request could fill the disk
