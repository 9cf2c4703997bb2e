"""Upgrades of the execution rules since London: one row per upgrade, with the rules that the engines need.

Source: the EIPs named below; ethereum/execution-specs, `ethereum.forks`.
"""

from dataclasses import dataclass, replace

from feemodel.checks import choice
from feemodel.ethereum.fee_market import MAINNET

MAX_INIT_CODE = 49_152  # EIP-3860, bytes
MAX_TRANSACTION_GAS = 16_777_216  # EIP-7825


@dataclass(frozen=True, slots=True, repr=False)
class Fork:
    """One set of rules.

    >>> FORKS["osaka"]
    Fork(osaka)
    """

    name: str  #: name of the fork's package in `ethereum.forks`
    max_init_code: int | None = MAX_INIT_CODE  #: EIP-3860 [byte]
    max_transaction_gas: int | None = None  #: EIP-7825
    authorizations: bool = False  #: EIP-7702
    #: EIP-4844: increase of the excess blob gas that multiplies the blob base fee by e [gas]
    blob_update_fraction: int | None = None

    def __repr__(self) -> str:  # short, because `help(CallState)` shows this text
        return f"Fork({self.name})"


_BLOB_FRACTIONS = {row.name.lower(): row.update_fraction for row in MAINNET.rows}
_LONDON = Fork("london", max_init_code=None)
_CANCUN = Fork("cancun", blob_update_fraction=_BLOB_FRACTIONS["cancun"])
_PRAGUE = replace(_CANCUN, name="prague", authorizations=True, blob_update_fraction=_BLOB_FRACTIONS["prague"])
_OSAKA = replace(_PRAGUE, max_transaction_gas=MAX_TRANSACTION_GAS)
FORKS = {
    fork.name: fork
    for fork in (
        *(replace(_LONDON, name=name) for name in ("london", "arrow_glacier", "gray_glacier", "paris")),
        Fork("shanghai"),
        _CANCUN,
        _PRAGUE,
        *(replace(_OSAKA, name=name, blob_update_fraction=_BLOB_FRACTIONS[name]) for name in ("osaka", "bpo1", "bpo2")),
    )
}
DEFAULT_FORK = "osaka"


def fork_named(name: str) -> Fork:
    """Return the rules of the upgrade with this name; raises `InvalidInput` for another name.

    >>> fork_named("osaka").max_transaction_gas
    16777216
    """
    return FORKS[choice("fork", name, FORKS)]
