"""CONTRIBUTING.md adds a formula, a codec and a rule: each page is followed in a copy of the repository.

`tests/system/test_contributing.py` runs the tests of what the pages add.
"""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.helpers.contributing import GUIDE, PAGES, blocks, differences, followed_pages, new_files, run


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that all pages are followed in, one after the other."""
    return tmp_path_factory.mktemp("copy")


@pytest.fixture(scope="module")
def followed(checkout: Path) -> dict[str, list[str]]:
    return followed_pages(checkout)


def test_every_page_adds_a_module_and_its_test():
    assert list(PAGES) == ["A formula", "A codec", "A rollup's rule", "A pricing policy"]
    for page in PAGES.values():
        places = {Path(path).parts[0] for path in new_files(page)}
        assert {"feemodel", "tests"} == places
        assert differences(page)
        assert len(new_files(page)) == len(blocks(page, "python")) + len(blocks(page, "toml")), (
            "a block without the path of its file"
        )


def test_what_the_pages_add_is_in_the_style_of_the_house(checkout, followed):
    files = sorted({path for changed in followed.values() for path in changed if path.endswith(".py")})
    run(checkout, "ruff", "check", "--no-cache", *files)
    run(checkout, "ruff", "format", "--no-cache", "--check", *files)


def test_every_command_and_file_that_the_guide_names_is_there(followed):
    named = set(re.findall(r"`((?:scripts|tests|feemodel|benchmarks|requirements)/[\w./-]*\w)", GUIDE))
    added = {path for changed in followed.values() for path in changed}

    assert len(named) > 15
    assert set() == {path for path in named if not (ROOT / path).exists()} - added
