"""Checks of arguments and of dataclass fields by their annotations.

Checked are single numbers (quantities, `int` and `float` of at least 0), bools, text, `Literal`, classes, and lists,
mappings and named tuples of these; `None` is valid where the annotation has it. Text of `Annotated[str, NAMES]` is one
of `NAMES`, and a value of `Annotated[KIND, function]` is checked by `function(name, value)`. A parameter with another
annotation is not checked. `feemodel.formula` is for numbers that may be arrays.
"""

import inspect
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, partial, wraps
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from feemodel.checks import choice, instance, sequence
from feemodel.errors import InvalidInput
from feemodel.quantities import REAL, WHOLE, quantity_of

P = ParamSpec("P")
R = TypeVar("R")
Check = Callable[[str, Any], Any]
NUMBERS = {int: WHOLE, float: REAL}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments of each call by their annotations; the attribute `core` is the function without the checks.

    >>> from feemodel.quantities import GasAboveZero
    >>> @checked
    ... def twice(gas: GasAboveZero, *, why: Literal["test", "demo"] = "test") -> int:
    ...     return 2 * gas
    >>> twice(5)
    10
    >>> twice(0)
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: gas: expected whole gas of at least 1, got 0
    >>> twice(1, why="fun")
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: why: expected one of test, demo, got 'fun'
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        checks = checks_of(function)
        positional = [check(name, value) for (name, check), value in zip(checks.items(), args, strict=False)]
        named = {name: checks[name](name, value) if name in checks else value for name, value in kwargs.items()}
        return function(*positional, *args[len(checks) :], **named)  # type: ignore[arg-type]

    call.core = function  # type: ignore[attr-defined]
    return call


def check_fields(record: Any) -> None:
    """Check the fields of a dataclass by their annotations; NumPy numbers are replaced with Python numbers."""
    checks = checks_of(type(record))  # type: ignore[arg-type]
    for field in fields(record):
        object.__setattr__(record, field.name, checks[field.name](field.name, getattr(record, field.name)))


@cache
def checks_of(owner: Hashable) -> Mapping[str, Check]:
    """Return the checks of the parameters of a function, or of the fields of a class, by name."""
    try:
        kinds = get_type_hints(owner, include_extras=True)
    except NameError:  # a quoted annotation of a field has a name that only type checkers import: it is not checked
        if not is_dataclass(owner):
            raise
        kinds = {field.name: field.type for field in fields(owner)}
    names = kinds if isinstance(owner, type) else inspect.signature(owner).parameters  # type: ignore[arg-type]
    return {name: check_of(kinds.get(name, Any)) for name in names}


def check_of(kind: Any) -> Check:
    """Return the check of an annotation: it returns NumPy numbers as Python numbers, and lists as tuples."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return partial(_check_one_of, {part: check_of(part) for part in parts})
    if origin is Annotated:
        quantity, note = quantity_of(kind), parts[1]
        if quantity is not None:
            return quantity.check_one
        if isinstance(note, Collection):
            return partial(choice, choices=note)
        return note if callable(note) else check_of(parts[0])
    if origin is Literal:
        return partial(choice, choices=parts)
    if origin is Sequence or (origin is tuple and parts[1:] == (...,)):
        return partial(_check_items, check_of(parts[0]))
    if origin is Mapping:
        return partial(_check_mapping, check_of(parts[0]), check_of(parts[1]))
    if kind in NUMBERS:
        return NUMBERS[kind].check_one
    if not _is_class(kind):
        return lambda name, value: value
    return partial(_check_named_tuple if hasattr(kind, "_fields") else instance, kind=kind)


def _is_class(kind: Any) -> bool:
    """Return whether `isinstance` works for a kind: it is a class, neither generic nor a protocol."""
    return isinstance(kind, type) and get_origin(kind) is None and kind is not Any and Protocol not in kind.__bases__


def _check_items(check: Check, name: str, value: Any) -> tuple[Any, ...]:
    listed = value.tolist() if getattr(value, "ndim", 0) == 1 else value
    return tuple(check(f"{name}[{index}]", one) for index, one in enumerate(sequence(name, listed)))


def _check_mapping(check_key: Check, check: Check, name: str, value: Any) -> Mapping[Any, Any]:
    return {check_key(name, key): check(f"{name}[{key}]", one) for key, one in instance(name, value, Mapping).items()}


def _check_named_tuple(name: str, value: Any, kind: Any) -> Any:
    parts = zip(checks_of(kind).items(), instance(name, value, kind), strict=True)
    return kind(*(check(f"{name}.{field}", one) for (field, check), one in parts))


def _check_one_of(checks: Mapping[Any, Check], name: str, value: Any) -> Any:
    """Check a value by a union: of one kind and `None`, or of classes."""
    others = [kind for kind in checks if kind is not NoneType]
    if value is None and len(others) < len(checks):
        return None
    if len(others) == 1:
        return checks[others[0]](name, value)
    if all(_is_class(kind) and kind not in NUMBERS for kind in others) and not isinstance(value, tuple(others)):
        raise InvalidInput(name, f"expected {' or '.join(kind.__name__ for kind in others)}", value)
    return value
