"""Every published vector of another chain than Linea, from the full file."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.rollup_vectors import MODELS


def _of_other_parameters(vector: dict[str, Any]) -> bool:
    """Whether a row asks for parameters of chains that are not in the history yet, or are out of date there."""
    return vector["id"].startswith("chains/op-stack/parameters_at")


def test_every_vector_is_exact(shared: Path) -> None:
    """Those that their collector could not check as well: all of them agree."""
    files = {
        name: json.loads((shared / "vectors" / "rollups" / f"{name}.json").read_text())["vectors"]
        for name in ("fees", "today", "chains")
    }
    mine = [
        vector
        for vectors in files.values()
        for vector in vectors
        if (vector["chain"], vector["model"]) in MODELS and not _of_other_parameters(vector)
    ]
    wrong = {
        vector["id"]: (value, vector["expected"])
        for vector in mine
        if (value := MODELS[vector["chain"], vector["model"]](vector["inputs"])) != vector["expected"]
    }
    assert wrong == {}
    without = {("taiko", "max_send"), ("ethereum", "max_send")}  # the formula is Linea's
    assert {(vector["chain"], vector["model"]) for vector in mine} == set(MODELS) - without
    others = [vector for vector in files["fees"] if vector["chain"] != "linea"]
    assert (len(others), sum(vector["checked"] is None for vector in others)) == (106, 6)
    kinds = Counter(vector["kind"] for vector in files["today"])
    assert (len(files["today"]), kinds["test"] + kinds["receipt"] + kinds["derived"]) == (154, 154)
