"""`feemodel serve`: the JSON-RPC server, from a ledger or from the development genesis."""

import argparse
import tempfile
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

from feemodel.checks import whole_scalar
from feemodel.cli.options import whole_number
from feemodel.cli.output import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="FILE", help="a ledger (the development genesis, block 0 final)")
    parser.add_argument("--host", default="127.0.0.1", help="to listen on (%(default)s)")
    parser.add_argument("--port", type=whole_number, default=8545, help="0 for any that is free (%(default)s)")
    parser.add_argument("--workers", type=whole_number, default=1, help="processes (%(default)s)")


def run(options: argparse.Namespace) -> int:
    from feemodel.ledger.store import Store
    from feemodel.rpc.methods import development_store
    from feemodel.rpc.server import Settings, serve

    whole_scalar("--workers", options.workers, minimum=1)
    for package in ("msgspec", "uvicorn"):
        import_module(package)  # missing ones are told here once, and not by every worker
    scratch = nullcontext(None) if options.store else tempfile.TemporaryDirectory(prefix="feemodel-")
    with scratch as folder:
        store = Path(options.store) if folder is None else Path(folder) / "development.db"
        with Store(store, read_only=True) if folder is None else development_store(store) as opened:
            finalized = opened.finalized
        settings = Settings(store, options.host, options.port, options.workers)
        serve(settings, ready=lambda address: _announce(address, finalized, options))
    return 0


def _announce(address: str, finalized: int | None, options: argparse.Namespace) -> None:
    if options.json:
        print_json({"address": address, "finalized": finalized, "workers": options.workers}, flush=True)
    else:
        newest = "no block is final yet" if finalized is None else f"block {finalized:,} is final"
        print(f"{address}: rollup_getProof, linea_getProof; {newest}. Stop with Ctrl-C.", flush=True)
