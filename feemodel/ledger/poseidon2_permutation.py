"""The Poseidon2 permutation over KoalaBear in vector registers, as instructions for numba's kernels.

A vector holds one element of the state of several messages, its lanes. Elements are signed and in Montgomery form with
R = 2**32: a product needs no conditional subtraction as long as both factors lie in [-2**31, 2**31). Linear layers add
without reducing; `reduce` brings a sum back before it is cubed. A test follows the largest value through every round
with interval arithmetic.

The arithmetic is written once, for `Vector`, which emits LLVM's vector instructions. Compiled from loops over arrays
instead, the state stays in memory between the rounds, and a permutation of four lanes takes 1.7 times as long.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.codegen import get_host_cpu_features
from numba.extending import intrinsic

from feemodel.ledger.poseidon2 import FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH, P, round_keys

INVERSE_OF_P = pow(P, -1, 2**32) - 2**32  # signed, so that it is a factor of a 32-bit product; 1 modulo 2**24
# A product by the inverse of which only 32 bits matter: compilers see that, and where AVX-512 offers a whole product of
# 64 bits they take it, in three steps. Written so that only the lowest byte is multiplied, it is one step with its sum.
FUSED_PRODUCT = "+avx512ifma" in get_host_cpu_features()  # type: ignore[no-untyped-call]
TO_MONTGOMERY = 2**64 % P
GROWING = (2, 4, 5, 7, 8)  # elements that a partial round multiplies by 2 to 4
ROUNDS_BETWEEN_REDUCTIONS = 3  # of these

_FIRST_PARTIAL = FULL_ROUNDS // 2
_LAST_FULL = _FIRST_PARTIAL + PARTIAL_ROUNDS
_ROUNDS = FULL_ROUNDS + PARTIAL_ROUNDS
KEYS = np.array([[key * 2**32 % P for key in (*row, *[0] * WIDTH)[:WIDTH]] for row in round_keys()], dtype=np.int64)

_I64, _I32 = ir.IntType(64), ir.IntType(32)
State: TypeAlias = list[Any]  # of vectors


class Vector:
    """One element of several messages, as LLVM's instructions are emitted for it."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _with(self, name: str, other: "Vector | int") -> "Vector":
        if isinstance(other, int):
            operand = ir.Constant(self.value.type, [other] * self.value.type.count)
        else:
            operand = other.value
        return Vector(self.builder, getattr(self.builder, name)(self.value, operand))

    def __add__(self, other: "Vector | int") -> "Vector":
        return self._with("add", other)

    def __sub__(self, other: "Vector | int") -> "Vector":
        return self._with("sub", other)

    def __mul__(self, other: "Vector | int") -> "Vector":
        return self._with("mul", other)

    def __and__(self, other: int) -> "Vector":
        return self._with("and_", other)

    def __rshift__(self, bits: int) -> "Vector":
        return self._with("ashr", bits)

    def __lshift__(self, bits: int) -> "Vector":
        return self._with("shl", bits)

    def low(self) -> "Vector":
        """The low 32 bits of each lane, signed: a product of two such vectors is one instruction."""
        short = self.builder.trunc(self.value, ir.VectorType(_I32, self.value.type.count))
        return Vector(self.builder, self.builder.sext(short, self.value.type))


def multiply(a: Any, b: Any) -> Any:
    """a·b/2**32 modulo P, in (-2**31, 2**31); of the factors the low 32 bits count."""
    product = a.low() * b.low()
    if FUSED_PRODUCT:
        quotient = (product + (product & 255) * (INVERSE_OF_P - 1)).low()
    else:
        quotient = (product.low() * INVERSE_OF_P).low()
    return (product - quotient * P) >> 32


def reduce(x: Any) -> Any:
    """x modulo P, nearer to zero: |x| <= 2**36 gives less than 2**31."""
    return x - ((x + (1 << 30)) >> 31).low() * P


def _cube(x: Any) -> Any:
    return multiply(multiply(x, x), x)


def _halve(x: Any, times: int) -> Any:
    """x/2**times modulo P, times <= 24: P is 1 modulo 2**24, so that x - (x mod 2**times)·P divides."""
    return (x >> times) - (x & ((1 << times) - 1)) * ((P - 1) >> times)


def _external_layer(s: State) -> State:
    """circ(2·M4, M4, M4, M4) with M4 = (2 3 1 1), (1 2 3 1), (1 1 2 3), (3 1 1 2)."""
    mixed: State = []
    for a, b, c, d in (s[group : group + 4] for group in range(0, WIDTH, 4)):
        low, high = a + b, c + d
        with_b, with_d = low + high + b, low + high + d
        mixed += [with_b + low, with_b + (c << 1), with_d + high, with_d + (a << 1)]
    totals = [(mixed[j] + mixed[j + 4]) + (mixed[j + 8] + mixed[j + 12]) for j in range(4)]
    return [x + totals[i % 4] for i, x in enumerate(mixed)]


def _full_round(s: State, keys: Sequence[Any]) -> State:
    return _external_layer([_cube(reduce(x + key)) for x, key in zip(s, keys, strict=True)])


def _partial_round(s: State, key: Any) -> State:
    """Cube element 0, then new[i] = sum + d[i]·old[i]."""
    first = _cube(reduce(s[0] + key))
    others = reduce(_sum(s[1:]))  # without element 0: nothing here waits for the cube
    total = others + first
    return [
        others - first,
        total + s[1],
        total + (s[2] << 1),
        total + _halve(s[3], 1),
        total + (s[4] << 1) + s[4],
        total + (s[5] << 2),
        total - _halve(s[6], 1),
        total - (s[7] << 1) - s[7],
        total - (s[8] << 2),
        total + _halve(s[9], 8),
        total + _halve(s[10], 3),
        total + _halve(s[11], 24),
        total - _halve(s[12], 8),
        total - _halve(s[13], 3),
        total - _halve(s[14], 4),
        total - _halve(s[15], 24),
    ]


def _sum(terms: State) -> Any:
    """Added in pairs, so that few sums wait for another."""
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) & ~1 :]
    return terms[0]


def _emit_compress(module: Any, lanes: int) -> Any:
    """The function (state, block, keys): the eight vectors of the state become those after the block."""
    vector = ir.VectorType(_I64, lanes)
    pointer = vector.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, pointer, _I64.as_pointer()])
    function = ir.Function(module, kind, f"feemodel.poseidon2.compress{lanes}")
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    state, block, keys = function.args

    def loaded(array: Any) -> State:
        places = (builder.gep(array, [_I64(i)]) for i in range(8))
        return [Vector(builder, builder.load(place, align=8)) for place in places]

    def key(number: Any, i: int) -> Vector:
        scalar = builder.load(builder.gep(keys, [builder.add(builder.mul(number, _I64(WIDTH)), _I64(i))]))
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, _I32(0))
        return Vector(builder, builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_I32, lanes), None)))

    def full(s: State, number: Any) -> State:
        return _full_round(s, [key(number, i) for i in range(WIDTH)])

    def partial(s: State, number: Any) -> State:
        s = [reduce(x) if i in GROWING else x for i, x in enumerate(s)]
        for step in range(ROUNDS_BETWEEN_REDUCTIONS):
            s = _partial_round(s, key(builder.add(number, _I64(step)), 0))
        return s

    def rounds(s: State, first: int, last: int, step: int, body: Callable[[State, Any], State]) -> State:
        """A loop that holds the state in registers."""
        before, loop, after = builder.block, function.append_basic_block(), function.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        number = builder.phi(_I64)
        number.add_incoming(_I64(first), before)
        held = [builder.phi(vector) for _ in s]
        s_after = body([Vector(builder, phi) for phi in held], number)
        following = builder.add(number, _I64(step))
        number.add_incoming(following, builder.block)
        for phi, x, y in zip(held, s, s_after, strict=True):
            phi.add_incoming(x.value, before)
            phi.add_incoming(y.value, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, _I64(last)), loop, after)
        builder.position_at_end(after)
        return s_after

    absorbed = [multiply(x, _constant(x, TO_MONTGOMERY)) for x in loaded(block)]
    s = _external_layer([*loaded(state), *absorbed])
    s = rounds(s, 0, _FIRST_PARTIAL, 1, full)
    s = rounds(s, _FIRST_PARTIAL, _LAST_FULL, ROUNDS_BETWEEN_REDUCTIONS, partial)
    s = rounds([reduce(x) for x in s], _LAST_FULL, _ROUNDS, 1, full)
    for i, x in enumerate(absorbed):
        builder.store(reduce(s[8 + i] + x).value, builder.gep(state, [_I64(i)]), align=8)
    builder.ret_void()
    return function


def _emit_finish(module: Any, lanes: int) -> Any:
    """The function (state): its eight vectors out of Montgomery form, in [0, P)."""
    vector = ir.VectorType(_I64, lanes)
    function = ir.Function(
        module, ir.FunctionType(ir.VoidType(), [vector.as_pointer()]), f"feemodel.poseidon2.finish{lanes}"
    )
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block())
    for i in range(8):
        place = builder.gep(function.args[0], [_I64(i)])
        x = Vector(builder, builder.load(place, align=8))
        x = multiply(x, _constant(x, 1))
        builder.store((x + ((x >> 63) & P)).value, place, align=8)
    builder.ret_void()
    return function


def _constant(x: Vector, number: int) -> Vector:
    return Vector(x.builder, ir.Constant(x.value.type, [number] * x.value.type.count))


def _emitted(emit: Callable[[Any, int], Any], lanes: int, context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A call of an emitted function with the data of arrays."""
    name = emit.__name__.replace("_emit_", "feemodel.poseidon2.") + str(lanes)
    function = builder.module.globals.get(name) or emit(builder.module, lanes)
    pointers = [
        builder.bitcast(context.make_array(kind)(context, builder, array).data, expected)
        for kind, array, expected in zip(signature.args, args, function.function_type.args, strict=False)
    ]
    builder.call(function, pointers)
    return context.get_dummy_value()


def _typed_compress(_: Any, state: Any, block: Any, keys: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _emitted(_emit_compress, lanes.literal_value, context, builder, signature, args)

    return types.void(state, block, keys, lanes), generate


def _typed_finish(_: Any, state: Any, lanes: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _emitted(_emit_finish, lanes.literal_value, context, builder, signature, args)

    return types.void(state, lanes), generate


compress: Any = intrinsic(prefer_literal=True)(_typed_compress)
finish: Any = intrinsic(prefer_literal=True)(_typed_finish)
