"""A ledger of ten million leaves: import, memory, file, a block, proofs, backup and verification, with a figure.

Measures stores of a hundred thousand, a million and ten million accounts, each in its own process. Takes about ten
minutes and 10 GB of disk. `python -m benchmarks.leaves 100000 1000000` measures the given sizes.
"""

import hashlib
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from benchmarks.ledger import CODE, CONTRACT, _peak_memory
from benchmarks.server import SECONDS, WARM_UP, load
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, get_proof, import_block, import_genesis
from feemodel.ledger.blocks import AccountChange, BlockChanges, SlotChange
from feemodel.ledger.maintenance import back_up, verify
from feemodel.ledger.scheme import POSEIDON2
from tests.helpers.ledger_blocks import allocated
from tests.system.client import post, run
from tests.system.processes import tree
from tests.system.start import serving

SIZES = (10**5, 10**6, 10**7)
SLOTS = {number.to_bytes(32): 1 for number in range(1_000)}
FIGURE = Path("out/leaves.png")


class Measured(NamedTuple):
    leaves: int
    accounts: float  #: time to generate the accounts, part of the import [s]
    imported: float  #: time of the import [s]
    processor: float  #: processor time of the import, which depends less on other work of the machine [s]
    memory: float  #: peak memory of the import [MiB]
    size: float  #: size of the file [MiB]
    block: float  #: import of a block with 1,000 changed slots, durable [ms]
    warm: float  #: proof of a random account, median [ms]
    cold: float  #: first proof of a process, file not in the page cache, median of nine [ms]
    cold_http: float  #: first proof of a process over HTTP, measured by the client, median of five [ms]
    http: float  #: proofs per second over HTTP
    backup: float  #: time of a backup [s]
    verification: float  #: time of a verification [s]


def main(sizes: tuple[int, ...] = SIZES) -> None:
    rows = []
    print("   " + "  ".join(f"{name:>12}" for name in Measured._fields))
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(_measured(size, Path(folder)))
        shown = (f"{value:>12,.2f}" if value % 1 else f"{value:>12,.0f}" for value in rows[-1])
        print("   " + "  ".join(shown), flush=True)
    for name, each in (
        ("import of a leaf", [row.imported / row.leaves * 1e6 for row in rows]),
        ("processor time of the import of a leaf", [row.processor / row.leaves * 1e6 for row in rows]),
    ):
        shown = (f"{one:.1f}" for one in each)
        print(f"   {name}: {', '.join(shown)} µs; last / first {each[-1] / each[0]:.2f}")
    _draw(rows)


def _measured(size: int, folder: Path) -> Measured:
    path = folder / "leaves.db"
    imported = _elsewhere(_import, path, size)
    block = _elsewhere(_block, path)
    warm = _elsewhere(_warm, path, size)
    cold = statistics.median(_elsewhere(_cold, path, size, seed) for seed in range(9))
    cold_http = statistics.median(_cold_http(path, size, seed) for seed in range(5))
    with serving("--store", str(path), "--workers", "2") as server:
        port = server.port

        def request(number: int) -> bytes:
            return post("rollup_getProof", to_hex(_address(number * 7_919 % size)), [], "finalized")

        run(load(port, request, seconds=WARM_UP))
        http = run(load(port, request)).count / SECONDS
        resident = [process.memory_info().rss / 2**20 for process in tree(server.pid)]
        print(f"   resident after the load, by process [MiB]: {', '.join(f'{mib:.0f}' for mib in sorted(resident))}")
    backup, verification = _elsewhere(_backup, path), _elsewhere(_verification, path)
    accounts, seconds, processor, memory = imported
    memory, mib = memory / 2**20, path.stat().st_size / 2**20
    return Measured(
        size, accounts, seconds, processor, memory, mib, block, warm, cold, cold_http, http, backup, verification
    )


def _elsewhere(measure, *arguments):  # type: ignore[no-untyped-def]
    """Measure in a new process, so that memory and caches do not depend on earlier measurements."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, arguments)


def _address(number: int) -> bytes:
    return hashlib.blake2b(number.to_bytes(8), digest_size=20).digest()


def _accounts(size: int) -> Iterator[AccountChange]:
    yield allocated(CONTRACT, 1, 0, CODE, SLOTS)
    yield from (allocated(_address(number), 0, number) for number in range(size - 1))


def _import(path: Path, size: int) -> tuple[float, float, float, int]:
    POSEIDON2.digest(bytes(32))  # compile or load the kernel before measuring
    started = time.perf_counter()
    sum(1 for _ in _accounts(size))
    accounts = time.perf_counter() - started
    with Store(path) as store:
        started, began = time.perf_counter(), time.process_time()
        import_genesis(store, _accounts(size))
        seconds, processor = time.perf_counter() - started, time.process_time() - began
        store.finalize(0)
    return accounts, seconds, processor, _peak_memory()


def _block(path: Path) -> float:
    """Return the median time of five final blocks that change all slots of the contract [ms]."""
    times = []
    with Store(path) as store:
        for number in range(1, 6):
            slots = tuple(SlotChange(slot, number, number + 1) for slot in SLOTS)
            changes = BlockChanges(number, (AccountChange(CONTRACT, same=True, storage=slots),))
            started = time.perf_counter()
            import_block(store, changes)
            times.append(time.perf_counter() - started)
            store.finalize(number)
    return statistics.median(times) * 1e3


def _proof_ms(store: Store, number: int) -> float:
    started = time.perf_counter()
    get_proof(store, to_hex(_address(number)), [], "finalized")
    return (time.perf_counter() - started) * 1e3


def _warm(path: Path, size: int) -> float:
    choice = random.Random(1)
    with Store(path, read_only=True) as store:
        times = [_proof_ms(store, choice.randrange(size - 1)) for _ in range(20_000)]
    return statistics.median(times[10_000:])


def _cold(path: Path, size: int, seed: int) -> float:
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "small.db") as store:
        store.scheme.load()  # a server also loads it before it listens
        import_genesis(store, _accounts(2))
        store.finalize(0)
        _proof_ms(store, 0)
    _evict(path)
    with Store(path, read_only=True) as store:
        return _proof_ms(store, random.Random(seed).randrange(size - 1))


def _evict(path: Path) -> None:
    """Remove a file from the page cache."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def _cold_http(path: Path, size: int, seed: int) -> float:
    _evict(path)
    address = to_hex(_address(random.Random(seed).randrange(size - 1)))
    with serving("--store", str(path)) as server:
        server.ask("eth_chainId")  # opens the connection, which is not measured
        time.sleep(2.0)  # a server loads more after it is ready
        _evict(path)
        started = time.perf_counter()
        answer = server.ask("rollup_getProof", address, [], "finalized")
        seconds = time.perf_counter() - started
    if "result" not in answer:
        raise AssertionError(answer)
    return seconds * 1e3


def _backup(path: Path) -> float:
    with Store(path, read_only=True) as store:
        started = time.perf_counter()
        back_up(store, path.with_suffix(".backup"))
        return time.perf_counter() - started


def _verification(path: Path) -> float:
    with Store(path, read_only=True) as store:
        started = time.perf_counter()
        verify(store)
        return time.perf_counter() - started


def _draw(rows: list[Measured]) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    panels = {
        "import of a leaf, processor time [µs]": [row.processor / row.leaves * 1e6 for row in rows],
        "peak memory of the import [MiB]": [row.memory for row in rows],
        "file size / leaves [byte]": [row.size * 2**20 / row.leaves for row in rows],
        "random proof, warm [ms]": [row.warm for row in rows],
        "first proof, cold [ms]": [row.cold for row in rows],
        "1,000 changed slots [ms]": [row.block for row in rows],
    }
    figure, axes = plt.subplots(2, 3, figsize=(11, 6), layout="constrained", sharex=True)
    for axis, (label, values) in zip(axes.flat, panels.items(), strict=True):
        axis.plot([row.leaves for row in rows], values, "o-")
        axis.set(xscale="log", ylim=(0, 1.15 * max(values)), title=label)
    figure.supxlabel("leaves")
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=120)
    plt.close(figure)
    print(f"   drawn in {FIGURE}")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
