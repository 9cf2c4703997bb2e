"""Values that are polled from a node."""

import pytest

from feemodel.errors import UpstreamError
from feemodel.io._polled import ChainId


@pytest.mark.parametrize("answer", [None, 1, "1", "0x", "0x" + "f" * 64])
def test_what_is_no_chain_id_is_no_answer(answer):
    with pytest.raises(UpstreamError, match="the node: eth_chainId: expected"):
        ChainId().check(answer)
