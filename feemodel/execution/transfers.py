"""Payments of wei as logs in the specification, each in its place among those of the code, and gone with what reverts.

They are those of geth's tracer of `eth_simulateV1`: what a call or a creation is given, CALLCODE apart, which pays its
own caller; and what SELFDESTRUCT sends, also to itself.

Source: ethereum/go-ethereum, internal/ethapi/logtracer.go (2026); core/vm/evm.go, instructions.go.
"""

from collections.abc import Callable
from typing import Any

from feemodel.execution.outcome import transfer_log
from feemodel.execution.recursion import recursion_limit

with recursion_limit():
    from ethereum.trace import OpStart, TraceEvent

_CALLCODE, _SELFDESTRUCT = 0xF2, 0xFF
_ADDRESS_MASK = (1 << 160) - 1


class Transfers:
    """A tracer of the specification that logs what SELFDESTRUCT sends; an opcode that fails takes its frame's logs."""

    def __call__(self, evm: Any, event: TraceEvent) -> None:
        if type(event) is not OpStart or event.op.value != _SELFDESTRUCT or not evm.stack:
            return
        own = evm.message.current_target
        account = evm.message.block_env.state._main_trie._data.get(own)
        if account is not None and account.balance:
            heir = (int(evm.stack[-1]) & _ADDRESS_MASK).to_bytes(20, "big")
            evm.logs = (*evm.logs, transfer_log(bytes(own), heir, int(account.balance)))


def logging_payments(process_message: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The specification's `process_message`, which logs what the message pays where its transaction asks for that."""

    def process(message: Any) -> Any:
        evm = process_message(message)
        if getattr(message.tx_env, "logs_payments", False) and evm.error is None and _pays(message):
            payment = transfer_log(bytes(message.caller), bytes(message.current_target), int(message.value))
            evm.logs = (payment, *evm.logs)
        return evm

    return process


def _pays(message: Any) -> bool:
    if not message.should_transfer_value or not message.value:
        return False
    parent = message.parent_evm
    return parent is None or parent.code[int(parent.pc)] != _CALLCODE
