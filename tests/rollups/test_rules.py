"""The common form of all rules. `test_rule_limits.py` shows that it is equal to the chains' own formulas."""

from typing import Any

import numpy as np
import pytest

from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.exact import exact
from feemodel.rollups.factors import Factors, evaluate
from feemodel.rollups.rules import rule, rules_at

COLUMNS = (
    "gas", "zero_bytes", "nonzero_bytes", "length", "fastlz_size", "brotli_size", "zstd_size", "data_length",
    "zstd_data_size", "linea_size", "pubdata", "l1_data_gas", "l2_gas",
)  # fmt: skip
CURRENT = tuple(one.name for one in rules_at()[0])


def test_factors_multiply_out_by_hand() -> None:
    """7 · 10 // 4; then (70 + 3) // 4 = 18, trunc(1.5 · 21) − trunc(1.5 · 3) = 27, twice."""
    plain = Factors(units=7, price=10, divisor=4, gas=3, gas_price=5)
    every = plain._replace(step=2, offset=3, fixed=3, margin=1.5, extra=1)

    assert [evaluate(one) for one in (plain, every)] == [(17, 15), (54, 16)]
    arrays = every._replace(units=exact(np.array([7, 0])), gas=exact(np.array([3, 0])))
    assert [found.word.tolist() for found in evaluate(arrays)] == [[54, 0], [16, 1]]
    assert evaluate(plain._replace(units=2**64, divisor=1, saturates=True)).l1 == 2**64 - 1
    assert evaluate(plain._replace(units=2**64, divisor=1)).l1 == 10 * 2**64


def test_what_is_missing_is_named() -> None:
    moment = {"base_fee": 1, "blob_base_fee": 1}
    with pytest.raises(InvalidInput, match="missing the columns gas, fastlz_size for base/jovian"):
        rule("base/jovian").fees({"length": 5}, **moment)
    with pytest.raises(UnknownParameter, match=r"no source gives .*penalty_threshold.* of scroll since 2025-08-19"):
        rule("scroll/feynman")


@pytest.mark.parametrize(("call", "names"), [
    (lambda: rule("op-mainnet/fyord"), "expected one of regolith, canyon"),
    (lambda: rule("optimism"), "expected CHAIN or CHAIN/UPGRADE, where CHAIN is one of arbitrum-nova"),
    (lambda: rule("base", parameters={"upgrade": "galileo"}), "expected one of bedrock, regolith"),
    (lambda: rule("scroll", parameters={"upgrade": "fjord"}), "expected one of bernoulli, curie"),
    (lambda: rule("arbitrum-one", parameters={"version": "51"}), "expected one of arbos-0"),
    (lambda: rule("base", parameters={"scalars": 1}), "parameter: expected one of upgrade"),
    (lambda: rule("base", parameters={"elasticity": 0}), "elasticity: expected at least 1"),
])  # fmt: skip
def test_a_wrong_name_is_answered_with_the_right_ones(call: Any, names: str) -> None:
    with pytest.raises(InvalidInput, match=names):
        call()


@pytest.mark.parametrize("name", CURRENT)
def test_no_rule_prices_a_blob_transaction(name: str) -> None:
    row = dict.fromkeys(COLUMNS, 100) | {"transaction_type": [2, 3]}
    with pytest.raises(InvalidInput, match=rf"transaction_type\[1\]: {name} has no fee rule for blob transactions"):
        rule(name).fees(row, base_fee=10**9, blob_base_fee=1)


def test_later_types_than_a_blob_transaction_are_priced() -> None:
    """EIP-7702's is type 4."""
    row = dict.fromkeys(COLUMNS, 100) | {"transaction_type": [0, 1, 2, 4]}
    moment = {"base_fee": 10**9, "blob_base_fee": 1}
    one = rule("base/jovian").fees(dict.fromkeys(COLUMNS, 100), **moment)
    assert [part.tolist() for part in rule("base/jovian").fees(row, **moment)] == [[part] * 4 for part in one]


def test_a_price_per_gas_needs_gas() -> None:
    with pytest.raises(InvalidInput, match=r"gas\[0\]"):
        rule("linea").fees(dict.fromkeys(COLUMNS, 1) | {"gas": [0]}, base_fee=10**9, blob_base_fee=1)


def test_parameters_of_an_unknown_chain_are_refused():
    with pytest.raises(InvalidInput, match=r"parameters: expected one of .*, got 'lineaa'"):
        rules_at(parameters={"lineaa": {"l2_gas_price": 1}})
