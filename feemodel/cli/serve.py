"""`feemodel serve`: the JSON-RPC server on a development chain, a genesis, a node or a ledger."""

import inspect
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter

from feemodel.cli.output import Answer, Table, print_json
from feemodel.cli.parameters import flag, text
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.io.address import shown_address
from feemodel.server.settings import DEFAULTS, HELP, SECRET, load_settings

if TYPE_CHECKING:
    from feemodel.server.settings import Settings
    from feemodel.server.workers import Loaded


def serve(
    *,
    config: Annotated[str | None, text("TOML file of settings", "FILE")] = None,
    check: Annotated[bool, flag("check settings and files without asking nodes, print them, and exit")] = False,
    as_json: bool = False,
    **settings: Any,
) -> Answer | int:
    """Settings can also be set in the file, or in the environment as FEEMODEL_NAME. Options take precedence."""
    file = os.environ.get("FEEMODEL_CONFIG") if config is None else config
    if file == "":
        raise InvalidInput("FEEMODEL_CONFIG", "expected a file", file)
    chosen = load_settings(file=file, environment=os.environ, flags=settings)
    from feemodel.server import workers
    from feemodel.server.app import Service

    with tempfile.TemporaryDirectory(prefix="feemodel-") as folder:
        loaded = workers.load(chosen, _store(chosen, folder))
        service = Service(loaded)  # errors appear before workers start
        if check:
            return _description(loaded, sorted(service.methods))
        workers.serve(loaded, ready=lambda address: _announce(address, loaded, as_json=as_json))
    return 0


def _store(settings: "Settings", folder: str) -> Path | None:
    """Return the path of the ledger, after making a ledger if needed; `None` with a node and without a ledger."""
    if settings.store is not None or settings.node is not None:
        return None if settings.store is None else Path(settings.store)
    from feemodel.estimates.chain import build_ledger, copy_development_ledger, read_genesis_document

    path = Path(folder) / "genesis.db"
    if settings.genesis is None:
        copy_development_ledger(path)
    else:
        build_ledger(path, read_genesis_document(settings.genesis))
    return path


def _description(loaded: "Loaded", methods: list[str]) -> Answer:
    """Return the settings and the methods of a server."""
    settings = {name: _shown(name, value) for name, value in msgspec.structs.asdict(loaded.settings).items()}
    table = Table("", [{"setting": name, "value": str(value)} for name, value in settings.items()])
    notes = [f"{len(methods)} methods: {', '.join(methods)}"]
    return Answer({"settings": settings, "methods": methods}, [table], notes)


def _announce(address: str, loaded: "Loaded", *, as_json: bool) -> None:
    if as_json:
        print_json({"address": address, "workers": loaded.settings.workers}, flush=True)
    else:
        given = {name: getattr(loaded.settings, name) for name in ("node", "genesis", "store")}
        named = (f"{name} {_shown(name, value)}" for name, value in given.items() if value is not None)
        source = next(named, "the development chain, block 0 is final")
        print(f"{address}: answers from {source}. Stop with Ctrl-C.", flush=True)


def _shown(name: str, value: Any) -> Any:
    """Return a setting for display: a URL is reduced to scheme, host and port."""
    return value if value is None or name not in SECRET else shown_address(value)


def _option(name: str) -> inspect.Parameter:
    words = HELP[name] + ("" if (default := DEFAULTS[name]) is None else f" (default: {default})")
    kind: Any = Annotated[str | None, text(words, "VALUE")]
    if isinstance(default, bool):
        kind = Annotated[bool | None, Parameter(help=words, negative=f"--no-{name.replace('_', '-')}")]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=None)


*own, _ = inspect.signature(serve).parameters.values()
serve.__signature__ = inspect.Signature([*own, *map(_option, DEFAULTS)])  # type: ignore[attr-defined]
command = verb()(serve)
