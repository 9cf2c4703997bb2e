"""The command line: `feemodel VERB …`. One module a verb; this one finds it, and turns errors into exit codes.

0    done
1    the answer is no: a transaction that some stage would not accept (`explain --check`)
2    bad input: an option, a value, a call
3    a file that cannot be read or written
4    an upstream node that failed
130  interrupted
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

import feemodel
from feemodel.errors import FeeModelError, InvalidProof, UnreadableFile, UpstreamError

VERBS = {
    "demo": "price generated and real transactions in both forms, and show what covers L1",
    "fee": "the priority fee of a size and a gas, in its parts",
    "explain": "one transaction or call: size, gas, every part of the fee, accepted or pending",
    "compare": "a transaction, a call or a file of them under every rollup's fee rule",
    "sweep": "a formula over a grid, Sobol points or random draws, as a file describes it",
    "backtest": "what users would have paid and what posting would have cost, on real or simulated L1 fees",
    "calibrate": "the smallest margin that keeps the probability of a loss below a bound",
    "sizes": "measure a file of transactions under every codec",
    "train": "train a zstd dictionary on a file of transactions",
    "replay": "real blocks executed again: gas, estimates and fees beside the recorded ones",
    "follow": "blocks of state changes into a ledger, from files or a node",
    "finalize": "mark a block of a ledger final",
    "status": "a ledger's head, final block, finality rule, accounts and size; nothing is written",
    "scrub": "check every row of a ledger against its hashes",
    "prove": "a proof of an account and its slots from a ledger",
    "check-proof": "whether a proof holds under a state root, and what it proves",
    "serve": "the JSON-RPC server",
    "fetch": "block headers of a node into a Parquet file",
}
#: Packages that come with extras. A server executes too; `fast` is left out, for it is not made for every Python.
EXTRAS = {
    **dict.fromkeys(("uvloop", "msgspec", "prometheus_client"), "serve,execution"),
    "ethereum": "execution",
    "distributed": "dask",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(f"feemodel: warning: {message}", file=sys.stderr)
        return _run(given)


def _run(given: Sequence[str]) -> int:
    try:
        options = _parser(given).parse_args(given)
        return int(options.run(options))
    except InvalidProof as error:
        return _failed(1, error)
    except UpstreamError as error:
        return _failed(4, error)
    except UnreadableFile as error:
        return _failed(3, error)
    except FeeModelError as error:
        return _failed(2, error)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("feemodel"):
            raise
        extras = EXTRAS.get(error.name.partition(".")[0])
        remedy = f"pip install 'feemodel[{extras}]'" if extras else f"pip install {error.name}"
        return _failed(2, f"{given[0]} needs the package {error.name}: {remedy}")
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return _failed(3, f"{error.filename}: {reason}" if error.filename else reason)


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="feemodel",
        description="What must this rollup transaction pay, and will that pay for L1?",
        epilog="Every verb takes --json and --help.",
    )
    parser.add_argument("--version", action="version", version=f"feemodel {feemodel.__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb, summary in VERBS.items():
        subparser = verbs.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if verb in given:  # the other verbs' modules need not be loaded
            module = import_module(f"feemodel.cli.{verb.replace('-', '_')}")
            module.add_arguments(subparser)
            subparser.add_argument("--json", action="store_true", help="print one JSON object")
            subparser.set_defaults(run=module.run)
    return parser


def _failed(code: int, error: object) -> int:
    print(f"feemodel: {error}", file=sys.stderr)
    return code
