"""Split a product of axes into blocks of bounded size. Each block is a contiguous part of the result in C order."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel.simulation._axes import DRAW_BLOCK, Inputs
from feemodel.simulation.samples import Samples

LARGEST_CHUNK = 1 << 20  # maximum number of evaluations in a block, which takes at most 8 MiB for each result
SMALLEST_CHUNK = 1 << 16
CHUNKS = 64  # preferred number of blocks; the limits on the block size take precedence


@dataclass(frozen=True)
class Blocks:
    """Division of a product of axes into blocks.

    One axis is split. A block of evaluations has one index on each axis before the split axis, a range of the split
    axis, and all indices of the later axes.
    """

    shape: tuple[int, ...]
    split: int  #: index of the axis that is split
    step: int  #: length of a block along the axis `split`

    @property
    def count(self) -> int:
        """Number of blocks."""
        return prod(self.shape[: self.split]) * self._steps

    @property
    def _steps(self) -> int:
        return -(-self.shape[self.split] // self.step) if self.shape else 1

    def block(self, number: int) -> tuple[slice, ...]:
        """Return, for each axis, the slice of its indices that are in block `number`."""
        if not self.shape:
            return ()
        leading, step = divmod(number, self._steps)
        indices = np.unravel_index(leading, self.shape[: self.split]) if self.split else ()
        start = step * self.step
        return (
            *(slice(int(index), int(index) + 1) for index in indices),
            slice(start, min(start + self.step, self.shape[self.split])),
            *(slice(0, size) for size in self.shape[self.split + 1 :]),
        )


def blocks_of(samples: Samples, chunk: int | None = None) -> Blocks:
    """Split samples into blocks of at most `chunk` evaluations.

    The blocks depend neither on the executor nor on the number of workers. If `chunk` is `None`, there are about 64
    blocks; each has 65,536 to 1,048,576 evaluations.

    >>> from feemodel.simulation.samples import grid
    >>> blocks = blocks_of(grid(margin=[1.0, 1.2, 1.4], gas=range(21_000, 21_010)), chunk=20)
    >>> blocks.count, blocks.block(1)
    (2, (slice(2, 3, None), slice(0, 10, None)))
    """
    limit = min(max(samples.size // CHUNKS, SMALLEST_CHUNK), LARGEST_CHUNK) if chunk is None else chunk
    inner = 1
    for split in range(len(samples.shape) - 1, -1, -1):
        size = samples.shape[split]
        if inner * size > limit:
            step = max(1, limit // inner)
            if samples.axes[split].generated and step > DRAW_BLOCK:
                step -= step % DRAW_BLOCK  # make `step` a multiple of `DRAW_BLOCK`, so that no row is drawn twice
            return Blocks(samples.shape, split, step)
        inner *= size
    return Blocks(samples.shape, 0, max(samples.shape[:1], default=1))


def inputs_of(
    samples: Samples, block: tuple[slice, ...], into: Mapping[str, NDArray[Any]] = MappingProxyType({})
) -> tuple[dict[str, Any], Inputs]:
    """Return all inputs of a block of evaluations as arrays that broadcast, and the generated inputs as flat arrays.

    If `into` is given, the generated inputs are also written to its arrays, which have space for the inputs of all
    blocks.
    """
    inputs: dict[str, Any] = {}
    generated: Inputs = {}
    for index, (axis, part) in enumerate(zip(samples.axes, block, strict=True)):
        targets = {name: into[name][part] for name in axis.names if name in into}
        values = axis.values(part.start, part.stop, targets or None)
        trailing = (1,) * (len(block) - 1 - index)
        inputs |= {name: column.reshape(-1, *trailing) for name, column in values.items()}
        if axis.generated:
            generated |= values
    return {**inputs, **samples.constants}, generated


def part_of(array: NDArray[Any], block: tuple[slice, ...]) -> NDArray[Any]:
    """Return a view of the part of an array that belongs to a block of the samples."""
    index: Any = (*block, ...)
    part: NDArray[Any] = array[index]
    return part


def shape_of(block: tuple[slice, ...]) -> tuple[int, ...]:
    """Return the shape of a block: its number of evaluations along each axis."""
    return tuple(part.stop - part.start for part in block)
