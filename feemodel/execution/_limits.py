"""Limits on the executions of one estimate."""

from dataclasses import dataclass

from feemodel.checks import UINT64_MAX
from feemodel.errors import LimitExceeded
from feemodel.quantities import Quantity

#: Maximum of `gas_cap` [gas]. The first gas limit that Besu tries may be 1/63 above `gas_cap`, and engines must accept
#: this gas limit.
MAX_GAS_CAP = 2**28
MAX_SECONDS = 1e9  #: maximum of `seconds` [s]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on one estimate; raises `InvalidInput` if a limit is not valid.

    >>> Limits(gas_cap=30_000_000).total_gas
    200000000
    """

    gas_cap: int = 50_000_000  #: gas limit of one execution, independent of the block's limit; at most 2**28 [gas]
    total_gas: int = 200_000_000  #: maximum total gas of all executions of one estimate [gas]
    seconds: float = 10.0  #: after this time no further execution of an estimate starts [s]

    def __post_init__(self) -> None:
        Quantity("gas", maximum=MAX_GAS_CAP).check_one("limits.gas_cap", self.gas_cap)
        Quantity("gas", maximum=UINT64_MAX).check_one("limits.total_gas", self.total_gas)
        Quantity("s", double=True, maximum=MAX_SECONDS).check_one("limits.seconds", self.seconds)


#: Default limits on the reference engine. On a busy processor, a million gas of opcodes takes 4 to 11 s, and of BN254
#: pairings 32 s; only BLAKE2F takes longer, 2 ms per gas.
REFERENCE_LIMITS = Limits(gas_cap=1_000_000, total_gas=10_000_000)


def too_much_gas(total_gas: int) -> LimitExceeded:
    """Return the error for executions that took more than `total_gas` together."""
    return LimitExceeded(f"the executions of one estimate took more than {total_gas:,} gas together")


def too_much_time(seconds: float) -> LimitExceeded:
    """Return the error for executions that took more than `seconds` together."""
    return LimitExceeded(f"the executions of one estimate took more than {seconds:g} s together")
