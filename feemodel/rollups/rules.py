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
| l1_data_gas, l2_gas         | of a Starknet transaction [gas]              | Starknet                               |

A column `transaction_type`, where there is one, is looked at for blob transactions, which no rollup prices, and for
those of type 4 (EIP-7702), which a rule prices where `Rule.no_set_code` is `None`: their bytes are measured with the
authorization list, as those of any other.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from feemodel.checks import EMPTY, choice, instance, mapping
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.ethereum import fee_market
from feemodel.integers import MILLION, NOTHING, FixedPoint, Whole, add, multiply, require
from feemodel.linea import coordinator
from feemodel.linea.extra_data import recorded_cost
from feemodel.rollups import _base_fee_bounds as bounds
from feemodel.rollups import arbitrum, arbitrum_l1_pricing, optimism, polygon_zkevm, scroll, zksync, zksync_os
from feemodel.rollups.chains import CHAINS, Chain, Parameters, When, timestamp
from feemodel.rollups.factors import Columns, Factors, Rule, with_margin
from feemodel.rollups.mantle import mantle_rule
from feemodel.rollups.starknet import starknet_rule

OF_VARIABLE_COST = ("execution_gas", "blob_gas", "bytes_per_submission", "priority_fee", "pricing_margin",
                    "lower_bound", "upper_bound")  # fmt: skip


def linea_variable_cost(parameters: Parameters, base_fee: Whole, blob_base_fee: Whole) -> Whole:
    """The variable cost that Linea's pricing record would hold at these L1 fees [wei / byte].

    Parameters
    ----------
    parameters : of the chain.
    base_fee, blob_base_fee : of L1 [wei / gas].

    (1 gwei · 65,250 + 1 gwei · 131,072) / 131,072 is 1.498 gwei, above the upper bound:

    >>> linea_variable_cost(CHAINS["linea"].at(), 10**9, 10**9)
    1000000000
    """
    terms = instance("parameters", parameters, Parameters).known(*OF_VARIABLE_COST)
    cost = coordinator.variable_cost(
        base_fee, terms["priority_fee"], blob_base_fee, execution_gas=terms["execution_gas"],
        blob_gas=terms["blob_gas"], bytes_per_submission=terms["bytes_per_submission"],
        margin=terms["pricing_margin"], lower_bound=terms["lower_bound"], upper_bound=terms["upper_bound"],
    )  # fmt: skip
    found: Whole = recorded_cost(cost)
    return found


def linea_rule(parameters: Parameters) -> Rule:
    """Linea's cost-per-byte form at the variable cost that its coordinator would publish at these L1 fees.

    The L1 part is what the size adds to the fee, the L2 part base fee and fixed cost.

    >>> linea_rule(CHAINS["linea"].at()).fees({"linea_size": 128, "gas": 21_000}, base_fee=10**9, blob_base_fee=10**9)
    Fees(l1=153599985000, l2=756000147000)
    """
    terms = instance("parameters", parameters, Parameters).known(
        "fixed_cost", *OF_VARIABLE_COST, "estimate_margin", "l2_gas_price"
    )
    fixed, margin = terms["fixed_cost"], terms["estimate_margin"]

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        require("gas", "expected at least 1: a fee per gas", columns["gas"], columns["gas"] > 0)
        base = add("gas_price", with_margin(fixed, margin), terms["l2_gas_price"])
        gas = columns["gas"]
        price: FixedPoint = FixedPoint(linea_variable_cost(parameters, base_fee, blob_base_fee), 0)
        return Factors(columns["linea_size"], price, gas, gas, base, step=gas, fixed=fixed, margin=margin)

    return Rule.of(parameters, ("gas", "linea_size"), terms, taken_apart)


def op_stack_rule(parameters: Parameters) -> Rule:
    """An OP Stack chain; until Ecotone it needs `overhead` and `scalar`, from then on the two scalars of L1 fees.

    >>> op_stack_rule(parameters_of("base", at="2024-08-01")).columns
    ('gas', 'fastlz_size')
    """
    instance("parameters", parameters, Parameters)
    upgrade = parameters.known("upgrade")["upgrade"]
    row = optimism.upgrade_named(upgrade)
    l1_rule = row.l1_rule
    sizes = ("fastlz_size",) if l1_rule == "fjord" else ("zero_bytes", "nonzero_bytes")
    needed = ["overhead", "scalar"] if l1_rule == "bedrock" else ["base_fee_scalar", "blob_base_fee_scalar"]
    if row.operator_fee_multiplier:
        needed += ["operator_fee_scalar", "operator_fee_constant"]
    terms = parameters.known(*needed, "l2_gas_price")
    l2_gas_price = terms["l2_gas_price"]
    minimum = parameters.entries.get("min_base_fee")
    if minimum is not None and (minimum.value or 0) > l2_gas_price:
        l2_gas_price = minimum.value
        terms = {**{name: terms[name] for name in needed}, "min_base_fee": l2_gas_price}

    def price(base_fee: Whole, blob_base_fee: Whole) -> FixedPoint:
        if l1_rule == "bedrock":
            return optimism.bedrock_price(l1_base_fee=base_fee, scalar=terms["scalar"])
        return optimism.weighted_price(
            l1_base_fee=base_fee, blob_base_fee=blob_base_fee, base_fee_scalar=terms["base_fee_scalar"],
            blob_base_fee_scalar=terms["blob_base_fee_scalar"],
        )  # fmt: skip

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        counts = [columns[size] for size in sizes]
        if l1_rule == "bedrock":
            units = optimism.bedrock_l1_gas(*counts, overhead=terms["overhead"], upgrade=upgrade)
        else:
            units = optimism.scaled_size(*counts) if l1_rule == "fjord" else fee_market.calldata_gas(*counts)
        extra = optimism.operator_fee(
            columns["gas"], scalar=terms.get("operator_fee_scalar", 0),
            constant=terms.get("operator_fee_constant", 0), upgrade=upgrade,
        )  # fmt: skip
        divisor = optimism.UNITS_PER_BYTE[l1_rule]
        return Factors(units, price(base_fee, blob_base_fee), divisor, columns["gas"], l2_gas_price, extra=extra)

    return Rule.of(parameters, ("gas", *sizes), terms, taken_apart, upgrade)


def arbitrum_rule(parameters: Parameters) -> Rule:
    """Arbitrum at the price per unit at which its controller rests, if every batch is like the one assumed.

    >>> arbitrum_rule(CHAINS["arbitrum-one"].at()).columns
    ('gas', 'brotli_size')
    """
    terms = instance("parameters", parameters, Parameters).known(
        "version", "min_base_fee", "batch_l1_gas", "batch_blobs", "batch_transaction_bytes"
    )
    arbitrum.version(terms["version"])
    batch_units = arbitrum.poster_units(terms["batch_transaction_bytes"])
    gas_price = terms["min_base_fee"]

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        blob_gas = terms["batch_blobs"] * fee_market.GAS_PER_BLOB
        execution = multiply("batch_cost", base_fee, terms["batch_l1_gas"])
        cost = add("batch_cost", execution, multiply("batch_cost", blob_base_fee, blob_gas))
        price = arbitrum_l1_pricing.equilibrium_price(cost, batch_units)
        units = arbitrum.poster_units(columns["brotli_size"])
        return Factors(units, FixedPoint(price, 0), gas_price, columns["gas"], gas_price, step=gas_price)

    return Rule.of(parameters, ("gas", "brotli_size"), terms, taken_apart)


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


def scroll_rule(parameters: Parameters) -> Rule:
    """Scroll; `SCROLL_INPUTS` has the scalars that each upgrade needs.

    >>> scroll_rule(CHAINS["scroll"].at()).columns
    ('gas', 'zstd_size')
    """
    upgrade = instance("parameters", parameters, Parameters).known("upgrade")["upgrade"]
    sizes, needed = SCROLL_INPUTS[choice("upgrade", upgrade, SCROLL_INPUTS)]
    terms = parameters.known(*needed, "l2_gas_price")

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        counts = [columns[size] for size in sizes]
        parts = _scroll_parts(upgrade, counts, terms, base_fee, blob_base_fee)
        return Factors(gas=columns["gas"], gas_price=terms["l2_gas_price"], saturates=True, **parts)

    return Rule.of(parameters, ("gas", *sizes), terms, taken_apart, upgrade)


FEE_MODEL = ("minimal_l2_gas_price", "compute_overhead_part", "pubdata_overhead_part", "batch_overhead_l1_gas",
             "max_gas_per_batch", "max_pubdata_per_batch")  # fmt: skip


def zksync_rule(parameters: Parameters) -> Rule:
    """A ZK Stack chain whose batches pay these L1 fees.

    >>> zksync_rule(CHAINS["zksync-era"].at()).columns
    ('gas', 'pubdata')
    """
    terms = instance("parameters", parameters, Parameters).known(*FEE_MODEL, "pubdata_mode")
    model = zksync.FeeModel(**{name: terms[name] for name in FEE_MODEL})

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        pubdata_price = zksync.l1_pubdata_price(base_fee, blob_base_fee, mode=terms["pubdata_mode"])
        fees = zksync.batch_fee_input(base_fee, pubdata_price, model=model)
        batch = zksync.base_fee(fees.fair_l2_gas_price, fees.fair_pubdata_price)
        byte = multiply("pubdata_fee", batch.base_fee, batch.gas_per_pubdata)
        return Factors(columns["pubdata"], FixedPoint(byte, 0), 1, columns["gas"], batch.base_fee)

    return Rule.of(parameters, ("gas", "pubdata"), terms, taken_apart)


def zksync_os_rule(parameters: Parameters) -> Rule:
    """A chain on ZKsync OS: gas at native price · native_per_gas, and pubdata as the gas that its native units take.

    A transaction is charged max(gas, native units // native_per_gas). Here execution uses all the native units that
    its gas pays for, so every byte of pubdata is charged; execution that uses fewer gets some bytes free.

    200 bytes at (1 + 393) · 2 // 1 = 788 native units, 1,576 gas of 100 wei:

    >>> zksync_os_rule(CHAINS["zksync-os"].at()).fees({"gas": 21_000, "pubdata": 200}, base_fee=10**9, blob_base_fee=1)
    Fees(l1=157600, l2=2100000)
    """
    terms = instance("parameters", parameters, Parameters).known("native_price", "native_per_gas", "pubdata_mode")
    native_price, native_per_gas = terms["native_price"], terms["native_per_gas"]
    gas_price = native_price * native_per_gas

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        price: Whole = zksync.l1_pubdata_price(base_fee, blob_base_fee, mode=terms["pubdata_mode"])
        if terms["pubdata_mode"] == "blobs":
            price = zksync_os.blob_pubdata_price(price, native_price=native_price)
        native: Whole = price // native_price
        return Factors(columns["pubdata"], FixedPoint(native, 0), native_per_gas, columns["gas"], gas_price,
                       step=gas_price)  # fmt: skip

    return Rule.of(parameters, ("gas", "pubdata"), terms, taken_apart)


def taiko_rule(parameters: Parameters) -> Rule:
    """Taiko: gas at its minimum base fee, and nothing for the bytes.

    >>> taiko_rule(CHAINS["taiko"].at()).fees({"gas": 21_000}, base_fee=10**9, blob_base_fee=1)
    Fees(l1=0, l2=210000000000)
    """
    terms = instance("parameters", parameters, Parameters).known("min_base_fee")

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        return Factors(0, NOTHING, 1, columns["gas"], terms["min_base_fee"])

    return Rule.of(parameters, ("gas",), terms, taken_apart)


PRICING = ("l1_gas_price_factor", "byte_gas_cost", "zero_byte_gas_cost", "net_profit")


def polygon_rule(parameters: Parameters) -> Rule:
    """Polygon zkEVM for transactions that offer the suggested price; the L2 part is gas at its least price.

    Raises `InvalidInput` where L1 is so cheap that the node would take its least price of 1 wei.

    >>> polygon_rule(CHAINS["polygon-zkevm"].at()).fees({"zero_bytes": 5, "nonzero_bytes": 5, "gas": 200},
    ...                                                 base_fee=100, blob_base_fee=1)
    Fees(l1=11600, l2=5000)
    """
    terms = instance("parameters", parameters, Parameters).known(*PRICING)
    pricing = polygon_zkevm.Pricing(**terms)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        gas, margin = columns["gas"], pricing.net_profit
        require("gas", "expected at least 1: a price per gas", gas, gas > 0)
        minimum = polygon_zkevm.min_l2_gas_price(base_fee, pricing=pricing)
        gas_price = with_margin(minimum, margin)
        require("base_fee", "expected enough for a gas price of 1 wei", base_fee, gas_price > 0)
        units = polygon_zkevm.byte_gas(columns["zero_bytes"], columns["nonzero_bytes"], pricing=pricing)
        return Factors(units, FixedPoint(base_fee, 0), gas, gas, gas_price, step=gas, fixed=minimum, margin=margin)

    return Rule.of(parameters, ("gas", "zero_bytes", "nonzero_bytes"), terms, taken_apart)


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


class Family(NamedTuple):
    """A rule that several chains share."""

    rule: Callable[[Parameters], Rule]
    bound: Callable[[Parameters, int, int], int] | None = None  #: the largest base fee of parameters, base fee, blocks
    data_fee: Literal["apart", "as gas", "in gas price"] = "apart"  #: taken besides the gas; as more gas; not apart
    assumed: Mapping[str, Any] = EMPTY  #: parameters in place of those that a chain's file leaves out
    sends_value: bool = True  #: whether its transactions are Ethereum's, so that a value can be sent


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "linea": Family(linea_rule, bounds.linea_bound, "in gas price"),
        "op-stack": Family(op_stack_rule, bounds.op_stack_bound, assumed={"l2_gas_price": 1_000_000}),
        "arbitrum": Family(arbitrum_rule, bounds.arbitrum_bound, "as gas"),
        "scroll": Family(scroll_rule, bounds.scroll_bound),
        "zksync": Family(zksync_rule, None, "in gas price"),
        "zksync-os": Family(zksync_os_rule, bounds.zksync_os_bound, "in gas price"),
        "taiko": Family(taiko_rule, bounds.taiko_bound, "in gas price"),
        "polygon": Family(polygon_rule, None, "in gas price"),
        "mantle": Family(mantle_rule, bounds.mantle_bound),
        "starknet": Family(starknet_rule, bounds.starknet_bound, sends_value=False),
    }
)
PUBDATA = 200  # bytes of state that a transaction publishes on zkSync, an assumption: no function of its bytes
#: Chains that a comparison begins with; the others follow by name.
FIRST = ("linea", "op-mainnet", "base", "arbitrum-one", "scroll", "zksync-era", "zksync-os", "taiko")


def rule(name: str | Chain, *, at: When | None = None, parameters: Mapping[str, Any] = EMPTY) -> Rule:
    """A chain's rule at a time, or at one of its upgrades.

    Parameters
    ----------
    name : of a chain, see `feemodel.rollups.chains_table`; or CHAIN/UPGRADE: with the parameters in force when that
        upgrade ended. Or a chain of one's own, see `feemodel.rollups.read_chains`.
    at : a time, for a chain: ISO 8601, Unix seconds, `datetime` or `numpy.datetime64`; `None`: after its last row.
    parameters : values that replace those of the chain, known or unknown.

    Raises
    ------
    UnknownParameter : a parameter that no source gives for that time and that `parameters` does not give.
    InvalidInput : another name; a time with the name of an upgrade; a time before the chain's start.

    >>> rule("scroll/galileo").columns
    ('gas', 'zstd_size')
    >>> then = rule("op-mainnet", at="2024-06-14")
    >>> then.name, then.parameters["base_fee_scalar"], then.parameters["blob_base_fee_scalar"]
    ('op-mainnet/ecotone', 1368, 810949)
    >>> rule("mode", parameters={"base_fee_scalar": 20_000, "blob_base_fee_scalar": 611_590,
    ...                          "operator_fee_scalar": 0, "operator_fee_constant": 0}).name
    'mode/karst'
    """
    found = parameters_of(name, at=at, parameters=parameters)
    return FAMILIES[found.chain.family].rule(found)


def parameters_of(name: str | Chain, *, at: When | None = None, parameters: Mapping[str, Any] = EMPTY) -> Parameters:
    """The parameters that `rule` reads: those of the chain, those given, and its family's assumptions.

    >>> parameters_of("base", at="2026-01-01")["da_footprint_gas_scalar"]
    325
    """
    if isinstance(name, Chain):
        chain, when = name, at
    else:
        own, _, upgrade = name.partition("/") if isinstance(name, str) else ("", "", "")
        if own not in CHAINS:
            expected = f"expected a chain or CHAIN/UPGRADE, with a chain of {', '.join(CHAINS)}"
            raise InvalidInput("rule", expected, name)
        if upgrade and at is not None:
            expected = f"expected none: {name} is a rule of one upgrade, a time goes with a chain's name"
            raise InvalidInput("at", expected, at)
        chain = CHAINS[own]
        when = chain.end_of(upgrade) if upgrade else at
    family = FAMILIES[choice("family", chain.family, FAMILIES)]
    return chain.at(when).given(parameters).assuming(family.assumed, "assumption")


def rules_at(
    at: When | None = None,
    *,
    chains: Mapping[str, Chain] = CHAINS,
    parameters: Mapping[str, Mapping[str, Any]] = EMPTY,
) -> tuple[tuple[Rule, ...], dict[str, InvalidInput]]:
    """The rule in force on each chain that lives, and for chains without one the reason.

    Parameters
    ----------
    at : a time, as `rule` takes it.
    chains : by name; the shipped ones, or those of `feemodel.rollups.read_chains`.
    parameters : chain → values that replace its own.

    >>> found, without = rules_at("2024-06-14")
    >>> [one.name for one in found][:3], without["scroll"].since
    (['linea', 'op-mainnet/ecotone', 'base/ecotone'], '2023-10-10T06:00:00')
    """
    if at is not None:
        timestamp("at", at)
    mapping("parameters", parameters)
    found, without = [], {}
    names = mapping("chains", chains)
    for name in [*(one for one in FIRST if one in names), *(one for one in names if one not in FIRST)]:
        if instance("chains", chains[name], Chain).archived is not None:
            continue
        try:
            found.append(rule(chains[name], at=at, parameters=parameters.get(name, EMPTY)))
        except InvalidInput as error:
            without[name] = error
    return tuple(found), without


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every upgrade of every chain whose parameters are known, and the chains without upgrades, by name.

    >>> [name for name in all_rules() if name.startswith("scroll")]
    ['scroll/curie', 'scroll/galileo', 'scroll/galileo-v2']
    """
    found = {}
    for chain in (CHAINS[name] for name in dict.fromkeys((*FIRST, *CHAINS))):
        upgrades = dict.fromkeys(row.values["upgrade"] for row in chain.rows if "upgrade" in row.values)
        for name in [f"{chain.name}/{upgrade}" for upgrade in upgrades] or [chain.name]:
            try:
                one = rule(name)
            except UnknownParameter:
                continue
            found[one.name] = one
    return MappingProxyType(found)
