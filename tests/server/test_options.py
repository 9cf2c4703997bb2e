"""Parameters of `rollup_estimateGas` after the call object."""

import pytest

from feemodel.errors import InvalidInput
from feemodel.estimates.rollup import estimate_options
from tests.server.wire import ANNA

OVERRIDE = {ANNA: {"nonce": "0x1"}}


@pytest.mark.parametrize(
    ("given", "block", "overrides", "blocks"),
    [
        ([None, None, None], None, None, None),
        (["latest", None, None], "latest", None, None),
        ([OVERRIDE, None, None], None, OVERRIDE, None),
        (["0x5", OVERRIDE, None], "0x5", OVERRIDE, None),
        ([None, OVERRIDE, None], None, OVERRIDE, None),
        ([OVERRIDE, {"blocks": "0x3"}, None], None, OVERRIDE, 3),
        ([{"blocks": 64}, None, None], None, None, 64),
        ([{"blockNumber": "0x5"}, OVERRIDE, {"blocks": 1}], {"blockNumber": "0x5"}, OVERRIDE, 1),
        ([{}, None, None], None, {}, None),
        (["0x5", OVERRIDE, {"search": "intact", "blocks": 2}], "0x5", OVERRIDE, 2),
    ],
)
def test_parameters_behind_the_call_stand_where_either_kind_of_client_puts_them(given, block, overrides, blocks):
    found = estimate_options(*given)
    assert (found.block and found.block.given, found.overrides and found.overrides.given, found.blocks) == (
        block, overrides, blocks,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ([OVERRIDE, OVERRIDE, None], "parameter 3"), (["latest", OVERRIDE, OVERRIDE], "parameter 4"),
        (["latest", OVERRIDE, {"blocks": 1, "more": 2}], "parameter 4"), ([{"blocks": 0}, None, None], "blocks"),
        ([{"blocks": 65}, None, None], "blocks"), ([{"blocks": -1}, None, None], "blocks"),
        ([{"blocks": True}, None, None], "blocks"), ([{"blocks": "5"}, None, None], "blocks"),
        ([{"blocks": None}, None, None], "blocks"), (["newest", None, None], "block"),
        (["latest", "x", None], "overrides"), ([{"search": "besu"}, None, None], "search"),
        (["latest", {"search": "intact", "more": 1}, None], "overrides.search"),
    ],
)  # fmt: skip
def test_parameters_behind_the_call_that_are_not_valid_are_refused(given, name):
    with pytest.raises(InvalidInput) as caught:
        estimate_options(*given)
    assert caught.value.name == name
