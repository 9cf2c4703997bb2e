"""Rules for the price of L2 execution: common state, base class, and a rule with a constant price.

A policy for data prices has the rule for the execution price as its attribute `execution`. If the policy that is passed
to `simulate` is itself a rule for the execution price, the price of data is 0.
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

LONGEST_BLOCK = 60.0  # maximum block time in seconds; larger inputs are probably in milliseconds
MIN_LIMIT = 21_000  # minimum gas limit, the gas of a transfer; smaller inputs are probably in Mgas
IN_GAS = "in gas; 30 Mgas = 30,000,000"
MAX_PRICE = 2**53  # maximum price [wei / gas]; a double represents all integers up to 2**53 exactly

# Kinds of rules for the L2 execution price. With `SET_BY_POLICY`, the `announce` function of the policy sets the price.
FIXED, BLOCK_BY_BLOCK, BACKLOGS, SET_BY_POLICY = range(4)

TERMS = np.dtype(
    [
        ("rule", np.int64),
        ("per_gas", np.float64),  # price that the rule updates [wei / gas]
        ("further_per_gas", np.float64),  # constant price, added to `per_gas` [wei / gas]
        ("per_transaction", np.float64),  # fee of each transaction in addition to the fees for bytes and gas [wei]
        ("blocks", np.int64),  # number of L2 blocks in a step
        ("gas_limit", np.int64),  # gas limit of a block [gas]
        ("target", np.int64),  # gas target of a block, by which the change of the base fee is divided [gas]
        ("compared_target", np.int64),  # gas target that is subtracted from the gas used [gas]
        ("denominator", np.int64),  # base fee change denominator [1]
        ("min_base_fee", np.int64),  # minimum base fee [wei / gas]
        ("max_base_fee", np.int64),  # maximum base fee [wei / gas]
    ],
    align=True,
)


class ExecutionState(NamedTuple):
    """State of a rule for the execution price."""

    terms: np.record  #: record of the type `TERMS`
    targets: NDArray[np.int64]  #: gas target of each gas constraint [gas / s]
    scales: NDArray[np.int64]  #: target · window of each gas constraint [gas]
    backlogs: NDArray[np.int64]  #: backlog of each gas constraint [gas]


def execution_state(rule: int, *, constraints: Any = (), **terms: float) -> ExecutionState:
    """Return the state of a rule at the start of a path.

    Parameters
    ----------
    rule : kind of rule: `FIXED`, `BLOCK_BY_BLOCK`, `BACKLOGS` or `SET_BY_POLICY`.
    constraints : gas constraints, each with a target and a window.
    terms : values of fields of `TERMS`, by name; fields that are not given are 0.

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
    """Base class of rules for the price of L2 execution."""

    @abstractmethod
    def start(self, setting: Setting) -> ExecutionState:
        """Return the initial state, for the start of a path."""


@dataclass(frozen=True, kw_only=True)
class FixedExecution(ExecutionPrice):
    """Constant price of execution."""

    per_gas: float = 0.0  #: price per L2 gas [wei / gas]
    per_transaction: float = 0.0  #: fee of each transaction in addition to the fees for bytes and gas [wei]

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("per_gas", "per_transaction"):
            check_plausible(name, getattr(self, name), IN_WEI, lowest=1.0)

    def start(self, setting: Setting) -> ExecutionState:
        """Return the initial state, for the start of a path."""
        return execution_state(FIXED, per_gas=self.per_gas, per_transaction=self.per_transaction)


def whole_blocks(step: float, block_time: float) -> int:
    """Return (length of a step) / (block time), the number of L2 blocks in a step.

    Raises `InvalidInput` if the step is not a whole number of blocks.

    >>> whole_blocks(12.0, 2.0)
    6
    """
    blocks = round(step / block_time)
    if blocks < 1 or abs(blocks * block_time - step) > 1e-9 * step:
        raise InvalidInput("step", f"expected a whole number of L2 blocks of {block_time:g} s", step)
    return blocks
