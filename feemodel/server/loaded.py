"""Files that only the parent process reads; workers receive their contents from the parent."""

import warnings
from pathlib import Path

import msgspec

from feemodel.estimates.chain import (
    ChainState,
    development_genesis,
    genesis_chain,
    read_genesis_document,
)
from feemodel.estimates.codec_file import read_codec
from feemodel.execution._engines import is_native
from feemodel.execution._limits import REFERENCE_LIMITS
from feemodel.ledger.store import Store, StoredBlock
from feemodel.server.settings import Settings
from feemodel.sizes._codecs import Codec


class Loaded(msgspec.Struct, frozen=True):
    """Contents of the files that the parent has read."""

    settings: Settings
    chain: ChainState | None  #: chain to execute on; `None` with a node, or if only proofs are served
    store: Path | None  #: path of the ledger for proofs
    held: StoredBlock | None  #: newest block of the ledger; the node's block with this number must have the same hash
    chain_id: int | None  #: chain id of the ledger
    codec: Codec


def load(settings: Settings, store: Path | None) -> Loaded:
    """Read the files that the settings name.

    Parameters
    ----------
    settings : settings with the chain, the codec and its dictionary.
    store : path of the ledger for proofs; `None` for no ledger.

    Raises `UnreadableFile` for a file that cannot be read, `InvalidInput` for contents or settings that are not valid.
    """
    root = held = chain_id = chain = None
    if store is not None:
        with Store(store, read_only=True) as opened:  # raises an error if the file is not an intact ledger
            head, chain_id = opened.head, opened.chain_id
            held = head if head is not None and head.number and head.hash is not None else None
            root = None if head is None else opened.block(0).root
    if settings.node is None and settings.store is None:
        genesis = development_genesis() if settings.genesis is None else read_genesis_document(settings.genesis)
        chain = genesis_chain(genesis, state_root=root)
    if chain is not None and not is_native(settings.engine):
        warnings.warn(f"calls run on the reference engine, at most {REFERENCE_LIMITS.gas_cap:,} gas each", stacklevel=2)
    return Loaded(settings, chain, store, held, chain_id, read_codec(settings.codec, settings.dictionary))
