"""Ledger times: vectorized hashes, a genesis against bare inserts, blocks, and proofs as the tree grows."""

import random
import resource
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks import interleaved, per_item, ratio
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, get_proof, import_block, import_genesis, plain_hashes
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, SlotChange
from feemodel.ledger.hashing import pieces
from feemodel.ledger.scheme import POSEIDON2
from tests.helpers.ledger_blocks import allocated

CODE = bytes.fromhex("600160020300")
CONTRACT = b"\xc0" * 20
MILLION = 1_000_000
FIGURE = Path("out/ledger_growth.png")


def main() -> None:
    hashes()
    with tempfile.TemporaryDirectory() as folder:
        genesis(Path(folder))
        block_of_slots(Path(folder))
        growth(Path(folder))


def hashes(count: int = 4_000) -> None:
    """Compare vectorized and single hashes of tree nodes (two blocks of eight elements), on one core."""
    data = np.random.default_rng(1).integers(0, POSEIDON2.order, (count, 16), dtype=np.uint32).astype(">u4").tobytes()
    nodes = pieces(data, 64)
    runs = {
        "one at a time": lambda: b"".join(map(POSEIDON2.digest, nodes)),
        "in lanes": lambda: POSEIDON2.digests(data, 64),
        "in Python": lambda: plain_hashes.poseidon2_digests(data, 64),
    }
    if len({run() for run in runs.values()}) > 1:
        raise AssertionError("the hashes differ")
    seconds = interleaved(runs)
    print(f"  Poseidon2 of {count:,} nodes, one core")
    for name, times in seconds.items():
        print(f"    {name:<14} {per_item(times, count)} a node")
    print(f"    times as fast in lanes: {ratio(seconds, 'one at a time', 'in lanes')}")


def genesis(folder: Path) -> None:
    """Import a million accounts, durably, in a new process, and compare it with bare inserts of the same rows."""
    context = get_context("spawn")
    for name, run in (("bare inserts", _bare_rows), ("genesis", _million)):
        with context.Pool(1) as pool:
            seconds, memory = pool.apply(run, (str(folder / f"{name}.db"),))
        size = (folder / f"{name}.db").stat().st_size
        sizes = f"peak memory {memory / 2**20:,.0f} MiB, file {size / 2**20:,.0f} MiB"
        print(f"  {name} of 1,000,000 accounts: {seconds:.1f} s, {sizes}")
    with Store(folder / "genesis.db", read_only=False) as store:
        store.finalize(0)
        _proofs("a store of 1,000,000 accounts", store)


def block_of_slots(folder: Path, slots: int = 100_000, touched: int = 1_000) -> None:
    """Import blocks that change slots of one storage tree, each durably."""
    values = {number.to_bytes(32): 1 for number in range(slots)}
    account = allocated(CONTRACT, 1, 0, CODE, values)
    choice = random.Random(1)
    times = []
    with Store(folder / "slots.db") as store:
        import_genesis(store, [account])
        before = _stored_bytes(store)
        for number in range(1, 12):
            storage = []
            for slot in choice.sample(sorted(values), touched):
                storage.append(SlotChange(slot, values[slot], number + 1))
                values[slot] = number + 1
            block = BlockChanges(number, (AccountChange(CONTRACT, same=True, storage=tuple(storage)),))
            started = time.perf_counter()
            import_block(store, block)
            times.append(time.perf_counter() - started)
        stored = (_stored_bytes(store) - before) / len(times) / touched
    print(f"  blocks of {touched:,} slots of a tree of {slots:,}, durable: {_spread(times, 1e3, 'ms')}")
    print(f"    stored: {stored:,.0f} B a slot")


def growth(folder: Path) -> None:
    """Measure a block of 100 balances and proofs of random accounts for trees of several sizes, and draw a figure."""
    paths = {size: folder / f"{size}.db" for size in (10**3, 10**4, 10**5)} | {MILLION: folder / "genesis.db"}
    stored, blocks = [], []
    for size, path in paths.items():
        with Store(path) as store:
            if store.head is None:
                import_genesis(store, _accounts(size))
            took, added = _block_of_balances(store, size)
            blocks.append(took)
            stored.append(added)
    first, then = _proof_times(paths)
    print("  accounts      proof: first    later        block of 100     bytes a change")
    for size, *row in zip(paths, first, then, blocks, stored, strict=True):
        print("  {:>9,}  {:>11.3f} ms {:>7.3f} ms {:>13.1f} ms {:>15,.0f} B".format(size, *row))
    _draw(list(paths), first, then, stored)


def _proof_times(paths: dict[int, Path], rounds: int = 200, turn: int = 50) -> tuple[list[float], list[float]]:
    """Return median times of proofs of random accounts [ms]: of the first 500 and of the last half, for each store.

    The difference shows the effect of a reader's caches. The stores are read in turns.
    """
    choice = random.Random(2)
    times: dict[int, list[float]] = {size: [] for size in paths}
    with ExitStack() as opened:
        stores = {size: opened.enter_context(Store(path, read_only=True)) for size, path in paths.items()}
        for _ in range(rounds):
            for size, store in stores.items():
                for number in choice.choices(range(size), k=turn):
                    started = time.perf_counter()
                    get_proof(store, to_hex(_address(number)), [], "finalized")
                    times[size].append(time.perf_counter() - started)
    first = [statistics.median(taken[:500]) * 1e3 for taken in times.values()]
    return first, [statistics.median(taken[len(taken) // 2 :]) * 1e3 for taken in times.values()]


def _draw(sizes: list[int], first: list[float], then: list[float], stored: list[float]) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(sizes, first, "o--", color="tab:gray", label="the first 500 proofs")
    left.plot(sizes, then, "o-", label="after thousands of proofs")
    left.set(xscale="log", ylim=(0, None), xlabel="accounts", ylabel="proof of a random account [ms]")
    left.legend(loc="lower right")
    right.plot(sizes, stored, "o-", color="tab:orange")
    right.set(xscale="log", ylim=(0, None), xlabel="accounts", ylabel="stored bytes per changed account")
    times, longer = sizes[-1] / sizes[0], then[-1] - then[0]
    figure.suptitle(
        f"{times:,.0f} times the accounts: a proof takes {longer:.2f} ms longer ({then[-1] / then[0]:.1f} ×)"
    )
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=120)
    plt.close(figure)
    print(f"  drawn in {FIGURE}")


def _block_of_balances(store: Store, size: int) -> tuple[float, float]:
    """Import a final block of 100 changed accounts; return the time [ms] and the stored bytes per account."""
    head = store.head
    assert head
    changes = []
    for number in random.Random(2).sample(range(size), 100):
        account = store.account(head.number, _address(number))
        assert account
        fields = AccountFields(account.nonce, account.balance, account.keccak_code_hash)
        changes.append(AccountChange(_address(number), fields, fields._replace(nonce=account.nonce + 1)))
    before = _stored_bytes(store)
    started = time.perf_counter()
    import_block(store, BlockChanges(head.number + 1, tuple(changes)))
    took = time.perf_counter() - started
    store.finalize(head.number + 1)
    return took * 1e3, (_stored_bytes(store) - before) / len(changes)


def _proofs(name: str, store: Store, rounds: int = 1_000) -> None:
    choice = random.Random(3)
    built, checked = [], []
    head = store.head
    assert head
    for _ in range(rounds):
        keys = [to_hex(choice.randrange(1_000).to_bytes(32)) for _ in range(3)]
        started = time.perf_counter()
        proof = get_proof(store, to_hex(CONTRACT), keys, "finalized")
        built.append(time.perf_counter() - started)
        started = time.perf_counter()
        check_proof(proof, root=head.root, address=CONTRACT, storage_keys=keys)
        checked.append(time.perf_counter() - started)
    print(f"  account and 3 slots from {name}: proof {_spread(built, 1e3, 'ms')}")
    print(f"  the same checked: {_spread(checked, 1e3, 'ms')}")


def _spread(times: list[float], factor: float, unit: str) -> str:
    ordered = [value * factor for value in sorted(times)]
    return f"median {statistics.median(ordered):.2f} {unit} ({ordered[0]:.2f} to {ordered[-1]:.2f})"


def _address(number: int) -> bytes:
    return keccak256(number.to_bytes(8))[:20]


def _accounts(size: int) -> Iterator[AccountChange]:
    return (allocated(_address(number), 0, number) for number in range(size))


def _stored_bytes(store: Store) -> int:
    with sqlite3.connect(store.path) as connection:
        pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    connection.close()
    return int(pages * size)


def _million(path: str) -> tuple[float, int]:
    POSEIDON2.digest(bytes(32))  # compile or load the kernel before measuring
    contract = allocated(CONTRACT, 1, 0, CODE, {number.to_bytes(32): 1 for number in range(1_000)})
    accounts = [contract, *_accounts(MILLION - 1)]
    with Store(path) as store:
        started = time.perf_counter()
        import_genesis(store, accounts)
        return time.perf_counter() - started, _peak_memory()


def _bare_rows(path: str) -> tuple[float, int]:
    """Insert rows like those of a million accounts, without computing a tree."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    tables = {"node": (MILLION, 64), "leaf": (MILLION, 96), "key": (MILLION, 52), "branch": (400_000, 24)}
    started = time.perf_counter()
    connection.execute("BEGIN")
    for name, (count, size) in tables.items():
        connection.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, data BLOB)")
        blob = random.Random(1).randbytes(size)
        rows = ((number, number, blob) for number in range(count))
        connection.executemany(f"INSERT INTO {name} (a, b, data) VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return time.perf_counter() - started, _peak_memory()


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # in KiB on Linux


if __name__ == "__main__":
    main()
