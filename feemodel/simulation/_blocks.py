"""A product of axes cut into blocks of bounded size, each a contiguous stretch of the result in C order."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel.simulation._axes import DRAW_BLOCK, Inputs
from feemodel.simulation.samples import Samples

LARGEST_CHUNK = 1 << 20  # evaluations: 8 MiB a result, a millisecond of a compiled formula
SMALLEST_CHUNK = 1 << 16
CHUNKS = 64  # that work is cut into where the two bounds allow it: enough for any number of cores to share evenly


@dataclass(frozen=True)
class Blocks:
    """The trailing axes whole, one axis in steps, the leading axes one index at a time."""

    shape: tuple[int, ...]
    split: int  #: the axis that is cut
    step: int  #: its indices in a block

    @property
    def count(self) -> int:
        """Number of blocks."""
        return prod(self.shape[: self.split]) * self._steps

    @property
    def _steps(self) -> int:
        return -(-self.shape[self.split] // self.step) if self.shape else 1

    def block(self, number: int) -> tuple[slice, ...]:
        """Return the slice of each axis in the block with a given number."""
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
    """The blocks that samples are evaluated in, of at most `chunk` evaluations.

    They depend on the samples and on `chunk` alone, not on who evaluates them. Without `chunk` there are some 64
    blocks of between 65,536 and 1,048,576 evaluations.

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
                step -= step % DRAW_BLOCK  # a block of draws is not drawn for two
            return Blocks(samples.shape, split, step)
        inner *= size
    return Blocks(samples.shape, 0, max(samples.shape[:1], default=1))


def inputs_of(
    samples: Samples, block: tuple[slice, ...], into: Mapping[str, NDArray[Any]] = MappingProxyType({})
) -> tuple[dict[str, Any], Inputs]:
    """The inputs of a block, shaped so that they broadcast to it; and those generated for it, flat.

    A column of `into` is generated in place, in the block's part of it.
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
    """A view of the part of an array that a block is; of an array without axes too."""
    index: Any = (*block, ...)
    part: NDArray[Any] = array[index]
    return part


def shape_of(block: tuple[slice, ...]) -> tuple[int, ...]:
    """Return the number of evaluations of a block along each axis."""
    return tuple(part.stop - part.start for part in block)
