"""The command line under all wrong inputs: every verb, every option, every value and file."""

import pytest

from tests.cli.test_wrong_inputs import CASES, VALUES, badly_answered, values_of, write_inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.mark.parametrize(("verb", "option"), CASES, ids=lambda value: getattr(value, "name", value))
def test_a_wrong_value_is_one_line_and_a_documented_code(verb, option, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)  # what a value like `abc` may name is not in the checkout

    values = values_of(folder)
    tried = values[: len(VALUES) + 1] if option.is_number else values  # to a number all paths are the same text
    assert badly_answered(verb, option, folder, tried, capsys) == []
