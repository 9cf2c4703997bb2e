"""The server as it is started: `feemodel serve` in processes of its own, on a port that was free."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

import urllib3

from feemodel.server.settings import ENVIRONMENT_PREFIX

START = 180.0  # seconds to begin: the LZSS kernels take a free core ten to compile, a busy machine many times that
ANSWER, STOP = 120.0, 30.0  # seconds to answer, where that compiles first; to end


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    address: str  #: http://127.0.0.1:PORT
    started: dict[str, Any]  #: all that it said when it was ready
    pid: int  #: of the parent of its workers
    pool: urllib3.PoolManager

    def ask(self, method: str, *params: Any, path: str = "/") -> dict[str, Any]:
        """The whole response to one call."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response: dict[str, Any] = self.pool.request("POST", self.address + path, json=body).json()
        return response


@contextmanager
def serving(*flags: str) -> Iterator[Server]:
    """`feemodel serve` with these flags and no other setting, until the block ends.

    Then it is told to stop, and must end with exit code 0, without a trace of an error on standard error, and without
    a worker that had to be killed.
    """
    command = [sys.executable, "-m", "feemodel.cli", "serve", "--port", "0", "--json", *flags]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    # Files and not pipes: nobody has to read them while it serves.
    with TemporaryFile() as said, TemporaryFile() as errors:
        with (
            subprocess.Popen(command, stdout=said, stderr=errors, env=environment) as process,
            urllib3.PoolManager(maxsize=8, timeout=ANSWER, retries=False) as pool,
        ):
            try:
                started = _started(process, said, errors)
                yield Server(started["address"], started, process.pid, pool)
            finally:
                _stop(process)
        logged = _text(errors)
        assert (process.returncode, "trace" in logged.lower(), "is killed" in logged) == (0, False, False), logged


def _started(process: subprocess.Popen[bytes], said: IO[bytes], errors: IO[bytes]) -> dict[str, Any]:
    """What it says when it is ready."""
    end = time.monotonic() + START
    while not _text(said).endswith("}\n"):
        assert process.poll() is None, _text(errors)
        assert time.monotonic() < end, f"did not answer within {START:g} s: {_text(errors)}"
        time.sleep(0.02)
    answer: dict[str, Any] = json.loads(_text(said))
    return answer


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def _text(file: IO[bytes]) -> str:
    """All that another process has written; where the two stand in the file, which they share, stays as it is."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode()
