"""What the pages about additions add: its tests and vectors are run in a copy of the repository."""

import json

import pytest

from tests.helpers.contributing import PAGES, blocks, new_files, run

TAKEN_IN = (
    # Of the house all but the ceilings, which an addition raises on purpose.
    "tests/test_house.py::test_a_room_imports_only_what_it_stands_on",
    "tests/test_house.py::test_a_formula_neither_reads_nor_sleeps_nor_serves",
    "tests/test_house.py::test_no_public_name_is_hidden_by_a_module_of_that_name",
    "tests/sizes/test_codecs.py::test_many_equal_one_by_one[CalldataRuns()]",
    "tests/sizes/test_codecs.py::test_codecs_are_values",
    "tests/sizes/test_codecs.py::test_what_cannot_be_measured_or_set_is_named",
    "tests/sizes/test_codecs.py::test_names_lead_to_codecs",
    "tests/cli/test_cli.py::test_the_guide_has_a_row_for_every_verb",
    "tests/cli/test_wrong_inputs.py::test_every_verb_is_tried",
    "tests/cli/test_wrong_inputs.py::test_a_wrong_value_is_one_line_and_a_documented_code[calldata-gas-DATA]",
    "tests/rollups/test_chains.py::test_parameters_are_those_in_force",
    "tests/rollups/test_chains.py::test_rows_are_in_order_and_each_has_a_source[shape]",
    "tests/rollups/test_rules.py::test_no_rule_prices_a_blob_transaction[blob-share]",
    "tests/server/test_chain.py::test_a_block_has_no_transactions",
    "tests/server/test_openrpc.py::test_every_method_is_described",
    "tests/server/test_openrpc.py::test_a_call_and_its_answer_are_as_described[eth_getBlockTransactionCountByNumber-0]",
)


def test_what_the_pages_add_passes_its_tests_and_doctests(checkout, followed):
    """Run the tests of the additions, and existing tests that include the additions or that a page changes."""
    added = sorted({path for page in PAGES.values() for path in new_files(page) if path.endswith(".py")})
    run(checkout, "pytest", "-q", "-p", "no:cacheprovider", *added, *TAKEN_IN)


def test_the_vectors_of_the_page_are_run_and_can_fail(checkout, followed, tmp_path):
    (text,) = blocks(PAGES["rule"], "json")
    path = tmp_path / "vectors.json"
    path.write_text(text)
    run(checkout, "tests.vectors", str(path))

    wrong = json.loads(text)
    wrong["vectors"][0]["expected"] += 1
    path.write_text(json.dumps(wrong))
    with pytest.raises(AssertionError, match="0 passed, 1 failed"):
        run(checkout, "tests.vectors", str(path))
