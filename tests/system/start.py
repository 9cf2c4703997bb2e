"""Start a server in processes of its own, wait until it answers, and end whatever is left of it."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import urllib3

from tests.system.processes import tree

PATIENCE = 60.0  # seconds for anything that must happen in the end
START = 180.0  # seconds until a server answers; kernels may be compiled first, on a busy machine
ANNOUNCED = re.compile(r"http://127\.0\.0\.1:(\d+)")  # on standard output, when all workers have answered
STOP = 40.0  # seconds that a server may take to end
ANSWER = 120.0  # seconds of a call, which may compile first
VARIABLES = "FEEMODEL_"  # prefix of settings in the environment


@dataclass(frozen=True, slots=True)
class Started:
    """A server whose workers have all answered their parent."""

    process: "subprocess.Popen[bytes]"  #: the one that was started, parent of the workers
    port: int
    folder: Path  #: of its temporary files
    errors: Path  #: file with its standard error

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, *params: Any) -> dict[str, Any]:
        """Return the whole response to one call."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = urllib3.request("POST", self.address, json=body, timeout=ANSWER, retries=False)
        response: dict[str, Any] = answer.json()
        return response

    def log(self) -> str:
        """Return everything that was logged so far."""
        return self.errors.read_text(encoding="utf-8", errors="replace")

    def left(self) -> list[str]:
        """Return the names of the temporary files and folders that exist."""
        return sorted(path.name for path in self.folder.iterdir())


@contextmanager
def started(*flags: str, port: int = 0) -> Iterator[Started]:
    """Run a server with these flags on a port, any that is free by default; its processes are ended with the block."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(VARIABLES)}
    with TemporaryDirectory(prefix="feemodel-system-") as name:
        folder, output, errors = (Path(name) / part for part in ("temporary", "output", "errors"))
        folder.mkdir()
        variables = clean | {"TMPDIR": str(folder)}
        line = [sys.executable, "-m", "feemodel", "serve", "--port", str(port), *flags]
        with (
            output.open("wb") as out,
            errors.open("wb") as err,
            subprocess.Popen(line, stdout=out, stderr=err, env=variables) as process,
        ):
            found: list[psutil.Process] = []
            try:
                announced = lambda: ANNOUNCED.search(output.read_text(encoding="utf-8"))  # noqa: E731
                wait_until(lambda: announced() or process.poll() is not None, "the server answers", patience=START)
                address = announced()
                assert address is not None, errors.read_text(encoding="utf-8", errors="replace")
                found = tree(process.pid)
                yield Started(process, int(address[1]), folder, errors)
            finally:
                found += tree(process.pid)
                end(process, found)


@contextmanager
def serving(*flags: str, port: int = 0) -> Iterator[Started]:
    """Run a server that must end with exit code 0, no error in its log, and no worker that had to be killed."""
    with started(*flags, port=port) as server:
        yield server
        end(server.process, tree(server.pid))
        log = server.log()
    assert (server.process.returncode, "trace" in log.lower(), "is killed" in log) == (0, False, False), log


def end(process: "subprocess.Popen[bytes]", processes: list[psutil.Process]) -> None:
    """End a server by SIGTERM, and what is left of it by SIGKILL."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP)
    for left in processes:
        with suppress(psutil.NoSuchProcess):
            left.kill()


def wait_until(happened: Callable[[], object], what: str, *, patience: float = PATIENCE) -> float:
    """Return the seconds until something happened; raise `AssertionError` if it does not."""
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < patience, f"waited {patience:g} s in vain until {what}"
        time.sleep(0.02)
    return time.monotonic() - began
