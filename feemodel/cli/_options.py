"""Options that several commands share."""

import argparse
import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, replace
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI, MINIMUM
from feemodel.ethereum._quantities import from_hex, from_typed, to_quantity
from feemodel.ethereum._transaction import FORMS
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.parameters import DEFAULT_PRESET, LINEA_PRESETS, LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost, form_of

if TYPE_CHECKING:
    from feemodel.io._finished import FinishedFolder
    from feemodel.sizes._codecs import Codec


class MissingOption(InvalidInput):
    """Raised if a required option is missing. The error message says why the option is required."""

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def add_pricing(parser: argparse.ArgumentParser) -> None:
    """Add the pricing options: a preset, and single costs that replace the costs of the preset."""
    group = parser.add_argument_group("pricing")
    group.add_argument("--pricing", default=CostPerByte.name, choices=(CostPerByte.name, VerificationCost.name),
                       help="formula of the fee")  # fmt: skip
    group.add_argument("--preset", default=DEFAULT_PRESET, help=f"preset of costs: one of {', '.join(LINEA_PRESETS)}")
    group.add_argument(
        "--record", metavar="HEX", help="pricing record (extraData) of a block, which replaces the costs of the preset"
    )
    group.add_argument("--margin", type=number, help="margin of the estimate (default: of the preset)")
    group.add_argument("--base-fee", type=whole_from_0, metavar="WEI", help="base fee (default: of the preset)")
    group.add_argument(
        "--variable-cost", type=whole_from_0, metavar="WEI", help="cost per compressed byte (default: of the preset)"
    )
    group.add_argument(
        "--fixed-cost", type=whole_from_0, metavar="WEI", help="fixed cost per gas (default: of the preset)"
    )
    group.add_argument(
        "--min-gas-price", type=whole_from_0, metavar="WEI", help="minimum gas price, only for verification-cost"
    )
    group.add_argument(
        "--verification-gas-cost",
        type=whole_from_0,
        metavar="GAS",
        help="L1 gas to verify a submission, only for verification-cost",
    )
    group.add_argument(
        "--verification-capacity",
        type=whole_from_0,
        metavar="BYTES",
        help="bytes of a submission, only for verification-cost",
    )
    group.add_argument(
        "--gas-price-ratio",
        type=number,
        metavar="L1/L2",
        help="L1 gas price / L2 gas price, only for verification-cost",
    )


def read_pricing(options: argparse.Namespace) -> tuple[LineaPreset, Form]:
    """Return the preset and the fee form that the options name. Options replace single values of the preset."""
    preset = linea_preset(options.preset)
    if options.record is not None:
        record = PricingRecord.from_bytes(from_hex(options.record, "--record"))
        preset = replace(preset, **asdict(record))
    if options.margin is not None:
        preset = replace(preset, estimate_margin=options.margin)
    form = form_of(options.pricing, preset)
    costs = {
        CostPerByte.name: ("variable_cost", "fixed_cost"),
        VerificationCost.name: (
            "min_gas_price", "verification_gas_cost", "verification_capacity", "gas_price_ratio",
        ),
    }  # fmt: skip
    for other in set(costs) - {options.pricing}:
        for cost in costs[other]:
            if getattr(options, cost) is not None:
                reason = f"expected only with --pricing {other}"
                raise InvalidInput("--" + cost.replace("_", "-"), reason, getattr(options, cost))
    given = {name: getattr(options, name) for name in ("base_fee", *costs[options.pricing])}
    return preset, replace(form, **{name: value for name, value in given.items() if value is not None})  # type: ignore[type-var]


def add_codec(parser: argparse.ArgumentParser) -> None:
    """Add the options for measuring a compressed size."""
    group = parser.add_argument_group("size")
    group.add_argument(
        "--codec", default="zstd", help="codec that measures the size: zstd, brotli, deflate, fastlz, or lzss"
    )
    group.add_argument("--dictionary", metavar="FILE", help="dictionary, required for lzss and optional for zstd")
    group.add_argument(
        "--packed", action="store_true", help="round the size up to whole 32-byte field elements of a blob"
    )


def read_codec(options: argparse.Namespace) -> "Codec":
    """Return the codec that the options name."""
    from feemodel.estimates import _codec_file as codec_file

    if options.codec == "lzss" and options.dictionary is None:
        raise InvalidInput("--codec", "lzss needs --dictionary FILE (docs/guide/sizes.md names the file)", "lzss")
    if options.dictionary is not None and options.codec not in ("lzss", "zstd"):
        raise InvalidInput("--dictionary", "expected only with --codec lzss or zstd", options.dictionary)
    return codec_file.read_codec(options.codec, options.dictionary)


REAL = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)
LONGEST = 100  # maximum number of digits of a number


def default_of(function: Callable[..., Any], parameter: str) -> Any:
    """Return the default of a parameter of the Python API, as the default of the option for this parameter.

    >>> default_of(linea_preset, "name") == DEFAULT_PRESET
    True
    """
    return signature(function).parameters[parameter].default


def add_form(parser: argparse.ArgumentParser) -> None:
    """Add the option for the encoding that is measured."""
    parser.add_argument(
        "--form", default="sender_unsigned", choices=FORMS, help="encoding of which the size is measured"
    )


def add_l1(parser: "argparse.ArgumentParser | argparse._ArgumentGroup", text: str) -> None:
    """Add the options for a history of L1 fees."""
    parser.add_argument("--l1", metavar="FILE", help=text)
    parser.add_argument("--l1-columns", action="append", default=[], metavar="FIELD=NAME[:gwei]",
                        help="name (and unit) of the column of --l1 that contains FIELD; may be repeated")  # fmt: skip


def add_l1_fees(parser: "argparse.ArgumentParser | argparse._ArgumentGroup", text: str) -> None:
    """Add the options for the L1 base fee and the blob base fee."""
    parser.add_argument("--l1-base-fee", type=l1_base_fee, metavar="WEI", help=f"L1 base fee {text}")
    parser.add_argument("--blob-base-fee", type=whole_from_0, metavar="WEI", help=f"blob base fee {text}")


def add_executor(parser: argparse.ArgumentParser, *, dask: bool = True) -> None:
    """Add the options for the executor of a simulation."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--executor", choices=("threads", "processes"), default="threads", help="executor of the tasks")
    if dask:
        where.add_argument("--dask", metavar="ADDRESS", help="address of a Dask scheduler, such as tcp://host:8786")
    parser.add_argument(
        "--workers", type=count, help="number of threads or processes (default: the number of processors)"
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add the option for the file of a ledger."""
    parser.add_argument("--store", required=True, metavar="FILE", help="ledger file")


def add_resume(parser: argparse.ArgumentParser, parts: str) -> None:
    """Add `--resume`, for results that are stored in parts."""
    told = f"existing folder for finished {parts}; {parts} that are already in the folder are not computed again"
    parser.add_argument("--resume", metavar="FOLDER", help=told)


def checked_resume(options: argparse.Namespace) -> "FinishedFolder | None":
    """Return the folder of `--resume`, or `None` without the option; raises `InvalidInput` for a missing folder."""
    from feemodel.io._finished import FinishedFolder

    if options.resume is None:
        return None
    if not Path(options.resume).is_dir():
        raise InvalidInput("--resume", "expected a folder that exists", options.resume)
    return FinishedFolder(options.resume)


def whole_number(text: str) -> int:
    """Parse an integer: `30000000`, `30_000_000`, `30,000,000` or `0x1c9c380`.

    >>> whole_number("30,000,000")
    30000000
    """
    number = from_typed(text) if len(text) <= LONGEST else None
    if number is None:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text[:LONGEST]!r}")
    return number


def count(text: str) -> int:
    """Parse a whole number of at least 1."""
    return _of_at_least(1, whole_number(text), text)


def whole_from_0(text: str) -> int:
    """Parse a whole number of at least 0."""
    return _of_at_least(0, whole_number(text), text)


def l1_base_fee(text: str) -> int:
    """Parse an L1 base fee in wei. Numbers from 1 to 999 are refused, because they are probably in gwei."""
    fee = whole_from_0(text)
    if 0 < fee < MINIMUM["base_fee"]:
        raise argparse.ArgumentTypeError(f"expected at least 1,000 ({IN_WEI}), got {text}")
    return fee


def block(text: str) -> str:
    """Return a block parameter for JSON-RPC. Numbers are converted to hexadecimal quantities; tags are unchanged.

    >>> block("8"), block("0x8"), block("finalized")
    ('0x8', '0x8', 'finalized')
    """
    found = from_typed(text)
    return text if found is None or found < 0 else to_quantity(found)


def number(text: str) -> float:
    """Parse a finite decimal number.

    >>> number("1.2e3")
    1200.0
    """
    found = float(text) if len(text) <= LONGEST and REAL.fullmatch(text) else math.inf
    if not math.isfinite(found):
        raise argparse.ArgumentTypeError(f"expected a number, got {text[:LONGEST]!r}")
    return found


def above_0(text: str) -> float:
    """Parse a number above 0."""
    found = number(text)
    if found <= 0:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
    return found


def _of_at_least(minimum: int, found: int, text: str) -> int:
    if found < minimum:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least {minimum}, got {text}")
    return found


def check_known(where: str, asked: Any, known: Collection[str]) -> None:
    """Raise `InvalidInput` for an unknown name; the message shows the most similar known name."""
    if isinstance(asked, str) and asked in known:
        return
    if close := get_close_matches(str(asked), known, 1, 0.5):
        raise InvalidInput(where, f"unknown name, did you mean {close[0]}?", asked)
    raise InvalidInput(
        where, f"expected one of {', '.join(known)}" if len(known) <= 20 else "expected a known name", asked
    )


def whole_numbers(name: str, text: str, example: str) -> list[int]:
    """Parse whole numbers of at most 18 digits, separated by commas.

    >>> whole_numbers("--blocks", "1,5", "1,5,20")
    [1, 5]
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) <= 18 for part in parts):
        raise InvalidInput(name, f"expected whole numbers such as {example}", text)
    return [int(part) for part in parts]


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """Add the option that sets a parameter of a chain."""
    parser.add_argument(
        "--set", metavar="PARAMETER=VALUE", action="append", default=[],
        help="set a parameter of the chain; may be repeated",
    )  # fmt: skip


def given_parameters(texts: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of `--set PARAMETER=VALUE`.

    >>> given_parameters(["base_fee_scalar=20000"])
    {'base_fee_scalar': 20000}
    """
    from feemodel.rollups.chains import parse_parameter

    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InvalidInput("--set", "expected PARAMETER=VALUE, such as base_fee_scalar=20000", text)
        found[name] = parse_parameter(name, value)
    return found
