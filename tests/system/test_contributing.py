"""What the pages of CONTRIBUTING.md add: its tests and vectors are run in a copy of the repository."""

import json
from pathlib import Path

import pytest

from tests.helpers.contributing import PAGES, blocks, followed_pages, new_files, run

TAKEN_IN = (
    "tests/test_house.py",
    "tests/sizes/test_codecs.py::test_many_equal_one_by_one[CalldataRuns()]",
    "tests/sizes/test_codecs.py::test_codecs_are_values",
    "tests/sizes/test_codecs.py::test_names_lead_to_codecs",
    "tests/rollups/test_rules.py::test_compiled_sums_are_exact_fees_added_up[blob-share]",
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that all pages are followed in, one after the other."""
    return tmp_path_factory.mktemp("copy")


@pytest.fixture(scope="module")
def followed(checkout: Path) -> dict[str, list[str]]:
    return followed_pages(checkout)


def test_what_the_pages_add_passes_its_tests_and_doctests(checkout, followed):
    """Old tests that take the additions in are run with them: of the house, of codecs, of rules."""
    added = sorted({path for page in PAGES.values() for path in new_files(page) if path.endswith(".py")})
    run(checkout, "pytest", "-q", "-p", "no:cacheprovider", *added, *TAKEN_IN)


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
