"""Types as users see them: numbers in, a number out; arrays in, an array out, to mypy and to pyright."""

import inspect
import subprocess
import sys
from typing import Any, get_overloads

import pytest

from tests.conftest import ROOT
from tests.helpers.anvil import PEERS
from tests.helpers.formulas import array_parameters, functions
from tests.system.clients import require

CALLS = "tests/helpers/typed_calls.py"
FORMULAS = [(name, function) for name, function in functions() if array_parameters(function)]


@pytest.mark.parametrize("function", [function for _, function in FORMULAS], ids=[name for name, _ in FORMULAS])
def test_a_formula_has_a_type_for_numbers_and_one_for_arrays(function):
    overloads = get_overloads(inspect.unwrap(function))

    assert len(overloads) == 2, "expected `@overload` of numbers, then of arrays, as CONTRIBUTING shows"
    for overload in overloads:
        parameters = inspect.signature(overload).parameters.values()
        own = inspect.signature(function).parameters.values()
        assert [(one.name, one.kind) for one in own] == [(one.name, one.kind) for one in parameters]
        assert [one.default is one.empty for one in own] == [one.default is one.empty for one in parameters]


def test_no_public_formula_returns_any():
    returned = {name: inspect.signature(function).return_annotation for name, function in functions()}

    assert [name for name, annotation in returned.items() if annotation in (Any, inspect.Signature.empty)] == []


def test_mypy_infers_what_a_user_gets():
    checked = _checked([sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", CALLS])

    assert checked == (0, "")


def test_pyright_infers_what_a_user_gets():
    pyright = PEERS / "node_modules" / "pyright" / "index.js"
    require("node", pyright)

    assert _checked(["node", str(pyright), "--pythonpath", sys.executable, CALLS]) == (0, "")


def _checked(command: list[str]) -> tuple[int, str]:
    """How a type checker ended, and what it said if not well."""
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout if ended.returncode else ""
