"""Gas of one execution by part: intrinsic gas, gas used by each contract's code, refund and calldata floor."""

from dataclasses import dataclass
from typing import Any

from feemodel.errors import ExecutionFailed
from feemodel.ethereum._quantities import to_hex, to_quantity
from feemodel.ethereum._transaction import (
    ACCESS_LIST_ADDRESS_GAS,
    ACCESS_LIST_KEY_GAS,
    AUTHORIZATION_GAS,
    CREATION_GAS,
    INIT_CODE_WORD_GAS,
)
from feemodel.ethereum.fee_market import NONZERO_BYTE_GAS, TRANSACTION_GAS, ZERO_BYTE_GAS
from feemodel.execution._forks import Fork
from feemodel.execution._message import Message
from feemodel.execution._outcome import Inspected, Outcome

NONZERO_GAS_BEFORE_ISTANBUL = 68  # gas per nonzero byte of calldata; since EIP-2028 it is 16
FLOOR_WORDS = "insufficient gas for floor data gas cost"  # geth's error for gas below the calldata floor, EIP-7623


@dataclass(frozen=True, slots=True, kw_only=True)
class Intrinsic:
    """Gas of a transaction before its first instruction, by part [gas]."""

    base: int = TRANSACTION_GAS
    calldata: int = 0
    creation: int = 0  #: gas of a contract creation, including the gas per word of init code (EIP-3860)
    access_list: int = 0
    authorizations: int = 0

    @property
    def total(self) -> int:
        """Sum of the parts [gas]."""
        return self.base + self.calldata + self.creation + self.access_list + self.authorizations


@dataclass(frozen=True, slots=True, kw_only=True)
class GasParts:
    """The gas of one execution by part; `used` is max(intrinsic + execution − refund, floor)."""

    used: int  #: gas used, as in a receipt [gas]
    intrinsic: Intrinsic
    execution: int  #: gas used by code [gas]
    refund: int  #: gas refunded [gas]
    floor: int  #: minimum charge, EIP-7623; 0 before Prague [gas]
    contracts: tuple[tuple[bytes, int], ...]  #: `execution`, split by the address of the code that used the gas [gas]

    def by_name(self) -> dict[str, int]:
        """Return the parts, without `contracts`, by their JSON-RPC names [gas]."""
        parts = {"used": self.used, "intrinsic": self.intrinsic.total}
        parts |= {name: getattr(self.intrinsic, name) for name in ("base", "calldata", "creation")}
        parts |= {"accessList": self.intrinsic.access_list, "authorizations": self.intrinsic.authorizations}
        return parts | {"execution": self.execution, "refund": self.refund, "floor": self.floor}

    def reply(self) -> dict[str, Any]:
        """Return the parts in their JSON-RPC form."""
        listed = [{"address": to_hex(address), "gas": to_quantity(gas)} for address, gas in self.contracts]
        return {**{name: to_quantity(gas) for name, gas in self.by_name().items()}, "contracts": listed}


def intrinsic_parts(message: Message, fork: Fork) -> Intrinsic:
    """Return the gas of a message before its first instruction, by part.

    Source: EIP-2, EIP-2028, EIP-2930, EIP-3860, EIP-7702.

    >>> from feemodel.execution._forks import fork_named
    >>> intrinsic_parts(Message(to=bytes(20), data=bytes(3) + b"abc"), fork_named("osaka")).total
    21060
    """
    zeros = message.data.count(0)
    byte_gas = NONZERO_BYTE_GAS if fork.sstore_sentry else NONZERO_GAS_BEFORE_ISTANBUL  # Istanbul introduced both rules
    creation = 0
    if message.to is None and fork.name != "frontier":
        creation = CREATION_GAS
        if fork.max_init_code is not None:
            creation += INIT_CODE_WORD_GAS * -(-len(message.data) // 32)
    keys = sum(len(slots) for _, slots in message.access_list)
    return Intrinsic(
        calldata=ZERO_BYTE_GAS * zeros + byte_gas * (len(message.data) - zeros),
        creation=creation,
        access_list=ACCESS_LIST_ADDRESS_GAS * len(message.access_list) + ACCESS_LIST_KEY_GAS * keys,
        authorizations=AUTHORIZATION_GAS * len(message.authorizations),
    )


def too_little_gas(message: Message, outcome: Outcome, gas_limit: int, fork: Fork) -> ExecutionFailed:
    """Return geth's error for a gas limit below the intrinsic gas or the calldata floor."""
    intrinsic = intrinsic_parts(message, fork).total
    if gas_limit < intrinsic:
        return ExecutionFailed(f"intrinsic gas too low: have {gas_limit}, want {intrinsic}")
    return ExecutionFailed(f"{FLOOR_WORDS}: have {gas_limit}, want {outcome.floor}")


def gas_parts(message: Message, inspected: Inspected, fork: Fork) -> GasParts:
    """Return the gas of an execution by part."""
    outcome, intrinsic = inspected.outcome, intrinsic_parts(message, fork)
    return GasParts(
        used=outcome.charged,
        intrinsic=intrinsic,
        execution=outcome.gas_used - intrinsic.total,
        refund=outcome.refund,
        floor=outcome.floor,
        contracts=inspected.contracts,
    )
