"""Settings of the server. Flags take precedence over environment variables, and variables over the settings file.

A line of the TOML file has the name of a setting. The environment variable is `FEEMODEL_` and the name in capitals; the
flag is `--` and the name with hyphens. An unknown name is refused in the file, in environment variables and in flags.
"""

import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin

import msgspec
from msgspec import Meta

from feemodel import quantities
from feemodel.checks import INT64_MAX, choice
from feemodel.errors import InvalidInput
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

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Few: TypeAlias = Annotated[int, Meta(ge=1, le=1_024)]
Wei: TypeAlias = Annotated[int, Meta(ge=0, le=INT64_MAX)]
Gas: TypeAlias = Annotated[int, Meta(ge=21_000, le=MAX_GAS_CAP)]
Ratio: TypeAlias = Annotated[float, Meta(ge=0.0, le=sys.float_info.max)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0.01, le=YEAR)]

_DECLARED: list[str] = []  # description of each setting, in order of declaration


def _setting(default: Any, meaning: Any, more: str = "") -> Any:
    """Return the default; `meaning` is a text, or a quantity such as `FixedCost`, which has words and a unit."""
    quantity = quantity_of(meaning)
    _DECLARED.append(meaning + more if quantity is None else f"{quantity.words}{more} [{quantity.unit}]")
    return default


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `feemodel serve`.

    >>> Settings(port=0).host
    '127.0.0.1'
    """

    # fmt: off
    host: Text = _setting("127.0.0.1", "address to listen on")
    port: Annotated[int, Meta(ge=0, le=65_535)] = _setting(8545, "port to listen on; 0 for any free port")
    workers: Few = _setting(1, "number of processes; in production, run several servers of one process")
    behind_proxy: bool = _setting(False, "a proxy faces the network; required for an address other than loopback")
    log: Literal["requests", "errors"] = _setting("errors", "events to log, as JSON lines")

    genesis: Text | None = _setting(None, MEANINGS["genesis"], " to answer from (a development chain)")
    node: Text | None = _setting(None, MEANINGS["node"], " to answer from")
    node_timeout: Seconds = _setting(5.0, "maximum time of a request to the node [s]")
    store: Text | None = _setting(None, MEANINGS["store"], " to prove from")

    pricing: Literal["cost-per-byte", "verification-cost"] = _setting("cost-per-byte", MEANINGS["pricing"])
    costs: Literal["configured", "record", "l1"] = _setting(
        "configured", "source of the costs: these settings, the newest block's pricing record, or L1 fees")
    preset: Text = _setting(DEFAULT_PRESET, MEANINGS["preset"], " that no setting gives")
    margin: Ratio | None = _setting(None, quantities.Margin, "; default: the preset's")
    base_fee: Wei | None = _setting(None, quantities.BaseFee, "; default: the preset's, or the next block's if higher")
    variable_cost: Wei | None = _setting(None, quantities.VariableCost, "; default: the preset's")
    fixed_cost: Wei | None = _setting(None, quantities.FixedCost, "; default: the preset's")
    min_gas_price: Wei | None = _setting(None, quantities.MinGasPrice, "; default: the preset's")
    verification_gas_cost: Wei | None = _setting(None, quantities.VerificationGas, ", verification-cost form")
    verification_capacity: Annotated[int, Meta(ge=1, le=INT64_MAX)] | None = _setting(
        None, quantities.VerifiedBytes, ", verification-cost form")
    gas_price_ratio: Ratio | None = _setting(None, quantities.GasPriceRatio, ", verification-cost form")
    l1_node: Text | None = _setting(None, MEANINGS["l1_node"], ", for costs = l1")
    poll_seconds: Annotated[float, Meta(ge=0.05, le=YEAR)] = _setting(12.0, "time between two polls of a node [s]")
    typical_size: Annotated[int, Meta(ge=1, le=1 << 20)] = _setting(COORDINATOR.sample_compressed_size,
        "compressed size, at 21,000 gas, for which gas prices told to wallets are enough [byte]")
    max_age: Ratio = _setting(600.0, "maximum age of a node's newest block and last answer for estimates [s]")

    codec: Literal["zstd", "brotli", "fastlz", "lzss"] = _setting("zstd", MEANINGS["codec"])
    dictionary: Text | None = _setting(None, MEANINGS["dictionary"])
    measured: Literal["sender_unsigned", "unsigned", "signed"] = _setting(
        "sender_unsigned", "form of a transaction whose size is measured")
    packed: bool = _setting(False, MEANINGS["packed"])

    engine: Literal["auto", "native", "reference"] = _setting("auto", "engine that executes calls")
    tolerance: Annotated[float, Meta(ge=0.0, lt=1.0)] = _setting(
        TOLERANCE, "tolerance of the gas limit search; 0 is exact [1]")
    intact: bool = _setting(False, MEANINGS["intact"])
    gas_cap: Gas = _setting(Limits().gas_cap, "maximum gas of one execution; 1,000,000 without Rust [gas]")
    seconds: Seconds = _setting(Limits().seconds, "maximum time of all executions of a call [s]")
    queue: Count = _setting(32, "maximum calls that wait for execution, in each process")

    # fmt: on

    def __post_init__(self) -> None:
        for name in _FIELDS:
            _checked(name, name, getattr(self, name), strict=True)
        _check_together(self)


_CHECKS: dict[str, Callable[[str, str], object]] = {
    "node": check_address, "l1_node": check_address, "preset": partial(choice, choices=LINEA_PRESETS)
}  # fmt: skip


def _check_together(settings: Settings) -> None:
    """Raise `InvalidInput` for settings that contradict each other."""
    node, l1_node = (None if url is None else shown_address(url) for url in (settings.node, settings.l1_node))
    if settings.host not in LOOPBACK and not settings.behind_proxy:
        raise InvalidInput("host", "expected a loopback address, or behind_proxy", settings.host)
    for name, value in (("node", node), ("store", settings.store)):
        if settings.genesis is not None and value is not None:
            raise InvalidInput(name, "expected either this or genesis", value)
    if (settings.costs == "l1") != (l1_node is not None):
        expected = "expected the URL of an L1 node if costs = l1, and only then"
        raise InvalidInput("l1_node", expected, l1_node)
    if settings.intact and settings.node is not None:
        raise InvalidInput("intact", "expected no node, because a node estimates with its own search", settings.intact)


_FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}
#: Defaults of the settings.
DEFAULTS = {name: field.default for name, field in _FIELDS.items()}
#: Descriptions of the settings.
HELP = dict(zip(_FIELDS, _DECLARED, strict=True))


def load_settings(
    *,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """Combine the settings from a file, from environment variables and from flags.

    Parameters
    ----------
    file : TOML file of settings.
    environment : environment variables; only names that begin with FEEMODEL_ are read.
    flags : values by name of the setting; `None` for a flag that was not given.

    Raises
    ------
    UnreadableFile : the file does not exist or is not TOML.
    InvalidInput : an invalid value or an unknown name; the message contains the name as written in the source.

    >>> load_settings(environment={"FEEMODEL_PORT": "9000"}, flags={"port": 9001}).port
    9001
    """
    table = {} if file is None else read_toml(Path(file))
    environment = environment or {}
    variables = sorted({name for name in environment if name.startswith(ENVIRONMENT_PREFIX)} - OTHER_VARIABLES)
    given = [
        *((f"{file}: {name}", name, value) for name, value in table.items()),
        *((name, name.removeprefix(ENVIRONMENT_PREFIX).lower(), environment[name]) for name in variables),
        *((f"--{name.replace('_', '-')}", name, value) for name, value in (flags or {}).items() if value is not None),
    ]
    chosen = {}
    for spelled, name, value in given:
        if name not in _FIELDS:
            close = get_close_matches(name, _FIELDS, n=1)
            suggestion = f"; did you mean {close[0]}?" if close else ""
            raise InvalidInput(spelled, f"no setting has this name{suggestion}", HIDDEN)
        chosen[name] = _checked(spelled, name, value, strict=not isinstance(value, str))
    return Settings(**chosen)


def _checked(spelled: str, name: str, value: Any, *, strict: bool) -> Any:
    """Convert a value to the type of the setting; errors contain `spelled`, the name in the source."""
    kind = _FIELDS[name].type
    try:
        found = msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        reason = str(error).partition(", got")[0]
        if get_origin(kind) is Literal:
            reason = f"expected one of {', '.join(get_args(kind))}"
        raise InvalidInput(spelled, reason[:1].lower() + reason[1:], HIDDEN if name in SECRET else value) from None
    if name in _CHECKS and found is not None:
        _CHECKS[name](spelled, found)
    return found
