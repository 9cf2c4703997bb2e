"""What a sweep keeps of its finished blocks, and how it recognises that they are its own."""

import hashlib
import json
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.simulation.axes import DRAW_BLOCK, Axis, Inputs
from feemodel.simulation.blocks import Blocks
from feemodel.simulation.executors import Selected, Where, in_order
from feemodel.simulation.fingerprint import description, package_source
from feemodel.simulation.metadata import versions
from feemodel.simulation.reduce import Moments, Over
from feemodel.simulation.samples import Samples


class Piece(NamedTuple):
    """What a worker gives back for a block, where it could not write it to where it is kept."""

    results: Mapping[str, NDArray[Any]]
    moments: Mapping[str, Moments]  #: of the results, where they are reduced
    inputs: Inputs  #: those generated for it


class FinishedBlocks(Protocol):
    """Where finished blocks are kept, so that an interrupted sweep goes on; `feemodel.io.BlockFolder` is one."""

    def open(self, experiment: str) -> None:
        """Take the sweep's description; raises where another one's blocks are kept."""

    def numbers(self) -> Collection[int]:
        """Which blocks are there."""

    def get(self, block: int) -> Mapping[str, NDArray[Any]]:
        """The arrays of a block that is there."""

    def put(self, block: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep the arrays of a finished block."""


def pieces(
    job: Callable[[int], Piece],
    count: int,
    finished: FinishedBlocks | None,
    *,
    check: Callable[[int, Piece], None],
    executor: Where,
    workers: int | None,
) -> Generator[Piece, None, None]:
    """Every piece in order: stored ones are read and checked, missing ones are computed and stored."""
    held = frozenset() if finished is None else frozenset(finished.numbers())
    missing = tuple(number for number in range(count) if number not in held)
    with closing(in_order(Selected(job, missing), len(missing), executor=executor, workers=workers)) as computed:
        for number in range(count):
            if finished is not None and number in held:
                piece = _piece(number, finished.get(number))
                check(number, piece)
                yield piece
                continue
            piece = next(computed)
            if finished is not None:
                finished.put(number, _arrays(piece))
            yield piece


def _arrays(piece: Piece) -> dict[str, NDArray[Any]]:
    arrays = {f"results/{name}": values for name, values in piece.results.items()}
    arrays |= {f"inputs/{name}": values for name, values in piece.inputs.items()}
    for name, moments in piece.moments.items():
        arrays |= {f"moments/{field}/{name}": values for field, values in moments._asdict().items()}
    return arrays


def _piece(number: int, arrays: Mapping[str, NDArray[Any]]) -> Piece:
    kinds: dict[str, Inputs] = {"results": {}, "inputs": {}, "moments": {}}
    for key, values in arrays.items():
        kind, _, name = key.partition("/")
        if kind not in kinds:
            raise InvalidInput("finished", f"expected the arrays of block {number}", key)
        kinds[kind][name] = values
    first, *others = Moments._fields
    names = [key.partition("/")[2] for key in kinds["moments"] if key.startswith(f"{first}/")]
    try:
        moments = {
            name: Moments(*(kinds["moments"][f"{field}/{name}"] for field in (first, *others))) for name in names
        }
    except KeyError as error:
        raise InvalidInput("finished", f"expected the array {error} in block {number}", [*arrays]) from None
    return Piece(kinds["results"], moments, kinds["inputs"])


def described_sweep(function: Callable[..., Any], samples: Samples, blocks: Blocks, reduce: Over | None) -> str:
    """All that decides a sweep's result, as JSON.

    Raises `InvalidInput` for a function or a distribution that cannot be described.
    """
    told = description(
        function=function,
        inputs={axis.dim: axis for axis in samples.axes},
        drawn={axis.dim: _digest(axis) for axis in samples.axes if axis.generated},
        constants=dict(samples.constants),
        chunk=[blocks.shape, blocks.split, blocks.step],
        reduce=reduce,
        versions=versions(),
        package=package_source("feemodel.simulation.sweep"),
    )
    return json.dumps(told)


def _digest(axis: Axis) -> str:
    """Of an axis's values; of generated ones of the first and the last, which its seed and distributions decide."""
    stretches = [(0, len(axis))]
    if axis.generated:
        stretches = [(0, min(len(axis), DRAW_BLOCK)), (max(len(axis) - 1_024, 0), len(axis))]
    sha = hashlib.sha256(json.dumps(axis.attributes(), default=str).encode())
    for start, stop in stretches:
        for name, column in axis.values(start, stop).items():
            sha.update(f"{name} {column.dtype} {column.shape}".encode())
            sha.update(column.tobytes())
    return sha.hexdigest()
