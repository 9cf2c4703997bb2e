"""The table of parameters: name, quantity and help of every option, once; defaults are those of the Python API.

An option's type is `Annotated[type, whole(…)]`, or `real(…)`, `text(…)`, `one_of(…)`; a `Quantity` gives the unit and
the bounds. Options that several commands share are dataclasses, whose fields cyclopts turns into options.
"""

import inspect
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_origin

from cyclopts import Parameter, Token

from feemodel import quantities
from feemodel.cli.output import HOUR
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_GWEI, from_hex, from_typed
from feemodel.ethereum._transaction import FORMS
from feemodel.linea.parameters import DEFAULT_PRESET, LINEA_PRESETS, LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost
from feemodel.quantities import MEANINGS, Quantity, quantity_of

if TYPE_CHECKING:
    import xarray

    from feemodel.sizes._codecs import Codec

BLOCK_HOURS = 24.0  # length of the blocks of the bootstrap; blocks of one day preserve most of the daily cycle
FLAT = Parameter(name="*")  # the fields of a dataclass are options of their own
LONGEST = 100  # maximum number of characters of a number
REAL = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.IGNORECASE)


def default_of(function: Callable[..., Any], parameter: str) -> Any:
    """Return the default of a parameter of the Python API, as the default of the option for this parameter."""
    return inspect.signature(function).parameters[parameter].default


def number(quantity: Any, words: str = "", *, default: str = "", **options: Any) -> Parameter:
    """Return the parameter of a quantity, given as `Quantity` or as the annotation of a formula's argument."""
    known = quantity if isinstance(quantity, Quantity) else quantity_of(quantity)
    assert known is not None

    def read(name: str, typed: str) -> int | float:
        short = typed if len(typed) <= LONGEST else ""
        found = from_typed(short) if not known.double else float(short) if REAL.fullmatch(short) else None
        if found is None or abs(found) == math.inf:
            raise InvalidInput(name, f"expected a {'' if known.double else 'whole '}number", typed[:LONGEST])
        return known.check(name, found)  # type: ignore[no-any-return]

    unit = "" if known.unit == "1" else f" [{known.unit}]"
    where = f" (default: {default})" if default else ""
    return option(read, (words or known.words) + where + unit, **options)


def whole(words: str, unit: str = "1", *, minimum: int = 0, maximum: int | None = None, **options: Any) -> Parameter:
    """Return the parameter of a whole number: `30000000`, `30_000_000`, `30,000,000` or `0x1c9c380`."""
    return number(Quantity(unit, words, minimum=minimum, maximum=maximum), **options)


def real(words: str, unit: str = "1", *, above: Literal[0] | None = None, least: int | None = None) -> Parameter:
    """Return a parameter for a finite number, above 0 or at least `least`."""
    return number(Quantity(unit, words, minimum=least, double=True, above_zero=above is not None))


def text(words: str, metavar: str = "TEXT", **options: Any) -> Parameter:
    """Return the parameter of a text that is not empty. As a file name, "" would mean the current folder."""

    def read(name: str, typed: str) -> str:
        if not typed:
            raise InvalidInput(name, "expected a value", typed)
        return typed

    return option(read, words, metavar=metavar, show_default=lambda value: value or None, **options)


def one_of(words: str, names: Iterable[str]) -> Parameter:
    """Return a parameter for one of several names. An error shows the most similar name."""
    known = tuple(names)

    def read(name: str, typed: str) -> str:
        check_known(name, typed, known)
        return typed

    return option(read, f"{words}: {', '.join(known)}", metavar="NAME")


def option(read: Callable[[str, str], Any], words: str, **options: Any) -> Parameter:
    """Return a parameter whose values `read(name, text)` parses."""

    def convert(kind: Any, tokens: Sequence[Token]) -> Any:
        found = [read(token.keyword or options.get("metavar", "argument"), token.value) for token in tokens]
        return found if get_origin(kind) in (list, tuple) else found[0]

    return Parameter(converter=convert, help=words, **options)


def check_known(where: str, asked: Any, known: Collection[str]) -> None:
    """Raise `InvalidInput` for an unknown name; the message shows the most similar known name."""
    if not isinstance(asked, str) or asked not in known:
        close = get_close_matches(str(asked), known, 1, 0.5)
        names = f"expected one of {', '.join(known)}" if len(known) <= 20 else "expected a known name"
        raise InvalidInput(where, f"unknown name, did you mean {close[0]}?" if close else names, asked)


def flag(words: str) -> Parameter:
    """Return the parameter of an option without a value."""
    return Parameter(help=words, show_default=False)


of_preset = partial(number, default="of the preset")

Gas: TypeAlias = Annotated[int, number(quantities.GasAboveZero)]
Seed: TypeAlias = Annotated[int, whole("seed of the random numbers")]
Paths: TypeAlias = Annotated[int, whole("number of sample paths", minimum=1)]
ArrivalRate: TypeAlias = Annotated[float, real("transactions", "1 / s", above=0)]
LossProbability: TypeAlias = Annotated[float, number(quantities.Probability, "maximum probability of a loss")]
SpecFile: TypeAlias = Annotated[str, text("description of the experiment", "SPEC.toml")]
Resume: TypeAlias = Annotated[str | None, text("folder of finished parts, which are not computed again", "FOLDER")]
NodeUrl: TypeAlias = Annotated[str, text(MEANINGS["node"], "URL")]
BlockRange: TypeAlias = Annotated[str, text("blocks from A to B, B not included", "A:B")]
Genesis: TypeAlias = Annotated[str | None, text(MEANINGS["genesis"], "FILE")]
Address: TypeAlias = Annotated[str, text("address of the account", "HEX")]
Slots: TypeAlias = Annotated[list[str], text("storage slot; may be repeated", "HEX")]
Subject: TypeAlias = Annotated[str, text("a transaction (0x…), a call ({…}), a file, - for standard input", "SUBJECT")]
TransactionsFile: TypeAlias = Annotated[str, text("transactions as JSON, raw hex, CSV or Parquet", "FILE")]
Columns: TypeAlias = Annotated[list[str], text("column that has FIELD; may be repeated", "FIELD=NAME[:gwei]")]
Date: TypeAlias = Annotated[str | None, text("use the rules of this day, such as 2024-06-14 (default: newest)", "DATE")]
SizedForm: TypeAlias = Annotated[str, one_of("encoding of which the size is measured", FORMS)]
Settings: TypeAlias = Annotated[list[str], text("set a parameter of a chain; may be repeated", "CHAIN.PARAMETER=VALUE")]
Workers: TypeAlias = Annotated[int | None, whole("number of threads (default: the processors)", minimum=1)]
Store: TypeAlias = Annotated[str, text(MEANINGS["store"], "FILE")]


@dataclass(frozen=True)
class Pricing:
    """Costs and form of Linea's fee: a preset, and single costs that replace those of the preset."""

    pricing: Annotated[str, one_of(MEANINGS["pricing"], (CostPerByte.name, VerificationCost.name))] = CostPerByte.name
    preset: Annotated[str, one_of(MEANINGS["preset"], LINEA_PRESETS)] = DEFAULT_PRESET
    record: Annotated[str | None, text("pricing record (extraData) of a block; replaces the preset", "HEX")] = None
    margin: Annotated[float | None, of_preset(quantities.Margin)] = None
    base_fee: Annotated[int | None, of_preset(quantities.BaseFee)] = None
    variable_cost: Annotated[int | None, of_preset(quantities.VariableCost)] = None
    fixed_cost: Annotated[int | None, of_preset(quantities.FixedCost)] = None
    min_gas_price: Annotated[int | None, of_preset(quantities.MinGasPrice)] = None
    verification_gas_cost: Annotated[int | None, of_preset(quantities.VerificationGas)] = None
    verification_capacity: Annotated[int | None, of_preset(quantities.VerifiedBytes)] = None
    gas_price_ratio: Annotated[float | None, of_preset(quantities.GasPriceRatio)] = None

    def read(self) -> tuple[LineaPreset, Form]:
        """Return the preset and the form of the fee that the options name."""
        from feemodel.estimates.prices import prices_of

        record = None if self.record is None else from_hex(self.record, "--record")
        prices = prices_of(self.pricing, linea_preset(self.preset), asdict(self), self.margin, record=record)
        return prices.preset, prices.form


@dataclass(frozen=True)
class Sizing:
    """Codec that measures a compressed size."""

    codec: Annotated[str, one_of(MEANINGS["codec"], ("zstd", "brotli", "fastlz", "lzss"))] = "zstd"
    dictionary: Annotated[str | None, text(MEANINGS["dictionary"], "FILE")] = None
    packed: Annotated[bool, flag(MEANINGS["packed"])] = False

    def read(self) -> "Codec":
        """Return the codec that the options name."""
        from feemodel.estimates.codec_file import read_codec

        return read_codec(self.codec, self.dictionary)


@dataclass(frozen=True)
class L1Fees:
    """L1 fees of one moment; those that are not given are the median of the shipped month, or of a day."""

    l1_base_fee: Annotated[int | None, whole("L1 base fee (default: median of the month)", "wei / gas")] = None
    blob_base_fee: Annotated[int | None, whole("blob base fee (default: median of the month)", "wei / gas")] = None

    def read(self, at: str | None = None) -> tuple[int, int, str]:
        """Return the L1 base fee, the blob base fee [wei / gas], and sentences on them and their source."""
        from feemodel.io.shipped import MONTH, typical_l1_fees
        from feemodel.rollups.chains import timestamp

        base_fee, blob_base_fee, source = self.l1_base_fee, self.blob_base_fee, "L1 fees: as given."
        if base_fee is None or blob_base_fee is None:
            typical = typical_l1_fees("at", None if at is None else timestamp("at", at))
            base_fee = typical[0] if base_fee is None else base_fee
            blob_base_fee = typical[1] if blob_base_fee is None else blob_base_fee
            source = f"L1 fees that are not given: median of {at or f'the shipped month, {MONTH}'}."
        return base_fee, blob_base_fee, l1_sentence(base_fee, blob_base_fee, source)


def l1_sentence(base_fee: float, blob_base_fee: float, source: str) -> str:
    """Return the L1 fees of a result, and where they are from."""
    base, blob = base_fee / WEI_PER_GWEI, blob_base_fee / WEI_PER_GWEI
    return f"L1 base fee {base:g} gwei, blob base fee {blob:g} gwei. {source}"


@dataclass(frozen=True)
class History:
    """History of L1 fees."""

    l1: Annotated[str | None, text("L1 base fees and blob base fees (default: the shipped month)", "FILE")] = None
    l1_columns: Columns = ()  # type: ignore[assignment]

    def read(self) -> "xarray.Dataset":
        """Return the history that the options name."""
        from feemodel.io import read_l1_fees, read_shipped_l1_fees
        from feemodel.io.files import reading
        from feemodel.simulation.scenarios import replay, step_seconds

        columns = assigned("--l1-columns", self.l1_columns)
        if self.l1 is None:
            if columns:
                raise InvalidInput("--l1-columns", "expected only with --l1", self.l1_columns[0])
            return replay(read_shipped_l1_fees(), source="Ethereum mainnet, 2026-01-07 to 02-06, means of ten minutes")
        table = read_l1_fees(self.l1, columns=columns)
        with reading(self.l1):
            history = replay(table, source=Path(self.l1).name)
            step_seconds(history)  # raises an error for a history with fewer than two steps
        return history


@dataclass(frozen=True)
class Scenario(History):
    """L1 fees of an experiment: the history, or paths of a block bootstrap, by default of the history's length."""

    paths: Annotated[int | None, whole("number of sample paths (default: 1; calibrate: 10/P(loss))", minimum=1)] = None
    hours: Annotated[float | None, real("length of a path (default: the history; calibrate: 24)", "h", above=0)] = None
    block_hours: Annotated[float | None, real("mean length of a bootstrap block (default: 24)", "h", above=0)] = None

    def l1_fees(self, history: "xarray.Dataset", seed: int) -> "xarray.Dataset":
        """Return the history, or the paths that are drawn from it."""
        from feemodel.simulation import scenarios

        horizon = None if self.hours is None else self.hours * HOUR
        if self.paths is not None and self.paths > 1:
            block = (self.block_hours or BLOCK_HOURS) * HOUR
            return scenarios.bootstrap(history, paths=self.paths, block_seconds=block, horizon=horizon, rng=seed)
        if self.block_hours is not None:
            raise InvalidInput("block_hours", "expected only with --paths above 1", self.block_hours)
        rows, length = history["elapsed"].to_numpy() < (horizon or float("inf")), scenarios.duration(history)
        if rows.sum() < 2 or (horizon or 0.0) > length:
            raise InvalidInput("hours", f"expected two rows or more, at most {length / HOUR:g} h", self.hours)
        return history.isel(step=rows)


def assigned(option: str, texts: Iterable[str], form: str = "FIELD=NAME") -> dict[str, str]:
    """Parse the values `NAME=VALUE` of an option, each name once; the error shows the `form`."""
    found: dict[str, str] = {}
    for given in texts:
        name, _, value = given.partition("=")
        if not (name and value) or name in found:
            raise InvalidInput(option, f"expected {form}, each once", given)
        found[name] = value
    return found


def parse_set(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the parameters of `--set CHAIN.PARAMETER=VALUE` by chain."""
    from feemodel.rollups.chains import parse_parameter, schema

    form = "CHAIN.PARAMETER=VALUE, such as mode.base_fee_scalar=20000"
    found: dict[str, dict[str, Any]] = {}
    for left, value in assigned("--set", texts, form).items():
        chain, _, name = left.partition(".")
        if not name:
            raise InvalidInput("--set", f"expected {form}", left)
        check_known("--set", name, schema())
        try:
            found.setdefault(chain, {})[name] = parse_parameter(name, value)
        except InvalidInput as error:
            raise InvalidInput(f"--set {left}", error.reason, value) from None
    return found
