"""CONTRIBUTING.md adds a formula, a codec and a rule: each page is followed in a copy of the repository, and works."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = dict(re.findall(r"^## (A [^\n]+)\n(.*?)(?=^## |\Z)", GUIDE, flags=re.DOTALL | re.MULTILINE))
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "out", "node_modules")

TAKEN_IN = (
    "tests/test_house.py",
    "tests/sizes/test_codecs.py::test_many_equal_one_by_one[CalldataRuns()]",
    "tests/sizes/test_codecs.py::test_codecs_are_values",
    "tests/sizes/test_codecs.py::test_names_lead_to_codecs",
    "tests/rollups/test_rules.py::test_compiled_sums_are_exact_fees_added_up[blob-share]",
)


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def new_files(page: str) -> dict[str, str]:
    """Path → text of the blocks that begin with the path of a new file."""
    written = [*blocks(page, "python"), *blocks(page, "toml")]
    found = [re.fullmatch(r"# (\S+\.(?:py|toml))\n(.*)", block, flags=re.DOTALL) for block in written]
    return {match[1]: match[2] for match in found if match}


def differences(page: str) -> list[tuple[str, str, str]]:
    """Path, text before and text after, of every part of the blocks that change a file."""
    found = []
    for block in blocks(page, "diff"):
        for path, body in re.findall(r"^--- (\S+)\n(.*?)(?=^--- |\Z)", block, flags=re.DOTALL | re.MULTILINE):
            for part in re.split(r"^@@\n", body, flags=re.MULTILINE)[1:]:
                lines = part.splitlines(keepends=True)
                before = "".join(line[1:] for line in lines if line[0] in " -")
                found.append((path, before, "".join(line[1:] for line in lines if line[0] in " +")))
    return found


def follow(page: str, checkout: Path) -> list[str]:
    """Do what a page says in a checkout; returns the files that it added or changed."""
    for path, text in new_files(page).items():
        assert not (checkout / path).exists(), f"{path} is there already"
        (checkout / path).write_text(text, encoding="utf-8")
    for path, before, after in differences(page):
        text = (checkout / path).read_text(encoding="utf-8")
        assert text.count(before) == 1, f"{path} has this {text.count(before)} times:\n{before}"
        (checkout / path).write_text(text.replace(before, after), encoding="utf-8")
    return sorted({*new_files(page), *(path for path, *_ in differences(page))})


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that all pages are followed in, one after the other."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("feemodel", "tests", "data", "docs/gallery"):
        shutil.copytree(ROOT / name, copy / name, ignore=NOT_COPIED)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, copy)
    return copy


@pytest.fixture(scope="module")
def followed(checkout: Path) -> dict[str, list[str]]:
    return {title: follow(page, checkout) for title, page in PAGES.items()}


def run(checkout: Path, *arguments: str) -> None:
    """Run a module of Python in the copy, which must succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_page_adds_a_module_and_its_test():
    assert list(PAGES) == ["A formula", "A codec", "A rollup's rule", "A pricing policy"]
    for page in PAGES.values():
        places = {Path(path).parts[0] for path in new_files(page)}
        assert {"feemodel", "tests"} == places
        assert differences(page)
        assert len(new_files(page)) == len(blocks(page, "python")) + len(blocks(page, "toml")), (
            "a block without the path of its file"
        )


def test_what_the_pages_add_passes_its_tests_and_doctests(checkout, followed):
    """Old tests that take the additions in are run with them: of the house, of codecs, of rules."""
    added = sorted({path for page in PAGES.values() for path in new_files(page) if path.endswith(".py")})
    run(checkout, "pytest", "-q", "-p", "no:cacheprovider", *added, *TAKEN_IN)


def test_what_the_pages_add_is_in_the_style_of_the_house(checkout, followed):
    files = sorted({path for changed in followed.values() for path in changed if path.endswith(".py")})
    run(checkout, "ruff", "check", "--no-cache", *files)
    run(checkout, "ruff", "format", "--no-cache", "--check", *files)


def test_the_vectors_of_the_page_are_run_and_can_fail(checkout, followed, tmp_path):
    (text,) = blocks(PAGES["A rollup's rule"], "json")
    path = tmp_path / "vectors.json"
    path.write_text(text)
    run(checkout, "tests.vectors", str(path))

    wrong = json.loads(text)
    wrong["vectors"][0]["expected"] += 1
    path.write_text(json.dumps(wrong))
    with pytest.raises(AssertionError, match="0 passed, 1 failed"):
        run(checkout, "tests.vectors", str(path))


def test_every_command_and_file_that_the_guide_names_is_there(followed):
    named = set(re.findall(r"`((?:scripts|tests|feemodel|benchmarks|requirements)/[\w./-]*\w)", GUIDE))
    added = {path for changed in followed.values() for path in changed}

    assert len(named) > 15
    assert set() == {path for path in named if not (ROOT / path).exists()} - added
