"""The ledger's disk: full, read-only; a server reads from it meanwhile."""

import json
import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import urllib3

from feemodel.ethereum.quantities import to_hex
from feemodel.ledger import Store, check_proof, import_genesis
from feemodel.ledger.changes import GenesisAccount
from tests.fire.findings import Finding, counted
from tests.fire.start import begun, feemodel, wait_until
from tests.ledger_blocks import address

ACCOUNTS, TOUCHED = 60, 30
BLOCKS = 14
FULL_AT = 600_000  # bytes that the disk, or a file on it, may have
FINAL = ("--finality", "immediate")
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


def begin(path: Path) -> None:
    """A ledger that holds its genesis."""
    with Store(path) as store:
        import_genesis(store, [GenesisAccount(address(number), balance=1) for number in range(1, ACCOUNTS + 1)])
        store.finalize(0)


def blocks(path: Path, first: int, last: int = BLOCKS) -> None:
    """A file of blocks, each of which changes slot 1 of many accounts to its number."""
    lines = []
    for number in range(first, last + 1):
        storage = {"storage": {"0x1": [hex(number - 1), hex(number)]}}
        accounts = {to_hex(address(place)): storage for place in range(1, TOUCHED + 1)}
        lines.append(json.dumps({"number": hex(number), "accounts": accounts}))
    path.write_text("\n".join(lines) + "\n")


def head(ledger: Path) -> int:
    """The newest block, which must be final."""
    with Store(ledger, read_only=True) as store:
        newest = store.head
        assert newest is not None
        assert store.finalized == newest.number
        return newest.number


@contextmanager
def proving(url: str, ledger: Path) -> Iterator[Counter[str]]:
    """Somebody who asks for proofs all the time, and checks them; how many held, and what else was answered."""
    seen, done = Counter[str](), threading.Event()

    def ask() -> None:
        with Store(ledger, read_only=True) as store, urllib3.PoolManager(timeout=30, retries=False) as pool:
            while not done.wait(0.01):
                seen[_proven(pool, url, store)] += 1

    asker = threading.Thread(target=ask)
    asker.start()
    try:
        yield seen
    finally:
        done.set()
        asker.join()


def _proven(pool: urllib3.PoolManager, url: str, store: Store) -> str:
    number = store.finalized or 0
    asked = to_hex(address(1 + number % TOUCHED))
    call = {"jsonrpc": "2.0", "id": 1, "method": "rollup_getProof", "params": [asked, ["0x1"], hex(number)]}
    reply: dict[str, Any] = pool.request("POST", url, json=call).json()
    if "error" in reply:
        return str(reply["error"]["code"])
    proof = check_proof(reply["result"], root=store.block(number).root, address=asked, storage_keys=[1])
    values = list(proof.storage.values())
    return "a proof that holds" if values == [number] else f"another value, {values}"


def _ended_well(completed: "subprocess.CompletedProcess[str]", *, code: int) -> bool:
    """Whether a command ended with that code and with an error in one line."""
    one_line = completed.stderr.count("\n") == 1 and completed.stderr.startswith("feemodel: ")
    return completed.returncode == code and one_line


def disk_full(folder: Path, *, limit: int | None) -> Finding:
    """Blocks are imported until there is no room; and then there is room again."""
    fault = "a full disk" if limit is None else "a limit on the size of files"
    ledger, before, after = folder / "ledger.db", folder / "blocks", folder / "more"
    begin(ledger)
    blocks(before, 1)
    filling = [folder / "filling"] if limit is None else []
    for file in filling:
        _fill(file, FULL_AT)
    with begun("--store", str(ledger), "--workers", "1") as server, proving(server.address, ledger) as seen:
        failed = feemodel("follow", "--store", str(ledger), "--blocks", str(before), *FINAL, limit=limit)
        reached = head(ledger)
        while_full = seen.total()
        for file in filling:
            file.unlink()
        blocks(after, reached + 1)
        again = feemodel("follow", "--store", str(ledger), "--blocks", str(after), *FINAL)
        done = head(ledger)
    held = _ended_well(failed, code=3) and again.returncode == 0 and done == BLOCKS
    held = held and seen.keys() == {"a proof that holds"} and while_full > 0
    words = failed.stderr.strip().rpartition("\n")[2] or "no error"
    return Finding(fault, f"block {reached}, “{words}”; block {done} with room again; {counted(seen)}", held)


def _fill(file: Path, room: int) -> None:
    """Take all of a disk but so much."""
    free = os.statvfs(file.parent)
    file.write_bytes(bytes(max(free.f_bavail * free.f_frsize - room, 0)))


def read_only(folder: Path) -> Iterator[Finding]:
    """A ledger on a disk that cannot be written: served, also where no process holds it; an import ends in a line."""
    ledger = folder / "ledger.db"
    begin(ledger)
    blocks(folder / "blocks", 1)
    before = ("unshare", "-rm", "sh", "-c", READ_ONLY, str(folder))
    with Store(ledger), begun("--store", str(ledger), "--workers", "1", before=before) as server:
        with proving(server.address, ledger) as seen:
            wait_until(lambda: seen.total() >= 5, "there are proofs")
        yield Finding("a read-only disk, served beside an import", counted(seen), seen.keys() == {"a proof that holds"})
    with begun("--store", str(ledger), "--workers", "1", before=before) as server:
        with proving(server.address, ledger) as seen:
            wait_until(lambda: seen.total() >= 5, "there are proofs")
        yield Finding("a read-only disk, served alone", counted(seen), seen.keys() == {"a proof that holds"})
    failed = feemodel("follow", "--store", str(ledger), "--blocks", str(folder / "blocks"), *FINAL, before=before)
    words = failed.stderr.strip().rpartition("\n")[2] or "no error"
    held = _ended_well(failed, code=3) and head(ledger) == 0
    yield Finding("a read-only disk, imported into", f"exit code {failed.returncode}, “{words}”", held)


def may(*command: str) -> bool:
    """Whether a command does what it should on this machine."""
    with suppress(FileNotFoundError):
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False


def findings() -> Iterator[Finding]:
    """All faults of the disk."""
    with TemporaryDirectory(prefix="under-fire-") as name:
        yield disk_full(Path(name), limit=FULL_AT)
    with TemporaryDirectory(prefix="under-fire-") as name:
        if may("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", name):
            try:
                yield disk_full(Path(name), limit=None)
            finally:
                subprocess.run(["umount", name], check=True)
        else:
            yield Finding("a full disk", "a small disk cannot be mounted by this user", None)
    with TemporaryDirectory(prefix="under-fire-") as name:
        if may("unshare", "-rm", "sh", "-c", READ_ONLY, name, "true"):
            yield from read_only(Path(name))
        else:
            yield Finding("a read-only disk", "cannot be mounted by this user", None)
