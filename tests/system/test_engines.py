"""The engines and the search of gas limits on many generated and real calls; the rooms' own tests take a tenth."""

import pytest

from feemodel.execution import Native, Reference
from tests.helpers.engine_differences import differences
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.helpers.searches import compared, replayed


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
@pytest.mark.parametrize("seed", [11, 12])
def test_random_calls_of_every_kind_end_as_on_the_reference(seed):
    """Seven hundred of each; `scripts/compare-engines 100000` for more, with the shares of how they ended."""
    shares, found = differences(seed, 700, Native(), Reference())

    assert found == []
    assert shares["success"] > 350
    assert shares["proves other limits"] > 300


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_the_search_with_proven_limits_answers_as_the_one_that_executes_all_on_real_calls(shared):
    """One in ninety; `scripts/compare-searches --replays FOLDER` compares all."""
    differences, counts = compared(replayed(shared / "data" / "replays", lambda place: place % 90 == 3))

    assert differences == []
    for search in ("geth", "besu"):
        assert counts[search, 0.015, "executed"] < counts[search, 0.015, "all executed"] / 2
