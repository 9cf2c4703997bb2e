"""Chains as dated rows, and the rule that a name and a date lead to."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pytest

from feemodel import rollups
from feemodel.errors import InvalidInput
from feemodel.rollups import chain_history
from feemodel.rollups.chain_history import CHAINS, UNKNOWN, chain, rows_older_than, timestamp

# chain, Unix seconds -> parameters in force: superchain-registry, superchain-ops, base/contract-deployments
IN_FORCE = [
    ("op-mainnet", 1_718_323_200, {"upgrade": "ecotone", "base_fee_scalar": 1_368, "blob_base_fee_scalar": 810_949}),
    ("op-mainnet", 1_720_569_600, {"upgrade": "ecotone", "base_fee_scalar": 1_368, "blob_base_fee_scalar": 810_949}),
    ("op-mainnet", 1_725_000_000, {"upgrade": "fjord", "base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213}),
    ("op-mainnet", 1_763_000_000, {"upgrade": "isthmus", "base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213,
      }),
    ("op-mainnet", 1_700_000_000, {"upgrade": "regolith", "denominator": 50, "elasticity": 6}),
    ("op-mainnet", 1_704_992_400, {"upgrade": "regolith", "denominator": 50, "elasticity": 6}),
    ("op-mainnet", 1_704_992_401, {"upgrade": "canyon", "denominator": 250, "elasticity": 6}),
    ("op-mainnet", 1_740_000_000, {"upgrade": "holocene", "denominator": 250, "elasticity": 6}),
    ("op-mainnet", 1_750_000_000, {"upgrade": "isthmus", "denominator": 250, "elasticity": 2}),
    ("op-mainnet", 1_748_500_000, {"upgrade": "isthmus", "denominator": 250, "elasticity": 2,
      "gas_limit": 40_000_000}),
    ("base", 1_718_323_200, {"upgrade": "ecotone", "base_fee_scalar": 1_101, "blob_base_fee_scalar": 659_851}),
    ("base", 1_711_000_000, {"upgrade": "ecotone", "base_fee_scalar": 1_101, "blob_base_fee_scalar": 659_851}),
    ("base", 1_720_200_000, {"upgrade": "ecotone", "base_fee_scalar": 1_418, "blob_base_fee_scalar": 659_851}),
    ("base", 1_725_000_000, {"upgrade": "fjord", "base_fee_scalar": 2_269, "blob_base_fee_scalar": 1_055_762}),
    ("base", 1_764_691_201, {"upgrade": "jovian", "denominator": 50, "elasticity": 5,
      "gas_limit": 300_000_000, "min_base_fee": 0, "da_footprint_gas_scalar": 400}),
    ("base", 1_766_200_000, {"upgrade": "jovian", "denominator": 50, "elasticity": 6,
      "gas_limit": 375_000_000, "min_base_fee": 500_000, "da_footprint_gas_scalar": 325}),
    ("base", 1_768_900_000, {"upgrade": "jovian", "denominator": 50, "elasticity": 6,
      "gas_limit": 375_000_000, "min_base_fee": 500_000, "da_footprint_gas_scalar": 325}),
    ("base", 1_769_200_000, {"upgrade": "jovian", "denominator": 50, "elasticity": 6,
      "gas_limit": 375_000_000, "min_base_fee": 1_000_000, "da_footprint_gas_scalar": 139}),
    ("base", 1_770_120_000, {"upgrade": "jovian", "denominator": 50, "elasticity": 6,
      "gas_limit": 375_000_000, "min_base_fee": 2_000_000, "da_footprint_gas_scalar": 139}),
    ("base", 1_770_300_000, {"upgrade": "jovian", "denominator": 125, "elasticity": 6,
      "gas_limit": 375_000_000, "min_base_fee": 2_000_000, "da_footprint_gas_scalar": 139}),
    ("base", 1_783_000_000, {"upgrade": "jovian", "denominator": 100, "elasticity": 5,
      "gas_limit": 400_000_000, "min_base_fee": 5_000_000, "da_footprint_gas_scalar": 148}),
    ("base", 1_745_000_000, {"upgrade": "holocene", "denominator": 250, "elasticity": 2, "gas_limit": 120_000_000}),
    ("base", 1_747_000_000, {"upgrade": "isthmus", "denominator": 250, "elasticity": 2, "gas_limit": 140_000_000}),
    ("base", 1_749_000_000, {"upgrade": "isthmus", "denominator": 50, "elasticity": 2, "gas_limit": 140_000_000}),
    ("base", 1_755_000_000, {"upgrade": "isthmus", "denominator": 50, "elasticity": 3, "gas_limit": 150_000_000}),
    ("base", 1_763_500_000, {"upgrade": "isthmus", "denominator": 50, "elasticity": 5, "gas_limit": 300_000_000}),
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


@pytest.mark.parametrize("when", ["14 June", "", True, 1.5, None, np.datetime64("NaT"), pd.NaT, -1,
                                  1_718_323_200_000])  # fmt: skip
def test_what_is_no_time_is_refused(when):
    with pytest.raises(InvalidInput, match="at: expected"):
        timestamp("at", when)


@pytest.mark.parametrize("name", CHAINS)
def test_rows_are_in_order_and_each_has_a_source(name):
    rows = CHAINS[name].rows
    times = [row.timestamp for row in rows if row.timestamp is not None]

    assert times == sorted(times)
    assert all(row.source and timestamp("checked_on", row.checked_on) for row in rows)
    assert (CHAINS[name].chain_id is None) == (name == "zksync-os")


def test_what_changed_on_an_unknown_day_is_unknown_until_the_next_dated_row():
    """Set after Jovian (2025-12-02) and before Karst (2026-07-08)."""
    fees = [chain("unichain").at(day)["min_base_fee"] for day in ("2025-12-01", "2026-02-01", "2026-07-09")]

    assert fees == [None, None, 500_000]
    assert chain("zksync-era").at("2026-01-01")["since"] == UNKNOWN


def test_what_no_source_gives_is_said():
    assert chain("base").at("2026-11-22")["denominator"] is None  # since Denim
    with pytest.raises(InvalidInput, match="at: no source gives min_base_fee of arbitrum-one"):
        rollups.rule("arbitrum-one", at="2022-09-01").fees({}, base_fee=1, blob_base_fee=1)
    with pytest.raises(InvalidInput, match="at: no source gives the scalars of scroll"):
        rollups.rule("scroll", at="2024-01-01")
    with pytest.raises(InvalidInput, match="at: expected 2023-06-15T00:35:47 or later, the start of base"):
        rollups.rule("base", at="2022-01-01")


def test_a_chain_s_rule_prices_with_the_parameters_of_the_day():
    """OP Mainnet on 2024-06-14 and on 2025-06-01: Ecotone's and Fjord's formula with the scalars of each day."""
    columns = {"gas": 21_000, "zero_bytes": 10, "nonzero_bytes": 100, "fastlz_size": 150}
    fees = {"base_fee": 10**9, "blob_base_fee": 10**7}
    rules = [rollups.rule("op-mainnet", at=day) for day in ("2024-06-14", "2025-06-01")]
    before, after = (one.fees(columns, **fees).l1 for one in rules)

    assert before == (4 * 10 + 16 * 100) * (16 * 10**9 * 1_368 + 10**7 * 810_949) // (16 * 10**6)
    assert after == 100 * 10**6 * (16 * 10**9 * 5_227 + 10**7 * 1_014_213) // 10**12


@pytest.mark.parametrize("name", [name for name in CHAINS if name != "polygon-zkevm"])
def test_every_chain_has_a_rule_for_today(name):
    assert rollups.rule(name).name.startswith(name)


def test_a_rule_of_one_upgrade_has_no_date():
    with pytest.raises(InvalidInput, match=r"at: expected none: .* only a chain's name takes a time"):
        rollups.rule("op-mainnet/jovian", at="2024-06-14")


def test_an_archived_chain_is_computed_and_never_among_today_s():
    from feemodel.rollups.rules import CURRENT

    assert CHAINS["polygon-zkevm"].archived == UNKNOWN
    assert "polygon-zkevm" not in CURRENT
    assert rollups.rule("polygon-zkevm").columns


def test_all_rules_of_a_day_and_those_without():
    found, without = rollups.rules_at("2024-03-20")

    assert [one.name for one in found][:2] == ["op-mainnet/ecotone", "base/ecotone"]
    assert set(without) == {"linea", "scroll", "zksync-os"}
    with pytest.raises(InvalidInput, match="at: expected a time"):
        rollups.rules_at("yesterday")


def test_the_table_has_every_row():
    table = rollups.chains()

    assert len(table) == sum(len(one.rows) for one in CHAINS.values())
    assert set(table.chain) == set(CHAINS)
    assert "min_base_fee=unknown" in table.query("chain == 'arbitrum-one'")["values"].iloc[0]


def test_rows_that_nobody_looked_at_are_found():
    assert rows_older_than(90, "2026-12-01") == []
    assert len(rows_older_than(90, "2027-12-01")) == sum(len(one.rows) for one in CHAINS.values())


def test_compare_takes_a_day():
    transfer = {"gas": [21_000], "fastlz_size": [100], "linea_size": [128], "zero_bytes": [9], "nonzero_bytes": [90]}
    fees = rollups.compare(transfer, {"base_fee": [10**9], "blob_base_fee": [1]}, ["linea", "base"], at="2024-06-14")

    assert fees.rule.values.tolist() == ["linea", "base/ecotone"]
    assert chain_history.chain("base").at("2024-06-14")["base_fee_scalar"] == 1_101
