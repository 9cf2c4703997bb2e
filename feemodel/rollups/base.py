"""Base: changes of block parameters by Base's own upgrades. Base's fees follow the OP Stack.

Source: base/base, pull request 4565 (merged 2026-08-20), and the fixture of its range proof. The parameters after Denim
are computed from the pull request and the fixture.
"""

from typing import NamedTuple

from feemodel.checks import whole_scalar

DENIM_FACTOR = 10  # Denim divided the block time by 10


class BlockParameters(NamedTuple):
    """Block parameters that an upgrade changes."""

    gas_limit: int  #: [gas]
    denominator: int  #: base fee change denominator of EIP-1559


def denim_parameters(gas_limit: int, denominator: int) -> BlockParameters:
    """Return the parameters of Denim's first block: the gas limit is divided by 10, the denominator multiplied by 10.

    The arguments are the parameters of the last block before Denim. Denim does not change the elasticity or the minimum
    base fee. From Denim's second block on, the block headers state the parameters. Raises `InvalidInput` for a gas
    limit below 10 or a denominator below 1.

    Base had a gas limit of 400 million and a denominator of 100 before Denim:

    >>> denim_parameters(400_000_000, 100)
    BlockParameters(gas_limit=40000000, denominator=1000)
    """
    limit = whole_scalar("gas_limit", gas_limit, minimum=DENIM_FACTOR, unit="gas")
    own = whole_scalar("denominator", denominator, minimum=1)
    return BlockParameters(limit // DENIM_FACTOR, own * DENIM_FACTOR)
