"""Errors of executions, with a node's message and a JSON-RPC error code.

Source: ethereum/go-ethereum at v1.17.10, internal/ethapi, accounts/abi, eth/gasestimator;
the Solidity documentation, "Panic via assert and Error via require".
"""

from feemodel.errors import ExecutionFailed
from feemodel.ethereum._quantities import to_hex
from feemodel.execution._forks import Fork
from feemodel.execution._message import Message, intrinsic_gas
from feemodel.execution._outcome import Outcome, Status

REVERTED = 3  # JSON-RPC error codes
UPFRONT_COST = -32_004

_ERROR = bytes.fromhex("08c379a0")  # Error(string)
_PANIC = bytes.fromhex("4e487b71")  # Panic(uint256)
_SELECTOR, _WORD = 4, 32  # bytes
_PANICS = {
    0x00: "generic panic",
    0x01: "assert(false)",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "enum overflow",
    0x22: "invalid encoded storage byte array accessed",
    0x31: "out-of-bounds array access; popping on an empty array",
    0x32: "out-of-bounds access of an array or bytesN",
    0x41: "out of memory",
    0x51: "uninitialized function",
}


def failure(outcome: Outcome, gas_limit: int, *, estimating: bool) -> ExecutionFailed:
    """Return the error for an execution that did not succeed.

    Parameters
    ----------
    outcome : outcome of an execution that did not succeed.
    gas_limit : gas limit of the execution [gas].
    estimating : whether `gas_limit` is the upper bound of an estimate; if so, an out-of-gas error names this bound.

    >>> failure(Outcome(Status.OUT_OF_GAS, 30_000), 30_000, estimating=True)
    ExecutionFailed('gas required exceeds allowance (30000)', -32000, None)
    """
    if outcome.status is Status.REVERT:
        reason = revert_reason(outcome.output)
        message = "execution reverted" if reason is None else f"execution reverted: {reason}"
        return ExecutionFailed(message, REVERTED, to_hex(outcome.output))
    if estimating and outcome.status in (Status.OUT_OF_GAS, Status.INTRINSIC):
        return ExecutionFailed(f"gas required exceeds allowance ({gas_limit})")
    return ExecutionFailed(outcome.halt)


def too_little_gas(message: Message, outcome: Outcome, gas_limit: int, fork: Fork) -> ExecutionFailed:
    """Return geth's error for a gas limit below the intrinsic gas or the calldata floor."""
    intrinsic = intrinsic_gas(message, fork)
    if gas_limit < intrinsic:
        return ExecutionFailed(f"intrinsic gas too low: have {gas_limit}, want {intrinsic}")
    return ExecutionFailed(f"insufficient gas for floor data gas cost: have {gas_limit}, want {outcome.floor}")


def not_executed(error: ExecutionFailed, gas_limit: int) -> ExecutionFailed:
    """Return an error with geth's message for a call or transaction that geth refuses before the execution.

    >>> not_executed(ExecutionFailed("nonce too low"), 21_000).message
    'err: nonce too low (supplied gas 21000)'
    """
    words = f"err: {error.message} (supplied gas {gas_limit})"
    return ExecutionFailed(words, error.code)


def revert_reason(output: bytes) -> str | None:
    """Return the text given to `require` or `revert`, or the meaning of a Solidity panic; `None` for other data.

    >>> revert_reason(bytes.fromhex("4e487b71" + "11".zfill(64)))
    'arithmetic underflow or overflow'
    """
    selector, size = output[:_SELECTOR], len(output)
    if selector == _PANIC and size >= _SELECTOR + _WORD:
        code = int.from_bytes(output[_SELECTOR : _SELECTOR + _WORD])
        return _PANICS.get(code, f"unknown panic code: {code:#x}")
    if selector != _ERROR or size < _SELECTOR + 2 * _WORD:
        return None
    start = _SELECTOR + int.from_bytes(output[_SELECTOR : _SELECTOR + _WORD]) + _WORD
    if start > size:
        return None
    end = start + int.from_bytes(output[start - _WORD : start])
    return output[start:end].decode(errors="replace") if end <= size else None
