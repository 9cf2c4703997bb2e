"""Fees of each transaction of a project under every rule, at one block of L1."""

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
    token: str  #: that the fee is paid in
    l1_fee: int  #: for the bytes [wei of the token]
    l2_fee: int  #: for the gas [wei of the token]
    total: int  #: [wei of the token]
    total_eth: int | None  #: at the token's price in the chain's parameters; `None` where they have none [wei]


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
    """Price each transaction under each rule; the fees are those of `feemodel.rollups.comparison` for it alone.

    A transaction of type 4 has no payment under a rule whose chain does not carry it.

    Parameters
    ----------
    transactions : with a signature or a placeholder.
    rules : at least one; all the columns that they read are measured here.
    gas : used by each [gas].
    senders : 20 bytes each.
    base_fee, blob_base_fee : of L1 [wei / gas].
    pubdata : bytes of state that each publishes on zkSync, an assumption [byte].
    linea_codec : as in `feemodel.rollups.measured_sizes`.

    Raises `InvalidInput` for lists of different lengths, or a rule that reads a column which is not measured.

    >>> from feemodel.rollups.rules import rule
    >>> transfer = Transaction(gas_limit=21_000, to=b"\\x11" * 20).with_placeholder_signature()
    >>> paid = payments([transfer], [rule("op-mainnet/jovian")], gas=[21_000], senders=[bytes(20)], base_fee=10**9,
    ...                 blob_base_fee=1)
    >>> [(one.rule, one.total) for one in paid[0]]
    [('op-mainnet/jovian', 29363200101)]
    """
    rules = [instance("rules", one, Rule) for one in sequence("rules", rules)]
    if not rules:
        raise InvalidInput("rules", "expected at least one", [])
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
