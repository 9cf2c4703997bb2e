"""The parts of a rollup's transaction fee under the names of RIP-7759.

| RIP-7759      | here                                                                          |
|---------------|-------------------------------------------------------------------------------|
| execution fee | L2 part: gas at the price that holds without the transaction's bytes          |
| data fee      | L1 part: what the transaction's bytes add                                      |
| priority fee  | what the sender offers above that, for a place in the block                   |

Linea's `maxPriorityFeePerGas` carries the first two and is no priority fee in this sense.

Source: ethereum/RIPs at 4179109, RIPS/rip-7759.md (draft).
"""

from typing import NamedTuple

from feemodel.checks import whole_scalar
from feemodel.errors import InvalidInput
from feemodel.records import printed_as_table


@printed_as_table
class TransactionFee(NamedTuple):
    """A fee in the three parts of RIP-7759 [wei]; `transaction_fee` checks them."""

    execution_fee: int
    data_fee: int
    priority_fee: int = 0

    @property
    def total(self) -> int:
        """Their sum, requirement R1 [wei]."""
        return sum(self)


def transaction_fee(*, total: int, data_fee: int, priority_fee: int = 0) -> TransactionFee:
    """The three parts of a fee of which the data fee and priority fee are known.

    Parameters
    ----------
    total : of the fee [wei].
    data_fee, priority_fee : of it [wei].

    Raises `InvalidInput` for a part below 0 (requirement R2).

    >>> transaction_fee(total=100, data_fee=30)
    TransactionFee(execution_fee=70, data_fee=30, priority_fee=0)
    """
    whole, data = whole_scalar("total", total, unit="wei"), whole_scalar("data_fee", data_fee, unit="wei")
    priority = whole_scalar("priority_fee", priority_fee, unit="wei")
    if data + priority > whole:
        raise InvalidInput("total", "expected at least the data fee and the priority fee", total)
    return TransactionFee(whole - data - priority, data, priority)
