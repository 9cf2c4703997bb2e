"""The model of arXiv 2310.01155 in closed form: threshold of calldata, payments for a shared blob."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from feemodel.errors import InvalidInput
from models.blob_or_calldata import calldata_threshold, posting_interval, shared_blob_payment


def cost_a_second(rate: float, fixed: float, per_byte: float, delay_cost: float) -> float:
    """The cheapest of all intervals, by search."""

    def cost(log_interval: float) -> float:
        interval = np.exp(log_interval)
        return float(fixed / interval + delay_cost * rate * interval / 2)

    return (
        float(minimize_scalar(cost, bounds=(-10, 30), method="bounded", options={"xatol": 1e-9}).fun) + per_byte * rate
    )


def test_the_interval_is_the_cheapest() -> None:
    interval = float(posting_interval(3.0, 5e12, 2e6))
    costs = [5e12 / at + 2e6 * 3.0 * at / 2 for at in (0.99 * interval, interval, 1.01 * interval)]
    assert min(costs) == costs[1]
    assert posting_interval(np.array([3.0, 3.0]), [5e12, 0.0], 2e6, capacity=300).tolist() == [100.0, 0.0]


@pytest.mark.parametrize("price", [1e9, 4e9])
def test_both_ways_cost_the_same_at_the_threshold(price: float) -> None:
    blob, calldata, delay_cost = 4e13, 1e13, 3e6
    threshold = float(calldata_threshold(blob, calldata, price, delay_cost))
    at, below, above = (
        cost_a_second(rate, calldata, price, delay_cost) / cost_a_second(rate, blob, 0.0, delay_cost)
        for rate in (threshold, 0.5 * threshold, 2 * threshold)
    )
    assert at == pytest.approx(1.0, rel=1e-6)
    assert below < 1.0 < above


def test_a_blob_that_costs_no_more_is_always_cheaper() -> None:
    assert calldata_threshold([1e13, 2e13], 2e13, 1e9, 1e6).tolist() == [0.0, 0.0]


def test_payments_of_both_make_the_blob() -> None:
    share = np.linspace(0.0, 1.0, 101)
    np.testing.assert_allclose(shared_blob_payment(share) + shared_blob_payment(1 - share), 1.0, rtol=0, atol=1e-12)
    larger = share[(share > 0.5) & (share < 1.0)]
    paid = shared_blob_payment(larger)
    assert ((paid > 0.5) & (paid < larger)).all()


def test_both_save_the_same() -> None:
    share, unit = 0.64, 1.0  # √(2 · delay cost · blob cost · sum of rates)
    for part in (share, 1 - share):
        together = float(shared_blob_payment(part)) * unit / 2 + part * unit / 2  # posting and own delay
        assert np.sqrt(part) - together == pytest.approx((np.sqrt(share) + np.sqrt(1 - share) - 1) / 2)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: posting_interval(0.0, 1.0, 1.0), "rate"),
        (lambda: posting_interval(1.0, -1.0, 1.0), "posting_cost"),
        (lambda: posting_interval(1.0, 1.0, [1.0, 0.0]), "delay_cost"),
        (lambda: posting_interval(1.0, 1.0, 1.0, capacity=0.0), "capacity"),
        (lambda: posting_interval(1.0, 1.0, 1.0, capacity=float("nan")), "capacity"),
        (lambda: calldata_threshold(1.0, 1.0, 0.0, 1.0), "calldata_price"),
        (lambda: calldata_threshold(-1.0, 1.0, 1.0, 1.0), "blob_cost"),
        (lambda: shared_blob_payment([0.5, 1.5]), "share"),
        (lambda: shared_blob_payment(-0.5), "share"),
    ],
)
def test_what_is_no_rate_price_or_share_is_refused(call: object, named: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{named}"):
        call()  # type: ignore[operator]
