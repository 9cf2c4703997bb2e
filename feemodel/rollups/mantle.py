"""Mantle: an OP Stack chain with fees in MNT; a contract on the chain stores the exchange ratio of ETH to MNT.

| from    | L1 data fee [wei of MNT]                                                                                  |
|---------|-----------------------------------------------------------------------------------------------------------|
| genesis | (data_gas + overhead) · l1_base_fee · scalar · token_ratio // 10⁶                                         |
| Arsia   | (size · (base_fee_scalar · 16 · l1_base_fee + blob_base_fee_scalar · blob_base_fee) // 10¹²) · token_ratio |

where `size` is `feemodel.rollups.optimism.scaled_size`. The upgrade Arsia introduced the OP Stack's Jovian rules for
the base fee and the operator fee; the operator fee is not multiplied by the token ratio. Before Arsia, the base fee was
constant. In the first block of Arsia, the scalars are not set yet, so the fee is computed as before Arsia. For every
transaction, nodes read the token ratio from storage slot 0 of the contract GasOracle at 0x4200…000F.

Source: mantle-xyz/op-geth at 11fa810 (2026-08-18): core/types/rollup_cost.go, consensus/misc/eip1559, params/mantle.go.
"""

from feemodel.formula import formula
from feemodel.quantities import BaseFee, BlobBaseFee, CompressedSize, Gas, Millionths, Wei, Whole, WholeNumber
from feemodel.rollups import optimism
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Columns, Factors, Rule


@formula
def before_arsia_l1_fee(
    data_gas: Gas, *, overhead: Gas, l1_base_fee: BaseFee, scalar: Millionths, token_ratio: WholeNumber
) -> Wei:
    """Return the L1 data fee before Arsia in wei of MNT; `data_gas` is the calldata gas of the signed transaction.

    The fee is (900 + 100) gas · base fee 2 gwei · scalar 0.5 · token ratio 3,000:

    >>> before_arsia_l1_fee(900, overhead=100, l1_base_fee=2 * 10**9, scalar=500_000, token_ratio=3_000)
    3000000000000000
    """
    return (data_gas + overhead) * l1_base_fee * scalar * token_ratio // 10**6


@formula
def arsia_l1_fee(
    fastlz_size: CompressedSize,
    *,
    l1_base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    base_fee_scalar: Millionths,
    blob_base_fee_scalar: Millionths,
    token_ratio: WholeNumber,
) -> Wei:
    """Return the L1 data fee since Arsia in wei of MNT: token_ratio · Fjord's L1 data fee in wei of ETH.

    The fee is 100 bytes · 32,030 wei per byte = 3,203,000 wei of ETH, times the token ratio of 10⁶:

    >>> arsia_l1_fee(170, l1_base_fee=10**9, blob_base_fee=10**7, base_fee_scalar=2, blob_base_fee_scalar=3,
    ...              token_ratio=10**6)
    3203000000000
    """
    fee = optimism.fjord_l1_fee.core(
        fastlz_size,
        l1_base_fee=l1_base_fee,
        blob_base_fee=blob_base_fee,
        base_fee_scalar=base_fee_scalar,
        blob_base_fee_scalar=blob_base_fee_scalar,
    )
    return fee * token_ratio


def mantle_rule(parameters: Parameters) -> Rule:
    """Return Mantle's rule, with fees in MNT.

    The L2 gas price, the scalars and the token ratio must be given as parameters, because no source publishes them. The
    L2 gas price is at least the minimum base fee.

    >>> from feemodel.rollups.rules import rule
    >>> given = {"base_fee_scalar": 2, "blob_base_fee_scalar": 3, "token_ratio": 10**6, "operator_fee_scalar": 0,
    ...          "operator_fee_constant": 0, "l2_gas_price": 5}
    >>> rule("mantle", parameters=given).fees({"gas": 21_000, "fastlz_size": 170}, base_fee=10**9, blob_base_fee=10**7)
    Fees(l1=3203000000000, l2=105000)
    """
    arsia = parameters["upgrade"] == "arsia"
    names = ("base_fee_scalar", "blob_base_fee_scalar", "operator_fee_scalar", "operator_fee_constant")
    terms = parameters.known(*(names if arsia else ("overhead", "scalar")), "token_ratio", "l2_gas_price")
    ratio, sizes = terms["token_ratio"], ("fastlz_size",) if arsia else ("zero_bytes", "nonzero_bytes")

    def factors(columns: Columns, base_fee: Whole, blob_base_fee: Whole) -> Factors:
        gas, counts = columns["gas"], [columns[size] for size in sizes]
        if not arsia:
            units = optimism.bedrock_l1_gas.core(*counts, overhead=terms["overhead"])
            return Factors(units, base_fee * terms["scalar"] * ratio, 10**6, gas, terms["l2_gas_price"])
        scalars = {name: terms[name] for name in ("base_fee_scalar", "blob_base_fee_scalar")}
        price = optimism.scaled_price.core(l1_base_fee=base_fee, blob_base_fee=blob_base_fee, **scalars)
        operator = {"scalar": terms["operator_fee_scalar"], "constant": terms["operator_fee_constant"]}
        extra = optimism.operator_fee.core(gas, **operator, upgrade="jovian")
        units = optimism.scaled_size.core(*counts)
        return Factors(units, price, 10**12, gas, terms["l2_gas_price"], step=ratio, extra=extra)

    return Rule(parameters, ("gas", *sizes), tuple(terms), factors, parameters["upgrade"])


def mantle_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Mantle, which is constant before Arsia and follows the OP Stack since Arsia."""
    return optimism.op_stack_bound(parameters, base_fee, blocks) if parameters["upgrade"] == "arsia" else base_fee
