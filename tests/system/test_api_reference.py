"""The pages of the API reference, built whole."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_api_reference import LISTED


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole reference, made by the module that `scripts/api-reference` runs: it changes what it documents."""
    folder = tmp_path_factory.mktemp("api")
    made = subprocess.run(
        [sys.executable, "-W", "error", "-m", "docs.reference", str(folder)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder


@pytest.mark.parametrize("package", LISTED)
def test_names_imported_at_first_use_have_their_place(pages, package):
    page = (pages / f"{package.replace('.', '/')}.html").read_text(encoding="utf-8")
    missing = [name for name in import_module(package).__all__ if f'<section id="{name}">' not in page]

    assert missing == []


def test_a_page_reads_as_the_docstring_does(pages):
    page = (pages / "feemodel" / "linea" / "priority.html").read_text(encoding="utf-8")

    assert "<li><code>compressed_size</code>: measured size of the transaction [byte].</li>" in page
    assert "<li><code>fixed_cost</code>: cost of every unit of gas [wei / gas].</li>" in page
    assert '<span class="n">compressed_size</span><span class="p">:</span> <span class="n">ArrayLike</span>' in page
    assert "----------" not in page


def test_the_command_line_is_left_to_its_own_help(pages):
    assert not (pages / "feemodel" / "cli.html").exists()
