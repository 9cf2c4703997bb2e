"""Values that are polled from a node."""

import pytest

from feemodel.errors import UpstreamError
from feemodel.io.polled import ChainId, Head


@pytest.mark.parametrize("answer", [None, 1, "1", "0x", "0x" + "f" * 64])
def test_what_is_no_chain_id_is_no_answer(answer):
    with pytest.raises(UpstreamError, match="the node: eth_chainId: expected"):
        ChainId().check(answer)


GWEI = 10**9
BLOCK = {"number": "0x5", "timestamp": "0x1", "baseFeePerGas": hex(GWEI), "gasUsed": "0x0", "gasLimit": hex(30_000_000)}


@pytest.mark.parametrize(
    ("fields", "history", "expected"),
    [
        ({}, None, 875_000_000),
        ({"gasUsed": hex(15_000_000)}, None, GWEI),
        ({"gasUsed": hex(30_000_000)}, None, 1_125_000_000),
        ({"baseFeePerGas": "0x7"}, None, 7),  # 7 / 8 is no wei
        ({}, {"oldestBlock": "0x5", "baseFeePerGas": [hex(GWEI), "0x3"]}, 3),  # a chain with a rule of its own
        ({"baseFeePerGas": None}, {"oldestBlock": "0x5", "baseFeePerGas": ["0x0", "0x0"]}, 0),
        ({}, {"oldestBlock": "0x6", "baseFeePerGas": [hex(GWEI), "0x9"]}, 875_000_000),  # of another block
        ({}, {"oldestBlock": "0x5", "baseFeePerGas": [hex(GWEI)]}, 875_000_000),
        ({}, {"oldestBlock": "0x5", "baseFeePerGas": "0x1"}, 875_000_000),
    ],
)
def test_the_next_base_fee_is_announced_or_that_of_eip_1559(fields, history, expected):
    assert Head.parse(BLOCK | fields, history).next_base_fee() == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"timestamp": None}, "the newest block: timestamp: expected a quantity"),
        ({"number": "5"}, "the newest block: number: expected a quantity"),
        ({"timestamp": "0x" + "f" * 40}, r"the newest block: timestamp: expected at most 2\*\*63 - 1"),
        ({"baseFeePerGas": None}, "the newest block has no baseFeePerGas"),
        ({"baseFeePerGas": "0x" + "f" * 70}, r"the newest block: baseFeePerGas: expected at most 2\*\*63 - 1"),
        ({"gasUsed": None}, "the newest block: gasUsed: expected a quantity"),
        ({"gasUsed": "0xffffffff"}, "the newest block: gas_used: expected at most the gas limit"),
        ({"gasLimit": "0x0"}, "the newest block: gas_limit: expected"),
    ],
)
def test_a_newest_block_that_says_too_little_or_nonsense_is_refused(fields, message):
    with pytest.raises(UpstreamError, match=message):
        Head.parse(BLOCK | fields).next_base_fee()
