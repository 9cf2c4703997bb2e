"""Chains as dated rows, and the rule that a name and a date lead to."""

import json
import pickle
import re
import tomllib
from datetime import UTC, date, datetime

import numpy as np
import pytest

from feemodel import rollups
from feemodel.cli import main
from feemodel.errors import InvalidInput, UnknownParameter, UnreadableFile
from feemodel.rollups._chain_files import chain_of, read_chains
from feemodel.rollups.chains import CHAINS, UNKNOWN, chain, schema, timestamp
from feemodel.rollups.rules import FAMILIES, rules_at
from tests.helpers.optional import optional

pd = optional("pandas")

# chain, Unix seconds -> parameters in force, beside those of `data/vectors`
IN_FORCE = [
    # tasks/eth/028, 030 and 020 of superchain-ops at 97ae7a1, which read the chains
    ("mode", 1_738_368_000, {"base_fee_scalar": 20_000, "blob_base_fee_scalar": 611_590, "gas_limit": 30_000_000}),
    ("zora", 1_738_368_000, {"base_fee_scalar": 100_000, "blob_base_fee_scalar": 611_590, "gas_limit": 30_000_000}),
    ("arena-z", 1_738_368_000, {"base_fee_scalar": 801_949, "blob_base_fee_scalar": 0, "gas_limit": 60_000_000}),
    ("soneium", 1_741_000_000, {"base_fee_scalar": 9_736, "blob_base_fee_scalar": 1_540_079, "gas_limit": 40_000_000}),
    ("ethernity", 1_723_547_735, {"upgrade": "fjord", "denominator": 1_000, "elasticity": 20}),
    # base/base pull request 4565
    ("base", 1_793_901_599, {"gas_limit": 400_000_000, "denominator": 100, "block_milliseconds": 2_000}),
    # the Atlas fees, forum.arbitrum.foundation t/22152
    ("arbitrum-one", 1_710_719_999, {"version": "arbos-20", "min_base_fee": 100_000_000}),
    ("arbitrum-one", 1_710_720_000, {"version": "arbos-20", "min_base_fee": 10_000_000}),
    ("scroll", 1_719_994_280, {"upgrade": "curie", "l2_base_fee_overhead": 15_680_000, "max_base_fee": 10**10}),
    # taikoxyz/taiko-mono: Derivation.md, deployments/mainnet-contract-logs-L2.md
    ("taiko", 1_750_000_000, {"min_base_fee": 10_000_000, "sharing_percent": 50}),
    ("taiko", 1_755_216_000, {"min_base_fee": 25_000_000, "sharing_percent": 75}),
    ("taiko", 1_775_135_699, {"min_base_fee": 25_000_000}),
    ("mantle", 1_776_841_200, {"upgrade": "arsia"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "time", "expected"), IN_FORCE)
def test_parameters_are_those_in_force(name, time, expected):
    found = chain(name).at(time)

    assert {field: found[field] for field in expected} == expected


@pytest.mark.parametrize("when", [
    "2024-06-14", "2024-06-14T00:00:00+00:00", 1_718_323_200, date(2024, 6, 14), datetime(2024, 6, 14, tzinfo=UTC),
    np.datetime64("2024-06-14"),
])  # fmt: skip
def test_a_time_has_many_forms(when):
    assert timestamp("at", when) == 1_718_323_200
    assert rollups.rule("op-mainnet", at=when).name == "op-mainnet/ecotone"


@pytest.mark.parametrize("when", ["14 June", "", True, 1.5, None, np.datetime64("NaT"), -1,
                                  1_718_323_200_000])  # fmt: skip
def test_what_is_no_time_is_refused(when):
    with pytest.raises(InvalidInput, match="at: expected"):
        timestamp("at", when)


def test_no_time_of_pandas_is_refused():
    with pytest.raises(InvalidInput, match="at: expected"):
        timestamp("at", pd.NaT)


@pytest.mark.parametrize("name", CHAINS)
def test_rows_are_in_order_and_each_has_a_source(name):
    one = CHAINS[name]
    times = [row.timestamp for row in one.rows if row.timestamp is not None]

    assert times == sorted(times)
    assert all(row.source and timestamp("checked", row.checked) for row in one.rows)
    assert (one.chain_id is None) == (name in ("zksync-os", "starknet"))
    assert one.family in FAMILIES


#: A value that an operator set, and upgrades: on its last confirmed day, one that keeps it, one that does not; then a
#: value of an unknown day.
STEPS = """family = "op-stack"
token = "ETH"
checked = 2026-11-25
confirmed = {base_fee_scalar = 2024-03-01}
""" + "".join(f'[[rows]]\nsource = "the operator"\n{row}\n' for row in (
    'since = 2024-01-01\nupgrade = "ecotone"\nbase_fee_scalar = 1\nblock_milliseconds = 2_000',
    'since = 2024-03-01\nupgrade = "fjord"',
    'since = 2024-05-01\nupgrade = "granite"\nkeeps = ["base_fee_scalar"]',
    'since = 2024-07-01\nupgrade = "holocene"\nkeeps = ["base_fee_scalar"]',
    'since = 2024-09-01\nupgrade = "isthmus"',
    'since = "unknown"\nblock_milliseconds = 1_000',
    'since = 2024-11-01\nupgrade = "jovian"',
))  # fmt: skip


@pytest.mark.parametrize(("day", "scalar", "milliseconds"), [
    ("2024-01-01", "known", 2_000), ("2024-03-01", "known", 2_000), ("2024-05-01", "carried", 2_000),
    ("2024-07-01", "carried", 2_000), ("2024-09-01", "unknown", None), (None, "unknown", 1_000),
])  # fmt: skip
def test_an_operator_s_value_is_known_until_an_upgrade_that_does_not_keep_it(day, scalar, milliseconds):
    found = chain_of("steps", tomllib.loads(STEPS)).at(day)

    assert (found.entries["base_fee_scalar"].status, found.as_dict()["block_milliseconds"]) == (scalar, milliseconds)


@pytest.mark.parametrize(("name", "since", "before"), [
    ("mode", "2025-05-09T16:00:01 (isthmus)", "base_fee_scalar 20,000 of 2025-01-24"),
    ("zora", "2025-05-09T16:00:01 (isthmus)", "base_fee_scalar 100,000 of 2025-01-24"),
    ("world-chain", "2024-07-24T13:00:00 (fjord)", "base_fee_scalar 684,000 of 2024-06-25T17:13:59"),
    ("soneium", "2025-05-09T16:00:01 (isthmus)", "base_fee_scalar 9,736 of 2025-02-28"),
])  # fmt: skip
def test_what_an_operator_set_before_the_last_upgrade_is_no_answer_of_today(name, since, before):
    with pytest.raises(UnknownParameter) as refused:
        rollups.rule(name)
    said = f"no source gives base_fee_scalar, blob_base_fee_scalar of {name} since {since}, before: {before}"

    assert str(refused.value).startswith(f"{name}: {said}")
    assert refused.value.parameters[:2] == ("base_fee_scalar", "blob_base_fee_scalar")
    assert pickle.loads(pickle.dumps(refused.value)).args == refused.value.args
    given = dict.fromkeys(refused.value.parameters, 7)
    assert rollups.rule(name, parameters=given).parameters["base_fee_scalar"] == 7


def test_no_chain_answers_with_a_value_older_than_its_last_upgrade_without_saying_so():
    found, without = rules_at()
    for one in found:
        upgrades = [row.timestamp for row in one.parameters.chain.rows if row.upgrade and row.timestamp]
        for name, entry in one.parameters.entries.items():
            if schema()[name]["set_by"] == "operator" and entry.status == "known" and upgrades:
                assert timestamp("confirmed", entry.confirmed) >= upgrades[-1], (one.name, name)
    remarks = {one.name: " ".join(one.remarks) for one in found}
    assert "older than denim: base_fee_scalar 2,269 since 2024-07-10" in remarks["base/jovian"]
    assert {"mode", "zora", "world-chain", "soneium", "ink", "mantle", "starknet"} <= set(without)


def test_what_changed_on_an_unknown_day_is_unknown_until_the_next_dated_row():
    """Starknet 0.14.2, whose minimum price is that of the versions around it; Nova's first day."""
    found = chain("starknet").at("2026-05-01")

    assert found["min_gas_price"] == 8 * 10**9
    assert found.entries["gas_target"].cause == "set on an unknown day before 2026-08-20"
    assert chain("arbitrum-nova").at("2023-01-01").entries["version"].since == UNKNOWN


@pytest.mark.parametrize(("day", "minimum"), [
    ("2025-07-22", 10_000_000), ("2025-07-23", None), ("2025-08-11", None), ("2025-08-12", 100_000_000),
    ("2025-08-13", 100_000_000), ("2025-08-14", 25_000_000),
])  # fmt: skip
def test_taiko_s_minimum_is_unknown_only_while_no_source_gives_it(day, minimum):
    found = chain("taiko").at(day)
    assert (found["min_base_fee"] if found.is_known("min_base_fee") else None) == minimum


def test_scroll_has_no_base_fee_before_curie():
    found = chain("scroll").at(1_719_994_279)
    assert found.known("upgrade", "l2_base_fee_overhead", "l2_base_fee_scalar", "max_base_fee") == {
        "upgrade": "bernoulli", "l2_base_fee_overhead": 0, "l2_base_fee_scalar": 0, "max_base_fee": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("day", "price"), [
    ("2024-06-26T10:00:00", 36_365_720), ("2024-06-27", 36_022_863), ("2024-08-28", 36_022_863),
    ("2024-12-01", None), ("2025-02-26", 159_078_991), ("2025-03-01", None), ("2026-01-25", 43_314_292),
])  # fmt: skip
def test_linea_s_past_is_priced_with_what_blocks_recorded(day, price):
    """At L1 fees for which today's bounds would give 43,314,292 wei per gas on each day."""
    if price is None:
        with pytest.raises(UnknownParameter, match="no source gives variable_cost of linea"):
            rollups.rule("linea", at=day)
        return
    fees = rollups.rule("linea", at=day).fees({"gas": 21_000, "linea_size": 128}, base_fee=10**10, blob_base_fee=1)
    assert sum(fees) == 21_000 * price


def test_linea_s_bounds_are_said_to_be_assumed_in_every_result():
    assert "lower_bound 90,000,001, upper_bound 1,000,000,001 (" in rollups.rule("linea").remarks[0]


def test_fraxtal_is_at_ecotone_and_granite_as_its_file_says():
    """(4 · 54 + 16 · 112) gas · 10 gwei at a base fee scalar of 10⁶ and no blob scalar."""
    row = {"gas": 21_000, "zero_bytes": 54, "nonzero_bytes": 112}
    rule = rollups.rule("fraxtal", at="2024-07-01")
    assert rule.fees(row, base_fee=10**10, blob_base_fee=10**6).l1 == 20_080_000_000_000
    assert "assumed: base_fee_scalar 1,000,000" in rule.remarks[0]
    assert chain("fraxtal").at("2025-02-08")["upgrade"] == "granite"


@pytest.mark.parametrize("name", ["arena-z", "binary", "celo", "mode", "lisk"])
def test_an_unknown_minimum_is_asked_for_and_never_0(name):
    with pytest.raises(UnknownParameter) as refused:
        rollups.rule(name)
    assert "min_base_fee" in refused.value.parameters
    given = dict.fromkeys(refused.value.parameters, 0) | {"min_base_fee": 7 * 10**9}
    fees = rollups.rule(name, parameters=given).fees({"gas": 1, "fastlz_size": 1}, base_fee=1, blob_base_fee=1)
    assert fees.l2 == 7 * 10**9


def test_parameters_are_a_mapping_of_what_is_known():
    known = chain("celo").at()
    assert dict(known) == {name: value for name, value in known.as_dict().items() if value is not None}
    assert len(known) == len([*known])
    assert "min_base_fee" not in dict(known)


REMOVED = {"base.toml": "2026-04-27", "arena-z.toml": "2026-05-26"}  # from the registry (pull requests 1212, 1247)


@pytest.mark.parametrize("name", CHAINS)
def test_no_source_is_a_file_that_was_removed_before_its_commit(name):
    """Other sources cannot be checked here: they are in no file of the repository."""
    for row in CHAINS[name].rows:
        for day, file in re.findall(r"superchain-registry at \w+ \((\d{4}-\d\d-\d\d)\), ([\w.-]+)", row.source):
            assert day < REMOVED.get(file, "9999"), (row.since, row.source)


def test_what_no_source_gives_is_said():
    with pytest.raises(UnknownParameter, match="da_footprint_gas_scalar of base since 2026-11-05T18:00:00"):
        chain("base").at("2026-11-22")["da_footprint_gas_scalar"]
    with pytest.raises(UnknownParameter, match="overhead, scalar, l2_gas_price of scroll since 2023-10-10"):
        rollups.rule("scroll", at="2024-01-01")
    with pytest.raises(InvalidInput, match="at: expected 2023-06-15T00:35:47 or later, the start of base"):
        rollups.rule("base", at="2022-01-01")


def test_a_rule_of_one_upgrade_has_no_date():
    with pytest.raises(
        InvalidInput, match=r"at: not valid with the rule of an upgrade, .*; expected the name of a chain"
    ):
        rollups.rule("op-mainnet/jovian", at="2024-06-14")


# Files

#: A chain that no reference has: an OP Stack chain of one's own.
OWN = """id = 4242
family = "op-stack"
token = "OWN"
checked = 2026-11-25

[[rows]]
since = 2026-01-01T12:00:00+01:00
source = "the operator"
upgrade = "jovian"
base_fee_scalar = 1_000
blob_base_fee_scalar = 2_000
operator_fee_scalar = 0
operator_fee_constant = 0
token_per_eth = 4.0
min_base_fee = 0
"""


def test_a_chain_of_a_known_family_is_one_file(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(OWN)
    mine = read_chains(tmp_path)["mine"]
    row = {"gas": [21_000], "fastlz_size": [100], "length": [110], "linea_size": [128]}
    rules = ["op-mainnet/jovian", rollups.rule(mine)]
    fees = rollups.comparison(row, base_fee=10**9, blob_base_fee=10**7, rules=rules)

    assert (mine.chain_id, mine.rows[0].since) == (4242, "2026-01-01T11:00:00")
    assert (fees[1].rule, fees[1].token) == ("mine/jovian", "OWN")
    assert fees[1].l1_fee == 100 * 10**6 * (16 * 1_000 * 10**9 + 2_000 * 10**7) // 10**12
    assert fees[1].total_eth == round(fees[1].total / 4)
    call = json.dumps({"to": "0x" + "11" * 20, "value": "0x1"})
    assert main(["compare", call, "--chains", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert "OWN" in [one["token"] for one in answer["rules"]]
    assert main(["chains", "--chains", str(tmp_path)]) == 0
    assert "mine" in capsys.readouterr().out


@pytest.mark.parametrize(("old", "new", "reason"), [
    ("base_fee_scalar = 1_000", "base_fee_scaler = 1_000", "rows[0].base_fee_scaler: expected one of since, "),
    ("base_fee_scalar = 1_000", "base_fee_scalar = -1", "rows[0].base_fee_scalar: expected at least 0, got -1"),
    ("token_per_eth = 4.0", "token_per_eth = inf", "rows[0].token_per_eth: expected a finite number, got inf"),
    ("base_fee_scalar = 1_000", "base_fee_scalar = 0.5", "rows[0].base_fee_scalar: expected an integer, got 0.5"),
    ("base_fee_scalar = 1_000", "base_fee_scalar = 4_294_967_296", "rows[0].base_fee_scalar: expected at most"),
    ('source = "the operator"', "", "rows[0].source: expected text, got None"),
    ("checked = 2026-11-25", "", "rows[0].checked: expected a day, got None"),
    ("since = 2026-01-01T12:00:00+01:00", 'since = "soon"', "rows[0].since: expected a time"),
    ("since = 2026-01-01T12:00:00+01:00", 'since = "unknown"', "rows: expected a last row with a date"),
    ('token = "OWN"', "token = 5", "token: expected text, got 5"),
    ('token = "OWN"', 'coin = "OWN"', "chain.coin: expected one of id, family"),
    ('token = "OWN"', "token = ", "Invalid value (at line 3, column 9)"),
    ('token = "OWN"', 'token = "OWN"\nconfirmed = {min_base_fee = 5}', "confirmed.min_base_fee: expected a day, got 5"),
    ("token_per_eth = 4.0", 'unknown = ["base_fee_scalar"]', "rows[0].unknown: expected no value for it"),
    ("token_per_eth = 4.0", 'assumed = ["gas_limit"]', "rows[0].assumed: expected a value for it"),
    ("token_per_eth = 4.0", '[[rows]]\nsince = 2025-01-01\nsource = "late"', "rows[1].since: expected rows ordered by"),
])  # fmt: skip
def test_an_error_in_a_file_names_its_place(old, new, reason, tmp_path):
    assert old in OWN
    path = tmp_path / "mine.toml"
    path.write_text(OWN.replace(old, new))
    with pytest.raises(UnreadableFile) as refused:
        read_chains(tmp_path)

    assert str(refused.value).startswith(f"{path}: {reason}")


def test_a_folder_without_files_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="expected a folder with"):
        read_chains(tmp_path)


def test_the_verb_prints_chains_and_their_rows(capsys):
    assert main(["chains"]) == 0
    assert "world-chain" in capsys.readouterr().out
    assert main(["chains", "mode", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["now"]["base_fee_scalar"] == {
        "value": None, "status": "unknown", "since": "2025-05-09T16:00:01", "confirmed": "",
    }  # fmt: skip
    assert len(answer["rows"]) == len(CHAINS["mode"].rows)
    assert main(["chains", "atlantis"]) == 2


def test_a_given_parameter_prices_an_unknown_chain(capsys):
    call = json.dumps({"to": "0x" + "11" * 20, "value": "0x1"})
    given = [f"--set=zora.{name}=0" for name in
             ("base_fee_scalar", "blob_base_fee_scalar", "operator_fee_scalar", "operator_fee_constant",
              "min_base_fee")]  # fmt: skip
    assert main(["compare", call, *given, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)

    assert "zora/karst" in [one["rule"] for one in answer["rules"]]
    assert "zora" not in answer["without"]
    assert answer["without"]["mode"].startswith("mode: no source gives base_fee_scalar")
    assert main(["compare", call]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Parameters unknown, \d+ chains: .*\bmode,", said)  # one line for all of them


def test_an_unknown_time_is_not_named_as_one():
    with pytest.raises(UnknownParameter) as refused:
        rollups.rule("zksync-era", at="2024-06-14")

    assert refused.value.brief.startswith("unknown: minimal_l2_gas_price, ")
    assert "since unknown" not in str(refused.value)
