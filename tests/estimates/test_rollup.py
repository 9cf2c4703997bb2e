"""The answer of `rollup_estimateGas`: gas, measured size and fee."""

import pytest

import feemodel
from feemodel.errors import InvalidInput
from feemodel.estimates import rollup_estimate
from feemodel.execution import Account, CallState
from feemodel.linea.pricing_forms import CostPerByte, VerificationCost
from tests.helpers.execution_engines import ENGINES, address

RICH, TARGET = address(0x41C4), address(0x7A67)
FORM = CostPerByte(variable_cost=10**9, fixed_cost=30_000_000)
STATE = CallState(accounts={RICH: Account(balance=10**30, nonce=5)})


def call(**fields):
    return {"from": f"0x{RICH.hex()}", "to": f"0x{TARGET.hex()}", **fields}


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


def test_it_has_gas_limit_and_fees(engine):
    found = rollup_estimate(call(value=1), STATE, form=FORM, margin=1.2, engine=engine)

    assert (found.gas_limit, found.base_fee) == (21_000, 7)
    expected = feemodel.priority_fee(
        found.compressed_size, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2
    )
    assert found.priority_fee == expected


def test_it_measures_the_fee_transaction(engine):
    found = rollup_estimate(call(data="0x" + "ab" * 40), STATE, form=FORM, margin=1.2, engine=engine)
    size = feemodel.fee_size(call(data="0x" + "ab" * 40), gas=found.gas_limit, nonce=5, chain_id=1337)

    assert found.compressed_size == size


def test_either_form_prices_it():
    form = VerificationCost(min_gas_price=100_000_000)
    found = rollup_estimate(call(), STATE, form=form, margin=1.2)

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
        rollup_estimate(call(**fields), STATE, form=FORM, margin=1.2)


def test_the_nonce_of_an_override_is_executed_and_the_chains_is_measured():
    """Two bytes of nonce would be measured otherwise."""
    asked, overrides = call(data="0x" + "ab" * 40), {RICH: {"nonce": 2**40}}
    found = [rollup_estimate(asked, STATE, form=FORM, margin=1.2, overrides=each) for each in (None, overrides)]

    assert found[0].compressed_size == found[1].compressed_size


@pytest.mark.parametrize(
    "settings",
    [
        {"search": "anvil"}, {"tolerance": 1.0}, {"tolerance": float("nan")}, {"codec": "lz4"}, {"measured": "raw"},
        {"packed": "yes"}, {"engine": "geth"}, {"margin": -1.0}, {"margin": [1.2]},
    ],
)  # fmt: skip
def test_settings_are_checked(settings):
    with pytest.raises(InvalidInput):
        rollup_estimate(call(), STATE, **{"form": FORM, "margin": 1.2} | settings)
