"""The commands that still parse their options with argparse."""

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import takewhile
from typing import Any, NoReturn

import feemodel
from feemodel.cli import NO, VERBS, UsageError


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


def parsed(words: Sequence[str]) -> tuple[argparse.Namespace, dict[str, tuple[str, Any]]]:
    """Return the options of a command, and each option that has a value."""
    options, unknown = verb_parser(words).parse_known_args(words)
    if unknown:
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)} (feemodel {words[0]} --help)")
    typed = {
        action.dest: (action.option_strings[0], value)
        for action in options.parser._actions
        if action.option_strings and (value := getattr(options, action.dest, None)) is not None
    }
    return options, typed
