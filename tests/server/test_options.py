"""Parameters of `rollup_estimateGas` after the call object."""

import pytest

from feemodel.errors import InvalidInput
from feemodel.estimates.rollup import estimate_options
from tests.server.wire import ANNA

OVERRIDE, INTACT = {ANNA: {"nonce": "0x1"}}, {"search": "intact"}


@pytest.mark.parametrize(
    ("given", "block", "overrides", "intact"),
    [
        ([None, None, None], None, None, False),
        ([OVERRIDE, None, None], None, OVERRIDE, False),
        (["0x5", OVERRIDE, None], "0x5", OVERRIDE, False),
        ([None, OVERRIDE, None], None, OVERRIDE, False),
        ([OVERRIDE, INTACT, None], None, OVERRIDE, True),
        ([{"blockNumber": "0x5"}, OVERRIDE, INTACT], {"blockNumber": "0x5"}, OVERRIDE, True),
        ([{}, None, None], None, {}, False),
    ],
)
def test_parameters_behind_the_call_stand_where_either_kind_of_client_puts_them(given, block, overrides, intact):
    found = estimate_options(*given)
    assert (found.block and found.block.given, found.overrides and found.overrides.given, found.intact) == (
        block, overrides, intact,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ([OVERRIDE, OVERRIDE, None], "parameter 3"), (["latest", OVERRIDE, OVERRIDE], "parameter 4"),
        (["latest", OVERRIDE, {"search": "intact", "more": 2}], "parameter 4"), (["newest", None, None], "block"),
        (["latest", "x", None], "overrides"), ([{"search": "besu"}, None, None], "search"),
        (["latest", {"search": "intact", "more": 1}, None], "overrides.search"),
    ],
)  # fmt: skip
def test_parameters_behind_the_call_that_are_not_valid_are_refused(given, name):
    with pytest.raises(InvalidInput) as caught:
        estimate_options(*given)
    assert caught.value.name == name
