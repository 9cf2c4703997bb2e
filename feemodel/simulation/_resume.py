"""Resume a sweep or a simulation: read and check the stored parts of the result, and compute the missing parts."""

from collections.abc import Collection, Generator, Mapping
from contextlib import closing
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.simulation._executors import Selected, Where, in_order

Part = TypeVar("Part")
Layout = Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]  #: type and shape of each array of a part, by array name


class Finished(Protocol):
    """Store of finished parts, such as `feemodel.io.FinishedFolder`."""

    def open(self, experiment: str) -> None:
        """Set the description of the experiment; raises an error if the store has parts of another experiment."""

    def numbers(self) -> Collection[int]:
        """Return the numbers of the stored parts."""

    def get(self, number: int) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of a stored part."""

    def put(self, number: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Store the arrays of a finished part of the experiment."""


class Job(Protocol[Part]):
    """Function that computes the numbered parts of an experiment, with methods to convert a part to arrays and back."""

    @property
    def description(self) -> str:
        """JSON text with all inputs that determine the result."""

    def __call__(self, number: int, /) -> Part:
        """Compute a part."""

    def layout(self, number: int, /) -> Layout:
        """Return the type and shape of each array of a part of the experiment."""

    def to_arrays(self, part: Part) -> dict[str, NDArray[Any]]:
        """Return the arrays of a part."""

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Part:
        """Create a part from its arrays, whose types and shapes the caller has checked."""


def parts(
    job: Job[Part], count: int, finished: Finished | None, *, executor: Where, workers: int | None
) -> Generator[Part, None, None]:
    """Yield all parts of the result in order: read and check the stored parts; compute and store the missing parts.

    Raises `InvalidInput` if `finished` is not a store, if the store belongs to another experiment, or if the arrays of
    a stored part have unexpected names, types or shapes.
    """
    stored = frozenset() if finished is None else _opened(finished, job.description)
    missing = tuple(number for number in range(count) if number not in stored)
    with closing(in_order(Selected(job, missing), len(missing), executor=executor, workers=workers)) as computed:
        for number in range(count):
            if finished is not None and number in stored:
                arrays = finished.get(number)
                _check_layout(number, arrays, job.layout(number))
                yield job.from_arrays(arrays)
                continue
            part = next(computed)
            if finished is not None:
                finished.put(number, job.to_arrays(part))
            yield part


def _opened(finished: Finished, description: str) -> frozenset[int]:
    for name in ("open", "numbers", "get", "put"):
        if not callable(getattr(finished, name, None)):
            reason = f"expected a store of finished parts, such as FinishedFolder(folder); it has no {name}"
            raise InvalidInput("finished", reason, finished)
    finished.open(description)
    return frozenset(finished.numbers())


def _check_layout(number: int, arrays: Mapping[str, NDArray[Any]], expected: Layout) -> None:
    if not isinstance(arrays, Mapping):
        raise InvalidInput("finished", f"expected a mapping from names to the arrays of part {number}", arrays)
    stored = {name: (one.dtype, one.shape) if isinstance(one, np.ndarray) else one for name, one in arrays.items()}
    for name in [*expected, *stored]:
        if expected.get(name) != stored.get(name):
            reason = f"expected the array {name} of part {number} as {_shown(expected.get(name))}"
            raise InvalidInput("finished", reason, _shown(stored.get(name)))


def _shown(kind: Any) -> str:
    return f"{kind[0]} {kind[1]}" if isinstance(kind, tuple) else "nothing" if kind is None else repr(kind)
