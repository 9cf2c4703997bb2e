"""What is pinned: every requirement with its checksum and without an address, and the conda recipe."""

import re
import tomllib

import pytest
import yaml

import feemodel
from tests.conftest import ROOT

REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"brotli": "brotli-python"}
PINNED = re.compile(r"[A-Za-z0-9._-]+==\S+(?: ; [^\\]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+")


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.name)
def test_every_requirement_has_a_version_and_checksums_and_no_address(path):
    """`scripts/pin hashes` adds the checksums to versions that were pinned by hand."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE).strip()
    entries = re.split(r"\n(?! )", text)

    assert [entry for entry in entries if not PINNED.fullmatch(entry)] == []
    assert "://" not in text


def test_the_conda_recipe_has_the_dependencies_of_the_core():
    text = (ROOT / "deploy" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert f'version = "{feemodel.__version__}"' in text
    recipe = yaml.safe_load(
        re.sub(r"\{%.*%\}\n", "", text).replace("{{ PYTHON }}", "python").replace("{{ ", "").replace(" }}", "")
    )
    wanted = [re.match(r"([\w-]+)(>=\S+?)(?:;.*)?$", one) for one in PROJECT["dependencies"]]
    core = {f"{CONDA_NAMES.get(one[1], one[1])} {one[2]}" for one in wanted if one[1] != "safe-pysha3"}

    assert set(recipe["requirements"]["run"]) == core | {f"python {PROJECT['requires-python']}"}


def test_the_page_of_the_installation_has_the_size_of_every_extra():
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    measured = set(re.findall(r"^\| `feemodel\[(\w+)\]` \| \d+ \| [\d,]+ \|$", page, flags=re.MULTILINE))

    assert measured == set(PROJECT["optional-dependencies"]) - {"native"}
