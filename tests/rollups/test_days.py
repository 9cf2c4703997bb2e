"""The same transactions on several days, and the figures of the rollups' rules."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from feemodel import rollups
from feemodel.errors import InvalidInput
from feemodel.io.shipped import shipped_path
from feemodel.plots._figures import plot_days

DAYS = pd.DataFrame(
    {"day": ["2024-03-20", "2026-02-01"], "base_fee": [10**10, 10**8], "blob_base_fee": [1, 10**7],
     "source": ["given", "recorded"]}
)  # fmt: skip


@pytest.fixture(scope="module")
def transactions():
    return pd.read_csv(shipped_path("rollup_transactions.csv")).head(50).assign(pubdata=200)


def test_each_day_has_its_own_rules_and_l1_fees(transactions):
    table = rollups.compare_days(transactions, DAYS)
    first = table[table["day"] == "2024-03-20"].set_index("chain")
    then = rollups.rule("op-mainnet", at="2024-03-20")
    fees = then.fees(transactions, base_fee=10**10, blob_base_fee=1)

    assert first.loc["op-mainnet", "rule"] == "op-mainnet/ecotone"
    assert (first.loc["op-mainnet", "data_fee"], first.loc["op-mainnet", "execution_fee"]) == (
        fees.l1.sum(),
        fees.l2.sum(),
    )
    assert first.loc["op-mainnet", "total"] == fees.l1.sum() + fees.l2.sum()
    assert first.loc["scroll", "without"].startswith("scroll: no source gives overhead, scalar")
    assert pd.isna(first.loc["scroll", "total"])
    later = table[table["day"] == "2026-02-01"].set_index("chain")["without"]
    assert {name for name in first.index if later[name] == ""} >= {"linea", "op-mainnet", "base", "scroll", "zksync-os"}
    assert set(table["source"]) == {"given", "recorded"}


@pytest.mark.parametrize(("l1_fees", "message"), [
    (DAYS.drop(columns="source"), "l1_fees: expected the columns source"),
    (DAYS.assign(day="today"), "at: expected a time such as 2024-06-14"),
    (DAYS.assign(base_fee=-1), r"base_fee\[0\]: expected whole wei of at least 0"),
    (DAYS.assign(base_fee=0.5), r"base_fee(\[0\])?: expected"),
    (5, "l1_fees"), (DAYS.to_dict("list") | {"day": ["2024-03-20"]}, "l1_fees: expected columns of equal length"),
    (DAYS.head(0), "l1_fees: expected columns of equal length, at least 1"),
])  # fmt: skip
def test_days_without_fees_are_refused(transactions, l1_fees, message):
    with pytest.raises(InvalidInput, match=message):
        rollups.compare_days(transactions, l1_fees)


def test_the_figures_are_of_the_numbers(transactions):
    figure, ax = plt.subplots()
    plot_days(rollups.compare_days(transactions, DAYS), ax, transactions=len(transactions))

    assert len([text for text in ax.get_xticklabels() if text.get_text()]) == 7
    plt.close(figure)


def test_the_script_says_which_l1_fees_are_given(tmp_path):
    """The figures themselves are looked at by people; here, that fees of a file take the place of given ones."""
    script = Path(__file__).resolve().parents[2] / "scripts" / "rollup-figures"
    l1_fees = tmp_path / "fees.csv"
    DAYS.to_csv(l1_fees, index=False)
    command = [sys.executable, str(script), "--l1-fees", str(l1_fees), "--out", str(tmp_path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert "given, not recorded" not in said
    assert {path.name for path in tmp_path.glob("*.png")} == {"days.png"}
