"""Tracer of one execution of the specification: gas by contract, and the accounts and slots accessed.

The accounts and slots are the same as in geth's access list tracer: slots that a contract reads or writes, and accounts
that are operands of BALANCE, EXTCODE*, SELFDESTRUCT and calls. An opcode that runs out of gas also counts as an access.

Source: ethereum/go-ethereum at v1.17.10, eth/tracers/logger/access_list_tracer.go.
"""

from typing import Any

from feemodel.ethereum._call import AccessList
from feemodel.execution._recursion import recursion_limit

with recursion_limit():
    from ethereum.trace import OpStart, TraceEvent

_SLOAD, _SSTORE, _CALLCODE, _SELFDESTRUCT = 0x54, 0x55, 0xF2, 0xFF
_ADDRESS_ON_TOP = frozenset((0x31, 0x3B, 0x3C, 0x3F, _SELFDESTRUCT))  # BALANCE, EXTCODESIZE, -COPY, -HASH, SELFDESTRUCT
_CALLS = frozenset((0xF1, _CALLCODE, 0xF4, 0xFA))
_CALL_OPERANDS = 5  # geth's tracer records a call only if the stack has at least this many items
_ADDRESS_MASK = (1 << 160) - 1


class Inspector:
    """A tracer of the specification that sums gas by contract and lists the accounts and slots accessed."""

    def __init__(self) -> None:
        self._frames: list[_InspectedFrame] = []
        self._gas: dict[bytes, int] = {}
        self._touched: dict[bytes, dict[bytes, None]] = {}

    def __call__(self, evm: Any, event: TraceEvent) -> None:
        """Record an event of the specification's tracer."""
        if not self._frames or self._frames[-1].evm is not evm:
            self._switch(evm)
        if type(event) is OpStart:
            self._note(evm, event.op.value)

    def contracts(self) -> tuple[tuple[bytes, int], ...]:
        """Return the gas that the code of each contract used; call this method after the execution [gas]."""
        while self._frames:
            self._end()
        return tuple(self._gas.items())

    def touched(self) -> AccessList:
        """Return the accounts accessed by code, each with the slots that were read or written."""
        return tuple((account, tuple(slots)) for account, slots in self._touched.items())

    def _switch(self, evm: Any) -> None:
        """Update the stack of frames after a frame has begun or the innermost frame has ended."""
        while self._frames and evm.message.parent_evm is not self._frames[-1].evm:
            if self._frames[-1].evm is evm:
                return
            self._end()
        self._frames.append(_InspectedFrame(evm))

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


class _InspectedFrame:
    """A call frame that has not ended."""

    __slots__ = ("by_children", "contract", "evm", "given")

    def __init__(self, evm: Any) -> None:
        message = evm.message
        self.evm, self.given, self.by_children = evm, int(message.gas), 0
        self.contract = bytes(message.current_target if message.code_address is None else message.code_address)
