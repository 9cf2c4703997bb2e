"""The pages that show how to add a formula, a chain or a command: each is followed in a copy of the repository.

`tests/system/test_contributing.py` runs the tests of what the pages add.
"""

import re
import tomllib
from pathlib import Path

import pytest

from feemodel.errors import InvalidInput
from feemodel.rollups._chain_files import chain_of
from tests.conftest import ROOT
from tests.helpers.contributing import GUIDE, PAGES, blocks, differences, new_files, run


def test_every_page_changes_the_package_and_its_tests():
    assert list(PAGES) == ["chain", "codec", "command", "formula", "method", "policy", "rule"]
    for page in PAGES.values():
        changed = {*new_files(page), *(path for path, *_ in differences(page))}
        assert {"feemodel", "tests"} <= {Path(path).parts[0] for path in changed}
        assert len(new_files(page)) == len(blocks(page, "python")) + len(blocks(page, "toml")), (
            "a block without the path of its file"
        )


@pytest.mark.parametrize("title", ["chain", "codec", "command", "method", "policy"])
def test_an_addition_changes_at_most_three_files_of_the_package(title):
    page = PAGES[title]
    changed = {*new_files(page), *(path for path, *_ in differences(page))}

    assert 1 <= sum(path.startswith("feemodel/") for path in changed) <= 3


def test_a_chain_with_rows_in_the_wrong_order_is_rejected_as_the_page_says():
    ((path, text),) = new_files(PAGES["chain"]).items()
    (message,) = blocks(PAGES["chain"], "text")

    with pytest.raises(InvalidInput) as raised:
        chain_of("shape", tomllib.loads(text.replace("since = 2024-09-26", "since = 2023-09-26")))
    assert message.strip() == f"{path}: {raised.value}"


def test_what_the_pages_add_is_in_the_style_of_the_house(checkout, followed):
    files = sorted({path for changed in followed.values() for path in changed if path.endswith(".py")})
    run(checkout, "ruff", "check", "--no-cache", *files)
    run(checkout, "ruff", "format", "--no-cache", "--check", *files)


def test_every_command_and_file_that_the_guide_names_is_there(followed):
    text = "\n".join([GUIDE, *PAGES.values()])
    named = set(re.findall(r"`((?:scripts|tests|feemodel|benchmarks|requirements)/[\w./-]*\w)", text))
    added = {path for changed in followed.values() for path in changed}

    assert len(named) > 15
    assert set() == {path for path in named if not (ROOT / path).exists()} - added
