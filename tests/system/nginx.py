"""nginx as a live neighbour: started with a site of a test's or a benchmark's own, on a port that was free."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BINARY = shutil.which("nginx")
START = 60.0  # seconds that it may take until it listens
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(folder: Path, port: int, site: str, *, workers: int = 1) -> Iterator[None]:
    """nginx with these servers until the block ends; `folder` takes all that it writes."""
    written = " ".join(f"{kind}_temp_path {folder};" for kind in _TEMPORARY)
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes {workers}; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off; {written}\n{site}}}\n"
    )
    command = [str(BINARY), "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + START
        while True:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, (folder / "error.log").read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(60)
