"""Convert policies, posting, demand and costs to JSON, and copy these objects with changed parameters."""

import inspect
import json
from dataclasses import asdict, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from feemodel.errors import InvalidInput

OPTIONAL = ("level", "l1_lag", "balance_lag", "target_balance")  # attributes that a policy may have

Record = TypeVar("Record")


def attributes(record: Any) -> dict[str, Any]:
    """Return the attributes of an object as a dict from name to value.

    For a dataclass, the result contains the fields. For any other object, the result contains the public data
    attributes, and every attribute whose name is also the name of a constructor parameter.

    >>> from feemodel.simulation.closed_loop._costs import Costs
    >>> attributes(Costs())["proving_per_byte"]
    0.0
    """
    if is_dataclass(record):
        return {one.name: getattr(record, one.name) for one in fields(record)}
    of_classes = {name for kind in type(record).__mro__[:-1] for name in vars(kind) if not name.startswith("_")}
    names = [*_accepted(record), *getattr(record, "__dict__", ()), *OPTIONAL, *sorted(of_classes)]
    found = {name: getattr(record, name) for name in dict.fromkeys(names) if hasattr(record, name)}
    return {name: value for name, value in found.items() if not callable(value) or name not in of_classes}


def parameters(record: Any) -> tuple[str, ...]:
    """Return the parameters of the constructor of an object that are also attributes of the object.

    >>> from feemodel.simulation.closed_loop._costs import Costs
    >>> parameters(Costs())[0]
    'finalization_gas'
    """
    return tuple(name for name in _accepted(record) if name in attributes(record))


def with_parameters(record: Record, changed: dict[str, Any]) -> Record:
    """Construct a copy of an object with the given parameters changed.

    Raises `InvalidInput` if the constructor requires a parameter that is not an attribute of the object.

    >>> from feemodel.simulation.closed_loop._costs import Costs
    >>> with_parameters(Costs(), {"proving_per_byte": 3.0}).proving_per_byte
    3.0
    """
    if not changed:
        return record
    values = attributes(record)
    for name, one in _accepted(record).items():
        if name not in values and (one.default is one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)):
            reason = "expected an attribute with the name of this parameter, to copy the object"
            raise InvalidInput(f"{type(record).__name__}.{name}", reason, record)
    names = parameters(record)
    made = type(record)(**{name: values[name] for name in names} | changed)
    for name in {*OPTIONAL} & {*getattr(record, "__dict__", {})} - {*names}:
        setattr(made, name, values[name])  # copy attributes that were set after construction
    return made


def described(record: Any) -> str:
    """Return the class name and the attributes of an object as JSON.

    >>> from feemodel.simulation.closed_loop._costs import Costs
    >>> described(Costs())[:42]
    '{"kind": "Costs", "finalization_gas": 0.0,'
    """
    values = asdict(record) if is_dataclass(record) and not isinstance(record, type) else attributes(record)
    shown = {name: one.tolist() if isinstance(one, np.ndarray) else one for name, one in values.items()}
    return json.dumps({"kind": type(record).__name__, **shown}, default=str)


def _accepted(record: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(type(record)).parameters)
    except (TypeError, ValueError):  # the signature is not available, for example in a compiled module
        return {}
