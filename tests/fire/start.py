"""A server that may be treated badly: how it ended is for whoever started it to judge."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from feemodel.rpc.settings import ENVIRONMENT_PREFIX
from tests.fire.processes import tree

PATIENCE = 60.0  # seconds for anything that must happen at last
STOP = 40.0  # seconds that a server may take to end
FEEMODEL = (sys.executable, "-m", "feemodel.cli")


@dataclass(frozen=True, slots=True)
class Begun:
    """A server that has answered once."""

    process: "subprocess.Popen[bytes]"
    address: str
    folder: Path  #: where it keeps its temporary files
    errors: Path  #: what it has written on standard error

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def pid(self) -> int:
        return self.process.pid

    def log(self) -> str:
        """All that it has logged so far."""
        return self.errors.read_text(encoding="utf-8", errors="replace")

    def left(self) -> list[str]:
        """The temporary folders and files that are there."""
        return sorted(path.name for path in self.folder.iterdir())


@contextmanager
def begun(*flags: str, environment: Mapping[str, str] | None = None, before: Sequence[str] = ()) -> Iterator[Begun]:
    """`feemodel serve` with these flags; whatever is left of it is ended with the block.

    Parameters
    ----------
    environment : variables beside those of this process.
    before : a command that starts the server.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    with TemporaryDirectory(prefix="under-fire-") as name:
        folder, said, errors = Path(name) / "temporary", Path(name) / "said", Path(name) / "errors"
        folder.mkdir()
        variables = clean | {"TMPDIR": str(folder)} | dict(environment or {})
        command = [*before, *FEEMODEL, "serve", "--port", "0", "--json", *flags]
        with (
            said.open("wb") as out,
            errors.open("wb") as err,
            subprocess.Popen(command, stdout=out, stderr=err, env=variables) as process,
        ):
            mine: list[psutil.Process] = []
            try:
                wait_until(lambda: said.read_text().endswith("}\n") or process.poll() is not None, "it answers")
                assert process.poll() is None, errors.read_text()
                server = Begun(process, json.loads(said.read_text())["address"], folder, errors)
                mine = tree(process.pid)
                yield server
            finally:
                mine += tree(process.pid)
                end(process, mine)


def end(process: "subprocess.Popen[bytes]", processes: list[psutil.Process]) -> None:
    """End a server in good time, and what is left of it at once."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP)
    for left in processes:
        with suppress(psutil.NoSuchProcess):
            left.kill()


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run, none of them a mere entry that nobody has asked for."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def wait_until(happened: Callable[[], object], what: str, *, patience: float = PATIENCE) -> float:
    """Seconds until something happened; fails where it does not."""
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < patience, f"waited {patience:g} s in vain until {what}"
        time.sleep(0.02)
    return time.monotonic() - began


def feemodel(
    *arguments: str, before: Sequence[str] = (), limit: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """A command of this package; `limit` is that of the size of a file [byte]."""
    limited = () if limit is None else ("prlimit", f"--fsize={limit}")
    command = [*before, *limited, *FEEMODEL, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 3, check=False)
