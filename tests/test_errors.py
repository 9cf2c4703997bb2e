"""Errors say what was wrong, and travel between processes."""

import pickle

from feemodel.errors import FeeModelError, Int64Overflow, InvalidInput


def test_an_error_names_argument_place_and_value():
    assert str(InvalidInput("gas", "expected at least 1", 0, (2, 3))) == "gas[2, 3]: expected at least 1, got 0"
    assert str(InvalidInput("gas", "expected at least 1", 0)) == "gas: expected at least 1, got 0"


def test_a_long_value_is_shown_by_its_beginning():
    text = str(InvalidInput("data", "expected less", b"\0" * 10_000))

    assert len(text) < 200
    assert text.endswith("… (40,003 characters)")


def test_an_error_survives_pickling():
    error = Int64Overflow("fee", "expected less", 2**63, (1,))
    copy = pickle.loads(pickle.dumps(error))

    assert (type(copy), str(copy), copy.index) == (Int64Overflow, str(error), (1,))
    assert isinstance(copy, (FeeModelError, ValueError, OverflowError))


def test_a_value_that_python_does_not_write_is_shown_all_the_same():
    nested = []
    for _ in range(100_000):
        nested = [nested]

    assert str(InvalidInput("gas", "expected less", 10**5_000)).startswith("gas: expected less, got 0x")
    assert str(InvalidInput("call", "expected an object", nested)) == "call: expected an object, got a list"
    while nested:  # taken apart from the outside, or the interpreter's stack would not do
        nested = nested[0]
