"""Compute the parts of a run on threads or an executor, and keep finished parts so that the run can be resumed.

A store of finished parts, such as `feemodel.io.FinishedFolder`, holds a description of its run. The description has the
SHA-256 hash of each array, the constants, the source of the function that was passed, and versions. It does not have
the globals and helpers that the function uses.
"""

import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.arguments import checked
from feemodel.errors import InvalidInput
from feemodel.progress import cores, map_in_order
from feemodel.quantities import Quantity

Arrays = dict[str, NDArray[Any]]
MAX_SHOWN = 60  # maximum number of characters of a value in a description
Workers = Annotated[int, Quantity("1", minimum=1, maximum=1_024)] | None  # more than 1,024 are probably a mistake


class DaskClient(Protocol):
    """The method of `dask.distributed.Client` that a run uses."""

    def get_executor(self, *, pure: bool) -> Any:
        """Return a `concurrent.futures.Executor` that runs tasks on the cluster."""


Where: TypeAlias = Executor | DaskClient | None


class Finished(Protocol):
    """Store of finished parts, such as `feemodel.io.FinishedFolder`."""

    def open(self, experiment: str) -> None:
        """Set the description of the run; raises an error if the store has parts of another run."""

    def numbers(self) -> Collection[int]:
        """Return the numbers of the stored parts."""

    def get(self, number: int) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of a stored part."""

    def put(self, number: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store the arrays of a finished part."""


def parts(
    compute: Callable[[Any], Arrays],
    task: Callable[[int], Any],
    count: int,
    finished: Finished | None,
    inputs: Callable[[], Mapping[str, Any]],
    *,
    executor: Where,
    workers: int | None,
) -> Generator[Mapping[str, NDArray[Any]], None, None]:
    """Yield the arrays of all parts of a run in order: read the stored parts; compute and store the missing parts.

    Parameters
    ----------
    compute : function that returns the arrays of a part, given its task.
    task : function that returns the task of the part with the given number.
    count : number of parts.
    finished : store of finished parts, or `None`.
    inputs : function that returns everything that determines the result.
    """
    stored: frozenset[int] = frozenset()
    if finished is not None:
        if not all(callable(getattr(finished, name, None)) for name in ("open", "numbers", "get", "put")):
            raise InvalidInput(
                "finished", "expected a store of finished parts, such as FinishedFolder(folder)", finished
            )
        finished.open(json.dumps(description(**inputs())))
        stored = frozenset(finished.numbers())
    missing = (task(number) for number in range(count) if number not in stored)
    with closing(in_order(compute, missing, executor=executor, workers=workers)) as computed:
        for number in range(count):
            if finished is not None and number in stored:
                yield finished.get(number)
                continue
            arrays = next(computed)
            if finished is not None:
                finished.put(number, arrays)
            yield arrays


@checked
def in_order(job: Any, pieces: Iterable[Any], *, executor: Where, workers: Workers) -> Generator[Any, None, None]:
    """Yield `job(piece)` for each piece, in order, on threads, on an executor or on a Dask cluster.

    >>> list(in_order(abs, [-1, 2], executor=None, workers=2))
    [1, 2]
    """
    if executor is not None and hasattr(executor, "get_executor"):
        executor = executor.get_executor(pure=False)
    if not (executor is None or isinstance(executor, Executor)):
        raise InvalidInput("executor", "expected an Executor of concurrent.futures or a Dask Client", executor)
    return map_in_order(job, pieces, workers or cores(), executor)


def description(**inputs: Any) -> dict[str, str]:
    """Return a text for each input of a run and for each of its fields; equal inputs give equal texts.

    >>> description(size=128, gas=np.array([21_000]))["size"]
    '128'
    """
    found: dict[str, str] = {}
    for name, value in inputs.items():
        _describe(found, name, value)
    return found


def _describe(found: dict[str, str], path: str, value: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        found[path] = repr(value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        digest = hashlib.sha256(value.tobytes()).hexdigest()
        found[path] = f"{_shown(value.tolist())} {value.dtype} {value.shape} {digest}"
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _describe(found, f"{path}.{key}", item)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _describe(found, f"{path}[{index}]", item)
    elif hasattr(value, "coords") and hasattr(value, "dims"):  # a DataArray or a Dataset
        found[path] = repr(tuple(value.dims))
        variables = value.variables if hasattr(value, "data_vars") else {"values": value, **value.coords}
        _describe(found, path, {str(name): variable.to_numpy() for name, variable in variables.items()})
    elif isinstance(value, functools.partial):
        _describe(found, path, {"function": value.func, "arguments": value.args, "keywords": value.keywords})
    elif inspect.isroutine(value) or hasattr(value, "py_func") or isinstance(value, np.ufunc):
        _describe_function(found, path, value)
    elif inspect.isclass(value):
        _describe_source(found, path, value)
    else:
        _describe_object(found, path, value)


def _describe_object(found: dict[str, str], path: str, value: Any) -> None:
    names = [field.name for field in fields(value)] if is_dataclass(value) else [*getattr(value, "__dict__", ())]
    names += [name for name in getattr(value, "__slots__", ()) if hasattr(value, name) and name not in names]
    names += [name for name, member in vars(type(value)).items() if isinstance(member, staticmethod)]
    if not names and getattr(type(value), "__repr__", None) is object.__repr__:
        raise InvalidInput(path, "expected a value that can be compared with that of a stored part", value)
    _describe_source(found, path, type(value))
    _describe(found, path, {name: getattr(value, name) for name in names} if names else {"value": repr(value)})


def _describe_function(found: dict[str, str], path: str, value: Any) -> None:
    function = inspect.unwrap(getattr(value, "py_func", value))
    _describe_source(found, path, function)
    if inspect.isfunction(function):
        _describe(found, f"{path}.defaults", [function.__defaults__, function.__kwdefaults__])
        _describe(found, f"{path}.closure", dict(inspect.getclosurevars(function).nonlocals))


def _describe_source(found: dict[str, str], path: str, value: Any) -> None:
    """Describe a function or a class by its name, and by its source if available."""
    name = f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else repr(value)
    try:
        source = inspect.getsource(value)
    except (OSError, TypeError):  # compiled code, or code without a file
        if getattr(value, "__code__", None) is not None:
            reason = "expected a function whose source can be read, because a stored part must be of the same function"
            raise InvalidInput("function", reason, value) from None
        found[path] = name
        return
    found[path] = f"{_shown(source)} ({name}) {hashlib.sha256(source.encode()).hexdigest()}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN // 2]}…{text[-MAX_SHOWN // 2 :]}"
