"""The OP Stack's fees against published vectors and receipts, and arrays against their elements."""

from typing import Any

import pytest

from feemodel.errors import InvalidInput
from feemodel.rollups import optimism
from feemodel.rollups.chains import chain

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


@pytest.mark.parametrize("call", [
    lambda: optimism.operator_fee(1, scalar=1, constant=1, upgrade="fyord"),
    lambda: optimism.bedrock_l1_fee(0, 1, l1_base_fee=1, overhead=0, scalar=1, upgrade="ecotone"),
    lambda: optimism.next_base_fee(1, 1, 30, upgrade="Jovian"),
])  # fmt: skip
def test_a_wrong_upgrade_is_named(call: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^upgrade: expected one of bedrock, regolith, canyon"):
        call()
