"""Hostile arguments for every public function and record of a package, and calls of them that are known to work.

The calls are those of the doctests, so that a new function is tried as soon as it shows what it does.
"""

import dataclasses
import doctest
import inspect
import io
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

HOSTILE: dict[str, Any] = {
    "None": None,
    "True": True,
    "text": "abc",
    "empty text": "",
    "bytes": b"\xff",
    "NaN": float("nan"),
    "infinity": float("inf"),
    "-infinity": float("-inf"),
    "-1": -1,
    "0": 0,
    "0.5": 0.5,
    "1e300": 1e300,
    "10**12": 10**12,
    "2**63": 2**63,
    "-2**63": -(2**63),
    "10**400": 10**400,
    "complex": 1j,
    "empty list": [],
    "ragged list": [[1], [2, 3]],
    "list of text": ["a", "b"],
    "list with None": [1, None],
    "empty mapping": {},
    "tuple of NaN": (float("nan"), 1.0),
    "empty array": np.array([]),
    "NaN array": np.array([np.nan, 1.0]),
    "zeros": np.zeros(3, dtype=np.int64),
    "cube": np.ones((2, 3, 4), dtype=np.int64),
    "text array": np.array(["a"]),
    "largest integers": np.full(2, 2**63 - 1),
    "NaT": np.datetime64("NaT"),
    "built-in without a signature": max,
    "function": lambda *args, **named: float("nan"),
    "class": int,
    "object": object(),
    "empty Dataset": xr.Dataset(),
}


class Call(NamedTuple):
    """A call that works."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]


class _Recorder:
    """A function or class that keeps the arguments of its first call."""

    def __init__(self, function: Any, calls: list[Call]) -> None:
        self._function, self._calls = function, calls

    def __call__(self, *args: Any, **named: Any) -> Any:
        found = self._function(*args, **named)
        self._calls.append(Call(self._function, args, named))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def modules_of(package: str, inside: set[str]) -> list[Any]:
    """The modules of a package whose names are public."""
    names = [found.name for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}.")]
    return [import_module(name) for name in names if name not in inside]


def public_names(module: Any) -> dict[str, Any]:
    """The functions and classes that a module defines."""
    return {
        name: value
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__
        and not name.startswith("_")
        and (inspect.isfunction(value) or (inspect.isclass(value) and dataclasses.is_dataclass(value)))
    }


def calls_of(module: Any) -> dict[str, Call]:
    """The first call of each public name of a module in its doctests."""
    calls: dict[str, list[Call]] = {name: [] for name in public_names(module)}
    recorders = {name: _Recorder(value, calls[name]) for name, value in public_names(module).items()}
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        test.globs.update(recorders)
        with redirect_stdout(io.StringIO()):
            runner.run(test)
    return {name: found[0] for name, found in calls.items() if found}


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """Hostile values in place of a value, and in place of each part of it."""
    yield from HOSTILE.items()
    if isinstance(value, Mapping):
        for key in value:
            yield f"without {key}", {name: part for name, part in value.items() if name != key}
            yield from ((f"{key}={kind}", {**value, key: hostile}) for kind, hostile in HOSTILE.items())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            for kind, hostile in HOSTILE.items():
                yield f".{field.name}={kind}", partial(dataclasses.replace, value, **{field.name: hostile})
    elif isinstance(value, xr.Dataset):
        for name in value.variables:
            yield f"without {name}", value.drop_vars(name)
            numbers = value[name].dtype.kind in "iuf"
            for kind, part in (("NaN", np.nan), ("zeros", 0), ("text", "a"), ("-1e300", -1e300)):
                yield f"{name}={kind}", value.assign({name: (value[name].dims, np.full(value[name].shape, part))})
            if numbers and value[name].ndim:
                yield f"{name} cut", value.isel({value[name].dims[-1]: slice(0, 0)})
        yield "no attributes", value.drop_attrs()
        yield "other dimensions", value.rename({dim: f"{dim}_" for dim in value.dims})
        yield "two paths", xr.concat([value, value], "path") if "path" in value.dims else value


def hostile_calls(call: Call, *, parts: bool = True) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The call with each argument in turn replaced, or a part of it, named by argument and value."""
    try:
        parameters = list(inspect.signature(call.function).parameters.values())
    except ValueError:
        parameters = []
    given: dict[int | str, Any] = {**dict(enumerate(call.args)), **call.named}
    positional = {parameter.name for parameter in parameters[: len(call.args)]}
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    for parameter in parameters:  # those that the doctest left at their defaults
        if parameter.kind in kinds and parameter.name not in positional:
            given.setdefault(parameter.name, parameter.default)
    for key, value in given.items():
        name = parameters[min(key, len(parameters) - 1)].name if isinstance(key, int) else key
        for kind, hostile in variants(value) if parts else HOSTILE.items():
            yield f"{name}: {kind}", partial(_called, call, key, hostile)


def _called(call: Call, key: int | str, hostile: Any) -> Any:
    """Call with one argument replaced; a record is made within the call, since its own checks may refuse the field."""
    given = {**dict(enumerate(call.args)), **call.named, key: hostile() if isinstance(hostile, partial) else hostile}
    args = [given.pop(place) for place in range(len(call.args))]
    return call.function(*args, **given)
