"""The rules of every chain by name or by date, in the common form of `feemodel.rollups.factors`.

| column                      | meaning                                         | used by                             |
|-----------------------------|-------------------------------------------------|-------------------------------------|
| gas                         | gas used on L2 [gas]                            | all chains except Starknet          |
| zero_bytes, nonzero_bytes   | number of zero and of non-zero bytes [byte]     | early OP Stack and Scroll           |
| length                      | length [byte]                                   | Scroll at Curie and Feynman         |
| fastlz_size                 | FastLZ length [byte]                            | OP Stack since Fjord                |
| brotli_size                 | brotli length (level 1, window 22) [byte]       | Arbitrum                            |
| zstd_size                   | Scroll's zstd length, at most `length` [byte]   | Scroll since Galileo                |
| data_length, zstd_data_size | calldata before and after Scroll's zstd [byte]  | Scroll at Feynman                   |
| linea_size                  | sender and unsigned encoding, compressed [byte] | Linea                               |
| pubdata                     | bytes of state published on L1 [byte]           | zkSync, ZKsync OS                   |
| l1_data_gas, l2_gas         | gas of a Starknet transaction [gas]             | Starknet                            |

Sizes are measured on the signed encoding, unless the table says otherwise. For transactions of type 4 (EIP-7702), the
encoding includes the authorization list.

The column `transaction_type` is optional. If a table has `transaction_type`, all rules reject blob transactions (type
3). A rule with a text in `no_set_code` also rejects transactions of type 4.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from feemodel.checks import EMPTY, choice, instance, mapping, real
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.ethereum import fee_market
from feemodel.integers import MILLION, NOTHING, FixedPoint, Whole, add, multiply, multiply_divide, require
from feemodel.linea import coordinator, priority
from feemodel.linea.extra_data import _recorded_cost
from feemodel.rollups import _base_fee_bounds as bounds
from feemodel.rollups import arbitrum, arbitrum_l1_pricing, optimism, scroll, zksync, zksync_os
from feemodel.rollups.chains import CHAINS, Chain, Parameters, When, timestamp
from feemodel.rollups.factors import Columns, Factors, Rule, _with_margin
from feemodel.rollups.mantle import mantle_rule
from feemodel.rollups.starknet import starknet_rule

OF_VARIABLE_COST = ("execution_gas", "blob_gas", "bytes_per_submission", "priority_fee", "pricing_margin",
                    "lower_bound", "upper_bound")  # fmt: skip


def _linea_variable_cost(terms: Mapping[str, Any], base_fee: Whole, blob_base_fee: Whole) -> Whole:
    base, blob = real("base_fee", base_fee, unit="wei"), real("blob_base_fee", blob_base_fee, unit="wei")
    cost = coordinator._variable_cost(
        base, terms["priority_fee"], blob, terms["blob_gas"], terms["execution_gas"], terms["pricing_margin"],
        terms["bytes_per_submission"],
    )  # fmt: skip
    bounded = coordinator._bounded(real("fee", cost), terms["lower_bound"], terms["upper_bound"])
    recorded: Whole = _recorded_cost(bounded)
    return recorded


def _linea_rule(parameters: Parameters) -> Rule:
    """Return Linea's rule, with the variable cost that Linea's coordinator would publish at the L1 fees.

    On a day for which the chain's file has the variable cost that blocks recorded, the rule uses that cost.

    The L1 fee is the part of the fee that depends on the size. The L2 fee consists of the base fee and the fixed cost.

    >>> _linea_rule(CHAINS["linea"].at()).fees({"linea_size": 128, "gas": 21_000}, base_fee=10**9, blob_base_fee=10**9)
    Fees(l1=153599985000, l2=756000147000)
    """
    instance("parameters", parameters, Parameters)
    recorded = parameters.is_known("variable_cost") or "execution_gas" not in parameters
    needed = ("variable_cost",) if recorded else OF_VARIABLE_COST
    terms = parameters.known("fixed_cost", *needed, "estimate_margin", "l2_gas_price")
    fixed, margin = terms["fixed_cost"], terms["estimate_margin"]

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        require("gas", "expected at least 1, because the fee is divided by the gas", columns["gas"], columns["gas"] > 0)
        base = add("gas_price", _with_margin(fixed, margin), terms["l2_gas_price"])
        gas = columns["gas"]
        cost = terms["variable_cost"] if recorded else _linea_variable_cost(terms, base_fee, blob_base_fee)
        price: FixedPoint = FixedPoint(cost, 0)
        return Factors(columns["linea_size"], price, gas, gas, base, step=gas, fixed=fixed, margin=margin,
                       check=_check_size_product)  # fmt: skip

    return Rule.of(parameters, ("gas", "linea_size"), terms, taken_apart)


def _check_size_product(size: Whole, cost: Whole, gas: Whole, fixed: Whole) -> None:
    priority._product(priority._SIZE_PRODUCT, cost, size)


def _op_stack_rule(parameters: Parameters) -> Rule:
    """Return the rule of an OP Stack chain.

    The rule reads `overhead` and `scalar` before Ecotone, and two scalars since Ecotone.

    >>> _op_stack_rule(parameters_of("base", at="2024-08-01")).columns
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
    if row.counts_footprint:
        needed += ["min_base_fee"]
    terms = parameters.known(*needed, "l2_gas_price")
    l2_gas_price = terms["l2_gas_price"]
    if row.counts_footprint and terms["min_base_fee"] > l2_gas_price:
        l2_gas_price = terms["min_base_fee"]
        del terms["l2_gas_price"]  # not used, so not in the remarks

    def price(base_fee: Whole, blob_base_fee: Whole) -> FixedPoint:
        if l1_rule == "bedrock":
            return optimism._bedrock_price(l1_base_fee=base_fee, scalar=terms["scalar"])
        return optimism._weighted_price(
            l1_base_fee=base_fee, blob_base_fee=blob_base_fee, base_fee_scalar=terms["base_fee_scalar"],
            blob_base_fee_scalar=terms["blob_base_fee_scalar"],
        )  # fmt: skip

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        counts = [columns[size] for size in sizes]
        if l1_rule == "bedrock":
            units = optimism._bedrock_l1_gas(*counts, overhead=terms["overhead"], upgrade=upgrade)
        else:
            units = optimism._scaled_size(*counts) if l1_rule == "fjord" else fee_market._calldata_gas(*counts)
        extra: Whole = 0
        if row.operator_fee_multiplier:
            scalar, constant = terms["operator_fee_scalar"], terms["operator_fee_constant"]
            extra = optimism._operator_fee(columns["gas"], scalar, constant, row)
        divisor = optimism.UNITS_PER_BYTE[l1_rule]
        return Factors(units, price(base_fee, blob_base_fee), divisor, columns["gas"], l2_gas_price, extra=extra)

    return Rule.of(parameters, ("gas", *sizes), terms, taken_apart, upgrade)


def _arbitrum_rule(parameters: Parameters) -> Rule:
    """Return Arbitrum's rule, at the equilibrium price per unit of its L1 pricing controller.

    All batches are assumed to have the same L1 gas, blobs and transaction bytes, which are parameters of the chain.

    >>> _arbitrum_rule(CHAINS["arbitrum-one"].at()).columns
    ('gas', 'brotli_size')
    """
    terms = instance("parameters", parameters, Parameters).known(
        "version", "min_base_fee", "batch_l1_gas", "batch_blobs", "batch_transaction_bytes"
    )
    arbitrum.version(terms["version"])
    gas_price = bounds.arbitrum_min_base_fee(terms)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        price = _arbitrum_price_per_unit(terms, base_fee, blob_base_fee)
        units = arbitrum._poster_units(columns["brotli_size"])
        return Factors(units, FixedPoint(price, 0), gas_price, columns["gas"], gas_price, step=gas_price,
                       saturates=True)  # fmt: skip

    return Rule.of(parameters, ("gas", "brotli_size"), terms, taken_apart)


def _arbitrum_price_per_unit(terms: Mapping[str, Any], base_fee: Whole, blob_base_fee: Whole) -> Whole:
    """Return the equilibrium price per unit of Arbitrum's L1 pricing controller [wei / unit].

    Parameters
    ----------
    terms : parameters `batch_l1_gas`, `batch_blobs` and `batch_transaction_bytes` of the chain, which are not checked.
    base_fee, blob_base_fee : base fee and blob base fee of L1, which are not checked [wei / gas].

    (1 gwei · 210,000 gas + 1 wei · 131,072 blob gas) / 1,600,000 units, rounded up, plus the reward of 10 wei:

    >>> batch = {"batch_l1_gas": 210_000, "batch_blobs": 1, "batch_transaction_bytes": 100_000}
    >>> _arbitrum_price_per_unit(batch, 10**9, 1)
    131250011
    """
    execution = multiply("batch_cost", base_fee, terms["batch_l1_gas"])
    blobs = multiply("batch_cost", blob_base_fee, terms["batch_blobs"] * fee_market.GAS_PER_BLOB)
    units = arbitrum._poster_units(terms["batch_transaction_bytes"])
    return arbitrum_l1_pricing._equilibrium_price(add("batch_cost", execution, blobs), units)


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
)  #: columns and parameters of the rule, by upgrade


def _scroll_rule(parameters: Parameters) -> Rule:
    """Return Scroll's rule; `SCROLL_INPUTS` has the columns and parameters of each upgrade.

    >>> _scroll_rule(CHAINS["scroll"].at()).columns
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


def _zksync_rule(parameters: Parameters) -> Rule:
    """Return the rule of a ZK Stack chain, for batches that are posted at the given L1 fees.

    >>> _zksync_rule(CHAINS["zksync-era"].at()).columns
    ('gas', 'pubdata')
    """
    terms = instance("parameters", parameters, Parameters).known(*FEE_MODEL, "pubdata_mode")
    model = zksync.FeeModel(**{name: terms[name] for name in FEE_MODEL})
    mode = choice("mode", terms["pubdata_mode"], zksync.PUBDATA_MODES)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        pubdata_price = zksync._l1_pubdata_price(base_fee, blob_base_fee, mode)
        fees = zksync._batch_fee_input(base_fee, pubdata_price, model)
        gas_price = fees.fair_l2_gas_price
        require("fair_l2_gas_price", "expected whole wei of at least 1", gas_price, gas_price > 0)
        batch = zksync._base_fee(gas_price, fees.fair_pubdata_price)
        byte = multiply("pubdata_fee", batch.base_fee, batch.gas_per_pubdata)
        return Factors(columns["pubdata"], FixedPoint(byte, 0), 1, columns["gas"], batch.base_fee)

    return Rule.of(parameters, ("gas", "pubdata"), terms, taken_apart)


def _zksync_os_rule(parameters: Parameters) -> Rule:
    """Return the rule of a ZKsync OS chain, which charges pubdata in native units, and converts native units to gas.

    The gas price is native_price · native_per_gas. A transaction is charged max(gas, native units // native_per_gas).
    The gas of the execution pays for some native units. If the execution does not use all these units, the unused units
    pay for pubdata on the chain. This rule assumes that the execution uses all the native units that its gas pays for,
    so all pubdata is charged in addition.

    A byte of pubdata costs (1 + 393) · 2 // 1 = 788 native units. 200 bytes of pubdata cost 200 · 788 = 157,600 native
    units, which are 1,576 gas at a gas price of 100 wei:

    >>> _zksync_os_rule(CHAINS["zksync-os"].at()).fees({"gas": 21_000, "pubdata": 200}, base_fee=10**9, blob_base_fee=1)
    Fees(l1=157600, l2=2100000)
    """
    terms = instance("parameters", parameters, Parameters).known("native_price", "native_per_gas", "pubdata_mode")
    native_price, native_per_gas = terms["native_price"], terms["native_per_gas"]
    gas_price = native_price * native_per_gas
    mode = choice("mode", terms["pubdata_mode"], zksync.PUBDATA_MODES)

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        price: Whole = zksync._l1_pubdata_price(base_fee, blob_base_fee, mode)
        if mode == "blobs":
            price = zksync_os._blob_pubdata_price(price, native_price)
        native = multiply_divide("native_price", price, 1, native_price)
        return Factors(columns["pubdata"], FixedPoint(native, 0), native_per_gas, columns["gas"], gas_price,
                       step=gas_price)  # fmt: skip

    return Rule.of(parameters, ("gas", "pubdata"), terms, taken_apart)


def _taiko_rule(parameters: Parameters) -> Rule:
    """Return Taiko's rule: gas · minimum base fee, without a fee for L1 data.

    >>> _taiko_rule(CHAINS["taiko"].at()).fees({"gas": 21_000}, base_fee=10**9, blob_base_fee=1)
    Fees(l1=0, l2=210000000000)
    """
    terms = instance("parameters", parameters, Parameters).known("min_base_fee")

    def taken_apart(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        return Factors(0, NOTHING, 1, columns["gas"], terms["min_base_fee"])

    return Rule.of(parameters, ("gas",), terms, taken_apart)


def _scroll_parts(
    upgrade: str, counts: list[Whole], terms: Mapping[str, int], base_fee: Whole, blob_base_fee: Whole
) -> dict[str, Any]:
    nine_decimals = scroll.PRECISION // MILLION
    if upgrade == "bernoulli":
        units: Whole = scroll._pre_curie_gas(*counts, overhead=terms["overhead"])
        price = scroll._price(base_fee, terms["scalar"])
        return {"units": units, "price": price, "divisor": nine_decimals}
    if upgrade == "curie":
        commitment = scroll._price(base_fee, terms["commit_scalar"])
        price = scroll._price(blob_base_fee, terms["blob_scalar"])
        return {"units": counts[0], "price": price, "divisor": nine_decimals, "offset": commitment}
    price = scroll._price(base_fee, terms["exec_scalar"], blob_base_fee, terms["blob_scalar"])
    factor = terms["penalty_factor"]
    if upgrade == "feynman":
        threshold = terms["penalty_threshold"]
        units = scroll._feynman_units(*counts, penalty_threshold=threshold, penalty_factor=factor)
        return {"units": units, "price": price, "divisor": nine_decimals * scroll.PRECISION}
    doubling = scroll._doubling_size(factor)
    units = scroll._galileo_units(counts[0], doubling)
    return {"units": units, "price": price, "divisor": nine_decimals * doubling}


class Family(NamedTuple):
    """A family of chains with the same rule."""

    rule: Callable[[Parameters], Rule]
    #: function of (parameters, base fee, number of blocks): the largest base fee after that number of blocks
    bound: Callable[[Parameters, int, int], int] | None = None
    #: how the data fee is charged: separately, as additional gas, or as a part of the gas price
    data_fee: Literal["apart", "as gas", "in gas price"] = "apart"
    assumed: Mapping[str, Any] = EMPTY  #: values for parameters that a chain's file does not set
    sends_value: bool = True  #: whether the chains use Ethereum's transactions, which can send a value


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "linea": Family(_linea_rule, bounds.linea_bound, "in gas price"),
        "op-stack": Family(_op_stack_rule, bounds.op_stack_bound, assumed={"l2_gas_price": 1_000_000}),
        "arbitrum": Family(_arbitrum_rule, bounds.arbitrum_bound, "as gas"),
        "scroll": Family(_scroll_rule, bounds.scroll_bound),
        "zksync": Family(_zksync_rule, None, "in gas price"),
        "zksync-os": Family(_zksync_os_rule, bounds.zksync_os_bound, "in gas price"),
        "taiko": Family(_taiko_rule, bounds.taiko_bound, "in gas price"),
        "mantle": Family(mantle_rule, bounds.mantle_bound),
        "starknet": Family(starknet_rule, bounds.starknet_bound, sends_value=False),
    }
)
# Assumed pubdata of a zkSync transaction, in bytes. The amount of pubdata cannot be computed from the calldata.
PUBDATA = 200
#: Chains at the top of a comparison, in this order; the other chains follow in alphabetical order.
FIRST = ("linea", "op-mainnet", "base", "arbitrum-one", "scroll", "zksync-era", "zksync-os", "taiko")


def rule(name: str | Chain, *, at: When | None = None, parameters: Mapping[str, Any] = EMPTY) -> Rule:
    """Return the rule of a chain at a date or at an upgrade.

    Parameters
    ----------
    name : name of a chain (see `feemodel.rollups.chains_table`), or a `Chain` (see `feemodel.rollups.read_chains`). A
        name of the form CHAIN/UPGRADE selects the parameters that applied at the end of the upgrade.
    at : date of the rule: ISO 8601, Unix seconds, `datetime` or `numpy.datetime64`; `None`: the newest. If `name` has
        the form CHAIN/UPGRADE, `at` must be `None`.
    parameters : values that replace the chain's own values, by parameter name.

    Returns
    -------
    Rule : the rule, whose method `fees` computes fees.

    Raises
    ------
    UnknownParameter : the rule needs a parameter whose value at the date is not known and is not in `parameters`.
    InvalidInput : an unknown name, a date together with an upgrade, or a date before the chain's start.

    >>> rule("scroll/galileo").columns
    ('gas', 'zstd_size')
    >>> then = rule("op-mainnet", at="2024-06-14")
    >>> then.name, then.parameters["base_fee_scalar"], then.parameters["blob_base_fee_scalar"]
    ('op-mainnet/ecotone', 1368, 810949)
    >>> rule("mode", parameters={"base_fee_scalar": 20_000, "blob_base_fee_scalar": 611_590,
    ...                          "operator_fee_scalar": 0, "operator_fee_constant": 0, "min_base_fee": 0}).name
    'mode/karst'
    """
    found = parameters_of(name, at=at, parameters=parameters)
    return FAMILIES[found.chain.family].rule(found)


def parameters_of(name: str | Chain, *, at: When | None = None, parameters: Mapping[str, Any] = EMPTY) -> Parameters:
    """Return the parameters of a rule.

    The value of a parameter is the value in `parameters`, else the chain's own value, else the value that is assumed
    for the family.

    >>> parameters_of("base", at="2026-01-01")["da_footprint_gas_scalar"]
    325
    """
    if isinstance(name, Chain):
        chain, when = name, at
    else:
        own, _, upgrade = name.partition("/") if isinstance(name, str) else ("", "", "")
        if own not in CHAINS:
            near = get_close_matches(own, CHAINS, 1)
            expected = "expected CHAIN or CHAIN/UPGRADE" + (f" (did you mean {near[0]}?)" if near else "")
            expected += f", where CHAIN is one of {', '.join(CHAINS)}"
            raise InvalidInput("rule", expected, name)
        if upgrade and at is not None:
            expected = f"not valid with the rule of an upgrade, {name}; expected the name of a chain"
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
    """Return the rules of all live chains at a date, and an error for each chain that has no rule at this date.

    Parameters
    ----------
    at : date: ISO 8601, Unix seconds, `datetime` or `numpy.datetime64`; `None`: the newest rules.
    chains : chains by name: the chains of the package, or the result of `feemodel.rollups.read_chains`.
    parameters : values that replace a chain's own values: chain name → parameter name → value.

    Returns
    -------
    tuple of Rule, dict : the rules; and, by chain name, the errors that state why chains have no rule.

    Raises
    ------
    InvalidInput : the date or `parameters` is not valid, or `parameters` names a chain that is unknown or archived.

    >>> found, without = rules_at("2024-06-14")
    >>> [one.name for one in found][:3], without["scroll"].since
    (['op-mainnet/ecotone', 'base/ecotone', 'arbitrum-one'], '2023-10-10T06:00:00')
    """
    if at is not None:
        timestamp("at", at)
    names = mapping("chains", chains)
    live = [name for name in names if instance("chains", chains[name], Chain).archived is None]
    for name in mapping("parameters", parameters):
        choice("parameters", name, live)
    found, without = [], {}
    for name in [*(one for one in FIRST if one in live), *(one for one in live if one not in FIRST)]:
        try:
            found.append(rule(chains[name], at=at, parameters=parameters.get(name, EMPTY)))
        except InvalidInput as error:
            without[name] = error
    return tuple(found), without


@cache
def all_rules() -> Mapping[str, Rule]:
    """Return all rules with known parameters by name: a rule for each upgrade, or for the chain if it has no upgrades.

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
