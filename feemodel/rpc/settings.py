"""What a server is configured by: one settings object, from a file, then the environment, then flags.

Each later source replaces what an earlier one said. In a TOML file a setting stands under its section; in the
environment it is `FEEMODEL_` and its name in capitals; on the command line `--` and its name with hyphens. A name that
no setting has is refused in every source: a setting that is misspelled would otherwise be left at its default.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from difflib import get_close_matches
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from feemodel.checks import INT64_MAX, choice, flag, real_scalar, sequence, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum.quantities import from_typed
from feemodel.execution.search import TOLERANCE
from feemodel.io.documents import read_toml
from feemodel.linea.parameters import DEFAULT_PRESET, LINEA_PRESETS
from feemodel.processors import cores

ENVIRONMENT_PREFIX = "FEEMODEL_"
#: Variables with the prefix that name no setting: the settings file, and what the tests and scripts read.
OTHER_VARIABLES = frozenset(
    {
        "FEEMODEL_CONFIG",
        "FEEMODEL_MAX_FILE_BYTES",
        "FEEMODEL_MAX_FILE_SECONDS",
        "FEEMODEL_NATIVE",
        "FEEMODEL_PEERS",
        "FEEMODEL_SHARED",
        "FEEMODEL_SOLC",
    }
)
SECRET = ("api_key", "node", "l1_node")  # an address may hold a password
HIDDEN = "(not shown)"

#: Namespaces of methods that the server has anyway, or that JSON-RPC reserves.
RESERVED_PREFIXES = frozenset({"eth", "net", "web3", "feemodel", "rpc"})
LONGEST = 31_536_000.0  # of a time-out or a pause: a year, which every clock takes [s]

Read: TypeAlias = Callable[[str, Any], Any]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInput(name, "expected text", value)
    if value != value.strip() or not value.isprintable():
        raise InvalidInput(name, "expected text without space at its ends and without control characters", value)
    return value


def read_key(name: str, value: Any) -> str:
    """The API key: a part of the path, of which errors show nothing."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(name, "expected text", value if value == "" else HIDDEN)
    if not re.fullmatch(r"[A-Za-z0-9._~!$&'()*+,;=:@/-]+", value):
        raise InvalidInput(name, "expected ASCII that a path holds as it is: no space, quote, %, ? or #", HIDDEN)
    return value


def _prefix(name: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,31}", value):
        raise InvalidInput(name, "expected up to 32 letters, digits and underscores, a letter first", value)
    if value.lower().split("_")[0] in RESERVED_PREFIXES:
        raise InvalidInput(name, f"expected another prefix than {', '.join(sorted(RESERVED_PREFIXES))}", value)
    return value


def _url(name: str, value: Any) -> str:
    """An address of a node, of which errors show nothing: it may hold a password."""
    try:
        address = urlsplit(value.strip() if isinstance(value, str) else "")
        is_one = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:  # such as brackets that do not close, or a port that is no number
        is_one = False
    if not is_one:
        raise InvalidInput(name, "expected an address such as https://host:port/path", HIDDEN)
    return str(value).strip()


def _urls(name: str, value: Any) -> str:
    """Addresses of nodes as one text, a space between two of them."""
    listed = value.split() if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not listed:
        raise InvalidInput(name, "expected an address such as https://host:port/path", HIDDEN)
    return " ".join(_url(name, part) for part in listed)


def _texts(read: Read) -> Read:
    """A list of texts; in the environment and on the command line separated by commas."""

    def read_all(name: str, value: Any) -> tuple[str, ...]:
        listed = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        return tuple(read(name, part) for part in sequence(name, listed, "texts"))

    return read_all


def _host(name: str, value: Any) -> str:
    """A name or an address as in a `Host` header, whose port is not compared."""
    text = _text(name, value)
    if text == "*" or re.fullmatch(r"[^\s/:\[\]@,]+", text) or _is_ipv6(text):
        return text
    raise InvalidInput(name, "expected a host without scheme, port, path and brackets, or *", value)


def _is_ipv6(text: str) -> bool:
    try:
        return IPv6Address(text).scope_id is None
    except ValueError:
        return False


def _method(name: str, value: Any) -> str:
    """The name of a method as nodes have it."""
    if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-zA-Z0-9]*_[a-zA-Z0-9_]{1,64}", value):
        raise InvalidInput(name, "expected the name of a method, such as debug_traceCall", value)
    return value


def _origin(name: str, value: Any) -> str:
    """An origin as browsers send it: in lower case, without a path, and without the scheme's own port."""
    text = _text(name, value)
    try:
        address = urlsplit(text)
        port = address.port
    except ValueError:
        address, port = urlsplit(""), None
    host = address.hostname or ""
    host = f"[{host}]" if ":" in host else host
    own_port = {"http": 80, "https": 443}.get(address.scheme)
    sent = f"{address.scheme}://{host}" + ("" if port in (None, own_port) else f":{port}")
    if text not in ("*", "null") and (not address.scheme or not host or text != sent):
        raise InvalidInput(name, "expected an origin as browsers send it, such as https://app.example, or *", value)
    return text


def _flag(name: str, value: Any) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}
    if isinstance(value, str) and value.lower() in known:
        return known[value.lower()]
    return flag(name, value)


def _whole(minimum: int = 0, maximum: int = INT64_MAX) -> Read:
    def read(name: str, value: Any) -> int:
        number = value
        if isinstance(value, str):  # 30000000, 30_000_000, 30,000,000 or 0x1c9c380
            number = from_typed(value)
            if number is None:
                raise InvalidInput(name, "expected a whole number", value)
        return whole_scalar(name, number, minimum=minimum, maximum=maximum)

    return read


def _number(minimum: float = 0.0, *, below: float | None = None, most: float | None = None) -> Read:
    def read(name: str, value: Any) -> float:
        number = value
        if isinstance(value, str):
            try:
                number = float(value)
            except ValueError:
                number = None
            if number is None or "_" in value or value != value.strip() or not value.isascii():
                raise InvalidInput(name, "expected a number", value)
        number = real_scalar(name, number, minimum=minimum)
        if below is not None and number >= below:
            raise InvalidInput(name, f"expected a number below {below:g}", number)
        if most is not None and number > most:
            raise InvalidInput(name, f"expected a number of at most {most:g}", number)
        return number

    return read


def _seconds(minimum: float) -> Read:
    return _number(minimum, most=LONGEST)


def _one_of(*choices: str) -> Read:
    return lambda name, value: choice(name, value, choices)


def _setting(section: str, read: Read, default: Any, help: str) -> Any:
    return field(default=default, metadata={"section": section, "read": read, "help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of `feemodel serve`; each has its section, its check and its default.

    >>> Settings(port=0).host
    '127.0.0.1'
    """

    # fmt: off
    host: str = _setting("server", _text, "127.0.0.1", "to listen on")
    port: int = _setting("server", _whole(0, 65_535), 8545, "0 for any that is free")
    workers: int = _setting("server", _whole(1, 1_024), cores(), "processes, one a core")
    prefix: str = _setting("server", _prefix, "rollup", "of estimateGas and getProof, next to linea")
    allowed_hosts: tuple[str, ...] = _setting(
        "server", _texts(_host), (), "Host headers that are answered beside those of loopback and --host; * for any")
    api_key: str | None = _setting("server", read_key, None, "asked for in the path, /v3/KEY")
    api_keys: str | None = _setting("server", _text, None, "FILE of keys with their limits, read again on SIGHUP")
    guarded: tuple[str, ...] = _setting(
        "server", _texts(_one_of("metrics", "openrpc.json", "health", "ready")), (),
        "paths that only a key of an operator opens: metrics, openrpc.json, health, ready")
    cors_origins: tuple[str, ...] = _setting(
        "server", _texts(_origin), (), "origins whose pages may read answers; * for any")
    log: str = _setting("server", _one_of("requests", "errors", "off"), "errors", "what is logged, a JSON line each")

    genesis: str | None = _setting("chain", _text, None, "geth genesis FILE to answer from (a development chain)")
    replay: str | None = _setting("chain", _text, None, "block replay FILE to answer from, at its last block")
    node: str | None = _setting("chain", _urls, None, "URL of a node to answer from; several are of the same chain")
    max_lag: int = _setting("chain", _whole(), 3, "blocks that a node may be behind another one and still price")
    node_timeout: float = _setting("chain", _seconds(0.001), 5.0, "of a request to the node [s]")
    pass_methods: tuple[str, ...] = _setting(
        "chain", _texts(_method), (), "methods passed on to the node beside those that wallets call")
    store: str | None = _setting("chain", _text, None, "ledger FILE to prove from")

    pricing: str = _setting(
        "pricing", _one_of("cost-per-byte", "verification-cost"), "cost-per-byte", "form of the fee")
    costs: str = _setting(
        "pricing", _one_of("configured", "record", "l1"), "configured",
        "where the costs come from: these settings, the newest block's pricing record, or L1 fees")
    preset: str = _setting(
        "pricing", _one_of(*LINEA_PRESETS), DEFAULT_PRESET, "costs and margins that nothing else says")
    margin: float | None = _setting("pricing", _number(), None, "of the estimate, the preset's [1]")
    base_fee: int | None = _setting(
        "pricing", _whole(), None, "fixed; by default the preset's or the next block's, whichever is more [wei / gas]")
    variable_cost: int | None = _setting("pricing", _whole(), None, "the preset's [wei / byte]")
    fixed_cost: int | None = _setting("pricing", _whole(), None, "the preset's [wei / gas]")
    min_gas_price: int | None = _setting("pricing", _whole(), None, "the preset's gas price [wei / gas]")
    verification_gas_cost: int | None = _setting("pricing", _whole(), None, "of the verification-cost form [gas]")
    verification_capacity: int | None = _setting("pricing", _whole(1), None, "of the verification-cost form [byte]")
    gas_price_ratio: float | None = _setting("pricing", _number(), None, "L1 over L2, verification-cost form [1]")
    l1_node: str | None = _setting("pricing", _url, None, "URL of an L1 node, with costs = l1")
    l1_blocks: int = _setting("pricing", _whole(1, 1_024), 50, "of the L1 fee history that is averaged")
    l1_percentile: float = _setting("pricing", _number(most=100.0), 15.0, "of the L1 tips of a block [%]")
    l1_margin: float = _setting("pricing", _number(), 1.0, "of the costs computed from L1 fees [1]")
    poll_seconds: float = _setting("pricing", _seconds(0.05), 12.0, "between two looks at a node [s]")
    watch_seconds: float = _setting(
        "pricing", _seconds(0.01), 0.1, "between two looks at a node while somebody is subscribed to its blocks [s]")
    max_age: float = _setting(
        "pricing", _number(), 600.0, "of a node's newest block and last answer; estimates are refused beyond [s]")

    codec: str = _setting(
        "size", _one_of("zstd", "brotli", "deflate", "fastlz", "lzss"), "zstd", "that measures the fee transaction")
    dictionary: str | None = _setting("size", _text, None, "FILE, which lzss needs and zstd may have")
    measured: str = _setting(
        "size", _one_of("sender_unsigned", "unsigned", "signed"), "sender_unsigned", "form of the fee transaction")
    packed: bool = _setting("size", _flag, False, "count the 32-byte field elements that the size fills")

    engine: str = _setting("execution", _one_of("auto", "native", "reference"), "auto", "that executes calls")
    tolerance: float = _setting("execution", _number(below=1.0), TOLERANCE, "of the gas limit search, 0 is exact [1]")
    gas_cap: int = _setting("execution", _whole(21_000), 50_000_000, "of one execution [gas]")
    total_gas: int = _setting("execution", _whole(21_000), 200_000_000, "of all executions of one estimate [gas]")
    seconds: float = _setting("execution", _seconds(0.01), 10.0, "of all executions of one call, then it is ended [s]")
    max_call_gas: int = _setting("execution", _whole(21_000), 30_000_000, "that a rollup call may name [gas]")
    processes: int = _setting("execution", _whole(1, 1_024), 3, "a worker's, for calls that cannot run inline")
    queue: int = _setting("execution", _whole(1, 1_000_000), 32, "calls that may wait for these processes")

    body_limit: int = _setting("limits", _whole(1, 1 << 30), 1 << 20, "of a request [byte]")
    batch_limit: int = _setting("limits", _whole(1, 1_000_000), 100, "calls in a batch")
    override_accounts: int = _setting("limits", _whole(maximum=1_000_000), 1_000, "accounts of a state override")
    override_slots: int = _setting("limits", _whole(maximum=1_000_000), 10_000, "slots of a state override")
    key_limit: int = _setting("limits", _whole(1, 1_000_000), 1_024, "storage keys of one proof")
    connections: int = _setting("limits", _whole(1, 1_000_000), 1_000, "open at a time, in each worker")
    requests: int = _setting("limits", _whole(1, 1_000_000), 256, "in flight at once, in each worker")
    idle_seconds: float = _setting("limits", _seconds(0.01), 15.0, "a connection may send nothing [s]")
    body_seconds: float = _setting("limits", _seconds(0.01), 10.0, "until a request has arrived as a whole [s]")
    # fmt: on

    @property
    def nodes(self) -> tuple[str, ...]:
        """The addresses in `node`."""
        return () if self.node is None else tuple(self.node.split())

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if value is not setting.default and setting.metadata["read"](setting.name, value) != value:
                raise InvalidInput(
                    setting.name, "expected the value itself, not a text of it", _told(self, setting.name)
                )
        _check_together(self)


def _check_together(settings: Settings) -> None:
    """Refuse settings that contradict each other."""
    chains = [name for name in ("genesis", "replay", "node") if getattr(settings, name) is not None]
    if len(chains) > 1:
        raise InvalidInput(chains[1], f"expected either this or {chains[0]}", _told(settings, chains[1]))
    if settings.api_keys is not None and settings.api_key is not None:
        raise InvalidInput("api_keys", "expected either this or api_key", settings.api_keys)
    if settings.guarded and settings.api_keys is None and settings.api_key is None:
        raise InvalidInput("guarded", "expected only with api_key or api_keys", settings.guarded)
    if settings.pass_methods and settings.node is None:
        raise InvalidInput("pass_methods", "expected only with node", settings.pass_methods)
    if (settings.costs == "l1") != (settings.l1_node is not None):
        expected = "expected the URL of an L1 node with costs = l1, and only then"
        raise InvalidInput("l1_node", expected, _told(settings, "l1_node"))
    if settings.codec == "lzss" and settings.dictionary is None:
        raise InvalidInput("dictionary", "expected a file with codec = lzss (docs/guide/sizes.md names it)", None)
    if settings.dictionary is not None and settings.codec not in ("lzss", "zstd"):
        raise InvalidInput("dictionary", "expected only with codec = lzss or zstd", settings.dictionary)
    other = {"cost-per-byte": _VERIFICATION, "verification-cost": _PER_BYTE}[settings.pricing]
    for name in other:
        if getattr(settings, name) is not None:
            raise InvalidInput(name, "expected only with the other form of the fee", getattr(settings, name))


def _told(settings: Settings, name: str) -> Any:
    """A setting as an error may show it: not a key, nor an address, which may hold a password."""
    value = getattr(settings, name)
    return HIDDEN if name in SECRET and value is not None else value


_PER_BYTE = ("variable_cost", "fixed_cost")
_VERIFICATION = ("min_gas_price", "verification_gas_cost", "verification_capacity", "gas_price_ratio")


#: The settings in their order; `metadata` has `section`, `help` and `read`.
SETTINGS = fields(Settings)


def load_settings(
    *,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings that the three sources give together.

    Parameters
    ----------
    file : TOML, a table for each section.
    environment : of which the names that begin with FEEMODEL_ count.
    flags : setting → value; `None` was not given.

    Raises
    ------
    UnreadableFile : no such file, or not TOML.
    InvalidInput : a value that a setting cannot have, or a name that none has, as the source spells it.

    >>> load_settings(environment={"FEEMODEL_PORT": "9000"}, flags={"port": 9001}).port
    9001
    """
    chosen: dict[str, Any] = {}
    if file is not None:
        chosen |= _from_file(Path(file))
    known = {setting.name: setting for setting in SETTINGS}
    for variable, value in (environment or {}).items():
        if not variable.upper().startswith(ENVIRONMENT_PREFIX) or variable in OTHER_VARIABLES:
            continue
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if name not in known or variable != variable_of(name):
            names = [*known, *(other.removeprefix(ENVIRONMENT_PREFIX).lower() for other in OTHER_VARIABLES)]
            expected = f"no setting has this name{_suggestion(name.removeprefix('feemodel_'), names, variable_of)}"
            raise InvalidInput(variable, expected, HIDDEN)  # a misspelled name may hold the key
        chosen[name] = known[name].metadata["read"](variable, value)
    for name, value in (flags or {}).items():
        if value is not None:
            chosen[name] = known[name].metadata["read"](f"--{name.replace('_', '-')}", value)
    return Settings(**chosen)


def variable_of(name: str) -> str:
    """The environment variable of a setting.

    >>> variable_of("api_key")
    'FEEMODEL_API_KEY'
    """
    return f"{ENVIRONMENT_PREFIX}{name.upper()}"


def _suggestion(name: str, known: Iterable[str], spelled: Callable[[str], str] = str) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {spelled(close[0])}?" if close else ""


def _from_file(path: Path) -> dict[str, Any]:
    sections: dict[str, dict[str, Field[Any]]] = {}
    for setting in SETTINGS:
        sections.setdefault(setting.metadata["section"], {})[setting.name] = setting
    chosen = {}
    for section, table in read_toml(path, secret=True).items():
        if section not in sections or not isinstance(table, dict):
            expected = f"expected one of the tables {', '.join(sections)}{_suggestion(section, sections)}"
            raise InvalidInput(f"{path}: {section}", expected, HIDDEN)  # which may hold the key
        for name, value in table.items():
            where = f"{path}: {section}.{name}"
            if name not in sections[section]:
                expected = f"expected one of {', '.join(sections[section])}{_suggestion(name, sections[section])}"
                raise InvalidInput(where, expected, HIDDEN)
            chosen[name] = sections[section][name].metadata["read"](where, value)
    return chosen
