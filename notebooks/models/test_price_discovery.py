"""Climbs of the blob base fee to a price, under mainnet's schedules."""

import math

import numpy as np
import pytest

from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum.fee_market import GAS_PER_BLOB, excess_behind, fake_exponential
from models.price_discovery import price_discovery
from models.saturation import L1State, upgrade


def test_count_of_eip_7762() -> None:
    """63,070,646 / (3 · 2**17) = 160.4 blocks to 5 cents a blob."""
    price = fake_exponential(1, 63_070_646, 3_338_477)
    path = price_discovery(price, L1State(rules=upgrade("Cancun")))
    assert len(path) - 1 == 161
    assert path[160] < price <= path[161]


@pytest.mark.parametrize("name", ["Cancun", "Prague", "Osaka", "BPO1", "BPO2"])
@pytest.mark.parametrize("price", [2, 10**6, 10**9, 2**62])
def test_full_blocks_take_the_excess_behind_the_price(name: str, price: int) -> None:
    rules = upgrade(name)
    step = (rules.maximum - rules.target) * GAS_PER_BLOB
    path = price_discovery(price, L1State(rules=rules))
    assert len(path) - 1 == math.ceil(excess_behind(price, rules.update_fraction) / step)
    assert (np.diff(path) >= 0).all()
    assert path[-2] < price <= path[-1]


def test_blocks_are_repeated_from_the_first() -> None:
    l1 = L1State(rules=upgrade("Cancun"))
    pattern = price_discovery(10**6, l1, blobs=(6, 3, 3))
    assert pattern[0::3][: len(price_discovery(10**6, l1)) - 1].tolist() == price_discovery(10**6, l1)[:-1].tolist()


def test_a_price_at_the_start_takes_no_block() -> None:
    l1 = L1State(blob_base_fee=4_000_000)
    assert price_discovery(4_000_000, l1).tolist() == [fake_exponential(1, l1.excess_blob_gas, 11_684_671)]


@pytest.mark.parametrize(
    ("l1", "blobs", "stops_at"),
    [
        (L1State(rules=upgrade("Cancun"), blob_base_fee=10), (3, 3), "10"),
        (L1State(rules=upgrade("Cancun")), (0,), "1"),
        # 6 of a target of 6 raise the excess until the reserve, 1 gwei / 16
        (L1State(rules=upgrade("Osaka")), (6,), "6[23],[0-9]{3},[0-9]{3}"),
    ],
)
def test_blobs_that_stop_below_the_price_are_refused(l1: L1State, blobs: tuple[int, ...], stops_at: str) -> None:
    with pytest.raises(InvalidInput, match=f"^blobs: .* the fee reaches {stops_at} wei, got"):
        price_discovery(10**9, l1, blobs=blobs)


def test_a_base_fee_that_rises_raises_the_reserve_it_stops_at() -> None:
    l1 = L1State(rules=upgrade("Osaka"), gas_used_ratio=1.0)
    assert price_discovery(10**9, l1, blobs=(6,))[-1] >= 10**9


@pytest.mark.parametrize(
    ("price", "blobs", "named"), [(0, None, "price"), (2**62 + 1, None, "price"), (2, (), "blobs"), (2, (7,), "blobs")]
)
def test_what_is_no_climb_is_refused(price: int, blobs: tuple[int, ...] | None, named: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{named}: "):
        price_discovery(price, L1State(rules=upgrade("Cancun")), blobs=blobs)


def test_a_climb_of_too_many_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.price_discovery.MAX_BLOCKS", 100)
    with pytest.raises(LimitExceeded, match="blocks until the price"):
        price_discovery(10**9, L1State())
