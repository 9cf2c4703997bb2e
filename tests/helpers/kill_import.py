"""Kill an import again and again, and see that the ledger opens at its last whole block with the right root.

`python -m tests.helpers.kill_import [KILLS] [WORK …]`, with WORK import or backup: what the process does
after each block that it imports; both unless named. Each round forks a process that imports blocks and kills
it (SIGKILL) at a random moment, every other time at the first moment from there on that is inside a transaction. A
witness imports the same blocks undisturbed. Every few rounds start a new file, so that the laying out of the tables
and the genesis are hit as well.
"""

import os
import random
import select
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, get_proof, import_block, import_genesis
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, SlotChange
from feemodel.ledger.maintenance import back_up, verify
from tests.helpers.ledger_blocks import CODE, CODE_KECCAK, address, allocated, slot

ACCOUNTS = 200
TOUCHED = 40  # accounts a block, each with a slot
ROUNDS_A_FILE = 25
MAX_TRANSACTIONS = 6  # that are over before the kill
LONGEST_LIFE = 0.05  # s from then on
GENESIS = [allocated(address(number), 1, number, CODE, {slot(0): 1}) for number in range(1, ACCOUNTS + 1)]


def next_block(store: Store) -> BlockChanges:
    """The block after the head, which follows from its number and the state alone."""
    head = store.head
    assert head
    choice = random.Random(head.number)
    changes = []
    for number in sorted(choice.sample(range(1, ACCOUNTS + 1), TOUCHED)):
        account = store.account(head.number, address(number))
        assert account
        before = AccountFields(account.nonce, account.balance, CODE_KECCAK)
        place = slot(choice.randrange(4))
        value = store.slot(head.number, address(number), place)
        storage = (SlotChange(place, value, choice.choice([0, head.number + 1])),)
        changes.append(
            AccountChange(address(number), before, before._replace(nonce=account.nonce + 1), storage=storage)
        )
    return BlockChanges(head.number + 1, tuple(changes))


def back_up_beside(store: Store) -> None:
    """Copy the ledger into its folder, under the number of its head."""
    assert store.head
    with suppress(InvalidInput):  # a copy of that head is there already
        back_up(store, store.path.with_name(f"{store.path.stem}-{store.head.number}.copy"))


#: What the process to be killed does after each block.
WORK: dict[str, Callable[[Store], object]] = {"import": lambda store: None, "backup": back_up_beside}


def import_until_killed(path: Path, signs: int, work: str) -> None:
    """What the process to be killed does; it writes B when a transaction begins and E when it is over."""
    store = Store(path)
    whole = store.transaction

    @contextmanager
    def signed() -> Iterator[None]:
        os.write(signs, b"B")
        with whole():
            yield
        os.write(signs, b"E")

    store.transaction = signed  # type: ignore[method-assign]
    if store.head is None:
        import_genesis(store, GENESIS)
    while True:
        block = next_block(store)
        import_block(store, block, final=block.number % 2 == 0)
        WORK[work](store)


def forked_import(path: Path, work: str = "import") -> tuple[int, int]:
    """A process that imports, by its id, and where to read its signs; returns when the first has come."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads: NumPy's are idle here
        child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            import_until_killed(path, writing, work)
        finally:
            os._exit(1)  # only reached by an error: the parent misses its SIGKILL
    os.close(writing)
    select.select([reading], [], [], 60)
    return child, reading


def kill_once(path: Path, transactions: int, wait: float, *, aimed: bool, work: str) -> bool:
    """Start an import, kill it, and tell whether that was inside a transaction; if aimed, wait until it is.

    The kill comes that many seconds after that many transactions are over.
    """
    child, reading = forked_import(path, work)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        inside = False
        while transactions > 0 and (sign := pipe.read(1)):
            transactions -= sign == b"E"
            inside = sign == b"B"
        time.sleep(wait)
        os.set_blocking(reading, False)
        while aimed and not inside:
            os.kill(child, signal.SIGSTOP)  # what it does now it still does when the next signal comes
            os.waitpid(child, os.WUNTRACED)
            inside = _last_sign(pipe, inside)
            if not inside:
                os.kill(child, signal.SIGCONT)
                time.sleep(0.001)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), "the import ended by itself"
        return _last_sign(pipe, inside)


def _last_sign(pipe: IO[bytes], before: bool) -> bool:
    """Whether the last sign given, if any since `before` was known, is that a transaction began."""
    signs = pipe.read()
    return signs.endswith(b"B") if signs else before


def check_store(path: Path, witness: Store) -> int | None:
    """The head of the store after a kill, whose root must be the witness's, and whose proofs must hold."""
    with Store(path) as store:
        head = store.head
        if head is None:
            assert store.finalized is None
            return None
        if witness.head is None:
            import_genesis(witness, GENESIS)
        while witness.head and witness.head.number < head.number:
            import_block(witness, next_block(witness))
        assert head == witness.block(head.number)
        assert store.finalized == (None if head.number < 2 else head.number - head.number % 2)
        verify(store)
        if store.finalized is not None:
            final, asked = store.finalized, to_hex(address(1 + head.number % ACCOUNTS))
            proof = get_proof(store, asked, ["0x0", "0x1"], "finalized")
            check_proof(proof, root=witness.block(final).root, address=asked, storage_keys=["0x0", "0x1"])
        return head.number


def check_copies(path: Path, witness: Store) -> int:
    """How many copies stand beside a ledger, each of which is whole; they and what a kill left of others go."""
    copies = list(path.parent.glob(f"{path.stem}-*.copy"))
    for copy in copies:
        with Store(copy, read_only=True) as store:
            assert store.head == witness.block(int(copy.stem.rpartition("-")[2]))
            verify(store)
        copy.unlink()
    for unfinished in path.parent.glob(f".{path.stem}-*"):
        unfinished.unlink()
    return len(copies)


def run(kills: int, folder: Path, *, seed: int = 1, work: str = "import") -> Counter[str]:
    """That many kills; how many hit a transaction, and how many found the file without a block."""
    choice = random.Random(seed)
    counts: Counter[str] = Counter()
    path = folder / "0.db"
    with Store(folder / "witness.db") as witness:
        import_genesis(witness, GENESIS)
    for count in range(kills):
        if count % ROUNDS_A_FILE == 0:
            path = folder / f"{count}.db"
        transactions, wait = choice.randrange(MAX_TRANSACTIONS + 1), choice.uniform(0, LONGEST_LIFE)
        counts["inside a transaction"] += kill_once(path, transactions, wait, aimed=count % 2 == 0, work=work)
        with Store(folder / "witness.db") as witness:
            head = check_store(path, witness)
            counts["copies"] += check_copies(path, witness)
        counts["no block yet"] += head is None
        counts["highest block"] = max(counts["highest block"], head or 0)
        counts["kills"] += 1
    return counts


def main(kills: int, works: Sequence[str]) -> int:
    failed = 0
    for work in works:
        with tempfile.TemporaryDirectory() as folder:
            counts = run(kills, Path(folder), work=work)
        print(f"{work}: " + ", ".join(f"{name}: {count}" for name, count in counts.items()), flush=True)
        spread = counts["inside a transaction"] * 2 >= kills and counts["no block yet"] * 2 <= kills
        failed += not spread
        found = "every store opened at its last whole block with the right root, and every row as its hash says"
        print(found if spread else "the kills were not spread", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2:] or list(WORK)))
