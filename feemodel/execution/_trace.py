"""Range of gas limits that have the outcome of one traced execution of the specification.

Suppose that a frame starts with g gas and has spent S gas so far. If the gas g at the start changes but the
instructions stay the same, the spent gas S stays the same, and g − S gas is left. The table gives the minimum g that
each instruction requires, and the frame requires the maximum over its instructions:

    SSTORE, since EIP-2200         S + 2,301
    call or creation that costs b; its frame needs c gas and gets a stipend s
                                   S + b + inv(c − s), where inv(x) is the smallest r with r − ⌊r/64⌋ ≥ x, EIP-150
    call that starts no frame      S + b
    end                            S

A frame that halts consumes all its gas. With less gas than in the traced execution, a frame that halted halts at the
same instruction or earlier, provided that the outcomes of the frame's own calls do not change. With more gas than in
the traced execution, a frame that halted may succeed. If the caller of a halted frame gets more gas, only 1/64 of the
additional gas is left after the frame has halted. In this module, the halt of a child frame is called a burn.

The table is valid only if the code reads neither its remaining gas nor the balance of the account that pays for gas.
Code reads a balance with BALANCE, SELFBALANCE or SELFDESTRUCT (which transfers the whole balance), or with a call or
creation whose value exceeds the payer's balance.
"""

from math import inf
from typing import Any, NamedTuple

from feemodel.execution._recursion import recursion_limit

with recursion_limit():
    from ethereum.trace import GasAndRefund, OpEnd, OpStart, TraceEvent

SSTORE_SENTRY = 2_300  # SSTORE requires more gas than this value, EIP-2200
STIPEND = 2_300  # extra gas for the callee of a call with value, EIP-150

_BALANCE, _SELFBALANCE, _SSTORE, _GAS, _SELFDESTRUCT = 0x31, 0x47, 0x55, 0x5A, 0xFF
_CREATES = frozenset((0xF0, 0xF5))
_CALLS = frozenset((0xF1, 0xF2, 0xF4, 0xFA))
_CALLS_WITH_VALUE = frozenset((0xF1, 0xF2))
_RECORDED = _CREATES | _CALLS | {_BALANCE, _SELFBALANCE, _SSTORE, _GAS, _SELFDESTRUCT}
_ADDRESS_MASK = (1 << 160) - 1


class Recorder:
    """Tracer for the specification; computes the minimum gas limit that does not change the traced instructions.

    Parameters
    ----------
    payer : account that pays for gas, and whose balance therefore depends on the gas limit; `None` if nobody pays.
    divides_gas : whether a call leaves its caller 1/64 of the gas, EIP-150.
    sstore_sentry : whether SSTORE requires more than 2,300 gas, EIP-2200.
    """

    def __init__(self, *, payer: bytes | None, divides_gas: bool, sstore_sentry: bool) -> None:
        self._payer, self._divides_gas, self._sstore_sentry = payer, divides_gas, sstore_sentry
        self._payer_number = None if payer is None else int.from_bytes(payer, "big")
        self._frames: list[_Frame] = []
        self.reads, self.single_frame = False, True
        self.burned = False

    def __call__(self, evm: Any, event: TraceEvent) -> None:
        """Record an event of the specification's tracer."""
        if not self._frames or self._frames[-1].evm is not evm:
            self._switch(evm)
        frame, kind = self._frames[-1], type(event)
        if kind is OpStart:
            opcode = event.op.value  # type: ignore[union-attr]
            frame.reads = False
            if opcode in _RECORDED:
                self._begin(frame, opcode)
        elif frame.reads and kind is OpEnd:  # an opcode that runs out of gas reads nothing
            self.reads = True
        elif frame.call is not None:
            if kind is GasAndRefund:
                frame.call.charged += event.gas_cost  # type: ignore[union-attr]
            elif kind is OpEnd:
                self._settle(frame, frame.call)
                frame.call = None

    def minimum(self) -> int:
        """Return the minimum gas with which the outermost frame would execute the traced instructions [gas]."""
        return self._frames[0].minimum() if self._frames else 0

    def _switch(self, evm: Any) -> None:
        """Update the stack of frames after a frame has begun or the innermost frame has ended."""
        while self._frames and evm.message.parent_evm is not self._frames[-1].evm:
            if self._frames[-1].evm is evm:
                return
            ended = self._frames.pop()
            if self._frames and self._frames[-1].call is not None:
                self._frames[-1].call.child = ended
        self._frames.append(_Frame(evm))

    def _begin(self, frame: "_Frame", opcode: int) -> None:
        evm = frame.evm
        if opcode == _SSTORE:
            if self._sstore_sentry:
                frame.require(frame.spent() + SSTORE_SENTRY + 1)
        elif opcode == _GAS:
            following = evm.code[int(evm.pc) + 1 : int(evm.pc) + 2]
            frame.reads = not (self._divides_gas and following and following[0] in _CALLS)
        elif opcode == _BALANCE:
            frame.reads = bool(evm.stack) and int(evm.stack[-1]) & _ADDRESS_MASK == self._payer_number
        elif opcode in (_SELFBALANCE, _SELFDESTRUCT):
            frame.reads = evm.message.current_target == self._payer
        else:
            has_value = opcode in _CALLS_WITH_VALUE and len(evm.stack) > 2 and evm.stack[-3] != 0
            frame.call = _TracedCall(int(evm.gas_left), opcode in _CREATES, STIPEND if has_value else 0)

    def _settle(self, frame: "_Frame", call: "_TracedCall") -> None:
        """Record the minimum gas that a caller needed for a call or creation that has finished."""
        self.single_frame = False
        before, gone = frame.start - call.gas_before, call.gas_before - int(frame.evm.gas_left)
        child = call.child
        if call.creates and not self._divides_gas:
            self.reads = True  # in Frontier, a creation that cannot pay for its code still succeeds, without the code
        if child is None:
            asks = call.creates or not self._divides_gas  # whether the caller needs all of the gas charged for the call
            cost = call.charged if asks else gone + call.stipend
            if call.creates and gone > call.charged:  # the creation failed, because the address was already in use
                self._burn(frame, before + cost, inf)
                return
            frame.require(before + cost, of_call=not asks or call.creates)
            # The call may have failed because the payer's balance was below the value of the call.
            if frame.evm.message.current_target == self._payer:
                self.reads = True
            return
        given = child.limit - call.stipend
        cost = call.charged - (0 if call.creates else given)
        if not self._divides_gas and not call.creates:
            frame.require(before + call.charged)  # exactly the requested gas
            return
        needed = child.minimum() - call.stipend
        if needed > 0 or not child.halted:
            frame.require(before + cost + self._enough(needed), of_call=True)
        if child.halted:
            left = call.gas_before - cost
            maximum = left - left // 64 if self._divides_gas else left  # gas available to a call
            self._burn(frame, before + cost, inf if given == maximum else given)

    def _burn(self, frame: "_Frame", spent: int, given: float) -> None:
        self.burned = True
        frame.require(spent)
        frame.burns.append(_Burn(frame.required, frame.required_of_calls, spent, given))
        frame.start, frame.required, frame.required_of_calls = int(frame.evm.gas_left), 0, 0

    def _enough(self, gas: int) -> int:
        """Return the minimum remaining gas with which a caller can pass `gas` to a call."""
        if gas <= 0:
            return 0
        return gas + (gas - 1) // 63 if self._divides_gas else gas


class _TracedCall:
    """A running call or creation."""

    __slots__ = ("charged", "child", "creates", "gas_before", "stipend")

    def __init__(self, gas_before: int, creates: bool, stipend: int) -> None:
        self.gas_before, self.creates, self.stipend = gas_before, creates, stipend
        self.charged = 0  # gas charged, including the gas passed to the child frame of a call [gas]
        self.child: _Frame | None = None


class _Burn(NamedTuple):
    """Halt of a child frame, and the gas that the calling frame required up to this halt."""

    required: int  #: [gas]
    required_of_calls: int  #: gas that calls and creations alone required up to the halt [gas]
    spent: int  #: [gas]
    given: float  #: gas passed to the child; infinite if the caller passed all but 1/64 of its gas [gas]


class _Frame:
    """State of a running frame."""

    __slots__ = ("burns", "call", "evm", "limit", "reads", "required", "required_of_calls", "start")

    def __init__(self, evm: Any) -> None:
        self.evm = evm
        # `start` is at first the gas limit, and later the gas left after the last halt of a child frame.
        self.limit = self.start = int(evm.message.gas)
        self.required = self.required_of_calls = 0  # minimum of `start` [gas]
        self.burns: list[_Burn] = []
        self.call: _TracedCall | None = None
        self.reads = False  # whether the current opcode reads the remaining gas or the payer's balance

    @property
    def halted(self) -> bool:
        error = self.evm.error
        return error is not None and type(error).__name__ != "Revert"

    def spent(self) -> int:
        """Return the gas spent since the last halt of a child frame [gas]."""
        return self.start - int(self.evm.gas_left)

    def require(self, gas: int, *, of_call: bool = False) -> None:
        self.required = max(self.required, gas)
        if of_call:
            self.required_of_calls = max(self.required_of_calls, gas)

    def minimum(self) -> int:
        """Return the minimum gas with which the frame gives the same result [gas].

        With the minimum gas, the frame executes the traced instructions or, if the frame halted, halts at one of the
        traced instructions.
        """
        halted = self.halted
        needed = self.required_of_calls if halted else max(self.required, self.spent())
        for burn in reversed(self.burns):
            before = burn.spent + int(min(needed + burn.given, 64 * needed))
            needed = max(burn.required_of_calls, before if needed else 0) if halted else max(burn.required, before)
        return needed
