"""What a balance can send on Mantle, held back in MNT."""

from feemodel import rollups
from feemodel.rollups import mantle

FEES = {"l1_base_fee": 2_000_000_000, "blob_base_fee": 125_000_000}
SCALARS = {"base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213}
GIVEN = SCALARS | {"token_ratio": 3_114, "operator_fee_scalar": 7, "operator_fee_constant": 11, "l2_gas_price": 5}
TO = {"to": "0x" + "11" * 20}


def test_what_a_balance_can_send_is_held_back_in_its_token():
    now = rollups.Now(base_fee=5, l1_base_fee=2 * 10**9, blob_base_fee=125 * 10**6)
    block = {"gas_limit": 60_000_000, "elasticity": 6, "denominator": 250}
    found = rollups.max_send("mantle", 10**20, TO, now=now, gas_limit=21_000, blocks_ahead=0, parameters=GIVEN)

    assert found.operator_fee == 21_000 * 7 * 100 + 11
    assert found.l1_fee == mantle.arsia_l1_fee(100, **FEES, **SCALARS, token_ratio=3_114)
    ahead = rollups.max_send("mantle", 10**20, TO, now=now, gas_limit=21_000, parameters=GIVEN | block)
    assert ahead.max_fee_per_gas == 6
    then = rollups.max_send("mantle", 10**20, TO, now=now, gas_limit=21_000, at="2026-01-01",
                            parameters=GIVEN | {"overhead": 188, "scalar": 10_000})  # fmt: skip
    assert then.max_fee_per_gas == 5, "until Arsia the base fee is constant"
