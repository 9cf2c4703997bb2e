"""Settings of the server. Flags take precedence over environment variables, and variables over the settings file.

In the TOML file, each section of settings is a table. The environment variable of a setting is `FEEMODEL_` and the name
in capitals; the flag is `--` and the name with hyphens. The name of an unknown setting is refused in the file,
in environment variables and in flags.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import msgspec
from msgspec import Meta

from feemodel import quantities
from feemodel.checks import INT64_MAX, choice
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import from_typed
from feemodel.execution._limits import MAX_GAS_CAP, Limits
from feemodel.execution._search import TOLERANCE
from feemodel.io.address import HIDDEN, check_address, shown_address
from feemodel.io.files import read_toml
from feemodel.linea.parameters import COORDINATOR, DEFAULT_PRESET, LINEA_PRESETS
from feemodel.quantities import MEANINGS, quantity_of

ENVIRONMENT_PREFIX = "FEEMODEL_"
#: Variables that start with FEEMODEL_ but are not settings: path of the settings file, and options of tests.
OTHER_VARIABLES = frozenset(f"FEEMODEL_{name}" for name in ("CONFIG", "NATIVE", "PEERS", "SHARED", "SOLC"))
SECRET = ("node", "l1_node")  # settings whose values may contain a password
LOOPBACK = ("localhost", "127.0.0.1", "::1")
YEAR = 31_536_000.0  # maximum value of a setting that is a time [s]

_HOST = re.compile(r"[^\s/:\[\]@,]+|[0-9a-fA-F]*(:[0-9a-fA-F.]*){2,}")  # a name, or an IPv6 address with colons

Text: TypeAlias = Annotated[str, Meta(pattern=r"^[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?\Z")]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Size: TypeAlias = Annotated[int, Meta(ge=1, le=1 << 20)]
Few: TypeAlias = Annotated[int, Meta(ge=1, le=1_024)]
Wei: TypeAlias = Annotated[int, Meta(ge=0, le=INT64_MAX)]
Gas: TypeAlias = Annotated[int, Meta(ge=21_000, le=MAX_GAS_CAP)]
Ratio: TypeAlias = Annotated[float, Meta(ge=0.0, le=sys.float_info.max)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0.01, le=YEAR)]

_DECLARED: list[tuple[str, str]] = []  # section and description of each setting, in order of declaration


def _setting(section: str, default: Any, meaning: Any, more: str = "") -> Any:
    """Return the default; `meaning` is a text, or a quantity such as `FixedCost`, which has words and a unit."""
    quantity = quantity_of(meaning)
    words = meaning + more if quantity is None else f"{quantity.words}{more} [{quantity.unit}]"
    _DECLARED.append((section, words))
    return default


_server, _chain, _pricing = partial(_setting, "server"), partial(_setting, "chain"), partial(_setting, "pricing")
_size, _execution = partial(_setting, "size"), partial(_setting, "execution")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `feemodel serve`.

    >>> Settings(port=0).host
    '127.0.0.1'
    """

    # fmt: off
    host: Text = _server("127.0.0.1", "address to listen on")
    port: Annotated[int, Meta(ge=0, le=65_535)] = _server(8545, "port to listen on; 0 for any free port")
    workers: Few = _server(1, "number of processes; in production, run several servers of one process")
    behind_proxy: bool = _server(False, "a proxy faces the network; required for an address other than loopback")
    allowed_hosts: tuple[Text, ...] = _server(
        (), "accepted Host headers, in addition to loopback and --host; * for any")
    log: Literal["requests", "errors", "off"] = _server("errors", "events to log, as JSON lines")

    genesis: Text | None = _chain(None, MEANINGS["genesis"], " to answer from (a development chain)")
    node: Text | None = _chain(None, MEANINGS["node"], " to answer from")
    node_timeout: Seconds = _chain(5.0, "maximum time of a request to the node [s]")
    store: Text | None = _chain(None, MEANINGS["store"], " to prove from")

    pricing: Literal["cost-per-byte", "verification-cost"] = _pricing("cost-per-byte", MEANINGS["pricing"])
    costs: Literal["configured", "record", "l1"] = _pricing(
        "configured", "source of the costs: these settings, the newest block's pricing record, or L1 fees")
    preset: Text = _pricing(DEFAULT_PRESET, MEANINGS["preset"], " that no setting gives")
    margin: Ratio | None = _pricing(None, quantities.Margin, "; default: the preset's")
    base_fee: Wei | None = _pricing(
        None, quantities.BaseFee, "; default: the preset's or the next block's, whichever is higher")
    variable_cost: Wei | None = _pricing(None, quantities.VariableCost, "; default: the preset's")
    fixed_cost: Wei | None = _pricing(None, quantities.FixedCost, "; default: the preset's")
    min_gas_price: Wei | None = _pricing(None, quantities.MinGasPrice, "; default: the preset's")
    verification_gas_cost: Wei | None = _pricing(None, quantities.VerificationGas, ", verification-cost form")
    verification_capacity: Annotated[int, Meta(ge=1, le=INT64_MAX)] | None = _pricing(
        None, quantities.VerifiedBytes, ", verification-cost form")
    gas_price_ratio: Ratio | None = _pricing(None, quantities.GasPriceRatio, ", verification-cost form")
    l1_node: Text | None = _pricing(None, MEANINGS["l1_node"], ", for costs = l1")
    poll_seconds: Annotated[float, Meta(ge=0.05, le=YEAR)] = _pricing(12.0, "time between two polls of a node [s]")
    typical_size: Size = _pricing(
        COORDINATOR.sample_compressed_size,
        "compressed size of a transaction of 21,000 gas for which gas prices told to wallets must be enough [byte]")
    max_age: Ratio = _pricing(600.0, "maximum age of a node's newest block and last answer for estimates [s]")

    codec: Literal["zstd", "brotli", "deflate", "fastlz", "lzss"] = _size("zstd", MEANINGS["codec"])
    dictionary: Text | None = _size(None, MEANINGS["dictionary"])
    measured: Literal["sender_unsigned", "unsigned", "signed"] = _size(
        "sender_unsigned", "form of a transaction whose size is measured")
    packed: bool = _size(False, MEANINGS["packed"])

    engine: Literal["auto", "native", "reference"] = _execution("auto", "engine that executes calls")
    tolerance: Annotated[float, Meta(ge=0.0, lt=1.0)] = _execution(
        TOLERANCE, "tolerance of the gas limit search; 0 is exact [1]")
    intact: bool = _execution(False, MEANINGS["intact"])
    gas_cap: Gas = _execution(Limits().gas_cap, "maximum gas of one execution; 1,000,000 without Rust [gas]")
    seconds: Seconds = _execution(Limits().seconds, "maximum time of all executions of a call [s]")
    queue: Count = _execution(32, "maximum calls that wait for execution, in each process")

    # fmt: on

    def __post_init__(self) -> None:
        for name in _FIELDS:
            _checked(name, name, getattr(self, name), strict=True)
        _check_together(self)


def _check_host(name: str, value: str) -> None:
    if not _HOST.fullmatch(value):
        raise InvalidInput(name, "expected a host without scheme, port, path and brackets, or *", value)


_CHECKS: dict[str, Callable[[str, str], object]] = {
    "allowed_hosts": _check_host, "node": check_address,
    "l1_node": check_address, "preset": partial(choice, choices=LINEA_PRESETS),
}  # fmt: skip
_OTHER_FORM = {
    "cost-per-byte": ("min_gas_price", "verification_gas_cost", "verification_capacity", "gas_price_ratio"),
    "verification-cost": ("variable_cost", "fixed_cost"),
}


def _check_together(settings: Settings) -> None:
    """Raise `InvalidInput` for settings that contradict each other."""

    def shown(name: str) -> Any:
        value = getattr(settings, name)
        return shown_address(value) if name in SECRET and value is not None else value

    if settings.host not in LOOPBACK and not settings.behind_proxy:
        raise InvalidInput("host", "expected a loopback address, or behind_proxy", settings.host)
    chains = [name for name in ("genesis", "node") if getattr(settings, name) is not None]
    if len(chains) > 1:
        raise InvalidInput(chains[1], f"expected either this or {chains[0]}", shown(chains[1]))
    if (settings.costs == "l1") != (settings.l1_node is not None):
        expected = "expected the URL of an L1 node if costs = l1, and only then"
        raise InvalidInput("l1_node", expected, shown("l1_node"))
    if settings.intact and settings.node is not None:
        raise InvalidInput("intact", "expected no node, because a node estimates with its own search", settings.intact)
    if settings.codec == "lzss" and settings.dictionary is None:
        raise InvalidInput("dictionary", "expected a file with codec = lzss (see docs/explanation/sizes.md)", None)
    if settings.dictionary is not None and settings.codec not in ("lzss", "zstd"):
        raise InvalidInput("dictionary", "expected only with codec = lzss or zstd", settings.dictionary)
    for name in _OTHER_FORM[settings.pricing]:
        if getattr(settings, name) is not None:
            raise InvalidInput(name, "expected only with the other value of pricing", getattr(settings, name))


_FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}
#: Defaults of the settings.
DEFAULTS = {name: field.default for name, field in _FIELDS.items()}
#: Descriptions of the settings.
HELP = {name: description for name, (_, description) in zip(_FIELDS, _DECLARED, strict=True)}
SECTIONS: dict[str, list[str]] = {}  #: names of the settings by section
for _name, (_where, _) in zip(_FIELDS, _DECLARED, strict=True):
    SECTIONS.setdefault(_where, []).append(_name)


def is_list(name: str) -> bool:
    """Return whether a setting takes several values.

    >>> is_list("allowed_hosts"), is_list("port")
    (True, False)
    """
    return get_origin(_FIELDS[name].type) is tuple


def load_settings(
    *,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """Combine the settings from a file, from environment variables and from flags.

    Parameters
    ----------
    file : TOML file with a table for each section of the settings.
    environment : environment variables; only names that begin with FEEMODEL_ are read.
    flags : values by name of the setting; `None` for a flag that was not given.

    Raises
    ------
    UnreadableFile : the file does not exist or is not TOML.
    InvalidInput : an invalid value or an unknown name; the message contains the name as written in the source.

    >>> load_settings(environment={"FEEMODEL_PORT": "9000"}, flags={"port": 9001}).port
    9001
    """
    sources = (() if file is None else _tables(Path(file)), _variables(environment or {}), _flags(flags or {}))
    chosen = {name: (spelled, value) for source in sources for name, spelled, value in source}
    return Settings(**{name: _value(spelled, name, value) for name, (spelled, value) in chosen.items()})


def _tables(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Yield the name, the spelling in the file and the value of each setting in a file."""
    for section, table in read_toml(path).items():
        if section not in SECTIONS or not isinstance(table, dict):
            raise _unknown(f"{path}: {section}", "expected one of the tables", section, SECTIONS)
        for name, value in table.items():
            if name not in SECTIONS[section]:
                raise _unknown(f"{path}: {section}.{name}", "expected one of", name, SECTIONS[section])
            yield name, f"{path}: {section}.{name}", value


def _variables(environment: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    names = {f"{ENVIRONMENT_PREFIX}{name.upper()}": name for name in _FIELDS}
    for variable, value in environment.items():
        if variable in names:
            yield names[variable], variable, value
        elif variable.upper().startswith(ENVIRONMENT_PREFIX) and variable not in OTHER_VARIABLES:
            known = [other.removeprefix(ENVIRONMENT_PREFIX) for other in (*names, *OTHER_VARIABLES)]
            close = _suggestion(variable.upper().removeprefix(ENVIRONMENT_PREFIX), known, ENVIRONMENT_PREFIX)
            raise InvalidInput(variable, f"no setting has this name{close}", HIDDEN)


def _flags(flags: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    return ((name, f"--{name.replace('_', '-')}", value) for name, value in flags.items() if value is not None)


def _unknown(spelled: str, expected: str, name: str, known: Collection[str]) -> InvalidInput:
    return InvalidInput(spelled, f"{expected} {', '.join(known)}{_suggestion(name, known)}", HIDDEN)


def _value(spelled: str, name: str, value: Any) -> Any:
    """Return the value of a setting from TOML or text; error messages contain `spelled`, the name in the source."""
    given, is_text = value, isinstance(value, str)
    if is_text and is_list(name):
        value = [part.strip() for part in value.split(",")]
    elif is_text and _is_whole(_FIELDS[name].type):  # 30000000, 30_000_000, 30,000,000 or 0x1c9c380
        value = from_typed(value)
        if value is None:
            raise InvalidInput(spelled, "expected a whole number", given)
    elif is_text and name in SECRET:
        value = value.strip()
    return _checked(spelled, name, value, strict=not is_text)


#: Matches the end of an error message of msgspec that states a bound of an integer. Such messages are reworded.
_BOUND = re.compile(r"`int` (>=|<=) (-?\d+)$")
_BOUNDS = {">=": "an integer of at least", "<=": "at most"}


def _checked(spelled: str, name: str, value: Any, *, strict: bool) -> Any:
    """Convert a value to the type of the setting; raises `InvalidInput` if the value is not valid."""
    try:
        found = msgspec.convert(value, _FIELDS[name].type, strict=strict)
    except msgspec.ValidationError as error:
        reason = str(error).partition(" - at")[0].partition(", got")[0]
        if get_origin(_FIELDS[name].type) is Literal:
            reason = f"expected one of {', '.join(get_args(_FIELDS[name].type))}"
        if "matching regex" in reason:
            reason = "expected text without space at its ends and without control characters"
        reason = _BOUND.sub(lambda found: f"{_BOUNDS[found[1]]} {int(found[2]):,}", reason)
        raise InvalidInput(spelled, reason[:1].lower() + reason[1:], HIDDEN if name in SECRET else value) from None
    if name in _CHECKS and found is not None:
        for one in found if isinstance(found, tuple) else (found,):
            _CHECKS[name](spelled, one)
    return found


def _is_whole(kind: Any) -> bool:
    return kind is int or any(map(_is_whole, get_args(kind)[: None if get_origin(kind) is not Annotated else 1]))


def _suggestion(name: str, known: Collection[str], prefix: str = "") -> str:
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {prefix}{close[0]}?" if close else ""
