"""Translation of the specification's exceptional halts to geth's error messages.

The specification raises the same out-of-gas exception for several faults that geth distinguishes. `distinguish` makes
the specification raise a separate exception for each fault. `refusal` returns geth's error message for an input that a
precompile rejects.

Source: ethereum/go-ethereum at v1.17.10, core/vm/errors.go, interpreter.go, contracts.go, crypto/bn256/gnark.
"""

from hashlib import sha256
from pkgutil import iter_modules
from typing import Any

from ethereum_types.numeric import U256

from feemodel.execution._outcome import Status

PRICED_MEMORY = 0x1FFFFFFFE0  # largest memory size for which geth's memory gas fits in 64 bits [byte]
BLOB_VERSION = b"\x01"
BLS12_381_MODULUS = int(
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab", 16
)

_FIELD_ELEMENT = "invalid fp.Element encoding"
_LENGTH = "invalid input length"
_WORDS = {  # message of the specification's `InvalidParameter` → geth's message
    "Invalid Input Length": _LENGTH,
    "Point is not on curve": "invalid point: not on curve",
    "G1 point is not on curve": "invalid point: not on curve",
    "Subgroup check failed for G1 point.": "g1 point is not on correct subgroup",
    "Subgroup check failed for G2 point.": "g2 point is not on correct subgroup",
}
#: Address of a BLS12-381 precompile → size of one input item [byte], and number of field elements with which an item
#: starts.
_BLS12_381_ITEMS = {
    0x0B: (128, 2), 0x0C: (160, 2), 0x0D: (256, 4), 0x0E: (288, 4), 0x0F: (384, 6), 0x10: (64, 1), 0x11: (64, 1),
}  # fmt: skip
_MODEXP, _PAIRING, _BLAKE2F, _KZG = 5, 8, 9, 10
_BN254 = frozenset((6, 7, 8))
_BEFORE_ISTANBUL = frozenset(("byzantium", "constantinople"))


def distinguish(rules: Any) -> None:
    """Make a fork of the specification raise a separate exception for each fault that geth distinguishes."""
    interpreter, exceptions = rules.vm.interpreter, rules.vm.exceptions
    max_code_size = getattr(interpreter, "MAX_CODE_SIZE", None)  # since Spurious Dragon
    charge, extend = interpreter.charge_gas, rules.vm.gas.calculate_gas_extend_memory
    out_of_gas: Any = exceptions.OutOfGasError

    class Fault(out_of_gas):  # type: ignore[misc]  # a class of the fork
        def __init__(self, words: str, status: Status = Status.HALT) -> None:
            super().__init__(words)
            self.words, self.status = words, status

    def charge_for_code(evm: Any, amount: Any) -> None:
        """Charge gas for deployed code; the interpreter module calls `charge_gas` for nothing else."""
        try:
            charge(evm, amount)
        except out_of_gas:
            raise Fault("contract creation code storage out of gas") from None
        size = len(evm.output)
        if max_code_size is not None and size > max_code_size:
            raise Fault(f"max code size exceeded: code size {size} limit {int(max_code_size)}")

    def extend_memory(memory: Any, extensions: Any) -> Any:
        ends = [int(start) + int(size) for start, size in extensions if size]
        if any(end > 2**64 - 32 for end in ends):
            raise Fault("gas uint64 overflow")
        if any(end > PRICED_MEMORY for end in ends):
            raise Fault("out of gas: gas uint64 overflow", Status.OUT_OF_GAS)
        return extend(memory, extensions)

    interpreter.charge_gas = charge_for_code
    for module in _instructions(rules):
        if hasattr(module, "calculate_gas_extend_memory"):
            module.calculate_gas_extend_memory = extend_memory


def _instructions(rules: Any) -> list[Any]:
    package = rules.vm.instructions
    return [getattr(package, module.name) for module in iter_modules(package.__path__)]


def refusal(rules: Any, number: int, data: bytes, error: BaseException, gas: int) -> str | None:
    """Return geth's error for an input that a precompile rejects; `None` for another fault, such as too little gas.

    Parameters
    ----------
    rules : the package of the fork.
    number : address of the precompile, as a number.
    data : input of the precompile.
    error : exception that the executable specification raised.
    gas : gas given to the precompile [gas].
    """
    name, said = type(error).__name__, str(error)
    if number in _BN254:
        cause = str(error.__cause__ or "")
        if cause:
            return _FIELD_ELEMENT if cause == "Invalid field element" else "point is not on curve"
        if number != _PAIRING or name != "OutOfGasError" or gas < _pairing_gas(rules, len(data) // 192):
            return None
        return "bad elliptic curve pairing size" if len(data) % 192 else "point is not in correct subgroup"
    if number == _MODEXP and name == "ExceptionalHalt":
        if gas < _modexp_gas(rules, data):
            return None
        return "one or more of base/exponent/modulus length exceeded 1024 bytes"
    if number == _BLAKE2F and name == "InvalidParameter":
        return _LENGTH if len(data) != 213 else "invalid final flag"
    if number == _KZG and name == "KZGProofError":
        if len(data) != 192:
            return _LENGTH
        is_hash = data[:32] == BLOB_VERSION + sha256(data[96:144]).digest()[1:]
        return "error verifying kzg proof" if is_hash else "mismatched versioned hash"
    if name != "InvalidParameter" or number not in _BLS12_381_ITEMS:
        return None
    return _WORDS.get(said) or _field_element(data, *_BLS12_381_ITEMS[number])


def _field_element(data: bytes, size: int, elements: int) -> str:
    """Return the error for the first field element of BLS12-381 that is not below the modulus."""
    for start in range(0, len(data), size):
        for index in range(start, start + 64 * elements, 64):
            if int.from_bytes(data[index : index + 64]) >= BLS12_381_MODULUS:
                return "invalid field element top bytes" if any(data[index : index + 16]) else _FIELD_ELEMENT
    return _FIELD_ELEMENT


def _pairing_gas(rules: Any, pairs: int) -> int:
    """Return the gas of the pairing precompile; EIP-1108 lowered this gas in Istanbul."""
    each, base = (34_000, 45_000) if rules.__name__.rpartition(".")[2] not in _BEFORE_ISTANBUL else (80_000, 100_000)
    return base + each * pairs


def _modexp_gas(rules: Any, data: bytes) -> int:
    """Return the gas of MODEXP.

    Nodes charge the gas of MODEXP before they check the lengths in the input; the specification charges the gas
    afterwards.
    """
    base, exponent, modulus = (U256.from_be_bytes(data[at : at + 32].ljust(32, b"\0")) for at in (0, 32, 64))
    size = min(int(exponent), 32)
    head = data[96 + int(base) : 96 + int(base) + size].ljust(size, b"\0")
    price = rules.vm.precompiled_contracts.modexp.gas_cost(base, modulus, exponent, U256.from_be_bytes(head))
    return int(price)
