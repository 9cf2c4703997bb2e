"""The rules of every chain by name or by date, in the one form of `feemodel.rollups.factors`.

| column                      | of a transaction                             | read by                                |
|-----------------------------|----------------------------------------------|----------------------------------------|
| gas                         | used on L2 [gas]                             | all                                    |
| zero_bytes, nonzero_bytes   | counts in its signed encoding [byte]         | OP Stack, Scroll at first; Polygon     |
| length                      | of its signed encoding [byte]                | Scroll at Curie and Feynman            |
| fastlz_size                 | FastLZ, signed encoding [byte]               | OP Stack from Fjord on                 |
| brotli_size                 | brotli (1, window 22) of the same [byte]     | Arbitrum                               |
| zstd_size                   | Scroll's zstd, at most the length [byte]     | Scroll from Galileo on                 |
| data_length, zstd_data_size | its calldata, plain, Scroll's zstd [byte]    | Scroll at Feynman                      |
| linea_size                  | what Linea measures [byte]                   | Linea                                  |
| pubdata                     | bytes of state that it publishes [byte]      | zkSync, ZKsync OS                      |

A column `transaction_type`, where there is one, is looked at for blob transactions, which no rollup prices, and for
those of type 4 (EIP-7702), which a rule prices where `Rule.no_set_code` is `None`: their bytes are measured with the
authorization list, as those of any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from feemodel.checks import choice, instance
from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.integers import MILLION, NOTHING, FixedPoint, Whole, add, multiply, require
from feemodel.linea import coordinator
from feemodel.linea.extra_data import recorded_cost
from feemodel.rollups import arbitrum, arbitrum_l1_pricing, optimism, polygon_zkevm, presets, scroll, zksync, zksync_os
from feemodel.rollups.chain_history import CHAINS, Chain, When, no_set_code, timestamp
from feemodel.rollups.factors import Columns, Factors, Rule, given, with_margin


def linea_rule(row: presets.LineaPricing) -> Rule:
    """Linea's cost-per-byte form at the variable cost that its coordinator would publish at these L1 fees.

    The L1 part is what the size adds to the fee, the L2 part base fee and fixed cost.

    >>> linea_rule(presets.LINEA).fees({"linea_size": 128, "gas": 21_000}, base_fee=10**9, blob_base_fee=10**9)
    Fees(l1=153599985000, l2=756000147000)
    """

    instance("row", row, presets.LineaPricing)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        require("gas", "expected at least 1: a fee per gas", columns["gas"], columns["gas"] > 0)
        cost = coordinator.variable_cost(
            base_fee, row.priority_fee, blob_base_fee, execution_gas=row.execution_gas, blob_gas=row.blob_gas,
            bytes_per_submission=row.bytes_per_submission, margin=row.pricing_margin, lower_bound=row.lower_bound,
            upper_bound=row.upper_bound,
        )  # fmt: skip
        base = add("gas_price", with_margin(row.fixed_cost, row.estimate_margin), row.l2_gas_price)
        gas = columns["gas"]
        price: FixedPoint = FixedPoint(recorded_cost(cost), 0)
        return Factors(
            columns["linea_size"], price, gas, gas, base, step=gas, fixed=row.fixed_cost, margin=row.estimate_margin
        )

    return Rule(row.name, ("gas", "linea_size"), row, taken_apart, no_set_code("linea", row.name))


def op_stack_rule(row: presets.OpStackChain, upgrade: str) -> Rule:
    """An OP Stack chain at an upgrade of `optimism.UPGRADES`; until Ecotone it needs `overhead` and `scalar`.

    >>> op_stack_rule(presets.BASE, "fjord").columns
    ('gas', 'fastlz_size')
    """
    instance("row", row, presets.OpStackChain)
    l1_rule = optimism.upgrade_named(upgrade).l1_rule
    name = f"{row.name}/{upgrade}"
    sizes = ("fastlz_size",) if l1_rule == "fjord" else ("zero_bytes", "nonzero_bytes")
    terms = given(row, name, "overhead", "scalar") if l1_rule == "bedrock" else {}

    def price(base_fee: Whole, blob_base_fee: Whole) -> FixedPoint:
        if l1_rule == "bedrock":
            return optimism.bedrock_price(l1_base_fee=base_fee, scalar=terms["scalar"])
        return optimism.weighted_price(
            l1_base_fee=base_fee, blob_base_fee=blob_base_fee, base_fee_scalar=row.base_fee_scalar,
            blob_base_fee_scalar=row.blob_base_fee_scalar,
        )  # fmt: skip

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        counts = [columns[size] for size in sizes]
        if l1_rule == "bedrock":
            units = optimism.bedrock_l1_gas(*counts, overhead=terms["overhead"], upgrade=upgrade)
        else:
            units = optimism.scaled_size(*counts) if l1_rule == "fjord" else fee_market.calldata_gas(*counts)
        extra = optimism.operator_fee(
            columns["gas"], scalar=row.operator_fee_scalar, constant=row.operator_fee_constant, upgrade=upgrade
        )
        divisor = optimism.UNITS_PER_BYTE[l1_rule]
        return Factors(units, price(base_fee, blob_base_fee), divisor, columns["gas"], row.l2_gas_price, extra=extra)

    without = None if _is_from("isthmus", upgrade, optimism.UPGRADES) else no_set_code("op-stack", row.name)
    return Rule(name, ("gas", *sizes), row, taken_apart, without)


def arbitrum_rule(row: presets.ArbitrumChain) -> Rule:
    """Arbitrum at the price per unit at which its controller rests, if every batch is like the row's.

    >>> arbitrum_rule(presets.ARBITRUM_ONE).columns
    ('gas', 'brotli_size')
    """
    instance("row", row, presets.ArbitrumChain)
    arbitrum.version(row.version)
    batch_units = arbitrum.poster_units(row.batch_transaction_bytes)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        blob_gas = row.batch_blobs * fee_market.GAS_PER_BLOB
        execution = multiply("batch_cost", base_fee, row.batch_l1_gas)
        cost = add("batch_cost", execution, multiply("batch_cost", blob_base_fee, blob_gas))
        price = arbitrum_l1_pricing.equilibrium_price(cost, batch_units)
        units, gas_price = arbitrum.poster_units(columns["brotli_size"]), row.l2_gas_price
        return Factors(units, FixedPoint(price, 0), gas_price, columns["gas"], gas_price, step=gas_price)

    without = None if _is_from("arbos-40", row.version, arbitrum.VERSIONS) else no_set_code("arbitrum", row.name)
    return Rule(row.name, ("gas", "brotli_size"), row, taken_apart, without)


SCROLL_INPUTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "bernoulli": (("zero_bytes", "nonzero_bytes"), ("overhead", "scalar")),
        "curie": (("length",), ("commit_scalar", "blob_scalar")),
        "feynman": (
            ("length", "data_length", "zstd_data_size"),
            ("exec_scalar", "blob_scalar", "penalty_threshold", "penalty_factor"),
        ),
        "galileo": (("zstd_size",), ("exec_scalar", "blob_scalar", "penalty_factor")),
        "galileo-v2": (("zstd_size",), ("exec_scalar", "blob_scalar", "penalty_factor")),
    }
)  #: columns and parameters of each upgrade


def scroll_rule(row: presets.ScrollChain, upgrade: str) -> Rule:
    """Scroll at an upgrade of `SCROLL_INPUTS`, which says what scalars it needs.

    >>> scroll_rule(presets.SCROLL, "galileo").columns
    ('gas', 'zstd_size')
    """
    instance("row", row, presets.ScrollChain)
    sizes, needed = SCROLL_INPUTS[choice("upgrade", upgrade, SCROLL_INPUTS)]
    name = f"{row.name}/{upgrade}"
    terms = given(row, name, *needed)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        counts = [columns[size] for size in sizes]
        parts = _scroll_parts(upgrade, counts, terms, base_fee, blob_base_fee)
        return Factors(gas=columns["gas"], gas_price=row.l2_gas_price, saturates=True, **parts)

    # Euclid, which has them, changed no fee: Curie's rule has them only on a day after it, see `_rule_at`.
    without = no_set_code("scroll", "scroll") if upgrade in ("bernoulli", "curie") else None
    return Rule(name, ("gas", *sizes), row, taken_apart, without)


def zksync_rule(row: presets.ZkSyncChain) -> Rule:
    """A ZK Stack chain whose batches pay these L1 fees.

    >>> zksync_rule(presets.ZKSYNC_ERA).columns
    ('gas', 'pubdata')
    """

    instance("row", row, presets.ZkSyncChain)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        pubdata_price = zksync.l1_pubdata_price(base_fee, blob_base_fee, mode=row.pubdata_mode)
        fees = zksync.batch_fee_input(base_fee, pubdata_price, model=row.model)
        batch = zksync.base_fee(fees.fair_l2_gas_price, fees.fair_pubdata_price)
        byte = multiply("pubdata_fee", batch.base_fee, batch.gas_per_pubdata)
        return Factors(columns["pubdata"], FixedPoint(byte, 0), 1, columns["gas"], batch.base_fee)

    return Rule(row.name, ("gas", "pubdata"), row, taken_apart, no_set_code("zksync", row.name))


def zksync_os_rule(row: presets.ZkSyncOsChain) -> Rule:
    """A chain on ZKsync OS: gas at native price · native_per_gas, and pubdata as the gas that its native units take.

    A transaction is charged max(gas, native units // native_per_gas). Here execution uses all the native units that
    its gas pays for, so every byte of pubdata is charged; execution that uses fewer gets some bytes free.

    200 bytes at (1 + 393) · 2 // 1 = 788 native units, 1,576 gas of 100 wei:

    >>> zksync_os_rule(presets.ZKSYNC_OS).fees({"gas": 21_000, "pubdata": 200}, base_fee=10**9, blob_base_fee=1)
    Fees(l1=157600, l2=2100000)
    """
    instance("row", row, presets.ZkSyncOsChain)
    gas_price = row.native_price * row.native_per_gas

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        price: Whole = zksync.l1_pubdata_price(base_fee, blob_base_fee, mode=row.pubdata_mode)
        if row.pubdata_mode == "blobs":
            price = zksync_os.blob_pubdata_price(price, native_price=row.native_price)
        native: Whole = price // row.native_price
        return Factors(columns["pubdata"], FixedPoint(native, 0), row.native_per_gas, columns["gas"], gas_price,
                       step=gas_price)  # fmt: skip

    return Rule(row.name, ("gas", "pubdata"), row, taken_apart, no_set_code("zksync-os", row.name))


def taiko_rule(row: presets.TaikoChain) -> Rule:
    """Taiko: gas at its base fee, and nothing for the bytes.

    >>> taiko_rule(presets.TAIKO).fees({"gas": 21_000}, base_fee=10**9, blob_base_fee=1)
    Fees(l1=0, l2=210000000000)
    """

    instance("row", row, presets.TaikoChain)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        return Factors(0, NOTHING, 1, columns["gas"], row.l2_gas_price)

    return Rule(row.name, ("gas",), row, taken_apart)


def polygon_rule(row: presets.PolygonChain) -> Rule:
    """Polygon zkEVM for transactions that offer the suggested price; the L2 part is gas at its least price.

    Raises `InvalidInput` for prices of plain transfers of their own, and where L1 is so cheap that the node would take
    its least price of 1 wei.

    >>> polygon_rule(presets.POLYGON_ZKEVM).fees({"zero_bytes": 5, "nonzero_bytes": 5, "gas": 200},
    ...                                          base_fee=100, blob_base_fee=1)
    Fees(l1=11600, l2=5000)
    """
    instance("row", row, presets.PolygonChain)
    instance("row.pricing", row.pricing, polygon_zkevm.Pricing)
    if row.pricing.transfer_gas_price or row.pricing.transfer_l1_factor:
        raise InvalidInput("pricing", "expected no price of its own for plain transfers", row.pricing)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        gas, margin = columns["gas"], row.pricing.net_profit
        require("gas", "expected at least 1: a price per gas", gas, gas > 0)
        least = polygon_zkevm.min_l2_gas_price(base_fee, pricing=row.pricing)
        gas_price = with_margin(least, margin)
        require("base_fee", "expected enough for a gas price of 1 wei", base_fee, gas_price > 0)
        units = polygon_zkevm.byte_gas(columns["zero_bytes"], columns["nonzero_bytes"], pricing=row.pricing)
        return Factors(units, FixedPoint(base_fee, 0), gas, gas, gas_price, step=gas, fixed=least, margin=margin)

    columns = ("gas", "zero_bytes", "nonzero_bytes")
    return Rule(row.name, columns, row, taken_apart, no_set_code("polygon", row.name))


def _is_from(first: str, name: str, rows: Sequence[optimism.Upgrade | arbitrum.Version]) -> bool:
    """Whether a row is the first one that is named, or a later one."""
    names = [row.name for row in rows]
    return names.index(name) >= names.index(first)


def _scroll_parts(
    upgrade: str, counts: list[Whole], terms: Mapping[str, int], base_fee: Whole, blob_base_fee: Whole
) -> dict[str, Any]:
    nine_decimals = scroll.PRECISION // MILLION
    if upgrade == "bernoulli":
        units: Whole = scroll.pre_curie_gas(*counts, overhead=terms["overhead"])
        price = scroll.price(l1_base_fee=base_fee, scalar=terms["scalar"])
        return {"units": units, "price": price, "divisor": nine_decimals}
    if upgrade == "curie":
        commitment = scroll.price(l1_base_fee=base_fee, scalar=terms["commit_scalar"])
        price = scroll.price(l1_base_fee=blob_base_fee, scalar=terms["blob_scalar"])
        return {"units": counts[0], "price": price, "divisor": nine_decimals, "offset": commitment}
    price = scroll.price(
        l1_base_fee=base_fee, scalar=terms["exec_scalar"], blob_base_fee=blob_base_fee, blob_scalar=terms["blob_scalar"]
    )
    factor = terms["penalty_factor"]
    if upgrade == "feynman":
        threshold = terms["penalty_threshold"]
        units = scroll.feynman_units(*counts, penalty_threshold=threshold, penalty_factor=factor)
        return {"units": units, "price": price, "divisor": nine_decimals * scroll.PRECISION}
    units, doubling = scroll.galileo_units(*counts, penalty_factor=factor), scroll.doubling_size(factor)
    return {"units": units, "price": price, "divisor": nine_decimals * doubling}


def _all_rules() -> dict[str, Rule]:
    rules = [linea_rule(presets.LINEA)]
    rules += [op_stack_rule(presets.OP_MAINNET, row.name) for row in optimism.UPGRADES]
    rules += [op_stack_rule(presets.BASE, row.name) for row in optimism.UPGRADES if row.l1_rule != "bedrock"]
    rules += [arbitrum_rule(presets.ARBITRUM_ONE), scroll_rule(presets.SCROLL_CURIE, "curie")]
    rules += [scroll_rule(presets.SCROLL, "galileo"), scroll_rule(presets.SCROLL, "galileo-v2")]
    rules += [zksync_rule(presets.ZKSYNC_ERA), zksync_os_rule(presets.ZKSYNC_OS), taiko_rule(presets.TAIKO)]
    rules += [polygon_rule(presets.POLYGON_ZKEVM)]
    return {rule.name: rule for rule in rules}


PUBDATA = 200  # bytes of state that a transaction publishes on zkSync, an assumption: no function of its bytes
RULES: Mapping[str, Rule] = MappingProxyType(_all_rules())
#: One rule for each chain that lives in 2026, the reference first.
CURRENT = (
    "linea", "op-mainnet/karst", "base/jovian", "arbitrum-one", "scroll/galileo-v2", "zksync-era", "zksync-os", "taiko",
)  # fmt: skip


def rule(name: str, *, at: When | None = None) -> Rule:
    """A rule by its name, or a chain's rule at a time.

    Parameters
    ----------
    name : of `RULES`, or of a chain, see `feemodel.rollups.chains`.
    at : a time, for a chain's name: ISO 8601, Unix seconds, `datetime` or `numpy.datetime64`; `None`: the newest row.

    Raises
    ------
    InvalidInput : another name; a time for a rule of `RULES` that is no chain; a time before the chain's start; a
        parameter of that time that no source gives.

    >>> rule("scroll/galileo").columns
    ('gas', 'zstd_size')
    >>> then = rule("op-mainnet", at="2024-06-14")
    >>> then.name, then.preset.base_fee_scalar, then.preset.blob_base_fee_scalar
    ('op-mainnet/ecotone', 1368, 810949)
    """
    if isinstance(name, str) and name in CHAINS:
        found = RULES.get(name)
        if found is not None and at is None:
            return found
        return replace(_rule_at(CHAINS[name], at), no_set_code=CHAINS[name].no_set_code(at))
    found = RULES[choice("rule", name, dict.fromkeys((*RULES, *CHAINS)))]
    if at is not None:
        raise InvalidInput(
            "at", f"expected none: {name} is a rule of one upgrade, only a chain's name takes a time", at
        )
    return found


def rules_at(at: When) -> tuple[tuple[Rule, ...], dict[str, str]]:
    """The rule in force on each chain compared by default, and for chains without one the reason.

    >>> found, without = rules_at("2024-06-14")
    >>> [one.name for one in found][:3], list(without)
    (['linea', 'op-mainnet/ecotone', 'base/ecotone'], ['scroll', 'zksync-os'])
    """
    timestamp("at", at)
    found, without = [], {}
    for name in dict.fromkeys(one.partition("/")[0] for one in CURRENT):
        try:
            found.append(rule(name, at=at))
        except InvalidInput as error:
            if error.name != "at":
                raise
            without[name] = str(error)
    return tuple(found), without


def _rule_at(chain: Chain, at: When | None) -> Rule:
    parameters = chain.at(at)
    row = {name: parameters[name] for name in ("source",)} | {"name": chain.name, "date": parameters["since"]}
    if chain.family == "op-stack":
        return _op_stack_at(chain, parameters, row)
    if chain.family == "arbitrum":
        price = _known(chain, parameters, "min_base_fee")
        return arbitrum_rule(replace(presets.ARBITRUM_ONE, version=parameters["version"], l2_gas_price=price, **row))
    if chain.family == "scroll":
        if parameters["upgrade"] not in ("curie", "galileo", "galileo-v2"):
            raise InvalidInput("at", f"no source gives the scalars of {chain.name} at that time", parameters["since"])
        preset = presets.SCROLL_CURIE if parameters["upgrade"] == "curie" else presets.SCROLL
        return scroll_rule(replace(preset, name=chain.name, date=parameters["since"]), parameters["upgrade"])
    return RULES[chain.name]


def _op_stack_at(chain: Chain, parameters: Mapping[str, Any], row: Mapping[str, Any]) -> Rule:
    upgrade = parameters["upgrade"]
    scalars: dict[str, Any] = {
        name: 0 if optimism.upgrade_named(upgrade).l1_rule == "bedrock" else _known(chain, parameters, name)
        for name in ("base_fee_scalar", "blob_base_fee_scalar")
    }
    own = presets.PRESETS.get(chain.name, presets.OP_MAINNET)
    preset = presets.OpStackChain(
        **scalars, **row, overhead=parameters["overhead"], scalar=parameters["scalar"],
        operator_fee_scalar=parameters["operator_fee_scalar"],
        operator_fee_constant=parameters["operator_fee_constant"],
        l2_gas_price=max(own.l2_gas_price, parameters["min_base_fee"] or 0),
    )  # fmt: skip
    return op_stack_rule(preset, upgrade)


def _known(chain: Chain, parameters: Mapping[str, Any], name: str) -> int:
    value = parameters[name]
    if value is None:
        raise InvalidInput("at", f"no source gives {name} of {chain.name} at that time", parameters["since"])
    return int(value)
