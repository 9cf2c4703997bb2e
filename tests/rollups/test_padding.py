"""Factors that cover a later fee: bounds by hand, quantiles of a small history, wallets that fail."""

import json

import numpy as np
import pandas as pd
import pytest

from feemodel import rollups
from feemodel.cli import main
from feemodel.errors import InvalidInput
from feemodel.plots._figures import plot_padding
from feemodel.rollups import _balance as balance
from feemodel.rollups import rule
from feemodel.rollups.chains import chain
from feemodel.rollups.padding import TRANSFER, WALLETS, padding_table

FEES = pd.DataFrame({"base_fee": [10**9, 2 * 10**9, 10**9, 10**9, 3 * 10**9], "blob_base_fee": [10**7] * 5})


def test_a_bound_by_hand():
    """OP Mainnet, 100 blocks of 2 s: base fee 1.004 a block, 17 L1 blocks; the largest of all samples."""
    row = padding_table(FEES, blocks=[100]).set_index("chain").loc["op-mainnet"]
    base_fee = balance.base_fee_bound(10**6, 100, gas_limit=40_000_000, elasticity=2, denominator=250)[-1]
    bounds = []
    for fee in FEES["base_fee"].tolist():
        now = rule("op-mainnet").fees(TRANSFER, base_fee=fee, blob_base_fee=10**7)
        later = balance.l1_fee_bounds(fee, 10**7, 17)
        l1 = rule("op-mainnet").fees(TRANSFER, base_fee=later[0], blob_base_fee=later[1]).l1
        bounds.append((l1 + 21_000 * base_fee) / (now.l1 + now.l2))

    assert row["seconds"] == 200
    assert row["bound"] == pytest.approx(max(bounds), rel=1e-12)


def test_a_quantile_and_failures_by_hand():
    """2,000 blocks, 4,000 s: seven steps; the fee of OP Mainnet before the last seven samples and after."""
    fees = pd.concat([FEES] * 3, ignore_index=True)
    (row,) = padding_table(fees, blocks=[2_000], chains={"op-mainnet": chain("op-mainnet")}).to_dict("records")
    paid = [sum(rule("op-mainnet").fees(TRANSFER, base_fee=fee, blob_base_fee=10**7)) for fee in fees["base_fee"]]
    ratio = np.array(paid[7:]) / np.array(paid[:-7])

    assert row["quantile"] == pytest.approx(np.quantile(ratio, 0.99), rel=1e-12)
    assert [row[f"fails_{factor:g}"] for factor in WALLETS] == [(ratio > factor).mean() for factor in WALLETS]
    assert row["excess_1.7"] == pytest.approx(np.maximum(1.7 - ratio, 0).mean(), rel=1e-12)


def test_a_change_of_ten_minutes_is_cut_at_the_bound_of_fewer_seconds():
    table = padding_table(FEES)
    known = table[table["bound"].notna()]
    assert (known["quantile"] <= known["bound"]).all()
    assert known.set_index("chain").loc["op-mainnet", "fails_1.1"].tolist()[0] == 0


def test_a_chain_without_a_published_bound_has_none():
    found = padding_table(FEES, blocks=[1]).set_index("chain")["bound"]
    assert found.index[found.isna()].tolist() == ["zksync-era"]
    assert found["scroll"] > 100, "the sequencer may set any base fee up to 10 gwei"
    assert found["taiko"] == 1.25


def test_the_bound_rises_with_blocks_and_covers_the_quantile_of_a_step_of_l1():
    table = padding_table(FEES)
    for _, rows in table.groupby("chain"):
        bounds = rows["bound"].dropna().tolist()
        assert bounds == sorted(bounds)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"l1_fees": FEES.head(1)}, "l1_fees: expected at least two samples, got 1"),
    ({"blocks": [0]}, "blocks: expected whole|blocks: expected an integer of at least 1"),
    ({"blocks": [2_000], "chains": {"op-mainnet": chain("op-mainnet")}},
     "l1_fees: expected more than 7 samples, for 2,000 blocks, got 5"),
    ({"transaction": {**TRANSFER, "gas": 0}, "chains": {"taiko": chain("taiko")}},
     "transaction: expected a fee above 0 on taiko"),
    ({"l1_fees": {"base_fee": [1, 2], "blob_base_fee": [1]}}, "l1_fees: expected columns of equal length"),
    ({"wallets": [0]}, "wallets: expected a number above 0"),
    ({"transaction": {"gas": 1}}, "transaction: expected the columns linea_size"),
])  # fmt: skip
def test_what_has_no_answer_is_refused(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        padding_table(**({"l1_fees": FEES} | arguments))


def test_the_verb_prints_and_draws_them(capsys, tmp_path):
    out = tmp_path / "padding.png"
    assert main(["padding", "--chain", "base", "--chain", "taiko", "--blocks", "1,100", "--out", str(out)]) == 0
    assert "base" in capsys.readouterr().out
    assert out.stat().st_size > 10_000
    assert main(["padding", "--chain", "zksync-era", "--blocks", "1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["chain"], row["bound"]) == ("zksync-era", None)
    assert main(["padding", "--blocks", "soon"]) == 2
    assert main(["padding", "--chain", "mode"]) == 2


def test_the_figure_has_a_dot_for_every_row():
    table = rollups.padding_table(FEES, blocks=[1, 5])
    ax = plot_padding(table)
    assert [len(line.get_xdata()) for line in ax.get_lines()[:2]] == [len(table)] * 2
    ax.figure.clear()


def test_starknet_s_bound_is_of_full_blocks():
    """A block of 5.8 · 10⁹ gas at a target of 1.04 · 10⁹ raises the price by 4.76 / 1.04 / 48."""
    parameters = {"starknet": {"eth_to_fri_rate": 30_000 * 10**18}}
    row = padding_table(FEES, blocks=[2], chains={"starknet": chain("starknet")}, parameters=parameters).iloc[0]
    price = 8 * 10**9
    for _ in range(2):
        price += price * 4_760_000_000 // (1_040_000_000 * 48)
    now = rule("starknet", parameters=parameters["starknet"])
    highest = [
        sum(now.fees(TRANSFER, base_fee=1, blob_base_fee=balance.l1_fee_bounds(1, 10**7, 3)[1]))
        + 1_100_000 * (price - 8 * 10**9)
    ]
    assert row["bound"] == pytest.approx(highest[0] / sum(now.fees(TRANSFER, base_fee=1, blob_base_fee=10**7)))
