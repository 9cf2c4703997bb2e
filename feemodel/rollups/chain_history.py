"""Chains as dated rows: rule and parameters, since when they hold, their source, and when that was last checked.

A row holds what changed; `at` merges all rows up to a time. A parameter that no source gives is `None`, a date that no
source gives is `UNKNOWN`: what such a row changed is known again from the next dated row on, and `None` before.

Sources, short: **registry** = ethereum-optimism/superchain-registry at 8336d2a (2026-08-04); **superchain-ops** =
ethereum-optimism/superchain-ops at d3a286b (2026-08-19); **deployments** = base/contract-deployments at 15ac105
(2026-08-20), archive/legacy/mainnet; **docs** = pages seen in part.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from feemodel.checks import choice, text, whole_scalar
from feemodel.errors import InvalidInput

UNKNOWN = "unknown"
CHECKED = "2026-11-22"
LATEST = 2**34  # seconds: the year 2514; a larger number counts milliseconds

#: A time: ISO 8601 text (UTC, a bare date is its midnight), Unix seconds, `datetime`, `date`, `numpy.datetime64`.
When: TypeAlias = str | int | datetime | date | np.datetime64


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What changed on a chain at one time."""

    since: str  #: ISO 8601, UTC: a time where it is exact, a day where only that is known, `UNKNOWN`
    values: Mapping[str, Any] = field(hash=False)  #: parameter → value from then on
    source: str
    checked_on: str = CHECKED  #: the day on which somebody last compared it with its source
    note: str = ""

    @property
    def timestamp(self) -> int | None:
        """Unix seconds, or `None` where the date is unknown."""
        return None if self.since == UNKNOWN else timestamp("since", self.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A chain, and its rows in order of time."""

    name: str
    family: str  #: whose rule it follows: "op-stack", "arbitrum", "scroll", "zksync", "zksync-os", "taiko", …
    rows: tuple[Row, ...]
    archived: str | None = None  #: the day of its end, or `UNKNOWN`; `None` while it lives

    @property
    def chain_id(self) -> int | None:
        """As EIP-155 has it; `None` for ZKsync OS, which many chains run."""
        return _CHAIN_IDS.get(self.name)

    def at(self, when: When | None = None) -> dict[str, Any]:
        """Every parameter at a time, with the rows' `source` and `checked_on`; `None`: the newest.

        Raises `InvalidInput` for a time before the chain's first row, and for what is no time.

        >>> parameters = CHAINS["op-mainnet"].at("2024-06-14")
        >>> parameters["upgrade"], parameters["base_fee_scalar"], parameters["blob_base_fee_scalar"]
        ('ecotone', 1368, 810949)
        """
        time = None if when is None else timestamp("at", when)
        first = self.rows[0].timestamp
        if time is not None and first is not None and time < first:
            raise InvalidInput("at", f"expected {self.rows[0].since} or later, the start of {self.name}", when)
        merged: dict[str, Any] = {}
        last = self.rows[0]
        undated: dict[str, Any] = {}  # what rows without a date changed since the last dated one
        for row in self.rows:
            if row.timestamp is None:
                undated |= row.values
                continue
            if time is not None and row.timestamp > time:
                merged |= dict.fromkeys(undated) if merged else undated  # already, or not yet: unknown
                break
            merged |= undated | dict(row.values)
            undated, last = {}, row
        else:
            merged |= undated
        return merged | {"since": last.since, "source": last.source, "checked_on": last.checked_on}

    def no_set_code(self, when: When | None = None) -> str | None:
        """Why there are no fees for transactions of type 4 (EIP-7702) at a time; `None` where the chain carries them.

        >>> CHAINS["scroll"].no_set_code("2025-01-01"), CHAINS["scroll"].no_set_code("2025-06-01")
        ('scroll carries them since 2025-04-22T07:00:00 (Euclid)', None)
        """
        return None if self.at(when).get("set_code") else no_set_code(self.family, self.name)


#: The upgrade with which the chains of a family began to carry transactions of type 4.
_SET_CODE = {"op-stack": "Isthmus", "arbitrum": "ArbOS 40", "scroll": "Euclid", "taiko": "Unzen"}
#: Why there are no fees for them in the others. Sources: matter-labs/zksync-era at 0034e3e, transaction_request.rs,
#: and the types in TransactionHelper.sol of matter-labs/zksync-contracts; 0xPolygonHermez/zkevm-node at 7b80367 is of
#: 2024-03-28, the EIP of 2024-05-07.
_NO_SET_CODE = {
    "zksync": "its node refuses their encoding",
    "zksync-os": "no source says since when its chains carry them",
    "polygon": "its node is older than they are",
    "linea": "no fee is published for them",
}


def no_set_code(family: str, name: str) -> str:
    """Why a chain has no fees for transactions of type 4: since when it carries them, or what is known of it.

    Raises `InvalidInput` for a family that is unknown, and a name that is no text.

    >>> no_set_code("op-stack", "base"), no_set_code("op-stack", "a chain of one's own")
    ('base carries them since 2025-05-09T16:00:01 (Isthmus)', 'its kind carries them from Isthmus on')
    """
    if choice("family", family, (*_NO_SET_CODE, *_SET_CODE)) in _NO_SET_CODE:
        return _NO_SET_CODE[family]
    rows = CHAINS[name].rows if text("name", name) in CHAINS else ()
    since = next((row.since for row in rows if row.values.get("set_code")), None)
    if since is None:
        return f"its kind carries them from {_SET_CODE[family]} on"
    return f"{name} carries them since {since} ({_SET_CODE[family]})"


def timestamp(name: str, when: When) -> int:
    """A time in Unix seconds; a time without a zone is UTC. Raises `InvalidInput` for what is no time.

    >>> timestamp("at", "2024-06-14"), timestamp("at", 1_718_323_200)
    (1718323200, 1718323200)
    """
    reason = "expected a time such as 2024-06-14, 2024-06-14T12:00:00 or Unix seconds"
    if isinstance(when, (np.datetime64, datetime)) and when != when:  # NaT, of NumPy or of pandas
        raise InvalidInput(name, reason, when)
    if isinstance(when, np.datetime64):
        return int(when.astype("datetime64[s]").astype(np.int64))
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            raise InvalidInput(name, reason, when) from None
    if isinstance(when, datetime):
        return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())
    if isinstance(when, date):
        return int(datetime(when.year, when.month, when.day, tzinfo=UTC).timestamp())
    return whole_scalar(name, when, unit="seconds", maximum=LATEST)


def _row(since: int | str, source: str, note: str = "", **values: Any) -> Row:
    text = since if isinstance(since, str) else datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return Row(since=text, values=MappingProxyType(values), source=source, note=note)


M = 1_000_000

# OP Stack


def _upgrades(**times: int) -> list[Row]:
    """A chain's upgrades, registry; Canyon changes the denominator where the registry's 250 applies."""
    rows = []
    for name, time in times.items():
        own: dict[str, Any] = {"denominator": 250} if name == "canyon" else {}
        if name == "isthmus":
            own = {"set_code": True}  # EIP-7702 is part of it: docs.base.org, specs/upgrades/isthmus
        if name == "jovian":
            own = {"min_base_fee": 0, "da_footprint_gas_scalar": 400}  # where the configuration leaves both unset
        rows.append(_row(time, "registry, superchain/configs/mainnet", upgrade=name, **own))
    return rows


_SUPERCHAIN = {
    "canyon": 1_704_992_401, "ecotone": 1_710_374_401, "fjord": 1_720_627_201, "granite": 1_726_070_401,
    "holocene": 1_736_445_601, "isthmus": 1_746_806_401, "jovian": 1_764_691_201,
}  # fmt: skip
_KARST = 1_783_526_401
_GENESIS: dict[str, Any] = {
    "upgrade": "regolith", "overhead": 188, "scalar": 684_000, "base_fee_scalar": None, "blob_base_fee_scalar": None,
    "gas_limit": 30 * M, "denominator": 50, "elasticity": 6, "operator_fee_scalar": 0, "operator_fee_constant": 0,
    "min_base_fee": None, "da_footprint_gas_scalar": None, "block_milliseconds": 2_000,
}  # fmt: skip


def _chain(name: str, *rows: Row, family: str = "op-stack", archived: str | None = None) -> Chain:
    """A chain with its rows in order of time; a row of an unknown date keeps its place after the row before it."""
    last, order = 0, []
    for place, row in enumerate(rows):
        last = last if row.timestamp is None else row.timestamp
        order.append((last, place, row))
    order.sort(key=lambda entry: entry[:2])
    return Chain(name=name, family=family, rows=tuple(row for *_, row in order), archived=archived)


_CHAIN_IDS = {
    "op-mainnet": 10, "base": 8_453, "unichain": 130, "ink": 57_073, "soneium": 1_868, "world-chain": 480,
    "mode": 34_443, "zora": 7_777_777, "arbitrum-one": 42_161, "arbitrum-nova": 42_170, "scroll": 534_352,
    "zksync-era": 324, "taiko": 167_000, "linea": 59_144, "polygon-zkevm": 1_101,
}  # fmt: skip
_OPS = "superchain-ops"
_OP_MAINNET = _chain(
    "op-mainnet",
    _row(1_686_068_903, "registry, op.toml", **_GENESIS),
    *_upgrades(**_SUPERCHAIN, karst=_KARST),
    _row(1_710_374_401, "specs at fd72cf7, Ecotone", "taken over from the scalar of Bedrock",
         base_fee_scalar=684_000, blob_base_fee_scalar=0),
    _row("2024-03-14T00:05:00", f"{_OPS} commit bdf83c1, pull request 92 (task 005-2)", "a few minutes after 00:00:01",
         base_fee_scalar=1_368, blob_base_fee_scalar=810_949),
    _row("2024-07-10T16:05:00", f"{_OPS}@5d764c6 tasks/eth/014-fjord-gas-config", "within five minutes of 16:00:01",
         base_fee_scalar=5_227, blob_base_fee_scalar=1_014_213),
    _row("2025-05-05", f"{_OPS} task 008", "executed between 2025-05-05 and 05-07; the limit had been 60 M before, "
         "since an unknown day", gas_limit=60 * M, elasticity=4),
    _row("2025-05-22", f"{_OPS} task 013", gas_limit=40 * M, elasticity=2),
    _row("2026-07-08", f"{_OPS} task 055", "the limit set again: Karst had raised the effective one by 55 M",
         gas_limit=40 * M),
)  # fmt: skip


def _base(since: int | str, task: str, **values: Any) -> Row:
    return _row(since, f"deployments, {task}", **values)


_BASE_GAS_LIMITS = {  # [million gas]
    "2024-03-27": 45, "2024-04-01": 60, "2024-05-28": 75, "2024-05-30": 90, "2024-06-17": 97.5, "2024-07-16": 105,
    "2024-07-24": 112.5, "2024-07-31": 120, "2024-09-25": 132, "2024-10-02": 144, "2024-10-09": 156, "2024-10-16": 168,
    "2024-10-23": 180, "2024-12-04": 198, "2024-12-12": 216, "2024-12-18": 240, "2025-01-15": 252, "2025-01-22": 264,
    "2025-02-12": 100, "2025-02-19": 104, "2025-02-26": 108, "2025-03-05": 112, "2025-03-19": 116, "2025-03-26": 120,
    "2025-04-30": 130, "2025-05-07": 140,
}  # fmt: skip
_BASE = _chain(
    "base",
    _row(1_686_789_347, "registry, base.toml", **_GENESIS),
    *_upgrades(**_SUPERCHAIN),
    _row(1_710_374_401, "specs at fd72cf7, Ecotone", "for 17 minutes", base_fee_scalar=684_000, blob_base_fee_scalar=0),
    _base(1_710_375_473, "2024-03-14", base_fee_scalar=1_101, blob_base_fee_scalar=659_851),
    *(_base(day, f"{day} gas limit", gas_limit=round(limit * M)) for day, limit in _BASE_GAS_LIMITS.items()),
    _base("2024-06-28", "2024-06-27 and its second run", base_fee_scalar=1_418),
    _base("2024-07-10", "2024-07-10", base_fee_scalar=2_269, blob_base_fee_scalar=1_055_762),
    _base("2025-02-04T22:00:00", f"2025-02-04, {_OPS} task 029", gas_limit=96 * M, elasticity=2, denominator=250),
    _base(1_748_379_182, "2025-05-27", denominator=50),
    _base(1_750_283_342, "2025-06-18", elasticity=3, gas_limit=150 * M),
    _base(1_761_755_774, "2025-10-29", elasticity=4, gas_limit=200 * M),
    _base("2025-11-05", "2025-11-05", gas_limit=250 * M),
    _base(1_762_965_805, "2025-11-12", elasticity=5, gas_limit=300 * M),
    _base(1_764_871_622, "2025-12-04", min_base_fee=200_000, da_footprint_gas_scalar=312),
    _base(1_766_084_929, "2025-12-18", elasticity=6, gas_limit=375 * M, da_footprint_gas_scalar=325),
    _base(1_766_085_218, "2025-12-18", min_base_fee=500_000),
    _base(1_769_112_998, "2026-01-22", min_base_fee=1_000_000, da_footprint_gas_scalar=139),
    _base(1_770_084_530, "2026-02-03", min_base_fee=2_000_000),
    _base(1_770_211_645, "2026-02-04", denominator=125),
    _base(1_771_531_755, "2026-02-19", min_base_fee=5_000_000),
    _base(1_774_471_597, "2026-03-25", gas_limit=400 * M, elasticity=5, denominator=100, da_footprint_gas_scalar=148),
    _row(1_779_991_200, "docs.base.org, specs/upgrades", "16,777,216 gas a transaction at most", own_upgrade="azul"),
    _row(1_782_410_400, "docs.base.org, specs/upgrades", own_upgrade="beryl"),
    _row(UNKNOWN, "docs.base.org, specs/upgrades", "planned for September 2026; not confirmed", own_upgrade="cobalt"),
    _row(1_793_901_600, "docs.base.org, specs/upgrades/denim; docs.chainstack.com (seen in part)",
         "ten blocks where there was one; the parameters of a block since then are in no source",
         own_upgrade="denim", block_milliseconds=200, gas_limit=None, elasticity=None, denominator=None,
         min_base_fee=None, da_footprint_gas_scalar=None),
)  # fmt: skip


def _superchain_member(name: str, start: int, genesis: dict[str, Any], *later: Row) -> Chain:
    return _chain(name, _row(start, f"registry, {name}", **(_GENESIS | genesis)), *later)


_FROM_GRANITE: dict[str, Any] = {"upgrade": "granite", "denominator": 250, "overhead": None, "scalar": None}
_MEMBERS = (
    _superchain_member(
        "unichain",
        1_730_748_359,
        _FROM_GRANITE | {"base_fee_scalar": 2_000, "blob_base_fee_scalar": 900_000, "block_milliseconds": 1_000},
        *_upgrades(holocene=1_736_445_601, isthmus=1_746_806_401, jovian=1_764_691_201),
        _row(UNKNOWN, f"{_OPS} 054-U19-unichain, read on chain before 2026-07", min_base_fee=500_000),
        *_upgrades(karst=_KARST),
    ),
    _superchain_member(
        "ink",
        1_733_498_411,
        _FROM_GRANITE | {"base_fee_scalar": 1_368, "blob_base_fee_scalar": 810_949, "block_milliseconds": 1_000},
        *_upgrades(holocene=1_742_396_400, isthmus=1_746_806_401, jovian=1_764_691_201, karst=_KARST),
    ),
    _superchain_member(
        "soneium",
        1_733_134_751,
        _FROM_GRANITE | {"base_fee_scalar": 1_368, "blob_base_fee_scalar": 810_949, "gas_limit": 60 * M},
        *_upgrades(holocene=1_738_573_200, isthmus=1_746_806_401, jovian=1_764_691_201, karst=_KARST),
    ),
    _superchain_member(
        "world-chain",
        1_719_335_639,
        {
            "upgrade": "ecotone", "denominator": 250, "elasticity": 10, "gas_limit": 100 * M,
            "base_fee_scalar": 684_000, "blob_base_fee_scalar": 0,
        },
        *_upgrades(
            fjord=1_721_826_000, granite=1_727_780_400, holocene=1_738_238_400, isthmus=1_764_072_000,
            jovian=1_777_593_600, karst=1_789_992_000,
        ),
    ),
    *(
        _superchain_member(
            name,
            start,
            {},
            *_upgrades(**_SUPERCHAIN, karst=_KARST),
            _row(1_710_374_401, "specs at fd72cf7, Ecotone", "taken over from the scalar of Bedrock; what the chain "
                 "set later is in no source", base_fee_scalar=684_000, blob_base_fee_scalar=0),
        )
        for name, start in (("mode", 1_700_167_583), ("zora", 1_686_693_839))
    ),
)  # fmt: skip

# Arbitrum

_NITRO = "OffchainLabs/nitro at 6dce8d1"


def _arbitrum(name: str, *first: Row) -> Chain:
    return _chain(
        name,
        *first,
        _row("2024-03-14", _NITRO, version="arbos-20"),
        _row(1_750_176_000, f"{_NITRO}; ArbitrumFoundation/governance, pull request 342 (the scheduled time)",
             "the rules of Prague, OffchainLabs/go-ethereum, params/config.go, IsPrague", version="arbos-40",
             set_code=True),
        _row("2026-01-08", "docs.arbitrum.io, chain parameters (seen in part); nitro model_test.go (the six targets)",
             version="arbos-51", min_base_fee=20_000_000),
        _row(1_787_245_200, "docs.arbitrum.io, arbos61 (seen in part)", "multi-gas pricing is off", version="arbos-61"),
        family="arbitrum",
    )  # fmt: skip


_ARBITRUM = (
    _arbitrum(
        "arbitrum-one",
        _row("2022-08-31", _NITRO, "a minimum of 0.1 gwei, lowered on a day that is in no source",
             version="arbos-0", min_base_fee=None),
        _row(UNKNOWN, _NITRO, version="arbos-11", min_base_fee=10_000_000),
    ),
    _arbitrum(
        "arbitrum-nova",
        _row(UNKNOWN, _NITRO, "the first day is in no source", version="arbos-11", min_base_fee=10_000_000),
    ),
)  # fmt: skip

_OTHERS = (
    Chain(
        name="scroll", family="scroll",
        rows=(
            _row(1_696_917_600, "scroll-tech/go-ethereum", "the scalars of this time are in no source",
                 upgrade="bernoulli"),
            _row(1_719_993_600, "scroll-tech/go-ethereum, initial values at Curie",
                 "at block 7,096,836; its time is the release's estimate", upgrade="curie"),
            _row(1_745_305_200, "release scroll-v5.8.33 of scroll-tech/go-ethereum", "Euclid's second phase, which has "
                 "EIP-7702; the fee and its initial values are Curie's", set_code=True),
            _row(1_755_576_000, "scroll-tech/go-ethereum", "the scalars of this time are in no source",
                 upgrade="feynman"),
            _row(1_765_868_400, "scalars of the Galileo tests, Chaintable/go-ethereum-scrl at 5f34f2a",
                 upgrade="galileo"),
            _row(1_766_041_200, "Chaintable/go-ethereum-scrl at 5f34f2a", upgrade="galileo-v2"),
        ),
    ),
    Chain(
        name="zksync-era", family="zksync",
        rows=(_row(UNKNOWN, "node defaults, matter-labs/zksync-era at 3e29e4a (2026-07-02)"),),
    ),
    Chain(
        name="zksync-os", family="zksync-os",
        rows=(
            _row("2025-07-04", "matter-labs/zksync-os at 0a82da0, matter-labs/zksync-os-server at a8ebf6b", "the date "
                 "of the first version that was read; the prices are of a test configuration"),
        ),
    ),
    Chain(
        name="taiko", family="taiko",
        rows=(
            _row(UNKNOWN, "minimum base fee of mainnet, taikoxyz/taiko-mono at b9c5bb2 (2026-08-21)"),
            _row(1_786_021_200, "taikoxyz/alethia-reth at 093ba85, crates/chainspec/src/hardfork.rs",
                 "Unzen, which has the rules of Cancun, Prague and Osaka", set_code=True),
        ),
    ),
    Chain(
        name="linea", family="linea",
        rows=(
            _row("2024-05-30", "Consensys/linea-sequencer at 3d56714c: the cost-per-byte form; parameters: "
                 "Consensys/linea-monorepo at cb180134 (2026-06-12)"),
        ),
    ),
    Chain(
        name="polygon-zkevm", family="polygon", archived=UNKNOWN,
        rows=(
            _row("2024-03-28", "node defaults, 0xPolygonHermez/zkevm-node at 7b80367; end announced on 2025-06-11 for "
                 "2026, the last block is in no source"),
        ),
    ),
)  # fmt: skip

CHAINS: Mapping[str, Chain] = MappingProxyType(
    {chain.name: chain for chain in (_OP_MAINNET, _BASE, *_MEMBERS, *_ARBITRUM, *_OTHERS)}
)


def chain(name: str) -> Chain:
    """A chain by its name; raises `InvalidInput` that lists the names there are.

    >>> chain("base").at("2026-01-01")["da_footprint_gas_scalar"]
    325
    """
    return CHAINS[choice("chain", name, CHAINS)]


def rows_older_than(days: int, today: str) -> list[tuple[Chain, Row]]:
    """The rows that were last compared with their source more than so many days before `today` (ISO 8601).

    >>> rows_older_than(90, "2026-11-23")
    []
    """
    limit = timestamp("today", today) - whole_scalar("days", days) * 86_400
    return [
        (one, row) for one in CHAINS.values() for row in one.rows if timestamp("checked_on", row.checked_on) < limit
    ]
