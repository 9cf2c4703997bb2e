"""Figures and sentences of the guides that no page executes itself."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from feemodel.io import read_shipped_transactions
from tests.conftest import ROOT

SIZES = Path(ROOT, "docs", "guide", "sizes.md").read_text(encoding="utf-8")
NAMES = {
    "zstd level 3 (default)": "zstd",
    "deflate level 6": "deflate",
    "FastLZ": "fastlz",
    "brotli quality 1": "brotli",
    "production LZSS before packing": "lzss",
    "zstd level 3 of the *signed* bytes": "zstd_signed",
}
ROWS = re.findall(r"^\| (.+?) \| ([+-][0-9.]+%) \| ([+-][0-9.]+%)? ?\|$", SIZES, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_table_of_sizes_is_that_of_the_transactions_that_ship(row):
    name, *stated = row
    table = read_shipped_transactions()
    for group, said in zip(("replays", "blob"), stated, strict=True):
        known = table[table["set"] == group][[NAMES[name], "lzss_packed"]].dropna()
        if said:
            assert said == f"{known[NAMES[name]].sum() / known['lzss_packed'].sum() - 1:+.1%}"


@pytest.mark.parametrize("kind", ["pdf", "svg"])
def test_a_figure_without_a_date_is_the_same_file_each_time(tmp_path, kind):
    date = "CreationDate" if kind == "pdf" else "Date"
    for name in ("one", "other"):
        with plt.rc_context({"pdf.fonttype": 42, "svg.hashsalt": "feemodel"}):
            fig, ax = plt.subplots()
            ax.plot([1, 2], label="fees")
            ax.legend()
            fig.savefig(tmp_path / f"{name}.{kind}", metadata={date: None})
            plt.close(fig)

    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()


def test_every_codec_of_the_table_of_sizes_is_tested():
    assert [*NAMES] == [row[0] for row in ROWS]


def test_the_sets_of_the_table_of_sizes_are_those_that_ship():
    counts = read_shipped_transactions()["set"].value_counts()

    assert f"| {counts['replays']:,} transactions, 2023–2026 | {counts['blob']:,} of one blob, 2025 |" in SIZES
