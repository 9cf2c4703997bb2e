"""The board: which published libraries give the fees of `data/vectors`, and where they differ.

python -m tests.peers.board [--out FOLDER]        # a table, and the smallest failing vector of each library and rule

An adapter in `tests/peers/board` reads vectors and answers with its library; it has no formula of its own. An answer of
null means that the library does not offer the rule, or that its types do not hold the inputs.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from tests.helpers.inputs import ROOT

HERE = Path(__file__).with_name("board")
CRATE = HERE / "rust"
VECTORS = ROOT / "data" / "vectors"


class Library(NamedTuple):
    """A library as its registry has it, and the command that answers with it."""

    name: str
    version: str
    command: tuple[str, ...]
    about: float = 0.0  #: relative difference within which an estimate counts as passed
    largest: int = 2**256 - 1  #: the largest result that its types hold


def versions() -> dict[str, str]:
    """Pinned versions of npm packages, of crates, and of the executable specification."""
    npm = json.loads((HERE.parent / "package.json").read_bytes())["dependencies"]
    manifest = (CRATE / "Cargo.toml").read_text(encoding="utf-8")
    crates = dict(line.split(" = ", 1) for line in manifest.splitlines() if '"=' in line)
    specification = next(
        line for line in (ROOT / "requirements" / "execution.txt").read_text().splitlines()
        if line.startswith("ethereum-execution==")
    )  # fmt: skip
    return {**npm, **{name: text.split('"=')[1].split('"')[0] for name, text in crates.items()},
            "ethereum-execution": specification.split("==")[1].split()[0]}  # fmt: skip


def libraries() -> list[Library]:
    """Every library that is asked, after its crate was built."""
    known, target = versions(), ROOT / "out" / "board"
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--target-dir", target], cwd=CRATE, check=True, timeout=900
    )

    def node(name: str, script: str, *arguments: str, **limits: Any) -> Library:
        return Library(name, known[name], ("node", str(HERE / script), *arguments), **limits)

    def crate(name: str, **limits: Any) -> Library:
        return Library(name, known[name], (str(target / "release" / name.replace("-", "_")),), **limits)

    python = sys.executable, str(HERE / "eels.py")
    return [
        node("@ethereumjs/block", "ethereumjs.mjs"),
        node("@ethereumjs/tx", "ethereumjs.mjs", "tx"),
        node("hardhat-gas-reporter", "hardhat_gas_reporter.mjs", about=0.025),  # 68 bytes stand for the signature
        node("solady", "solady.mjs"),
        crate("alloy-eips", largest=2**64 - 1),
        crate("op-alloy-flz"),
        crate("op-revm"),
        crate("revm"),
        Library("ethereum-execution", known["ethereum-execution"], python),
    ]


def vectors() -> list[dict[str, Any]]:
    """The vectors that nodes' code answered; the rows of published tests have names of their own."""
    paths = (path for path in sorted(VECTORS.glob("*/*.json")) if path.stem != "published")
    return [row for path in paths for row in json.loads(path.read_bytes())["vectors"]]


def asked(library: Library, rows: list[dict[str, Any]]) -> list[Any]:
    """The answers of a library, one for each row."""
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    done = subprocess.run(library.command, input=lines, capture_output=True, text=True, check=False, timeout=300)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(rows):
        raise RuntimeError(f"{library.name} gave {len(answers)} answers to {len(rows)} rows: {done.stderr[-400:]}")
    return answers


def judged(library: Library, answer: Any, expected: str) -> str:
    """Whether an answer is the expected one, or the library does not offer it."""
    if answer is None or int(expected) > library.largest:
        return "not offered"
    if isinstance(answer, dict):
        return "failed"
    near = abs(int(answer) - int(expected)) <= library.about * int(expected)
    return "passed" if near else "failed"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "board")
    out = parser.parse_args(arguments).out
    rows, failures = vectors(), []
    print("| library | version | chain | rule | passed | failed | not offered | upgrades that fail |")
    print("|---" * 8 + "|")
    for library in libraries():
        counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        wrong: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for row, answer in zip(rows, asked(library, rows), strict=True):
            verdict, key = judged(library, answer, row["expected"]), (row["chain"], row["rule"])
            counts[key][verdict] += 1
            if verdict == "failed":
                wrong[key].add(row["upgrade"])
                failures.append({"library": library.name, "version": library.version, "answer": answer, "vector": row})
        for key, count in counts.items():
            if count["passed"] + count["failed"]:
                numbers = (str(count[one]) for one in ("passed", "failed", "not offered"))
                print(
                    f"| {' | '.join((library.name, library.version, *key, *numbers, ' '.join(sorted(wrong[key]))))} |"
                )
    smallest: dict[tuple[str, ...], dict[str, Any]] = {}
    for failure in sorted(failures, key=lambda one: len(json.dumps(one["vector"]["inputs"]))):
        smallest.setdefault((failure["library"], failure["vector"]["rule"], failure["vector"]["upgrade"]), failure)
    out.mkdir(parents=True, exist_ok=True)
    (out / "failures.json").write_text(json.dumps([*smallest.values()], indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
