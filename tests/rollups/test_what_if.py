"""Rules of one's own from a file: what they change, what they leave, and errors that name the line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from models.saturation import L1State, saturate

from feemodel import rollups
from feemodel.cli import main
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum.fee_market import GAS_PER_BLOB, MAINNET, blob_update_fraction, fake_exponential
from feemodel.rollups import _balance as balance
from feemodel.rollups._what_if import blobs_at, parse_rules
from feemodel.rollups.chains import CHAINS, chain
from feemodel.rollups.padding import padding_table
from tests.conftest import ROOT

SHIPPED = sorted((ROOT / "data" / "rules").glob("*.toml"))
BPO3 = ROOT / "data" / "rules" / "bpo3-21-32.toml"
CALL = json.dumps({"to": "0x" + "11" * 20, "value": "0x1"})
SCALARS = """checked = 2026-11-24
[[op-mainnet.rows]]
since = 2027-01-01
source = "a guess"
base_fee_scalar = 2_613
[[world-chain.rows]]
since = 2027-01-01
source = "a guess"
base_fee_scalar = 9_736
blob_base_fee_scalar = 1_540_079
operator_fee_scalar = 0
operator_fee_constant = 0
"""


def parsed(text):
    return parse_rules("own", text, "own.toml")


def written(tmp_path, text):
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def answer(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_files_are_valid_and_change_nothing_before_their_time(path):
    found = rollups.read_rules(path)

    assert found.changed
    assert found.schedule.rows[:5] == MAINNET.rows
    for name, own in found.chains.items():
        assert own.at("2026-11-25").as_dict() == CHAINS[name].at("2026-11-25").as_dict()


@pytest.mark.parametrize("path", [path for path in SHIPPED if path.stem.startswith("bpo3")], ids=lambda path: path.stem)
def test_the_candidates_of_bpo3_follow_the_rule_of_the_forks_before(path):
    row = rollups.read_rules(path).schedule.rows[-1]

    assert path.stem == f"bpo3-{row.target}-{row.maximum}"
    assert (row.name, row.reserve, row.update_fraction) == ("BPO3", True, blob_update_fraction(row.maximum))


def test_a_row_of_blobs_keeps_what_it_leaves_out():
    text = (
        'checked = 2026-11-24\n[[ethereum.rows]]\nsince = 2026-12-01\nsource = "x"\nupgrade = "own"\nblob_target = 18\n'
    )
    row = parsed(text).schedule.rows[-1]

    assert (
        replace(row, name="BPO2", timestamp=MAINNET.rows[-1].timestamp, target=14, source=MAINNET.rows[-1].source)
        == (MAINNET.rows[-1])
    )
    assert (row.name, row.target, row.maximum) == ("own", 18, 21)


def test_rows_are_in_force_from_their_time_on_and_are_assumptions():
    found = parsed(SCALARS)
    before, after = (found.chains["op-mainnet"].at(day) for day in ("2026-12-31", "2027-01-01"))

    assert (before["base_fee_scalar"], after["base_fee_scalar"]) == (5_227, 2_613)
    assert after["blob_base_fee_scalar"] == 1_014_213
    assert "assumed: base_fee_scalar 2,613, l2_gas_price 1,000,000" in rollups.rule(found.chains["op-mainnet"]).remarks
    assert chain("op-mainnet").at()["base_fee_scalar"] == 5_227, "the shipped chain stays"


def test_an_unknown_chain_is_known_under_rules_that_give_what_is_missing():
    rules, without = rollups.rules_at(chains=parsed(SCALARS).chains)

    assert "world-chain" not in without
    assert "world-chain/karst" in [one.name for one in rules]
    assert "world-chain" in rollups.rules_at()[1]


def test_a_later_row_of_the_chain_replaces_the_file_s():
    text = SCALARS.replace("since = 2027-01-01", "since = 2024-07-10T16:01:00Z", 1)
    own = parsed(text).chains["op-mainnet"]

    assert own.at("2024-07-10T16:02:00")["base_fee_scalar"] == 2_613
    assert own.at()["base_fee_scalar"] == 5_227


HEAD = "checked = 2026-11-24\n"
ROW = 'since = 2027-01-01\nsource = "x"\n'


@pytest.mark.parametrize(("text", "line", "reason"), [
    ("", 1, "rows: expected tables such as [[ethereum.rows]]"),
    ("nonsense", 1, "Expected '='"),
    (HEAD + "[[atlantis.rows]]\n" + ROW, 2, "atlantis: expected ethereum, checked, note or a chain"),
    (HEAD + "family = 'op-stack'\n", 2, "family: expected ethereum, checked, note or a chain"),
    (HEAD + "[linea]\nrows = 3\n", 2, "linea: expected only tables [[linea.rows]]"),
    (HEAD + "[linea]\nrows = []\n", 2, "linea: expected at least one table [[linea.rows]]"),
    (HEAD + "[linea]\nrows = [3]\n", 2, "linea: expected tables [[linea.rows]], got 3"),
    ("[[linea.rows]]\n" + ROW, 1, "checked: expected a day"),
    (HEAD + "note = 3\n[[linea.rows]]\n" + ROW, 2, "note: expected text, got 3"),
    (HEAD + "[[linea.rows]]\n" + ROW + "execution_gas = -1", 5, "execution_gas: expected at least 0"),
    (HEAD + "[[linea.rows]]\n" + ROW + "base_fee_scalar = 1", 5, "base_fee_scalar: expected a parameter of linea"),
    (HEAD + "[[linea.rows]]\n" + ROW + "blob_target = 1", 5, "blob_target: expected a parameter of linea"),
    (HEAD + '[[linea.rows]]\nsince = "unknown"\nsource = "x"\n', 3, "since: expected a date"),
    (HEAD + '[[linea.rows]]\nsince = 2020-01-01\nsource = "x"\nfixed_cost = 1\n', 3, "expected 2024-05-30 or later"),
    (HEAD + "[[linea.rows]]\n" + ROW + '[[linea.rows]]\nsince = 2026-12-01\nsource = "x"\n', 6, "ordered by time"),
    (HEAD + "[[ethereum.rows]]\n" + ROW, 2, "upgrade: missing"),
    (HEAD + "[[ethereum.rows]]\n" + ROW + 'upgrade = "A"\ngas_limit = 1', 6, "gas_limit: expected one of upgrade"),
    (HEAD + "[[ethereum.rows]]\n" + ROW + 'upgrade = "A"\nblob_target = 22', 2,
     "blob_maximum: expected at least the target of 22 blobs, got 21"),
    (HEAD + "[[ethereum.rows]]\nsince = 2026-01-07T01:01:11Z\nsource = 'x'\nupgrade = 'A'", 3,
     "since: expected increasing timestamps"),
])  # fmt: skip
def test_an_error_names_the_line(text, line, reason):
    with pytest.raises(UnreadableFile) as caught:
        parsed(text)

    assert f"own.toml, line {line}: " in str(caught.value)
    assert reason in str(caught.value)


def test_a_file_that_is_not_there_is_unreadable():
    with pytest.raises(UnreadableFile, match=r"nowhere\.toml"):
        rollups.read_rules(Path("nowhere.toml"))


def test_the_bound_of_the_blob_base_fee_follows_the_schedule():
    """17 L1 blocks, each 11 blobs above the target."""
    found = rollups.read_rules(BPO3)
    now = rollups.Now(base_fee=10**6, l1_base_fee=10**9, blob_base_fee=10**9)
    terms = {"now": now, "gas_limit": 21_000, "blocks_ahead": 100}
    sent = {"to": "0x" + "11" * 20}
    today = rollups.max_send("op-mainnet", 10**18, sent, **terms)
    then = rollups.max_send(found.chains["op-mainnet"], 10**18, sent, **terms, schedule=found.schedule)
    row = found.schedule.rows[-1]

    blob = fake_exponential(1, balance.largest_excess(10**9, row) + 17 * 11 * GAS_PER_BLOB, 17_805_213)
    assert balance.l1_fee_bounds(10**9, 10**9, 17, row)[1] == blob
    by_hand = rollups.rule("op-mainnet", parameters={"l2_gas_price": 0}).fees(
        {"fastlz_size": 0, "gas": 21_000}, base_fee=balance.l1_fee_bounds(10**9, 10**9, 17, row)[0], blob_base_fee=blob
    )
    assert then.l1_fee == by_hand.l1 > today.l1_fee
    fees = {"base_fee": [10**9] * 3, "blob_base_fee": [10**10] * 3}
    own = {"op-mainnet": found.chains["op-mainnet"]}
    bounds = [
        padding_table(fees, blocks=[100], chains=own, schedule=one)["bound"][0] for one in (MAINNET, found.schedule)
    ]
    assert bounds[1] > bounds[0]


def test_a_schedule_of_a_day_bounds_the_blob_base_fee_of_that_day():
    """Prague, 3 blobs above a target of 6: its fraction is 5,007,716."""
    now = rollups.Now(base_fee=10**6, l1_base_fee=10**9, blob_base_fee=10**9)
    sent = {"to": "0x" + "11" * 20}
    found = rollups.max_send("op-mainnet", 10**18, sent, now=now, gas_limit=21_000, at="2025-06-01")

    assert blobs_at(MAINNET, "2025-06-01").name == "Prague"
    bounds = balance.l1_fee_bounds(10**9, 10**9, 1, blobs_at(MAINNET, "2025-06-01"))
    fees = rollups.rule("op-mainnet", at="2025-06-01").fees(
        {"fastlz_size": 0, "gas": 0}, base_fee=bounds[0], blob_base_fee=bounds[1]
    )
    assert found.l1_fee == fees.l1


def test_an_attack_on_blob_space_takes_the_rules():
    rules = rollups.read_rules(BPO3).schedule.rows[-1]
    states = [L1State(rules=one, base_fee=10**9, blob_base_fee=10**8) for one in (MAINNET.rows[-1], rules)]

    assert saturate(10**18, states[0]).blocks > saturate(10**18, states[1]).blocks > 0


def test_compare_prices_under_the_rules_and_says_so(capsys, tmp_path):
    path = written(tmp_path, SCALARS)
    at = ("--l1-base-fee", "1000000000", "--blob-base-fee", "1")
    today = answer(capsys, "compare", CALL, "--only", "op-mainnet", *at)
    found = answer(capsys, "compare", CALL, "--only", "op-mainnet,world-chain", *at, "--rules", path)

    assert (today["rules"][0]["l1_fee"], found["rules"][0]["l1_fee"]) == (8_363_200_101, 4_180_800_101)
    assert [row["rule"] for row in found["rules"]] == ["op-mainnet/karst", "world-chain/karst"]
    assert any("assumed: base_fee_scalar 2,613" in text for text in found["said"])
    assert any("changes no fee" in text for text in answer(capsys, "compare", CALL, "--rules", str(BPO3))["said"])
    assert main(["compare", CALL, "--only", "all", "--rules", path]) == 2


def test_fee_follows_linea_s_rules_at_l1_fees(capsys, tmp_path):
    """(1 gwei · 59,250 + 1 · 131,072) / 131,072 is 452,041 whole kwei; over 21,000 gas for 128 bytes."""
    path = written(tmp_path, HEAD + "[[linea.rows]]\n" + ROW + "execution_gas = 59_250\nfixed_cost = 40_000_000\n")
    at = ("--l1-base-fee", "1000000000", "--blob-base-fee", "1")
    found = answer(capsys, "fee", "--size", "128", "--gas", "21000", "--rules", path, *at)

    assert found["rules"] == "own"
    assert found["feePerGas"]["fixed"] == 40_000_000
    assert found["feePerGas"]["size"] == 452_041_000 * 128 // 21_000
    assert main(["fee", "--size", "128", "--gas", "21000", *at]) == 2
    assert main(["fee", "--size", "128", "--gas", "21000", "--rules", str(BPO3)]) == 2


def test_max_send_and_padding_take_a_file(capsys, tmp_path):
    path = written(tmp_path, SCALARS)
    sent = ["max-send", "world-chain", '{"to": "0x' + "11" * 20 + '"}', "--balance", "1" + "0" * 18]
    sent += ["--base-fee", "1000000", "--max-fee", "2000000", "--l1-base-fee", "1000000000", "--blob-base-fee", "1"]
    found = answer(capsys, *sent, "--rules", path)
    padded = answer(capsys, "padding", "--chain", "world-chain", "--blocks", "1", "--rules", path)

    assert (found["rules"], found["chain"]) == ("own", "world-chain")
    assert found["l1Fee"] > 0
    assert [row["chain"] for row in padded] == ["world-chain"]


def test_a_simulation_pays_the_gas_of_the_rules(capsys, tmp_path):
    path = written(tmp_path, HEAD + "[[linea.rows]]\n" + ROW + "execution_gas = 130_500\n")
    words = ("backtest", "--hours", "24", "--tip", "0")
    today, then = answer(capsys, *words), answer(capsys, *words, "--rules", path)

    assert then["totalCostWei"]["value"] > 1.5 * today["totalCostWei"]["value"]
    closed = answer(capsys, "simulate", "--step", "600", "--posting", "fill")
    repriced = answer(capsys, "simulate", "--step", "600", "--posting", "fill", "--rules", path)
    assert repriced["dataCostWei"] > 1.5 * closed["dataCostWei"]


def test_demand_drives_the_blobs_of_the_rules(capsys):
    words = ("backtest", "--scenario", "demand", "--hours", "2", "--rules", str(BPO3))

    assert "BPO3 blob rules" in answer(capsys, *words)["assumed"]["l1_fees"]


@pytest.mark.parametrize("words", [
    ["backtest", "--rules", str(BPO3)], ["simulate", "--rules", str(BPO3)],
    ["backtest", "--rules", str(ROOT / "data" / "rules" / "scalars.toml")],
])  # fmt: skip
def test_rules_that_would_change_nothing_are_refused(words, capsys):
    assert main(words) == 2
    assert "--rules: expected" in capsys.readouterr().err


def test_other_terms_of_linea_are_options_of_a_simulation(capsys, tmp_path):
    path = written(tmp_path, HEAD + "[[linea.rows]]\n" + ROW + "lower_bound = 2.0\n")

    assert main(["backtest", "--rules", path]) == 2
    assert "expected only execution_gas and blob_gas" in capsys.readouterr().err


def test_a_schedule_is_a_schedule():
    with pytest.raises(InvalidInput, match="schedule"):
        rollups.max_send("op-mainnet", 1, {}, now=rollups.Now(base_fee=1), gas_limit=21_000, schedule="BPO3")
