"""Run the server with uvicorn: one process, or several at one address.

Only the parent process reads files; workers receive their contents from the parent.
"""

import json
import logging
import os
import pickle
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import uvicorn
import uvloop
from starlette.types import ASGIApp

from feemodel.errors import FeeModelError
from feemodel.estimates.chain import ChainState, development_genesis, genesis_chain, read_genesis_document
from feemodel.estimates.codec_file import read_codec
from feemodel.execution._engines import is_native
from feemodel.execution._limits import REFERENCE_LIMITS
from feemodel.ledger.store import Store
from feemodel.server.settings import Settings
from feemodel.sizes._codecs import Codec

IDLE_SECONDS = 15  # time after which an idle connection is closed; nginx closes its own earlier, see deploy/nginx.conf
STOP_SECONDS = 10  # maximum time to finish requests after the signal to stop
LOADED = "_FEEMODEL_LOADED"  # environment variable with the path of the parent's pickled `Loaded`
METRICS = "PROMETHEUS_MULTIPROC_DIR"  # of prometheus_client: folder in which workers add up their metrics


class Loaded(msgspec.Struct, frozen=True):
    """Contents of the files that the parent has read."""

    settings: Settings
    chain: ChainState | None  #: chain to execute on; `None` with a node, or if only proofs are served
    store: Path | None  #: path of the ledger for proofs
    chain_id: int | None  #: chain id of the ledger
    codec: Codec


def load(settings: Settings, store: Path | None) -> Loaded:
    """Read the files that the settings name, and open the ledger for proofs, `store`.

    Raises `UnreadableFile` for a file that cannot be read, `InvalidInput` for contents or settings that are not valid.
    """
    root = chain_id = chain = None
    if store is not None:
        with Store(store, read_only=True) as opened:  # raises an error if the file is not an intact ledger
            chain_id = opened.chain_id
            root = None if opened.head is None else opened.block(0).root
    if settings.node is None and settings.store is None:
        genesis = development_genesis() if settings.genesis is None else read_genesis_document(settings.genesis)
        chain = genesis_chain(genesis, state_root=root)
    if chain is not None and not is_native(settings.engine):
        warnings.warn(f"calls run on the reference engine, at most {REFERENCE_LIMITS.gas_cap:,} gas each", stacklevel=2)
    return Loaded(settings, chain, store, chain_id, read_codec(settings.codec, settings.dictionary))


class Loop(uvloop.Loop):
    """Event loop of a worker, which listens on a socket of its own: the kernel then divides connections evenly.

    If workers share one socket, a single worker may accept all connections.
    """

    async def create_server(self, *arguments: Any, sock: socket.socket, **options: Any) -> Any:  # type: ignore[override]
        """Listen at the address of the socket that uvicorn has bound for all workers."""
        return await super().create_server(*arguments, *sock.getsockname()[:2], reuse_port=True, **options)


def application() -> ASGIApp:
    """Return a worker's application, made from what the parent has read."""
    loaded: Loaded = pickle.loads(Path(os.environ[LOADED]).read_bytes())
    set_up_log(loaded.settings.log)
    from feemodel.server import app

    return app.application(app.Service(loaded))


def serve(loaded: Loaded, *, ready: Callable[[str], object] = lambda address: None) -> None:
    """Run the server until a signal stops it.

    Parameters
    ----------
    loaded : contents of the files that the settings name.
    ready : function that is called with the server's address when a worker accepts connections.
    """
    settings = loaded.settings
    set_up_log(settings.log)
    # uvicorn finishes its requests and raises the signal again; exit then, so that the folder is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(prefix="feemodel-") as folder:
        path = Path(folder) / "loaded"
        path.write_bytes(pickle.dumps(loaded))
        os.environ[LOADED] = str(path)
        if settings.workers > 1:
            os.environ[METRICS] = folder
        port = _free_port(settings.host, settings.port)
        Thread(target=_announce, args=(settings.host, port, ready), daemon=True).start()
        uvicorn.run(
            "feemodel.server.workers:application",
            factory=True,
            host=settings.host,
            port=port,
            loop="uvloop" if settings.workers == 1 else "feemodel.server.workers:Loop",
            workers=settings.workers,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        )


def _free_port(host: str, port: int) -> int:
    """Return the port, or any free port for 0; raises `FeeModelError` if another server listens there."""
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
            return int(listener.getsockname()[1])
    except OSError as error:
        raise FeeModelError(f"{host}:{port}: {os.strerror(error.errno or 0)}") from None


def _announce(host: str, port: int, ready: Callable[[str], object]) -> None:
    """Call a function with the server's address when a worker accepts connections."""
    while True:
        with suppress(ConnectionRefusedError), socket.create_connection((host, port)):
            break
        time.sleep(0.05)
    ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")


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
