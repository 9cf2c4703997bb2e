"""The command line: `feemodel VERB …`. One module a verb; this one finds it, and turns errors into exit codes.

0    done
1    the answer is no, where a verb is asked for one (`NO` says which)
2    bad input: an option, a value, a call
3    a file that cannot be read or written
4    an upstream node or cluster that failed
70   an unforeseen error; `--debug` shows its traceback
130  interrupted

Whatever fails is one line on standard error.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

import feemodel
from feemodel._extras import install_command
from feemodel.cli._compiled import compiled_kernels
from feemodel.errors import FeeModelError, InvalidProof, UnreadableFile, UpstreamError
from feemodel.io._bounds import showing_progress

VERBS = {
    "demo": "price generated and real transactions in both forms, and show what covers L1",
    "fee": "the priority fee of a size and a gas, in its parts",
    "explain": "one transaction or call: size, gas, every part of the fee, accepted or pending",
    "compare": "a transaction, a call or a file of them under every rollup's fee rule",
    "report": "what a project's transactions and functions pay on every chain, with a limit for CI",
    "chains": "the chains whose rules are known, the dated rows of one, and rows that are long unchecked",
    "padding": "by which factor the fee of now covers the fee some blocks later, chain by chain",
    "rules": "a chain's rule in a form that machines read",
    "max-send": "the largest value that a balance can send on a rollup, and what is held back for fees",
    "sweep": "a formula over a grid, Sobol points or random draws, as a file describes it",
    "backtest": "what users would have paid and what posting would have cost, on real or simulated L1 fees",
    "simulate": "a rollup in a closed loop: prices, demand, posting and the operator's balance act on each other",
    "calibrate": "the smallest margin that keeps the probability of a loss below a bound",
    "forecast": "the distribution of L1 fees ahead: quantiles, paths, a fan chart",
    "recommend": "fee parameters of a chain for a loss probability or a margin, from a forecast",
    "sizes": "measure a file of transactions under every codec",
    "train": "train a zstd dictionary on a file of transactions",
    "replay": "real blocks executed again: gas, estimates and fees next to the recorded ones",
    "follow": "blocks of state changes into a ledger, from files or a node",
    "finalize": "mark a block of a ledger final",
    "ledger": "what an operator does with a ledger: info, verify, backup, prune, export, rollback",
    "prove": "a proof of an account and its slots from a ledger",
    "check-proof": "whether a proof holds under a state root, and what it proves",
    "serve": "the JSON-RPC server",
    "mcp": "the tools explain, compare, max_send, chains and forecast over the Model Context Protocol",
    "fetch": "block headers of a node into a Parquet file",
}
#: What the exit code 1 says, of the verbs that have one.
NO = {
    "explain": "with --check, some stage would not accept the transaction",
    "calibrate": "no margin up to --highest keeps the bound",
    "chains": "with --stale, a row was not checked for so long",
    "report": "a fee is above the limit",
    "replay": "a transaction did not come out as recorded",
    "check-proof": "the proof does not hold",
    "serve": "with --check, estimates would be refused",
}
#: Errors of the package whose exit code is not 2.
CODES = {InvalidProof: 1, UnreadableFile: 3, UpstreamError: 4}
UNFORESEEN = 70  # EX_SOFTWARE of sysexits.h
#: What `feemodel` without a verb prints; each command works without a network, a node or an extra.
FIRST_COMMANDS = """What must this rollup transaction pay, and will that pay for L1?

Try:
  feemodel fee --size 128 --gas 21000      the fee of 128 compressed bytes over 21,000 gas, part by part
  feemodel explain '{"to": "0x1111111111111111111111111111111111111111", "data": "0x12345678"}' --gas 46000
                                           the fee of your own call, measured, part by part, and what a wallet sets
  feemodel compare '{"to": "0x1111111111111111111111111111111111111111", "value": "0x1"}'
                                           the same transfer under every rollup's fee rule
  feemodel demo --out feemodel-demo        prices real and generated transactions, and draws three figures

feemodel --help lists every verb; feemodel VERB --help its options.
"""


class UsageError(FeeModelError):
    """Arguments that a verb does not take; the message names the verb whose `--help` lists them."""


class VerbParser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose help ends every option with its real default."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**({"formatter_class": _Help} | options), allow_abbrev=False)
        for action in (None, "store"):
            self.register("action", action, _Once)

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` in one line, in place of the usage and an exit."""
        raise UsageError(f"{message.removeprefix('argument ')} ({self.prog} --help)")


class _Once(argparse.Action):
    """Store the value of an option; an error if it is given twice, without the value: it may be a password."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if option_string is not None:
            given = namespace.__dict__.setdefault("_given", set())
            if self.dest in given:
                raise argparse.ArgumentError(self, "expected once")
            given.add(self.dest)
        setattr(namespace, self.dest, values)


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Paragraphs wrapped, except those that have lines of their own."""
        paragraphs = text.split("\n\n")
        wrapped = (one if "\n" in one else super(_Help, self)._fill_text(one, width, indent) for one in paragraphs)
        return "\n\n".join(wrapped)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False) or action.default == []:
            return action.help
        text = super()._get_help_string(action) or ""
        return text.replace("(default: %(default)s)", "(%(default)s)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without our signs, a file name that is no text
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # a line on standard error each, whatever the interpreter's flags
        warnings.showwarning = lambda message, *_: print(f"feemodel: warning: {message}", file=sys.stderr)
        try:
            return _run(given)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130
        except Exception as error:
            if "--debug" in given:
                raise
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return _failed(UNFORESEEN, f"unforeseen error, --debug shows where: {said}")


def _run(given: Sequence[str]) -> int:
    if not given:
        print(FIRST_COMMANDS, end="")
        return 0
    try:
        options, unknown = verb_parser(given).parse_known_args(given)
        if unknown:
            verb = next((one for one in given if one in VERBS), "")
            raise UsageError(f"unrecognized arguments: {' '.join(unknown)} ({f'feemodel {verb}'.rstrip()} --help)")
        with compiled_kernels(), showing_progress(True):
            return int(options.run(options))
    except FeeModelError as error:
        return _failed(next((code for kind, code in CODES.items() if isinstance(error, kind)), 2), error)
    except MemoryError as error:
        return _failed(2, f"not enough memory: {str(error) or 'ask for less at once'}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "feemodel":
            raise
        return _failed(2, f"{given[0]} needs the package {error.name}: {install_command(error.name)}")
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return _failed(3, f"{error.filename}: {reason}" if error.filename else reason)


def verb_parser(words: Sequence[str]) -> VerbParser:
    """The parser of `feemodel`, with the options of the verbs named: the others' modules need not be loaded.

    Where the first word is a verb, no other is listed: each parser takes as long to make.
    """
    parser = VerbParser(
        prog="feemodel",
        description="What must this rollup transaction pay, and will that pay for L1?",
        epilog="Every verb takes --json, --debug and --help.",
    )
    parser.add_argument("--version", action="version", version=f"feemodel {feemodel.__version__}")
    subparsers = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in words[:1] if words and words[0] in VERBS else VERBS:
        summary = VERBS[verb]
        subparser = subparsers.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if verb in words:
            module = import_module(f"feemodel.cli._{verb.replace('-', '_')}")
            module.add_arguments(subparser)
            subparser.add_argument("--json", action="store_true", help="print one JSON object")
            subparser.add_argument("--debug", action="store_true", help="show the traceback of an unforeseen error")
            subparser.set_defaults(run=module.run)
            subparser.epilog = _with_exit_codes(verb, subparser.epilog)
    return parser


def _with_exit_codes(verb: str, epilog: str | None) -> str:
    if epilog is not None and "exit codes" in epilog.lower():
        return epilog
    no = f", 1 {NO[verb]}" if verb in NO else ""
    codes = f"Exit codes: 0 done{no}, 2 bad input, 3 a file, 4 a node, 70 unforeseen."
    return codes if epilog is None else f"{epilog}\n\n{codes}"


def _failed(code: int, error: object) -> int:
    line = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(error))
    print(f"feemodel: {line}", file=sys.stderr)
    return code
