"""The OP Stack's fees against published vectors and receipts, and arrays against their elements."""

from typing import Any

import pytest

from feemodel.errors import InvalidInput
from feemodel.rollups import optimism
from feemodel.rollups.chains import chain

EMPTY = {"l1_base_fee": 10**9, "blob_base_fee": 10**7, "base_fee_scalar": 2, "blob_base_fee_scalar": 3}
PARITY = {"l1_base_fee": 2_000_000, "blob_base_fee": 3_000_000, "base_fee_scalar": 20, "blob_base_fee_scalar": 15}


def test_bedrock_and_ecotone_are_the_published_ones() -> None:
    """The empty transaction of rollup_cost_test.go has 30 bytes, none of them zero."""
    terms = {"l1_base_fee": 10**9, "overhead": 50, "scalar": 7_000_000}
    assert optimism.bedrock_l1_fee(0, 30, **terms) == 3_710_000_000_000
    assert optimism.bedrock_l1_fee(0, 30, **terms, upgrade="bedrock") == 11_326_000_000_000
    assert optimism.ecotone_l1_fee(0, 30, **EMPTY) == 960_900
    assert optimism.ecotone_l1_fee(2, 3 + 68, **PARITY) == 48_977


def test_operator_fee_by_upgrade() -> None:
    terms = {"scalar": 1_439_103_868, "constant": 1_256_417_826_609_331_460}
    fees = [optimism.operator_fee(1_618, **terms, upgrade=name) for name in ("holocene", "isthmus", "jovian")]
    assert fees == [0, 1_256_417_826_611_659_930, 1_256_650_673_615_173_860]
    assert optimism.operator_fee([1_618], **terms, upgrade="jovian").tolist() == fees[2:]
    assert optimism.operator_fee([1, 2], scalar=5, constant=7, upgrade="fjord").tolist() == [0, 0]


def test_footprint_counts_whole_estimated_bytes() -> None:
    assert optimism.da_footprint([31, 235], gas_scalar=400).tolist() == [40_000, 61_200]
    assert optimism.da_footprint(235, gas_scalar=[0, 1]).tolist() == [61_200, 153]


# ethereum-optimism/superchain-registry: superchain/configs/mainnet/op.toml and the announcements of the upgrades
STARTS = {
    "bedrock": "2023-06-06T16:28:23", "regolith": "2023-06-06T16:28:23", "canyon": "2024-01-11T17:00:01",
    "ecotone": "2024-03-14T00:00:01", "fjord": "2024-07-10T16:00:01", "granite": "2024-09-11T16:00:01",
    "holocene": "2025-01-09T18:00:01", "isthmus": "2025-05-09T16:00:01", "jovian": "2025-12-02T16:00:01",
    "karst": "2026-07-08T16:00:01",
}  # fmt: skip


def test_upgrades_start_when_they_were_announced_for() -> None:
    since = {row.values["upgrade"]: row.since for row in chain("op-mainnet").rows if "upgrade" in row.values}
    assert {"bedrock": since["regolith"], **since} == STARTS  # OP Mainnet had both from its first Bedrock block on
    assert [row.name for row in optimism.UPGRADES] == list(STARTS)


def test_upgrades_are_found_by_name_and_time() -> None:
    assert optimism.upgrade_named("jovian").operator_fee_multiplier == 100
    for name, start in STARTS.items():
        assert chain("op-mainnet").at(start)["upgrade"] == ("regolith" if name == "bedrock" else name)
    assert chain("op-mainnet").at(1_720_627_200)["upgrade"] == "ecotone"
    with pytest.raises(InvalidInput, match="expected 2023-06-06T16:28:23 or later, the start of op-mainnet"):
        chain("op-mainnet").at(1)


@pytest.mark.parametrize("call", [
    lambda: optimism.operator_fee(1, scalar=1, constant=1, upgrade="fyord"),
    lambda: optimism.bedrock_l1_fee(0, 1, l1_base_fee=1, overhead=0, scalar=1, upgrade="ecotone"),
    lambda: optimism.next_base_fee(1, 1, 30, upgrade="Jovian"),
])  # fmt: skip
def test_a_wrong_upgrade_is_named(call: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^upgrade: expected one of bedrock, regolith, canyon"):
        call()


def test_floats_and_negative_numbers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="fastlz_size"):
        optimism.scaled_size(1.0)
    with pytest.raises(InvalidInput, match="blob_base_fee"):
        optimism.fjord_l1_fee(1, **{**EMPTY, "blob_base_fee": -1})
