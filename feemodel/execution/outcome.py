"""Outcome of one execution."""

from enum import StrEnum
from typing import NamedTuple

from feemodel.checks import UINT64_MAX
from feemodel.ethereum.call import AccessList
from feemodel.records import printed_as_table


class Status(StrEnum):
    """End of an execution."""

    SUCCESS = "success"
    REVERT = "revert"
    OUT_OF_GAS = "out of gas"
    HALT = "halt"  #: another exceptional halt, all gas consumed
    INTRINSIC = "intrinsic gas too low"  #: the gas limit is below what the transaction costs before its first opcode
    REFUSED = "refused"  #: a node would not execute it


@printed_as_table
class Outcome(NamedTuple):
    """End and gas of an execution."""

    status: Status
    gas_used: int  #: before refunds, without the calldata floor [gas]
    refund: int = 0  #: what is given back of it [gas]
    floor: int = 0  #: the least that is charged, EIP-7623 [gas]
    output: bytes = b""  #: returned or reverted with; of a creation, the code
    halt: str = ""  #: what stopped it, in a node's words

    @property
    def succeeded(self) -> bool:
        """Whether the execution ended without a failure."""
        return self.status is Status.SUCCESS

    @property
    def charged(self) -> int:
        """Gas that a receipt reports: after refunds, at least the floor [gas]."""
        return max(self.gas_used - self.refund, self.floor)

    @property
    def peak(self) -> int:
        """Smallest gas limit of this execution: before refunds, at least the floor [gas]."""
        return max(self.gas_used, self.floor)


#: More than any gas limit.
UNBOUNDED = UINT64_MAX


class Traced(NamedTuple):
    """An execution, and what it proves about the same message with other gas limits.

    Every limit from `least` to `most` succeeds if this one does, and fails if it fails. Of a path that reads gas, or a
    balance that pays for it, nothing is known: then `least` is above `most`.
    """

    outcome: Outcome
    minimum: int = 1  #: [gas]
    maximum: int = 0  #: the limit itself where a frame halted on the path, which a larger limit may avoid [gas]
    single_frame: bool = False  #: whether the path has no call and no inner creation: a smaller limit fails

    @property
    def oblivious(self) -> bool:
        """Whether every larger limit ends with the same outcome, to the last gas."""
        return self.maximum == UNBOUNDED


class Inspected(NamedTuple):
    """An execution, the gas of each contract's code, and what the code named."""

    outcome: Outcome
    contracts: tuple[tuple[bytes, int], ...] = ()  #: address and gas of the code that used any, precompiles too [gas]
    touched: AccessList = ()  #: accounts that code named, each with the slots of it that were read or written
