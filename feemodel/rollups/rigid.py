"""Export of a rule as a gas market declaration of RIP-7993 (RIGID, a draft): formulas in reverse Polish notation.

Every number in a formula is the id of a variable or parameter. Ids from 0 to 13 are standard variables, ids from 100 to
199 are variables of the rollup, and ids from 200 on are parameters. The formulas use uint256 arithmetic with truncating
division. The formulas cannot express compressed sizes or prices that depend on the previous block, so these values are
declared as variables of the rollup.

RIP-7993 (a draft) defines neither the order of operands nor the ids of components. In this module, `a b -` is a − b,
`a b /` is a / b, and `a b >` is a > b. The result of `a b c if` is c for a = 0, and b for any other a. The id of a
component is its index.

Source: ethereum/RIPs at bd9b89f (2025-08-09), RIPS/rip-7993.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from feemodel.checks import choice, instance
from feemodel.rollups import optimism
from feemodel.rollups.chains import Parameters
from feemodel.rollups.factors import Rule

BASE_FEE, BLOB_BASE_FEE, GAS = "0", "1", "4"  # standard variables
FIRST_VARIABLE, FIRST_PARAMETER = 100, 200
ETH, OTHER_TOKEN = 0, 1


@dataclass(slots=True)
class Declaration:
    """Parts of a gas market declaration; a variable or a constant gets its id when a formula first uses it."""

    rule: Rule
    variables: list[dict[str, Any]] = field(default_factory=list)
    parameters: list[dict[str, int]] = field(default_factory=list)
    values: dict[str, int] = field(default_factory=dict)

    def column(self, name: str, unit: str, description: str) -> str:
        """Return the id of a variable of the transaction or the block; declare the variable if it is new."""
        for known in self.variables:
            if known["name"] == name:
                return str(known["id"])
        id_ = FIRST_VARIABLE + len(self.variables)
        self.variables.append({"id": id_, "name": name, "unit": unit, "dataType": "uint256",
                               "description": description})  # fmt: skip
        return str(id_)

    def chain_value(self, name: str) -> str:
        """Return the id of a parameter that the operator can change; store the parameter's value at the rule's date."""
        id_ = self.column(name, "1", f"{name} of {self.rule.chain}")
        self.values[id_] = self.rule.parameters[name]
        return id_

    def number(self, value: int) -> str:
        """Return the id of a constant; declare the constant if it is new."""
        for known in self.parameters:
            if known["value"] == value:
                return str(known["id"])
        self.parameters.append({"id": FIRST_PARAMETER + len(self.parameters), "value": value})
        return str(self.parameters[-1]["id"])


def _op_stack(made: Declaration) -> tuple[str, str]:
    upgrade = optimism.upgrade_named(made.rule.parameters["upgrade"])
    if upgrade.l1_rule == "fjord":
        size = _fjord_size(made)
        data = f"{size} {_weighted(made)} * {made.number(10**12)} /"
    else:
        gas = _calldata_gas(made)
        if upgrade.l1_rule == "ecotone":
            data = f"{gas} {_weighted(made)} * {made.number(16 * 10**6)} /"
        else:
            overhead, scalar = made.chain_value("overhead"), made.chain_value("scalar")
            data = f"{gas} {overhead} + {BASE_FEE} * {scalar} * {made.number(10**6)} /"
    return data, _with_operator_fee(made, upgrade)


def _mantle(made: Declaration) -> tuple[str, str]:
    ratio = "token_ratio"
    if made.rule.parameters["upgrade"] == "arsia":
        data = f"{_fjord_size(made)} {_weighted(made)} * {made.number(10**12)} / {made.chain_value(ratio)} *"
        return data, _with_operator_fee(made, optimism.upgrade_named("jovian"))
    gas, overhead, scalar = _calldata_gas(made), made.chain_value("overhead"), made.chain_value("scalar")
    data = f"{gas} {overhead} + {BASE_FEE} * {scalar} * {made.chain_value(ratio)} * {made.number(10**6)} /"
    return data, f"{GAS} {made.column('l2_gas_price', 'wei / gas', 'price of L2 gas')} *"


def _scroll(made: Declaration) -> tuple[str, str]:
    upgrade, nine = made.rule.parameters["upgrade"], 10**9
    largest = made.number(2**64 - 1)
    if upgrade == "bernoulli":
        gas = f"{_calldata_gas(made)} {made.number(64)} +"
        data = f"{gas} {made.chain_value('overhead')} + {BASE_FEE} * {made.chain_value('scalar')} *"
    elif upgrade == "curie":
        length = made.column("length", "byte", "length of the signed transaction")
        data = f"{made.chain_value('commit_scalar')} {BASE_FEE} * {length} {BLOB_BASE_FEE} *"
        data += f" {made.chain_value('blob_scalar')} * +"
    else:
        price = f"{made.chain_value('exec_scalar')} {BASE_FEE} * {made.chain_value('blob_scalar')} {BLOB_BASE_FEE} * +"
        factor = made.chain_value("penalty_factor")
        if upgrade == "feynman":
            length = made.column("length", "byte", "length of the signed transaction")
            ratio = made.column("compression_ratio", "10⁻⁹", "of the calldata under zstd, at least 10⁹")
            threshold = made.chain_value("penalty_threshold")
            penalty = f"{threshold} {ratio} > {factor} {made.number(nine)} if"
            data = f"{price} {length} * {penalty} * {made.number(nine)} /"
        else:
            size = made.column("zstd_size", "byte", "zstd size of the signed transaction, at most its length")
            byte = f"{factor} {made.number(1)} max"
            data = f"{price} {size} * {byte} {size} + * {byte} /"
            return f"{price} {size} * {byte} {size} + * {byte} {made.number(nine)} * / {largest} min", _plain(made)
    return f"{data} {made.number(nine)} / {largest} min", _plain(made)


def _arbitrum(made: Declaration) -> tuple[str, str]:
    size = made.column("brotli_size", "byte", "brotli size of the signed transaction (level 1, window 22)")
    price = made.column("price_per_unit", "wei / unit", "of the L1 pricing, which batch reports move")
    gas_price = made.column("min_base_fee", "wei / gas", "L2 base fee")
    made.values[gas_price] = made.rule.parameters["min_base_fee"]
    units = f"{size} {made.number(16)} *"
    return f"{units} {price} * {gas_price} / {made.number(2**64 - 1)} min {gas_price} *", f"{GAS} {gas_price} *"


def _taiko(made: Declaration) -> tuple[str, str]:
    return f"{made.number(0)}", f"{GAS} {made.chain_value('min_base_fee')} *"


def _starknet(made: Declaration) -> tuple[str, str]:
    data = made.column("l1_data_gas", "gas", "L1 data gas")
    price = made.column("l1_data_gas_price", "FRI / gas", "mean of blob base fees, within bounds")
    gas, gas_price = made.column("l2_gas", "gas", "L2 gas"), made.chain_value("min_gas_price")
    return f"{data} {price} *", f"{gas} {gas_price} *"


def _fjord_size(made: Declaration) -> str:
    size = made.column("fastlz_size", "byte", "FastLZ size of the signed transaction")
    slope = made.number(optimism.FASTLZ_COEFFICIENT)
    # Use max(product, intercept) before subtracting the intercept, because uint256 subtraction wraps around below 0.
    intercept = made.number(optimism.FASTLZ_INTERCEPT)
    return f"{size} {slope} * {intercept} max {intercept} - {made.number(optimism.MIN_SCALED_SIZE)} max"


def _weighted(made: Declaration) -> str:
    base, blob = made.chain_value("base_fee_scalar"), made.chain_value("blob_base_fee_scalar")
    return f"{base} {made.number(16)} * {BASE_FEE} * {blob} {BLOB_BASE_FEE} * +"


def _calldata_gas(made: Declaration) -> str:
    zero = made.column("zero_bytes", "byte", "zero bytes of the signed transaction")
    other = made.column("nonzero_bytes", "byte", "other bytes of the signed transaction")
    return f"{zero} {made.number(4)} * {other} {made.number(16)} * +"


def _plain(made: Declaration) -> str:
    return f"{GAS} {made.column('l2_gas_price', 'wei / gas', 'price of L2 gas')} *"


def _with_operator_fee(made: Declaration, upgrade: optimism.Upgrade) -> str:
    gas = _plain(made)
    if not upgrade.operator_fee_multiplier:
        return gas
    rate, constant = made.chain_value("operator_fee_scalar"), made.chain_value("operator_fee_constant")
    multiplier, divisor = made.number(upgrade.operator_fee_multiplier), made.number(upgrade.operator_fee_divisor)
    return f"{gas} {GAS} {rate} * {multiplier} * {divisor} / + {constant} +"


#: Families of chains whose formulas can be expressed exactly.
FORMULAS: Mapping[str, Callable[[Declaration], tuple[str, str]]] = MappingProxyType(
    {
        "op-stack": _op_stack,
        "mantle": _mantle,
        "scroll": _scroll,
        "arbitrum": _arbitrum,
        "taiko": _taiko,
        "starknet": _starknet,
    }
)


def export_rigid(rule: Rule) -> dict[str, Any]:
    """Return a rule as a `GasMarketDeclaration`, with one component for the data fee and one for the execution fee.

    Parameters
    ----------
    rule : rule of a chain whose family is in `FORMULAS`. The formulas of families that are not in `FORMULAS` need
        doubles or conversions, which the notation does not have.

    Returns
    -------
    dict : declaration that can be written as JSON. The keys are `version`, `timestamp` (start date of the parameters),
        `fees`, `variables` and `values` (the values of variables at this date, by id). The items of `fees` have the
        keys `id`, `formula`, `tokens`, `params` and `flags`. The items of `variables` have the keys `id`, `name`,
        `unit`, `dataType` and `description`.

    Raises `InvalidInput` for a family that is not in `FORMULAS`.

    >>> from feemodel.rollups.rules import rule
    >>> export_rigid(rule("op-mainnet/fjord"))["fees"][0]["formula"]
    '100 200 * 201 max 201 - 202 max 101 203 * 0 * 102 1 * + * 204 /'
    """
    family = instance("rule.parameters", instance("rule", rule, Rule).parameters, Parameters).chain.family
    made = Declaration(rule)
    formulas = FORMULAS[choice("family", family, FORMULAS)](made)
    token = ETH if rule.token == "ETH" else OTHER_TOKEN
    return {
        "name": rule.name,
        "token": rule.token,
        "version": 1,
        "timestamp": rule.parameters.row.timestamp,
        "fees": [
            {
                "id": index,
                "formula": formula,
                "tokens": [token],
                "params": [one for one in made.parameters if str(one["id"]) in formula.split()],
                "flags": 0,
            }
            for index, formula in enumerate(formulas)
        ],
        "variables": made.variables,
        "values": made.values,
    }
