"""The notebooks as they are stored: listed in the guide, run to their ends. `scripts/run-notebooks` executes them."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_the_guide_lists_every_notebook() -> None:
    guide = (ROOT / "docs/notebooks.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| (\d\d) \| .+ \|$", guide, re.MULTILINE)) == [path.name[:2] for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_has_run_in_order_without_an_error(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert "error" not in {output["output_type"] for cell in cells for output in cell["outputs"]}
