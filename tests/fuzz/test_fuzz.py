"""Parsers of requests under bad input: seeds changed in their structure, and the inputs that once broke something."""

import copy
import json
import tracemalloc
from pathlib import Path

import pytest
from ethereum_rlp import rlp
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.estimates.chain import LEDGER
from feemodel.ethereum._call import parse_call
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import Transaction, intrinsic_gas, parse_sender_unsigned, parse_transaction
from feemodel.execution._state import parse_overrides
from feemodel.io.shipped import shipped_path
from feemodel.server.settings import Settings
from tests.conftest import ROOT
from tests.ethereum.test_transaction import RAW as REAL
from tests.fuzz.answers import check_answer
from tests.server.parts import opened
from tests.server.wire import ANNA, AUTHORIZATION, BERT, BLOB, NOBODY, OTHER

FOLDER = ROOT / "tests" / "fuzz"
KEPT = sorted(path for kind in ("corpus", "crashes") for path in (FOLDER / kind).rglob("*") if path.is_file())
#: Bodies with a kept call or kept overrides.
BODIES = {
    "rpc": b"%s",
    "call": b'{"jsonrpc":"2.0","id":1,"method":"rollup_estimateGas","params":[%s]}',
    "overrides": b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{},"latest",%s]}',
}
#: JSON as its writer would not write it, some of it around the interpreter's limit.
RAW = [
    "-0", "1.0", "-0.0", "1e3", "1e309", "-1e999", "NaN", "Infinity", "1" + "0" * 400, "9" * 4_300, "9" * 4_301, "01",
    "1_000", "0x1", "+1", ".5", "1.", "[[]]", '{"":0}', '{"a":1,"a":2}', '["' + "a" * 9_000 + '"' + ',""' * 2_000 + "]",
    *(left * depth + "0" + right * depth for left, right in (("[", "]"), ('{"a":', "}")) for depth in (65, 900, 990)),
]  # fmt: skip
TEXTS = [
    "", "0", "0x", "0X1", "0x0", "0x00", "0x01", "0x1g", " 0x1", "0x1\n", "0x-1", "0x1_0", "-0x1", "0x" + "00" * 20,
    "0x" + "11" * 20, "0x" + "00" * 32, "0x" + "ff" * 32, "0x1" + "0" * 64, "0x" + "f" * 16, "0x1" + "0" * 16,
    "0x" + "f" * 5_000, "0x" + "11" * 33, "11" * 20, "0x" + "aB" * 20, "１２", "0x１", "0x\u0000", "\ud800", "latest",
    "pending", "2.0", "__class__", "a" * 3_000,
]  # fmt: skip
NUMBERS = [0, 1, -1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**256 - 1, 2**256]
JSON_VALUES = (
    st.sampled_from([None, True, False, [], {}, *TEXTS, *NUMBERS])
    | st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(0, len(RAW) - 1).map("\0{}".format)
)  # fmt: skip
RLP_VALUES = st.sampled_from([b"", b"\0", b"\1", b"\x80", b"\0\1", b"\x11" * 20, b"\xff" * 32, b"\1" * 33, []])
RLP_VALUES |= st.binary(max_size=40)


@st.composite
def changed(draw, seeds, values):
    """A seed in which some places hold another value, are left out, or stand twice."""
    root = [copy.deepcopy(draw(st.sampled_from(seeds)))]
    for _ in range(draw(st.integers(1, 3))):
        places = [
            (owner, place) for owner in owners(root) for place in (owner if type(owner) is dict else range(len(owner)))
        ]
        owner, place = draw(st.sampled_from(places))
        kind = draw(st.sampled_from(["another", "another", "gone", "twice", "wrapped", "of another place"]))
        if kind == "gone" and owner is not root:
            del owner[place]
        elif kind == "twice" and type(owner) is list and owner is not root:
            owner.insert(place, copy.deepcopy(owner[place]))
        elif kind == "wrapped":
            owner[place] = [owner[place]]
        elif kind == "of another place":
            other, elsewhere = draw(st.sampled_from(places))
            owner[place] = copy.deepcopy(other[elsewhere])
        else:
            owner[place] = draw(values)
        if not root[0]:
            break
    return root[0]


def owners(value):
    """Every list and object."""
    if isinstance(value, (list, dict)):
        yield value
        for inner in list(value.values() if isinstance(value, dict) else value):
            yield from owners(inner)


def spliced(data, draw):
    """One time in four, bytes with some of them replaced."""
    if draw(st.integers(0, 3)):
        return data
    start = draw(st.integers(0, len(data)))
    return data[:start] + draw(st.binary(max_size=4)) + data[start + draw(st.integers(0, 4)) :]


# Bodies of requests


@pytest.fixture(scope="module")
def server():
    """Limits are small, so that what a good request costs does not keep the bad ones waiting."""
    with opened(Settings(gas_cap=100_000, seconds=5.0), store=shipped_path(LEDGER), started=False) as client:
        yield client


@pytest.fixture(scope="module")
def requests(server):
    """A call of every method, and the forms that a request may have."""
    described = server.http("GET", "/openrpc.json").json()["methods"]
    examples = [[one["name"], [value["value"] for value in one["examples"][0]["params"]]] for one in described]
    sent = {"from": ANNA, "to": OTHER, "value": "0x1", "data": "0x00ff"}
    listed = [{"address": ANNA, "storageKeys": ["0x" + "33" * 32]}, {"address": OTHER, "storageKeys": None}]
    overrides = {OTHER: {"code": "0x5f355f5260205ff3", "stateDiff": {"0x" + "00" * 32: "0x" + "01".zfill(64)}}}
    more = [
        {"gas": "0x5208", "gasPrice": "0x7", "nonce": "0x0", "chainId": "0x539", "accessList": listed},
        {"input": "0x00ff", "maxFeePerGas": "0x9", "maxPriorityFeePerGas": "0x1"},
        {"authorizationList": [AUTHORIZATION]}, {"blobVersionedHashes": [BLOB], "maxFeePerBlobGas": "0x1"},
    ]  # fmt: skip
    examples += [["rollup_estimateGas", [sent | fields, overrides]] for fields in more]
    examples += [["nothing", []], ["rollup_getProof", {"address": ANNA, "storageKeys": [], "block": "finalized"}]]
    calls = [{"jsonrpc": "2.0", "id": 1, "method": method, "params": params} for method, params in examples]
    notification = {"jsonrpc": "2.0", "method": "eth_chainId", "params": []}
    return [*calls, notification, [*calls[:3], notification, 1], [], [notification], 1.5]


def answer(server, body):
    return server.loop.run(server.service.dispatcher.answer(body))


@settings(max_examples=400)
@given(data=st.data())
def test_every_body_is_answered_as_the_specification_says(server, requests, data):
    """Most changes are within the parameters of a call."""
    request = data.draw(st.sampled_from(requests))
    if isinstance(request, dict) and data.draw(st.integers(0, 3)):
        text = json.dumps(request | {"params": data.draw(changed([request["params"]], JSON_VALUES))})
    else:
        text = json.dumps(data.draw(changed([request], JSON_VALUES)))
    for place, written in enumerate(RAW):
        text = text.replace(f'"\\u0000{place}"', written)
    body = spliced(text.encode(), data.draw)
    check_answer(body, answer(server, body))


# Transactions

MAINNET = bytes.fromhex(REAL[2:])
LISTED = ((b"\x22" * 20, (bytes(32), b"\x33" * 32)), (b"\x44" * 20, ()))
SAMPLES = [
    Transaction(nonce=1, gas_price=7, gas_limit=21_000, to=b"\x11" * 20, value=1),
    Transaction(gas_price=7, gas_limit=2**64 - 1, data=bytes(60), chain_id=59_144),
    Transaction(type=1, chain_id=1, gas_price=2**256 - 1, gas_limit=1, to=b"\x11" * 20, access_list=LISTED),
    Transaction(type=2, chain_id=59_144, max_fee=9, max_priority_fee=2, gas_limit=9, access_list=LISTED),
    parse_transaction(MAINNET),
]


def signed(data):
    return parse_transaction(data), parse_transaction(data).signed()


def sender_unsigned(data):
    """The form that blobs carry."""
    sender, transaction = parse_sender_unsigned(data)
    return transaction, sender + transaction.unsigned()


FORMS = {"transaction": signed, "sender_unsigned": sender_unsigned}
SEEDS = {
    "transaction": [MAINNET, *(one.with_placeholder_signature().signed() for one in SAMPLES)],
    "sender_unsigned": [bytes(20) + one.unsigned() for one in SAMPLES],
}


def read(form, data):
    """What is read and how it is written again, or the words by which it is refused."""
    try:
        return FORMS[form](data)
    except InvalidInput as error:
        return str(error)


def check_transaction(form, data):
    """A transaction that is read is written again to the byte; any other is refused in words that do not outgrow it."""
    found = read(form, data)
    if isinstance(found, str):
        assert 0 < len(found) <= 2_000 + 2 * len(data)
        return
    transaction, written = found
    assert written == data
    assert intrinsic_gas(transaction) >= 21_000
    assert all(len(address) == 20 and {*map(len, keys)} <= {32} for address, keys in transaction.access_list)
    if (transaction.chain_id or 0).bit_length() <= 254:  # `v` has the chain id twice, and 256 bits
        again = transaction.with_placeholder_signature()
        assert parse_transaction(to_hex(again.signed())) == again


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=300)
@given(data=st.data())
def test_changed_transactions_are_read_in_full_or_refused(form, data):
    """The RLP stands behind the sender and the byte of the type, where they are."""
    seed = data.draw(st.sampled_from(SEEDS[form]))
    start = 20 if form == "sender_unsigned" else 0
    start += seed[start] < 0x80
    root = data.draw(changed([lists(rlp.decode(seed[start:]))], RLP_VALUES))
    check_transaction(form, spliced(seed[:start] + rlp.encode(root), data.draw))


def lists(item):
    return item if isinstance(item, bytes) else [lists(one) for one in item]


# Inputs that once broke something


@pytest.mark.parametrize("path", KEPT, ids=lambda path: "/".join(path.parts[-3:]))
def test_no_kept_input_shows_a_defect(server, path: Path):
    """Those under `crashes` once did; those under `corpus` reach what others do not."""
    kind, data = path.parent.name, path.read_bytes()
    if kind in FORMS:
        check_transaction(kind, data)
    else:
        check_answer(BODIES[kind] % data, answer(server, BODIES[kind] % data))


@pytest.mark.parametrize(
    "read",
    [
        lambda listed: parse_call({"gas": listed}),
        lambda listed: parse_call({"to": BERT, "authorizationList": [{"chainId": listed}]}),
        lambda listed: parse_overrides({BERT: {"balance": listed}}),
    ],
    ids=["a call", "an authorization", "an override"],
)
def test_a_list_where_a_number_belongs_costs_nothing(read):
    """As an array of texts each of its 2,000 cells would be as long as the longest: 800 MB of a 100 KB request."""
    listed = ["a" * 100_000, *[""] * 2_000]
    tracemalloc.start()
    with pytest.raises(InvalidInput, match='expected an integer or a quantity such as "0x5208"'):
        read(listed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


def test_a_slot_that_is_named_twice_is_refused():
    """In lower case and in capitals: one of its values would be lost."""
    slots = {"0x" + digits * 32: "0x" + "00" * 32 for digits in ("ab", "AB")}
    with pytest.raises(InvalidInput, match="stateDiff"):
        parse_overrides({NOBODY: {"stateDiff": slots}})
