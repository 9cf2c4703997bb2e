"""Fees of each transaction under each rule, at the base fee and blob base fee of one L1 block."""

from collections.abc import Sequence
from typing import NamedTuple

from feemodel.checks import instance, sequence, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum._transaction import SET_CODE, Transaction
from feemodel.rollups.factors import Rule
from feemodel.rollups.rules import PUBDATA
from feemodel.rollups.tables import in_eth, measured_sizes
from feemodel.sizes._codecs import Codec


class Payment(NamedTuple):
    """The fee of one transaction under one rule."""

    rule: str
    token: str  #: token in which the fee is paid
    l1_fee: int  #: data fee [wei of the token]
    l2_fee: int  #: execution fee [wei of the token]
    total: int  #: [wei of the token]
    total_eth: int | None  #: total in wei of ETH; `None` if the chain's parameters have no token price [wei]


def payments(
    transactions: Sequence[Transaction],
    rules: Sequence[Rule],
    *,
    gas: Sequence[int],
    senders: Sequence[bytes],
    base_fee: int,
    blob_base_fee: int,
    pubdata: int = PUBDATA,
    linea_codec: str | Codec = "zstd",
) -> list[list[Payment]]:
    """Return the fees of each transaction under each rule, as `feemodel.rollups.comparison` computes them.

    For a transaction of type 4 (EIP-7702), the result leaves out the chains that do not support this type.

    Parameters
    ----------
    transactions : transactions with a signature or a placeholder signature.
    rules : rules whose fees are computed, at least one.
    gas : gas used by each transaction [gas].
    senders : address of each transaction's sender (20 bytes).
    base_fee, blob_base_fee : base fee and blob base fee of L1 [wei / gas].
    pubdata : assumed number of bytes of state that each transaction publishes on zkSync [byte].
    linea_codec : codec of Linea, as in `feemodel.rollups.measured_sizes`.

    Raises `InvalidInput` for lists of different lengths, and for a rule that needs a column that `measured_sizes` does
    not return.

    >>> from feemodel.rollups.rules import rule
    >>> transfer = Transaction(gas_limit=21_000, to=b"\\x11" * 20).with_placeholder_signature()
    >>> paid = payments([transfer], [rule("op-mainnet/jovian")], gas=[21_000], senders=[bytes(20)], base_fee=10**9,
    ...                 blob_base_fee=1)
    >>> [(one.rule, one.total) for one in paid[0]]
    [('op-mainnet/jovian', 29363200101)]
    """
    rules = [instance("rules", one, Rule) for one in sequence("rules", rules)]
    if not rules:
        raise InvalidInput("rules", "expected at least one rule", [])
    sizes = measured_sizes(transactions, gas=gas, senders=senders, pubdata=pubdata, linea_codec=linea_codec)
    fees = {
        "base_fee": whole_scalar("base_fee", base_fee, unit="wei"),
        "blob_base_fee": whole_scalar("blob_base_fee", blob_base_fee, unit="wei"),
    }
    found = []
    for index, transaction in enumerate(transactions):
        row = {name: int(column[index]) for name, column in sizes.items()}
        carrying = [one for one in rules if transaction.type != SET_CODE or one.no_set_code is None]
        paid = [(one, one.fees(row, **fees)) for one in carrying]
        found.append(
            [
                Payment(one.name, one.token, fee.l1, fee.l2, fee.l1 + fee.l2, in_eth(fee.l1 + fee.l2, one))
                for one, fee in paid
            ]
        )
    return found
