"""A surge on Arbitrum: the path of the chain's own simulator, under its old rule and the new one."""

import pytest

from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS, GasConstraint
from models.surge import Surge, surge_path

GWEI = 10**9


def test_the_first_seconds_by_hand():
    """Legacy, from 1 gwei: 7 M, 20 M, 40 M, 60 M gas; the backlog passes 10 s of tolerance (70 M) in the fourth second.

    0, 13 M, 46 M, 99 M; (99 − 70) M · 10,000 // 714 M = 406 basis points, A = 10,414.
    """
    path = surge_path(Surge(), min_base_fee=GWEI)

    assert path.gas_used[:4].tolist() == [7_000_000, 20_000_000, 40_000_000, 60_000_000]
    assert path.base_fees[:4].tolist() == [GWEI, GWEI, GWEI, 1_041_400_000]


def test_the_new_rule_peaks_lower_and_sooner():
    old, new = surge_path(Surge()), surge_path(Surge(), constraints=DIA_CONSTRAINTS)

    assert (old.peak, old.peak_second) == (182_230_000, 45)
    assert (new.peak, new.peak_second) == (72_846_000, 39)
    assert len(old.base_fees) == len(new.gas_used) == 81
    assert old.base_fees[-1] / old.base_fees[0] > 7
    assert new.base_fees[-1] / new.base_fees[0] < 1.2
    assert new.gas_used.sum() > 1.4 * old.gas_used.sum()
    assert max(new.gas_used.max(), old.gas_used.max()) <= 128_000_000


def test_one_constraint_without_tolerance_is_above_the_legacy_rule():
    same = surge_path(Surge(), constraints=[GasConstraint(7_000_000, 102)])
    assert same.peak > surge_path(Surge()).peak


def test_the_path_scales_with_the_minimum():
    one, ten = (surge_path(Surge(), constraints=DIA_CONSTRAINTS, min_base_fee=fee) for fee in (10**9, 10**10))
    assert ten.peak == pytest.approx(10 * one.peak, rel=1e-6)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: surge_path(Surge(), constraints=[]), "constraints: expected at least one"),
    (lambda: surge_path(Surge(), constraints=[7]), "constraints"),
    (lambda: surge_path(Surge(), min_base_fee=0), "min_base_fee: expected whole wei of at least 1"),
    (lambda: surge_path(5), "surge"), (lambda: Surge(ramp=0), "ramp"), (lambda: Surge(demand=-1), "demand"),
    (lambda: Surge(throughput=0), "throughput"),
])  # fmt: skip
def test_what_is_no_surge_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
    with pytest.raises(LimitExceeded, match="100,001 seconds of a surge are more than 100,000"):
        Surge(duration=99_991)
