"""How much gas calls took lately, by code and function: the limit at which the next one is tried first.

A transfer of a token takes as much as the one before it, but for its calldata. If it succeeds with the guess and uses
all of it, one execution has told what two tell otherwise. A guess decides how many executions an estimate takes, never
what it is.
"""

from dataclasses import dataclass

from feemodel.execution.message import Message
from feemodel.transaction import OTHER_BYTE_GAS, ZERO_BYTE_GAS

SELECTOR = 4  # bytes of calldata that name a function
REMEMBERED = 4_096  # functions
LESS_AGAIN = 8  # times that calls take less before less is guessed: too little costs an execution, too much nothing


@dataclass(slots=True)
class _Work:
    """What calls of one function took."""

    gas: int  #: without the calldata
    less: int = 0  #: how often they took less since they took as much
    most: int = 0  #: the most of these


class Guesses:
    """What is remembered of estimates, for those that follow; for code of which `tells_gas` is false.

    >>> guesses, message = Guesses(), Message(to=bytes(20), data=bytes.fromhex("a9059cbb0001"))
    >>> guesses.note(message, b"code", 51_339)
    >>> guesses.guess(message._replace(data=message.data[:4]), b"code")  # without 4 and 16 gas for two bytes
    51319
    """

    def __init__(self) -> None:
        self._work: dict[tuple[int, bytes], _Work] = {}

    def guess(self, message: Message, code: bytes) -> int | None:
        """The gas limit to try first, `None` for a function that is not known [gas]."""
        work = self._work.get(_function(message, code))
        return None if work is None else work.gas + _data_gas(message)

    def note(self, message: Message, code: bytes, gas_used: int) -> None:
        """Note what a call took that succeeded, before refunds [gas]."""
        function, gas = _function(message, code), gas_used - _data_gas(message)
        work = self._work.get(function)
        if work is None:
            if len(self._work) >= REMEMBERED:
                self._work.clear()
            self._work[function] = _Work(gas)
        elif gas >= work.gas:
            work.gas, work.less, work.most = gas, 0, 0
        else:
            work.less, work.most = work.less + 1, max(work.most, gas)
            if work.less >= LESS_AGAIN:
                work.gas, work.less, work.most = work.most, 0, 0


def _function(message: Message, code: bytes) -> tuple[int, bytes]:
    return hash(code), message.data[:SELECTOR]


def _data_gas(message: Message) -> int:
    zeros = message.data.count(0)
    return ZERO_BYTE_GAS * zeros + OTHER_BYTE_GAS * (len(message.data) - zeros)
