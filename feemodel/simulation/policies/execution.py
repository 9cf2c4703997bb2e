"""Prices of L2 execution: the record that all rules share, and a constant price.

A policy for data prices has the price of execution as its attribute `execution`. A price of execution can also be
simulated alone; the price of data is then 0.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import check_fields, check_plausible
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI
from feemodel.simulation.closed_loop.observations import Setting, empty_record

LONGEST_BLOCK = 60.0  # seconds; larger numbers are probably milliseconds
MIN_LIMIT = 21_000  # gas of a transfer, the minimum of a gas limit; smaller numbers are probably millions of gas
IN_GAS = "in gas; 30 Mgas are 30,000,000"
MAX_PRICE = 2**53  # [wei / gas]; a double represents every integer up to it exactly

# Rules for the price of execution. With `SET_BY_POLICY`, the policy's `announce` sets the price.
FIXED, BLOCK_BY_BLOCK, BACKLOGS, SET_BY_POLICY = range(4)

TERMS = np.dtype(
    [
        ("rule", np.int64),
        ("per_gas", np.float64),  # price that the rule updates [wei / gas]
        ("further_per_gas", np.float64),  # constant price, added to `per_gas` [wei / gas]
        ("per_transaction", np.float64),  # additional fee of each transaction [wei]
        ("blocks", np.int64),  # number of L2 blocks in a step
        ("gas_limit", np.int64),  # gas limit of a block [gas]
        ("target", np.int64),  # gas target of a block, used as the divisor of a change [gas]
        ("compared_target", np.int64),  # gas target with which the gas used is compared [gas]
        ("denominator", np.int64),  # [1]
        ("min_base_fee", np.int64),  # [wei / gas]
        ("max_base_fee", np.int64),  # [wei / gas]
    ],
    align=True,
)


class ExecutionState(NamedTuple):
    """Parameters and variables of a price of execution."""

    terms: np.record  #: record of the type `TERMS`
    targets: NDArray[np.int64]  #: target of each gas constraint [gas / s]
    scales: NDArray[np.int64]  #: target times window of each constraint [gas]
    backlogs: NDArray[np.int64]  #: backlog of each constraint [gas]


def execution_state(rule: int, *, constraints: Any = (), **terms: float) -> ExecutionState:
    """Return the state of a rule at the start of a path.

    Parameters
    ----------
    rule : `FIXED`, `BLOCK_BY_BLOCK`, `BACKLOGS` or `SET_BY_POLICY`.
    constraints : gas constraints, each with a target and a window.
    terms : values of fields of `TERMS`; the other fields are 0.

    >>> execution_state(FIXED, per_gas=30.0).terms.per_gas.item()
    30.0
    """
    record = empty_record(TERMS)
    record.rule = rule
    for name, value in terms.items():
        record[name] = value
    targets = np.array([one.target for one in constraints], dtype=np.int64)
    scales = np.array([one.target * one.window for one in constraints], dtype=np.int64)
    return ExecutionState(record, targets, scales, np.zeros(len(targets), dtype=np.int64))


class ExecutionPrice(ABC):
    """Base class of prices of L2 execution."""

    @abstractmethod
    def start(self, setting: Setting) -> ExecutionState:
        """Return the state at the start of a path."""


@dataclass(frozen=True, kw_only=True)
class FixedExecution(ExecutionPrice):
    """Constant price of execution."""

    per_gas: float = 0.0  #: [wei / gas]
    per_transaction: float = 0.0  #: [wei]

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("per_gas", "per_transaction"):
            check_plausible(name, getattr(self, name), IN_WEI, lowest=1.0)

    def start(self, setting: Setting) -> ExecutionState:
        """Return the state at the start of a path."""
        return execution_state(FIXED, per_gas=self.per_gas, per_transaction=self.per_transaction)


def whole_blocks(step: float, block_time: float) -> int:
    """Return the number of L2 blocks in a step; raises `InvalidInput` unless it is an integer.

    >>> whole_blocks(12.0, 2.0)
    6
    """
    blocks = round(step / block_time)
    if blocks < 1 or abs(blocks * block_time - step) > 1e-9 * step:
        raise InvalidInput("step", f"expected a whole number of L2 blocks of {block_time:g} s", step)
    return blocks
