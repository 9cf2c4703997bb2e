"""Every published vector of another chain than Linea, from the full file."""

import json
from collections import Counter
from pathlib import Path

from tests.helpers.rollup_vectors import MODELS


def test_every_vector_is_exact(shared: Path) -> None:
    """Those that their collector could not check as well: all of them agree."""
    files = {
        name: json.loads((shared / "vectors" / "rollups" / f"{name}.json").read_text())["vectors"]
        for name in ("fees", "today", "chains")
    }
    mine = [vector for vectors in files.values() for vector in vectors if (vector["chain"], vector["model"]) in MODELS]
    wrong = {
        vector["id"]: (value, vector["expected"])
        for vector in mine
        if (value := MODELS[vector["chain"], vector["model"]](vector["inputs"])) != vector["expected"]
    }
    assert wrong == {}
    without = {("taiko", "max_send"), ("ethereum", "max_send")}  # the formula is Linea's
    assert {(vector["chain"], vector["model"]) for vector in mine} == set(MODELS) - without
    others = [vector for vector in files["fees"] if vector["chain"] != "linea"]
    assert (len(others), sum(vector["checked"] is None for vector in others)) == (90, 6)
    kinds = Counter(vector["kind"] for vector in files["today"])
    assert (len(files["today"]), kinds["test"] + kinds["receipt"] + kinds["derived"]) == (97, 97)
    assert len([vector for vector in mine if vector["id"].startswith("chains/")]) == len(files["chains"])
