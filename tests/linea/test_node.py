"""What each stage of a node says, what a transaction offers, what wallets set."""

import numpy as np
import pytest

from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.linea._explanation import WALLETS
from feemodel.linea._node import node_checks, offered_price, verdicts
from feemodel.linea.parameters import LINEA_PRESETS, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, VerificationCost, form_of


def test_a_stage_without_its_gas_is_left_out():
    preset = linea_preset()
    answers = verdicts(
        10**9,
        128,
        {"estimated": 21_000, "limit": 21_000},
        form=form_of("cost-per-byte", preset),
        checks=node_checks(preset),
    )

    assert [answer.check.name for answer in answers] == ["estimate", "pool", "selection, before execution"]


def test_costs_of_numpy_do_not_wrap():
    with pytest.raises(Int64Overflow, match=r"variable_cost · compressed_size"):
        CostPerByte(variable_cost=np.int64(10**18)).fee(10_000, 21_000, 1.2)


def test_a_high_gas_limit_is_accepted_before_execution_and_left_pending_after_it():
    preset = linea_preset()
    form = CostPerByte(variable_cost=10**9)
    gas = {"estimated": 21_000, "limit": 210_000, "used": 21_000}
    answers = verdicts(1_000_000, 128, gas, form=form, checks=node_checks(preset))

    assert [answer.accepted for answer in answers] == [False, True, True, False]
    assert answers[-1].required_price == 7 + 6_095_238


def test_the_older_form_does_not_add_the_base_fee():
    form = VerificationCost(min_gas_price=10**8)
    answers = verdicts(121_904_761, 128, {"limit": 21_000}, form=form, checks=node_checks(linea_preset()))

    assert [answer.required_price for answer in answers] == [99_999_993, 121_904_761]
    assert all(answer.accepted for answer in answers)


@pytest.mark.parametrize(
    ("price", "offered"),
    [
        ({"gas_price": 50}, 50),
        ({"max_fee": 100, "max_priority_fee": 50}, 57),
        ({"max_fee": 55, "max_priority_fee": 50}, 55),
        ({"max_fee": 100, "max_priority_fee": 50, "base_fee": 20}, 70),
        ({"max_fee": 5, "max_priority_fee": 50, "base_fee": 20}, 5),
        ({"max_fee": 2**63 - 1, "max_priority_fee": 2**63 - 1}, 2**63 - 1),
        ({"max_fee": 50, "max_priority_fee": 2**63 - 1, "base_fee": 2**63 - 1}, 50),
    ],
)
def test_offered_price(price, offered):
    assert offered_price(**price) == offered
    assert offered_price(**{name: np.array([value]) for name, value in price.items()}).tolist() == [offered]


@pytest.mark.parametrize("price", [{"gas_price": 1, "max_fee": 2}, {"max_fee": 1}, {}])
def test_a_price_is_one_kind_or_the_other(price):
    with pytest.raises(InvalidInput):
        offered_price(**price)


def test_wallets_of_mainnet():
    """Linea mainnet blocks 28,279,135 and 28,279,145, January 2026."""
    medium = next(wallet for wallet in WALLETS if wallet.name == "MetaMask, medium")

    assert medium.fees(37_594_352) == (39_474_069, 39_474_078)
    assert medium.fees(41_405_595) == (43_475_874, 43_475_883)
    assert WALLETS[0].fees(43_314_285) == (43_314_285, 43_314_293)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match=r"preset: expected one of linea-mainnet-2026-01.* got 'linea'"):
        linea_preset("linea")
    with pytest.raises(InvalidInput, match="pricing: expected one of cost-per-byte, verification-cost, got 'gas'"):
        form_of("gas", linea_preset())


@pytest.mark.parametrize("name", LINEA_PRESETS)
def test_every_preset_prices_in_both_forms(name):
    for pricing in ("cost-per-byte", "verification-cost"):
        assert form_of(pricing, linea_preset(name)).parts(128, 21_000, 1.0).total > 0
