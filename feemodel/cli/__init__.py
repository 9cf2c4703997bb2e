"""The command line `feemodel COMMAND …`. Run the module of the command; an error is one line and an exit code."""

import inspect
import os
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import is_dataclass
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import feemodel
from feemodel._extras import install_command, need
from feemodel.errors import FeeModelError, InvalidInput, InvalidProof, UnknownParameter, UnreadableFile, UpstreamError

if TYPE_CHECKING:
    from cyclopts import App

VERBS = {
    "demo": "price real transactions with both fee formulas, and compare fees with L1 costs",
    "fee": "compute the priority fee for a size and a gas limit, with its parts",
    "explain": "explain one transaction or call: size, gas, parts of the fee, and the checks of a node",
    "compare": "price a transaction, a call or a file of them under every rollup's fee rule",
    "report": "price a project's transactions on every chain, with an optional limit for CI",
    "chains": "list the known chains, or the dated rows of one chain",
    "max-send": "compute the largest value that a balance can send on a rollup, and the amount reserved for fees",
    "sweep": "evaluate a formula over a grid, Sobol points or random draws, as described in a file",
    "backtest": "compute fees and posting costs on real or simulated L1 fees",
    "simulate": "simulate a rollup in a closed loop of prices, demand, posting and the operator's balance",
    "calibrate": "find the smallest margin that keeps the probability of a loss below a bound",
    "forecast": "forecast the distribution of L1 fees: quantiles, paths, a fan chart",
    "recommend": "recommend a chain's fee parameters for a probability of a loss, from a forecast",
    "sizes": "measure a file of transactions with one or all codecs",
    "train": "train a zstd dictionary on a file of transactions",
    "follow": "import blocks of state changes into a ledger, from files or a node",
    "finalize": "mark a block of a ledger final",
    "ledger": "operate a ledger: print its contents, check every row against its hashes, or copy it",
    "prove": "prove an account and its storage slots from a ledger",
    "check-proof": "check a proof against a state root and print what it proves",
    "serve": "start the JSON-RPC server",
    "earnings": "compare what each transaction of a rollup paid with its share of the cost of posting it on L1",
    "fetch": "download block headers from a node to a Parquet file, and tips and blob base fees if asked",
}
#: Verb → module, where the module has several verbs.
MODULES = {
    "calibrate": "backtest", "chains": "compare", "check-proof": "ledger", "fetch": "earnings", "finalize": "ledger",
    "follow": "ledger", "max-send": "compare", "prove": "ledger", "recommend": "forecast", "report": "compare",
    "simulate": "backtest", "train": "sizes",
}  # fmt: skip
EXIT_CODES = (
    "Exit codes: 0 success; 1 the answer is no, such as no margin, a fee above the limit, no valid proof; "
    "2 invalid input; 3 a file cannot be read or written; 4 a node failed; 70 unexpected error; 130 interrupted."
)
#: Errors of the package whose exit code is not 2.
CODES = {InvalidProof: 1, UnreadableFile: 3, UpstreamError: 4}
#: Argument of the Python API → parameter of the command, where the two differ.
OPTION_OF = {
    "alloc": "genesis", "balance_wei": "balance", "base_fee": "l1_base_fee", "block_seconds": "block_hours",
    "extra_data": "record", "folder": "resume", "gas_limit": "gas", "horizons": "horizon",
    "max_priority_fee": "priority_fee", "parameter": "set", "rate": "arrival_rate", "rng": "seed", "rule": "only",
    "storageKeys": "slot", "submission": "execution_gas", "url": "node",
}  # fmt: skip
UNFORESEEN = 70  # EX_SOFTWARE of sysexits.h
STDIN = "/dev/stdin"  # "-" on the command line


class UsageError(FeeModelError):
    """Raised for arguments that a command does not accept. The message refers to the `--help` of the command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # escape characters that the terminal cannot show
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)  # show warnings regardless of the interpreter's flags
        warnings.showwarning = lambda message, *_: print(f"feemodel: warning: {message}", file=sys.stderr)
        parsed: list[inspect.BoundArguments] = []  # the arguments of the command, for errors
        try:
            code = _command(words, parsed)
            sys.stdout.flush()  # report a full disk here, not at interpreter exit
            return code
        except KeyboardInterrupt:
            folder = parsed[0].arguments.get("resume") if parsed else None
            kept = f"; {folder} keeps the finished parts, and the same command continues" if folder else ""
            return _failed(130, f"interrupted{kept}")
        except FeeModelError as error:
            code = next((code for kind, code in CODES.items() if isinstance(error, kind)), 2)
            return _failed(code, _naming_the_option(error, str(error), parsed))
        except MemoryError as error:
            return _failed(2, f"not enough memory: {str(error) or 'reduce the size of the computation'}")
        except OSError as error:
            try:
                sys.stdout.flush()
            except OSError:  # drop what cannot be printed, so that it is not tried again
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):  # the reader of a pipe, such as head, has closed the pipe
                return 0
            reason = (error.strerror or str(error)).lower()
            reason = f"{error.filename}: {reason}" if error.filename else reason
            return _failed(3, _naming_the_option(error, reason, parsed))
        except Exception as error:
            package = error.name if isinstance(error, ModuleNotFoundError) else None
            if package is not None and package.partition(".")[0] != "feemodel":
                return _failed(2, f"{words[0]} needs the package {package}: {install_command(package)}")
            if "--debug" in words:
                raise
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return _failed(UNFORESEEN, f"unexpected error (--debug shows the traceback): {said}")


def _command(words: list[str], parsed: list[inspect.BoundArguments]) -> int:
    """Run a command, and put its arguments into `parsed`; return the exit code."""
    name, *rest = words or ["--help"]
    if name in ("--version", "--help", "-h"):
        print(f"feemodel {feemodel.__version__}" if name == "--version" else _listing())
        return 0
    if name not in VERBS:
        close = get_close_matches(name, VERBS, 1, 0.6)
        raise UsageError(f"{name}: unknown command{f', did you mean {close[0]}?' if close else ''} (feemodel --help)")
    app = verb_of(name)
    from cyclopts import CycloptsError

    tokens = [STDIN if word == "-" else word for word in rest]
    try:
        command, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        said = error.__cause__ if isinstance(error.__cause__, InvalidInput) else str(error).rstrip(".")
        raise UsageError(f"{said} (feemodel {name} --help)") from None
    parsed.append(bound)
    return command(*bound.args, **bound.kwargs) or 0


def verb_of(name: str) -> "App":
    """Return the command with this name. Modules of other commands are not imported."""
    if name == "serve":
        need("serve", "uvicorn")  # the package that no other extra installs; the module imports others before
    module = import_module(f"feemodel.cli.{MODULES.get(name, name).replace('-', '_')}")
    return getattr(module, name.replace("-", "_") if name in MODULES else "command")  # type: ignore[no-any-return]


def _listing() -> str:
    rows = (fill(f"  {name:12} {summary}", 79, subsequent_indent=" " * 15) for name, summary in VERBS.items())
    first = "Usage: feemodel COMMAND …\n\nCompute the fees of rollup transactions and compare them with the cost of L1."
    last = "Every command has --json, --debug and --help. feemodel --version prints the version."
    return "\n".join([first, "", *rows, "", last])


def _failed(code: int, error: object) -> int:
    line = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(error))
    print(f"feemodel: {line}", file=sys.stderr)
    return code


def _naming_the_option(error: Exception, said: str, parsed: Sequence[inspect.BoundArguments]) -> str:
    """Return an error's message, with the option, if any, that set the argument or the file."""
    if isinstance(error, UnknownParameter):
        example = " ".join(f"--set {error.chain}.{name}=VALUE" for name in error.parameters[:2])
        return f"{error.chain}: {error.reason}; to give them: {example}{' …' * (len(error.parameters) > 2)}"
    typed: dict[str, tuple[str, Any]] = {}  # parameter with a value → its option, and the value
    for bound in parsed:
        for name, value in bound.arguments.items():
            is_option = bound.signature.parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY
            for key, own in (vars(value) if is_dataclass(value) else {name: value}).items():
                typed[key] = f"--{key.replace('_', '-')}" if is_option else key, own
    if isinstance(error, InvalidInput):
        whole = error.name.partition("[")[0]
        name = re.split("[. ]", whole)[0]
        option = typed.get(name) or typed.get(OPTION_OF.get(name, name))
        return said if option is None else str(type(error)(option[0] + whole[len(name) :], error.reason, error.value))
    for named, value in typed.values():
        files = {value, str(Path(value))} if isinstance(value, str) else ()
        if named.startswith("--") and any(said.startswith((f"{file}:", f"{file},", f"{file}/")) for file in files):
            return f"{named} {said}"
    return said
