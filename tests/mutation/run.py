"""Mutants of the modules below, each run against its module's tests in a copy of the tree.

Runs in cosmic-ray's own environment; the tests run in the project's.
"""

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkResult
from modules import TESTS

ROOT = Path(__file__).resolve().parents[2]
# Decorators: tests/test_formulas.py finds a formula without its own. `|`: in types, outside of kernels.
LEFT_OUT = re.compile(r"core/RemoveDecorator|core/ReplaceBinaryOperator_BitOr_|core/ReplaceBinaryOperator_\w+_BitOr")
SAMPLE, SEED = 20, 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/mutate")
    parser.add_argument("--module", action="append", choices=[*TESTS], help="one of them, such as linea/extra_data")
    parser.add_argument("--sample", type=int, default=SAMPLE, help=f"mutants of each module ({SAMPLE})")
    parser.add_argument("--all", action="store_true", help="every mutant: hours")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the sample ({SEED})")
    parser.add_argument("--python", default=sys.executable, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sample < 1:
        parser.error(f"--sample: expected at least 1, got {options.sample}")
    with tempfile.TemporaryDirectory(prefix="feemodel-mutate-") as folder:
        tree = copied_tree(Path(folder) / "tree", options.python)
        for module in options.module or TESTS:
            sample = None if options.all else options.sample
            report(module, mutated(module, tree, options.python, sample, options.seed))


def copied_tree(tree: Path, python: str) -> Path:
    """The files that git tracks or would track, in a folder where mutants do no harm."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True)  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    # Bytecode that is checked by the source's hash: a time stamp might not tell a mutant from the original.
    compiled = [python, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "feemodel", "tests"]
    subprocess.run(compiled, cwd=tree, check=True)
    return tree


def mutated(
    module: str, tree: Path, python: str, sample: int | None, seed: int
) -> list[tuple[MutationSpec, WorkResult]]:
    """The mutations of a module that were run, and their results."""
    session, config = tree / "session.sqlite", tree / "mutate.toml"
    session.unlink(missing_ok=True)
    tests = f"{python} -m pytest -x -q -p no:cacheprovider {' '.join(TESTS[module])}"
    source = (tree / "feemodel" / f"{module}.py").read_text(encoding="utf-8")
    if "feemodel._compiled import" in source:
        # The cached machine code of a kernel holds constants and kernels of other modules as they were.
        tests = f"sh -c 'NUMBA_CACHE_DIR=$(mktemp -d -p .) exec {tests}'"
    shared = os.environ.get("FEEMODEL_SHARED", str(ROOT.parent / "shared"))
    # CI: properties try the same examples each time, so that a mutant has the same fate twice.
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
    if (Path(shared) / "vectors").is_dir():
        environment["FEEMODEL_SHARED"] = shared
    seconds = baseline(module, tests, tree, environment)
    config.write_text(
        f'[cosmic-ray]\nmodule-path = "feemodel/{module}.py"\ntest-command = "{tests}"\n'
        f"timeout = {30 + 5 * seconds:.1f}\n"  # a mutant may loop for ever
        '[cosmic-ray.distributor]\nname = "local"\n'
    )
    tool = Path(sys.executable).with_name("cosmic-ray")
    subprocess.run([tool, "init", config, session], cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
    with use_db(session, WorkDB.Mode.open) as database:
        leave_out(database, sample, seed)
    subprocess.run([tool, "exec", config, session], cwd=tree, env=environment, check=True)
    with use_db(session, WorkDB.Mode.open) as database:
        return [
            (item.mutations[0], result)
            for item, result in database.completed_work_items
            if result.worker_outcome is not WorkerOutcome.SKIPPED
        ]


def baseline(module: str, tests: str, tree: Path, environment: dict[str, str]) -> float:
    """How long the tests of the original take [s]; ends the program where they fail, for then nothing is told."""
    start = time.monotonic()
    original = subprocess.run(shlex.split(tests), cwd=tree, env=environment, capture_output=True, text=True)
    if original.returncode:
        sys.exit(f"{module}: its tests fail without a mutation\n{original.stdout}{original.stderr}")
    return time.monotonic() - start


def leave_out(database: WorkDB, sample: int | None, seed: int) -> None:
    """Mark what is not to be run."""
    items = sorted(database.pending_work_items, key=lambda item: str(item.mutations))
    chosen = [item for item in items if not any(LEFT_OUT.match(m.operator_name) for m in item.mutations)]
    if sample is not None and sample < len(chosen):
        chosen = random.Random(seed).sample(chosen, sample)
    kept = {item.job_id for item in chosen}
    left = [item.job_id for item in items if item.job_id not in kept]
    database.set_multiple_results(left, WorkResult(worker_outcome=WorkerOutcome.SKIPPED, output="not drawn"))


def report(module: str, results: list[tuple[MutationSpec, WorkResult]]) -> None:
    for where, result in results:
        if result.worker_outcome is not WorkerOutcome.NORMAL:
            sys.exit(f"{module}:{where.start_pos[0]}: {where.operator_name} was not tried\n{result.output}")
    survived = [(where, result) for where, result in results if result.test_outcome is TestOutcome.SURVIVED]
    killed = len(results) - len(survived)
    score = f"{killed / len(results):.0%}" if results else "no mutants"
    print(f"{module}: {killed} of {len(results)} mutants killed, {score}", flush=True)
    for where, result in sorted(survived, key=lambda pair: pair[0].start_pos):
        changed = [line for line in (result.diff or "").splitlines() if re.match(r"[-+](?![-+])", line)]
        print(f"    {where.module_path}:{where.start_pos[0]}", *changed, sep="\n        ", flush=True)


if __name__ == "__main__":
    main()
