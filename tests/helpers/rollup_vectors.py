"""How each model of the published rollup vectors is computed: (chain, model) → function of a vector's inputs."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.ethereum._quantities import from_hex
from feemodel.rollups import (
    arbitrum_l1_pricing,
    mantle,
    optimism,
    scroll,
    sending,
    starknet,
    zksync,
    zksync_os,
)
from feemodel.rollups import arbitrum_l2_pricing as l2_pricing
from feemodel.rollups.chains import chain
from feemodel.sizes._codecs import SCROLL_ZSTD, FastLz

Inputs = Mapping[str, Any]


def _counts(data: bytes) -> tuple[int, int]:
    zeros = data.count(0)
    return zeros, len(data) - zeros


def _only(inputs: Inputs, *names: str) -> dict[str, Any]:
    return {name: inputs[name] for name in names}


def _one_row(inputs: Inputs, *, fraction: int, reserve: bool) -> fee_market.Schedule:
    row = fee_market.BlobRules(
        name="Test", timestamp=0, target=inputs["target"], maximum=inputs["max"], update_fraction=fraction,
        reserve=reserve, source="the vector",
    )  # fmt: skip
    return fee_market.Schedule((row,))


# Ethereum


def _excess_before_the_reserve(inputs: Inputs) -> int:
    schedule = _one_row(inputs, fraction=3_338_477, reserve=False)
    used = inputs["parent_blobs"] * fee_market.GAS_PER_BLOB
    return int(fee_market.next_excess_blob_gas(inputs["parent_excess"], used, 0, 0, schedule))


def _excess_with_the_reserve(inputs: Inputs) -> int:
    schedule = _one_row(inputs, fraction=inputs["update_fraction"], reserve=True)
    parent = inputs["parent_excess"], inputs["parent_blob_gas_used"], inputs["parent_base_fee"]
    return int(fee_market.next_excess_blob_gas(*parent, 0, schedule))


# OP Stack

ECOTONE = ("l1_base_fee", "blob_base_fee", "base_fee_scalar", "blob_base_fee_scalar")


def _bedrock(upgrade: str) -> Callable[[Inputs], dict[str, int]]:
    def fee(inputs: Inputs) -> dict[str, int]:
        counts = _counts(from_hex(inputs["raw_tx"]))
        return {
            "fee": optimism.bedrock_l1_fee(
                *counts, **_only(inputs, "l1_base_fee", "overhead", "scalar"), upgrade=upgrade
            ),
            "l1_gas_used": optimism.bedrock_l1_gas(*counts, overhead=inputs["overhead"], upgrade=upgrade),
        }

    return fee


def _ecotone(inputs: Inputs) -> dict[str, int]:
    counts = _counts(from_hex(inputs["raw_tx"]))
    fee = optimism.ecotone_l1_fee(*counts, **_only(inputs, *ECOTONE))
    return {"fee": fee, "l1_gas_used": fee_market.calldata_gas(*counts)}


def _fjord_of_size(size: int, inputs: Inputs) -> dict[str, int]:
    fee = optimism.fjord_l1_fee(size, **_only(inputs, *ECOTONE))
    return {"fee": fee, "l1_gas_used": optimism.fjord_l1_gas(size)}


def _fjord_receipt(inputs: Inputs) -> dict[str, int]:
    assert inputs["size_scaled"] == optimism.MIN_SCALED_SIZE, "a receipt above the floor hides its FastLZ length"
    return {"fee": optimism.fjord_l1_fee(0, **_only(inputs, *ECOTONE))}


def _operator_fee(upgrade: str) -> Callable[[Inputs], int]:
    def fee(inputs: Inputs) -> int:
        terms = {"scalar": inputs["operator_fee_scalar"], "constant": inputs["operator_fee_constant"]}
        return int(optimism.operator_fee(inputs["gas"], **terms, upgrade=upgrade))

    return fee


def _l2_base_fee(upgrade: str) -> Callable[[Inputs], int]:
    def fee(inputs: Inputs) -> int:
        return int(
            optimism.next_base_fee(
                inputs["base_fee"], inputs["gas_used"], inputs["gas_limit"], upgrade=upgrade,
                elasticity=inputs["elasticity"], denominator=inputs["denominator"],
                footprint=inputs.get("blob_gas_used_da_footprint", 0), min_base_fee=inputs.get("min_base_fee", 0),
            )
        )  # fmt: skip

    return fee


def _l2_base_fee_by_upgrade(upgrade: str) -> Callable[[Inputs], int]:
    """The denominator and elasticity are the upgrade's own, and the vector's must be the same."""

    def fee(inputs: Inputs) -> int:
        block = inputs["base_fee"], inputs["gas_used"], inputs["gas_limit"]
        own = int(optimism.next_base_fee(*block, upgrade=upgrade))
        assert own == _l2_base_fee(upgrade)(inputs)
        return own

    return fee


# Arbitrum


def _pricing_funds(inputs: Inputs) -> dict[str, int]:
    state = arbitrum_l1_pricing.L1Pricing(
        price_per_unit=0, units_since_update=inputs["units_since_update"], fees_available=inputs["l1_fees_available"],
        last_update_time=inputs["last_update_time"],
    )  # fmt: skip
    report = arbitrum_l1_pricing.reported(
        state, update_time=inputs["update_time"], current_time=inputs["current_time"], wei_spent=inputs["funds_spent"],
        l1_base_fee=inputs["l1_base_fee_wei"], cost_cap_bips=inputs["amortized_cost_cap_bips"],
        per_unit_reward=inputs["per_unit_reward"],
    )  # fmt: skip
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
        **_only(inputs, "base_fee", "min_base_fee"),
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


def _multi_gas_update(inputs: Inputs) -> dict[str, Any]:
    constraints, backlogs = _multi_gas(inputs["constraints"])
    floor = inputs["min_base_fee"]
    update = l2_pricing.update_multi_gas_pricing(
        backlogs, inputs["seconds"], constraints=constraints, min_base_fee=floor
    )
    refund = l2_pricing.multi_gas_refund(
        inputs["used"], gas_used=inputs["gas_used"], base_fee=update.base_fee, next_base_fee=update.base_fee,
        fees=update.fees,
    )  # fmt: skip
    above = {kind: fee for kind, fee in update.fees.items() if fee != floor}
    return {"base_fee": update.base_fee, "backlogs": list(update.backlogs), "fees": above, "refund": refund}


def _multi_gas_refund_by_kind(inputs: Inputs) -> dict[str, Any]:
    constraints, backlogs = _multi_gas(inputs["constraints"])
    update = l2_pricing.update_multi_gas_pricing(
        backlogs, inputs["seconds"], constraints=constraints, min_base_fee=inputs["min_base_fee"]
    )
    price = l2_pricing.multi_gas_price(inputs["used"], fees=update.fees, next_base_fee=update.base_fee)
    refund = l2_pricing.multi_gas_refund(
        inputs["used"], gas_used=inputs["gas_used"], base_fee=inputs["header_base_fee"],
        next_base_fee=update.base_fee, fees=update.fees,
    )  # fmt: skip
    found = {"stored_base_fee": update.base_fee, "fees": update.fees, "backlogs": list(update.backlogs)}
    return found | {"price": price, "refund": refund}


def _price_for_refund(inputs: Inputs) -> int:
    return l2_pricing.multi_gas_price(inputs["used"], fees=inputs["fees"], next_base_fee=inputs["stored_base_fee"])


# Scroll


def _pre_curie(inputs: Inputs) -> int:
    counts = _counts(from_hex(inputs["data"]))
    return int(scroll.pre_curie_l1_fee(*counts, **_only(inputs, "l1_base_fee", "overhead", "scalar")))


def _scroll_fees(inputs: Inputs) -> dict[str, int]:
    return {"l1_base_fee": inputs["l1_base_fee"], "blob_base_fee": inputs["l1_blob_base_fee"]}


def _curie(inputs: Inputs) -> int:
    length = len(from_hex(inputs["data"]))
    return int(scroll.curie_l1_fee(length, **_scroll_fees(inputs), **_only(inputs, "commit_scalar", "blob_scalar")))


def _feynman(inputs: Inputs) -> int:
    scalars = _only(inputs, "exec_scalar", "blob_scalar", "penalty_threshold", "penalty_factor")
    data = inputs["compression_ratio"], 10**9  # a plain and a compressed size of exactly that ratio
    return int(scroll.feynman_l1_fee(inputs["tx_size"], *data, **_scroll_fees(inputs), **scalars))


def _galileo(inputs: Inputs) -> int:
    scalars = _only(inputs, "exec_scalar", "blob_scalar", "penalty_factor")
    return int(scroll.galileo_l1_fee(inputs["compressed_size"], **_scroll_fees(inputs), **scalars))


def _compression_ratio(inputs: Inputs) -> dict[str, Any]:
    data = from_hex(inputs["data"])
    size = SCROLL_ZSTD.size(data)
    ratio = scroll.compression_ratio(len(data), size)
    # The file writes what passes 64 bits as text.
    return {"ratio": ratio if ratio < 2**64 else str(ratio), "size": size}


# zkSync Era


def _batch_fee_input(inputs: Inputs) -> dict[str, int]:
    model = zksync.FeeModel(
        minimal_l2_gas_price=inputs["minimal_l2_gas_price"],
        compute_overhead_part=inputs["compute_overhead_part"],
        pubdata_overhead_part=inputs["pubdata_overhead_part"],
        batch_overhead_l1_gas=inputs["batch_overhead_l1_gas"],
        max_gas_per_batch=inputs["max_gas_per_batch"],
        max_pubdata_per_batch=inputs["max_pubdata_per_batch"],
    )
    fees = zksync.batch_fee_input(
        inputs["l1_gas_price"], inputs["l1_pubdata_price"], model=model, clip=inputs["clip"],
        l1_gas_price_scale=inputs["l1_gas_price_scale"], l1_pubdata_price_scale=inputs["l1_pubdata_price_scale"],
    )  # fmt: skip
    return fees._asdict()


def _base_token(inputs: Inputs) -> list[int]:
    names = ("minimal_l2_gas_price", "l1_gas_price", "l1_pubdata_price")
    return [zksync.in_base_token(inputs[name], **_only(inputs, "numerator", "denominator")) for name in names]


def _predicted_blob_fee(inputs: Inputs) -> int:
    return zksync.predicted_blob_base_fee(
        inputs["l1_blob_base_fee"], pending_blobs=inputs["blobs_total"], l1_blocks=inputs["l1_blocks_total"],
        update_fraction=inputs["update_fraction"], target_blobs=inputs["target_blobs"],
        safety_bips=inputs["safety_bps"],
    )  # fmt: skip


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


def _l1_mean_prices(inputs: Inputs) -> dict[str, int] | None:
    samples = [starknet.L1GasSample(*one) for one in inputs["samples"]]
    names = {"count": "blocks_for_mean", "lag": "lag_margin_seconds", "largest_gap": "max_time_gap_seconds"}
    terms = {name: inputs[given] for name, given in names.items() if inputs.get(given) is not None}
    try:
        mean = starknet.mean_l1_fees(samples, inputs["timestamp"], **terms)
    except InvalidInput:
        return None
    return {"base_fee": mean.base_fee, "blob_fee": mean.blob_base_fee}


def _l1_prices(inputs: Inputs) -> dict[str, int]:
    bounds = ("min_l1_gas_price", "max_l1_gas_price", "min_l1_data_gas_price", "max_l1_data_gas_price")
    terms = _only(inputs, "tip", "data_multiplier_ppt", *bounds)
    prices = starknet.l1_prices(inputs["mean_base_fee"], inputs["mean_blob_fee"], **terms)
    return {"l1_gas_price": prices.l1_gas, "l1_data_gas_price": prices.l1_data_gas}


def _price_conversion(inputs: Inputs) -> int | None:
    convert = {"wei_to_fri": starknet.wei_to_fri, "fri_to_wei": starknet.fri_to_wei}[inputs["direction"]]
    try:
        return convert(inputs["price"], inputs["eth_to_fri_rate"])
    except InvalidInput:
        return None


def _next_l2_gas_price(inputs: Inputs) -> int:
    return starknet.next_l2_gas_price(
        inputs["price"], inputs["gas_used"], gas_target=inputs["gas_target"], min_gas_price=inputs["min_gas_price"],
        denominator=inputs.get("denominator") or starknet.DENOMINATOR,
        rise_denominator=inputs.get("min_increase_denominator") or starknet.RISE_DENOMINATOR,
    )  # fmt: skip


def _next_l2_gas_price_with_floor(inputs: Inputs) -> int:
    if inputs.get("override") is not None:
        return int(inputs["override"])
    least = starknet.min_gas_price_at(inputs["height"], dict(inputs["per_height"]), inputs["fallback_min"])
    floor = max(least, inputs["fee_actual"] or 0)
    return starknet.next_l2_gas_price(
        inputs["price"], inputs["gas_used"], gas_target=inputs["gas_target"], min_gas_price=floor
    )


def _discounted_l1_gas(inputs: Inputs) -> dict[str, Any]:
    gas = starknet.discounted_l1_gas(**_only(inputs, "l1_gas", "l1_data_gas", "l1_gas_price", "l1_data_gas_price"))
    return {"gas": gas, "overdraft": gas > inputs["bound"]}


# Mantle, Base


def _arsia(inputs: Inputs) -> dict[str, int]:
    return {
        "fee": mantle.arsia_l1_fee(**inputs),
        "l1_gas_used": optimism.fjord_l1_gas(inputs["fastlz_size"]),
    }


def _mantle_operator_fee(inputs: Inputs) -> int:
    terms = {"scalar": inputs["operator_fee_scalar"], "constant": inputs["operator_fee_constant"]}
    return int(optimism.operator_fee(inputs["gas_used"], **terms, upgrade="jovian"))


def _mantle_total_cost(inputs: Inputs) -> int:
    names = ("fastlz_size", "l1_base_fee", "blob_base_fee", "base_fee_scalar", "blob_base_fee_scalar", "token_ratio")
    return mantle.arsia_l1_fee(**_only(inputs, *names)) + _mantle_operator_fee(
        inputs | {"gas_used": inputs["gas_limit"]}
    )


def _mantle_base_fee(inputs: Inputs) -> int:
    if not inputs["arsia"]:
        return int(inputs["base_fee"])
    terms = _only(inputs, "elasticity", "denominator", "min_base_fee")
    return optimism.next_base_fee(
        inputs["base_fee"], inputs["gas_used"], inputs["gas_limit"], upgrade="jovian", **terms,
        footprint=inputs.get("da_footprint") or 0,
    )  # fmt: skip


def _denim_parameters(inputs: Inputs) -> dict[str, int | None]:
    given = inputs.get("denominator")
    gas_limit, denominator = optimism.denim_parameters(inputs["gas_limit"], given or 1)
    return {"gas_limit": gas_limit, "denominator": denominator if given else None}


def _denim_base_fee(inputs: Inputs) -> int:
    terms = _only(inputs, "elasticity", "denominator", "min_base_fee")
    fee = inputs["base_fee"]
    for _ in range(inputs.get("blocks", 1)):
        fee = optimism.next_base_fee(fee, inputs["gas_used"], inputs["gas_limit"], upgrade="jovian", **terms)
    return int(fee)


# Scroll's L2 base fee


def _feynman_l2_base_fee(inputs: Inputs) -> int:
    counts = inputs["parent_base_fee"], inputs["gas_used"], inputs["gas_limit"]
    first = not inputs["parent_is_feynman"]
    return scroll.feynman_l2_base_fee(*counts, overhead=inputs["overhead"], first=first)


# ZKsync OS


def _block_prices(inputs: Inputs) -> dict[str, int]:
    def fraction(name: str) -> Fraction | None:
        return None if inputs[name] is None else Fraction(*inputs[name])

    before = inputs["previous"]
    optional = ("pubdata_price_cap", "native_price_override", "base_fee_override", "pubdata_price_override")
    prices = zksync_os.block_prices(
        native_price_usd=Fraction(*inputs["native_price_usd"]), base_token_usd=Fraction(*inputs["base_token_usd"]),
        settlement_token_usd=Fraction(*inputs["sl_token_usd"]), native_per_gas=inputs["native_per_gas"],
        pubdata_price=inputs["pubdata_price_sl"], blobs=inputs["blobs"], fill_ratio=fraction("fill_ratio"),
        previous=None if before is None else zksync_os.BlockPrices(0, before["native_price"], before["pubdata_price"]),
        **{name: inputs[name] for name in optional if name in inputs},
    )  # fmt: skip
    return prices._asdict()


def _zksync_os_gas(inputs: Inputs) -> dict[str, int]:
    names = {"gas_price": inputs["gas_price"], "native_price": inputs["native_price"]}
    return zksync_os.gas_used(inputs["evm_gas_used"], inputs["native_used"], **names)._asdict()


def _blob_rules_at(inputs: Inputs) -> dict[str, Any]:
    rules = fee_market.MAINNET.at(inputs["timestamp"])
    return {
        "name": rules.name, "target": rules.target, "max": rules.maximum, "update_fraction": rules.update_fraction
    }  # fmt: skip


WITH_PARAMETERS = ("arbitrum", "celo", "mantle", "scroll", "starknet", "taiko")
MODELS: Mapping[tuple[str, str], Callable[[Inputs], Any]] = {
    **{(name, "parameters_at"): _parameters_at for name in WITH_PARAMETERS},
    ("starknet", "next_l2_gas_price"): _next_l2_gas_price,
    ("starknet", "next_l2_gas_price_with_floor"): _next_l2_gas_price_with_floor,
    ("starknet", "min_l2_gas_price_for_height"): lambda i: starknet.min_gas_price_at(
        i["height"], dict(i["per_height"]), i["fallback"]
    ),
    ("starknet", "fee_actual"): lambda i: starknet.fee_actual(
        {int(block): fee for block, fee in i["proposals"].items()}, i["height"], i["window_size"]
    ),
    ("starknet", "fee_target"): lambda i: starknet.fee_target(i["strk_usd_rate"], i["target_atto_usd_per_l2_gas"]),
    ("starknet", "fee_proposal"): lambda i: starknet.fee_proposal(i["fee_target"], i["fee_actual"], i["margin_ppt"]),
    ("starknet", "l1_mean_prices"): _l1_mean_prices,
    ("starknet", "l1_prices"): _l1_prices,
    ("starknet", "price_conversion"): _price_conversion,
    ("starknet", "fee"): lambda i: starknet.fee(**i),
    ("starknet", "discounted_l1_gas"): _discounted_l1_gas,
    ("mantle", "arsia_l1_fee"): _arsia,
    ("mantle", "before_arsia_l1_fee"): lambda i: mantle.before_arsia_l1_fee(**i),
    ("mantle", "operator_fee"): _mantle_operator_fee,
    ("mantle", "total_rollup_cost"): _mantle_total_cost,
    ("mantle", "next_base_fee"): _mantle_base_fee,
    ("mantle", "da_footprint"): lambda i: i["da_footprint_gas_scalar"] * sum(i["estimated_sizes"]),
    ("base", "denim_parameters"): _denim_parameters,
    ("base", "denim_next_base_fee"): _denim_base_fee,
    ("base", "denim_base_fee_after"): _denim_base_fee,
    ("scroll", "l2_base_fee_curie"): lambda i: scroll.curie_l2_base_fee(**i),
    ("scroll", "l2_min_base_fee"): lambda i: scroll.curie_l2_base_fee(0, **i),
    ("scroll", "l2_base_fee_feynman"): _feynman_l2_base_fee,
    ("ethereum", "blob_update_fraction"): lambda i: fee_market.blob_update_fraction(i["max_blobs"]),
    ("ethereum", "eip1559_base_fee"): lambda i: fee_market.next_base_fee(i["base_fee"], i["gas_used"], i["gas_limit"]),
    ("ethereum", "fake_exponential"): lambda i: fee_market.fake_exponential(
        i["factor"], i["numerator"], i["denominator"]
    ),
    ("ethereum", "blob_base_fee_cancun"): lambda i: fee_market.fake_exponential(
        fee_market.MIN_BLOB_BASE_FEE, i["excess_blob_gas"], i["update_fraction"]
    ),
    ("ethereum", "excess_blob_gas_cancun"): _excess_before_the_reserve,
    ("ethereum", "excess_blob_gas_osaka_eip7918"): _excess_with_the_reserve,
    ("ethereum", "eip7623_floor_gas"): lambda i: fee_market.calldata_floor_gas(i["zero_bytes"], i["nonzero_bytes"]),
    ("ethereum", "blob_rules_at"): _blob_rules_at,
    ("optimism", "fastlz_length"): lambda i: FastLz().size(from_hex(i["data"])),
    ("optimism", "bedrock_pre_regolith"): _bedrock("bedrock"),
    ("optimism", "bedrock_regolith"): _bedrock("regolith"),
    ("optimism", "ecotone"): _ecotone,
    ("optimism", "fjord"): lambda i: _fjord_of_size(FastLz().size(from_hex(i["raw_tx"])), i),
    ("optimism", "fjord_from_fastlz_size"): lambda i: _fjord_of_size(i["fastlz_size"], i),
    ("optimism", "fjord_solidity_parity"): lambda i: _fjord_of_size(i["fastlz_size"], i),
    ("optimism", "isthmus_operator_fee"): _operator_fee("isthmus"),
    ("optimism", "jovian_operator_fee"): _operator_fee("jovian"),
    ("optimism", "jovian_da_footprint"): lambda i: optimism.da_footprint(
        i["fastlz_size"], gas_scalar=i["da_footprint_gas_scalar"]
    ),
    ("op-stack", "fjord_receipt"): _fjord_receipt,
    ("optimism", "eip1559_bedrock"): _l2_base_fee_by_upgrade("bedrock"),
    ("optimism", "eip1559_canyon"): _l2_base_fee_by_upgrade("canyon"),
    ("optimism", "eip1559_holocene"): _l2_base_fee("holocene"),
    ("optimism", "eip1559_pre_jovian"): _l2_base_fee("isthmus"),
    ("optimism", "eip1559_jovian"): _l2_base_fee("jovian"),
    ("op-stack", "parameters_at"): _parameters_at,
    ("optimism", "base_fee_bound"): lambda i: fee_market.base_fee_bound(**i),
    ("optimism", "total_rollup_cost"): _total_rollup_cost,
    ("optimism", "max_send"): _op_stack_max_send,
    ("arbitrum", "max_send"): _arbitrum_max_send,
    ("scroll", "max_send"): _plain_max_send,
    ("linea", "max_send"): _plain_max_send,
    ("taiko", "max_send"): _plain_max_send,
    ("ethereum", "max_send"): _plain_max_send,
    ("zksync_era", "max_send"): _plain_max_send,
    ("zksync_os", "max_send"): _plain_max_send,
    ("zksync_os", "fee_params"): _block_prices,
    ("zksync_os", "gas_used"): _zksync_os_gas,
    ("arbitrum", "approx_exp_basis_points(accuracy 4)"): lambda i: l2_pricing.approx_exp_basis_points(i["bips"]),
    ("arbitrum", "gas_constraints_base_fee"): _constraints_base_fee,
    ("arbitrum", "constraint_blocks"): _constraint_blocks,
    ("arbitrum", "legacy_equals_one_constraint"): _legacy_equals_one_constraint,
    ("arbitrum", "one_constraint_equals_multi_gas"): _one_constraint_equals_multi_gas,
    ("arbitrum", "multi_gas_exponents"): _multi_gas_exponents,
    ("arbitrum", "multi_gas_backlog"): _multi_gas_backlog,
    ("arbitrum", "multi_gas_update"): _multi_gas_update,
    ("arbitrum", "multi_gas_refund_by_kind"): _multi_gas_refund_by_kind,
    ("arbitrum", "price_for_refund"): _price_for_refund,
    ("arbitrum", "l1_pricing_funds"): _pricing_funds,
    ("arbitrum", "l1_price_equilibration"): _movement,
    ("arbitrum", "l1_price_equilibration_trajectory"): equilibration,
    ("scroll", "pre_curie"): _pre_curie,
    ("scroll", "curie"): _curie,
    ("scroll", "feynman"): _feynman,
    ("scroll", "feynman_compression_ratio"): _compression_ratio,
    ("scroll", "galileo"): _galileo,
    ("zksync_era", "batch_fee_input_v2"): _batch_fee_input,
    ("zksync_era", "base_token_conversion"): _base_token,
    ("zksync_era", "predict_blob_fee_cap"): _predicted_blob_fee,
}
