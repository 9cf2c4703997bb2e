"""Every error that a call may be answered with, in its words: one table, beside that of the page."""

import re

import msgspec
import pytest

from feemodel.estimates.chain import LEDGER
from feemodel.io.shipped import shipped_path
from feemodel.server import execute
from feemodel.server.settings import Settings
from tests.conftest import ROOT
from tests.helpers.development import HOLDERS, RECORDS
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.server.parts import opened, request
from tests.server.wire import ANNA, AUTHORIZATION, BERT, EMPTY, LIST, LOOP, NOBODY, SWAP, TOKENS, TRANSFER, data

GLUTTON = {NOBODY: {"code": "0x5b621e84805a115f57"}}  # runs for as long as it has more than 2,000,000 gas


@pytest.fixture(scope="module")
def client():
    settings = Settings()
    if not HAS_NATIVE:
        settings = msgspec.structs.replace(settings, seconds=120)  # the reference is slow
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(execute, "TOTAL_GAS", 20_000_000)
        with opened(settings, store=shipped_path(LEDGER), started=False) as client:
            yield client


REVERTED = "execution reverted"
TOO_MUCH = "ERC20: transfer amount exceeds balance"
WITHOUT_FUNDS = {"from": NOBODY, "to": BERT, "gasPrice": "0x7"}


def text(reason):
    padded = reason.encode().hex().ljust(-(-len(reason) // 32) * 64, "0")
    return f"0x08c379a0{32:064x}{len(reason):064x}{padded}"


def refused(code, message, *asked, marks=(), **more):
    """A call, and the whole of the error that answers it."""
    return pytest.param(asked, {"code": code, "message": message, **more}, id=f"{code} {message[:50]}", marks=marks)


#: The reference engine has a gas cap of its own.
NATIVE = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)


ESTIMATE, GETH = "rollup_estimateGas", "eth_estimateGas"
ERRORS = [
    refused(3, f"{REVERTED}: {TOO_MUCH}", ESTIMATE,
            {**TOKENS, "data": data("transfer(address,uint256)", HOLDERS[1], 10**25)}, data=text(TOO_MUCH)),
    refused(3, f"{REVERTED}: out-of-bounds access of an array or bytesN", ESTIMATE,
            {"to": LIST, "data": data("valueAt(uint256)", 200)}, data=f"0x4e487b71{0x32:064x}"),
    refused(3, REVERTED, ESTIMATE, {"to": SWAP, "data": data("quote(address,uint256)", RECORDS, 1)},
            data=data("UnknownToken(address)", RECORDS)),
    refused(3, REVERTED, GETH, {"to": LIST}, data="0x"),
    refused(3, f"{REVERTED}: {TOO_MUCH}", "eth_call",
            {**TOKENS, "data": data("transfer(address,uint256)", HOLDERS[1], 10**25)}, data=text(TOO_MUCH)),

    refused(-32000, f"transaction up-front cost 0x152d02c7e14afd800000 exceeds transaction sender account balance "
                    f"0x21e19e0c9bab2400000 for sender {ANNA}", ESTIMATE, {**TRANSFER, "value": hex(10**23)},
            marks=NATIVE),
    refused(-32000, "failed with 16777216 gas: insufficient funds for gas * price + value: address "
                    "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 have 10000000000000000000000 want "
                    "100000000000000000000000", GETH, {**TRANSFER, "value": hex(10**23)}, marks=NATIVE),
    refused(-32000, "insufficient funds for transfer", GETH, {**WITHOUT_FUNDS, "value": "0x1"}),
    refused(-32000, "insufficient funds for transfer", GETH, WITHOUT_FUNDS),
    refused(-32000, "gas required exceeds allowance (16777216)", ESTIMATE, {"from": ANNA, "to": NOBODY}, LOOP,
            marks=NATIVE),
    refused(-32000, "gas required exceeds allowance (50000)", GETH,
            {"from": ANNA, "to": NOBODY, "gas": "0xc350"}, "latest", LOOP),
    refused(-32000, "out of gas", "eth_call", {"to": NOBODY, "gas": "0xc350"}, "latest", LOOP),
    refused(-32000, "invalid opcode: INVALID", ESTIMATE, {"data": "0xfe"}),
    refused(-32000, "invalid opcode: opcode 0xc not defined", ESTIMATE, {"data": "0x0c"}),
    refused(-32000, "stack underflow", ESTIMATE, {"data": "0x56"}),
    refused(-32000, "invalid jump destination", ESTIMATE, {"data": "0x5f56"}),
    refused(-32000, "max initcode size exceeded: code size 49153 limit 49152", ESTIMATE,
            {"data": "0x" + "00" * 49_153}),
    refused(-32000, f"nonce has max value: address {NOBODY}, nonce: 18446744073709551615", ESTIMATE,
            {"from": NOBODY, "to": BERT}, {NOBODY: {"nonce": hex(2**64 - 1)}}),
    refused(-32000, "transaction was meant for chain id 1 and not this chain id 1337", ESTIMATE, {"chainId": "0x1"}),
    refused(-32000, "chainId does not match node's (have=1, want=1337)", GETH, {"chainId": "0x1"}),
    refused(-32000, "max priority fee per gas cannot be greater than max fee per gas", ESTIMATE,
            {"maxFeePerGas": "0x8", "maxPriorityFeePerGas": "0x9"}),

    refused(-32004, "Upfront cost exceeds account balance", ESTIMATE, WITHOUT_FUNDS),
    refused(-32004, "Upfront cost exceeds account balance", ESTIMATE, {"from": NOBODY, "to": BERT, "maxFeePerGas": 1}),

    refused(-32005, "the executions of one estimate took more than 20,000,000 gas together", ESTIMATE,
            {"from": ANNA, "to": NOBODY}, GLUTTON, marks=NATIVE),

    refused(-32600, "block 0x1 is not final: the newest final block is 0", "rollup_getProof", ANNA, [], "0x1"),
    refused(-32601, "the method eth_sendTransaction does not exist/is not available", "eth_sendTransaction", "0x"),
    refused(-32601, "the method  does not exist/is not available", ""),

    refused(-32602, "missing value for required argument 0 (call)", ESTIMATE),
    refused(-32602, "too many arguments, want at most 4", ESTIMATE, {}, None, None, None, None),
    refused(-32602, "call: expected an object with the fields of a call, got '0x'", ESTIMATE, "0x"),
    refused(-32602, "call.gas: expected at most 30,000,000, got 30000001", ESTIMATE,
            {**TRANSFER, "gas": hex(30_000_001)}),
    refused(-32602, "call.gasPrice: expected either gasPrice or maxFeePerBlobGas, got 1", ESTIMATE,
            {"gasPrice": "0x1", "maxFeePerBlobGas": "0x1"}),
    refused(-32602, "call.authorizationList[1].s: expected an integer, got None", ESTIMATE,
            {"to": BERT, "authorizationList": [AUTHORIZATION, {**AUTHORIZATION, "s": None}]}),
    refused(-32602, "overrides: expected an object of addresses, got 'x'", ESTIMATE, {}, "latest", "x"),
    refused(-32602, f"overrides.{NOBODY}.fake: expected one of balance, nonce, code, state, stateDiff, got 1", ESTIMATE,
            {}, {NOBODY: {"fake": 1}}),
    refused(-32602, "storageKeys: at most 1,024 per request, got 1,025", "rollup_getProof", ANNA,
            [EMPTY] * 1_025, "0x0"),
    refused(-32602, "missing value for required argument 2 (block)", "rollup_getProof", ANNA, []),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "error"), ERRORS)
def test_what_is_wrong_is_said_in_these_words(client, asked, error):
    assert client.error(*asked) == error


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"{", -32700, "Parse error: Input data was truncated"),
        (b"[]", -32600, "Invalid Request: a batch holds 1 to 1,000 calls, this one 0"),
        (
            b"[" + b",".join([request("eth_chainId")] * 1_001) + b"]",
            -32600,
            "Invalid Request: a batch holds 1 to 1,000 calls, this one 1,001",
        ),
        (b'{"jsonrpc": "2.0"}', -32600, "Invalid Request"),
    ],
)
def test_what_is_no_call_is_refused_by_the_specification(client, body, code, message):
    response = client.http("POST", "/", body).json()
    assert (response["id"], response["error"]["code"], response["error"]["message"]) == (None, code, message)


def test_every_row_of_the_table_of_errors_is_answered_by_some_call():
    """-32002 by a node that is gone, in test_node; -32603 by an exception that nobody foresaw, in test_dispatch."""
    here = {case.values[1]["code"] for case in ERRORS} | {-32700, -32600}
    page = (ROOT / "docs" / "reference" / "server.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (−?\d+) \|", page.partition("## Errors")[2], flags=re.MULTILINE)
    assert here | {-32002, -32603} == {int(code.replace("−", "-")) for code in rows}
