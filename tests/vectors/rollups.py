"""Runners for the rows of `rollups/fees.json`: (chain, model) → the result for the row's inputs."""

from collections.abc import Callable, Iterator
from typing import Any

from feemodel.ethereum._quantities import from_hex
from feemodel.linea import coordinator
from feemodel.linea.extra_data import PricingRecord
from tests.helpers.rollup_vectors import MODELS as OTHER_CHAINS
from tests.vectors import Case, compare, guarded

Inputs = dict[str, Any]


def variable_fees(inputs: Inputs) -> float:
    fees = (inputs["avg_base_fee"], inputs["avg_priority_fee"], inputs["avg_blob_base_fee"])
    return float(
        coordinator.variable_cost(
            *fees,
            execution_gas=inputs["exec_gas"],
            blob_gas=inputs["blob_gas"],
            bytes_per_submission=inputs["bytes_per_submission"],
            margin=inputs["margin"],
        )
    )


def calldata_variable_fee(inputs: Inputs) -> float:
    return float(
        coordinator.calldata_variable_cost(
            inputs["variable_fee"],
            inputs["previous_variable_cost"],
            inputs["sum_calldata"],
            max_block_calldata=inputs["max_block_calldata"],
            block_count=inputs["block_count"],
            denominator=inputs["denominator"],
        )
    )


def extra_data_v1(inputs: Inputs) -> dict[str, int]:
    record = PricingRecord.from_bytes(from_hex(inputs["extra_data"]))
    names = ("fixed_cost", "variable_cost", "eth_gas_price")
    return {f"{name}_kwei": int(getattr(record, name)) // 1000 for name in names}


def l1_dynamic_gas_price_cap(inputs: Inputs) -> int:
    return coordinator.dynamic_gas_price_cap(
        inputs["historic_cap"],
        elapsed=inputs["elapsed_h"],
        target=inputs["target_h"],
        time_of_day_multiplier=inputs["time_of_day_multiplier"],
        adjustment_constant=inputs["adjustment_constant"],
    )


def wma_fees(inputs: Inputs) -> float:
    return coordinator.weighted_moving_average_fee(
        inputs["base_fee"],
        inputs["reward"],
        inputs["gas_used_ratio"],
        base_fee_coefficient=inputs["base_fee_coefficient"],
        priority_fee_coefficient=inputs["priority_wma_coefficient"],
    )


MODELS: dict[tuple[str, str], Callable[[Inputs], Any]] = OTHER_CHAINS | {
    ("linea", "variable_fees"): variable_fees,
    ("linea", "calldata_variable_fee"): calldata_variable_fee,
    ("linea", "extra_data_v1"): extra_data_v1,
    ("linea", "l1_dynamic_gas_price_cap"): l1_dynamic_gas_price_cap,
    ("linea", "wma_fees"): wma_fees,
}


def run(rows: list[dict[str, Any]]) -> Iterator[Case]:
    for row in rows:
        name = row.get("id", f"{row['chain']}/{row['model']}")
        model = MODELS.get((row["chain"], row["model"]))
        if model is None:
            yield Case(name, False, "no runner knows this model")
        else:
            yield from guarded(name, _one(name, row, model))


def _one(name: str, row: dict[str, Any], model: Callable[[Inputs], Any]) -> Iterator[Case]:
    yield compare(name, row["expected"], model(row["inputs"]))
