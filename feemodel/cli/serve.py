"""`feemodel serve`: the JSON-RPC server, from a development chain, a genesis, replayed blocks, a node, a ledger."""

import argparse
import os
import tempfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.cli.output import print_json
from feemodel.errors import InvalidInput
from feemodel.rpc.settings import SECRET, SETTINGS, Settings, load_settings

if TYPE_CHECKING:
    from feemodel.ledger.store import Store

EPILOG = """\
Each setting may also be in the file, or in the environment as FEEMODEL_NAME; flags take precedence.

exit codes of --check and --check-settings:
  0  it would serve; with --check an estimate would be answered now
  1  with --check: settings and files are good, but an estimate would be refused now (a node is down, stale or wrong)
  2  a setting is wrong, or settings contradict each other
  3  a file cannot be read
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="settings in TOML, a table for each group below")
    check = parser.add_mutually_exclusive_group()
    check.add_argument(
        "--check",
        action="store_true",
        help="say what would be served and whether an estimate would be answered now, and stop: nodes are asked",
    )
    check.add_argument(
        "--check-settings", action="store_true", help="the same of settings and files alone, and stop: no node is asked"
    )
    groups: dict[str, Any] = {}
    for setting in SETTINGS:
        section = setting.metadata["section"]
        group = groups.setdefault(section, parser.add_argument_group(section))
        default = "" if setting.default in (None, ()) else f" ({_shown(setting.default)})"
        help_text = (setting.metadata["help"] + default).replace("%", "%%")
        flag = f"--{setting.name.replace('_', '-')}"
        if setting.type is bool:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=help_text)
        elif setting.name == "node":
            group.add_argument(flag, metavar="…", action="append", help=f"{help_text}; may be given several times")
        else:
            group.add_argument(flag, metavar="…", help=help_text)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG


def run(options: argparse.Namespace) -> int:
    flags = {setting.name: getattr(options, setting.name) for setting in SETTINGS}
    file = os.environ.get("FEEMODEL_CONFIG") if options.config is None else options.config
    if file == "":
        raise InvalidInput("FEEMODEL_CONFIG" if options.config is None else "--config", "expected a file", file)
    settings = load_settings(file=file, environment=os.environ, flags=flags)
    for package in ("msgspec", "prometheus_client"):
        if find_spec(package) is None:  # which is reported here once, and not by every worker
            raise ModuleNotFoundError(name=package)
    from feemodel.rpc.server import Signals, serve

    with Signals() as signals, _ledger(settings) as folder:
        store = _store(settings, folder)
        if settings.store is not None and settings.node is not None and not options.check_settings:
            _check_nodes(settings)
        if options.check or options.check_settings:
            return _checked(settings, store, ask_nodes=options.check, as_json=options.json)
        serve(settings, signals, store=store, ready=lambda address: _announce(address, settings, store, options))
    return 0


def _ledger(settings: Settings) -> AbstractContextManager[str | None]:
    """A temporary folder for the ledger of a genesis, where the settings name no file."""
    needed = settings.store is None and settings.node is None and settings.replay is None
    return tempfile.TemporaryDirectory(prefix="feemodel-") if needed else nullcontext()


def _store(settings: Settings, folder: str | None) -> Path | None:
    """The ledger that proves: the one that is named, or a new one of the genesis; `None` where there is neither."""
    if settings.store is not None:
        from feemodel.ledger.store import Store

        with Store(settings.store, read_only=True) as store:  # a missing, damaged or foreign file is refused here
            head = store.head
            if settings.genesis is not None and head is not None:
                _check_genesis(settings.genesis, store)
        return Path(settings.store)
    if folder is None:
        return None
    from feemodel.rpc.development import build_ledger, copy_development_ledger

    path = Path(folder) / "genesis.db"
    if settings.genesis is None:
        copy_development_ledger(path)
    else:
        from feemodel.rpc.chain import read_genesis_document

        build_ledger(path, read_genesis_document(settings.genesis))
    return path


def _check_genesis(genesis: str, store: "Store") -> None:
    """Raise `InvalidInput` unless the ledger's block 0 is that genesis."""
    from feemodel.ledger.genesis import genesis_root
    from feemodel.rpc.chain import read_genesis_document

    root, held = genesis_root(read_genesis_document(genesis), store.scheme.name), store.block(0).root
    if root != held:
        reason = f"expected a ledger of {genesis}, whose state root is 0x{root.hex()}"
        raise InvalidInput("store", reason, f"{store.path}, whose block 0 has 0x{held.hex()}")


def _check_nodes(settings: Settings) -> None:
    """Raise `InvalidInput` where a node is of another chain than the ledger."""
    from feemodel.io.node import Node
    from feemodel.ledger.store import Store
    from feemodel.rpc.service import check_same_node

    with Store(str(settings.store), read_only=True) as store:
        for address in settings.nodes:
            with Node(address, timeout=settings.node_timeout, retries=0) as node:
                check_same_node(node, store)


def _checked(settings: Settings, store: Path | None, *, ask_nodes: bool, as_json: bool) -> int:
    """Open what would be served, say what that is, and close it; the exit code is that of `EPILOG`."""
    import asyncio

    from feemodel.rpc.keys import read_keys
    from feemodel.rpc.service import Service

    if settings.api_keys is not None:
        read_keys(settings.api_keys)

    async def opened() -> dict[str, Any]:
        service = Service(settings, store)
        try:
            unready = []
            if ask_nodes:
                await service.start()
                await service.load_hashing()  # an image keeps the kernels that a check has compiled
                unready = service.unready()
            shown = {name: _hidden(name, value) for name, value in asdict(settings).items()}
            return {"settings": shown, "methods": sorted(service.answered), "unready": unready}
        finally:
            await service.close()

    found = asyncio.run(opened())
    if as_json:
        print_json(found)
    else:
        for name, value in found["settings"].items():
            print(f"{name:22} {_shown(value)}")
        print(f"\n{len(found['methods'])} methods: {', '.join(found['methods'])}")
        for reason in found["unready"]:
            print(f"not ready: {reason}")
    return 1 if found["unready"] else 0


def _announce(address: str, settings: Settings, store: Path | None, options: argparse.Namespace) -> None:
    if options.json:
        from feemodel.ledger.store import Store

        with nullcontext() if store is None else Store(store, read_only=True) as opened:
            finalized = None if opened is None else opened.finalized
        print_json({"address": address, "finalized": finalized, "workers": settings.workers}, flush=True)
    else:
        print(f"{address}: {_source(settings)}. Stop with Ctrl-C.", flush=True)


def _source(settings: Settings) -> str:
    for name in ("node", "replay", "genesis", "store"):
        value = getattr(settings, name)
        if value is not None:
            return f"answers from {name} {_hidden(name, value)}"
    return "answers from the development chain, block 0 is final"


def _hidden(name: str, value: Any) -> Any:
    """A setting as it may be shown: of an address no more than scheme, host and port, of the key nothing."""
    if value is None or name not in SECRET:
        return value
    if name == "api_key":
        return "(set)"
    from feemodel.io.node import Node

    return ", ".join(Node(url).name for url in value.split())


def _shown(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value > 9_999 else str(value)
