"""The command line under all wrong inputs: every verb, every option, every value and file."""

import pytest

from tests.cli.test_wrong_inputs import CASES, badly_answered, values_of, write_inputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_inputs(folder)
    return folder


@pytest.mark.parametrize(("verb", "action"), CASES, ids=lambda value: getattr(value, "dest", value))
def test_a_wrong_value_is_one_line_and_a_documented_code(verb, action, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)  # what a value like `abc` may name is not in the checkout

    assert badly_answered(verb, action, folder, values_of(verb, action, folder), capsys) == []
