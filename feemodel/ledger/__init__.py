"""State and proofs: import blocks of state changes, and create the proofs of `rollup_getProof`."""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.ledger.blocks import import_block as import_block
    from feemodel.ledger.blocks import import_genesis as import_genesis
    from feemodel.ledger.files import parse_genesis as parse_genesis
    from feemodel.ledger.files import read_blocks as read_blocks
    from feemodel.ledger.files import read_proof as read_proof
    from feemodel.ledger.proof import check_proof as check_proof
    from feemodel.ledger.proof import get_proof as get_proof
    from feemodel.ledger.store import Store as Store

__getattr__, __dir__ = lazy_names(__name__)
