"""What one execution of the specification shows: gas by contract, what code names, payments of wei, what it changed.

Accounts and slots are those that geth's access list tracer records: the slots that a contract reads or writes, and the
addresses that BALANCE, EXTCODE*, SELFDESTRUCT and calls name, also where the opcode cannot be paid for.

Payments are logs, each in its place among those of the code, and gone with what reverts. They are those of geth's
tracer of `eth_simulateV1`: what a call or a creation is given, CALLCODE apart, which pays its own caller; and what
SELFDESTRUCT sends, also to itself.

Source: ethereum/go-ethereum at v1.17.10, eth/tracers/logger/access_list_tracer.go; internal/ethapi/logtracer.go (2026);
core/vm/evm.go, instructions.go.
"""

from collections.abc import Callable, Iterator
from typing import Any

from feemodel.ethereum.call import AccessList
from feemodel.execution.outcome import transfer_log
from feemodel.execution.recursion import recursion_limit
from feemodel.execution.state import Change

with recursion_limit():
    from ethereum.trace import OpStart, TraceEvent

_SLOAD, _SSTORE, _CALLCODE, _SELFDESTRUCT = 0x54, 0x55, 0xF2, 0xFF
_ADDRESS_ON_TOP = frozenset((0x31, 0x3B, 0x3C, 0x3F, _SELFDESTRUCT))  # BALANCE, EXTCODESIZE, -COPY, -HASH, SELFDESTRUCT
_CALLS = frozenset((0xF1, _CALLCODE, 0xF4, 0xFA))
_CALL_OPERANDS = 5  # that geth's tracer wants to see before it reads the address of a call
_ADDRESS_MASK = (1 << 160) - 1


class Inspector:
    """A tracer of the specification that adds up gas by contract and lists what code names."""

    def __init__(self) -> None:
        self._frames: list[_Frame] = []
        self._gas: dict[bytes, int] = {}
        self._touched: dict[bytes, dict[bytes, None]] = {}

    def __call__(self, evm: Any, event: TraceEvent) -> None:
        if not self._frames or self._frames[-1].evm is not evm:
            self._switch(evm)
        if type(event) is OpStart:
            self._note(evm, event.op.value)

    def contracts(self) -> tuple[tuple[bytes, int], ...]:
        """Gas by the contract whose code used it, once the execution has ended [gas]."""
        while self._frames:
            self._end()
        return tuple(self._gas.items())

    def touched(self) -> AccessList:
        """The accounts that code named, each with the slots that were read or written."""
        return tuple((account, tuple(slots)) for account, slots in self._touched.items())

    def _switch(self, evm: Any) -> None:
        """A frame begins, or the one above it has ended."""
        while self._frames and evm.message.parent_evm is not self._frames[-1].evm:
            if self._frames[-1].evm is evm:
                return
            self._end()
        self._frames.append(_Frame(evm))

    def _end(self) -> None:
        frame = self._frames.pop()
        used = frame.given - int(frame.evm.gas_left)
        if used > frame.by_children:
            self._gas[frame.contract] = self._gas.get(frame.contract, 0) + used - frame.by_children
        if self._frames:
            self._frames[-1].by_children += used

    def _note(self, evm: Any, opcode: int) -> None:
        stack = evm.stack
        if opcode in (_SLOAD, _SSTORE):
            if stack:
                slots = self._touched.setdefault(bytes(evm.message.current_target), {})
                slots.setdefault(int(stack[-1]).to_bytes(32, "big"))
        elif opcode in _ADDRESS_ON_TOP:
            if stack:
                self._name(stack[-1])
        elif opcode in _CALLS and len(stack) >= _CALL_OPERANDS:
            self._name(stack[-2])

    def _name(self, word: Any) -> None:
        self._touched.setdefault((int(word) & _ADDRESS_MASK).to_bytes(20, "big"), {})


class _Frame:
    """A frame that has not ended."""

    __slots__ = ("by_children", "contract", "evm", "given")

    def __init__(self, evm: Any) -> None:
        message = evm.message
        self.evm, self.given, self.by_children = evm, int(message.gas), 0
        self.contract = bytes(message.current_target if message.code_address is None else message.code_address)


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


def changes_between(before: Any, after: Any) -> Iterator[Change]:
    """What is different between two states, account by account; an empty account is none."""
    old, new = before._main_trie._data, after._main_trie._data
    for key in {*old, *new}:
        was, account = old.get(key), new.get(key)
        if account is None:
            if was is not None:
                yield Change(bytes(key), 0, 0, b"", True, {})
            continue
        slots = dict(_changed_slots(before._storage_tries.get(key), after._storage_tries.get(key)))
        if account != was or slots:
            code = None if was is not None and was.code == account.code else bytes(account.code)
            yield Change(bytes(key), int(account.balance), int(account.nonce), code, False, slots)


def _changed_slots(before: Any, after: Any) -> Iterator[tuple[int, int]]:
    was, slots = ({} if trie is None else trie._data for trie in (before, after))
    if was == slots:
        return
    for slot in {*was, *slots}:
        value = int(slots.get(slot, 0))
        if value != int(was.get(slot, 0)):
            yield int.from_bytes(slot, "big"), value
