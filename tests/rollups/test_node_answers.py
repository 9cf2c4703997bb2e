"""Recorded answers of nodes' own code, for machines without Go; `scripts/compare-nodes` asks the code itself."""

import json
from collections import Counter

import pytest

from tests.conftest import ROOT
from tests.nodes.differences import RECORDED
from tests.nodes.formulas import FORMULAS, text

ANSWERS = ROOT / "tests" / "data" / "node_answers.jsonl"
ROWS = [json.loads(line) for line in ANSWERS.read_text().splitlines()]


@pytest.mark.parametrize("name", RECORDED)
def test_answers_are_those_of_the_node(name: str) -> None:
    rows = [row for row in ROWS if row["formula"] == name]

    assert [row["answer"] for row in rows] == [text(FORMULAS[name].ours(*row["arguments"])) for row in rows]


def test_every_formula_is_recorded() -> None:
    assert Counter(row["formula"] for row in ROWS) == dict.fromkeys(RECORDED, 24)
