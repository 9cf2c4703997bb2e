"""The board: which published libraries give the fees of `data/vectors`, and where they differ.

python -m tests.peers.board [--out FOLDER]        # a table, and the smallest failing vector of each library and rule

An adapter in `tests/peers/board` reads vectors and answers with its library; it has no formula of its own. An answer of
null means that the library does not offer the rule, or that its types do not hold the inputs. Go modules are asked by
the programs of `tests/nodes`; the rows that a module itself gave are counted apart.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from tests.helpers.inputs import ROOT
from tests.nodes.formulas import FORMULAS, dictionary
from tests.nodes.programs import answers
from tests.nodes.vectors import CHAIN, CODE, SOURCES, Rule, rules

HERE = Path(__file__).with_name("board")
CRATE = HERE / "rust"
VECTORS = ROOT / "data" / "vectors"


class Library(NamedTuple):
    """A library as its registry has it, and the command that answers with it."""

    name: str
    version: str
    command: tuple[str, ...] = ()
    program: str = ""  #: of `tests/nodes`, in place of a command
    source: str = ""  #: its name as a source of vectors
    about: float = 0.0  #: relative difference within which an estimate counts as passed
    largest: int = 2**256 - 1  #: the largest result that its types hold, with the products on the way


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
        node("hardhat-gas-reporter", "hardhat_gas_reporter.mjs", about=0.05),  # 68 bytes stand for the signature
        node("@eth-optimism/core-utils", "optimism.mjs", about=0.05),
        node("@eth-optimism/contracts-bedrock", "optimism.mjs", "contract", about=0.05, largest=2**200),
        node("@scroll-tech/contracts", "scroll.mjs"),
        node("solady", "solady.mjs"),
        crate("alloy-eips", largest=2**64 - 1),
        crate("op-alloy-flz"),
        crate("op-revm", largest=2**200),
        crate("revm"),
        Library("ethereum-execution", known["ethereum-execution"], python),
        *(module(source, program) for source, program in MODULES.items()),
    ]


#: Go modules by their name as a source, with the program that calls them.
MODULES = {"go-ethereum": "go_ethereum", "op-geth": "op_geth", "mantle": "mantle", "compress": "consensys",
           "libzstd": "zstd"}  # fmt: skip
#: Formulas that a program answers although another gave the vectors.
ALSO = {("mantle", "fastlz"), ("mantle", "l1_gas"), ("op_geth", "blob_base_fee"), ("op_geth", "excess_blob_gas")}


def module(source: str, program: str) -> Library:
    """A Go module, by the reference of its source: a name, then a version."""
    name, version = SOURCES[source][1].split(";")[0].split()[-2:]
    return Library(name, version.removeprefix("v"), program=program, source=source, largest=2**1_024)


def vectors() -> list[dict[str, Any]]:
    """Every vector; the rows of published tests, which have a kind, have names of their own that no adapter knows."""
    return [row for path in sorted(VECTORS.glob("*/*.json")) for row in json.loads(path.read_bytes())["vectors"]]


def asked(library: Library, rows: list[dict[str, Any]]) -> list[Any]:
    """The answers of a library, one for each row."""
    if library.program:
        return asked_of_module(library.program, rows)
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    done = subprocess.run(library.command, input=lines, capture_output=True, text=True, check=False, timeout=300)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(rows):
        raise RuntimeError(f"{library.name} gave {len(answers)} answers to {len(rows)} rows: {done.stderr[-400:]}")
    return answers


def asked_of_module(program: str, rows: list[dict[str, Any]]) -> list[str | None]:
    """The answers of a program, for the rows of its formulas."""
    by_rule = {(one.chain, one.rule, one.upgrade): one for one in rules()}

    def question(row: dict[str, Any]) -> str | None:
        key = row["chain"], row["rule"]
        rule: Rule | None = by_rule.get((*key, row["upgrade"])) or by_rule.get((*key, ""))
        formula = rule and FORMULAS[rule.formula]
        if rule is None or formula is None:
            return None
        offered = formula.program == program or (program, formula.asked) in ALSO
        return formula.line(rule.arguments(row)) if offered else None

    questions = [question(row) for row in rows]
    options = [str(dictionary())] if program == "consensys" else []
    found = iter(answers(program, [one for one in questions if one is not None], options))
    return [None if one is None else next(found) for one in questions]


def judged(library: Library, answer: Any, row: dict[str, Any]) -> str:
    """Whether an answer is the expected one, whether the library itself gave it, or whether it does not offer it."""
    expected = row["expected"]
    numbers = (one for one in row["inputs"].values() if isinstance(one, str) and one.isdecimal())
    if answer is None or max(map(int, [expected, *numbers])) > library.largest:
        return "not offered"
    if isinstance(answer, dict):
        return "failed"
    near = abs(int(answer) - int(expected)) <= library.about * int(expected)
    return ("gave" if row["source"] == library.source else "passed") if near else "failed"


def evidence(row: dict[str, Any], passed: bool) -> str:
    """Who else gives a row's value: a node's code or tests, or a chain; another library; a port of the node's code."""
    kind = row.get("kind") or SOURCES[row["source"]][0]
    if kind in ("test", "receipt", CHAIN):
        return "a node's own tests or a chain's record"
    if kind == CODE:
        return "a node's own code"
    return "another library" if passed else "only a port of the source"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "board")
    out = parser.parse_args(arguments).out
    known, failures, passed = vectors(), [], set()
    rows = [row for row in known if "kind" not in row]
    print("| library | version | chain | rule | passed | failed | gave | not offered | upgrades that fail |")
    print("|---" * 9 + "|")
    for library in libraries():
        counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        wrong: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for row, answer in zip(rows, asked(library, rows), strict=True):
            verdict, key = judged(library, answer, row), (row["chain"], row["rule"])
            counts[key][verdict] += 1
            if verdict == "passed":
                passed.add(row["id"])
            if verdict == "failed":
                wrong[key].add(row["upgrade"])
                failures.append({"library": library.name, "version": library.version, "answer": answer, "vector": row})
        for key, count in counts.items():
            if count.total() > count["not offered"]:
                numbers = (str(count[one]) for one in ("passed", "failed", "gave", "not offered"))
                print(
                    f"| {' | '.join((library.name, library.version, *key, *numbers, ' '.join(sorted(wrong[key]))))} |"
                )
    shares = Counter(evidence(row, row["id"] in passed) for row in known)
    for name, size in shares.most_common():
        print(f"- {size:,} of {len(known):,} rows ({size / len(known):.1%}): {name}")
    alone = Counter(row["chain"] for row in known if evidence(row, row["id"] in passed) == "only a port of the source")
    print(
        "- Rows with only a port of the source, by chain: "
        + ", ".join(f"{chain} {size}" for chain, size in alone.most_common())
    )
    smallest: dict[tuple[str, ...], dict[str, Any]] = {}
    for failure in sorted(failures, key=lambda one: len(json.dumps(one["vector"]["inputs"]))):
        smallest.setdefault((failure["library"], failure["vector"]["rule"], failure["vector"]["upgrade"]), failure)
    out.mkdir(parents=True, exist_ok=True)
    (out / "failures.json").write_text(json.dumps([*smallest.values()], indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
