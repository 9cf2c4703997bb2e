"""Files that the parent of the workers reads once; no worker reads them again."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from feemodel.estimates._chain import (
    ChainState,
    check_same_chain,
    development_genesis,
    genesis_chain,
    read_genesis_document,
    replay_chain,
)
from feemodel.estimates._codec_file import read_codec
from feemodel.ledger._store import Store, StoredBlock
from feemodel.server.settings import Settings
from feemodel.sizes._codecs import Codec

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from feemodel.server.dispatch import Method


class Extension(Protocol):
    """Methods and pages from outside the package `feemodel.server`, which each worker makes from its `Service`."""

    @property
    def methods(self) -> Mapping[str, "Method"]:
        """Methods by name."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """Error messages for methods that are known but not served."""

    @property
    def routes(self) -> Sequence["BaseRoute"]:
        """Routes of HTTP and WebSocket, see `starlette.routing`."""

    async def close(self) -> None:
        """Close what is open."""


class Loaded(msgspec.Struct, frozen=True):
    """Contents of the files that the parent has read; no worker reads them again."""

    settings: Settings
    chain: ChainState | None  #: to execute on; `None` behind a node, and where only proofs are served
    store: Path | None  #: the ledger that proves
    held: StoredBlock | None  #: the ledger's newest block, whose hash a node must have
    chain_id: int | None  #: of the ledger
    codec: Codec
    extensions: tuple[Callable[[Any], Extension], ...] = ()  #: called with the `Service`


def load(settings: Settings, store: Path | None, *, extensions: tuple[Callable[[Any], Extension], ...] = ()) -> Loaded:
    """Read what the settings name.

    Parameters
    ----------
    settings : which chain, codec and dictionary.
    store : the ledger that proves; `None` for none.
    extensions : functions or classes of a module, which workers import by name.

    Raises `InvalidInput` and `UnreadableFile`.
    """
    root = held = chain_id = chain = None
    if store is not None:
        with Store(store, read_only=True) as opened:  # a missing, damaged or foreign file is refused here
            head, chain_id = opened.head, opened.chain_id
            held = head if head is not None and head.number and head.hash is not None else None
            if settings.node is None and settings.replay is None and head is not None:
                root = opened.block(0).root
            chain = _chain(settings, root)
            if chain is not None:
                check_same_chain(chain, opened)
    else:
        chain = _chain(settings, None)
    return Loaded(settings, chain, store, held, chain_id, read_codec(settings.codec, settings.dictionary), extensions)


def _chain(settings: Settings, state_root: bytes | None) -> ChainState | None:
    if settings.node is not None:
        return None
    if settings.replay is not None:
        from feemodel.io._replay import read_replay  # and with it pandas, which nothing else here needs

        return replay_chain(read_replay(settings.replay))
    if settings.genesis is None and settings.store is not None:
        return None
    genesis = development_genesis() if settings.genesis is None else read_genesis_document(settings.genesis)
    return genesis_chain(genesis, state_root=state_root)
