"""Scroll's compression ratio, and what can be sent."""

import pytest

from feemodel.errors import InvalidInput
from feemodel.rollups import Now, max_send, scroll


def test_compression_ratio_refuses_what_has_none() -> None:
    with pytest.raises(InvalidInput, match=r"length\[1\]"):
        scroll.compression_ratio([5, 0], [5, 0])
    with pytest.raises(InvalidInput, match="compressed_size"):
        scroll.compression_ratio(5, 0)


def test_what_can_be_sent_on_scroll_has_the_bound_of_its_base_fee():
    now = Now(base_fee=10**7, l1_base_fee=10**9, blob_base_fee=10**6)
    ahead = max_send("scroll", 10**18, {"to": "0x" + "11" * 20}, now=now, gas_limit=21_000)
    next_block = max_send("scroll", 10**18, {"to": "0x" + "11" * 20}, now=now, gas_limit=21_000, blocks_ahead=0)

    assert (ahead.max_fee_per_gas, next_block.max_fee_per_gas) == (10**10, 10**7)
