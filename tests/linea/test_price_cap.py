"""The price cap of Linea's submissions: published constants, and when a submission leaves with which tip."""

import csv

import pytest

from feemodel.linea._price_cap import cap_multiplier, time_of_day_multipliers, tip_within_caps


def test_a_week_of_hourly_factors_is_the_published_one(shared):
    with (shared / "data/linea_time_of_day_multipliers.csv").open(encoding="utf-8") as file:
        published = {(row["day"], int(row["hour"])): float(row["multiplier"]) for row in csv.DictReader(file)}
    days = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

    assert [published[day, hour] for day in days for hour in range(24)] == time_of_day_multipliers().tolist()


def forms(function):
    """A compiled function and the plain one that it is made of; without numba they are the same."""
    return [function, getattr(function, "py_func", function)]


@pytest.mark.parametrize("form", forms(cap_multiplier), ids=["compiled", "plain"])
@pytest.mark.parametrize(
    ("elapsed", "target", "factor", "multiplier"),
    [
        (0.0, 57_600.0, 1.0, 1.0),
        (57_600.0, 57_600.0, 1.0, 26.0),
        (28_800.0, 57_600.0, 0.25, 2.5625),  # 1 + 25 / 16
        (28_800.9, 57_600.9, 1.75, 11.9375),  # whole seconds; 1 + 25 · 1.75 / 4
        (7_200.0, 3_600.0, 1.0, 101.0),
    ],
)
def test_the_multiplier_rises_with_the_square_of_whole_seconds(form, elapsed, target, factor, multiplier):
    assert multiplier == form(elapsed, target, 25.0, factor)


# base fee, blob base fee; caps of base fee, tip and blob fee; bounds of fee, tip and blob fee -> tip, -1: not sent
TIPS = [
    ((50, 0), (100, 20, 1), (1_000, 1_000, 1_000), 20),
    ((108, 0), (100, 20, 1), (1_000, 1_000, 1_000), 12),  # 0.9 · 100 + 0.9 · 20 covers it
    ((108.5, 0), (100, 20, 1), (1_000, 1_000, 1_000), -1),
    ((108, 0), (101.9, 21.9, 1), (1_000, 1_000, 1_000), 14),  # whole wei before and after: 90 + 18, 101 + 21 − 108
    ((109, 0), (101.9, 21.9, 1), (1_000, 1_000, 1_000), -1),
    ((105, 0), (100, 20, 1), (105, 1_000, 1_000), 0),
    ((106, 0), (100, 20, 1), (105, 1_000, 1_000), -1),
    ((100, 0), (100, 20, 1), (1_000, 10, 1_000), 10),
    ((101, 0), (100, 20, 1), (1_000, 10, 1_000), -1),
    ((50, 9), (100, 20, 11), (1_000, 1_000, 1_000), 20),
    ((50, 9.5), (100, 20, 11), (1_000, 1_000, 1_000), -1),
    ((50, 9.5), (100, 20, 11.9), (1_000, 1_000, 1_000), -1),
    ((50, 1), (100, 20, 0), (1_000, 1_000, 1_000), 20),  # a blob base fee of 1 wei is always covered
    ((50, 1.5), (100, 20, 0), (1_000, 1_000, 1_000), -1),
    ((50, 5), (100, 20, 100), (1_000, 1_000, 5), 20),
    ((50, 6), (100, 20, 100), (1_000, 1_000, 5), -1),
]


@pytest.mark.parametrize("form", forms(tip_within_caps), ids=["compiled", "plain"])
def test_a_submission_leaves_where_nine_tenths_of_the_caps_cover_the_fees(form):
    found = [form(*map(float, (*fees, *caps)), 0.9, *map(float, bounds)) for fees, caps, bounds, _ in TIPS]

    assert found == [tip for *_, tip in TIPS]
