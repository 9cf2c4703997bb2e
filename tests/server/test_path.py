"""The path of an estimate through the package, counted from a profile."""

import runpy

import pytest

from tests.conftest import ROOT
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_an_estimate_passes_at_most_ten_modules_and_twenty_eight_functions():
    """No module parses, checks or looks up again, so that a reader can follow one call."""
    measures = runpy.run_path(str(ROOT / "scripts" / "measure-house"))["path_measures"](ROOT)

    assert int(measures["modules that rollup_estimateGas passes"]) <= 10
    assert int(measures["functions that rollup_estimateGas passes"]) <= 28
