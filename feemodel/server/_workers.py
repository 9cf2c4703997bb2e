"""Start the workers with uvicorn's supervisor; each worker has its own socket.

Workers share a port (`SO_REUSEPORT`), so that the kernel distributes connections among them. The data that the parent
has read is pickled and passed to every worker, including replacement workers.
"""

import json
import logging
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from uvicorn.config import Config
from uvicorn.supervisors import Multiprocess

from feemodel.errors import FeeModelError
from feemodel.server._metrics import FOLDER
from feemodel.server.loaded import Loaded
from feemodel.server.service import Service

if TYPE_CHECKING:
    from feemodel.server._app import App

PING_SECONDS = 30  # a worker that does not answer its parent within this time is replaced; compiling takes 10 s
BACKLOG = 2_048  # maximum number of connections waiting to be accepted
UNREAD = 65_536  # size of the kernel's receive buffer for each connection [byte]


class SharedSocket(socket.socket):
    """Socket that can be pickled; unpickling the socket in a worker opens a new socket on the same port."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return bound, self.getsockname()[:2]


def bound(host: str, port: int, *, shared: bool = True) -> SharedSocket:
    """Return a socket that is bound but does not listen yet; raises `FeeModelError` if the port is in use."""
    listener = SharedSocket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD)
        if shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise FeeModelError(f"{host}:{port}: {error.strerror}") from None
    return listener


def application(loaded: Loaded) -> "App":
    """Return the application of a worker, created from the data that the parent has loaded."""
    from feemodel.server._app import App

    set_up_log(loaded.settings.log)
    return App(Service(loaded))


def config_of(loaded: Loaded) -> Config:
    """Return uvicorn's configuration."""
    settings = loaded.settings
    return Config(
        partial(application, loaded),
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        http="feemodel.server._deadlines:http",
        ws="feemodel.server._deadlines:websocket",
        ws_max_size=settings.body_limit,
        ws_per_message_deflate=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=settings.idle_seconds,
        timeout_graceful_shutdown=settings.stop_seconds,
        timeout_worker_healthcheck=PING_SECONDS,
    )


def serve(loaded: Loaded, *, ready: Callable[[str], object] = lambda address: None) -> None:
    """Run the server until a signal stops it.

    Parameters
    ----------
    loaded : contents of the files that the settings name.
    ready : function that is called with the server's address when all workers accept requests.

    Raises `FeeModelError` if the port is in use.
    """
    settings = loaded.settings
    set_up_log(settings.log)
    # Check without `SO_REUSEPORT` that the port is free; with this option, another server could share the port.
    bound(settings.host, settings.port, shared=False).close()
    folder = tempfile.mkdtemp(prefix="feemodel-metrics-")
    os.environ[FOLDER] = folder
    try:
        with bound(settings.host, settings.port) as listener:
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            supervisor = Supervisor(config_of(loaded), [listener])
            supervisor.ready = lambda: ready(f"http://{host}:{listener.getsockname()[1]}")
            supervisor.run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Supervisor(Multiprocess):
    """uvicorn's supervisor, which also calls a function when all workers accept requests."""

    ready: Callable[[], object]

    def init_processes(self) -> None:
        super().init_processes()
        for process in self.processes:
            process.wait_until_ready(float(PING_SECONDS), self.should_exit)
        self.ready()


class JsonLines(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": round(record.created, 3), "level": record.levelname.lower(), "process": record.process,
            "event": record.getMessage(),
        }  # fmt: skip
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line)  # msgspec raises an error for lone surrogates; json escapes them


def set_up_log(kind: str) -> None:
    """Set up logging: "errors" logs warnings and errors, "requests" also logs every call, "off" logs nothing."""
    root = logging.getLogger()
    handler: logging.Handler = logging.NullHandler() if kind == "off" else logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("feemodel.calls").setLevel(logging.INFO if kind == "requests" else logging.WARNING)
    requests = logging.getLogger("uvicorn.error")  # logging each malformed request could fill the disk
    requests.setLevel(logging.ERROR)
    requests.addFilter(lambda record: not str(record.msg).startswith("Invalid UTF-8"))  # in WebSocket messages
