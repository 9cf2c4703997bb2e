"""`feemodel serve`: the JSON-RPC server on a development chain, a genesis, a node or a ledger."""

import argparse
import os
import tempfile
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.cli.output import print_json
from feemodel.errors import InvalidInput

if TYPE_CHECKING:
    from feemodel.ledger.store import Store
    from feemodel.server.loaded import Loaded
    from feemodel.server.settings import Settings

PACKAGES = ("uvicorn", "httptools", "starlette", "aiohttp", "msgspec", "prometheus_client")
EPILOG = """\
Settings can also be set in the file, or in the environment as FEEMODEL_NAME. Options take precedence.

Exit codes of --check and --check-settings:
  0  the settings and files are valid; with --check, an estimate would succeed now
  1  with --check: the settings and files are valid, but an estimate would fail now (a node is down, stale or wrong)
  2  a setting is not valid, or settings contradict each other
  3  a file cannot be read
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for package in PACKAGES:
        if find_spec(package) is None:  # report a missing package before the workers start
            raise ModuleNotFoundError(name=package)
    from feemodel.server.settings import DEFAULTS, HELP, SECTIONS, is_list

    parser.add_argument("--config", metavar="FILE", help="TOML file of settings, with one table for each group below")
    check = parser.add_mutually_exclusive_group()
    check.add_argument(
        "--check",
        action="store_true",
        help="print the methods and settings, check with the nodes that an estimate would succeed now, and exit",
    )
    check.add_argument(
        "--check-settings",
        action="store_true",
        help="print the methods and settings, check settings and files without nodes, and exit",
    )
    for section, names in SECTIONS.items():
        group = parser.add_argument_group(section)
        for name in names:
            default = DEFAULTS[name]
            help_text = HELP[name] + ("" if default in (None, ()) else f" (default: {_shown(default)})")
            help_text, flag = help_text.replace("%", "%%"), f"--{name.replace('_', '-')}"
            if isinstance(default, bool):
                group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=help_text)
            elif is_list(name):
                group.add_argument(
                    flag, metavar="…", action="append", help=f"{help_text}; separated by commas, or given several times"
                )
            else:
                group.add_argument(flag, metavar="…", help=help_text)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG


def run(options: argparse.Namespace) -> int:
    from feemodel.server.settings import SECTIONS, load_settings

    names = [name for section in SECTIONS.values() for name in section]
    flags = {name: _joined(getattr(options, name)) for name in names}
    file = os.environ.get("FEEMODEL_CONFIG") if options.config is None else options.config
    if file == "":
        raise InvalidInput("FEEMODEL_CONFIG", "expected a file", file)
    settings = load_settings(file=file, environment=os.environ, flags=flags)
    from feemodel.server.loaded import load
    from feemodel.server.workers import serve

    with _ledger(settings) as folder:
        loaded = load(settings, _store(settings, folder))
        checked = _checked(loaded, ask_nodes=options.check)
        if options.check or options.check_settings:
            return _report(checked, as_json=options.json)
        serve(loaded, ready=lambda address: _announce(address, loaded, options))
    return 0


def _joined(value: Any) -> Any:
    """Return the value of a flag, or all values of a list flag that was given several times."""
    return ",".join(value) if isinstance(value, list) else value


def _ledger(settings: "Settings") -> AbstractContextManager[str | None]:
    """Provide a temporary folder for a new ledger if the settings name no ledger and no node."""
    needed = settings.store is None and settings.node is None
    return tempfile.TemporaryDirectory(prefix="feemodel-") if needed else nullcontext()


def _store(settings: "Settings", folder: str | None) -> Path | None:
    """Return the path of the ledger in the settings or of a new ledger with the genesis, or `None` without a ledger."""
    if settings.store is not None:
        from feemodel.ledger.store import Store

        with Store(settings.store, read_only=True) as store:  # raises an error if the file is not a valid ledger
            if settings.genesis is not None and store.head is not None:
                _check_genesis(settings.genesis, store)
        return Path(settings.store)
    if folder is None:
        return None
    from feemodel.estimates._chain import build_ledger, copy_development_ledger, read_genesis_document

    path = Path(folder) / "genesis.db"
    if settings.genesis is None:
        copy_development_ledger(path)
    else:
        build_ledger(path, read_genesis_document(settings.genesis))
    return path


def _check_genesis(genesis: str, store: "Store") -> None:
    """Raise `InvalidInput` unless block 0 of the ledger has the state of the genesis file."""
    from feemodel.estimates._chain import read_genesis_document
    from feemodel.ledger.genesis import genesis_root

    root, held = genesis_root(read_genesis_document(genesis), store.scheme.name), store.block(0).root
    if root != held:
        reason = f"expected a ledger of {genesis} with the state root 0x{root.hex()} of block 0"
        raise InvalidInput("store", reason, f"{store.path}, where block 0 has the state root 0x{held.hex()}")


def _checked(loaded: "Loaded", *, ask_nodes: bool) -> dict[str, Any]:
    """Open everything that the server needs, so that errors appear before workers start. Return a description."""
    import asyncio

    import msgspec

    from feemodel.server.service import Service

    async def opened() -> dict[str, Any]:
        service, unready = Service(loaded), []
        if ask_nodes:
            async with service.lifespan():
                if service.ledger is not None:
                    await service.ledger.load()  # compile the kernels, so that a container image can store them
                unready = service.unready()
        shown = {name: _hidden(name, value) for name, value in msgspec.structs.asdict(loaded.settings).items()}
        return {"settings": shown, "methods": sorted(service.methods), "unready": unready}

    return asyncio.run(opened())


def _report(found: dict[str, Any], *, as_json: bool) -> int:
    if as_json:
        print_json(found)
    else:
        for name, value in found["settings"].items():
            print(f"{name:22} {_shown(value)}")
        print(f"\n{len(found['methods'])} methods: {', '.join(found['methods'])}")
        for reason in found["unready"]:
            print(f"not ready: {reason}")
    return 1 if found["unready"] else 0


def _announce(address: str, loaded: "Loaded", options: argparse.Namespace) -> None:
    if options.json:
        from feemodel.ledger.store import Store

        with nullcontext() if loaded.store is None else Store(loaded.store, read_only=True) as opened:
            finalized = None if opened is None else opened.finalized
        print_json({"address": address, "finalized": finalized, "workers": loaded.settings.workers}, flush=True)
    else:
        print(f"{address}: {_source(loaded.settings)}. Stop with Ctrl-C.", flush=True)


def _source(settings: "Settings") -> str:
    for name in ("node", "genesis", "store"):
        value = getattr(settings, name)
        if value is not None:
            return f"answers from {name} {_hidden(name, value)}"
    return "answers from the development chain, block 0 is final"


def _hidden(name: str, value: Any) -> Any:
    """Return a setting for display: a URL is reduced to scheme, host and port."""
    from feemodel.io._address import shown_address
    from feemodel.server.settings import SECRET

    return value if value is None or name not in SECRET else shown_address(value)


def _shown(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value > 9_999 else str(value)
