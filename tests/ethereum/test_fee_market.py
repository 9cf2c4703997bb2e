"""The L1 fee market against published vectors, against itself on arrays, and against every blob block of mainnet."""

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import (
    BASE_FEE_CHANGE_DENOMINATOR,
    GAS_PER_BLOB,
    MAINNET,
    BlobRules,
    Schedule,
    blob_base_fee,
    excess_branches,
    fake_exponential,
    moved_base_fee,
    next_base_fee,
    next_excess_blob_gas,
    reserve_binds,
)
from tests.helpers.optional import optional

pq = optional("pyarrow.parquet")
eip1559 = optional("feemodel.simulation.policies.eip1559")

CANCUN, OSAKA = MAINNET.rows[0].timestamp, MAINNET.rows[2].timestamp


def one_row(target: int = 3, maximum: int = 6, fraction: int = 3_338_477, reserve: bool = False) -> Schedule:
    return Schedule(
        (
            BlobRules(
                name="Test", timestamp=0, target=target, maximum=maximum, update_fraction=fraction, reserve=reserve,
                source="a test",
            ),
        )
    )  # fmt: skip


def test_fake_exponential_refuses_what_no_header_holds() -> None:
    with pytest.raises(InvalidInput, match="178 · denominator"):
        fake_exponential(1, 10**12, 3_338_477)
    with pytest.raises(InvalidInput, match="denominator"):
        fake_exponential(1, 1, 0)


@pytest.mark.parametrize(("arguments", "name"), [
    ((1, 2, 1), "gas_limit"), ((1, 21, 20), "gas_used"), ((-1, 1, 20), "base_fee"), ((1.0, 1, 20), "base_fee"),
    ((1, [1, 21], 20), r"gas_used\[1\]"),
])  # fmt: skip
def test_base_fee_refuses_impossible_blocks(arguments: tuple[Any, ...], name: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        next_base_fee(*arguments)


def test_a_schedule_takes_more_rows_and_stays_as_it_is() -> None:
    row = BlobRules(
        name="Later", timestamp=1_900_000_000, target=21, maximum=32, update_fraction=20_609_697, reserve=True,
        source="a test",
    )  # fmt: skip
    longer = Schedule((*MAINNET.rows, row))
    assert longer.at(1_900_000_000) is row
    assert longer.at(1_899_999_999).name == MAINNET.at(1_900_000_000).name == "BPO2"
    assert blob_base_fee(10**8, [1_899_999_999, 1_900_000_000], longer).tolist() == [5209, 128]
    with pytest.raises(InvalidInput, match="increasing timestamps"):
        Schedule((*longer.rows, row))


def test_before_the_first_row_there_are_no_blobs() -> None:
    with pytest.raises(InvalidInput, match="start of Cancun"):
        blob_base_fee(0, CANCUN - 1)
    with pytest.raises(InvalidInput, match=r"timestamp\[1\]"):
        blob_base_fee(0, [CANCUN, 0])
    with pytest.raises(InvalidInput, match="at least one row"):
        Schedule(())
    with pytest.raises(InvalidInput, match="maximum"):
        one_row(target=7)
    with pytest.raises(InvalidInput, match="update_fraction"):
        one_row(fraction=0)


@pytest.mark.parametrize("milliseconds", [1_767_747_671_000, [1_767_747_671, 1_767_747_671_000]])
def test_a_time_in_milliseconds_is_refused(milliseconds: Any) -> None:
    formulas = [
        (blob_base_fee, (0,)), (reserve_binds, (0, 7)), (excess_branches, (0, 0)), (next_excess_blob_gas, (0, 0, 7)),
    ]  # fmt: skip
    for function, arguments in formulas:
        with pytest.raises(InvalidInput, match=r"timestamp.*in seconds, not in milliseconds.* got 1767747671000"):
            function(*arguments, milliseconds)


def test_every_blob_block_of_mainnet_follows_the_rules(full_inputs: Path) -> None:
    """5,039,067 consecutive blocks: exact before Osaka, one of the two branches after it."""
    blocks = pq.read_table(full_inputs / "data" / "l1_blobs_19426587_24465653.parquet")
    time, blobs, excess = (
        blocks[name].to_numpy().astype(np.int64) for name in ("timestamp", "blob_count", "excess_blob_gas")
    )
    classic, reserve = excess_branches(excess[:-1], blobs[:-1] * GAS_PER_BLOB, time[1:])
    osaka = np.searchsorted(time[1:], OSAKA)
    assert (len(time), osaka) == (5_039_067, 4_509_106)
    np.testing.assert_array_equal(classic[:osaka], excess[1:][:osaka])
    is_classic, is_reserve = classic[osaka:] == excess[1:][osaka:], reserve[osaka:] == excess[1:][osaka:]
    counts = [
        np.count_nonzero(c) for c in (is_classic & ~is_reserve, is_reserve & ~is_classic, is_classic & is_reserve)
    ]
    assert counts == [107_093, 411_316, 11_551]
    assert sum(counts) == len(time) - 1 - osaka


def test_the_branch_of_every_tenth_block_is_right(full_inputs: Path) -> None:
    """21,600 blocks with known base fees: excess of the next block, and the blob base fee, to the wei."""
    with gzip.open(full_inputs / "data" / "l1_fees_every10_24183321_24399311.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    known = {name: np.array([int(row[name]) for row in rows]) for name in rows[0]}
    blocks = pq.read_table(full_inputs / "data" / "l1_blobs_19426587_24465653.parquet")
    child = known["block_number"] - 19_426_587 + 1
    time = blocks["timestamp"].to_numpy().astype(np.int64)[child]
    parent = known["excess_blob_gas"], known["blob_gas_used"], known["base_fee_per_gas"]
    np.testing.assert_array_equal(
        next_excess_blob_gas(*parent, time), blocks["excess_blob_gas"].to_numpy().astype(np.int64)[child]
    )
    np.testing.assert_array_equal(blob_base_fee(known["excess_blob_gas"], known["timestamp"]), known["blob_base_fee"])
    assert len(rows) == 21_600
    assert np.count_nonzero(reserve_binds(parent[0], parent[2], time)) == 18_348


@pytest.mark.parametrize("excess", [10**9, 10**12])
def test_an_excess_that_is_too_large_is_named_by_its_place(excess: int) -> None:
    """Also where rows of times without a reserve come before it."""
    with pytest.raises(InvalidInput, match=r"numerator\[2\]"):
        reserve_binds([0, 0, excess], 7, [CANCUN, OSAKA, OSAKA])


@given(st.integers(1, 2**62 - 1), st.integers(1, 2**30), st.floats(0, 2), st.floats(0, 2), st.integers(2, 250))
def test_the_compiled_base_fee_is_the_formula_up_to_64_bits(
    base_fee: int, target: int, share: float, compared_share: float, denominator: int
) -> None:
    used, compared = int(target * share), int(target * compared_share)
    terms = base_fee, used, target, compared, denominator
    assert eip1559.next_base_fee(*terms) == moved_base_fee(*terms)

    compiled = eip1559.next_base_fee(base_fee, used, target, target, BASE_FEE_CHANGE_DENOMINATOR)
    assert compiled == next_base_fee(base_fee, used, 2 * target)
