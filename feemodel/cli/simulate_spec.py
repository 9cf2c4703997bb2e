"""An experiment of `feemodel simulate` as a TOML file: what its options say, and every field of the four classes.

pricing = "vault-p"              # any option of the command by its name
l1 = "fees.csv"
[pricing-fields]                 # fields of the policy's class
balance_lag = 5
[posting-fields]                 # of `Posting`; a table `cap` holds those of `PriceCap`
[demand]                         # of `Demand`
[costs]                          # of `Costs`
"""

import argparse
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from feemodel.cli.options import check_known
from feemodel.errors import InvalidInput
from feemodel.io.documents import read_toml

TABLES = ("pricing-fields", "posting-fields", "demand", "costs")
Record = TypeVar("Record")


def read_simulate_spec(path: str, options: Mapping[str, argparse.Action]) -> dict[str, Any]:
    """Options and tables of a file; an option's value is read as on the command line.

    Raises
    ------
    UnreadableFile : no such file, or no TOML.
    InvalidInput : a key that is no option and no table, a value that the option does not take.
    """
    return {name: _value(name, value, options) for name, value in read_toml(path).items()}


def with_fields(where: str, record: Record, given: Mapping[str, Any]) -> Record:
    """A frozen dataclass with some fields replaced; lists become tuples, a table replaces fields of a field.

    Raises `InvalidInput` for a field that it has not.

    >>> from feemodel.simulation.closed_loop.demand import Demand
    >>> with_fields("demand", Demand(), {"rate": 2.0}).rate
    2.0
    """
    known = [field.name for field in fields(record)]  # type: ignore[arg-type]
    changed = {}
    for name, value in given.items():
        check_known(where, name, known)
        held = getattr(record, name)
        if isinstance(value, dict):
            if not hasattr(held, "__dataclass_fields__"):
                raise InvalidInput(f"{where}.{name}", "expected a number or text", value)
            value = with_fields(f"{where}.{name}", held, value)
        changed[name] = tuple(value) if isinstance(value, list) else value
    try:
        return replace(record, **changed)  # type: ignore[type-var]
    except InvalidInput as error:
        raise InvalidInput(f"{where}.{error.name}", error.reason, error.value) from None


def _value(name: str, value: Any, options: Mapping[str, argparse.Action]) -> Any:
    if name in TABLES:
        if not isinstance(value, dict):
            raise InvalidInput(name, f"expected a table [{name}]", value)
        return value
    check_known("the simulation file", name, [*options, *TABLES])
    action = options[name]
    if isinstance(value, bool):
        if action.nargs != 0:
            raise InvalidInput(name, "expected a number or text", value)
        return value
    if isinstance(value, (dict, list)) or action.nargs == 0:
        raise InvalidInput(name, "expected true or false" if action.nargs == 0 else "expected one value", value)
    try:
        found = action.type(str(value)) if callable(action.type) else str(value)
    except argparse.ArgumentTypeError as error:
        reason, _, _ = str(error).partition(", got ")  # the value follows once, as the file has it
        raise InvalidInput(name, reason, value) from None
    if action.choices is not None:
        check_known(name, found, [*action.choices])
    return found
