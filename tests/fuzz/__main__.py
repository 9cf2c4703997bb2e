"""Fuzzes the targets, one child process each: python -m tests.fuzz [--target NAME] [--runs N] [--seconds S]

Prints the executions of each target and of all. An input that shows a defect is made small and kept in
`crashes/<target>/`, where `tests/fuzz/test_fuzz.py` finds it; the exit status is then 1.
"""

import argparse
import re
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.fuzz.minimise import minimal
from tests.fuzz.targets import PLACES, load

HERE = Path(__file__).parent
SEEDS, CRASHES = HERE / "corpus", HERE / "crashes"
RUNS = 10_000
MAX_SIZE = 16_384  # bytes of an input
UNIT_SECONDS = 60  # an input that takes longer is a defect; a long time, for a machine may have other things to do
MEMORY = 2_048  # MiB, likewise

_EXECUTED = re.compile(rb"stat::number_of_executed_units:\s*(\d+)")
_REACHED = re.compile(rb"cov: (\d+)")
_KEPT = re.compile(rb"Test unit written to (\S+)")


class Found(NamedTuple):
    """What fuzzing one target came to."""

    executions: int
    branches: int
    seconds: float
    crashes: list[Path]
    log: bytes


def fuzz(name: str, *, runs: int, seconds: int, seed: int, corpus: Path) -> Found:
    """Fuzz one target in a child process; new inputs that reach more go to `corpus`."""
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(load(name).seeds()):
        (corpus / f"seed-{number}").write_bytes(data)
    known = [str(folder / name) for folder in (SEEDS, CRASHES) if (folder / name).is_dir()]
    with TemporaryDirectory(prefix="feemodel-crashes-") as artifacts:
        command = [
            sys.executable, "-m", "tests.fuzz.child", name, f"-runs={runs}", f"-max_total_time={seconds}",
            f"-seed={seed}", f"-max_len={MAX_SIZE}", f"-timeout={UNIT_SECONDS}", f"-rss_limit_mb={MEMORY}",
            f"-artifact_prefix={artifacts}/", "-print_final_stats=1", "-verbosity=1",
            str(corpus), *known,
        ]  # fmt: skip
        began = time.monotonic()
        child = subprocess.run(command, capture_output=True, check=False)
        took, log = time.monotonic() - began, child.stdout + child.stderr
        written = [Path(path.decode()) for path in _KEPT.findall(log)]
        crashes = [_kept(name, path.read_bytes()) for path in written if path.exists()]
    if not _EXECUTED.search(log) and not crashes:
        raise SystemExit(f"{name}: the fuzzer ended with status {child.returncode}\n{log.decode(errors='replace')}")
    executed, reached = (int(found[-1]) if (found := search.findall(log)) else 0 for search in (_EXECUTED, _REACHED))
    return Found(executed, reached, took, crashes, log)


def _kept(name: str, data: bytes) -> Path:
    """Where an input is kept that shows a defect, made small; one that was slow or large is kept as it is."""
    small = minimal(load(name), data)
    path = CRASHES / name / f"found-{sha256(small).hexdigest()[:16]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(small)
    return path


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description="Fuzz the parsers of requests and the server.")
    parser.add_argument("--target", action="append", choices=sorted(PLACES), help="one of them, or several; else all")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"executions of each target, {RUNS:,} unless given")
    parser.add_argument("--seconds", type=int, default=0, help="for each target at most; 0 for as long as it takes")
    parser.add_argument("--seed", type=int, default=1, help="of the fuzzer's random numbers")
    parser.add_argument("--corpus", type=Path, help="folder where inputs that reach more are kept, and taken up again")
    options = parser.parse_args(arguments)
    found = {}
    with TemporaryDirectory(prefix="feemodel-corpus-") as temporary:
        for name in options.target or PLACES:
            corpus = (options.corpus or Path(temporary)) / name
            found[name] = fuzz(name, runs=options.runs, seconds=options.seconds, seed=options.seed, corpus=corpus)
            _print(name, found[name])
    total, seconds = sum(one.executions for one in found.values()), sum(one.seconds for one in found.values())
    crashes = sum(len(one.crashes) for one in found.values())
    print(f"{'all':<16}{total:>14,} executions in {seconds:,.0f} s, {crashes} defects")
    return 1 if crashes else 0


def _print(name: str, found: Found) -> None:
    speed = found.executions / max(found.seconds, 0.001)
    print(
        f"{name:<16}{found.executions:>14,} executions, {speed:>9,.0f} a second, {found.branches:,} branches",
        flush=True,
    )
    for path in found.crashes:
        print(f"    a defect, kept in {path}", flush=True)
    if found.crashes:
        print(found.log[-4_000:].decode(errors="replace"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
