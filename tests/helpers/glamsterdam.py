"""The formulas of the gallery script on the Glamsterdam draft, which is executed once."""

import runpy
from types import SimpleNamespace

import matplotlib as mpl

from tests.conftest import ROOT

mpl.use("agg")
draft = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "gallery" / "plot_glamsterdam_draft.py")))
