"""Poseidon2 in lanes beside what this processor's vectors allow: instructions of a node, the rate of each kind.

Counted by doing the permutation's own arithmetic with `Counted` in place of vectors. Loads, stores, byte order and what
does not fit the registers count as nothing, so the bound is below any kernel that does this arithmetic in eight lanes.
"""

import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from benchmarks.peers import NODES
from feemodel.ledger import poseidon2
from feemodel.ledger import poseidon2_permutation as permutation
from feemodel.ledger.mimc import EXPONENT, ROUNDS
from feemodel.ledger.poseidon2_kernel import MANY

WAYS = 12  # accumulators that do not wait for each other: more than any latency
STEPS = 1_000_000
LIMBS = 4  # of 64 bits, of an element of MiMC's field
PAIR = 2  # elements that a MiMC node hashes


class Counted:
    """In place of a vector: counts what is done with it."""

    def __init__(self, counts: Counter[str], *, fused: bool = False) -> None:
        self.counts, self._fused = counts, fused

    def _counted(self, kind: str, *, fused: bool = False) -> "Counted":
        self.counts[kind] += 1
        return Counted(self.counts, fused=fused)

    def __add__(self, other: "Counted | int") -> "Counted":
        if isinstance(other, Counted) and other._fused:  # one instruction with the product
            return Counted(self.counts)
        return self._counted("other")

    def __mul__(self, other: "Counted | int") -> "Counted":
        return self._counted("product", fused=permutation.FUSED_PRODUCT and other == permutation.INVERSE_OF_P - 1)

    def __sub__(self, other: "Counted | int") -> "Counted":
        return self._counted("other")

    def __and__(self, other: int) -> "Counted":
        return self._counted("other")

    __rshift__ = __lshift__ = __and__

    def low(self) -> "Counted":
        """A product reads the low half of each lane by itself."""
        return self


def main() -> None:
    counts = of_a_node()
    product, other, scalar = (_rate(kind) for kind in ("product", "sum", "scalar product"))
    bounds = (counts["product"] * product / MANY, counts.total() * other / MANY)
    ours = statistics.median(_node() for _ in range(7))
    print(f"  vectors of {MANY} lanes: a product each {product:.3f} ns, a sum each {other:.3f} ns")
    print(f"  a node of {MANY} lanes: {counts['product']:,} products, {counts['other']:,} sums, shifts and masks")
    print(f"  bound by the products {bounds[0]:.0f} ns a node, by all instructions {bounds[1]:.0f} ns")
    print(f"  ours {ours:.0f} ns a node, {ours / max(bounds):.2f} times the bound")
    multiplications = PAIR * ROUNDS * (EXPONENT.bit_length() - 1 + (EXPONENT.bit_count() - 1))
    words = multiplications * (2 * LIMBS**2 + LIMBS)
    print(f"  MiMC, two elements: {multiplications:,} modular products, {words:,} of 64-bit words (Montgomery)")
    print(f"  bound at {scalar:.3f} ns each, one at a time: {words * scalar / 1e3:.1f} µs")


def of_a_node() -> Counter[str]:
    """Vector instructions of two compressions and the way out of Montgomery form."""
    counts: Counter[str] = Counter()

    def state(count: int) -> list[Any]:
        return [Counted(counts) for _ in range(count)]

    for _ in range(2):
        absorbed = [permutation.multiply(x, x) for x in state(8)]
        s: list[Any] = permutation._external_layer([*state(8), *absorbed])
        for number in range(permutation.FULL_ROUNDS):
            if number == permutation.FULL_ROUNDS // 2:
                for step in range(permutation.PARTIAL_ROUNDS):
                    if step % permutation.ROUNDS_BETWEEN_REDUCTIONS == 0:
                        s = [permutation.reduce(x) if i in permutation.GROWING else x for i, x in enumerate(s)]
                    s = permutation._partial_round(s, 1)
                s = [permutation.reduce(x) for x in s]
            s = permutation._full_round(s, [1] * len(s))
        for x, y in zip(s[8:], absorbed, strict=True):
            permutation.reduce(x + y)
    for x in state(8):
        y = permutation.multiply(x, x)
        _ = y + ((y >> 63) & permutation.P)
    return counts


def _rate(kind: str) -> float:
    """Time of one such instruction, of many that do not wait for each other: the least of nine runs [ns]."""
    values = np.arange(1, 1 + WAYS * MANY, dtype=np.int64)
    loop = _loop(*LOOPS[kind])
    seconds = []
    for _ in range(9):
        started = time.thread_time()
        loop(values, STEPS)
        seconds.append(time.thread_time() - started)
    return min(seconds) / STEPS / WAYS * 1e9


def _node() -> float:
    data = np.random.default_rng(1).integers(0, poseidon2.P, (NODES, 16), dtype=np.uint32).astype(">u4").tobytes()
    poseidon2.digests(data[: 64 * MANY], 64)
    started = time.process_time()
    poseidon2.digests(data, 64)
    return (time.process_time() - started) / NODES * 1e9


def _loop(lanes: int, combine: Callable[[Any, Any, Any], Any]) -> Callable[..., None]:
    """A compiled loop in which each accumulator becomes a combination of itself and the next."""

    @intrinsic  # type: ignore[untyped-decorator]
    def emitted(_typing: Any, values: Any, steps: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word = ir.IntType(64)
            kind = ir.VectorType(word, lanes) if lanes > 1 else word
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            places = [builder.bitcast(builder.gep(data, [word(i * lanes)]), kind.as_pointer()) for i in range(WAYS)]
            before, first = builder.block, [builder.load(place, align=8) for place in places]
            loop, after = builder.append_basic_block(), builder.append_basic_block()
            builder.branch(loop)
            builder.position_at_end(loop)
            number, held = builder.phi(word), [builder.phi(kind) for _ in range(WAYS)]
            changed = [combine(builder, x, y) for x, y in zip(held, held[1:] + held[:1], strict=True)]
            following = builder.add(number, word(1))
            number.add_incoming(word(0), before)
            number.add_incoming(following, loop)
            for phi, x, y in zip(held, first, changed, strict=True):
                phi.add_incoming(x, before)
                phi.add_incoming(y, loop)
            builder.cbranch(builder.icmp_signed("<", following, arguments[1]), loop, after)
            builder.position_at_end(after)
            for place, x in zip(places, changed, strict=True):
                builder.store(x, place, align=8)
            return context.get_dummy_value()

        return types.void(values, steps), build

    @njit
    def loop(values: Any, steps: int) -> None:
        emitted(values, steps)

    compiled: Callable[..., None] = loop
    compiled(np.zeros(WAYS * MANY, dtype=np.int64), 1)
    return compiled


def _product(builder: Any, x: Any, y: Any) -> Any:
    return (permutation.Vector(builder, x).low() * permutation.Vector(builder, y).low()).value


#: Lanes, and what is done in each step.
LOOPS: dict[str, tuple[int, Callable[[Any, Any, Any], Any]]] = {
    "product": (MANY, _product),
    "sum": (MANY, lambda builder, x, y: builder.add(x, y)),
    "scalar product": (1, lambda builder, x, y: builder.mul(x, y)),
}

if __name__ == "__main__":
    main()
