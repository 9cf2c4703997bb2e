"""The command line `feemodel COMMAND …`. Run the module of the command, and convert errors to exit codes.

0    success
1    negative result, for the verbs in `NO`
2    invalid input, such as an option, a value or a call
3    a file cannot be read or written
4    an upstream node or cluster failed
70   unexpected error; `--debug` shows the traceback
130  interrupted

An error is printed as one line on standard error.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

import feemodel
from feemodel._extras import install_command
from feemodel.cli._compiled import compiled_kernels
from feemodel.errors import FeeModelError, InvalidInput, InvalidProof, UnreadableFile, UpstreamError

VERBS = {
    "demo": "price real transactions with both fee formulas, compare fees with L1 costs, and draw one figure",
    "fee": "compute the priority fee for a size and a gas limit, with its parts",
    "explain": "explain one transaction or call: size, gas, parts of the fee, and the checks of a node",
    "compare": "price a transaction, a call or a file of them under every rollup's fee rule",
    "report": "price a project's transactions and functions on every chain, with an optional limit for CI",
    "chains": "list the known chains, the dated rows of one chain, or rows not checked for a long time",
    "max-send": "compute the largest value that a balance can send on a rollup, and the amount reserved for fees",
    "sweep": "evaluate a formula over a grid, Sobol points or random draws, as described in a file",
    "backtest": "compute fees and posting costs on real or simulated L1 fees",
    "simulate": "simulate a rollup in a closed loop of prices, demand, posting and the operator's balance",
    "calibrate": "find the smallest margin that keeps the probability of a loss below a bound",
    "forecast": "forecast the distribution of L1 fees: quantiles, paths, a fan chart",
    "recommend": "recommend a chain's fee parameters for a probability of a loss or a margin, from a forecast",
    "sizes": "measure a file of transactions with one or all codecs",
    "train": "train a zstd dictionary on a file of transactions",
    "follow": "import blocks of state changes into a ledger, from files or a node",
    "finalize": "mark a block of a ledger final",
    "ledger": "operate a ledger: info, verify, backup",
    "prove": "prove an account and its storage slots from a ledger",
    "check-proof": "check a proof against a state root and print what it proves",
    "serve": "start the JSON-RPC server",
    "fetch": "download block headers from a node to a Parquet file",
}
#: Meaning of exit code 1, for the commands that can exit with code 1.
NO = {
    "explain": "with --check, a check of the node would reject the transaction",
    "calibrate": "no margin up to --highest is enough",
    "chains": "with --stale, there are rows that were not checked for that many days",
    "report": "a fee is above the limit",
    "check-proof": "the proof is not valid",
    "serve": "with --check, estimates would be rejected",
}
#: Errors of the package whose exit code is not 2.
CODES = {InvalidProof: 1, UnreadableFile: 3, UpstreamError: 4}
UNFORESEEN = 70  # EX_SOFTWARE of sysexits.h
#: Argument of the Python API → attribute of the option in argparse, for options that are not named like the argument.
OPTION_OF = {
    "executor": "dask", "extra_data": "record", "folder": "resume", "horizons": "horizon", "parameter": "set",
    "rate": "arrival_rate", "rule": "only", "storageKeys": "slot", "url": "node", "window_blocks": "window",
}  # fmt: skip
#: Output of `feemodel` without arguments. Each command in the list works without a network, a node or an extra.
FIRST_COMMANDS = """Compute the fees of rollup transactions and compare them with the cost of L1.

Try:
  feemodel fee --size 128 --gas 21000      the fee for 128 compressed bytes and 21,000 gas, with its parts
  feemodel explain '{"to": "0x1111111111111111111111111111111111111111", "data": "0x12345678"}' --gas 46000
                                           the fee of your own call, with its size and its parts
  feemodel compare '{"to": "0x1111111111111111111111111111111111111111", "value": "0x1"}'
                                           the fee of a transfer under every rollup's fee rule
  feemodel demo                            price real transactions and draw one figure, recovery.png

feemodel --help lists every command. feemodel COMMAND --help lists the options of a command.
"""


class UsageError(FeeModelError):
    """Raised for arguments that a command does not accept. The message refers to the `--help` of the command."""


class VerbParser(argparse.ArgumentParser):
    """Argument parser whose errors have one line, and whose help shows the default of each option."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**({"formatter_class": _Help} | options), allow_abbrev=False)
        for action in (None, "store"):
            self.register("action", action, _Once)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words of a command. A misspelt option is reported before a missing option."""
        known = self._option_string_actions
        for word in takewhile("--".__ne__, args if self._subparsers is None else ()):
            name = word.partition("=")[0]  # without the option's value, which may be a password
            if name.startswith("--") and " " not in name and name not in known:
                close = get_close_matches(name, known, 1, 0.7)
                self.error(f"{name}: unknown option{f', did you mean {close[0]}?' if close else ''}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` instead of printing the usage and exiting."""
        raise UsageError(f"{message.removeprefix('argument ')} ({self.prog} --help)")


class _Once(argparse.Action):
    """Store the value of an option that may be given only once. The error omits the value, which may be a password."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        if "" in (values if isinstance(values, list) else [values]):  # as a file name, "" would mean the current folder
            raise argparse.ArgumentError(self, "expected a value, got ''")
        if option_string is not None:
            given = namespace.__dict__.setdefault("_given", set())
            if self.dest in given:
                raise argparse.ArgumentError(self, "expected only once")
            given.add(self.dest)
        setattr(namespace, self.dest, values)


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap each paragraph of one line; a paragraph of several lines is unchanged."""
        paragraphs = text.split("\n\n")
        wrapped = (one if "\n" in one else super(_Help, self)._fill_text(one, width, indent) for one in paragraphs)
        return "\n\n".join(wrapped)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False) or action.default == []:
            return action.help
        return super()._get_help_string(action)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # escape characters that the terminal cannot show
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # show warnings regardless of the interpreter's flags
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
            return _failed(UNFORESEEN, f"unexpected error (--debug shows the traceback): {said}")


def _run(given: Sequence[str]) -> int:
    if not given:
        print(FIRST_COMMANDS, end="")
        return 0
    typed: dict[str, tuple[str, Any]] = {}  # each option that has a value, and the value
    try:
        options, unknown = verb_parser(given).parse_known_args(given)
        if unknown:
            verb = next((one for one in given if one in VERBS), "")
            raise UsageError(f"unrecognized arguments: {' '.join(unknown)} ({f'feemodel {verb}'.rstrip()} --help)")
        typed = {
            action.dest: (action.option_strings[0], value)
            for action in options.parser._actions
            if action.option_strings and (value := getattr(options, action.dest, None)) is not None
        }
        with compiled_kernels():
            return int(options.run(options))
    except FeeModelError as error:
        code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 2)
        return _failed(code, _naming_the_option(error, str(error), typed))
    except MemoryError as error:
        return _failed(2, f"not enough memory: {str(error) or 'reduce the size of the computation'}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "feemodel":
            raise
        return _failed(2, f"{given[0]} needs the package {error.name}: {install_command(error.name)}")
    except BrokenPipeError:  # the reader of a pipe, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        said = f"{error.filename}: {reason}" if error.filename else reason
        return _failed(3, _naming_the_option(error, said, typed))


def _naming_the_option(error: Exception, said: str, typed: Mapping[str, tuple[str, Any]]) -> str:
    """Return the message `said` of an error; name the option that set the argument or the file, if an option did."""
    if isinstance(error, InvalidInput):
        name = error.name.partition("[")[0]
        found = typed.get(OPTION_OF.get(name, name)) or typed.get(name)
        return said if found is None else str(InvalidInput(found[0], error.reason, error.value))
    if isinstance(error, (UnreadableFile, OSError)):
        for option, value in typed.values():
            files = {value, str(Path(value))} if isinstance(value, str) else ()
            if any(said.startswith((f"{file}:", f"{file},", f"{file}/")) for file in files):
                return f"{option} {said}"
    return said


def verb_parser(words: Sequence[str]) -> VerbParser:
    """Return the parser of `feemodel` for the arguments `words`.

    If the first word is a command such as `fee`, the parser contains only this command. Modules of commands that are
    not in `words` are not imported.
    """
    parser = VerbParser(
        prog="feemodel",
        description="Compute the fees of rollup transactions and compare them with the cost of L1.",
        epilog="Every command has --json, --debug and --help.",
    )
    parser.add_argument("--version", action="version", version=f"feemodel {feemodel.__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for verb in words[:1] if words and words[0] in VERBS else VERBS:
        summary = VERBS[verb]
        subparser = subparsers.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if verb in words:
            module = import_module(f"feemodel.cli._{verb.replace('-', '_')}")
            module.add_arguments(subparser)
            subparser.add_argument("--json", action="store_true", help="print one JSON object")
            subparser.add_argument("--debug", action="store_true", help="show the traceback of an unexpected error")
            subparser.set_defaults(run=module.run, parser=subparser)
            subparser.epilog = _with_exit_codes(verb, subparser.epilog)
    return parser


def _with_exit_codes(verb: str, epilog: str | None) -> str:
    if epilog is not None and "exit codes" in epilog.lower():
        return epilog
    no = f"; 1 {NO[verb]}" if verb in NO else ""
    codes = (
        f"Exit codes: 0 success{no}; 2 invalid input; 3 a file cannot be read or written; 4 a node failed; "
        "70 unexpected error."
    )
    return codes if epilog is None else f"{epilog}\n\n{codes}"


def _failed(code: int, error: object) -> int:
    line = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(error))
    print(f"feemodel: {line}", file=sys.stderr)
    return code
