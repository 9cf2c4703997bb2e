"""nginx as a process of its own, with any configuration, and with the one in `deploy/`."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT
from tests.helpers.anvil import free_port
from tests.system import processes
from tests.system.client import Target
from tests.system.start import wait_until

BINARY = shutil.which("nginx")
SITE = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
HOST = "rpc.example.org"
KEYS = {"wallet": "5b0c1e2f8a7d4c3b9e6f1a2b3c4d5e6f", "attacker": "0f1e2d3c4b5a69788796a5b4c3d2e1f0"}
CONNECTIONS = 768  # of a worker, as Debian installs it
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@contextmanager
def running(folder: Path, port: int, site: str, *, workers: int = 1) -> Iterator["subprocess.Popen[bytes]"]:
    """Run nginx with these servers until the block ends; `folder` takes all that it writes."""
    written = " ".join(f"{kind}_temp_path {folder};" for kind in _TEMPORARY)
    user = "user root; " if os.geteuid() == 0 else ""  # who owns the folder
    (folder / "nginx.conf").write_text(
        f"daemon off; {user}worker_processes {workers}; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{ worker_connections {CONNECTIONS}; }}\nhttp {{ access_log off; {written}\n{site}}}\n"
    )
    line = [str(BINARY), "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")]
    checked = subprocess.run([*line, "-t"], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: process.poll() is not None or processes.workers(process.pid), "nginx listens")
        assert process.poll() is None, (folder / "error.log").read_text()
        yield process
    finally:
        process.terminate()
        process.wait(60)


@dataclass(frozen=True, slots=True)
class Shipped:
    """nginx with the configuration in `deploy/`."""

    port: int  #: on 127.0.0.1, with TLS
    certificate: Path  #: its own, which a client must trust
    folder: Path  #: of its logs
    pid: int  #: of its first process

    @property
    def tls(self) -> ssl.SSLContext:
        """Context of a client that trusts the certificate."""
        return ssl.create_default_context(cafile=self.certificate)

    def target(self, client: str, source: str = "127.0.0.1") -> Target:
        """Return the address for the client with a key of this name."""
        return Target(self.port, f"/v3/{KEYS[client]}", source, self.tls)


@contextmanager
def shipped(folder: Path, server: str, node: str = "127.0.0.1:9", *, second: str | None = None) -> Iterator[Shipped]:
    """Run nginx as in `deploy/nginx.conf`, in front of two servers and a node's WebSocket; addresses are host:port.

    Without a second server, the first one stands for both.

    Only addresses and paths are replaced.
    """
    port = free_port()
    certificate, key, keys = folder / "certificate.pem", folder / "key.pem", folder / "keys.conf"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST},DNS:localhost", "-keyout", key,
         "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    keys.write_text("".join(f'"{value}" {name};\n' for name, value in KEYS.items()))
    site = SITE
    for old, new in {
        "listen 443": f"listen 127.0.0.1:{port}",
        "server 127.0.0.1:8545": f"server {server}",
        "server 127.0.0.1:8547": f"server {second or server}",
        "server 127.0.0.1:8556": f"server {node}",
        "/etc/ssl/feemodel": str(folder),
        "/etc/nginx/feemodel-keys.conf": str(keys),
        "/var/log/nginx": str(folder),
    }.items():
        assert old in site, old
        site = site.replace(old, new)
    with running(folder, port, site, workers=2) as process:
        yield Shipped(port, certificate, folder, process.pid)
