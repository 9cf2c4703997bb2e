"""Policies of a user's own are checked where they enter, as the built-in ones are."""

from typing import NamedTuple

import numba
import numpy as np
import pytest

from feemodel import PricingRule, grid, sweep
from feemodel.errors import InvalidInput
from feemodel.io import FinishedFolder
from feemodel.simulation import Demand, Experiment, Fixed, Posting, simulate
from feemodel.simulation.closed_loop.observations import policy_state
from feemodel.simulation.policies import linea
from feemodel.simulation.scenarios import replay

ROWS = {"timestamp": [12 * k for k in range(100)], "base_fee": [7e7] * 100, "blob_base_fee": [4e6] * 100}
FEES = replay(ROWS, source="by hand")


@numba.njit
def announce(state, seen, price):
    price.per_byte = state[0]


@numba.njit
def settle(state, settled):
    state[0] += 0.0 * settled.posted_bytes


class Own:
    announce, settle = staticmethod(announce), staticmethod(settle)

    def __init__(self, price=1e8, **attributes):
        self.price = price
        vars(self).update(attributes)

    def start(self, setting):
        return np.array([self.price])


WRONG = {
    "l1_lag": [-50, 10**12, 2.5, "2", None, float("nan")],
    "balance_lag": [-2, 1 << 21, "2", True],
    "level": ["2", -1.0, float("nan"), float("inf"), None, [1.0]],
    "target_balance": ["1", -1.0, float("nan")],
    **{misspelt: [1] for misspelt in ("l1lag", "levle", "ballance_lag", "target_balence")},
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in WRONG for value in WRONG[name]])
def test_an_attribute_that_is_misspelt_or_no_number_in_its_range_is_named(name, value):
    with pytest.raises(InvalidInput) as caught:
        simulate(FEES, Own(**{name: value}))

    assert f"pricing.{name}" == caught.value.name


def announcing(write):
    """A policy whose first announcements are as a function writes them, compiled and as plain Python."""
    compiled = type("Announcing", (Own,), {"announce": staticmethod(numba.njit(write))})
    plain = {"announce": staticmethod(write), "settle": staticmethod(settle.py_func)}
    return [compiled(), type("Plain", (Own,), plain)()]


def negative_later(state, seen, price):
    price.per_byte = 1.0
    price.per_gas = 1.0 - seen.step


def negative_per_transaction(state, seen, price):
    price.per_transaction = -1e-9


def not_a_number(state, seen, price):
    price.per_gas = np.nan


def infinite(state, seen, price):
    price.per_byte = np.inf


WRONG_PRICES = [negative_later, negative_per_transaction, not_a_number, infinite]
COMPILED, IN_PYTHON = 0, 1


@pytest.mark.parametrize(
    ("write", "kind"),
    [(negative_later, COMPILED), *((write, IN_PYTHON) for write in WRONG_PRICES)],
)
def test_a_price_that_is_negative_or_no_number_is_refused(write, kind):
    """`tests/system` compiles all of them."""
    with pytest.raises(InvalidInput, match=r"pricing: expected finite prices of at least 0, in step \d of path 0"):
        simulate(FEES, announcing(write)[kind])


def unknown_price(state, seen, price):
    price.per_blob = 1.0


def unknown_observation(state, seen, price):
    price.per_byte = seen.gas_price


def beyond_the_state(state, seen, price):
    price.per_byte = state[10_000_000]


@pytest.mark.parametrize("write", [unknown_price, unknown_observation, beyond_the_state])
def test_a_name_or_an_index_that_is_not_there_is_named_before_compiled_code_runs(write):
    with pytest.raises(InvalidInput, match=r"pricing\.announce: .*(AttributeError|IndexError)"):
        simulate(FEES, announcing(write)[0])


STARTS = [lambda self, setting, state=state: state for state in (None, "1", 7.0, [[1.0]], [1j], [np.nan], [True], {})]
STARTS += [lambda self, setting: 1 / 0, lambda self: np.array([1e8]), lambda self, setting: [[1.0], [1.0, 2.0]]]


@pytest.mark.parametrize("start", STARTS)
def test_a_start_that_fails_or_is_no_array_of_numbers_is_named(start):
    own = type("Started", (Own,), {"start": start})()

    with pytest.raises(InvalidInput, match=r"pricing\.start: expected a (policy_state|function that returns an array)"):
        simulate(FEES, own)


def test_built_in_rules_take_no_state_of_others():
    """A built-in rule reads the fields of its own state."""
    rules = {"announce": staticmethod(linea.announce), "settle": staticmethod(linea.settle)}
    own = type("Borrowed", (Own,), {**rules, "start": lambda self, setting: np.array([2.0, 1e12])})()
    derived = type("Derived", (Fixed,), {"start": lambda self, setting: np.array([1e12] * 9)})(price=1e8)

    for pricing in (own, derived):
        with pytest.raises(InvalidInput, match="expected a policy that also defines announce and settle"):
            simulate(FEES, pricing)


@numba.njit
def doubled(state, seen, price):
    price.per_byte = 2.0 * state.price


def test_a_function_that_replaces_one_of_a_built_in_policy_is_called():
    derived = type("Derived", (Fixed,), {"announce": staticmethod(doubled)})(price=1e8)

    assert simulate(FEES, derived).mean_price.item() == 2e8


class State(NamedTuple):
    terms: np.record
    window: np.ndarray


@numba.njit
def average(state, seen, price):
    state.window[seen.step % state.window.size].base_fee = seen.base_fee
    total = 0.0
    for row in range(state.window.size):
        total += state.window[row].base_fee
    price.per_byte = state.terms.factor * total / state.window.size


@numba.njit
def unchanged(state, settled):
    state.terms.factor += 0.0 * settled.end_balance


def test_a_state_may_be_a_named_tuple_of_records():
    start = State(policy_state(factor=3.0), np.zeros(5, [("base_fee", np.float64)]))
    given = {"start": lambda self, setting: start, "settle": staticmethod(unchanged)}
    compiled = type("Averaging", (), {**given, "announce": staticmethod(average)})()
    plain = {"announce": staticmethod(average.py_func), "settle": staticmethod(unchanged.py_func)}
    demand = Demand(poisson=True, elasticity=0.5, reference_fee=119.42 * 1e8)

    found = simulate(FEES, compiled, demand=demand, record=1)
    price = found.price.values[0, :6]
    assert pytest.approx((price / 3.0 / 7e7 * 5.0).tolist()) == [1.0, 2.0, 3.0, 4.0, 5.0, 5.0]
    assert found.equals(simulate(FEES, type("Plain", (), {**given, **plain})(), demand=demand, record=1))
    assert not start.window["base_fee"].any()  # each path has a state of its own


def test_prices_stay_until_they_are_written():
    once = type("Once", (Own,), {"announce": staticmethod(numba.njit(announced_once))})()

    assert simulate(FEES, once, record=1).price.values[0].tolist() == [5.0] * 100


def announced_once(state, seen, price):
    if seen.step == 0:
        price.per_byte = 5.0


@pytest.mark.parametrize("values", [{}, {"price": "1"}, {"price": np.nan}, {"price": None}])
def test_a_policy_state_has_numbers(values):
    with pytest.raises(InvalidInput):
        policy_state(**values)


def test_a_sweep_of_simulations_says_of_itself_what_a_simulation_does():
    run = Experiment(l1_fees=FEES, pricing=Fixed(price=1e7))
    found = sweep(run, grid(pricing_price=[1e7, 3e7]))

    for name in ("l1_fees", "pricing", "posting", "demand", "costs", "seed"):
        assert found.attrs[name] == simulate(FEES, Fixed(price=1e7)).attrs[name]
    assert found["recovery"].units == "1"
    with pytest.raises(InvalidInput, match="expected an argument and its field"):
        run(pricing_doubled=np.array([1.0]))
    with pytest.raises(InvalidInput, match="and its field"):
        Experiment(l1_fees=FEES, pricing=Own())(pricing_price=np.array([1.0]))


def test_a_sweep_of_simulations_keeps_what_is_finished(tmp_path):
    kept = FinishedFolder(tmp_path)
    run = Experiment(l1_fees=FEES, pricing=Fixed(price=1e7))
    sweep(run, grid(pricing_price=np.linspace(1e7, 2e7, 17)), finished=kept)

    assert kept.numbers() == [0, 1]


def test_a_posting_follows_the_rule():
    rule = PricingRule(execution_gas=180_000, tip=2e9)
    posting = Posting(submission=rule.submission)

    assert simulate(FEES, rule).attrs["posting"] == simulate(FEES, rule, posting).attrs["posting"]
    assert simulate(FEES, rule).attrs["posting"] != simulate(FEES, PricingRule()).attrs["posting"]


@numba.vectorize
def vectorized(gas, price):
    return gas * price + 1


def test_a_function_of_numba_vectorize_is_swept():
    found = sweep(vectorized, grid(price=[3, 4], gas=[10, 20]))

    assert found["vectorized"].values.tolist() == [[31, 61], [41, 81]]


def late(state, seen, price):
    state[0] += 1.0
    price.per_byte = state[0 if state[0] < 1e8 + 20.0 else 17]


@numba.njit
def unknown(state, seen, price):
    price.per_byte = state["price"] if seen.step > 0 else 0.0


@pytest.mark.parametrize("function", [late, unknown])
def test_functions_that_fail_after_the_first_step_are_named(function):
    policy = type("Failing", (Own,), {"announce": staticmethod(function)})()

    with pytest.raises(InvalidInput, match=r"pricing.*: (a|the) function raises an error"):
        simulate(FEES, policy)


def test_inputs_of_an_experiment_that_do_not_broadcast_are_named():
    run = Experiment(l1_fees=FEES, pricing=Fixed(price=1e8))

    with pytest.raises(InvalidInput, match="inputs: expected arrays that broadcast"):
        run(pricing_price=np.ones(2), demand_rate=np.ones(3))
