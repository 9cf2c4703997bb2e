"""Interface of pricing policies, and the parts that the built-in ones share."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from feemodel._records import printed_as_table
from feemodel.checks import check_fields, check_limit, check_plausible
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI, MIN_PRICE
from feemodel.simulation.closed_loop.observations import Setting, State
from feemodel.simulation.policies.execution import ExecutionPrice

MAX_LAG = 1 << 20  # steps: some 145 days of L1 blocks


class Pricing(Protocol):
    """Interface that `simulate` needs of a policy; a user's own may be any object with these.

    `announce` and `settle` are compiled with `numba.njit`, or plain Python functions of the same records, which are
    slow. `level`, `l1_lag`, `balance_lag` and `target_balance` may be left out.
    """

    def start(self, setting: Setting) -> State:
        """The state at the start of a path."""

    def announce(self, state: State, seen: np.record, price: np.record) -> None:
        """Fill the prices of a step from what is seen."""

    def settle(self, state: State, settled: np.record) -> None:
        """Update the state at the end of a step."""


@dataclass(frozen=True, kw_only=True)
class BuiltIn(ABC):
    """Base of the built-in data policies: a level, lags, a price of execution.

    A policy's module has its compiled `announce` and `settle`, and `run`, which is the loop with these two: a function
    of a module is one whose machine code numba can keep on disk.
    """

    level: float = 1.0  #: factor on the announced data price [1]
    l1_lag: int = 0  #: how old the L1 fees are that the policy sees [steps]
    balance_lag: int = 0  #: how old the balance is [steps]
    target_balance: float = 0.0  #: of the operator; also what a path starts with [wei]
    execution: ExecutionPrice | None = None  #: price of L2 execution; none: 0

    def __post_init__(self) -> None:
        self._check()

    def _check(self, **limits: Any) -> None:
        check_fields(self, **limits)
        for name in ("price", "min_price", "max_price"):
            if (price := getattr(self, name, None)) != math.inf:
                check_plausible(name, price, IN_WEI, lowest=MIN_PRICE)
        for name in ("l1_lag", "balance_lag"):
            check_limit(getattr(self, name), f"steps of {name}", MAX_LAG)
        if self.execution is not None and not isinstance(self.execution, ExecutionPrice):
            raise InvalidInput("execution", "expected an execution price, such as Eip1559", self.execution)

    @abstractmethod
    def start(self, setting: Setting) -> State:
        """The state at the start of a path."""


@printed_as_table
class BreakEven(NamedTuple):
    """Cost of posting if demand does not respond to prices."""

    price: float  #: at which the fees of the whole history pay for it [wei / byte]
    cost_per_day: float  #: [wei]
    bytes_per_day: float  #: [byte]


class Baseline(NamedTuple):
    """Inputs of the policies of the baseline, see `feemodel.simulation.closed_loop.baseline`."""

    even: BreakEven
    window_blocks: int  #: of Linea's average [steps]
    step: float  #: [s]
