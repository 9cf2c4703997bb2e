"""Compiled rules that update the price of L2 execution. To add a rule, add a branch to `settle_execution`."""

from feemodel._compiled import cached_njit
from feemodel.simulation.policies import arbitrum_execution, eip1559
from feemodel.simulation.policies.execution import BACKLOGS, BLOCK_BY_BLOCK, SET_BY_POLICY


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def announce_execution(execution, price):  # type: ignore[no-untyped-def]
    """Set the execution prices of a step, unless the policy has set them."""
    terms = execution.terms
    if terms.rule != SET_BY_POLICY:
        price.per_gas = terms.per_gas + terms.further_per_gas
        price.per_transaction = terms.per_transaction


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def settle_execution(path):  # type: ignore[no-untyped-def]
    """Update the execution price at the end of a step, from the gas that the transactions of the step used."""
    rule = path.execution.terms.rule
    if rule == BLOCK_BY_BLOCK:
        eip1559.settle(path.execution, path.settled)
    elif rule == BACKLOGS:
        arbitrum_execution.settle(path.execution, path.settled)
