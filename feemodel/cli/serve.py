"""`feemodel serve`: the JSON-RPC server on a development chain, a genesis, a node or a ledger."""

import inspect
import os
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from feemodel._extras import need
from feemodel.cli.output import Answer, Table, print_json
from feemodel.cli.parameters import flag, text
from feemodel.cli.verb import Verb, verb
from feemodel.errors import InvalidInput

if TYPE_CHECKING:
    from feemodel.ledger.store import Store
    from feemodel.server.loaded import Loaded
    from feemodel.server.settings import Settings


def __getattr__(name: str) -> Verb:
    """Return the command, whose options are the settings of the server."""
    if name != "command":
        raise AttributeError(name)
    need("serve", "uvicorn")
    serve.__signature__ = inspect.Signature(_options())  # type: ignore[attr-defined]
    return verb()(serve)


def _options() -> list[inspect.Parameter]:
    from feemodel.server.settings import DEFAULTS, HELP

    kinds: dict[str, Any] = {
        "config": Annotated[str | None, text("TOML file of settings", "FILE")],
        "check": Annotated[bool, flag("check settings and files without asking nodes, print them, and exit")],
    }
    for name, default in DEFAULTS.items():
        words = HELP[name] + ("" if default is None else f" (default: {_shown(default)})")
        if isinstance(default, bool):
            negative = f"--no-{name.replace('_', '-')}"
            kinds[name] = Annotated[bool | None, Parameter(help=words, negative=negative)]
        else:
            kinds[name] = Annotated[str | None, text(words, "…")]
    kinds["as_json"] = bool
    absent = {"check": False, "as_json": False}
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=absent.get(name))
        for name, kind in kinds.items()
    ]


def serve(*, config: str | None = None, check: bool = False, as_json: bool = False, **settings: Any) -> Answer | int:
    """Start the JSON-RPC server.

    Settings can also be set in the file, or in the environment as FEEMODEL_NAME. Options take precedence.
    """
    from feemodel.server.settings import load_settings

    file = os.environ.get("FEEMODEL_CONFIG") if config is None else config
    if file == "":
        raise InvalidInput("FEEMODEL_CONFIG", "expected a file", file)
    chosen = load_settings(file=file, environment=os.environ, flags=settings)
    from feemodel.server import workers
    from feemodel.server.loaded import load
    from feemodel.server.service import Service

    is_new = chosen.store is None and chosen.node is None
    with tempfile.TemporaryDirectory(prefix="feemodel-") if is_new else nullcontext() as folder:
        loaded = load(chosen, _store(chosen, folder))
        service = Service(loaded)  # errors appear before workers start
        if check:
            return _description(loaded, sorted(service.methods))
        workers.serve(loaded, ready=lambda address: _announce(address, loaded, as_json=as_json))
    return 0


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
    from feemodel.estimates.chain import build_ledger, copy_development_ledger, read_genesis_document

    path = Path(folder) / "genesis.db"
    if settings.genesis is None:
        copy_development_ledger(path)
    else:
        build_ledger(path, read_genesis_document(settings.genesis))
    return path


def _check_genesis(genesis: str, store: "Store") -> None:
    """Raise `InvalidInput` unless block 0 of the ledger has the state of the genesis file."""
    from feemodel import ledger
    from feemodel.estimates.chain import read_genesis_document
    from feemodel.ledger.files import parse_genesis

    with (
        tempfile.TemporaryDirectory(prefix="feemodel-") as folder,
        ledger.Store(Path(folder) / "ledger.db", hashing=store.scheme.name) as own,
    ):
        root, held = ledger.import_genesis(own, parse_genesis(read_genesis_document(genesis))).root, store.block(0).root
    if root != held:
        reason = f"expected a ledger of {genesis} with the state root 0x{root.hex()} of block 0"
        raise InvalidInput("store", reason, f"{store.path}, where block 0 has the state root 0x{held.hex()}")


def _description(loaded: "Loaded", methods: list[str]) -> Answer:
    """Return the settings and the methods of a server."""
    import msgspec

    shown = {name: _hidden(name, value) for name, value in msgspec.structs.asdict(loaded.settings).items()}
    table = Table("", ("setting", "value"), [(name, _shown(value)) for name, value in shown.items()], left=2)
    return Answer({"settings": shown, "methods": methods}, [table], [f"{len(methods)} methods: {', '.join(methods)}"])


def _announce(address: str, loaded: "Loaded", *, as_json: bool) -> None:
    if as_json:
        print_json({"address": address, "workers": loaded.settings.workers}, flush=True)
    else:
        given = {name: getattr(loaded.settings, name) for name in ("node", "genesis", "store")}
        named = (f"{name} {_hidden(name, value)}" for name, value in given.items() if value is not None)
        source = next(named, "the development chain, block 0 is final")
        print(f"{address}: answers from {source}. Stop with Ctrl-C.", flush=True)


def _hidden(name: str, value: Any) -> Any:
    """Return a setting for display: a URL is reduced to scheme, host and port."""
    from feemodel.io.address import shown_address
    from feemodel.server.settings import SECRET

    return value if value is None or name not in SECRET else shown_address(value)


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) and value > 9_999 else str(value)
