"""`feemodel follow`: import blocks of state changes into a ledger, from files or from a node."""

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated

from feemodel import ledger
from feemodel.cli import STDIN
from feemodel.cli.ledger import described
from feemodel.cli.output import Answer
from feemodel.cli.parameters import Genesis, Store, flag, one_of, real, text, whole
from feemodel.cli.parameters import Node as NodeUrl
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._quantities import from_quantity
from feemodel.io import Node
from feemodel.io.files import contents, parse_json, reading
from feemodel.ledger.files import genesis_chain_id
from feemodel.ledger.follow import follow, import_blocks
from feemodel.progress import reporting


@verb()
def command(
    *,
    store: Store,
    hashing: Annotated[
        str | None, one_of("hash function of a new ledger (default: poseidon2)", ("poseidon2", "mimc"))
    ] = None,
    genesis: Genesis = None,
    blocks: Annotated[
        str | None, text("state changes or trie logs, one JSON object per line; - for standard input", "FILE")
    ] = None,
    node: NodeUrl | None = None,
    confirmations: Annotated[
        int | None, whole("later blocks that make a node's block final (default: what the node calls final)", "block")
    ] = None,
    interval: Annotated[float, real("time between two requests to the node", "s", above=0)] = 2.0,
    final: Annotated[bool, flag("mark the blocks of files final; those of a node always are")] = False,
) -> Answer:
    """Import blocks of state changes into a ledger, from files or a node.

    A new ledger needs --genesis. From a node, new blocks are imported until the command is interrupted; while the node
    fails, it is asked again after pauses. Blocks that the ledger already has are compared with the ledger and skipped.
    After an error, the blocks before the failed block remain imported.
    """
    if final and genesis is None and blocks is None:
        raise InvalidInput("--final", "expected only with --genesis or --blocks", final)
    if blocks is not None and node is not None:
        raise InvalidInput("--node", "expected either this or --blocks", node)
    path = Path(store)
    changes = iter(()) if blocks is None else ledger.read_blocks("-" if blocks == STDIN else blocks)
    if genesis is not None:
        if path.exists():
            raise InvalidInput("--genesis", f"expected only for a new ledger, but {path} exists", genesis)
        _create(path, genesis, hashing=hashing, final=final)
    elif not path.exists():
        raise UnreadableFile(f"{path}: no such ledger; --genesis FILE creates a ledger")
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # a block that is not completely imported is rolled back
    with ledger.Store(path, hashing=hashing, create=False) as opened, reporting(True, None, "blocks") as report:
        import_blocks(opened, changes, final=final, progress=lambda number: report(1))
        if node is not None:
            with Node(node) as client:
                opened.set_chain_id(from_quantity(client.call("eth_chainId"), "eth_chainId"))
                follow(
                    opened, client, confirmations=confirmations, interval=interval, wait=threading.Event().wait,
                    on_failure=_say_failure, progress=lambda number: report(1),
                )  # fmt: skip
        return described(opened, path)


def _create(path: Path, genesis: str, *, hashing: str | None, final: bool) -> None:
    """Create a ledger with its genesis block. The file becomes visible only after it is complete."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        part = Path(folder) / path.name
        with ledger.Store(part, hashing=hashing) as store, reading(genesis):
            document = parse_json(contents(genesis))
            ledger.import_genesis(store, ledger.parse_genesis(document), final=final)
            if (chain_id := genesis_chain_id(document)) is not None:
                store.set_chain_id(chain_id)
        os.link(part, path)  # an error if another process has created the file


def _say_failure(error: Exception, pause: float) -> None:
    print(f"feemodel: {error}; retry in {pause:g} s", file=sys.stderr, flush=True)
