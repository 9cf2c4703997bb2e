"""Runs the rows of `rollups/fees.json`: (chain, model) → how a row's inputs are computed."""

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.ethereum._quantities import from_hex
from feemodel.linea import coordinator
from feemodel.linea.extra_data import PricingRecord
from feemodel.rollups import arbitrum_l1_pricing, mantle, optimism, scroll, sending, starknet, zksync, zksync_os
from feemodel.rollups import arbitrum_l2_pricing as l2_pricing
from feemodel.rollups.chains import chain
from feemodel.sizes._codecs import SCROLL_ZSTD, FastLz
from tests.vectors import Case, compare, guarded

Inputs = Mapping[str, Any]
Model = Callable[[Inputs], Any]


def of(function: Callable[..., Any], names: str, **fixed: Any) -> Model:
    """A model that is one formula: NAME, NAME=KEY where the rows have another key, a last ? where it may lack.

    Of a row with the bytes of a transaction, the counts of zero and other bytes and the sizes are keys too.
    """
    given = []
    for one in names.split():
        name, _, key = one.removesuffix("?").partition("=")
        given.append((name, key or name, one.endswith("?")))

    def model(inputs: Inputs) -> Any:
        row = measured(inputs)
        terms = {name: row[key] for name, key, may_lack in given if not may_lack or row.get(key) is not None}
        return function(**terms, **fixed)

    return model


def measured(inputs: Inputs) -> Inputs:
    """The inputs, and what is counted of the bytes among them."""
    text = inputs.get("raw_tx", inputs.get("data"))
    if text is None:
        return inputs
    data = from_hex(text)
    zeros = data.count(0)
    counts = {"zero_bytes": zeros, "nonzero_bytes": len(data) - zeros, "length": len(data)}
    return counts | {"fastlz_size": FastLz().size(data)} | inputs


def each(**models: Model) -> Model:
    """Several results by name."""
    return lambda inputs: {name: model(inputs) for name, model in models.items()}


def none_if_refused(model: Model) -> Model:
    def answer(inputs: Inputs) -> Any:
        try:
            return model(inputs)
        except InvalidInput:
            return None

    return answer


# Ethereum


def _one_row(inputs: Inputs, *, fraction: int, reserve: bool) -> fee_market.Schedule:
    row = fee_market.BlobRules(
        name="Test", timestamp=0, target=inputs["target"], maximum=inputs["max"], update_fraction=fraction,
        reserve=reserve, source="the vector",
    )  # fmt: skip
    return fee_market.Schedule((row,))


def _excess_before_the_reserve(inputs: Inputs) -> int:
    schedule = _one_row(inputs, fraction=3_338_477, reserve=False)
    used = inputs["parent_blobs"] * fee_market.GAS_PER_BLOB
    return fee_market.next_excess_blob_gas(inputs["parent_excess"], used, 0, 0, schedule)


def _excess_with_the_reserve(inputs: Inputs) -> int:
    schedule = _one_row(inputs, fraction=inputs["update_fraction"], reserve=True)
    parent = inputs["parent_excess"], inputs["parent_blob_gas_used"], inputs["parent_base_fee"]
    return fee_market.next_excess_blob_gas(*parent, 0, schedule)


def _blob_rules_at(inputs: Inputs) -> dict[str, Any]:
    rules = fee_market.MAINNET.at(inputs["timestamp"])
    return {
        "name": rules.name, "target": rules.target, "max": rules.maximum, "update_fraction": rules.update_fraction
    }  # fmt: skip


# OP Stack, Mantle, Base

ECOTONE = "l1_base_fee blob_base_fee base_fee_scalar blob_base_fee_scalar"
BLOCK = "base_fee gas_used gas_limit elasticity denominator"
FJORD = each(
    fee=of(optimism.fjord_l1_fee, f"fastlz_size {ECOTONE}"), l1_gas_used=of(optimism.fjord_l1_gas, "fastlz_size")
)
ARSIA = of(mantle.arsia_l1_fee, f"fastlz_size {ECOTONE} token_ratio")


def _operator_fee(upgrade: str, gas: str = "gas") -> Model:
    names = f"gas={gas} scalar=operator_fee_scalar constant=operator_fee_constant"
    return of(optimism.operator_fee, names, upgrade=upgrade)


def _bedrock(upgrade: str) -> Model:
    counts = "zero_bytes nonzero_bytes overhead"
    return each(
        fee=of(optimism.bedrock_l1_fee, f"{counts} l1_base_fee scalar", upgrade=upgrade),
        l1_gas_used=of(optimism.bedrock_l1_gas, counts, upgrade=upgrade),
    )


def _fjord_receipt(inputs: Inputs) -> Any:
    assert inputs["size_scaled"] == optimism.MIN_SCALED_SIZE, "a receipt above the floor hides its FastLZ length"
    return {"fee": FJORD({**inputs, "fastlz_size": 0})["fee"]}


def _l2_base_fee(upgrade: str) -> Model:
    names = f"{BLOCK} footprint=blob_gas_used_da_footprint? min_base_fee?"
    return of(optimism.next_base_fee, names, upgrade=upgrade)


def _l2_base_fee_by_upgrade(upgrade: str) -> Model:
    """The denominator and elasticity are the upgrade's own, and the vector's must be the same."""
    own = of(optimism.next_base_fee, "base_fee gas_used gas_limit", upgrade=upgrade)

    def fee(inputs: Inputs) -> Any:
        assert own(inputs) == _l2_base_fee(upgrade)(inputs)
        return own(inputs)

    return fee


def _mantle_base_fee(inputs: Inputs) -> Any:
    if not inputs["arsia"]:
        return inputs["base_fee"]
    return of(optimism.next_base_fee, f"{BLOCK} min_base_fee footprint=da_footprint?", upgrade="jovian")(inputs)


def _denim_parameters(inputs: Inputs) -> dict[str, int | None]:
    given = inputs.get("denominator")
    gas_limit, denominator = optimism.denim_parameters(inputs["gas_limit"], given or 1)
    return {"gas_limit": gas_limit, "denominator": denominator if given else None}


def _denim_base_fee(inputs: Inputs) -> Any:
    fee = inputs["base_fee"]
    for _ in range(inputs.get("blocks", 1)):
        fee = _l2_base_fee("jovian")({**inputs, "base_fee": fee})
    return fee


# Arbitrum


def _pricing_funds(inputs: Inputs) -> dict[str, int]:
    state = of(
        arbitrum_l1_pricing.L1Pricing, "units_since_update fees_available=l1_fees_available last_update_time",
        price_per_unit=0,
    )(inputs)  # fmt: skip
    report = of(
        arbitrum_l1_pricing.reported, "update_time current_time wei_spent=funds_spent l1_base_fee=l1_base_fee_wei "
        "cost_cap_bips=amortized_cost_cap_bips per_unit_reward", state=state,
    )(inputs)  # fmt: skip
    return {
        "reward_paid": report.reward_paid,
        "units_remaining": report.state.units_since_update,
        "poster_received": report.poster_paid,
        "funds_still_held": report.state.fees_available,
    }


def equilibration(inputs: Inputs) -> list[int]:
    """Prices after each of the updates of the repository's own test: every 10 s, reported 5 s later."""
    state = arbitrum_l1_pricing.L1Pricing(price_per_unit=inputs["initial_price_per_unit"])
    units, prices = inputs["units_per_update"], []
    for i in range(1, inputs["updates"] + 1):
        state = arbitrum_l1_pricing.charged(state, units, units * state.price_per_unit)
        state = arbitrum_l1_pricing.reported(
            state, update_time=10 * i, current_time=10 * i + 5, wei_spent=units * inputs["equilibrium"],
            l1_base_fee=inputs["equilibrium"], per_unit_reward=inputs.get("per_unit_reward", 0),
        ).state  # fmt: skip
        prices.append(state.price_per_unit)
    return prices


def _movement(inputs: Inputs) -> dict[str, Any]:
    start, end = inputs["initial_price_per_unit"], inputs["equilibrium"]
    moved = equilibration(inputs)[-1] - start
    wanted = end - start
    missed = abs(moved - wanted) * 100 / (abs(wanted) or end)  # of the price itself where it should not move
    return {"movement_within_percent": math.ceil(missed), "sign_matches": (moved > 0) == (wanted > 0)}


def _constraints(rows: Any) -> tuple[list[l2_pricing.GasConstraint], list[int]]:
    """Rows of target, window and backlog."""
    return [l2_pricing.GasConstraint(target, window) for target, window, _ in rows], [row[2] for row in rows]


def _constraints_base_fee(inputs: Inputs) -> dict[str, Any]:
    constraints, backlogs = _constraints(inputs["constraints"])
    terms = {"constraints": constraints, "min_base_fee": inputs["min_base_fee"]}
    update = l2_pricing.update_pricing(backlogs, inputs["seconds"], **terms)
    return {"base_fee": update.base_fee, "exponent_bips": update.exponent, "backlogs": list(update.backlogs)}


def _constraint_blocks(inputs: Inputs) -> dict[str, Any]:
    constraints, backlogs = _constraints(inputs["constraints"])
    seconds, gas_used = zip(*inputs["blocks"], strict=True)
    found = l2_pricing.base_fees(
        list(gas_used), list(accumulate(seconds)), constraints=constraints, backlogs=backlogs, parent_timestamp=0,
        base_fee=inputs["base_fee"], min_base_fee=inputs["min_base_fee"],
    )  # fmt: skip
    return {
        "header_base_fees": found.base_fees.tolist(),
        "stored_base_fee": found.next_base_fee,
        "backlogs": list(found.backlogs),
    }


def _legacy_equals_one_constraint(inputs: Inputs) -> dict[str, Any]:
    limit, inertia, tolerance, floor = (
        inputs[name] for name in ("speed_limit", "inertia", "tolerance", "min_base_fee")
    )
    one = l2_pricing.GasConstraint(limit, inertia)

    def pair(backlog: int, seconds: int) -> tuple[int, int]:
        left = int(l2_pricing.next_backlog(backlog, 0, seconds, speed_limit=limit))
        legacy = l2_pricing.l2_base_fee(
            left, min_base_fee=floor, speed_limit=limit, inertia=inertia, tolerance=tolerance
        )
        above = max(0, backlog - tolerance * limit)
        update = l2_pricing.update_pricing([above], seconds, constraints=[one], min_base_fee=floor)
        return int(legacy), update.base_fee

    pairs = [pair(backlog, seconds) for backlog in inputs["backlogs"] for seconds in range(inputs["seconds_below"])]
    return {
        "equal": all(one == other for one, other in pairs),
        "points": len(pairs),
        "base_fees": [pair(backlog, inputs["show_seconds"])[0] for backlog in inputs["backlogs"]],
    }


def _one_constraint_equals_multi_gas(inputs: Inputs) -> dict[str, Any]:
    target, window, floor = inputs["target"], inputs["window"], inputs["min_base_fee"]
    weights = {kind: 1 for kind in l2_pricing.RESOURCE_KINDS if kind not in ("unknown", "single_dim")}
    one, multi = l2_pricing.GasConstraint(target, window), l2_pricing.MultiGasConstraint(target, window, weights)
    pairs = [
        (
            l2_pricing.update_pricing([backlog], 0, constraints=[one], min_base_fee=floor).base_fee,
            l2_pricing.update_multi_gas_pricing([backlog], 0, constraints=[multi], min_base_fee=floor).base_fee,
        )
        for backlog in inputs["backlogs"]
    ]
    return {
        "equal": all(one == other for one, other in pairs),
        "points": len(pairs),
        "base_fees": [one for one, _ in pairs],
    }


def _multi_gas(rows: Any) -> tuple[list[l2_pricing.MultiGasConstraint], list[int]]:
    constraints = [l2_pricing.MultiGasConstraint(row["target"], row["window"], row["weights"]) for row in rows]
    return constraints, [row["backlog"] for row in rows]


def _multi_gas_exponents(inputs: Inputs) -> dict[str, int]:
    constraints, backlogs = _multi_gas(inputs["constraints"])
    return l2_pricing.multi_gas_exponents(backlogs, constraints)


def _multi_gas_backlog(inputs: Inputs) -> list[int]:
    constraint = l2_pricing.MultiGasConstraint(1, 1, inputs["weights"])
    backlog, backlogs = inputs["backlog"], []
    for operation, amounts in inputs["operations"]:
        backlog = l2_pricing.change_multi_gas_backlog(backlog, amounts, constraint, shrink=operation == "shrink")
        backlogs.append(backlog)
    return backlogs


def _updated_and_refunded(inputs: Inputs) -> tuple[l2_pricing.MultiGasUpdate, int]:
    constraints, backlogs = _multi_gas(inputs["constraints"])
    update = l2_pricing.update_multi_gas_pricing(
        backlogs, inputs["seconds"], constraints=constraints, min_base_fee=inputs["min_base_fee"]
    )
    refund = l2_pricing.multi_gas_refund(
        inputs["used"], gas_used=inputs["gas_used"], base_fee=inputs.get("header_base_fee", update.base_fee),
        next_base_fee=update.base_fee, fees=update.fees,
    )  # fmt: skip
    return update, refund


def _multi_gas_update(inputs: Inputs) -> dict[str, Any]:
    update, refund = _updated_and_refunded(inputs)
    above = {kind: fee for kind, fee in update.fees.items() if fee != inputs["min_base_fee"]}
    return {"base_fee": update.base_fee, "backlogs": list(update.backlogs), "fees": above, "refund": refund}


def _multi_gas_refund_by_kind(inputs: Inputs) -> dict[str, Any]:
    update, refund = _updated_and_refunded(inputs)
    price = l2_pricing.multi_gas_price(inputs["used"], fees=update.fees, next_base_fee=update.base_fee)
    found = {"stored_base_fee": update.base_fee, "fees": update.fees, "backlogs": list(update.backlogs)}
    return found | {"price": price, "refund": refund}


# Scroll


def _feynman(inputs: Inputs) -> Any:
    """With a plain and a compressed size of exactly the ratio."""
    data = {"data_length": inputs["compression_ratio"], "compressed_data_size": 10**9}
    fees = "l1_base_fee blob_base_fee=l1_blob_base_fee"
    names = f"length=tx_size {fees} exec_scalar blob_scalar penalty_threshold penalty_factor"
    return of(scroll.feynman_l1_fee, names, **data)(inputs)


def _compression_ratio(inputs: Inputs) -> dict[str, Any]:
    data = from_hex(inputs["data"])
    size = SCROLL_ZSTD.size(data)
    ratio = scroll.compression_ratio(len(data), size)
    # The file writes what passes 64 bits as text.
    return {"ratio": ratio if ratio < 2**64 else str(ratio), "size": size}


# ZKsync


def _batch_fee_input(inputs: Inputs) -> dict[str, int]:
    parts = "minimal_l2_gas_price compute_overhead_part pubdata_overhead_part batch_overhead_l1_gas max_gas_per_batch"
    model = of(zksync.FeeModel, f"{parts} max_pubdata_per_batch")(inputs)
    names = "l1_gas_price l1_pubdata_price clip l1_gas_price_scale l1_pubdata_price_scale"
    return of(zksync.batch_fee_input, names, model=model)(inputs)._asdict()


def _base_token(inputs: Inputs) -> list[int]:
    prices = ("minimal_l2_gas_price", "l1_gas_price", "l1_pubdata_price")
    return [of(zksync.in_base_token, f"price={name} numerator denominator")(inputs) for name in prices]


def _block_prices(inputs: Inputs) -> dict[str, int]:
    fractions = {"native_price_usd": "native_price_usd", "base_token_usd": "base_token_usd",
                 "settlement_token_usd": "sl_token_usd", "fill_ratio": "fill_ratio"}  # fmt: skip
    terms: dict[str, Any] = {
        name: Fraction(*inputs[key]) for name, key in fractions.items() if inputs[key] is not None
    }  # fmt: skip
    if before := inputs["previous"]:
        terms["previous"] = zksync_os.BlockPrices(0, before["native_price"], before["pubdata_price"])
    names = "native_per_gas pubdata_price=pubdata_price_sl blobs pubdata_price_cap? native_price_override? "
    return of(zksync_os.block_prices, names + "base_fee_override? pubdata_price_override?", **terms)(inputs)._asdict()


# What a balance can send


def _sent(found: sending.Sendable, *names: str) -> dict[str, Any]:
    return {name: getattr(found, name) for name in (*names, "held", "max_value")}


def _plain_max_send(inputs: Inputs) -> dict[str, Any]:
    return _sent(sending._sendable(**inputs))


def op_stack_sendable(
    balance_wei: int, *, upgrade: str, gas_limit: int, max_fee_per_gas: int, fastlz_size: int,
    operator_fee_scalar: int = 0, operator_fee_constant: int = 0, **l1: int,
) -> sending.Sendable:  # fmt: skip
    """What can be sent of a transaction of this FastLZ length, from the formulas of the chain's two further fees."""
    l1_fee = optimism.fjord_l1_fee(fastlz_size, **l1)
    terms = {"scalar": operator_fee_scalar, "constant": operator_fee_constant}
    operator = int(optimism.operator_fee(gas_limit, **terms, upgrade=upgrade))
    fees = {"l1_fee": l1_fee, "operator_fee": operator}
    return sending._sendable(balance_wei, gas_limit=gas_limit, max_fee_per_gas=max_fee_per_gas, **fees)


def _op_stack_max_send(inputs: Inputs) -> dict[str, Any]:
    have = inputs["balance"]
    terms = {name: value for name, value in inputs.items() if name != "balance"}
    return _sent(op_stack_sendable(have, **terms), "l1_fee", "operator_fee")


def _arbitrum_max_send(inputs: Inputs) -> dict[str, Any]:
    return _sent(sending._arbitrum_sendable(**inputs), "gas_limit")


def _total_rollup_cost(inputs: Inputs) -> int:
    held = op_stack_sendable(0, max_fee_per_gas=0, **inputs)
    return held.l1_fee + held.operator_fee


def _parameters_at(inputs: Inputs) -> dict[str, Any]:
    parameters = chain(inputs["chain"]).at(inputs["timestamp"])
    found = {name: parameters[name] if parameters.is_known(name) else None for name in inputs["fields"]}
    # Regolith came with Bedrock on these chains; the vectors name the latter.
    return found | ({"upgrade": "bedrock"} if found.get("upgrade") == "regolith" else {})


# Starknet


def _l1_mean_prices(inputs: Inputs) -> dict[str, int]:
    samples = [starknet.L1GasSample(*one) for one in inputs["samples"]]
    names = "timestamp count=blocks_for_mean? lag=lag_margin_seconds? largest_gap=max_time_gap_seconds?"
    mean = of(starknet.mean_l1_fees, names, samples=samples)(inputs)
    return {"base_fee": mean.base_fee, "blob_fee": mean.blob_base_fee}


def _l1_prices(inputs: Inputs) -> dict[str, int]:
    bounds = "min_l1_gas_price max_l1_gas_price min_l1_data_gas_price max_l1_data_gas_price"
    fees = "base_fee=mean_base_fee blob_base_fee=mean_blob_fee"
    prices = of(starknet.l1_prices, f"{fees} tip data_multiplier_ppt {bounds}")(inputs)
    return {"l1_gas_price": prices.l1_gas, "l1_data_gas_price": prices.l1_data_gas}


def _price_conversion(inputs: Inputs) -> int:
    convert = {"wei_to_fri": starknet.wei_to_fri, "fri_to_wei": starknet.fri_to_wei}[inputs["direction"]]
    return convert(inputs["price"], inputs["eth_to_fri_rate"])


def _min_l2_gas_price(inputs: Inputs, fallback: str = "fallback") -> int:
    return starknet.min_gas_price_at(inputs["height"], dict(inputs["per_height"]), inputs[fallback])


def _next_l2_gas_price(inputs: Inputs) -> int:
    """A denominator of 0 is the usual one."""
    names = "price gas_used gas_target min_gas_price denominator? rise_denominator=min_increase_denominator?"
    usual = {name: None for name in ("denominator", "min_increase_denominator") if inputs.get(name) == 0}
    return of(starknet.next_l2_gas_price, names)({**inputs, **usual})


def _next_l2_gas_price_with_floor(inputs: Inputs) -> int:
    if inputs.get("override") is not None:
        return int(inputs["override"])
    floor = max(_min_l2_gas_price(inputs, "fallback_min"), inputs["fee_actual"] or 0)
    return of(starknet.next_l2_gas_price, "price gas_used gas_target", min_gas_price=floor)(inputs)


def _discounted_l1_gas(inputs: Inputs) -> dict[str, Any]:
    gas = of(starknet.discounted_l1_gas, "l1_gas l1_data_gas l1_gas_price l1_data_gas_price")(inputs)
    return {"gas": gas, "overdraft": gas > inputs["bound"]}


# Linea


def _extra_data(inputs: Inputs) -> dict[str, int]:
    record = PricingRecord.from_bytes(from_hex(inputs["extra_data"]))
    names = ("fixed_cost", "variable_cost", "eth_gas_price")
    return {f"{name}_kwei": int(getattr(record, name)) // 1000 for name in names}


WITH_PARAMETERS = ("arbitrum", "celo", "mantle", "op-stack", "scroll", "starknet", "taiko")
ONE_FEE = ("ethereum", "linea", "scroll", "taiko", "zksync_era", "zksync_os")
MODELS: Mapping[tuple[str, str], Model] = {
    **{(name, "parameters_at"): _parameters_at for name in WITH_PARAMETERS},
    **{(name, "max_send"): _plain_max_send for name in ONE_FEE},
    ("starknet", "next_l2_gas_price"): _next_l2_gas_price,
    ("starknet", "next_l2_gas_price_with_floor"): _next_l2_gas_price_with_floor,
    ("starknet", "min_l2_gas_price_for_height"): _min_l2_gas_price,
    ("starknet", "fee_actual"): lambda i: starknet.fee_actual(
        {int(block): fee for block, fee in i["proposals"].items()}, i["height"], i["window_size"]
    ),
    ("starknet", "fee_target"): of(starknet.fee_target, "strk_usd_rate target_atto_usd=target_atto_usd_per_l2_gas"),
    ("starknet", "fee_proposal"): of(starknet.fee_proposal, "target=fee_target fee_actual_now=fee_actual margin_ppt"),
    ("starknet", "l1_mean_prices"): none_if_refused(_l1_mean_prices),
    ("starknet", "l1_prices"): _l1_prices,
    ("starknet", "price_conversion"): none_if_refused(_price_conversion),
    ("starknet", "fee"): lambda i: starknet.fee(**i),
    ("starknet", "discounted_l1_gas"): _discounted_l1_gas,
    ("mantle", "arsia_l1_fee"): each(fee=ARSIA, l1_gas_used=of(optimism.fjord_l1_gas, "fastlz_size")),
    ("mantle", "before_arsia_l1_fee"): lambda i: mantle.before_arsia_l1_fee(**i),
    ("mantle", "operator_fee"): _operator_fee("jovian", "gas_used"),
    ("mantle", "total_rollup_cost"): lambda i: ARSIA(i) + _operator_fee("jovian", "gas_limit")(i),
    ("mantle", "next_base_fee"): _mantle_base_fee,
    ("mantle", "da_footprint"): lambda i: i["da_footprint_gas_scalar"] * sum(i["estimated_sizes"]),
    ("base", "denim_parameters"): _denim_parameters,
    ("base", "denim_next_base_fee"): _denim_base_fee,
    ("base", "denim_base_fee_after"): _denim_base_fee,
    ("scroll", "l2_base_fee_curie"): lambda i: scroll.curie_l2_base_fee(**i),
    ("scroll", "l2_min_base_fee"): lambda i: scroll.curie_l2_base_fee(0, **i),
    ("scroll", "l2_base_fee_feynman"): lambda i: of(
        scroll.feynman_l2_base_fee,
        "base_fee=parent_base_fee gas_used gas_limit overhead",
        first=not i["parent_is_feynman"],
    )(i),
    ("ethereum", "blob_update_fraction"): of(fee_market.blob_update_fraction, "maximum=max_blobs"),
    ("ethereum", "eip1559_base_fee"): of(fee_market.next_base_fee, "base_fee gas_used gas_limit"),
    ("ethereum", "fake_exponential"): lambda i: fee_market.fake_exponential(**i),
    ("ethereum", "blob_base_fee_cancun"): of(
        fee_market.fake_exponential,
        "numerator=excess_blob_gas denominator=update_fraction",
        factor=fee_market.MIN_BLOB_BASE_FEE,
    ),
    ("ethereum", "excess_blob_gas_cancun"): _excess_before_the_reserve,
    ("ethereum", "excess_blob_gas_osaka_eip7918"): _excess_with_the_reserve,
    ("ethereum", "eip7623_floor_gas"): lambda i: fee_market.calldata_floor_gas(**i),
    ("ethereum", "blob_rules_at"): _blob_rules_at,
    ("optimism", "fastlz_length"): lambda i: measured(i)["fastlz_size"],
    ("optimism", "bedrock_pre_regolith"): _bedrock("bedrock"),
    ("optimism", "bedrock_regolith"): _bedrock("regolith"),
    ("optimism", "ecotone"): each(
        fee=of(optimism.ecotone_l1_fee, f"zero_bytes nonzero_bytes {ECOTONE}"),
        l1_gas_used=of(fee_market.calldata_gas, "zero_bytes nonzero_bytes"),
    ),
    ("optimism", "fjord"): FJORD,
    ("optimism", "fjord_from_fastlz_size"): FJORD,
    ("optimism", "fjord_solidity_parity"): FJORD,
    ("optimism", "isthmus_operator_fee"): _operator_fee("isthmus"),
    ("optimism", "jovian_operator_fee"): _operator_fee("jovian"),
    ("optimism", "jovian_da_footprint"): of(optimism.da_footprint, "fastlz_size gas_scalar=da_footprint_gas_scalar"),
    ("op-stack", "fjord_receipt"): _fjord_receipt,
    ("optimism", "eip1559_bedrock"): _l2_base_fee_by_upgrade("bedrock"),
    ("optimism", "eip1559_canyon"): _l2_base_fee_by_upgrade("canyon"),
    ("optimism", "eip1559_holocene"): _l2_base_fee("holocene"),
    ("optimism", "eip1559_pre_jovian"): _l2_base_fee("isthmus"),
    ("optimism", "eip1559_jovian"): _l2_base_fee("jovian"),
    ("optimism", "base_fee_bound"): lambda i: fee_market.base_fee_bound(**i),
    ("optimism", "total_rollup_cost"): _total_rollup_cost,
    ("optimism", "max_send"): _op_stack_max_send,
    ("arbitrum", "max_send"): _arbitrum_max_send,
    ("zksync_os", "fee_params"): _block_prices,
    ("zksync_os", "gas_used"): lambda i: zksync_os.gas_used(**i)._asdict(),
    ("arbitrum", "approx_exp_basis_points(accuracy 4)"): lambda i: l2_pricing.approx_exp_basis_points(**i),
    ("arbitrum", "gas_constraints_base_fee"): _constraints_base_fee,
    ("arbitrum", "constraint_blocks"): _constraint_blocks,
    ("arbitrum", "legacy_equals_one_constraint"): _legacy_equals_one_constraint,
    ("arbitrum", "one_constraint_equals_multi_gas"): _one_constraint_equals_multi_gas,
    ("arbitrum", "multi_gas_exponents"): _multi_gas_exponents,
    ("arbitrum", "multi_gas_backlog"): _multi_gas_backlog,
    ("arbitrum", "multi_gas_update"): _multi_gas_update,
    ("arbitrum", "multi_gas_refund_by_kind"): _multi_gas_refund_by_kind,
    ("arbitrum", "price_for_refund"): of(l2_pricing.multi_gas_price, "used fees next_base_fee=stored_base_fee"),
    ("arbitrum", "l1_pricing_funds"): _pricing_funds,
    ("arbitrum", "l1_price_equilibration"): _movement,
    ("arbitrum", "l1_price_equilibration_trajectory"): equilibration,
    ("scroll", "pre_curie"): of(scroll.pre_curie_l1_fee, "zero_bytes nonzero_bytes l1_base_fee overhead scalar"),
    ("scroll", "curie"): of(
        scroll.curie_l1_fee, "length l1_base_fee blob_base_fee=l1_blob_base_fee commit_scalar blob_scalar"
    ),
    ("scroll", "feynman"): _feynman,
    ("scroll", "feynman_compression_ratio"): _compression_ratio,
    ("scroll", "galileo"): of(
        scroll.galileo_l1_fee,
        "compressed_size l1_base_fee blob_base_fee=l1_blob_base_fee exec_scalar blob_scalar penalty_factor",
    ),
    ("zksync_era", "batch_fee_input_v2"): _batch_fee_input,
    ("zksync_era", "base_token_conversion"): _base_token,
    ("zksync_era", "predict_blob_fee_cap"): of(
        zksync.predicted_blob_base_fee,
        "blob_base_fee=l1_blob_base_fee pending_blobs=blobs_total l1_blocks=l1_blocks_total update_fraction "
        "target_blobs safety_bips=safety_bps",
    ),
    ("linea", "variable_fees"): of(
        coordinator.variable_cost,
        "base_fee=avg_base_fee priority_fee=avg_priority_fee blob_base_fee=avg_blob_base_fee "
        "execution_gas=exec_gas blob_gas bytes_per_submission margin",
    ),
    ("linea", "calldata_variable_fee"): of(
        coordinator.calldata_variable_cost,
        "variable_cost=variable_fee latest_variable_cost=previous_variable_cost calldata=sum_calldata "
        "max_block_calldata block_count denominator",
    ),
    ("linea", "extra_data_v1"): _extra_data,
    ("linea", "l1_dynamic_gas_price_cap"): of(
        coordinator.dynamic_gas_price_cap,
        "historic_cap elapsed=elapsed_h target=target_h time_of_day_multiplier adjustment_constant",
    ),
    ("linea", "wma_fees"): of(
        coordinator.weighted_moving_average_fee,
        "base_fees=base_fee priority_fees=reward gas_used_ratios=gas_used_ratio base_fee_coefficient "
        "priority_fee_coefficient=priority_wma_coefficient",
    ),
}


def run(rows: list[dict[str, Any]]) -> Iterator[Case]:
    for row in rows:
        name = row.get("id", f"{row['chain']}/{row['model']}")
        model = MODELS.get((row["chain"], row["model"]))
        if model is None:
            yield Case(name, False, "no runner knows this model")
        else:
            yield from guarded(name, _one(name, row, model))


def _one(name: str, row: dict[str, Any], model: Model) -> Iterator[Case]:
    yield compare(name, row["expected"], model(row["inputs"]))
