"""Arbitrum's L2 base fee: gas constraints, the header's lag, the legacy rule, and multi-gas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.rollups import _arbitrum_kernels
from feemodel.rollups import arbitrum_l2_pricing as l2_pricing
from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS, GasConstraint, MultiGasConstraint

FLOOR = 20_000_000


@given(
    st.lists(st.tuples(st.integers(0, 64_000_000), st.integers(0, 100_000)), max_size=30),
    st.lists(st.integers(0, 10**13), min_size=6, max_size=6),
    st.integers(0, 10**12),
)
def test_the_compiled_form_is_the_integer_form(
    blocks: list[tuple[int, int]], backlogs: list[int], base_fee: int
) -> None:
    gas, seconds = ([*column] for column in zip(*blocks, strict=True)) if blocks else ([], [])
    targets = np.array([one.target for one in DIA_CONSTRAINTS])
    scales = targets * [one.window for one in DIA_CONSTRAINTS]
    state, fees = np.array(backlogs), np.empty(len(gas), dtype=np.int64)
    used, elapsed = np.array(gas, dtype=np.int64), np.array(seconds, dtype=np.int64)
    failed, following = _arbitrum_kernels.base_fees(used, elapsed, targets, scales, state, FLOOR, base_fee, fees)
    try:
        found = l2_pricing.base_fees(used, np.cumsum(elapsed), backlogs=backlogs, base_fee=base_fee, parent_timestamp=0)
    except Int64Overflow:
        assert failed >= 0
        return
    assert failed >= 0 or (following, state.tolist()) == (found.next_base_fee, [*found.backlogs])
    assert failed >= 0 or fees.tolist() == found.base_fees.tolist()


@pytest.mark.parametrize(("change", "message"), [
    ({"gas_used": [1, -1]}, r"gas_used\[1\]: expected whole gas of at least 0, got -1"),
    ({"timestamps": [5, 4]}, r"timestamps\[1\]: expected times that do not decrease, got 4"),
    ({"timestamps": [5]}, r"timestamps: expected one-dimensional arrays of equal length"),
    ({"backlogs": [1, 2]}, "backlogs: expected one backlog for each of 6 constraints"),
    ({"constraints": ()}, "constraints: expected at least one"),
    ({"min_base_fee": -1}, "min_base_fee: expected whole wei of at least 0, got -1"),
])  # fmt: skip
def test_what_is_no_sequence_of_blocks_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        l2_pricing.base_fees(**({"gas_used": [1, 1], "timestamps": [0, 0]} | change))  # type: ignore[arg-type]


def test_what_64_bits_do_not_hold_is_refused_or_saturated_as_in_the_node() -> None:
    with pytest.raises(Int64Overflow):
        l2_pricing.base_fees([1, 1, 1], [0, 0, 0], base_fee=2**63)
    assert l2_pricing.base_fees([2**62] * 5, [0] * 5).backlogs == (2**64 - 1,) * 6


def test_a_constraint_is_of_whole_numbers_and_known_kinds() -> None:
    with pytest.raises(InvalidInput, match="target: expected whole gas of at least 1, got 0"):
        GasConstraint(0, 9)
    with pytest.raises(InvalidInput, match=r"weights: expected one of computation, .*, got 'cpu'"):
        MultiGasConstraint(1, 1, {"cpu": 1})
    with pytest.raises(InvalidInput, match=r"weights: expected one of computation.*, got 'unknown'"):
        MultiGasConstraint(1, 1, {"computation": 1, "unknown": 0})
    with pytest.raises(InvalidInput, match=r"weights\[computation\]: expected at most 18,446,744,073,709,551,615"):
        MultiGasConstraint(1, 1, {"computation": 2**64})
    with pytest.raises(InvalidInput, match="weights: expected at least one weight above 0"):
        MultiGasConstraint(1, 1, {"computation": 0})
