"""The suite of gas estimates in `data/estimates`: the documented form, and what this package finds for each row."""

import json
from collections import Counter

import pytest

from feemodel.execution import estimate_gas
from tests.conftest import IN_CI
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.nodes.estimates import FOLDER, SEARCHES, UNLIMITED, Judge, rows

SUITE = list(rows())
#: A quarter of the suite, and every call with an authorization list.
CHECKED = [row for place, row in enumerate(SUITE) if place % 4 == 0 or row["cause"] == "authorization"]


def test_every_row_follows_the_schema():
    """A tenth of them where it is not CI."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = jsonschema.Draft202012Validator(json.loads((FOLDER / "schema.json").read_text()))

    assert [row["name"] for row in SUITE[:: 1 if IN_CI else 10] if not schema.is_valid(row)] == []
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 5 * 2**20


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_every_limit_and_outcome_is_found_again():
    counts = Counter()
    for row in CHECKED:
        judge = Judge(row)
        for name, (search, tolerance) in SEARCHES.items():
            found = estimate_gas(row["call"], judge.state, search=search, tolerance=tolerance, limits=UNLIMITED)
            assert hex(found.gas_limit) == row["limits"][name], (row["name"], name)
            assert judge.outcome(found.gas_limit) == row["outcomes"][name], (row["name"], name)
            counts[name, row["outcomes"][name]["changedFrame"] is None] += 1
        assert found.intact == row["intact"]
        if found.intact == "proven":
            assert judge.outcome(found.gas_limit - 1)["changedFrame"] is not None, row["name"]
    assert counts["geth", False] > 10
    assert counts["intact", False] == sum(row["intact"] == "not possible" for row in CHECKED)
    assert sum("authorizationList" in row["call"] for row in CHECKED) == 6
