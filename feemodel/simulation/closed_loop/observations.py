"""Records of a pricing policy: observations before a step, announced prices, and results after the step.

A policy is an object with three functions. `start(setting)` returns the initial state. `announce(state, seen, price)`
writes the prices of a step to `price`. `settle(state, settled)` updates the state after the step. `seen`, `price` and
`settled` are records. In compiled functions and in plain Python, the fields of a record are attributes. A state is a
record from `policy_state`, a one-dimensional array of numbers, a structured array, or a named tuple of these types.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput

#: Observations of the policy before a step: L1 fees from `l1_lag` steps ago, balance from `balance_lag` steps ago.
SEEN = np.dtype(
    [
        ("step", np.int64),  # index of the step
        ("time", np.float64),  # Unix time, or time since the start of a scenario without dates [s]
        ("base_fee", np.float64),  # [wei / gas]
        ("blob_base_fee", np.float64),  # [wei / gas]
        ("tip", np.float64),  # [wei / gas]
        ("gas_used_ratio", np.float64),  # weight of base fee and tip in averages; 1 if unknown [1]
        ("blob_gas_used_ratio", np.float64),  # weight of the blob base fee in averages; 1 if unknown [1]
        ("balance", np.float64),  # operator's balance at the start of a step [wei]
        ("calldata", np.float64),  # calldata of the previous step [byte]
    ],
    align=True,
)

#: Results of a step, which a policy receives after the step.
SETTLED = np.dtype(
    [
        ("posted_bytes", np.float64),  # bytes posted in this step, 0 if nothing was posted [byte]
        ("posted_cost", np.float64),  # cost of the submissions of this step [wei]
        ("data_fees", np.float64),  # fees that users paid for data in this step [wei]
        ("gas_used", np.float64),  # gas used by the transactions of this step [gas]
        ("arrived_bytes", np.float64),  # bytes of the transactions of this step [byte]
        ("end_balance", np.float64),  # operator's balance after the step [wei]
        ("seen_balance", np.float64),  # operator's balance `balance_lag` steps before the end of this step [wei]
        ("transactions", np.float64),  # number of transactions in this step
        ("execution_fees", np.float64),  # fees that users paid for L2 execution in this step [wei]
        ("operator_fees", np.float64),  # operator fees that users paid in this step [wei]
    ],
    align=True,
)

#: Prices of a step. All prices are initially 0. The prices of a step also apply in later steps, until the policy
#: changes them.
PRICE = np.dtype(
    [
        ("per_byte", np.float64),  # price of data [wei / byte]
        ("per_gas", np.float64),  # price of L2 execution [wei / gas]
        ("per_transaction", np.float64),  # fee of each transaction in addition to the fees for bytes and gas [wei]
    ],
    align=True,
)

#: State of a policy: a record, a one-dimensional array, or a named tuple of records and arrays.
State: TypeAlias = Any


class Setting(NamedTuple):
    """Properties of the simulation, from which a policy may create its initial state."""

    step: float  #: length of a step [s]
    bytes_per_transaction: float  #: size of a transaction in the compressed stream [byte]
    gas_per_transaction: float  #: L2 gas of a transaction [gas]
    target_balance: float  #: balance of the operator at the start of the path [wei]
    tips_known: bool  #: whether the scenario has L1 tips; if not, `seen.tip` is the tip that submissions pay


def policy_state(**values: Any) -> np.record:
    """Create a state with named fields. The functions of a policy read and write the fields as attributes.

    Parameters
    ----------
    values : initial value of each field, by name: a number, which is stored as a double, or an array of fixed length.

    Returns
    -------
    Record whose fields have the given initial values.

    Raises
    ------
    InvalidInput : no field is given, or a value is not a number or an array of numbers.

    >>> state = policy_state(price=1e8, weight=0.1)
    >>> state.price += 5.0
    >>> state.price
    np.float64(100000005.0)
    """
    if not values:
        raise InvalidInput("values", "expected at least one field", values)
    fields = {name: np.asarray(value) for name, value in values.items()}
    for name, field in fields.items():
        if field.dtype.kind not in "iuf" or np.isnan(field).any():
            raise InvalidInput(name, "expected a number, or an array of numbers", values[name])
    made = empty_record(np.dtype([(name, np.float64, field.shape) for name, field in fields.items()], align=True))
    for name, field in fields.items():
        made[name] = field
    return made


def empty_record(dtype: "np.dtype[Any]") -> np.record:
    """Return a record in which all fields are 0, for compiled functions to write to.

    >>> empty_record(PRICE).per_gas
    np.float64(0.0)
    """
    found: np.record = records(1, dtype)[0]
    return found


def records(count: int, dtype: "np.dtype[Any]") -> NDArray[Any]:
    """Return an array of records in which all fields are 0. In plain Python, the fields can be read as attributes.

    >>> records(2, PRICE)[1].per_gas
    np.float64(0.0)
    """
    return np.zeros(count, np.dtype((np.record, dtype)))
