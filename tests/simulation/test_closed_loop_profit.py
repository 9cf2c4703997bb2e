"""Profit and loss adds up in analysts' words; Linea's surplus is split as its contract splits it."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.linea.revenue_vault import RevenueVault, burn_and_bridge, submit_invoice
from feemodel.simulation.closed_loop._costs import Costs
from feemodel.simulation.closed_loop._profit import linea_surplus, profit_and_loss
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.scenarios import replay

ROWS = {
    "timestamp": 1_767_795_167 + 12 * np.arange(15_000),
    "base_fee": np.linspace(5e7, 9e7, 15_000),
    "blob_base_fee": np.full(15_000, 4e6),
}
#: Cases, and what Linea's contract did when `scripts/check-revenue-vault` executed it.
CONTRACT = json.loads((Path(__file__).parents[1] / "vectors" / "linea_revenue_vault.json").read_text())
COSTS = Costs(finalization_gas=66_500.0, finalize_blobs=1, proving_per_byte=1e6, overhead_per_month=1e15)
RESULT = simulate(replay(ROWS, source="by hand"), Fixed(price=4e8), costs=COSTS, days="utc")


def test_the_lines_add_up_in_cash_and_accrued():
    found = profit_and_loss(RESULT)
    rent = found["rent_paid_to_l1"].sum(("day", "path"))

    assert rent.sel(basis="cash").item() == pytest.approx(rent.sel(basis="accrual").item(), rel=1e-9)
    parts = float((found["base_fee_burned"] + found["priority_fee"]).sum())
    assert parts == pytest.approx(rent.sel(basis="cash").item(), rel=1e-12)
    fees, cost = float(RESULT["total_fees"][0]), float(RESULT["total_cost"][0])
    assert float(found["profit"].sel(basis="cash").sum()) == pytest.approx((fees - cost) / 1e18, rel=1e-9)


def test_dollars_are_those_of_the_day():
    prices = {"2026-01-07": 3_000.0, "2026-01-08": 3_100.0, "2026-01-09": 2_900.0}
    found = profit_and_loss(RESULT, eth_usd=prices)
    ratio = (found["fees_paid_by_users_usd"] / found["fees_paid_by_users"]).to_numpy()[0]

    assert pytest.approx(ratio.tolist()) == [3_000.0, 3_100.0, 2_900.0]
    with pytest.raises(InvalidInput, match="2026-01-09"):
        profit_and_loss(RESULT, eth_usd={"2026-01-07": 1.0, "2026-01-08": 1.0})


def test_what_is_no_result_is_refused():
    with pytest.raises(InvalidInput, match="result of simulate"):
        profit_and_loss(RESULT.drop_vars("data_fees"))


def test_a_day_that_does_not_cover_its_costs_leaves_arrears_that_the_next_days_pay():
    poor = simulate(replay(ROWS, source="by hand"), Fixed(price=1e6), costs=COSTS, days="utc")

    assert float(linea_surplus(poor)["invoice_arrears"][0, -1]) > 0.0
    assert float(linea_surplus(poor)["eth_burned"].sum()) == 0.0
    rich = linea_surplus(RESULT)
    assert float(rich["invoice_arrears"].sum()) == 0.0
    paid = float(rich["invoice_paid"].sum() + rich["eth_burned"].sum() + rich["spent_on_linea"].sum())
    assert paid == pytest.approx(float(RESULT["total_fees"][0]) / 1e18, rel=1e-12)


def test_the_vault_burns_nothing_that_the_message_s_fee_takes_whole():
    assert burn_and_bridge(RevenueVault(105, 100), minimum_fee=5) == ((5, 0), 100, 0, 0, 0)
    assert burn_and_bridge(RevenueVault(106, 100), minimum_fee=5) == ((0, 0), 100, 0, 1, 5)
    assert burn_and_bridge(RevenueVault(10, 100), minimum_fee=5) == ((0, 90), 10, 0, 0, 0)
    assert burn_and_bridge(RevenueVault(104)) == ((0, 0), 0, 20, 84, 0)
    assert burn_and_bridge(RevenueVault()) == ((0, 0), 0, 0, 0, 0)


def test_the_vault_reckons_in_integers_without_end():
    """200 wei owed 350: NumPy's eight bits would pay 94 of them."""
    vault = RevenueVault(np.uint8(200), np.uint8(100))
    assert submit_invoice(vault, np.uint8(250)) == (RevenueVault(0, 150), 200)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: submit_invoice(RevenueVault(1), 0), "amount: expected whole wei of at least 1, got 0"),
    (lambda: submit_invoice((1, 0), 1), "vault: expected a RevenueVault"),
    (lambda: burn_and_bridge(RevenueVault(1, -1)), "invoice_arrears: expected whole wei of at least 0, got -1"),
    (lambda: burn_and_bridge(RevenueVault(1), minimum_fee=-1), "minimum_fee: expected whole wei of at least 0"),
])  # fmt: skip
def test_what_the_vault_cannot_hold_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


@given(
    balance=st.integers(0, 10**21), arrears=st.integers(0, 10**21), amount=st.integers(1, 10**21),
    fee=st.integers(0, 10**18),
)  # fmt: skip
def test_no_wei_is_lost_in_the_vault(balance, arrears, amount, fee):
    invoice = submit_invoice(RevenueVault(balance, arrears), amount)
    surplus = burn_and_bridge(invoice.vault, minimum_fee=fee)
    given_away = invoice.paid + surplus.arrears_paid + surplus.eth_burned + surplus.spent_on_linea

    assert balance == given_away + surplus.message_fee + surplus.vault.balance
    assert arrears + amount == invoice.paid + surplus.arrears_paid + surplus.vault.invoice_arrears
    assert surplus.eth_burned == (surplus.eth_burned + surplus.spent_on_linea) * 20 // 100


@pytest.mark.parametrize("case", CONTRACT, ids=range(len(CONTRACT)))
def test_the_surplus_is_split_as_lineas_contract_splits_it(case):
    vault, rows = RevenueVault(invoice_arrears=case["arrears"]), []
    for income, invoice in zip(case["incomes"], case["invoices"], strict=True):
        vault, paid = vault._replace(balance=vault.balance + income), 0
        if invoice:
            vault, paid = submit_invoice(vault, invoice)
        surplus = burn_and_bridge(vault, minimum_fee=case["minimum_fee"])
        vault = surplus.vault
        rows.append([paid, *surplus[1:], *vault])

    assert case["rows"] == rows
