"""Transactions of type 4 (EIP-7702): their encoding, and their fees on the chains that carry them."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import feemodel
from feemodel.cli import main
from feemodel.cli.subjects import priced_rows
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import parse_call
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import Transaction, fill, intrinsic_gas, parse_transaction
from feemodel.ethereum._transaction_table import transactions_of
from feemodel.linea._measure import fee_bytes
from feemodel.rollups import Now, max_send, measured_sizes, sending
from feemodel.rollups.chains import chain
from feemodel.rollups.rules import rule, rules_at
from feemodel.sizes._codecs import SCROLL_ZSTD, Brotli, FastLz
from tests.helpers.formulas import dated_rules
from tests.helpers.replays import authority_of

# Signed by viem 2.57.20, and byte for byte the same by ethers 6.17.0, with the keys 0x46… (sender) and 0x47…
RAW = bytes.fromhex(
    "04f901850a82012b830f4240847735940083015f9094111111111111111111111111111111111111111105a4a9059cbb0000000000000000"
    "000000000000000000000000000000000000000000000007f838f7943333333333333333333333333333333333333333e1a0444444444444"
    "4444444444444444444444444444444444444444444444444444f8baf85a0a9422222222222222222222222222222222222222228080a015"
    "b85593919befb73537bcef643f43c34245ac585b1a73ca802e03538ee3b2bda02b6ed20bbe9bc9bd2f706e0f50cbfcd2bacbe6a9510f29d2"
    "073b506d64c02dbff85c8094000000000000000000000000000000000000000082012c80a095cfe87ff9b39dc88f724ba9d8982f9a8dac86"
    "983efd0ed4ecc097da89bb5d3ea0092704a2c95a91aa788af414eb767f689e635ed16fb96b4d694826c542bd38e980a002e16e0f0e46d7c9"
    "9e978cd5b6294c987d2eaee5dfe596e7004050f1cad46887a01dc4cf3ca0de74c2646c0bb79aa6c331d567c0207220a41ee97e8202eba5de"
    "61"
)
SENDER = bytes.fromhex("9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F")
OTHER = bytes.fromhex("b595B18c88b1f651cA387489067f855b5C8E6720")
PARSED = parse_transaction(RAW)
LIST = [
    {"chainId": hex(one.chain_id), "address": to_hex(one.address), "nonce": hex(one.nonce),
     "yParity": hex(one.y_parity), "r": hex(one.r), "s": hex(one.s)}
    for one in PARSED.authorizations
]  # fmt: skip
SENT = {  # as eth_getTransactionByHash answers
    "hash": "0x" + "33" * 32, "type": "0x4", "chainId": "0xa", "nonce": "0x12b", "from": to_hex(SENDER),
    "to": "0x" + "11" * 20, "value": "0x5", "input": to_hex(PARSED.data), "gas": "0x15f90", "gasPrice": "0xf4241",
    "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0xf4240", "authorizationList": LIST,
    "accessList": [{"address": "0x" + "33" * 20, "storageKeys": ["0x" + "44" * 32]}],
    "v": "0x0", "yParity": "0x0", "r": hex(PARSED.signature.r), "s": hex(PARSED.signature.s),
}  # fmt: skip
CALL = {"to": "0x" + "11" * 20, "authorizationList": LIST}
L1 = {"base_fee": 2_000_000_000, "blob_base_fee": 125_000_000}
GAS = 80_000


def test_a_transaction_of_two_libraries_is_read_to_the_byte():
    assert (PARSED.signed(), PARSED.sender()) == (RAW, SENDER)
    assert [authority_of(one) for one in PARSED.authorizations] == [OTHER, SENDER]
    assert fill(parse_call(SENT), gas=90_000, chain_id=1, set_code=True).signed() == RAW
    # 21,000, 4 and 16 for each byte of calldata, 2,400 + 1,900, and 25,000 each
    assert intrinsic_gas(PARSED) == 21_000 + 4 * 31 + 16 * 5 + 4_300 + 50_000


def test_every_way_in_measures_the_signed_encoding_with_its_list():
    sizes = {
        "length": len(RAW), "zero_bytes": RAW.count(0), "nonzero_bytes": len(RAW) - RAW.count(0),
        "fastlz_size": FastLz().size(RAW), "brotli_size": Brotli().size(RAW), "zstd_size": SCROLL_ZSTD.size(RAW),
        "data_length": 36, "zstd_data_size": SCROLL_ZSTD.size(PARSED.data), "transaction_type": 4,
    }  # fmt: skip
    ways = [[RAW], [to_hex(RAW)], [PARSED], pd.DataFrame([SENT]), pd.DataFrame({"raw": [RAW]}),
            pd.DataFrame([SENT | {"authorizationList": np.array(LIST, dtype=object)}])]  # fmt: skip
    for table in map(measured_sizes, ways):
        assert {name: table[name].item() for name in sizes} == sizes
    named = replace(parse_transaction(RAW), from_address=SENDER)
    assert measured_sizes([RAW])["linea_size"] == measured_sizes([named])["linea_size"]


#: Parameters that no source gives of the time at which a chain began to carry transactions of type 4.
UNKNOWN = {
    "world-chain": {"base_fee_scalar": 684_000, "blob_base_fee_scalar": 0},
    "arbitrum-nova": {"batch_l1_gas": 210_000, "batch_blobs": 1, "batch_transaction_bytes": 126_976},
}


@pytest.mark.parametrize(("name", "first"), [
    ("op-mainnet", 1_746_806_401), ("base", 1_746_806_401), ("world-chain", 1_764_072_000),
    ("arbitrum-one", 1_750_176_000), ("arbitrum-nova", 1_750_176_000), ("scroll", 1_745_305_200),
    ("taiko", 1_786_021_200),
])  # fmt: skip
def test_it_is_refused_until_the_second_at_which_the_chain_began_to_carry_it(name, first):
    table = measured_sizes([RAW], gas=[GAS])
    since = np.datetime64(first, "s")
    given = UNKNOWN.get(name, {})
    assert rule(name, at=first, parameters=given).fees(table, **L1).l2.tolist() > [0]
    reason = rf"transaction_type\[0\]: {name}.* has no fee rule for .* of type 4 \(EIP-7702\): {name} carries them"
    with pytest.raises(InvalidInput, match=rf"{reason} since {since} \(.*, got 4"):
        rule(name, at=first - 1, parameters=given).fees(table, **L1)
    call = {"call": CALL, "now": Now(base_fee=10**7, l1_base_fee=10**9), "gas_limit": GAS, "max_fee_per_gas": 10**8}
    with pytest.raises(InvalidInput, match=rf"call.authorizationList: {name} .*{name} carries them since {since}"):
        max_send(name, 10**18, at=first - 1, **call)


@pytest.mark.parametrize(("name", "reason"), [
    ("op-mainnet/holocene", "op-mainnet carries them since 2025-05-09T16:00:01 (isthmus)"),
    ("zksync-era", "its node refuses their encoding"),
    ("zksync-os", "no source says since when its chains carry them"),
    ("linea", "no fee is published for them"),
])  # fmt: skip
def test_a_rule_without_it_says_why(name, reason):
    with pytest.raises(InvalidInput) as refused:
        rule(name).fees(measured_sizes([RAW]), **L1)

    expected = f"transaction_type[0]: {name} has no fee rule for transactions of type 4 (EIP-7702): {reason}, got 4"
    assert expected == str(refused.value)


def test_the_last_rules_before_later_upgrades_that_price_it():
    assert {one.name for one in dated_rules().values() if one.no_set_code is None} == {
        "op-mainnet/isthmus", "op-mainnet/jovian", "op-mainnet/karst", "base/isthmus", "base/jovian",
        "arbitrum-one", "scroll/curie", "scroll/galileo", "scroll/galileo-v2", "taiko", "celo/isthmus",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["op-mainnet", "base", "scroll", "arbitrum-one", "taiko"])
def test_max_send_holds_back_what_the_list_costs(name):
    have = 10**17
    now = Now(base_fee=2 * 10**7, l1_base_fee=10**9, blob_base_fee=10**8)
    asked = {"now": now, "gas_limit": GAS, "max_fee_per_gas": 10**8}
    found = max_send(name, have, CALL, **asked)
    without = max_send(name, have, {"to": CALL["to"]}, **asked)

    assert found.max_value == have - found.held
    assert (found.held > without.held) == (name != "taiko")
    if name in ("op-mainnet", "base", "scroll"):  # valid under the fees that it was held back for
        one = Transaction(
            type=4, chain_id=chain(name).chain_id, max_fee=10**8, gas_limit=GAS, to=b"\x11" * 20,
            value=found.max_value, authorizations=PARSED.authorizations,
        )  # fmt: skip
        bounds = sending._l1_fee_bounds(10**9, 10**8, 1)
        paid = rule(name).fees(
            measured_sizes([one.with_placeholder_signature()]), base_fee=bounds[0], blob_base_fee=bounds[1]
        )
        assert found.l1_fee >= int(paid.l1[0])


@pytest.mark.parametrize(("change", "message"), [
    ({"authorizations": ()}, "authorizations: expected at least one in a transaction of type 4"),
    ({"type": 2}, "authorizations: expected at least one in a transaction of type 4, and none in other types"),
    ({"to": None}, "to: expected an address in a transaction of type 4"),
    ({"authorizations": (LIST[0],)}, r"authorizations\[0\]: expected an Authorization"),
    ({"authorizations": (PARSED.authorizations[0]._replace(nonce=2**64),)},
     r"authorizations\[0\]\.nonce: expected at most 18,446,744,073,709,551,615"),
    ({"authorizations": (PARSED.authorizations[0]._replace(y_parity=256),)}, "y_parity: expected at most 255"),
    ({"authorizations": (PARSED.authorizations[0]._replace(address=b"1"),)}, "expected an address of 20 bytes"),
    ({"type": 3}, "type: expected 0, 1, 2 or 4, got 3"),
])  # fmt: skip
def test_what_the_eip_calls_invalid_is_refused(change, message):
    with pytest.raises(InvalidInput, match=message):
        replace(PARSED, **change)


@pytest.mark.parametrize(("old", "new", "message"), [
    ("04f90185", "04f90184", "expected RLP"),
    ("f85a0a94", "f85a0094", r"transaction\.chain_id: expected an integer of at most 32 bytes without leading zeros"),
    ("f8baf85a", "b8baf85a", "expected lists of chain id, address, nonce, y parity, r and s"),
])  # fmt: skip
def test_a_malformed_encoding_is_refused(old, new, message):
    assert RAW.hex().count(old) == 1
    with pytest.raises(InvalidInput, match=message):
        parse_transaction("0x" + RAW.hex().replace(old, new))


@pytest.mark.parametrize(("call", "message"), [
    (CALL | {"gasPrice": "0x7"}, "call.gasPrice: expected maxFeePerGas in a call with authorizations"),
    (CALL | {"authorizationList": [{}]}, r"call\.authorizationList\[0\]\.chainId: expected an integer, got None"),
    (CALL | {"authorizationList": [LIST[0] | {"nonse": 1}]}, "nonse"),
    ({name: value for name, value in SENT.items() if name != "authorizationList"},
     r"authorizations: expected at least one in a transaction of type 4"),
])  # fmt: skip
def test_a_call_whose_list_cannot_be_encoded_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        fill(parse_call(call), gas=GAS, chain_id=1, set_code=True)


def test_linea_s_own_measure_is_as_it_was():
    """A call is measured without its list, as its estimate does; what was sent has no published fee."""
    with pytest.raises(InvalidInput, match="no fee for this type is published, got 4"):
        feemodel.fee_size(RAW)
    with pytest.raises(InvalidInput, match="no fee for this type is published, got 4"):
        feemodel.fee_size(SENT)
    for table in (pd.DataFrame([SENT]), pd.DataFrame({"raw": [RAW]})):
        with pytest.raises(InvalidInput, match=r"row 1: .*no fee for this type is published"):
            feemodel.fee_sizes(table)
        assert priced_rows(table) == [False]
        assert priced_rows(table, set_code=True) == [True]
        assert transactions_of(table, set_code=True)[0].signed() == RAW
    assert fee_bytes(CALL, gas=GAS) == fee_bytes({"to": CALL["to"]}, gas=GAS)


def run(capsys, *arguments):
    code = main([*map(str, arguments)])
    return code, *capsys.readouterr()


def test_the_verb_compares_it_where_it_is_carried(capsys, tmp_path):
    code, out, _ = run(capsys, "compare", to_hex(RAW), "--json")
    answer = json.loads(out)
    assert (code, answer["signedBytes"]) == (0, len(RAW))
    carried = [one.name for one in rules_at()[0] if one.no_set_code is None]
    assert sorted(row["rule"] for row in answer["rules"]) == sorted(carried)
    assert "(EIP-7702): its node refuses their encoding" in answer["without"]["zksync-era"]
    code, _, error = run(capsys, "compare", to_hex(RAW), "--only", "linea,taiko")
    assert (code, "linea has no fee rule for transactions of type 4" in error) == (2, True)
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in (SENT, SENT | {"type": "0x2", "authorizationList": []})))
    for rules, count in (("op-mainnet/isthmus", 2), ("op-mainnet/isthmus,linea", 1)):
        code, out, _ = run(capsys, "compare", path, "--only", rules, "--json")
        assert (code, json.loads(out)["transactions"]) == (0, count)
    code, out, _ = run(capsys, "compare", json.dumps(CALL | {"gas": hex(GAS)}), "--only", "base/jovian", "--json")
    placed = fill(parse_call(CALL), gas=GAS, chain_id=59_144, set_code=True).with_placeholder_signature()
    assert (code, json.loads(out)["signedBytes"]) == (0, len(placed.signed()))
    code, _, error = run(capsys, "explain", to_hex(RAW))
    assert (code, "no fee for this type is published, got 4" in error) == (2, True)
