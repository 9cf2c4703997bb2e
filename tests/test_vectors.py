"""The published vectors, run by the same runner as `scripts/check-vectors`; and that the runner can fail."""

import json

import pytest

from tests.helpers.inputs import ROOT
from tests.nodes.vectors import PUBLISHED
from tests.vectors import run_file
from tests.vectors.__main__ import main

FIELD = sorted((ROOT / "data" / "vectors").glob("*/*.json"))
SCHEMA = json.loads((ROOT / "data" / "vectors" / "schema.json").read_bytes())


def failures(cases):
    return [f"{case.name}: {case.detail}" for case in cases if not case.passed]


def test_all_linea_vectors(shared):
    cases = run_file(shared / "vectors" / "linea" / "fees.json")

    assert len(cases) > 900
    assert failures(cases) == []


@pytest.mark.parametrize(
    ("content", "detail"),
    [
        ({"priority_fee_of_tomorrow": [{}]}, "no runner knows this section"),
        ({"vectors": [{"chain": "linea", "model": "magic", "inputs": {}, "expected": 1}]}, "no runner knows this"),
        ({"vectors": [{"chain": "linea", "model": "wma_fees", "inputs": {}, "expected": 1}]}, "KeyError"),
        ({"coordinator_wma": [{}]}, "KeyError"),
        ([], "expected an object of sections"),
    ],
)
def test_what_the_runner_does_not_know_counts_as_failed(content, detail, tmp_path, capsys):
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps(content))

    assert main([str(path)]) == 1
    out = capsys.readouterr().out
    assert detail in out
    assert out.endswith("0 passed, 1 failed\n")


def test_a_wrong_number_fails(tmp_path, capsys):
    row = {"variableCostWei": 10**9, "compressedTxSize": 128, "gas": 21_000, "fixedCostWei": 0, "minMargin": 1.0}
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps({"priority_fee_current_derived": [row | {"priorityFeePerGas": 6_095_239}]}))

    assert main([str(path)]) == 1
    assert "expected 6095239, got 6095238" in capsys.readouterr().out


def test_a_file_that_cannot_be_read_fails(tmp_path, capsys):
    assert main([str(tmp_path / "nothing.json")]) == 1
    assert "cannot be read" in capsys.readouterr().out


@pytest.mark.parametrize("path", FIELD, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_the_field_s_vectors_is_as_its_schema_says_and_passes(path):
    file = json.loads(path.read_bytes())
    cases = run_file(path)

    assert (path.parent.name, path.stem) == (file["chain"], file["upgrade"])
    for row in file["vectors"]:
        assert any(name in row["source"] for name in file["sources"])
        assert path.stem == "published" or row["inputs"].keys() <= file["units"].keys()
        assert row["rule"] in file["expected"]
    assert len(cases) == len(file["vectors"])
    assert failures(cases) == []
    pytest.importorskip("jsonschema").validate(file, SCHEMA)


def test_every_model_has_published_vectors_and_each_belongs_to_one():
    rows = [row for path in FIELD if path.stem == "published" for row in json.loads(path.read_bytes())["vectors"]]
    without = {("taiko", "max_send"), ("ethereum", "max_send")}  # the formula is Linea's

    assert {(row["chain"], row["rule"]) for row in rows} == set(PUBLISHED) - without | {
        ("linea", "pricing_record"), ("linea", "priority_fee")
    }  # fmt: skip


def test_the_field_has_at_least_two_thousand_vectors_each_with_an_id_of_its_own():
    ids = [row["id"] for path in FIELD for row in json.loads(path.read_bytes())["vectors"]]

    assert len(ids) == len(set(ids)) >= 2_000
