"""The ledger's disk: full, read-only; a server reads from it meanwhile."""

import json
import os
import random
import shutil
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import urllib3

from feemodel.errors import InvalidProof
from feemodel.ethereum.quantities import to_hex
from feemodel.ledger import Store, check_proof, import_block, import_genesis
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, GenesisAccount
from feemodel.ledger.scheme import EMPTY_KECCAK
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


def no_room_for(folder: Path, *, limit: int | None) -> Iterator[Finding]:
    """What else writes to a ledger: its making, its finality, its rule; and what only reads it.

    Parameters
    ----------
    limit : on the size of any file [byte]; `None` for a disk that is full.
    """
    fault = "a full disk" if limit is None else "a limit on the size of files"
    ledger, genesis, store = folder / "ledger.db", folder / "genesis.json", ("--store", str(folder / "ledger.db"))
    begin(ledger)
    alloc = {to_hex(address(number)): {"balance": "0x1"} for number in range(1, 300)}
    genesis.write_text(json.dumps({"config": {"chainId": 5}, "alloc": alloc}))
    if limit is None:
        _fill(folder / "filling", 0)
    writing = {
        "a genesis": ("follow", "--store", str(folder / "new.db"), "--genesis", str(genesis)),
        "a final block": ("finalize", *store, "--block", "0"),
        "a finality rule": ("follow", *store, "--finality", "immediate"),
        "a chain id": ("follow", *store, "--chain-id", "5"),
    }
    for what, command in writing.items():
        failed = feemodel(*command, limit=limit)
        words = failed.stderr.strip().rpartition("\n")[2] or "no error"
        held = _ended_well(failed, code=3) and not (folder / "new.db").exists()
        yield Finding(f"{fault}: {what} is stored", f"exit code {failed.returncode}, “{words}”", held)
    proved = feemodel("prove", *store, "--address", to_hex(address(1)), limit=limit)
    yield Finding(f"{fault}: a proof is made", f"exit code {proved.returncode}", proved.returncode == 0)
    (folder / "filling").unlink(missing_ok=True)
    again = [feemodel(*command).returncode for command in writing.values()]
    yield Finding(f"{fault}: all of it with room again", f"exit codes {again}", set(again) == {0})


MANY = 3_000  # accounts, whose rows fill some hundred pages
QUESTIONS = 150


def overwritten(folder: Path) -> Iterator[Finding]:
    """The bytes of a served ledger are replaced under their name: cut short, garbage, another chain's ledger."""
    ledger, other, fork = folder / "ledger.db", folder / "other.db", folder / "fork.db"
    for path, balance in ((ledger, 1), (other, 2)):
        with Store(path) as store:
            import_genesis(store, [GenesisAccount(address(number), balance=balance) for number in range(1, MANY)])
            store.finalize(0)
    shutil.copy(ledger, fork)
    roots = {}
    for path, paid in ((ledger, 5), (fork, 6)):
        with Store(path) as store:
            block = BlockChanges(1, (AccountChange(address(MANY), None, AccountFields(0, paid, EMPTY_KECCAK)),))
            roots[path] = import_block(store, block).root
            store.finalize(1)
            store.checkpoint()
    size, before = ledger.stat().st_size, ledger.read_bytes()
    middle = before[: size // 3] + random.Random(1).randbytes(size // 3) + before[2 * (size // 3) :]
    replacements = {
        "cut to a half": before[: size // 2],
        "cut to a byte": before[:1],
        "emptied": b"",
        "garbage": random.Random(1).randbytes(size),
        "garbage in its middle": middle,
        "zeros": bytes(size),
        "another chain's ledger": other.read_bytes(),
        "a fork of the chain's ledger": fork.read_bytes(),
        "another program's database": _foreign(folder / "foreign.db"),
    }
    for name, content in replacements.items():
        ledger.write_bytes(before)
        with begun("--store", str(ledger), "--workers", "1") as server, urllib3.PoolManager(retries=False) as pool:
            choice = random.Random(2)
            held = Counter(_asked(pool, server.address, choice, roots[ledger]) for _ in range(20))
            with ledger.open("r+b") as file:
                file.write(content)
                file.truncate()
            seen = Counter(_asked(pool, server.address, choice, roots[ledger]) for _ in range(QUESTIONS))
            health = pool.request("GET", f"{server.address}/health").json()
            sound = held.keys() == {"a proof that holds"} and "Traceback" not in server.log()
            sound = sound and seen.keys() <= {"a proof that holds", "-32603", "-32002"}
            sound = sound and (health["status"] == "degraded" or "-32603" in seen)
        yield Finding(f"a served ledger overwritten: {name}", f"{counted(seen)}; health {health['status']}", sound)


def _foreign(path: Path) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
        connection.commit()
    return path.read_bytes()


def _asked(pool: urllib3.PoolManager, url: str, choice: random.Random, root: bytes) -> str:
    """What comes of a question for a random account, of the root that the ledger had at first."""
    asked = to_hex(address(choice.randrange(1, 2 * MANY)))
    call = {"jsonrpc": "2.0", "id": 1, "method": "rollup_getProof", "params": [asked, [], "0x1"]}
    try:
        reply: dict[str, Any] = pool.request("POST", url, json=call).json()
    except urllib3.exceptions.HTTPError as error:
        time.sleep(0.2)  # a worker that ended is replaced
        return type(error).__name__
    if "error" in reply:
        return str(reply["error"]["code"])
    try:
        check_proof(reply["result"], root=root, address=asked)
    except InvalidProof:
        return "a proof that does not hold"
    return "a proof that holds"


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
        yield from no_room_for(Path(name), limit=1)
    with TemporaryDirectory(prefix="under-fire-") as name:
        if may("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", name):
            try:
                yield disk_full(Path(name), limit=None)
                for file in Path(name).iterdir():
                    file.unlink()
                yield from no_room_for(Path(name), limit=None)
            finally:
                subprocess.run(["umount", name], check=True)
        else:
            yield Finding("a full disk", "a small disk cannot be mounted by this user", None)
    with TemporaryDirectory(prefix="under-fire-") as name:
        yield from overwritten(Path(name))
    with TemporaryDirectory(prefix="under-fire-") as name:
        if may("unshare", "-rm", "sh", "-c", READ_ONLY, name, "true"):
            yield from read_only(Path(name))
        else:
            yield Finding("a read-only disk", "cannot be mounted by this user", None)
