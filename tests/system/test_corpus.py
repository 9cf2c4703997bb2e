"""The fit of the corpus, computed again by its script."""

import subprocess
import sys
from pathlib import Path

import pytest

from feemodel.simulation.corpus._calldata import SHAPES
from feemodel.simulation.corpus._fitted import LINEA, parse_fitted

ROOT = Path(__file__).resolve().parents[2]


def test_the_fit_is_what_the_script_prints(shared: Path) -> None:
    """All counts to the digit; the repeats that zstd calibrates within what another version of it may change."""
    printed = subprocess.run(
        [sys.executable, ROOT / "scripts/fit-corpus", shared / "data"], capture_output=True, text=True, check=True
    ).stdout
    fitted = parse_fitted(printed)

    for name in ("words", "nonce_bytes", "price_bytes", "value_bytes", "contracts", "users"):
        assert getattr(LINEA, name) == getattr(fitted, name)
    assert list(LINEA.shapes) == list(fitted.shapes) == [shape.name for shape in SHAPES]
    for name, fit in LINEA.shapes.items():
        again = vars(fitted.shapes[name])
        assert {**vars(fit), "mixture": ...} == {**again, "mixture": ...}
        assert fit.mixture == pytest.approx(again["mixture"], abs=0.02)
