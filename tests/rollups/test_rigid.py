"""Exported rules are evaluated by a small evaluator of RIP-7993 and give the fees of the rule."""

import json

import numpy as np
import pytest

from feemodel.cli import main
from feemodel.errors import InvalidInput
from feemodel.rollups import arbitrum, rule, scroll, starknet
from feemodel.rollups.factors import evaluate
from feemodel.rollups.rigid import FORMULAS, export_rigid
from feemodel.rollups.rules import all_rules

MODULUS = 2**256
BINARY = {
    "+": lambda a, b: (a + b) % MODULUS, "*": lambda a, b: a * b % MODULUS, "-": lambda a, b: (a - b) % MODULUS,
    "/": lambda a, b: a // b if b else 0, ">": lambda a, b: int(a > b), "min": min, "max": max,
}  # fmt: skip


def evaluated(formula: str, values: dict[str, int]) -> int:
    """The value of a formula in reverse Polish notation over uint256."""
    stack: list[int] = []
    for token in formula.split():
        if token == "if":  # condition, then, otherwise
            condition, then, otherwise = stack[-3:]
            stack[-3:] = [then if condition else otherwise]
        elif token in BINARY:
            b, a = stack.pop(), stack.pop()
            stack.append(BINARY[token](a, b))
        else:
            stack.append(values[token])
    (result,) = stack
    return result


SCROLL = {"exec_scalar": 2_394_981_796, "blob_scalar": 1_019_097_245, "l2_gas_price": 15_680_000}
MNT = {"base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213, "token_ratio": 3_114, "operator_fee_scalar": 7,
       "operator_fee_constant": 11, "l2_gas_price": 20_000_000}  # fmt: skip
RULES = [
    *(one for one in all_rules().values() if one.parameters.chain.family in FORMULAS),
    rule("base", parameters={"operator_fee_scalar": 1_439_103, "operator_fee_constant": 12_564}),
    rule("op-mainnet/isthmus", parameters={"operator_fee_scalar": 1_439_103, "operator_fee_constant": 12_564}),
    rule("scroll/feynman", parameters=SCROLL | {"penalty_threshold": 2 * 10**9, "penalty_factor": 1_500_000_000}),
    rule("scroll/bernoulli", parameters={"overhead": 2_500, "scalar": 1_150_000_000, "l2_gas_price": 5}),
    rule("mantle", parameters=MNT),
    rule("mantle", at="2026-01-01", parameters=MNT | {"overhead": 188, "scalar": 10_000}),
    rule("starknet", parameters={"eth_to_fri_rate": 30_000 * 10**18}),
]


def drawn(rng: np.random.Generator) -> dict[str, int]:
    """A transaction's columns: sizes from 0 to 100,000, the compressed not above the plain."""
    size = int(10 ** rng.uniform(0, 5)) - 1
    return {
        "gas": int(rng.integers(21_000, 3 * 10**7)), "zero_bytes": size // 3, "nonzero_bytes": size - size // 3,
        "length": size, "fastlz_size": size, "brotli_size": size, "zstd_size": size, "data_length": size,
        "zstd_data_size": max(1, int(size * rng.uniform(0.2, 1))), "l1_data_gas": size, "l2_gas": size * 1_000,
    }  # fmt: skip


@pytest.mark.parametrize("one", RULES, ids=lambda one: one.name)
def test_an_exported_rule_gives_the_fees_of_the_rule(one):
    declared = export_rigid(one)
    names = {variable["name"]: str(variable["id"]) for variable in declared["variables"]}
    params = {str(param["id"]): param["value"] for fee in declared["fees"] for param in fee["params"]}
    rng = np.random.default_rng(7_993)
    for case in range(1_000):
        row = drawn(rng)
        base_fee, blob_base_fee = (int(10 ** rng.uniform(0, 12)) for _ in range(2))
        factors = one.factors(row, base_fee=base_fee, blob_base_fee=blob_base_fee)
        more = {
            "l2_gas_price": factors.gas_price, "price_per_unit": factors.price.whole,
            "compression_ratio": scroll.compression_ratio(row["data_length"], row["zstd_data_size"]),
        }  # fmt: skip
        if one.chain == "starknet":
            more["l1_data_gas_price"] = starknet.wei_to_fri(starknet.l1_prices(0, blob_base_fee).l1_data_gas,
                                                            30_000 * 10**18)  # fmt: skip
        known = {"0": base_fee, "1": blob_base_fee, "4": row["gas"]} | params | declared["values"]
        known |= {names[name]: value for name, value in (row | more).items() if name in names}
        found = tuple(evaluated(fee["formula"], known) for fee in declared["fees"])
        assert found == tuple(evaluate(factors)), (case, row, base_fee, blob_base_fee)


def test_the_example_of_fjord_by_hand():
    declared = export_rigid(rule("base/jovian"))
    assert declared["fees"][0]["formula"] == "100 200 * 201 max 201 - 202 max 101 203 * 0 * 102 1 * + * 204 /"
    assert [one["value"] for one in declared["fees"][0]["params"]] == [836_500, 42_585_600, 10**8, 16, 10**12]
    assert (declared["values"]["101"], declared["values"]["102"]) == (2_269, 1_055_762)
    assert declared["timestamp"] == 1_793_901_600


def test_arbitrum_declares_its_price_per_unit():
    declared = export_rigid(rule("arbitrum-one"))
    values = {"0": 1, "1": 1, "4": 21_000, "100": 110, "101": 10**9, "200": 16, "201": 2**64 - 1} | declared["values"]
    charge = arbitrum.poster_charge(110, price_per_unit=10**9, gas_price=20_000_000)
    assert evaluated(declared["fees"][0]["formula"], values) == charge.fee


@pytest.mark.parametrize("name", ["linea", "zksync-era", "polygon-zkevm"])
def test_what_uses_doubles_is_not_exported(name):
    with pytest.raises(InvalidInput, match="family: expected one of op-stack, mantle"):
        export_rigid(rule(name))


def test_the_verb_writes_json(capsys):
    assert main(["rules", "export", "taiko"]) == 0
    assert json.loads(capsys.readouterr().out) == export_rigid(rule("taiko"))
    assert main(["rules", "export", "mode"]) == 2
    assert main(["rules", "export", "mode", *(f"--set={name}=0" for name in (
        "base_fee_scalar", "blob_base_fee_scalar", "operator_fee_scalar", "operator_fee_constant"))]) == 0  # fmt: skip
