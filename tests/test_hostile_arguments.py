"""Any argument of a public function replaced by a hostile value gives a result or one of the package's errors.

One of eight values is tried for each function; `tests/system` tries all.
"""

import inspect
import warnings
from itertools import islice

import pytest

from feemodel.errors import FeeModelError
from tests.helpers.hostile import calls_of, hostile_calls, modules_of, public_names
from tests.test_api_reference import INSIDE

#: Private: their callers check the arguments.
UNCHECKED = {"feemodel.rollups._arbitrum_kernels"}
MODULES = {
    module.__name__: module
    for package in ("feemodel.simulation", "feemodel.rollups")
    for module in modules_of(package, INSIDE | UNCHECKED)
}
#: Made by other functions or shown by their results: no doctest calls them by name.
NOT_CALLED = {
    "feemodel.rollups.arbitrum": {"ArbosVersion"},
    "feemodel.rollups.arbitrum_l2_pricing": {"GasConstraint"},
    "feemodel.rollups.chains": {"Chain", "Parameter", "Row"},
    "feemodel.rollups._chain_files": {"chain_of", "read_chain", "read_chains"},
    "feemodel.rollups.factors": {"Rule"},
    "feemodel.rollups.optimism": {"Upgrade"}, "feemodel.rollups.tables": {"with_columns"},
    "feemodel.simulation.forecast.recommend": {"Recommended", "Recommendation"},
    "feemodel.simulation.posting": {"PriceCap"},
    "feemodel.simulation.statistics": {"Over"},
    "feemodel.simulation.scenarios": {"check_block_seconds", "check_scenario"},
}  # fmt: skip
#: What `backtest` refuses, `calibrate` hands to it, at 0.1 s a call.
PARTS_TRIED_ELSEWHERE = {"calibrate"}
STEP = 8
CALLERS_OWN = {"enough", "progress", "surplus"}  # functions of the caller's, whose errors are passed on


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_tried_or_is_known_not_to_be(name):
    module = MODULES[name]

    # The rules and bounds of families are tried through `rule` and `max_send`.
    names = {one for one in public_names(module) if not one.endswith(("_rule", "_bound"))}
    assert NOT_CALLED.get(name, set()) == names - set(calls_of(module))


@pytest.mark.parametrize("name", MODULES)
def test_a_hostile_argument_gives_a_result_or_an_error_of_the_package(name):
    assert ended_otherwise(name, step=STEP) == []


def ended_otherwise(name, step):
    """The calls of one in `step` that ended neither with a result nor with an error of the package."""
    found = []
    for number, (function, call) in enumerate(calls_of(MODULES[name]).items()):
        calls = hostile_calls(call, parts=function not in PARTS_TRIED_ELSEWHERE)
        for label, attempt in islice(calls, number % step, None, step):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    attempt()
                except FeeModelError:
                    pass
                except Exception as error:
                    if not passed_on(error, label):
                        found.append(f"{function}({label}): {type(error).__name__}: {error}"[:200])
    return found


def passed_on(error, label):
    """Whether the error came from a function of the caller's: one that was handed over, or the doctest's own."""
    innermost = inspect.getinnerframes(error.__traceback__)[-1]
    return label.partition(":")[0] in CALLERS_OWN or "<doctest" in innermost.filename
