"""preVerificationGas: by hand, and the parts of a whole operation on each family."""

from dataclasses import replace

import pytest
from ethereum_rlp import rlp
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.rollups import erc4337, optimism
from feemodel.rollups._user_operation import (
    ENTRY_POINTS,
    UserOperation,
    alto_filled,
    alto_transaction,
    encode,
    handle_ops,
    rundler_transaction,
    voltaire_filled,
)
from feemodel.rollups.arbitrum_node import node_interface_gas
from feemodel.rollups.erc4337 import BundlerFees, preverification_gas
from feemodel.sizes._codecs import FastLz

SENDER = bytes(range(1, 21))
OPERATION = UserOperation(
    sender=SENDER, nonce=7, call_data=bytes(range(132)), call_gas_limit=100_000, verification_gas_limit=80_000,
    max_fee_per_gas=10**8, max_priority_fee_per_gas=10**6, signature=bytes(range(65)),
)  # fmt: skip
SEEN = BundlerFees(base_fee=10**7, l1_base_fee=2 * 10**9, blob_base_fee=10**8, price_per_unit=10**9)


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_an_operation_is_encoded_word_by_word():
    op = UserOperation(sender=SENDER, nonce=5, call_data=b"\x01\x02", call_gas_limit=3, verification_gas_limit=4,
                       pre_verification_gas=6, max_fee_per_gas=8, max_priority_fee_per_gas=9)  # fmt: skip
    tail = [word(0), word(2) + b"\x01\x02" + bytes(30), word(0), word(0)]
    offsets = [288, 320, 384, 416]
    head = [bytes(12) + SENDER, word(5), word(offsets[0]), word(offsets[1]), word(4 << 128 | 3), word(6),
            word(9 << 128 | 8), word(offsets[2]), word(offsets[3])]  # fmt: skip
    assert encode(op) == word(32) + b"".join(head + tail)


@given(st.binary(max_size=300), st.binary(max_size=100), st.sampled_from(["0.6", "0.7"]))
def test_an_encoding_is_of_whole_words(call_data, signature, entry_point):
    op = UserOperation(sender=SENDER, call_data=call_data, signature=signature, entry_point=entry_point)
    encoded = encode(op)
    assert len(encoded) % 32 == 0
    assert call_data in encoded


def counts_of(data):
    return data.count(0), len(data) - data.count(0)


def test_a_bundle_of_one_operation_word_by_word():
    encoded = encode(OPERATION)
    head = [word(64), bytes(12) + b"\x07" * 20, word(1), word(32)]

    assert handle_ops(OPERATION, beneficiary=b"\x07" * 20) == bytes.fromhex("765e827f") + b"".join(head) + encoded[32:]
    assert handle_ops(replace(OPERATION, entry_point="0.6"))[:4] == bytes.fromhex("1fad948c")


def test_rundler_measures_a_transaction_of_the_largest_fields():
    """A gas price of 11 million has 24 bits."""
    sent = rlp.decode(rundler_transaction(OPERATION, gas_price=11_000_000, chain_id=10))
    fields = rlp.decode(sent[1:])

    assert sent[0] == 2
    assert fields[:5] == [b"\xff" * 4, b"\xff" * 4, b"\xff" * 3, b"\xff" * 3, b"\xff" * 4]
    assert fields[5:7] == [ENTRY_POINTS["0.7"], b""]
    assert fields[7] == handle_ops(OPERATION)
    assert fields[8:] == [[], b"", b"\xff" * 32, b"\xff" * 32]
    prices = [rundler_transaction(OPERATION, gas_price=price, chain_id=10) for price in (1, 2, 256, 257)]
    assert [rlp.decode(rlp.decode(one)[1:])[2] for one in prices] == [b"", b"\x01", b"\xff", b"\x01\xff"]
    sent = rlp.decode(rundler_transaction(replace(OPERATION, delegate=b"\x09" * 20), gas_price=1, chain_id=10))
    consent = [b"\x0a", b"\x09" * 20, b"\xff" * 8, b"\x1b", b"\xff" * 32, b"\xff" * 32]
    assert (sent[0], rlp.decode(sent[1:])[9]) == (4, [consent])


def test_alto_measures_a_transaction_of_its_own():
    fields = rlp.decode(alto_transaction(OPERATION, chain_id=8_453)[1:])
    signature = bytes.fromhex("123451234512345123451234512345123451234512345123451234512345")

    assert fields[:4] == [(8_453).to_bytes(2, "big"), (999_999).to_bytes(3, "big"), b"\xff" * 8, b"\xff" * 8]
    assert fields[4:7] == [b"", ENTRY_POINTS["0.7"], b""]
    assert fields[7] == handle_ops(OPERATION, beneficiary=ENTRY_POINTS["0.7"])
    assert fields[8:] == [[], b"\x01", signature, signature]


def test_rundler_on_an_op_stack_chain_by_hand():
    zeros, others = counts_of(encode(OPERATION))
    static = 4 * zeros + 16 * others + 4 * ((zeros + others) // 32) + 19_500 + 21_000
    sent = rundler_transaction(OPERATION, gas_price=11_000_000, chain_id=10)
    size = optimism.scaled_size(FastLz().size(sent) + 68)
    price = 5_227 * 16 * 2 * 10**9 + 1_014_213 * 10**8
    data = size * price // 10**12 // (10**7 + 10**6)

    found = preverification_gas(OPERATION, "op-mainnet", fees=SEEN)
    assert 10 * zeros + 40 * others < static + 10_000 + 16_000, "the floor does not bind"
    assert found == (static + data, static, data)
    shared = preverification_gas(OPERATION, "op-mainnet", fees=SEEN, bundle_size=3)
    assert shared.execution == static - 14_000
    authorized = UserOperation(sender=SENDER, max_fee_per_gas=1, delegate=SENDER)
    plain = UserOperation(sender=SENDER, max_fee_per_gas=1)
    by_two = [preverification_gas(one, "taiko", fees=BundlerFees(base_fee=1)).gas for one in (authorized, plain)]
    assert by_two[0] - by_two[1] == 25_000


def test_a_paymaster_s_limits_count_towards_the_floor():
    """A tenth of postOp's limit and a fifth of the paymaster's, 30,000 gas, are used at least."""
    limits = (100_000).to_bytes(16, "big") * 2
    op = UserOperation(sender=SENDER, call_data=b"\xff" * 3_000, paymaster_and_data=SENDER + limits, max_fee_per_gas=9)
    counts = counts_of(encode(op))
    own = erc4337.rundler_gas(*counts)
    found = preverification_gas(op, "linea", fees=SEEN, parameters={"set_code": True})

    assert (op.paymaster_verification_gas_limit, op.post_operation_gas_limit) == (100_000, 100_000)
    assert found.execution == 10 * counts[0] + 40 * counts[1] - 30_000 > own


def test_the_calldata_floor_binds_for_much_data_and_little_gas():
    op = UserOperation(sender=SENDER, call_data=b"\xff" * 3_000, max_fee_per_gas=10**8)
    encoded = encode(op)
    zeros = encoded.count(0)
    floor = 10 * zeros + 40 * (len(encoded) - zeros)
    after, before = (preverification_gas(op, "op-mainnet", at, fees=SEEN) for at in (None, "2025-01-01"))

    assert after.execution == floor > before.execution


def test_alto_counts_an_operation_full_of_ones_and_measures_it_as_sent():
    filled = replace(
        OPERATION, call_gas_limit=2**128 - 1, verification_gas_limit=2**128 - 1, pre_verification_gas=2**256 - 1,
        max_fee_per_gas=2**128 - 1, max_priority_fee_per_gas=2**128 - 1, signature=b"\xff" * 65,
    )  # fmt: skip
    zeros, others = counts_of(encode(filled))
    size = optimism.scaled_size(FastLz().size(alto_transaction(OPERATION, chain_id=10)) + 68)
    price = 5_227 * 16 * 2 * 10**9 + 1_014_213 * 10**8
    found = preverification_gas(OPERATION, "op-mainnet", fees=SEEN, bundler="alto")

    assert found.execution == 4 * (zeros + 4 * others) + 38_090 + 5 * 9_200 // 1000
    assert found.data == size * price // 10**12 // 11_000_000
    assert preverification_gas(OPERATION, "linea", fees=SEEN, bundler="alto").data == 0


def test_alto_counts_paymaster_s_data_as_ones():
    paid = replace(OPERATION, paymaster_and_data=SENDER + bytes(32) + b"abc")

    assert alto_filled(paid).paymaster_and_data == SENDER + b"\xff" * 35
    assert len(alto_filled(replace(paid, entry_point="0.6")).paymaster_and_data) == 2 + 2 * 55
    assert alto_filled(OPERATION).paymaster_and_data == b""


def test_arbitrum_s_node_is_asked_with_the_bundle():
    """rundler asks for a contract's creation, alto for a call of the entry point."""
    terms = {"price_per_unit": 10**9, "base_fee": 10**7, "version": "arbos-51"}
    found = [preverification_gas(OPERATION, "arbitrum-one", "2026-02-01", fees=SEEN, bundler=bundler).data
             for bundler in ("rundler", "alto", "voltaire")]  # fmt: skip
    sent = rundler_transaction(OPERATION, gas_price=11_000_000, chain_id=42_161)
    by_alto = alto_transaction(OPERATION, chain_id=42_161)
    by_voltaire = handle_ops(replace(OPERATION, pre_verification_gas=0xA8D2755F7A))

    assert found == [
        node_interface_gas(sent, to=None, **terms),
        node_interface_gas(by_alto, to=ENTRY_POINTS["0.7"], **terms),
        node_interface_gas(by_voltaire, to=ENTRY_POINTS["0.7"], **terms),
    ]


def test_a_node_s_placeholder_by_hand():
    """Compressed it has 126 bytes, without an address 20 less; a byte of data takes the place of its empty header."""
    terms = {"price_per_unit": 10**9, "base_fee": 10**7, "version": "arbos-51"}
    bare, longer = (node_interface_gas(data, to=SENDER, **terms) for data in (b"", b"\x17"))
    created = node_interface_gas(b"", to=None, **terms)

    assert bare == longer == (16 * 126 + 256) * 101 // 100 * 110
    assert created == (16 * 106 + 256) * 101 // 100 * 110


def test_alto_on_mantle_has_the_rule_before_arsia():
    given_ = {"token_ratio": 3_114, "scalar": 10_000, "overhead": 188}
    zeros, others = counts_of(alto_transaction(alto_filled(OPERATION), chain_id=5_000))
    gas = 4 * zeros + 16 * others + 188 + 68 * 16
    mantle = preverification_gas(OPERATION, "mantle", fees=SEEN, bundler="alto", parameters=given_)

    assert mantle.data == gas * 2 * 10**9 * 3_114 * 10_000 // 10**6 // 10**8


def test_voltaire_by_hand():
    """Voltaire counts the operation without the offset of its tuple, and one word more than it has."""
    zeros, others = counts_of(encode(replace(OPERATION, pre_verification_gas=21_000))[32:])
    words = (zeros + others) // 32 + 1
    measured = handle_ops(replace(OPERATION, pre_verification_gas=0xA8D2755F7A))
    price = 5_227 * 16 * 2 * 10**9 + 1_014_213 * 10**8
    fee = optimism.scaled_size(FastLz().size(measured) + 68) * price // 10**12
    found = preverification_gas(OPERATION, "op-mainnet", fees=SEEN, bundler="voltaire")

    assert found.execution == 4 * zeros + 16 * others + 21_000 + 18_300 + 4 * words
    assert found.data == -(-fee // 11_000_000)
    old = replace(OPERATION, entry_point="0.6", signature=b"")
    assert preverification_gas(old, "op-mainnet", fees=SEEN, bundler="voltaire").data == 0
    assert encode(voltaire_filled(old)).endswith(b"\x01" * 65 + bytes(31))
    assert preverification_gas(OPERATION, "soneium", "2025-03-01", fees=SEEN, bundler="voltaire").data == 0


def test_a_call_through_execute_user_op_costs_other_words():
    """19 words of the whole operation, its calldata of 5 among them: 1,610 + 8.2 · 19."""
    data = erc4337.EXECUTE_USER_OP + bytes(128)
    op = UserOperation(sender=SENDER, call_data=data, max_fee_per_gas=10**8)
    counts = counts_of(encode(alto_filled(op)))
    found = preverification_gas(op, "taiko", fees=SEEN, bundler="alto", parameters={"set_code": False})

    assert sum(counts) == 32 * (14 + 5)
    assert found.gas == 4 * (counts[0] + 4 * counts[1]) + 38_090 + 1_610 + 8_200 * 19 // 1000
    assert erc4337.alto_gas(32, 0, call_data_bytes=132, execute_user_op=True) == 4 * 32 + 38_090 + 1_610 + 8


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"chain": "scroll"}, InvalidInput, "chain: expected a chain whose data fee rundler estimates, got 'scroll'"),
    ({"chain": "mantle"}, InvalidInput, "chain: expected a chain whose data fee rundler estimates"),
    ({"chain": "mode"}, UnknownParameter, "mode: no source gives base_fee_scalar, blob_base_fee_scalar"),
    (
        {"chain": "arbitrum-one", "fees": BundlerFees(base_fee=1)},
        InvalidInput, "fees.price_per_unit: expected whole wei",
    ),
    ({"bundler": "silius"}, InvalidInput, "bundler: expected one of rundler, alto"),
    ({"user_operation": UserOperation(sender=SENDER)}, InvalidInput, "fees: expected a gas price of at least 1 wei"),
    ({"at": "2024-03-20"}, InvalidInput, "at: expected a date from Fjord on, because bundlers use its rule"),
    ({"chain": "mantle", "bundler": "alto"}, UnknownParameter, "no source gives token_ratio"),
])  # fmt: skip
def test_what_no_bundler_answers_is_refused(change, error, message):
    arguments = {"user_operation": OPERATION, "chain": "op-mainnet", "fees": SEEN} | change
    with pytest.raises(error) as refused:
        preverification_gas(**arguments)
    assert message in str(refused.value)


@pytest.mark.parametrize(("field", "value"), [
    ("sender", bytes(19)), ("call_data", "0x"), ("nonce", -1), ("call_gas_limit", 2**128), ("entry_point", "0.5"),
    ("delegate", bytes(19)), ("paymaster_and_data", bytes(51)),
])  # fmt: skip
def test_an_operation_is_checked_where_it_is_made(field, value):
    with pytest.raises(InvalidInput, match=field):
        UserOperation(**({"sender": SENDER} | {field: value}))
