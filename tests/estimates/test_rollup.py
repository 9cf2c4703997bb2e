"""The answer of `rollup_estimateGas`: gas, measured size and fee."""

import asyncio
from types import SimpleNamespace

import pytest

import feemodel
from feemodel.errors import InvalidInput
from feemodel.estimates import Gas, Measuring
from feemodel.estimates.rollup import Estimates
from feemodel.ethereum import parse_call
from feemodel.execution import Account, CallState, Limits, estimate_gas
from feemodel.linea.pricing_forms import CostPerByte, VerificationCost
from tests.helpers.execution_engines import ENGINES, address

RICH, TARGET = address(0x41C4), address(0x7A67)
FORM = CostPerByte(variable_cost=10**9, fixed_cost=30_000_000)
STATE = CallState(accounts={RICH: Account(balance=10**30, nonce=5)})


def call(**fields):
    return {"from": f"0x{RICH.hex()}", "to": f"0x{TARGET.hex()}", **fields}


def estimated(asked, *, form=FORM, **search):
    """What `rollup_estimateGas` answers."""
    parsed = parse_call(asked)
    found = estimate_gas(parsed, STATE, **search)
    return Measuring().priced(parsed, Gas(found.gas_limit, nonce=5, chain_id=1337), form=form, margin=1.2)


@pytest.mark.parametrize("engine", ENGINES)
def test_it_has_gas_limit_and_fees(engine):
    found = estimated(call(value=1), engine=engine)

    assert (found.gas_limit, found.base_fee) == (21_000, 7)
    expected = feemodel.priority_fee(
        found.compressed_size, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2
    )
    assert found.priority_fee == expected


def test_it_measures_the_fee_transaction():
    found = estimated(call(data="0x" + "ab" * 40))
    size = feemodel.fee_size(call(data="0x" + "ab" * 40), gas=found.gas_limit, nonce=5, chain_id=1337)

    assert found.compressed_size == size


def test_either_form_prices_it():
    form = VerificationCost(min_gas_price=100_000_000)
    found = estimated(call(), form=form)

    assert found.priority_fee == form.parts(found.compressed_size, 21_000, 1.2).total


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gas": 30_000_001}, "call.gas: expected at most 30,000,000, got 30000001"),
        ({"gasPrice": 7, "maxFeePerBlobGas": 1}, "call.gasPrice: expected either gasPrice or maxFeePerBlobGas"),
    ],
)
def test_a_call_is_checked(fields, message):
    with pytest.raises(InvalidInput, match=message):
        asyncio.run(Estimates(SimpleNamespace(limits=Limits()), None, Measuring()).estimate(parse_call(call(**fields))))


@pytest.mark.parametrize("settings", [{"codec": "lz4"}, {"form": "raw"}, {"packed": "yes"}])
def test_how_a_transaction_is_measured_is_checked(settings):
    with pytest.raises(InvalidInput):
        Measuring(**settings)
