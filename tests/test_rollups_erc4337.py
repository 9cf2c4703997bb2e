"""preVerificationGas: by hand, and the parts of a whole operation on each family."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.rollups import arbitrum, erc4337, optimism
from feemodel.rollups.erc4337 import Fees, UserOperation, encode, preverification_gas
from feemodel.sizes.codecs import Brotli, FastLz

SENDER = bytes(range(1, 21))
OPERATION = UserOperation(
    sender=SENDER, nonce=7, call_data=bytes(range(132)), call_gas_limit=100_000, verification_gas_limit=80_000,
    max_fee_per_gas=10**8, max_priority_fee_per_gas=10**6, signature=bytes(range(65)),
)  # fmt: skip
SEEN = Fees(base_fee=10**7, l1_base_fee=2 * 10**9, blob_base_fee=10**8, price_per_unit=10**9)


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


def test_rundler_on_an_op_stack_chain_by_hand():
    encoded = encode(OPERATION)
    zeros = encoded.count(0)
    others = len(encoded) - zeros
    static = 4 * zeros + 16 * others + 4 * (len(encoded) // 32) + 19_500 + 21_000
    size = optimism.scaled_size(FastLz().size(encoded) + 68)
    price = 5_227 * 16 * 2 * 10**9 + 1_014_213 * 10**8
    data = size * price // 10**12 // (10**7 + 10**6)

    found = preverification_gas(OPERATION, "op-mainnet", fees=SEEN)
    assert 10 * zeros + 40 * others < static + 10_000 + 16_000, "the floor does not bind"
    assert found == (static + data, static, data)
    shared = preverification_gas(OPERATION, "op-mainnet", fees=SEEN, bundle_size=3)
    assert shared.execution == static - 14_000
    authorized = UserOperation(sender=SENDER, max_fee_per_gas=1, authorization=True)
    plain = UserOperation(sender=SENDER, max_fee_per_gas=1)
    by_two = [preverification_gas(one, "taiko", fees=Fees(base_fee=1)).gas for one in (authorized, plain)]
    assert by_two[0] - by_two[1] == 25_000


def test_the_calldata_floor_binds_for_much_data_and_little_gas():
    op = UserOperation(sender=SENDER, call_data=b"\xff" * 3_000, max_fee_per_gas=10**8)
    encoded = encode(op)
    zeros = encoded.count(0)
    floor = 10 * zeros + 40 * (len(encoded) - zeros)
    after, before = (preverification_gas(op, "op-mainnet", at, fees=SEEN) for at in (None, "2025-01-01"))

    assert after.execution == floor > before.execution


def test_alto_and_the_other_families():
    encoded = encode(OPERATION)
    zeros = encoded.count(0)
    alto = preverification_gas(OPERATION, "op-mainnet", fees=SEEN, bundler="alto")
    assert alto.execution == 4 * (zeros + 4 * (len(encoded) - zeros)) + 38_090 + 5 * 9_200 // 1000
    assert preverification_gas(OPERATION, "linea", fees=SEEN).data == 0
    found = preverification_gas(OPERATION, "arbitrum-one", fees=SEEN)
    charge = arbitrum.poster_charge(Brotli().size(encoded), price_per_unit=10**9, gas_price=10**7)
    assert found.data == charge.gas
    given_ = {"token_ratio": 3_114, "scalar": 10_000}
    gas = 4 * zeros + 16 * (len(encoded) - zeros)
    mantle = preverification_gas(OPERATION, "mantle", fees=SEEN, bundler="alto", parameters=given_)
    assert mantle.data == gas * 2 * 10**9 * 3_114 * 10_000 // 10**6 // 10**8


def test_a_call_through_execute_user_op_costs_other_words():
    data = erc4337.EXECUTE_USER_OP + bytes(128)
    op = UserOperation(sender=SENDER, call_data=data, max_fee_per_gas=10**8)
    encoded = encode(op)
    counts = encoded.count(0), len(encoded) - encoded.count(0)
    found = preverification_gas(op, "taiko", fees=SEEN, bundler="alto", parameters={"set_code": False})
    assert found.gas == erc4337.alto_gas(*counts, call_data_bytes=132, execute_user_op=True)
    assert erc4337.alto_gas(0, 0, call_data_bytes=132, execute_user_op=True) == 38_090 + 1_610 + 41


@pytest.mark.parametrize(("change", "error", "message"), [
    ({"chain": "scroll"}, InvalidInput, "chain: expected one whose data fee rundler has a rule for, got 'scroll'"),
    ({"chain": "mantle"}, InvalidInput, "chain: expected one whose data fee rundler has a rule for"),
    ({"chain": "mode"}, UnknownParameter, "mode: no source gives base_fee_scalar, blob_base_fee_scalar"),
    ({"chain": "arbitrum-one", "fees": Fees(base_fee=1)}, InvalidInput, "fees.price_per_unit: expected whole wei"),
    ({"bundler": "silius"}, InvalidInput, "bundler: expected one of rundler, alto"),
    ({"user_operation": UserOperation(sender=SENDER)}, InvalidInput, "fees: expected an offer of at least 1 wei"),
])  # fmt: skip
def test_what_no_bundler_answers_is_refused(change, error, message):
    arguments = {"user_operation": OPERATION, "chain": "op-mainnet", "fees": SEEN} | change
    with pytest.raises(error) as refused:
        preverification_gas(**arguments)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(("field", "value"), [
    ("sender", bytes(19)), ("call_data", "0x"), ("nonce", -1), ("call_gas_limit", 2**128), ("entry_point", "0.5"),
    ("authorization", 1),
])  # fmt: skip
def test_an_operation_is_checked_where_it_is_made(field, value):
    with pytest.raises(InvalidInput, match=field):
        UserOperation(**({"sender": SENDER} | {field: value}))
