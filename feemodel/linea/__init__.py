"""Linea's fees: formulas, parameters, and the checks of Linea's nodes.

priority_fee, breakdown, profitable, CostPerByte : the cost-per-byte form, which nodes have used since May 2024
verification_priority_fee, verification_margin, VerificationCost : the verification-cost form, which nodes used before
    May 2024
variable_cost, sample_gas_price, calldata_variable_cost : costs that the coordinator computes from L1 fees
recorded_variable_cost, priority_fee_from_l1 : variable cost of a pricing record, and priority fee, from L1 fees
PricingRecord : the costs in a block's extraData, in whole kwei
fee_bytes : bytes that a node measures for a call or transaction
fee_size, fee_sizes : compressed sizes of the bytes that a node measures
node_checks, verdicts, offered_price : a node's checks of a price against the fee
explain : size, fee, wallet fees and checks of one transaction
parameters : every parameter with source and date; linea_preset : costs read from a real block

>>> from feemodel import linea
>>> linea.priority_fee(128, 21_000, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)
43314285
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.linea._explanation import explain as explain
    from feemodel.linea._measure import fee_bytes as fee_bytes
    from feemodel.linea._measure import fee_size as fee_size
    from feemodel.linea._measure import fee_sizes as fee_sizes
    from feemodel.linea._node import Check as Check
    from feemodel.linea._node import Verdict as Verdict
    from feemodel.linea._node import node_checks as node_checks
    from feemodel.linea._node import offered_price as offered_price
    from feemodel.linea._node import verdicts as verdicts
    from feemodel.linea.coordinator import average_fees as average_fees
    from feemodel.linea.coordinator import bounded as bounded
    from feemodel.linea.coordinator import calldata_pressure as calldata_pressure
    from feemodel.linea.coordinator import calldata_sum as calldata_sum
    from feemodel.linea.coordinator import calldata_variable_cost as calldata_variable_cost
    from feemodel.linea.coordinator import dynamic_gas_price_cap as dynamic_gas_price_cap
    from feemodel.linea.coordinator import sample_gas_price as sample_gas_price
    from feemodel.linea.coordinator import submission_fees as submission_fees
    from feemodel.linea.coordinator import usage_weighted_gas_price as usage_weighted_gas_price
    from feemodel.linea.coordinator import variable_cost as variable_cost
    from feemodel.linea.coordinator import weighted_moving_average_fee as weighted_moving_average_fee
    from feemodel.linea.extra_data import PricingRecord as PricingRecord
    from feemodel.linea.extra_data import latest_variable_cost as latest_variable_cost
    from feemodel.linea.extra_data import recorded_cost as recorded_cost
    from feemodel.linea.from_l1 import priority_fee_from_l1 as priority_fee_from_l1
    from feemodel.linea.from_l1 import recorded_variable_cost as recorded_variable_cost
    from feemodel.linea.parameters import LineaPreset as LineaPreset
    from feemodel.linea.parameters import linea_preset as linea_preset
    from feemodel.linea.pricing_forms import CostPerByte as CostPerByte
    from feemodel.linea.pricing_forms import VerificationCost as VerificationCost
    from feemodel.linea.priority import Breakdown as Breakdown
    from feemodel.linea.priority import breakdown as breakdown
    from feemodel.linea.priority import priority_fee as priority_fee
    from feemodel.linea.priority import profitable as profitable
    from feemodel.linea.priority import verification_margin as verification_margin
    from feemodel.linea.priority import verification_priority_fee as verification_priority_fee

__getattr__, __dir__ = lazy_names(__name__)
