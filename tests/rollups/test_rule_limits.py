"""Each rule against its chain's own formulas, with parameters and inputs at the limits of 53, 63 and 64 bits.

A rule gives the same fee as the formulas, or refuses with an error of the package. It never gives a fee that the
formulas refuse.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from feemodel.errors import FeeModelError, Int64Overflow, InvalidInput
from feemodel.ethereum import fee_market
from feemodel.linea import coordinator, extra_data, priority
from feemodel.rollups import (
    Now,
    arbitrum,
    arbitrum_l1_pricing,
    mantle,
    max_send,
    optimism,
    scroll,
    starknet,
    zksync,
    zksync_os,
)
from feemodel.rollups.chains import CHAINS, schema
from feemodel.rollups.factors import Rule
from feemodel.rollups.linea import OF_VARIABLE_COST
from feemodel.rollups.rules import rule
from feemodel.rollups.scroll import INPUTS
from feemodel.rollups.zksync import FEE_MODEL

INT64_MAX, UINT64_MAX = 2**63 - 1, 2**64 - 1
SMALL = [0, 1, 2, 255, 10**6, 10**9, 2**32 - 1, 2**32, 10**12, 2**51, 2**53 - 1, 2**53, 2**53 + 1, 2**62, INT64_MAX]
EDGES = [*SMALL, 2**63, UINT64_MAX, 2**64, 2**100]
FACTORS = [0.0, 1e-9, 0.25, 1.0, 1.0, 1.2, 2.0, 1e3, 1e19, 1e300]
SCALARS = ("base_fee_scalar", "blob_base_fee_scalar")
OPERATOR_FEE = ("operator_fee_scalar", "operator_fee_constant")
NAMES = [
    name
    for chain in CHAINS.values()
    for name in [f"{chain.name}/{one}" for one in dict.fromkeys(row.values.get("upgrade") for row in chain.rows) if one]
    or [chain.name]
]


#: Numbers of every upgrade of a family: a rule takes no notice of those that its upgrade does not have.
PARAMETERS = {
    "op-stack": ("overhead", "scalar", *SCALARS, *OPERATOR_FEE, "l2_gas_price", "min_base_fee"),
    "mantle": ("overhead", "scalar", *SCALARS, *OPERATOR_FEE, "token_ratio", "l2_gas_price"),
    "scroll": tuple(dict.fromkeys((*(name for _, names in INPUTS.values() for name in names), "l2_gas_price"))),
    "linea": ("fixed_cost", *OF_VARIABLE_COST, "estimate_margin", "l2_gas_price"),
    "arbitrum": ("min_base_fee", "batch_l1_gas", "batch_blobs", "batch_transaction_bytes"),
    "zksync": FEE_MODEL, "zksync-os": ("native_price", "native_per_gas"), "taiko": ("min_base_fee",),
    "starknet": ("min_gas_price", "eth_to_fri_rate"),
}  # fmt: skip


def of_linea(t: dict[str, Any], row: dict[str, int], base: int, blob: int, upgrade: str) -> tuple[int, int]:
    cost = coordinator.variable_cost(
        base, t["priority_fee"], blob, execution_gas=t["execution_gas"], blob_gas=t["blob_gas"],
        bytes_per_submission=t["bytes_per_submission"], margin=t["pricing_margin"], lower_bound=t["lower_bound"],
        upper_bound=t["upper_bound"],
    )  # fmt: skip
    terms = {"variable_cost": extra_data.recorded_cost(cost), "fixed_cost": t["fixed_cost"]}
    terms["margin"] = t["estimate_margin"]
    fee, without = (priority.priority_fee(size, row["gas"], **terms) for size in (row["linea_size"], 0))
    return row["gas"] * (fee - without), row["gas"] * (without + t["l2_gas_price"])


def of_op_stack(t: dict[str, Any], row: dict[str, int], base: int, blob: int, upgrade: str) -> tuple[int, int]:
    own = optimism.upgrade_named(upgrade)
    price = max(t["l2_gas_price"], t["min_base_fee"] if own.counts_footprint else 0)
    scalar, constant = (t[name] for name in OPERATOR_FEE)
    l2_fee = row["gas"] * price + optimism.operator_fee(row["gas"], scalar=scalar, constant=constant, upgrade=upgrade)
    if own.l1_rule == "bedrock":
        terms = {"l1_base_fee": base, "overhead": t["overhead"], "scalar": t["scalar"], "upgrade": upgrade}
        return optimism.bedrock_l1_fee(row["zero_bytes"], row["nonzero_bytes"], **terms), l2_fee
    fees = {"l1_base_fee": base, "blob_base_fee": blob} | {name: t[name] for name in SCALARS}
    if own.l1_rule == "ecotone":
        return optimism.ecotone_l1_fee(row["zero_bytes"], row["nonzero_bytes"], **fees), l2_fee
    return optimism.fjord_l1_fee(row["fastlz_size"], **fees), l2_fee


def of_arbitrum(t: dict[str, Any], row: dict[str, int], base: int, blob: int, upgrade: str) -> tuple[int, int]:
    cost = base * t["batch_l1_gas"] + blob * t["batch_blobs"] * fee_market.GAS_PER_BLOB
    price = arbitrum_l1_pricing.equilibrium_price(cost, 16 * t["batch_transaction_bytes"])
    charge = arbitrum.poster_charge(row["brotli_size"], price_per_unit=price, gas_price=t["min_base_fee"])
    return charge.fee, row["gas"] * t["min_base_fee"]


def of_scroll(t: dict[str, Any], row: dict[str, int], base: int, blob: int, upgrade: str) -> tuple[int, int]:
    columns, names = INPUTS[upgrade]
    formulas: dict[str, Callable[..., int]] = {
        "bernoulli": scroll.pre_curie_l1_fee, "curie": scroll.curie_l1_fee, "feynman": scroll.feynman_l1_fee,
    }  # fmt: skip
    fees = {"l1_base_fee": base} | ({} if upgrade == "bernoulli" else {"blob_base_fee": blob})
    counts = [row[column] for column in columns]
    found = formulas.get(upgrade, scroll.galileo_l1_fee)(*counts, **fees, **{name: t[name] for name in names})
    return found, row["gas"] * t["l2_gas_price"]


def of_zksync(t: dict[str, Any], row: dict[str, int], base: int, blob: int, upgrade: str) -> tuple[int, int]:
    price = zksync.l1_pubdata_price(base, blob, mode=t["pubdata_mode"])
    batch = zksync.batch_fee_input(base, price, model=zksync.FeeModel(**{name: t[name] for name in FEE_MODEL}))
    fee, per_byte = zksync.base_fee(*batch[1:])
    return fee * row["pubdata"] * per_byte, fee * row["gas"]


def of_zksync_os(t: dict[str, Any], row: dict[str, int], base: int, blob: int, upgrade: str) -> tuple[int, int]:
    native_price, per_gas, gas = t["native_price"], t["native_per_gas"], row["gas"]
    price = zksync.l1_pubdata_price(base, blob, mode=t["pubdata_mode"])
    if t["pubdata_mode"] == "blobs":
        price = zksync_os.blob_pubdata_price(price, native_price=native_price)
    native, gas_price = per_gas * gas + row["pubdata"] * (price // native_price), native_price * per_gas
    charged = zksync_os.gas_used(gas, native, gas_price=gas_price, native_price=native_price)
    return (charged.gas_used - gas) * gas_price, gas * gas_price


def of_mantle(t: dict[str, Any], row: dict[str, int], base: int, blob: int, upgrade: str) -> tuple[int, int]:
    l2_fee = row["gas"] * t["l2_gas_price"]
    if upgrade == "arsia":
        terms = {"l1_base_fee": base, "blob_base_fee": blob} | {name: t[name] for name in (*SCALARS, "token_ratio")}
        scalar, constant = (t[name] for name in OPERATOR_FEE)
        operator = optimism.operator_fee(row["gas"], scalar=scalar, constant=constant, upgrade="jovian")
        return mantle.arsia_l1_fee(row["fastlz_size"], **terms), l2_fee + operator
    terms = {"l1_base_fee": base} | {name: t[name] for name in ("overhead", "scalar", "token_ratio")}
    return mantle.before_arsia_l1_fee(fee_market.calldata_gas(row["zero_bytes"], row["nonzero_bytes"]), **terms), l2_fee


def of_starknet(t: dict[str, Any], row: dict[str, int], base: int, blob: int, upgrade: str) -> tuple[int, int]:
    price = starknet.wei_to_fri(starknet.l1_prices(base, blob).l1_data_gas, t["eth_to_fri_rate"])
    terms = {"l1_gas": 0, "l1_gas_price": 0, "l1_data_gas_price": price, "l2_gas_price": t["min_gas_price"]}
    data, execution = row["l1_data_gas"], row["l2_gas"]
    return starknet.fee(**terms, l1_data_gas=data, l2_gas=0), starknet.fee(**terms, l1_data_gas=0, l2_gas=execution)


OWN: dict[str, Callable[..., tuple[int, int]]] = {
    "linea": of_linea, "op-stack": of_op_stack, "arbitrum": of_arbitrum, "scroll": of_scroll, "zksync": of_zksync,
    "zksync-os": of_zksync_os, "mantle": of_mantle, "starknet": of_starknet,
    "taiko": lambda t, row, base, blob, upgrade: (0, row["gas"] * t["min_base_fee"]),
}  # fmt: skip


def drawn(rng: random.Random, edges: list[int] = EDGES, minimum: int = 0, maximum: int = 2**200) -> int:
    usual = rng.randrange(2 ** rng.randrange(1, 45))
    value = rng.choice([usual, rng.choice(edges), rng.choice(edges) + rng.randrange(-2, 3)])
    return max(minimum, min(value, maximum))


def drawn_rule(rng: random.Random, name: str) -> Rule:
    family, edges = CHAINS[name.partition("/")[0]].family, rng.choice([EDGES, SMALL])
    given: dict[str, Any] = {}
    for parameter in PARAMETERS[family]:
        form = schema()[parameter]
        limits = form.get("minimum", 0), form.get("maximum", 2**200)
        is_number = form["type"] == "number"
        given[parameter] = rng.choice([*FACTORS, drawn(rng) * 1.0]) if is_number else drawn(rng, edges, *limits)
    if family in ("zksync", "zksync-os"):
        given["pubdata_mode"] = rng.choice(zksync.PUBDATA_MODES)
    return rule(name, parameters=given)


def answer(call: Callable[..., Any], *args: Any, **keywords: Any) -> tuple[Any, Any] | None:
    """The two results, or `None` if the call raises an error of the package; any other error fails the test."""
    try:
        first, second = call(*args, **keywords)
    except FeeModelError:
        return None
    return first, second


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_gives_the_fee_of_its_formulas_or_refuses(name):
    rng = random.Random(name)
    family, upgrade = CHAINS[name.partition("/")[0]].family, name.partition("/")[2]
    for _ in range(15 if family == "op-stack" else 100):
        try:
            one = drawn_rule(rng, name)
        except InvalidInput:  # such as a minimum base fee of 0 on Arbitrum
            continue
        terms = {key: entry.value for key, entry in one.parameters.entries.items()}
        row = {column: drawn(rng) for column in one.columns}
        base, blob = drawn(rng), drawn(rng)
        expected = answer(OWN[family], terms, row, base, blob, upgrade)
        found = answer(one.fees, row, base_fee=base, blob_base_fee=blob)
        may_refuse = family == "linea"  # with a margin, it refuses prices from 2**53
        assert found == expected or (found is None and may_refuse), (terms, row, base, blob)

        base, blob, *values = (min(value, INT64_MAX) for value in (base, blob, *row.values()))
        row = dict(zip(row, values, strict=True))
        expected = answer(OWN[family], terms, row, base, blob, upgrade)
        arrays = {key: np.array([value]) for key, value in row.items()}
        fees = {"base_fee": np.array([base]), "blob_base_fee": np.array([blob])}
        assert answer(one.fees, arrays, **fees) in (expected, None), (terms, row, base, blob)


def test_a_factor_of_one_is_also_multiplied_in_doubles():
    """A double does not hold 2**53 + 1, so the node's price is another number."""
    row, parameters = {"gas": 1, "linea_size": 0}, {"fixed_cost": 2**53 + 1, "estimate_margin": 1.0}
    with pytest.raises(Int64Overflow, match="expected a price below 2"):
        rule("linea", parameters=parameters).fees(row, base_fee=2**56, blob_base_fee=1)


def test_arbitrum_s_gas_for_the_bytes_ends_at_64_bits():
    parameters = {"min_base_fee": 2, "batch_l1_gas": 10**12, "batch_transaction_bytes": 1}
    fees = rule("arbitrum-one", parameters=parameters).fees(
        {"gas": 1, "brotli_size": 10**6}, base_fee=10**12, blob_base_fee=1
    )
    assert fees == (2 * UINT64_MAX, 2)


def test_arbitrum_s_gas_price_is_not_zero():
    with pytest.raises(InvalidInput, match="min_base_fee: expected whole wei of at least 1, got 0"):
        rule("arbitrum-one", parameters={"min_base_fee": 0})
    now = Now(base_fee=1, price_per_unit=1)
    with pytest.raises(InvalidInput, match="min_base_fee: expected whole wei of at least 1, got 0"):
        max_send("arbitrum-one", 10**18, {}, gas_limit=21_000, now=now, parameters={"min_base_fee": 0})
