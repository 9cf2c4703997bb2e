"""A fee over time: each sample is the fee that `feemodel_fee` says; and a hash is the transaction that the node has."""

import asyncio
import json
from itertools import pairwise

import pytest

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import from_hex, to_hex
from feemodel.ethereum._transaction import parse_transaction
from feemodel.explorer._methods import explorer_methods
from feemodel.explorer._presets import SIGNED, TOKENS, example_subjects
from feemodel.io.shipped import shipped_l1_samples
from feemodel.linea.parameters import linea_preset
from feemodel.linea.pricing_forms import form_of
from tests.explorer.behind_anvil import SENT as EXAMPLES
from tests.helpers.development import ALDER, CHAIN_ID, HOLDERS

METHODS = explorer_methods()
TRANSFER = {"compressedSize": 128, "gas": "0x5208"}
L1 = {"l1BaseFee": "0x3b9aca00", "blobBaseFee": "0x3b9aca00"}


def history(methods=METHODS, **point):
    return methods["feemodel_feeHistory"]({**TRANSFER, **point})


@pytest.mark.parametrize(
    "point",
    [{}, {"variableCostFrom": "l1"}, {"variableCostFrom": "l1", "lowerBound": None, "upperBound": None, "margin": 0.4},
     {"pricing": "verification-cost", "margin": 0.7}],
    ids=str,
)  # fmt: skip
def test_every_hour_of_l1_is_the_fee_of_its_l1_fees(point):
    month = history(**point)
    fields = ["l1BaseFee"] if "pricing" in point else ["l1BaseFee", "blobBaseFee"]
    for place in (0, 1, 300, 723):
        at = {name: month[name][place] for name in fields}
        expected = METHODS["feemodel_fee"]({**TRANSFER, **point, **at})
        assert expected["feeWei"]["total"] == month["feeWei"][place]
        assert expected["feePerGas"]["priority"] == month["priorityFeePerGas"][place]
        for one, column in zip(expected["recovery"], month["recovery"], strict=True):
            assert (one["basis"], one["cost"]) == (column["basis"], column["cost"][place])
            assert one["recovery"] == column["recovery"][place]


def test_an_hour_is_the_mean_of_its_ten_minutes():
    month = history()
    whole = [one.base_fee for one in shipped_l1_samples() if one.time.startswith("2026-01-09T03")]

    assert len(whole) == 6
    place = month["times"].index("2026-01-09T03:00:00Z")
    assert int(month["l1BaseFee"][place], 16) == round(sum(whole) / 6)
    assert (month["times"][0], month["times"][-1], len(month["times"])) == (
        "2026-01-07T14:00:00Z", "2026-02-06T17:00:00Z", 724,
    )  # fmt: skip


def test_the_deficit_is_what_has_been_missing_so_far():
    (found,) = history(margin=0.1)["recovery"]
    fees = [int(fee, 16) for fee in history(margin=0.1)["feeWei"]]
    costs, deficit = ([int(one, 16) for one in found[name]] for name in ("cost", "deficit"))

    assert deficit[0] == pytest.approx(costs[0] - fees[0], abs=2)
    for place, (before, after) in enumerate(pairwise(deficit), 1):
        assert after - before == pytest.approx(costs[place] - fees[place], abs=2)
    assert found["below"] == sum(one < 1 for one in found["recovery"])
    assert 0 < found["below"] < 724
    assert found["recoveryOfAll"] == pytest.approx(sum(fees) / sum(costs))


def test_a_server_in_the_other_form_has_its_history_too():
    own = form_of("verification-cost", linea_preset())
    found = history(explorer_methods(form=lambda: own))
    asked = {**TRANSFER, "pricing": "verification-cost", "l1BaseFee": found["l1BaseFee"][0]}
    expected = METHODS["feemodel_fee"](asked)

    assert found["feeWei"][0] == expected["feeWei"]["total"]
    assert [one["cost"][0] for one in found["recovery"]] == [one["cost"] for one in expected["recovery"]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "point: expected an object, got []"),
        ({**TRANSFER, "over": "l1"}, "point.over: expected one of "),
        ({**TRANSFER, "l1BaseFee": "0x1"}, "point.l1BaseFee: expected "),
        ({"gas": "0x5208"}, "point.compressedSize: expected"),
        ({**TRANSFER, "variableCost": "0x7fffffffffffffff"}, "point"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_with_its_path(given, message):
    with pytest.raises(InvalidInput) as error:
        METHODS["feemodel_feeHistory"](given)
    assert str(error.value).startswith(message)


SENT = EXAMPLES["eth_getTransactionByHash"]
HASH, RAW = SENT["params"][0], EXAMPLES["eth_sendRawTransaction"]["params"][0]


def told_by(answers):
    """The explanation of the example transaction's hash by a node that answers so; its answers are real ones."""

    async def ask(method, params):
        assert params == [HASH]
        return json.loads(json.dumps(answers[method]))

    methods = explorer_methods(ask_node=ask, chain_id=lambda: CHAIN_ID)
    return asyncio.run(methods["feemodel_explain"](HASH)), asyncio.run(methods["feemodel_compare"](HASH, L1))


def real(**changed):
    names = ("eth_getTransactionByHash", "eth_getTransactionReceipt")
    return {name: EXAMPLES[name]["result"] for name in names} | changed


def test_a_hash_is_the_transaction_that_the_node_has_with_the_gas_that_it_used():
    explained, compared = told_by(real())
    used = EXAMPLES["eth_getTransactionReceipt"]["result"]["gasUsed"]
    expected = asyncio.run(METHODS["feemodel_explain"](RAW, {"gasUsed": used}))

    assert expected == explained
    assert asyncio.run(METHODS["feemodel_compare"](RAW, L1)) == compared
    waiting, _ = told_by(real(eth_getTransactionReceipt=None))
    assert "used" not in waiting["gas"]


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        (
            real(eth_getTransactionByHash=None),
            InvalidInput,
            "subject: expected the hash of a transaction",
        ),
        (real(eth_getTransactionByHash={**SENT["result"], "value": "0x1"}), UpstreamError, "another hash"),
        (real(eth_getTransactionByHash={"to": TOKENS[CHAIN_ID]}), UpstreamError, "a different object"),
        (real(eth_getTransactionByHash={**SENT["result"], "type": "0x7e"}), InvalidInput, "type"),
    ],
    ids=["unknown", "altered", "a call", "a type of its own"],
)
def test_a_hash_that_stands_for_nothing_that_can_be_priced_is_said(answers, error, message):
    with pytest.raises(error, match=message):
        told_by(answers)


def test_a_hash_needs_a_node():
    with pytest.raises(InvalidInput, match="subject: expected no hash, because there is no node"):
        asyncio.run(METHODS["feemodel_explain"](HASH))


def test_example_calls_fit_their_chain():
    presets = explorer_methods(chain_id=lambda: CHAIN_ID)["feemodel_presets"]()
    assert presets["chainId"] == hex(CHAIN_ID)
    transfer, token, signed = (one["subject"] for one in presets["examples"])
    assert (transfer["from"], token["to"]) == (to_hex(HOLDERS[0]), to_hex(ALDER))
    for chain, raw in SIGNED.items():
        read_back = parse_transaction(raw)
        assert (read_back.chain_id, to_hex(read_back.to)) == (chain, TOKENS[chain])
    assert (to_hex(parse_transaction(signed).sender()), keccak256(from_hex(signed))) == (
        to_hex(HOLDERS[0]), from_hex(HASH),
    )  # fmt: skip
    assert [one["name"] for one in example_subjects(5)] == ["transfer"]
