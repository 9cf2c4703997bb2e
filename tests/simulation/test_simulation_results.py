"""Sweeps, backtests, calibration and the closed loop give the results that were recorded, to the bit."""

import json

import pytest

from tests.helpers.simulation_results import CASES, FILE, arithmetic, recorded

RECORDED = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def same_arithmetic() -> bool:
    return arithmetic() == RECORDED["arithmetic"]


@pytest.mark.parametrize("case", CASES)
def test_the_result_is_the_recorded_one(case, same_arithmetic):
    expected, found = RECORDED["cases"][case], recorded(CASES[case]())

    assert [*expected] == [*found]
    if same_arithmetic:
        assert expected == found
    # Where exp and log round otherwise, a result may differ in its last digits.
    for name, (_, total) in expected.items():
        assert total == pytest.approx(found[name][1], rel=1e-6), name
