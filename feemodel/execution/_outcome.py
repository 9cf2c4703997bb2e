"""Outcome of one execution."""

from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """Kind of result of an execution."""

    SUCCESS = "success"
    REVERT = "revert"
    OUT_OF_GAS = "out of gas"
    HALT = "halt"  #: an exceptional halt other than out of gas; all gas is consumed
    INTRINSIC = "intrinsic gas too low"  #: the gas limit is below the intrinsic gas


class Outcome(NamedTuple):
    """Status, gas and output of an execution."""

    status: Status
    gas_used: int  #: gas used before refunds, without the calldata floor [gas]
    refund: int = 0  #: gas refunded [gas]
    floor: int = 0  #: minimum charge, EIP-7623 [gas]
    output: bytes = b""  #: data that the code returned or reverted with; for a contract creation, the deployed code
    halt: str = ""  #: reason of a halt, as in a node's error message

    @property
    def succeeded(self) -> bool:
        """Whether the execution ended without a failure."""
        return self.status is Status.SUCCESS

    @property
    def charged(self) -> int:
        """Gas used as in a receipt: after refunds, or the calldata floor if the floor is higher [gas]."""
        return max(self.gas_used - self.refund, self.floor)

    @property
    def peak(self) -> int:
        """Gas used before refunds, or the calldata floor if the floor is higher [gas]."""
        return max(self.gas_used, self.floor)
