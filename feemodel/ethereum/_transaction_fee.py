"""Parts of a rollup's transaction fee, with the names of RIP-7759.

| RIP-7759      | here                                                                          |
|---------------|-------------------------------------------------------------------------------|
| execution fee | L2 part: gas at the price of a transaction of size 0                          |
| data fee      | L1 part: the increase due to the transaction's bytes                          |
| priority fee  | the sender's offer above these two, for an earlier position in the block      |

Linea's `maxPriorityFeePerGas` is not a priority fee as RIP-7759 defines it, because it pays for the execution fee and
the data fee.

Source: ethereum/RIPs at 4179109, RIPS/rip-7759.md (draft).
"""

from typing import NamedTuple

from feemodel._records import printed_as_table
from feemodel.checks import whole_scalar
from feemodel.errors import InvalidInput


@printed_as_table
class TransactionFee(NamedTuple):
    """Fee in the three parts of RIP-7759 [wei]; use `transaction_fee`, which checks the parts."""

    execution_fee: int
    data_fee: int
    priority_fee: int = 0

    @property
    def total(self) -> int:
        """Sum of the three parts [wei], requirement R1 of RIP-7759."""
        return sum(self)


def transaction_fee(*, total: int, data_fee: int, priority_fee: int = 0) -> TransactionFee:
    """Split a fee into the three parts of RIP-7759.

    Parameters
    ----------
    total : the whole fee [wei].
    data_fee, priority_fee : data fee and priority fee contained in the total [wei].

    Returns
    -------
    TransactionFee; its execution fee is the total minus the data fee and the priority fee [wei].

    Raises
    ------
    InvalidInput : parts that add to more than the total (requirement R2), or a value that is negative or not an
        integer.

    >>> transaction_fee(total=100, data_fee=30)
    TransactionFee(execution_fee=70, data_fee=30, priority_fee=0)
    """
    whole, data = whole_scalar("total", total, unit="wei"), whole_scalar("data_fee", data_fee, unit="wei")
    priority = whole_scalar("priority_fee", priority_fee, unit="wei")
    if data + priority > whole:
        raise InvalidInput("total", "expected at least data fee + priority fee", total)
    return TransactionFee(whole - data - priority, data, priority)
