"""Comparison with other programs: Linea's compressor and gnark-crypto (Go), zstd (C, Java), SALib and NumPy.

The Go program is built with the `go` on PATH, from the versions pinned in `benchmarks/peers_go/go.mod`. Programs that
are not installed are listed, and the others run. The benchmark compares the results first, and stops if they differ.
"""

import json
import platform
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.codecs import transactions
from benchmarks.lzss import DICTIONARY
from feemodel import sobol_indices, sweep
from feemodel.ethereum._transaction import parse_transaction
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.ledger.scheme import MIMC, POSEIDON2
from feemodel.linea.priority import priority_fee
from feemodel.simulation.samples import grid
from feemodel.sizes._codecs import Zstd
from feemodel.sizes._lzss import Lzss, _compressor

SOURCE = Path(__file__).with_name("peers_go")
JAVA_SOURCE = Path(__file__).with_name("peers_java") / "ZstdSizes.java"
NODES = 65_536
PAIRS = 2_000
ZSTD_JNI = "1.5.7-6"  # the part before the hyphen is its release of zstd
ROUNDS = 7
TABLE = Path("out/peers.json")


class Row(NamedTuple):
    """One kind of work, done by both programs in turn."""

    work: str
    peer: str
    items: int
    ours: list[float]  #: processor time of this package in each round [s]
    theirs: list[float]

    def shown(self) -> list[str]:
        ratios = [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True)]
        ours, theirs = (statistics.median(seconds) / self.items * 1e9 for seconds in (self.ours, self.theirs))
        return [
            self.work, f"{ours:,.0f} ns", f"{theirs:,.0f} ns", f"{statistics.median(ratios):.2f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}", f"{min(self.theirs) / min(self.ours):.2f}", self.peer,
        ]  # fmt: skip


def main() -> None:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        program = _go_program(Path(folder))
        if program is not None:
            rows += _go_rows(program, Path(folder))
        rows += _zstd(Path(folder))
        rows += _zstd_of_java(Path(folder))
    rows += [_sweep(), _salib()]
    header = ["work", "ours, each", "peer, each", "times as fast", "rounds", "quickest rounds", "peer"]
    table = [header, *(row.shown() for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(header))]
    for line in table:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))
    print(f"  processor time, {ROUNDS} rounds in turns; {_processor()}; Python {platform.python_version()}")
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(json.dumps([dict(zip(header, line, strict=True)) for line in table[1:]], indent=1) + "\n")


def in_turns(ours: Callable[[], object], theirs: Callable[[], float], rounds: int = ROUNDS) -> list[list[float]]:
    """Return both programs' processor times in each round [s]; the peer reports its own."""
    seconds: list[list[float]] = [[], []]
    for _ in range(rounds):
        started = time.process_time()
        ours()
        seconds[0].append(time.process_time() - started)
        seconds[1].append(theirs())
    return seconds


def _go_program(folder: Path) -> Path | None:
    """Build the Go program; if this fails, print a line and return `None`."""
    if shutil.which("go") is None:
        print("  not measured: the compressor's and gnark-crypto's peers need go on PATH")
        return None
    shutil.copytree(SOURCE, folder / "source")
    built = subprocess.run(
        ["go", "build", "-mod=mod", "-o", str(folder / "peers"), "."],
        cwd=folder / "source", capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode:
        print(f"  not measured: the Go peer did not build: {built.stderr.strip().splitlines()[-1]}")
        return None
    return folder / "peers"


def _zstd(folder: Path, rounds: int = 3) -> Iterator[Row]:
    """Run `zstd -b` over the same payloads as files. It reports wall time, so the machine must be idle.

    Its release of zstd may differ from the bundled one. Total sizes may differ by 0.1 %; both are printed.
    """
    if shutil.which("zstd") is None:
        print("  not measured: zstd's own benchmark needs zstd on PATH")
        return
    payloads = _payloads()
    codec = Zstd(magicless=False, content_size=True, capped=False)
    files = folder / "payloads_of_zstd"
    files.mkdir()
    for number, payload in enumerate(payloads):
        (files / f"{number:06}").write_bytes(payload)

    def benchmark() -> tuple[int, float]:
        command = ["zstd", f"-b{codec.level}", "-i1", "-r", str(files)]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        _, size, megabytes = re.findall(r": *(\d+) -> *(\d+) \(x[\d.]+\), *([\d.]+) MB/s", printed)[-1]
        return int(size), sum(map(len, payloads)) / (float(megabytes) * 1e6)

    size, _ = benchmark()
    here = int(codec.sizes(payloads).sum())
    if abs(size - here) * 1_000 > here:
        raise AssertionError(f"zstd: {size:,} bytes in all, {here:,} here")
    version = subprocess.run(["zstd", "-qV"], capture_output=True, text=True, check=True).stdout.strip()
    ours, theirs = in_turns(lambda: codec.sizes(payloads), lambda: benchmark()[1], rounds)
    peer = f"zstd -b {version}: {size:,} bytes in all, here {here:,}"
    yield Row("zstd size of a real transaction", peer, len(payloads), ours, theirs)


def _zstd_of_java(folder: Path, warm_up: int = 30) -> Iterator[Row]:
    """Run zstd-jni, which bundles the same release of zstd, after warm-up passes in which Java compiles its code."""
    name = f"zstd-jni-{ZSTD_JNI}.jar"
    if shutil.which("java") is None or shutil.which("mvn") is None:
        print("  not measured: zstd-jni needs java and mvn on PATH")
        return
    command = ["mvn", "-q", "dependency:copy", f"-Dartifact=com.github.luben:zstd-jni:{ZSTD_JNI}"]
    fetched = subprocess.run(
        [*command, f"-DoutputDirectory={folder}"], cwd=folder, capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        print(f"  not measured: mvn did not fetch zstd-jni: {fetched.stdout.strip().splitlines()[:1]}")
        return
    payloads = _payloads()
    codec = Zstd(magicless=False, content_size=True, capped=False)
    framed = b"".join(len(payload).to_bytes(4, "little") + payload for payload in payloads)
    program = [
        "java",
        "-Xshare:auto",
        "-cp",
        str(folder / name),
        str(SOURCE.with_name("peers_java") / "ZstdSizes.java"),
    ]
    with _running(program, folder, java_payloads=framed) as peer:
        _same("zstd sizes", _sizes(codec.sizes(payloads)), peer.result("sizes"))
        for _ in range(warm_up):
            peer.seconds("sizes")
        ours, theirs = in_turns(lambda: codec.sizes(payloads), lambda: peer.seconds("sizes"))
    version = f"zstd-jni {ZSTD_JNI}, {peer.version}"
    yield Row("zstd size of a real transaction", version, len(payloads), ours, theirs)


class _Peer:
    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process, self._folder = process, folder
        self.version = self._line()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def seconds(self, work: str) -> float:
        return self._asked(work)

    def result(self, work: str) -> bytes:
        path = self._folder / "result"
        self._asked(f"{work}\t{path}")
        return path.read_bytes()

    def _asked(self, line: str) -> float:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)
        return float(self._line())


@contextmanager
def _running(program: Sequence[str], folder: Path, **inputs: bytes) -> Iterator[_Peer]:
    paths = [folder / name for name in inputs]
    for path, data in zip(paths, inputs.values(), strict=True):
        path.write_bytes(data)
    arguments = [*program, *map(str, paths)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield _Peer(process, folder)
        process.kill()


def _go_rows(program: Path, folder: Path) -> Iterator[Row]:
    payloads = _payloads()
    dictionary = DICTIONARY.read_bytes() if DICTIONARY.exists() else b"".join(payloads)[:65_536]
    rng = np.random.default_rng(1)
    nodes = rng.integers(0, POSEIDON2.order, (NODES, 16), dtype=np.uint32)
    pairs = b"".join(_element(rng) for _ in range(2 * PAIRS))
    framed = b"".join(len(payload).to_bytes(4, "little") + payload for payload in payloads)
    codec = Lzss(dictionary)
    blob = _one_blob(payloads, codec)
    inputs = {"payloads": framed, "blob": blob, "nodes": nodes.tobytes(), "pairs": pairs}
    with _running([str(program)], folder, dictionary=dictionary, **inputs) as peer:
        yield from _lzss(peer, payloads, blob, codec)
        yield from _poseidon2(peer, nodes)
        _same("MiMC", MIMC.digests(pairs, 64), peer.result("mimc"))
        ours, theirs = in_turns(lambda: MIMC.digests(pairs, 64), lambda: peer.seconds("mimc"))
        yield Row("MiMC, two elements", _gnark(peer), PAIRS, ours, theirs)


def _lzss(peer: _Peer, payloads: list[bytes], blob: bytes, codec: Lzss) -> Iterator[Row]:
    name = f"consensys/compress {_pinned('compress')}, {peer.version}"
    _same("LZSS sizes", _sizes(codec._raw_sizes(payloads)), peer.result("sizes"))
    ours, theirs = in_turns(lambda: codec.sizes(payloads), lambda: peer.seconds("sizes"))
    yield Row("LZSS size of a real transaction", name, len(payloads), ours, theirs)
    _same("LZSS sizes, buffers kept", _sizes(codec._raw_sizes(payloads)), peer.result("sizes, buffers kept"))
    ours, theirs = in_turns(lambda: codec.sizes(payloads), lambda: peer.seconds("sizes, buffers kept"))
    yield Row("the same, its buffers kept between calls", name, len(payloads), ours, theirs)
    _same("LZSS size of a blob", _sizes(_size_of_blob(blob, codec)), peer.result("blob"))
    ours, theirs = in_turns(lambda: _size_of_blob(blob, codec), lambda: peer.seconds("blob"))
    yield Row(f"LZSS size of a whole blob, {len(blob):,} bytes", name, 1, ours, theirs)


def _one_blob(payloads: list[bytes], codec: Lzss) -> bytes:
    """Join as many transactions as fit into a blob when compressed together."""
    fits = bisect_right(
        range(len(payloads)), USABLE_BLOB_BYTES, key=lambda count: _size_of_blob(b"".join(payloads[:count]), codec)
    )
    return b"".join(payloads[: fits - 1])


def _size_of_blob(data: bytes, codec: Lzss) -> int:
    """Return `Lzss.raw_size` without the sequencer's limit of 256 KiB for a transaction."""
    return _compressor(codec.dictionary).sizes([data])[0]


def _poseidon2(peer: _Peer, nodes: NDArray[Any]) -> Iterator[Row]:
    data = nodes.astype(">u4").tobytes()
    expected = np.frombuffer(POSEIDON2.digests(data, 64), dtype=">u4").astype("<u4").tobytes()
    for work in ("poseidon2", "poseidon2 in lanes"):
        _same(work, expected, peer.result(work))
    ours, theirs = in_turns(lambda: POSEIDON2.digests(data, 64), lambda: peer.seconds("poseidon2 in lanes"))
    yield Row("Poseidon2 node (two compressions), in lanes", _gnark(peer), NODES, ours, theirs)
    singles = [data[at : at + 64] for at in range(0, 64 * 4_096, 64)]

    def one_at_a_time() -> None:
        for node in singles:
            POSEIDON2.digest(node)

    ours, theirs = in_turns(one_at_a_time, lambda: peer.seconds("poseidon2") * len(singles) / NODES)
    yield Row("Poseidon2 node, one at a time, from Python", _gnark(peer), len(singles), ours, theirs)


def _sweep(elements: int = 20_000_000) -> Row:
    """Compare the priority fee over a grid of two axes with NumPy; the inputs are such that a double is exact."""
    sizes, margins = np.arange(1, 2_001), np.linspace(1.0, 2.0, elements // 2_000)
    fixed = {"gas": 21_000, "variable_cost": 1_000_000_000, "fixed_cost": 30_000_000}
    samples = grid(compressed_size=sizes, margin=margins, **fixed)

    def ours() -> Any:
        return sweep(priority_fee, samples, workers=1)

    def plain() -> NDArray[Any]:
        before = fixed["variable_cost"] * sizes // fixed["gas"] + fixed["fixed_cost"]
        return np.trunc(before[:, None] * margins[None, :]).astype(np.int64)

    def theirs() -> float:
        started = time.process_time()
        plain()
        return time.process_time() - started

    found = ours()["priority_fee"].transpose("compressed_size", "margin")
    _same("sweep", found.values.tobytes(), plain().tobytes())
    return Row("sweep, an evaluation", f"NumPy {np.__version__}", elements, *in_turns(ours, theirs))


def _salib(count: int = 1 << 12, resamples: int = 100) -> Row:
    """Compare first-order and total Sobol indices and intervals with SALib; both use designs of the same size."""
    from SALib.analyze import sobol as analyze
    from SALib.sample import sobol as sample

    ranges = {"compressed_size": (100.0, 2_000.0), "base_fee": (1e8, 2e10), "blob_base_fee": (1.0, 1e9)}
    problem = {"num_vars": 3, "names": [*ranges], "bounds": [[*ends] for ends in ranges.values()]}
    indices: list[NDArray[Any]] = []

    def cost(compressed_size: NDArray[Any], base_fee: NDArray[Any], blob_base_fee: NDArray[Any]) -> NDArray[Any]:
        return compressed_size * (base_fee * 65_250 + blob_base_fee * 131_072) / 131_072

    def ours() -> Any:
        return sobol_indices(cost, count, rng=1, resamples=resamples, workers=1, **ranges)

    def theirs() -> float:
        started = time.process_time()
        design = sample.sample(problem, count, calc_second_order=False, seed=1)
        found = analyze.analyze(problem, cost(*design.T), calc_second_order=False, num_resamples=resamples, seed=1)
        indices[:] = [found["S1"], found["ST"]]
        return time.process_time() - started

    theirs()
    found = ours()
    mine = [found[name].values.reshape(-1) for name in ("first_order", "total_order")]
    if not np.allclose(mine, indices, atol=0.05):
        raise AssertionError(f"Sobol indices: {mine} in feemodel, {indices} in SALib")
    return Row("Sobol indices, an evaluation", f"SALib {version('SALib')}", 5 * count, *in_turns(ours, theirs))


def _payloads() -> list[bytes]:
    signed = transactions("linea_mainnet_transactions", "raw")
    return transactions("linea_blob_24288348_24288678", "sender_and_unsigned_transaction") + [
        parse_transaction(raw).measured("sender_unsigned") for raw in signed
    ]


def _sizes(numbers: object) -> bytes:
    return np.asarray(numbers, dtype="<u4").tobytes()


def _element(rng: np.random.Generator) -> bytes:
    return (int.from_bytes(rng.bytes(32)) % MIMC.order).to_bytes(32)


def _same(work: str, ours: bytes, theirs: bytes) -> None:
    if ours != theirs:
        raise AssertionError(f"{work}: the peer's results are different")


def _gnark(peer: _Peer) -> str:
    return f"gnark-crypto {_pinned('gnark-crypto')}, {peer.version}"


def _pinned(module: str) -> str:
    lines = (SOURCE / "go.mod").read_text().splitlines()
    return next(line.split()[-1] for line in lines if f"/{module} " in line)


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()
