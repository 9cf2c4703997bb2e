"""The common form of all rules: equal to the chains' own formulas."""

from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import Int64Overflow, InvalidInput, UnknownParameter
from feemodel.exact import exact
from feemodel.linea import coordinator, from_l1, priority
from feemodel.rollups import (
    arbitrum,
    arbitrum_l1_pricing,
    mantle,
    optimism,
    scroll,
    starknet,
    zksync,
    zksync_os,
)
from feemodel.rollups.chains import CHAINS
from feemodel.rollups.factors import Factors, _with_margin, evaluate
from feemodel.rollups.rules import rule, rules_at
from tests.helpers.optional import optional

PricingRule = optional("feemodel.simulation.announced", "PricingRule")

COLUMNS = (
    "gas", "zero_bytes", "nonzero_bytes", "length", "fastlz_size", "brotli_size", "zstd_size", "data_length",
    "zstd_data_size", "linea_size", "pubdata", "l1_data_gas", "l2_gas",
)  # fmt: skip
SIZE = st.integers(1, 128_000)
ROW = st.fixed_dictionaries(dict.fromkeys(COLUMNS, SIZE) | {"gas": st.integers(21_000, 30_000_000)})
FEE = st.integers(4, 5 * 10**12)
SCROLL = {"exec_scalar": 2_394_981_796, "blob_scalar": 1_019_097_245, "l2_gas_price": 15_680_000}
FEYNMAN = rule("scroll/feynman", parameters=SCROLL | {"penalty_threshold": 2 * 10**9, "penalty_factor": 1_500_000_000})
EARLY = rule("scroll/bernoulli", parameters={"overhead": 2_500, "scalar": 1_150_000_000, "l2_gas_price": 0})
MNT = {"base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213, "token_ratio": 3, "operator_fee_scalar": 7,
       "operator_fee_constant": 11, "l2_gas_price": 20_000_000}  # fmt: skip
MANTLE = rule("mantle", parameters=MNT)
STARKNET = rule("starknet", parameters={"eth_to_fri_rate": 3 * 10**18})
CURRENT = tuple(one.name for one in rules_at()[0])


def own_formula(name: str, row: dict[str, int], base_fee: int, blob_fee: int) -> tuple[int, int]:
    """The fee of a current rule, written out with the chain's functions instead of its factors."""
    gas = row["gas"]
    fees = {"l1_base_fee": base_fee, "blob_base_fee": blob_fee}
    if name == "linea":
        cost = coordinator.variable_cost(
            base_fee, 0, blob_fee, execution_gas=65_250, blob_gas=131_072, bytes_per_submission=131_072, margin=1.0,
            lower_bound=90_000_001.0, upper_bound=1_000_000_001.0,
        )  # fmt: skip
        terms = {"variable_cost": int(cost / 1_000) * 1_000, "fixed_cost": 30_000_000, "margin": 1.2}
        fee, without = (priority.priority_fee(size, gas, **terms) for size in (row["linea_size"], 0))
        return gas * (fee - without), gas * (without + 7)
    if name in ("op-mainnet/karst", "base/jovian"):
        scalars = {"base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213}
        if name == "base/jovian":
            scalars = {"base_fee_scalar": 2_269, "blob_base_fee_scalar": 1_055_762}
        price = 1_000_000 if name == "op-mainnet/karst" else 5_000_000
        operator = optimism.operator_fee(gas, scalar=0, constant=0, upgrade="jovian")
        return optimism.fjord_l1_fee(row["fastlz_size"], **fees, **scalars), gas * price + operator
    if name == "arbitrum-one":
        price = arbitrum_l1_pricing.equilibrium_price(base_fee * 210_000 + blob_fee * 131_072, 16 * 126_976)
        charge = arbitrum.poster_charge(row["brotli_size"], price_per_unit=price, gas_price=20_000_000)
        return charge.fee, gas * 20_000_000
    if name == "scroll/galileo-v2":
        terms = {"exec_scalar": 2_394_981_796, "blob_scalar": 1_019_097_245, "penalty_factor": 10_000}
        return scroll.galileo_l1_fee(row["zstd_size"], **fees, **terms), gas * 15_680_000
    if name == "zksync-era":
        batch = zksync.batch_fee_input(base_fee, blob_fee, model=zksync.FeeModel())
        fee = zksync.transaction_fee(gas, row["pubdata"], **zksync.base_fee(*batch[1:])._asdict())
        return fee.pubdata, fee.execution
    if name == "zksync-os":
        one = Fraction(1)
        prices = zksync_os.block_prices(native_price_usd=one, base_token_usd=one, settlement_token_usd=one,
                                        native_per_gas=100, pubdata_price=blob_fee)  # fmt: skip
        native = 100 * gas + row["pubdata"] * (prices.pubdata_price // prices.native_price)
        charged = zksync_os.gas_used(gas, native, gas_price=prices.base_fee, native_price=prices.native_price)
        return (charged.gas_used - gas) * prices.base_fee, gas * prices.base_fee
    assert name == "taiko"
    return 0, gas * 10_000_000


def test_every_variable_cost_divides_by_the_same_number_of_bytes():
    """The coordinator divides by its `l1-blob-gas`, 131,072 (Consensys/linea-monorepo at cb180134)."""
    defaults = {
        "recorded_variable_cost": signature(from_l1.recorded_variable_cost).parameters["bytes_per_submission"].default,
        "priority_fee_from_l1": signature(from_l1.priority_fee_from_l1).parameters["bytes_per_submission"].default,
        "PricingRule": PricingRule().bytes_per_submission,
        "linea.toml": CHAINS["linea"].at()["bytes_per_submission"],
    }
    assert dict.fromkeys(defaults, 131_072) == defaults


def test_lineas_variable_cost_is_capped_where_its_record_is():
    """2**32 − 1 kwei a byte."""
    unbounded = rule("linea", parameters={"upper_bound": 1e18, "estimate_margin": 1.0})
    for base_fee in (10**15, np.array([10**15])):
        fees = unbounded.fees({"linea_size": 128, "gas": 128}, base_fee=base_fee, blob_base_fee=1)

        assert fees.l1 == 128 * 4_294_967_295_000


@given(ROW, FEE, FEE)
def test_a_rule_is_the_chain_s_own_formula(row: dict[str, int], base_fee: int, blob_fee: int) -> None:
    for name in CURRENT:
        assert rule(name).fees(row, base_fee=base_fee, blob_base_fee=blob_fee) == own_formula(
            name, row, base_fee, blob_fee
        ), name


@given(ROW, FEE, FEE)
def test_earlier_upgrades_are_their_own_formulas(row: dict[str, int], base_fee: int, blob_fee: int) -> None:
    fees = {"l1_base_fee": base_fee, "blob_base_fee": blob_fee}
    counts = row["zero_bytes"], row["nonzero_bytes"]
    moment = {"base_fee": base_fee, "blob_base_fee": blob_fee}
    scalars = {"base_fee_scalar": 1_368, "blob_base_fee_scalar": 810_949}
    assert rule("op-mainnet/ecotone").fees(row, **moment).l1 == optimism.ecotone_l1_fee(*counts, **fees, **scalars)
    for upgrade in ("regolith", "canyon"):
        assert rule(f"op-mainnet/{upgrade}").fees(row, **moment).l1 == optimism.bedrock_l1_fee(
            *counts, l1_base_fee=base_fee, overhead=188, scalar=684_000, upgrade=upgrade
        )
    curie = {"commit_scalar": 230_759_955_285, "blob_scalar": 417_565_260}
    assert rule("scroll/curie").fees(row, **moment).l1 == scroll.curie_l1_fee(row["length"], **fees, **curie)
    assert FEYNMAN.fees(row, **moment).l1 == scroll.feynman_l1_fee(
        row["length"], row["data_length"], row["zstd_data_size"], **fees, exec_scalar=2_394_981_796,
        blob_scalar=1_019_097_245, penalty_threshold=2 * 10**9, penalty_factor=1_500_000_000,
    )  # fmt: skip
    early = scroll.pre_curie_l1_fee(*counts, l1_base_fee=base_fee, overhead=2_500, scalar=1_150_000_000)
    assert EARLY.fees(row, **moment).l1 == early
    arsia = mantle.arsia_l1_fee(row["fastlz_size"], **fees, base_fee_scalar=5_227, blob_base_fee_scalar=1_014_213,
                                token_ratio=3)  # fmt: skip
    assert MANTLE.fees(row, **moment) == (arsia, row["gas"] * (20_000_000 + 7 * 100) + 11)
    prices = starknet.l1_prices(base_fee, blob_fee)
    price = starknet.wei_to_fri(prices.l1_data_gas, 3 * 10**18)
    gas = {"l1_gas": 0, "l1_data_gas": row["l1_data_gas"], "l2_gas": row["l2_gas"]}
    paid = starknet.fee(**gas, l1_gas_price=0, l1_data_gas_price=price, l2_gas_price=8 * 10**9)
    assert sum(STARKNET.fees(row, **moment)) == paid


def test_scroll_s_fee_ends_at_64_bits_also_in_the_common_form() -> None:
    row = {"gas": 1, "zstd_size": 128_000}
    assert rule("scroll/galileo").fees(row, base_fee=10**13, blob_base_fee=1).l1 == 2**64 - 1


def test_an_operator_fee_belongs_to_the_l2_part() -> None:
    given = {"operator_fee_scalar": 1_000_000, "operator_fee_constant": 5, "l2_gas_price": 5_000_000}
    row, moment = {"gas": 21_000, "fastlz_size": 100}, {"base_fee": 10**9, "blob_base_fee": 1}
    names = ("fjord", "isthmus", "jovian")
    fees = {name: rule(f"base/{name}", parameters=given).fees(row, **moment).l2 for name in names}
    without = 21_000 * 5_000_000
    assert fees == {"fjord": without, "isthmus": without + 21_005, "jovian": without + 21_000 * 10**8 + 5}


def test_factors_multiply_out_by_hand() -> None:
    """7 · 10 // 4; then (70 + 3) // 4 = 18, trunc(1.5 · 21) − trunc(1.5 · 3) = 27, twice."""
    plain = Factors(units=7, price=10, divisor=4, gas=3, gas_price=5)
    every = plain._replace(step=2, offset=3, fixed=3, margin=1.5, extra=1)

    assert [evaluate(one) for one in (plain, every)] == [(17, 15), (54, 16)]
    arrays = every._replace(units=exact(np.array([7, 0])), gas=exact(np.array([3, 0])))
    assert [found.word.tolist() for found in evaluate(arrays)] == [[54, 0], [16, 1]]
    assert evaluate(plain._replace(units=2**64, divisor=1, saturates=True)).l1 == 2**64 - 1
    assert evaluate(plain._replace(units=2**64, divisor=1)).l1 == 10 * 2**64


def test_a_margin_is_taken_in_doubles_that_lose_nothing() -> None:
    for price, margin, expected in ((2**53 - 1, 0.5, 2**52 - 1), (2**52 - 1, 2.0, 2**53 - 2), (2**60, None, 2**60)):
        assert _with_margin(price, margin) == expected
        assert _with_margin(exact(np.array([price])), margin).word.tolist() == [expected]
    for price, margin, what in ((2**53, 0.5, "below"), (2**53 + 1, 0.5, "below"), (2**53, 1.0, "below"),
                                (2**52, 2.0, "whose"), (2**53 - 1, 2.0, "whose")):  # fmt: skip
        for value in (price, exact(np.array([price]))):
            with pytest.raises(Int64Overflow, match=f"expected a price {what}"):
                _with_margin(value, margin)


def test_what_is_missing_is_named() -> None:
    moment = {"base_fee": 1, "blob_base_fee": 1}
    with pytest.raises(InvalidInput, match="missing the columns gas, fastlz_size for base/jovian"):
        rule("base/jovian").fees({"length": 5}, **moment)
    with pytest.raises(UnknownParameter, match=r"no source gives .*penalty_threshold.* of scroll since 2025-08-19"):
        rule("scroll/feynman")


@pytest.mark.parametrize(("call", "names"), [
    (lambda: rule("op-mainnet/fyord"), "expected one of regolith, canyon"),
    (lambda: rule("optimism"), "expected CHAIN or CHAIN/UPGRADE, where CHAIN is one of arbitrum-nova"),
    (lambda: rule("base", parameters={"upgrade": "galileo"}), "expected one of bedrock, regolith"),
    (lambda: rule("scroll", parameters={"upgrade": "fjord"}), "expected one of bernoulli, curie"),
    (lambda: rule("arbitrum-one", parameters={"version": "51"}), "expected one of arbos-0"),
    (lambda: rule("base", parameters={"scalars": 1}), "parameter: expected one of upgrade"),
    (lambda: rule("base", parameters={"elasticity": 0}), "elasticity: expected at least 1"),
])  # fmt: skip
def test_a_wrong_name_is_answered_with_the_right_ones(call: Any, names: str) -> None:
    with pytest.raises(InvalidInput, match=names):
        call()


@pytest.mark.parametrize("name", CURRENT)
def test_no_rule_prices_a_blob_transaction(name: str) -> None:
    row = dict.fromkeys(COLUMNS, 100) | {"transaction_type": [2, 3]}
    with pytest.raises(InvalidInput, match=rf"transaction_type\[1\]: {name} has no fee rule for blob transactions"):
        rule(name).fees(row, base_fee=10**9, blob_base_fee=1)


def test_later_types_than_a_blob_transaction_are_priced() -> None:
    """EIP-7702's is type 4."""
    row = dict.fromkeys(COLUMNS, 100) | {"transaction_type": [0, 1, 2, 4]}
    moment = {"base_fee": 10**9, "blob_base_fee": 1}
    one = rule("base/jovian").fees(dict.fromkeys(COLUMNS, 100), **moment)
    assert [part.tolist() for part in rule("base/jovian").fees(row, **moment)] == [[part] * 4 for part in one]


def test_a_price_per_gas_needs_gas() -> None:
    with pytest.raises(InvalidInput, match=r"gas\[0\]"):
        rule("linea").fees(dict.fromkeys(COLUMNS, 1) | {"gas": [0]}, base_fee=10**9, blob_base_fee=1)


def test_parameters_of_an_unknown_chain_are_refused():
    with pytest.raises(InvalidInput, match=r"parameters: expected one of .*, got 'lineaa'"):
        rules_at(parameters={"lineaa": {"l2_gas_price": 1}})
