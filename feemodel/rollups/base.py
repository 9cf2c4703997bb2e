"""Base: what its own upgrades change in the parameters of a block; the fees are the OP Stack's.

Source: base/base, pull request 4565 (merged 2026-08-20, seen in part), and the fixture of its range proof; the numbers
after Denim are derived from them.
"""

from typing import NamedTuple

from feemodel.checks import whole_scalar

DENIM_FACTOR = 10  # blocks where there was one


class BlockParameters(NamedTuple):
    """The parameters of a block that an upgrade changes."""

    gas_limit: int  #: [gas]
    denominator: int  #: base fee change denominator of EIP-1559


def denim_parameters(gas_limit: int, denominator: int) -> BlockParameters:
    """Gas limit and denominator of the first block of Denim: a tenth and ten times those of its parent.

    Elasticity and minimum base fee stay. Later blocks keep what the header says. Raises `InvalidInput` for numbers
    below 1.

    Base's blocks before Denim:

    >>> denim_parameters(400_000_000, 100)
    BlockParameters(gas_limit=40000000, denominator=1000)
    """
    limit = whole_scalar("gas_limit", gas_limit, minimum=DENIM_FACTOR, unit="gas")
    own = whole_scalar("denominator", denominator, minimum=1)
    return BlockParameters(limit // DENIM_FACTOR, own * DENIM_FACTOR)
