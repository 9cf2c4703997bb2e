"""Types as users see them: numbers in, a number out; arrays in, an array out.

`scripts/test` has mypy check `tests/helpers/typed_calls.py`, and `tests/system/test_types.py` has pyright check it.
"""

import inspect
from typing import Any, get_overloads

import pytest

from tests.helpers.formulas import array_parameters, functions

FORMULAS = [
    (name, function)
    for name, function in functions()
    if array_parameters(function) and not hasattr(function, "quantities")
]


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
