"""The tools of the Model Context Protocol: their schemas, and each with arguments that are valid and not."""

import jsonschema
import pytest

import feemodel
from feemodel import rollups
from feemodel.cli._mcp_tools import TOOLS, call_tool, input_schema
from feemodel.errors import InvalidInput
from feemodel.ethereum._transaction import Transaction

CALL = {"to": "0x" + "11" * 20, "value": "0x1"}
SEND = {
    "chain": "op-mainnet", "balance": "0xde0b6b3a7640000", "baseFee": "0xf4240", "l1BaseFee": "0x3b9aca00",
    "blobBaseFee": "0x1",
}  # fmt: skip
VALID = {
    "explain": {"call": CALL}, "compare": {"call": CALL, "rules": ["linea", "op-mainnet"]}, "max_send": SEND,
    "chains": {"chain": "taiko"}, "forecast": {"method": "persistence", "horizons": ["1h"], "paths": 2},
}  # fmt: skip
INVALID = [
    ("explain", {}, "either a call or a transaction"),
    ("explain", {"call": {"to": "0x12"}}, "arguments.call.to"),
    ("explain", {"call": CALL | {"data": "0x12"}}, "gas"),
    ("explain", {"call": CALL, "gas": "0x0"}, "gas"),
    ("explain", {"call": CALL, "preset": "mars"}, "preset"),
    ("explain", {"call": CALL, "unknown": 1}, "unknown"),
    ("compare", {"call": CALL, "rules": ["mars"]}, "mars"),
    ("compare", {"call": CALL, "rules": []}, "rules"),
    ("compare", {"call": CALL, "at": "yesterday"}, "at: expected"),
    ("compare", {"transaction": "0x00"}, "transaction"),
    ("max_send", SEND | {"chain": "mars"}, "mars"),
    ("max_send", {name: value for name, value in SEND.items() if name != "l1BaseFee"}, "l1BaseFee"),
    ("max_send", SEND | {"balance": "many"}, "balance"),
    ("max_send", SEND | {"blocksAhead": -1}, "blocks_ahead"),
    ("chains", {"chain": "mars"}, "mars"),
    ("forecast", {"horizons": ["soon"]}, "horizons"),
    ("forecast", {"paths": 0}, "paths"),
    ("forecast", {"method": "oracle"}, "method"),
    ("weather", {}, "name: expected one of explain"),
]


@pytest.mark.parametrize("name", TOOLS)
def test_valid_arguments_fit_the_schema_and_are_answered(name):
    schema = input_schema(TOOLS[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(VALID[name], schema)

    assert call_tool(name, VALID[name])


@pytest.mark.parametrize(("name", "arguments", "said"), INVALID)
def test_invalid_arguments_are_named(name, arguments, said):
    with pytest.raises(InvalidInput) as error:
        call_tool(name, arguments)

    assert said in str(error.value)


def test_a_fee_is_that_of_the_package():
    answer = call_tool("explain", {"call": CALL | {"data": "0x" + "ab" * 99}, "gas": "0xb3b0"})

    assert answer["compressedSize"] == feemodel.fee_size(CALL | {"data": "0x" + "ab" * 99, "gas": "0xb3b0"})
    assert answer["gas"] == {"estimated": 46_000, "limit": 46_000}


def test_a_comparison_is_that_of_the_package():
    signed = Transaction(gas_limit=21_000, to=b"\x11" * 20).with_placeholder_signature()
    answer = call_tool(
        "compare", {"transaction": "0x" + signed.signed().hex(), "l1BaseFee": "0x5", "blobBaseFee": "0x1"}
    )
    table = rollups.measured_sizes([signed])
    names = [row["rule"] for row in answer["rules"]]
    rows = rollups.comparison(table, base_fee=5, blob_base_fee=1, rules=[rollups.rule(name) for name in names])

    assert [str(row["total"]) for row in answer["rules"]] == [str(row.total) for row in rows]


def test_integers_that_doubles_do_not_hold_are_digits():
    answer = call_tool("max_send", SEND)

    assert answer["maxValue"] == "999999969507399798"
    assert answer["gasLimit"] == 21_000


def test_each_horizon_of_a_forecast_has_its_own_quantiles():
    given = {"method": "persistence", "paths": 2}
    (hour,) = call_tool("forecast", {"horizons": ["1h"], **given})["horizons"]
    both = call_tool("forecast", {"horizons": ["6h", "1h", "60min"], **given})["horizons"]

    assert [one["horizon"] for one in both] == ["1h", "6h"]
    assert both[0] == hour
