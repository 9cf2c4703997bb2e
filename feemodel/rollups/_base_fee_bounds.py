"""Upper bounds of the base fee after some blocks, by family of chains; the formulas are in `feemodel.rollups._balance`.

Each function takes the parameters of a chain, the chain's current base fee [wei / gas] and a number of blocks above 0.
The result is the largest possible base fee after the given number of blocks [wei / gas]. The arguments are not checked.
The functions raise `UnknownParameter` if they need a parameter without a known value.
"""

from collections.abc import Mapping
from typing import Any

from feemodel.checks import whole_scalar
from feemodel.rollups import _balance as balance
from feemodel.rollups import arbitrum, starknet, taiko
from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS, PRICING_INERTIA, GasConstraint
from feemodel.rollups.chains import Parameters

ETHEREUM = {"gas_limit": 60_000_000, "elasticity": 2, "denominator": 8}  # parameters of EIP-1559 on Linea and Ethereum


def linea_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Linea, which follows EIP-1559 with Ethereum's parameters."""
    return balance.base_fee_bound(base_fee, blocks, **ETHEREUM)[-1]


def op_stack_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of an OP Stack chain, by the chain's EIP-1559 parameters and minimum base fee.

    An unknown minimum base fee does not change the bound, because the base fee is at or above the minimum already, and
    full blocks only raise it.
    """
    terms = parameters.known("gas_limit", "elasticity", "denominator")
    for name in ("base_fee_floor", "min_base_fee"):
        if parameters.is_known(name):
            terms["min_base_fee"] = parameters[name]
    return balance.base_fee_bound(base_fee, blocks, **terms)[-1]


def mantle_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Mantle, which is constant before Arsia and follows the OP Stack since Arsia."""
    return op_stack_bound(parameters, base_fee, blocks) if parameters["upgrade"] == "arsia" else base_fee


def scroll_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Scroll, whose sequencer may set any base fee up to the chain's maximum."""
    return max(base_fee, int(parameters.known("max_base_fee")["max_base_fee"]))


def arbitrum_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Arbitrum, by the gas constraints of the chain."""
    lowest = arbitrum_min_base_fee(parameters.known("version", "min_base_fee"))
    speed_limit = arbitrum.version(parameters["version"]).speed_limit
    legacy = None if speed_limit is None else [GasConstraint(speed_limit, PRICING_INERTIA)]
    return balance.arbitrum_base_fee_bound(base_fee, blocks, constraints=legacy or DIA_CONSTRAINTS, min_base_fee=lowest)


def arbitrum_min_base_fee(terms: Mapping[str, Any]) -> int:
    """Return the minimum base fee of an Arbitrum chain; raises `InvalidInput` for 0.

    The owner of a chain can set the minimum to 0. At a base fee of 0, a node charges nothing for a transaction's bytes;
    the formulas of this package do not describe this case.
    """
    return whole_scalar("min_base_fee", terms["min_base_fee"], minimum=1, unit="wei")


def taiko_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of Taiko, which follows EIP-4396 between a minimum and a maximum."""
    bounds = parameters.known("min_base_fee", "max_base_fee")
    return balance.taiko_base_fee_bound(base_fee, blocks, chain=taiko.TaikoChain(name=parameters.chain.name, **bounds))


def zksync_os_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest base fee of ZKsync OS, whose native price can rise by an eighth per block."""
    per_gas = parameters.known("native_per_gas")["native_per_gas"]
    return balance.zksync_os_base_fee_bound(base_fee, blocks, native_per_gas=per_gas)


def starknet_bound(parameters: Parameters, base_fee: int, blocks: int) -> int:
    """Return the largest L2 gas price of Starknet [FRI / gas].

    All blocks are assumed to be full. The minimum price of SNIP-35 is ignored, because full blocks raise the price
    faster than SNIP-35 can raise its minimum.
    """
    terms = parameters.known("gas_target", "max_block_size", "min_gas_price")
    used, target, minimum = terms["max_block_size"], terms["gas_target"], terms["min_gas_price"]
    for _ in range(blocks):
        base_fee = starknet._next_l2_gas_price(base_fee, used, target, minimum)
    return base_fee
