"""How each model of the published rollup vectors is computed: (chain, model) → function of a vector's inputs."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from feemodel.fees import l1_market
from feemodel.fees.rollups import arbitrum, arbitrum_pricing, optimism, polygon_zkevm, scroll, zksync
from feemodel.sizes.codecs import SCROLL_ZSTD, FastLz
from feemodel.units import from_hex

Inputs = Mapping[str, Any]


def _counts(data: bytes) -> tuple[int, int]:
    zeros = data.count(0)
    return zeros, len(data) - zeros


def _only(inputs: Inputs, *names: str) -> dict[str, Any]:
    return {name: inputs[name] for name in names}


def _one_row(inputs: Inputs, *, fraction: int, reserve: bool) -> l1_market.Schedule:
    row = l1_market.BlobRules(
        name="Test", timestamp=0, target=inputs["target"], maximum=inputs["max"], update_fraction=fraction,
        reserve=reserve, source="the vector",
    )  # fmt: skip
    return l1_market.Schedule((row,))


# Ethereum


def _excess_before_the_reserve(inputs: Inputs) -> int:
    schedule = _one_row(inputs, fraction=3_338_477, reserve=False)
    used = inputs["parent_blobs"] * l1_market.GAS_PER_BLOB
    return int(l1_market.next_excess_blob_gas(inputs["parent_excess"], used, 0, 0, schedule))


def _excess_with_the_reserve(inputs: Inputs) -> int:
    schedule = _one_row(inputs, fraction=inputs["update_fraction"], reserve=True)
    parent = inputs["parent_excess"], inputs["parent_blob_gas_used"], inputs["parent_base_fee"]
    return int(l1_market.next_excess_blob_gas(*parent, 0, schedule))


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
    return {"fee": fee, "l1_gas_used": l1_market.calldata_gas(*counts)}


def _oracle_ecotone(inputs: Inputs) -> dict[str, int]:
    zero, nonzero = _counts(from_hex(inputs["unsigned_tx"]))
    fee = optimism.ecotone_l1_fee(zero, nonzero + optimism.SIGNATURE_BYTES, **_only(inputs, *ECOTONE))
    return {"fee": fee, "l1_gas_used": optimism.oracle_ecotone_l1_gas(zero, nonzero)}


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
    state = arbitrum_pricing.L1Pricing(
        price_per_unit=0, units_since_update=inputs["units_since_update"], fees_available=inputs["l1_fees_available"],
        last_update_time=inputs["last_update_time"],
    )  # fmt: skip
    report = arbitrum_pricing.reported(
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
    state = arbitrum_pricing.L1Pricing(price_per_unit=inputs["initial_price_per_unit"])
    units, prices = inputs["units_per_update"], []
    for i in range(1, inputs["updates"] + 1):
        state = arbitrum_pricing.charged(state, units, units * state.price_per_unit)
        state = arbitrum_pricing.reported(
            state, update_time=10 * i, current_time=10 * i + 5, wei_spent=units * inputs["equilibrium"],
            l1_base_fee=inputs["equilibrium"], per_unit_reward=inputs.get("per_unit_reward", 0),
        ).state  # fmt: skip
        prices.append(state.price_per_unit)
    return prices


def _movement(inputs: Inputs) -> dict[str, Any]:
    start, end = inputs["initial_price_per_unit"], inputs["equilibrium"]
    moved = equilibration(inputs)[-1] - start
    missed = abs(moved - (end - start)) * 100 / abs(end - start)
    return {"movement_within_percent": math.ceil(missed), "sign_matches": (moved > 0) == (end > start)}


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
    data = inputs["compression_ratio"], scroll.PRECISION  # a plain and a compressed size of exactly that ratio
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


# Polygon zkEVM


def _break_even(inputs: Inputs) -> int:
    pricing = polygon_zkevm.Pricing(
        l1_gas_price_factor=inputs.get("l1_gas_price_factor", 0.25), byte_gas_cost=inputs.get("byte_gas_cost", 16),
        zero_byte_gas_cost=inputs.get("zero_byte_gas_cost", 4), net_profit=float(inputs.get("net_profit", 1)),
        transfer_gas_price=inputs.get("eth_transfer_gas_price", 0),
        transfer_l1_factor=float(inputs.get("eth_transfer_l1_factor", 0)),
    )  # fmt: skip
    counts = _counts(from_hex(inputs["raw_tx"]))
    prices = _only(inputs, "tx_gas_price", "l1_gas_price")
    return int(polygon_zkevm.break_even_gas_price(*counts, inputs["gas_used"], **prices, pricing=pricing))


def _effective(inputs: Inputs) -> int:
    counts = _counts(from_hex(inputs["raw_tx"]))
    prices = _only(inputs, "tx_gas_price", "l1_gas_price", "l2_gas_price")
    return int(polygon_zkevm.effective_gas_price(*counts, inputs["gas_used"], **prices))


MODELS: Mapping[tuple[str, str], Callable[[Inputs], Any]] = {
    ("ethereum", "eip1559_base_fee"): lambda i: l1_market.next_base_fee(i["base_fee"], i["gas_used"], i["gas_limit"]),
    ("ethereum", "fake_exponential"): lambda i: l1_market.fake_exponential(
        i["factor"], i["numerator"], i["denominator"]
    ),
    ("ethereum", "blob_base_fee_cancun"): lambda i: l1_market.fake_exponential(
        l1_market.MIN_BLOB_BASE_FEE, i["excess_blob_gas"], i["update_fraction"]
    ),
    ("ethereum", "excess_blob_gas_cancun"): _excess_before_the_reserve,
    ("ethereum", "excess_blob_gas_osaka_eip7918"): _excess_with_the_reserve,
    ("ethereum", "eip7623_floor_gas"): lambda i: l1_market.calldata_floor_gas(i["zero_bytes"], i["nonzero_bytes"]),
    ("optimism", "fastlz_length"): lambda i: FastLz().size(from_hex(i["data"])),
    ("optimism", "bedrock_pre_regolith"): _bedrock("bedrock"),
    ("optimism", "bedrock_regolith"): _bedrock("regolith"),
    ("optimism", "ecotone"): _ecotone,
    ("optimism", "fjord"): lambda i: _fjord_of_size(FastLz().size(from_hex(i["raw_tx"])), i),
    ("optimism", "fjord_from_fastlz_size"): lambda i: _fjord_of_size(i["fastlz_size"], i),
    ("optimism", "fjord_solidity_parity"): lambda i: _fjord_of_size(i["fastlz_size"], i),
    ("optimism", "gpo_ecotone"): _oracle_ecotone,
    ("optimism", "gpo_fjord"): lambda i: _fjord_of_size(
        optimism.oracle_fastlz_size(FastLz().size(from_hex(i["unsigned_tx"]))), i
    ),
    ("optimism", "gpo_fjord_upper_bound"): lambda i: _fjord_of_size(
        optimism.oracle_upper_bound_size(i["unsigned_tx_size"]), i
    )["fee"],
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
    ("arbitrum", "approx_exp_basis_points(accuracy 4)"): lambda i: arbitrum.approx_exp_basis_points(i["bips"]),
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
    ("polygon_zkevm", "break_even_gas_price"): _break_even,
    ("polygon_zkevm", "break_even_eth_transfer"): _break_even,
    ("polygon_zkevm", "effective_gas_price"): _effective,
    ("polygon_zkevm", "effective_percentage_byte"): lambda i: polygon_zkevm.effective_percentage(
        i["gas_price"], i["effective_gas_price"]
    ),
}
