"""Interface of pricing policies, and base class of the built-in policies."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from feemodel.arguments import check_fields
from feemodel.quantities import Ratio
from feemodel.simulation.closed_loop.observations import Setting, State
from feemodel.simulation.quantities import Amount, Lag

MAX_LAG = 1 << 20  # maximum number of steps in a window


class Pricing(Protocol):
    """Interface of a pricing policy for `simulate`. Your own policy may be any object with the methods of this class.

    The functions `announce` and `settle` may be compiled with `numba.njit` or be plain Python functions, which are
    slow. A policy may have the attributes `level`, `l1_lag`, `balance_lag` and `target_balance`, as in `BuiltIn`.
    """

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""

    def announce(self, state: State, seen: np.record, price: np.record) -> None:
        """Set the prices of a step from the observations in `seen`."""

    def settle(self, state: State, settled: np.record) -> None:
        """Update the state at the end of a step."""


@dataclass(frozen=True, kw_only=True)
class BuiltIn(ABC):
    """Base class of the built-in policies, with the attributes that these policies have in common.

    The module of each policy has the compiled functions `announce`, `settle` and `run`. `run` is the simulation loop,
    which calls `announce` and `settle`. Each policy's module defines its own `run`, so that numba can cache the machine
    code on disk.
    """

    level: Ratio = 1.0  #: factor by which the announced data price is multiplied
    l1_lag: Lag = 0  #: age of the L1 fees that the policy observes
    balance_lag: Lag = 0  #: age of the balance that the policy observes
    target_balance: Amount = 0.0  #: target for the operator's balance, and the balance at the start of a path

    def __post_init__(self) -> None:
        check_fields(self)

    @abstractmethod
    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
