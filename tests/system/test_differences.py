"""Formulas, sizes, hashes and estimates against nodes' own code, on generated inputs; a short form of compare-nodes."""

import pytest

from tests.nodes.differences import differences
from tests.nodes.formulas import FORMULAS
from tests.nodes.programs import MissingGo, built

INPUTS, SEED = 1_000, 7


@pytest.mark.parametrize("name", FORMULAS)
def test_nothing_differs(name: str) -> None:
    formula = FORMULAS[name]
    try:
        built(formula.program)
    except MissingGo as error:
        pytest.skip(str(error))

    assert differences(name, INPUTS, SEED) == []
