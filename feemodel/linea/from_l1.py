"""Priority fee from L1 fees in one step: base fee and blob base fee → variable cost → pricing record → fee."""

from __future__ import annotations  # so that `help` shows the names of quantities

import sys

from feemodel.checks import require
from feemodel.formula import compiled, formula
from feemodel.linea.coordinator import variable_cost
from feemodel.linea.extra_data import recorded_cost
from feemodel.linea.parameters import COORDINATOR
from feemodel.linea.priority import _kernel, priority_fee
from feemodel.quantities import (
    BlobFee,
    BlobGas,
    CompressedSize,
    ExecutionGas,
    FixedCost,
    GasAboveZero,
    L1BaseFee,
    Margin,
    PriorityFee,
    SubmissionBytes,
    Tip,
    VariableCost,
)


@formula
def recorded_variable_cost(
    base_fee: L1BaseFee,
    blob_base_fee: BlobFee,
    *,
    tip: Tip = 0.0,
    execution_gas: ExecutionGas = COORDINATOR.execution_gas,
    blob_gas: BlobGas = COORDINATOR.blob_gas,
    bytes_per_submission: SubmissionBytes = COORDINATOR.bytes_per_submission,
    cost_margin: Margin = COORDINATOR.margin,
) -> VariableCost:
    """Variable cost in a block's pricing record at given L1 fees: whole kwei, at most 2**32 − 1 kwei.

    The gas is that of a submission. The coordinator divides by 131,072 bytes, although a blob carries at most 130,048
    bytes. `cost_margin` is the coordinator's safety factor, separate from the margin of the fee.

    The variable cost is ((7e7 + 1e8) · 65,250 + 4e6 · 131,072) / 131,072 = 88,629,058.8 wei per byte, truncated to
    whole kwei:

    >>> recorded_variable_cost(70_000_000, 4_000_000, tip=100_000_000)
    88629000
    """
    submission = {"execution_gas": execution_gas, "blob_gas": blob_gas, "bytes_per_submission": bytes_per_submission}
    cost = variable_cost.core(base_fee, tip, blob_base_fee, **submission, margin=cost_margin)
    require("fee", "expected a finite number", cost, cost <= sys.float_info.max)
    return recorded_cost.core(cost)


@formula
@compiled(_kernel("priority_fees_from_l1"))
def priority_fee_from_l1(
    compressed_size: CompressedSize,
    gas: GasAboveZero,
    *,
    base_fee: L1BaseFee,
    blob_base_fee: BlobFee,
    tip: Tip = 0.0,
    execution_gas: ExecutionGas = COORDINATOR.execution_gas,
    blob_gas: BlobGas = COORDINATOR.blob_gas,
    bytes_per_submission: SubmissionBytes = COORDINATOR.bytes_per_submission,
    cost_margin: Margin = COORDINATOR.margin,
    fixed_cost: FixedCost = 0,
    margin: Margin = 1.0,
) -> PriorityFee:
    """Priority fee per gas in the cost-per-byte form, with the variable cost of `recorded_variable_cost`.

    The fee is 88,629,000 · 128 div 21,000 + 30,000,000 = 540,214 + 30,000,000:

    >>> priority_fee_from_l1(
    ...     128, 21_000, base_fee=70_000_000, blob_base_fee=4_000_000, tip=100_000_000, fixed_cost=30_000_000
    ... )
    30540214
    """
    submission = {"execution_gas": execution_gas, "blob_gas": blob_gas, "bytes_per_submission": bytes_per_submission}
    cost = recorded_variable_cost.core(base_fee, blob_base_fee, tip=tip, cost_margin=cost_margin, **submission)
    return priority_fee.core(compressed_size, gas, variable_cost=cost, fixed_cost=fixed_cost, margin=margin)
