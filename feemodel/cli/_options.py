"""Options of the commands that still parse with argparse."""

import argparse
from collections.abc import Collection
from pathlib import Path

from feemodel.cli.output import new_file
from feemodel.cli.parameters import real_number
from feemodel.ethereum._quantities import from_typed, to_quantity


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the option for the file of a ledger."""
    parser.add_argument("--store", required=True, metavar="FILE", help="ledger file")


def add_out(parser: argparse.ArgumentParser, metavar: str, text: str) -> None:
    """Add the options `--out` and `--overwrite`, which `checked_out` reads."""
    parser.add_argument("--out", metavar=metavar, help=text)
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")


def checked_out(options: argparse.Namespace, suffixes: Collection[str]) -> Path | None:
    """Return the file that `--out` names, or `None` without the option."""
    return new_file("--out", options.out, tuple(suffixes), overwrite=options.overwrite)


def whole_from_0(text: str) -> int:
    """Parse a whole number of at least 0."""
    found = from_typed(text) if len(text) <= 100 else None
    if found is None:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text[:100]!r}")
    if found < 0:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, got {text}")
    return found


def above_0(text: str) -> float:
    """Parse a number above 0."""
    found = real_number(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"expected a number, got {text[:100]!r}")
    if found <= 0:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
    return found


def block(text: str) -> str:
    """Return a block parameter for JSON-RPC. Numbers are converted to hexadecimal quantities; tags are unchanged.

    >>> block("8"), block("0x8"), block("finalized")
    ('0x8', '0x8', 'finalized')
    """
    found = from_typed(text)
    return text if found is None or found < 0 else to_quantity(found)
