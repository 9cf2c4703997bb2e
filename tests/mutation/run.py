"""Mutants of the modules below, each run against its module's tests in a copy of the tree.

Runs in cosmic-ray's own environment; the tests run in the project's.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

ROOT = Path(__file__).resolve().parents[2]
RULES = "tests/test_rollups_vectors.py tests/test_rollups_rules.py"
TESTS = {  # module: the tests that hold it
    "fees/record": "tests/test_record.py",
    "fees/integers": f"tests/test_integers.py feemodel/fees/integers.py {RULES}",
    "fees/priority": "tests/test_priority.py",
    "fees/kernels": "tests/test_priority.py",
    "fees/pricing": "tests/test_pricing.py",
    "fees/from_l1": "tests/test_pricing.py tests/test_sweep.py feemodel/fees/from_l1.py",
    "fees/stages": "tests/test_stages.py feemodel/fees/stages.py",
    "fees/l1_market": "tests/test_l1_market.py feemodel/fees/l1_market.py",
    "fees/rollups/optimism": f"tests/test_rollups_optimism.py feemodel/fees/rollups/optimism.py {RULES}",
    "fees/rollups/arbitrum": f"tests/test_rollups_arbitrum.py feemodel/fees/rollups/arbitrum.py {RULES}",
    "fees/rollups/arbitrum_pricing": f"tests/test_rollups_arbitrum.py {RULES}",
    "fees/rollups/scroll": f"tests/test_rollups_scroll.py feemodel/fees/rollups/scroll.py {RULES}",
    "fees/rollups/zksync": f"tests/test_rollups_zksync.py feemodel/fees/rollups/zksync.py {RULES}",
    "fees/rollups/taiko": f"tests/test_rollups_taiko.py feemodel/fees/rollups/taiko.py {RULES}",
    "fees/rollups/polygon_zkevm": f"tests/test_rollups_polygon_zkevm.py feemodel/fees/rollups/polygon_zkevm.py {RULES}",
    "ledger/mimc": "tests/test_ledger_hashing.py",
    "ledger/poseidon2": "tests/test_ledger_hashing.py",
    "ledger/poseidon2_kernel": "tests/test_ledger_hashing.py",
}
# Decorators: tests/test_formulas.py finds a formula without its own. `|`: in types, outside of kernels.
LEFT_OUT = re.compile(r"core/RemoveDecorator|core/ReplaceBinaryOperator_BitOr_|core/ReplaceBinaryOperator_\w+_BitOr")
LONGEST = 300.0  # seconds of a mutant, which may loop for ever


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/mutate")
    parser.add_argument("--module", action="append", choices=[*TESTS], help="one of them, such as fees/record")
    parser.add_argument("--sample", type=int, default=40, help="mutants of each module (40)")
    parser.add_argument("--all", action="store_true", help="every mutant: hours")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (1)")
    parser.add_argument("--python", default=sys.executable, help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="feemodel-mutate-") as folder:
        tree = copied_tree(Path(folder) / "tree")
        for module in options.module or TESTS:
            sample = None if options.all else options.sample
            report(module, list(mutated(module, tree, options.python, sample, options.seed)))


def copied_tree(tree: Path) -> Path:
    """The files that git knows, where mutants do no harm."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True)  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    return tree


def mutated(module: str, tree: Path, python: str, sample: int | None, seed: int) -> Iterator[WorkResult]:
    """The results of a module's mutants."""
    session, config = tree / "session.sqlite", tree / "mutate.toml"
    session.unlink(missing_ok=True)
    tests = f"{python} -m pytest -x -q -p no:cacheprovider {TESTS[module]}"
    if module.startswith("ledger/"):  # a cached kernel keeps the constants that it took from another module
        tests = f"sh -c 'NUMBA_CACHE_DIR=$(mktemp -d -p .) exec {tests}'"
    config.write_text(
        f'[cosmic-ray]\nmodule-path = "feemodel/{module}.py"\ntimeout = {LONGEST}\ntest-command = "{tests}"\n'
        '[cosmic-ray.distributor]\nname = "local"\n'
    )
    shared = os.environ.get("FEEMODEL_SHARED", str(ROOT.parent / "shared"))
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "FEEMODEL_SHARED": shared}
    tool = Path(sys.executable).with_name("cosmic-ray")

    def run(*arguments: str | Path) -> None:
        subprocess.run([tool, *arguments], cwd=tree, env=environment, check=True)

    run("baseline", config)
    run("init", config, session)
    with use_db(session, WorkDB.Mode.open) as database:
        leave_out(database, sample, seed)
    run("exec", config, session)
    with use_db(session, WorkDB.Mode.open) as database:
        for _, result in database.results:
            if result.worker_outcome is not WorkerOutcome.SKIPPED:
                yield result


def leave_out(database: WorkDB, sample: int | None, seed: int) -> None:
    """Mark what is not to be run."""
    items = sorted(database.pending_work_items, key=lambda item: str(item.mutations))
    chosen = [item for item in items if not any(LEFT_OUT.match(m.operator_name) for m in item.mutations)]
    if sample is not None and sample < len(chosen):
        chosen = random.Random(seed).sample(chosen, sample)
    kept = {item.job_id for item in chosen}
    for item in items:
        if item.job_id not in kept:
            database.set_result(item.job_id, WorkResult(worker_outcome=WorkerOutcome.SKIPPED, output="not drawn"))


def report(module: str, results: list[WorkResult]) -> None:
    survived = [result for result in results if result.test_outcome is TestOutcome.SURVIVED]
    killed = len(results) - len(survived)
    score = f"{killed / len(results):.0%}" if results else "no mutants"
    print(f"{module}: {killed} of {len(results)} mutants killed, {score}", flush=True)
    for result in survived:
        changed = [line for line in (result.diff or "").splitlines() if re.match(r"[-+](?![-+])|@@", line)]
        print("    " + "\n    ".join(changed), flush=True)


if __name__ == "__main__":
    main()
