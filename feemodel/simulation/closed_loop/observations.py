"""The arrays that a pricing policy reads when it announces and after each step, and the one it writes its prices to.

A policy is an object with three functions: `start(setting)` returns the state, a float array; `announce(state, seen,
price)` fills `price`; `settle(state, settled)` updates the state after the step. `seen`, `settled` and `price` are
float arrays whose places are named here.
"""

from typing import NamedTuple

# Places of `seen`. L1 fees are those of `l1_lag` steps ago, the balance that of `balance_lag` steps ago.
STEP = 0  # number of the step
TIME = 1  # since 1970, or since the start of a scenario without dates [s]
BASE_FEE = 2  # [wei / gas]
BLOB_BASE_FEE = 3  # [wei / gas]
TIP = 4  # [wei / gas]
GAS_USED_RATIO = 5  # weight of base fee and tip in averages; 1 where the scenario has none [1]
BLOB_GAS_USED_RATIO = 6  # [1]
BALANCE = 7  # at the start of a step [wei]
CALLDATA = 8  # of the step before [byte]
SEEN = 9

# Places of `settled`.
POSTED_BYTES = 0  # in this step, 0 without a submission [byte]
POSTED_COST = 1  # what the submissions of this step cost [wei]
DATA_FEES = 2  # that users paid for data in this step [wei]
GAS_USED = 3  # by the step's transactions [gas]
ARRIVED_BYTES = 4  # in this step [byte]
END_BALANCE = 5  # after the step [wei]
SEEN_BALANCE = 6  # the balance of `balance_lag` steps ago, for rules that act at a posting [wei]
SETTLED = 7

# Places of `price`.
PER_BYTE = 0  # [wei / byte]
PER_GAS = 1  # of L2 execution [wei / gas]
PER_TRANSACTION = 2  # [wei]
PRICES = 3


class Setting(NamedTuple):
    """What a policy may know when it starts."""

    step: float  #: length of a step [s]
    bytes_per_transaction: float  #: in the compressed stream [byte]
    gas_per_transaction: float  #: of L2 execution [gas]
    target_balance: float  #: of the operator, where the path starts [wei]
    tips_known: bool  #: whether the scenario has tips; otherwise `seen` holds what submissions pay
