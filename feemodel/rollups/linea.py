"""Linea's rule: the formulas of `feemodel.linea` at the variable cost that Linea's coordinator would publish."""

from feemodel.checks import require
from feemodel.ethereum.fee_market import BASE_FEE_CHANGE_DENOMINATOR, ELASTICITY, base_fee_bound
from feemodel.exact import double, long
from feemodel.linea.coordinator import variable_cost
from feemodel.linea.extra_data import recorded_cost
from feemodel.quantities import Whole
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule, _with_margin

OF_SUBMISSION = ("execution_gas", "blob_gas", "bytes_per_submission")
OF_VARIABLE_COST = (*OF_SUBMISSION, "priority_fee", "pricing_margin", "lower_bound", "upper_bound")


def linea_rule(parameters: Parameters) -> Rule:
    """Return Linea's rule, with the variable cost that Linea's coordinator would publish at the L1 fees.

    On a day for which the chain's file has the variable cost that blocks recorded, the rule uses that cost.

    The L1 fee is the part of the fee that depends on the size. The L2 fee consists of the base fee and the fixed cost.

    >>> from feemodel.rollups.rules import rule
    >>> rule("linea").fees({"linea_size": 128, "gas": 21_000}, base_fee=10**9, blob_base_fee=10**9)
    Fees(l1=153599985000, l2=756000147000)
    """
    recorded = parameters.is_known("variable_cost") or "execution_gas" not in parameters
    needed = ("variable_cost",) if recorded else OF_VARIABLE_COST
    terms = parameters.known("fixed_cost", *needed, "estimate_margin", "l2_gas_price")
    fixed, margin = terms["fixed_cost"], terms["estimate_margin"]
    gas_price = _with_margin(fixed, margin) + terms["l2_gas_price"]

    def factors(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        size, gas = columns["linea_size"], columns["gas"]
        require("gas", "expected at least 1, because the fee is divided by the gas", gas, gas > 0)
        if recorded:
            cost = terms["variable_cost"]
        else:
            fees = {"base_fee": double(base_fee), "blob_base_fee": double(blob_base_fee)}
            others = {name: terms[name] for name in OF_VARIABLE_COST if name != "pricing_margin"}
            cost = recorded_cost.core(variable_cost.core(**fees, **others, margin=terms["pricing_margin"]))
        long("variable_cost · compressed_size", cost * size)
        return Factors(size, cost, gas, gas, gas_price, step=gas, fixed=fixed, margin=margin)

    return Rule(parameters, ("gas", "linea_size"), tuple(terms), factors)


def linea_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Linea after some blocks, by EIP-1559 with Ethereum's parameters."""
    rule = {"elasticity": ELASTICITY, "denominator": BASE_FEE_CHANGE_DENOMINATOR}
    return base_fee_bound(base_fee, blocks, gas_limit=60_000_000, **rule)[-1]
