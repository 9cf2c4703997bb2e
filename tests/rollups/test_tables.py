"""All rules beside each other: the cube of fees, its sums, the table of one moment, sizes measured."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feemodel
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum._transaction import Transaction
from feemodel.ethereum.fee_market import calldata_gas
from feemodel.io.shipped import read_shipped_l1_fees, shipped_path
from feemodel.rollups import optimism, rules
from feemodel.rollups.tables import compare, comparison, measured_sizes
from tests.helpers.formulas import dated_rules
from tests.helpers.optional import optional

pd = optional("pandas")
pl = optional("polars")

EVERY = tuple(dated_rules())


@pytest.fixture(scope="module")
def transactions() -> Any:
    """Fifty transactions of OP Mainnet."""
    table = pd.read_csv(shipped_path("rollup_transactions.csv")).query("set == 'op-channel'").iloc[::30][:50]
    return table.drop(columns=["set", "stream_bytes"]).assign(pubdata=200).reset_index(drop=True)


@pytest.fixture(scope="module")
def moments() -> dict[str, Any]:
    rng = np.random.default_rng(12)
    return {
        "timestamp": np.arange(20),
        "base_fee": rng.integers(10**7, 10**11, 20),
        "blob_base_fee": rng.integers(1, 10**10, 20),
    }


def test_every_fee_is_that_of_its_rule(transactions: Any, moments: dict[str, Any]) -> None:
    cube = compare(transactions, moments, EVERY)
    assert dict(cube.sizes) == {"transaction": 50, "chain": len(EVERY), "time": 20}
    labels = zip(cube.chain.values, cube.upgrade.values, strict=True)
    assert ["/".join(filter(None, label)) for label in labels] == [*EVERY]
    for place, name in enumerate(EVERY):
        for t, m in ((0, 0), (7, 19), (49, 3)):
            row = {column: int(value) for column, value in transactions.iloc[t].items()}
            at = {"base_fee": int(moments["base_fee"][m]), "blob_base_fee": int(moments["blob_base_fee"][m])}
            here = cube.isel(chain=place, transaction=t, time=m)
            assert (int(here.l1_fee), int(here.l2_fee)) == rules.rule(name).fees(row, **at)


def test_a_result_says_what_it_was_made_from(transactions: Any, moments: dict[str, Any]) -> None:
    """Inputs that were read as coordinates with units, parameters and sources beside them."""
    cube = compare(transactions, moments)
    assert (cube.l1_fee.attrs["units"], cube.base_fee.attrs["units"], cube.gas.attrs["units"]) == (
        "wei", "wei / gas", "gas",
    )  # fmt: skip
    read = {"gas", "fastlz_size", "brotli_size", "zstd_size", "linea_size", "pubdata"}
    inputs = {"timestamp", "time", "base_fee", "blob_base_fee", "transaction_type"}
    of_chains = {"chain", "upgrade", "token", "token_per_eth", "since", "source", "remarks", "reason"}
    assert set(cube.coords) == read | inputs | of_chains
    assert cube.attrs["l1_fees"] == "1970-01-01"
    assert json.loads(cube.attrs["parameters"])["base/jovian"]["base_fee_scalar"] == 2_269


def test_one_moment_as_a_table(transactions: Any) -> None:
    rows = {row.rule: row for row in comparison(transactions, base_fee=10**9, blob_base_fee=10**7)}
    assert list(rows) == [one.name for one in rules.rules_at()[0]]
    cube = compare(transactions, {"base_fee": [10**9], "blob_base_fee": [10**7]})
    signed = int(transactions["length"].sum())
    for name, row in rows.items():
        here = cube.sel(chain=name.partition("/")[0])
        assert (row.l1_fee, row.l2_fee) == (int(here.l1_fee.sum()), int(here.l2_fee.sum()))
        assert row.total == row.l1_fee + row.l2_fee
        assert row.per_byte == row.total / signed
        assert row.ratio == row.total / rows["linea"].total
    assert rows["taiko"].l1_fee == 0


@pytest.mark.parametrize(("change", "message"), [
    ({"rules": ["linea", "fjord"]}, "rule: expected CHAIN or CHAIN/UPGRADE"),
    ({"rules": []}, "rules: expected at least one"),
    ({"rules": ["linea", "linea"]}, "rules: expected at least one rule, and each rule only once"),
    ({"l1_fees": {"base_fee": [10**9]}}, "l1_fees: expected the columns blob_base_fee"),
    ({"l1_fees": {"base_fee": [10**9, 10**9], "blob_base_fee": [1]}}, "l1_fees: expected columns of equal length"),
    ({"l1_fees": {"base_fee": np.array([], dtype=int), "blob_base_fee": np.array([], dtype=int)}}, "at least 1"),
    ({"l1_fees": {"base_fee": pd.Series([10**9, 10**9]), "blob_base_fee": pd.Series([1, 2], [1, 0])}}, "equal indexes"),
    ({"transactions": {"gas": pd.Series([1], [5]), "linea_size": pd.Series([1])}}, "gas, linea_size: .*equal indexes"),
    ({"l1_fees": {"base_fee": [1], "blob_base_fee": [1]}}, r"base_fee\[0\]: expected from 1,000 wei"),
    ({"l1_fees": {"base_fee": [10**9, 30.5], "blob_base_fee": [1, 1]}}, r"base_fee\[1\]: expected from 1,000 wei"),
    ({"l1_fees": {"base_fee": [10**9], "blob_base_fee": [10**18]}}, "blob_base_fee.*: expected at most 10"),
    ({"transactions": {"gas": [1]}}, "missing the columns linea_size for linea"),
    ({"transactions": {"sizes": [1]}}, r"transactions: expected the columns gas, linea_size, .*got \['sizes'\]"),
    ({"transactions": pd.DataFrame({"payload": [1]})}, r"expected the columns nonce, .*input, gas_limit.*'payload'"),
    ({"transactions": {"gas": [1.5], "linea_size": [1]}}, "gas"),
    ({"transactions": {"gas": [1], "linea_size": [1], "transaction_type": [3]}}, "no fee rule for blob transactions"),
])  # fmt: skip
def test_what_is_wrong_is_named(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "transactions": {"gas": [21_000], "linea_size": [100]}, "rules": ["linea"],
        "l1_fees": {"base_fee": [10**9], "blob_base_fee": [1]},
    }  # fmt: skip
    with pytest.raises(InvalidInput, match=message):
        compare(**(arguments | change))


def test_too_large_a_cube_is_refused() -> None:
    transactions = {"gas": np.full(60_000, 21_000), "fastlz_size": np.full(60_000, 100)}
    moments = {"base_fee": np.full(1_000, 10**9), "blob_base_fee": np.ones(1_000, dtype=int)}
    with pytest.raises(LimitExceeded, match=r"60,000 × 1 × 1,000 fees are more than 50,000,000"):
        compare(transactions, moments, ["base/jovian"])


def test_sizes_are_measured_on_the_right_bytes() -> None:
    transaction = Transaction(gas_limit=100_000, to=b"\x11" * 20, data=bytes(500)).with_placeholder_signature()
    row = measured_sizes([transaction.signed()], gas=[50_000], pubdata=64)
    assert row == measured_sizes([transaction], gas=[50_000], pubdata=64)
    measured = (row["gas"], row["length"], row["data_length"], row["pubdata"])
    assert measured == (50_000, len(transaction.signed()), 500, 64)
    assert row["zero_bytes"] + row["nonzero_bytes"] == row["length"]
    assert row["zero_bytes"] >= 500
    assert row["zstd_data_size"] < 30 < row["zstd_size"] < row["length"]
    assert row["linea_size"] < row["zstd_size"], "Linea's measure has no signature"


@pytest.mark.parametrize(("raws", "message"), [
    ([], "signed_transactions: expected at least one"), (["0x03aa"], "0, 1"), (["0x"], "transaction"),
])  # fmt: skip
def test_sizes_refuse_what_is_no_transaction(raws: list[str], message: str) -> None:
    """None at all, a blob transaction, nothing."""
    with pytest.raises(InvalidInput, match=message):
        measured_sizes(raws)


def test_sizes_refuse_lists_of_another_length() -> None:
    signed = Transaction(gas_limit=1, to=b"\x11" * 20).with_placeholder_signature().signed()
    with pytest.raises(InvalidInput, match="gas: expected one value for each of 1 transactions"):
        measured_sizes([signed], gas=[1, 2])
    table = {"gas": [1, 2], "linea_size": [1, 2], "length": [9]}
    with pytest.raises(InvalidInput, match="transactions: expected columns of equal length"):
        comparison(table, base_fee=10**9, blob_base_fee=1, rules=["linea"])


def test_estimates_of_a_real_channel_add_up_to_its_bytes(shared: Path) -> None:
    """1,766 OP Mainnet transactions: 615,361 bytes were posted; Fjord's estimate is 0.3 % below, Ecotone's gas / 16
    39.5 % above."""
    with gzip.open(shared / "data" / "op_mainnet_channel_2024-06-14.jsonl.gz", "rt") as file:
        table = pd.DataFrame(measured_sizes(json.loads(line)["raw"] for line in file))
    shipped = pd.read_csv(shipped_path("rollup_transactions.csv")).query("set == 'op-channel'")
    measured = table.drop(columns="pubdata")
    assert measured.equals(shipped[measured.columns]), "scripts/build-rollup-data is to be run again"
    fjord = optimism.scaled_size(table["fastlz_size"]).sum() / 10**6
    ecotone = calldata_gas(table["zero_bytes"], table["nonzero_bytes"]).sum() / 16
    assert (len(table), round(float(fjord)), round(float(ecotone))) == (1_766, 613_427, 858_574)


TRANSFER = {"gas": [21_000], "fastlz_size": [100], "linea_size": [128], "zero_bytes": [9], "nonzero_bytes": [90]}
GWEI = {"base_fee": [10**9], "blob_base_fee": [1]}


def test_chains_that_cannot_be_priced_keep_their_places_and_the_reason() -> None:
    fees = feemodel.compare(TRANSFER, GWEI, at="2024-06-27")

    assert {"scroll", "taiko", "zksync-era", "mode"} < set(fees.chain.values.tolist())
    priced = fees.chain.values[fees.reason.values == ""]
    assert set(priced) >= {"linea", "op-mainnet", "base"}
    assert not fees.l1_fee.sel(chain=priced).isnull().any()
    assert fees.l1_fee.sel(chain="scroll").isnull().all()
    assert "no source gives" in fees.reason.sel(chain="scroll").item()
    assert "the rule needs brotli_size" in fees.reason.sel(chain="arbitrum-one").item()
    assert "expected 2025-04-18 or later" in fees.reason.sel(chain="taiko").item()


def test_the_tables_of_the_package_and_of_others_give_the_same() -> None:
    """L1 fees as shipped: means with a time."""
    history = read_shipped_l1_fees().head(5)
    fees = feemodel.compare(TRANSFER, history, ["linea", "op-mainnet"])

    assert fees.attrs["l1_fees"] == "2026-01-07"
    assert fees.time.values.tolist() == history["time"].to_numpy("datetime64[ns]").tolist()
    assert fees.base_fee.values.tolist() == [round(fee) for fee in history["base_fee"]]
    assert fees.l1_fee.dtype == np.int64
    assert feemodel.compare(TRANSFER, history.to_dict("list"), ["linea", "op-mainnet"]).l1_fee.equals(fees.l1_fee)
    assert feemodel.compare(TRANSFER, GWEI, ["linea"]).attrs["l1_fees"] == "no date given"


def test_tables_of_polars_give_the_same() -> None:
    history = read_shipped_l1_fees().head(5)
    transactions, l1_fees = pl.DataFrame(TRANSFER), pl.DataFrame(history.to_dict("list"))

    fees = feemodel.compare(transactions, l1_fees, ["linea", "op-mainnet"])
    assert fees.identical(feemodel.compare(TRANSFER, history, ["linea", "op-mainnet"]))


def test_only_the_sizes_that_the_asked_rules_need_are_measured() -> None:
    raw = Transaction(gas_limit=21_000, to=b"\x11" * 20).with_placeholder_signature().signed()
    fees = feemodel.compare(pd.DataFrame({"raw": [raw, raw], "hash": [b"\xaa" * 32, None]}), GWEI, ["op-mainnet"])

    assert fees.transaction_hash.values.tolist() == ["0x" + "aa" * 32, ""]
    assert {"gas", "fastlz_size"} < set(fees.coords)
    assert not {"brotli_size", "zstd_size", "linea_size", "pubdata"} & set(fees.coords)
