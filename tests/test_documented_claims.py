"""Figures and sentences of the guides that no page executes itself."""

import importlib.util
import json
import re
import shlex
from pathlib import Path

import pytest

from feemodel.cli import verb_of
from feemodel.io import read_shipped_transactions
from tests.conftest import ROOT
from tests.estimates.test_replay import CAPTURES

GUIDE = Path(ROOT, "docs", "explanation")
SIZES = Path(GUIDE, "sizes.md").read_text(encoding="utf-8")
NAMES = {
    "zstd level 3 (default)": "zstd",
    "FastLZ": "fastlz",
    "brotli quality 1": "brotli",
    "production LZSS before packing": "lzss",
    "zstd level 3 of the *signed* bytes": "zstd_signed",
}
ROWS = re.findall(r"^\| (.+?) \| ([+-][0-9.]+%) \| ([+-][0-9.]+%)? ?\|$", SIZES, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_table_of_sizes_is_that_of_the_transactions_that_ship(row):
    name, *stated = row
    table = read_shipped_transactions()
    for group, said in zip(("replays", "blob"), stated, strict=True):
        known = table[table["set"] == group][[NAMES[name], "lzss_packed"]].dropna()
        if said:
            assert said == f"{known[NAMES[name]].sum() / known['lzss_packed'].sum() - 1:+.1%}"


def test_the_sets_of_the_table_of_sizes_are_those_that_ship():
    counts = read_shipped_transactions()["set"].value_counts()

    assert f"| {counts['replays']:,} transactions, 2023–2026 | {counts['blob']:,} of one blob, 2025 |" in SIZES


EVIDENCE = Path(GUIDE, "evidence.md").read_text(encoding="utf-8")
SPEED = Path(GUIDE, "speed.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`([^`]+)`", EVIDENCE))))
def test_whatever_repeats_a_check_is_there(named):
    program = named.split()[0]
    if module := re.match(r"python -m (tests\.[\w.]+)", named):
        assert importlib.util.find_spec(module[1])
    elif program.startswith("test_"):
        assert Path(ROOT, "tests", "system", program).is_file()
    elif "/" in program and not program.startswith("."):
        assert Path(ROOT, program).exists()


def test_figures_of_the_evidence_are_those_of_its_tests(shared):
    vectors = json.loads(Path(shared, "vectors", "linea", "fees.json").read_bytes())

    assert f"{len(vectors['mainnet_exact_priority_fee']['items'])} of 15 transactions" in EVIDENCE
    assert f"{len(vectors['lzss_sizes']['items'])} of 69 published payloads" in EVIDENCE
    assert f"{sum(count for _, _, count in CAPTURES)} of 820 transactions in captured blocks" in EVIDENCE


def test_every_figure_of_speed_has_its_benchmark():
    named = set(re.findall(r"\| `(\w+)` \|$", SPEED, re.MULTILINE)) | {*re.findall(r"`scripts/bench (\w+)`", SPEED)}

    assert {name for name in named if not Path(ROOT, "benchmarks", f"{name}.py").is_file()} == {"NAME"} & named
    assert all(row.endswith("` |") for row in re.findall(r"^\| .*\d.* \|$", SPEED.split("## Ledgers")[0], re.MULTILINE))


COMMANDS = re.findall(r"^    (feemodel .*)$", Path(GUIDE, "ledger.md").read_text(encoding="utf-8"), re.MULTILINE)


COMMANDS += re.findall(
    r"^\$ (feemodel .*)$", Path(ROOT, "docs", "how-to", "set-fee-parameters.md").read_text("utf-8"), re.MULTILINE
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_these_pages_is_taken(command):
    words = shlex.split(command)[1:]

    verb_of(words[0]).parse_args(words[1:], exit_on_error=False, print_error=False)
