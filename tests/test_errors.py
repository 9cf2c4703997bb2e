"""Errors say what was wrong, and travel between processes."""

import pickle
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from inspect import signature
from pkgutil import walk_packages

import pytest

import feemodel
from feemodel.errors import FeeModelError, InvalidInput


def test_an_error_names_argument_place_and_value():
    assert str(InvalidInput("gas", "expected at least 1", 0, (2, 3))) == "gas[2, 3]: expected at least 1, got 0"
    assert str(InvalidInput("gas", "expected at least 1", 0)) == "gas: expected at least 1, got 0"


def test_a_long_value_is_shown_by_its_beginning():
    text = str(InvalidInput("data", "expected less", b"\0" * 10_000))

    assert len(text) < 200
    assert text.endswith("… (40,003 characters)")


def derived(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    for one in kind.__subclasses__():
        yield one
        yield from derived(one)


def errors_of_the_package() -> list[type[BaseException]]:
    for module in walk_packages(feemodel.__path__, "feemodel."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # an extra is not installed
                import_module(module.name)
    found = {one for one in derived(BaseException) if one.__module__.startswith("feemodel.")}
    public = (one for one in found if not one.__name__.startswith("_") and "<locals>" not in one.__qualname__)
    return sorted(public, key=lambda one: one.__name__)


@pytest.mark.parametrize("by_keyword", [False, True])
def test_every_error_survives_pickling(by_keyword):
    kinds = errors_of_the_package()
    assert FeeModelError in kinds
    for kind in kinds:
        parameters = signature(kind.__init__).parameters.values()
        names = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD and one.name != "self"]
        values = {name: ("parameter",) if name == "parameters" else f"a {name}" for name in names}
        error = kind(**values) if by_keyword and names else kind(*values.values() or ["a reason"])
        error.add_note("a note")
        copy = pickle.loads(pickle.dumps(error))

        assert (type(copy), str(copy), vars(copy)) == (kind, str(error), vars(error))


def test_a_value_that_python_does_not_write_is_shown_all_the_same():
    nested = []
    for _ in range(100_000):
        nested = [nested]

    assert str(InvalidInput("gas", "expected less", 10**5_000)).startswith("gas: expected less, got 0x")
    assert str(InvalidInput("call", "expected an object", nested)) == "call: expected an object, got a list"
    while nested:  # taken apart from the outside, or the interpreter's stack would not do
        nested = nested[0]
