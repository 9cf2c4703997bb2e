"""Limits on the executions of one estimate."""

from dataclasses import dataclass
from time import monotonic

from feemodel.checks import UINT64_MAX, whole_scalar
from feemodel.errors import LimitExceeded
from feemodel.execution.inputs import MAX_GAS, check_seconds

#: Largest cap of one execution: Besu's first guess is 1/63 above it, which engines execute too [gas].
MAX_GAS_CAP = MAX_GAS // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one estimate; raises `InvalidInput` for one that is not valid.

    >>> Limits(gas_cap=30_000_000).total_gas
    200000000
    """

    gas_cap: int = 50_000_000  #: of one execution, whatever the block's limit is; at most 2**31 [gas]
    total_gas: int = 200_000_000  #: of all executions of one estimate together [gas]
    seconds: float = 10.0  #: after which no further execution of an estimate begins [s]
    max_call_gas: int = 30_000_000  #: the most that `gas` of a rollup call may say [gas]

    def __post_init__(self) -> None:
        whole_scalar("limits.gas_cap", self.gas_cap, maximum=MAX_GAS_CAP)
        whole_scalar("limits.total_gas", self.total_gas, maximum=UINT64_MAX)
        check_seconds("limits.seconds", self.seconds)
        whole_scalar("limits.max_call_gas", self.max_call_gas)


DEFAULT_LIMITS = Limits()


class Budget:
    """Gas and time left to the executions of one estimate.

    Parameters
    ----------
    limits : of which `total_gas` and `seconds` count.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self._began = limits, monotonic()
        self.spent = 0  #: by those that were executed [gas]

    def check(self) -> None:
        """Raise `LimitExceeded` where it is spent."""
        if self.spent > self._limits.total_gas:
            raise too_much_gas(self._limits.total_gas)
        if monotonic() - self._began > self._limits.seconds:
            raise too_much_time(self._limits.seconds)


def too_much_gas(total_gas: int) -> LimitExceeded:
    """The error for executions that took more gas together."""
    return LimitExceeded(f"the executions of one estimate took more than {total_gas:,} gas together")


def too_much_time(seconds: float) -> LimitExceeded:
    """The error for executions that took more time together."""
    return LimitExceeded(f"the executions of one estimate took more than {seconds:g} s together")
