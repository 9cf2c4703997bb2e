"""Contracts for each cause of a gas limit that is too low, or cannot be found; hexadecimal code."""

from collections.abc import Iterator
from typing import Any

from feemodel.ethereum._hashes import Authorization
from tests.helpers.replays import authority_of

SENDER, TARGET, CALLEE, INNER = (number.to_bytes(20) for number in (0x5E17DE5, 0x7A67, 0xCA11, 0x1A7E12))
#: Code and storage of a contract.
Contracts = dict[bytes, tuple[str, dict[int, int]]]
Own = tuple[str, str, str, Contracts, dict[str, Any]]

REVERTS = "5f5ffd"
#: Init code of a contract of 32 zero bytes.
INIT = "60205ff3"
#: The x-coordinate of secp256k1's generator: with it every `s` signs for some account.
GENERATOR = 0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798


def stores(count: int, value: int = 1) -> str:
    """Writes to storage slots: 22,100 gas each where they were empty."""
    return "".join(f"60{value:02x}60{slot:02x}55" for slot in range(count))


def calls(target: bytes, *, value: int = 0, gas: str = "5a", kind: str = "f1") -> str:
    """A call that leaves whether it succeeded on the stack."""
    amount = f"60{value:02x}" if kind == "f1" else ""
    return f"5f5f5f5f{amount}73{target.hex()}{gas}{kind}"


def passes_on(code: str) -> str:
    """Code that reverts if its last item on the stack is 0."""
    return f"{code}60{len(code) // 2 + 6:02x}57{REVERTS}5b"


def creates(opcode: str = "f5") -> str:
    """A creation, which leaves the address or 0 on the stack."""
    salt = "5f" if opcode == "f5" else ""
    return f"63{INIT}5f52{salt}6004601c5f{opcode}"


def proxy(implementation: bytes) -> str:
    """EIP-1167."""
    return f"363d3d373d3d3d363d73{implementation.hex()}5af43d82803e903d91602b57fd5bf3"


def authorized(delegate: bytes, nonce: int) -> tuple[bytes, dict[str, Any]]:
    """The account that a signature is of, and the call's fields with its authorization to run the delegate's code.

    A transaction of this type has no `gasPrice`.
    """
    entry = Authorization(chain_id=0, address=delegate, nonce=nonce, y_parity=0, r=GENERATOR, s=1)
    account = authority_of(entry)
    assert account is not None
    numbers = {"chainId": entry.chain_id, "nonce": nonce, "yParity": entry.y_parity, "r": entry.r, "s": entry.s}
    given = {name: hex(number) for name, number in numbers.items()} | {"address": f"0x{delegate.hex()}"}
    fees = {"gasPrice": None, "maxFeePerGas": "0x7", "maxPriorityFeePerGas": "0x0"}
    return account, {"authorizationList": [given], **fees}


def own_calls() -> Iterator[Own]:
    """Cause, name, code of the contract that is called, other contracts, and fields of the call."""
    for count in (1, 3, 10):
        callee: Contracts = {CALLEE: (stores(count), {})}
        yield "63/64", f"a failure is ignored, {count} slots", f"{calls(CALLEE)}5000", callee, {}
        yield "63/64", f"a failure is passed on, {count} slots", f"{passes_on(calls(CALLEE))}00", callee, {}
        nested: Contracts = {CALLEE: (f"{calls(INNER)}50{stores(1)}", {}), INNER: (stores(count), {})}
        yield "63/64", f"two levels deep, {count} slots", f"{calls(CALLEE)}5000", nested, {}
    for name, code in (("does nothing", "00"), ("logs", "5f5fa0"), ("stores", stores(1)), ("reverts", REVERTS)):
        paid: Contracts = {CALLEE: (code, {})}
        yield "stipend", f"a payment, the callee {name}", f"{calls(CALLEE, value=1)}5000", paid, {}
        yield "stipend", f"a payment of the stipend alone, {name}", f"{calls(CALLEE, value=1, gas='5f')}5000", paid, {}
    for name, opcode in (("CREATE", "f0"), ("CREATE2", "f5")):
        yield "factory", f"{name}, a failure is ignored", f"{creates(opcode)}5000", {}, {}
        yield "factory", f"{name}, a failure is passed on", f"{passes_on(creates(opcode))}00", {}, {}
        yield "factory", f"{name}, the new contract is called", f"{creates(opcode)}5f5f5f5f5f855af15000", {}, {}
    for name, inner in (("stores", stores(2)), ("guards a call", f"{calls(INNER)}50{stores(1)}")):
        kept: Contracts = {CALLEE: (inner, {}), INNER: (stores(3), {})}
        yield "proxy", f"the implementation {name}", proxy(CALLEE), kept, {}
    for name, gas in (("all gas", "5a"), ("a part of the gas", "60025a04"), ("gas less a reserve", "61afc85a03")):
        owned: Contracts = {CALLEE: (stores(3), {})}
        logged = f"{calls(CALLEE, gas=gas)}5f5260205fa0"
        required = f"620186a05a11600c57{REVERTS}5b"  # it reverts with 100,000 gas left or less
        yield "multisig", f"{name}, success is logged", f"{logged}00", owned, {}
        yield "multisig", f"{name}, 100,000 gas are required before", f"{required}{logged}00", owned, {}
    for name, gas in (("enough", "620186a0"), ("too little", "613a98")):
        relayed: Contracts = {CALLEE: (stores(2), {})}
        yield "relayer", f"{name} gas is named", f"{calls(CALLEE, gas=gas)}5f555f5460015500", relayed, {}
    for count in (1, 5, 20):
        held = dict.fromkeys(range(count), 1)
        yield "refund", f"{count} slots are cleared", stores(count, 0), {TARGET: (stores(count, 0), held)}, {}
        callee = {CALLEE: (stores(count, 0), held)}
        yield "refund", f"{count} slots are cleared in a call", f"{calls(CALLEE)}50{stores(1)}", callee, {}
    slots = [f"0x{slot:064x}" for slot in range(3)]
    warm = {"accessList": [{"address": f"0x{CALLEE.hex()}", "storageKeys": slots}]}
    callee = {CALLEE: (stores(3), {})}
    yield "access list", "of what is used", f"{calls(CALLEE)}5000", callee, warm
    unused = {"accessList": [{"address": f"0x{INNER.hex()}", "storageKeys": slots}]}
    yield "access list", "of what is not used", f"{calls(CALLEE)}5000", callee, unused
    for name, code in (("stores", stores(2)), ("guards a call", f"{calls(INNER)}50{stores(1)}")):
        delegated: Contracts = {TARGET: (f"ef0100{CALLEE.hex()}", {}), CALLEE: (code, {}), INNER: (stores(2), {})}
        yield "delegation", f"the delegate {name}", f"ef0100{CALLEE.hex()}", delegated, {}
    account, fields = authorized(CALLEE, nonce=1)
    for name, code in (("stores", stores(2)), ("guards a call", f"{calls(INNER)}50{stores(1)}")):
        agreed: Contracts = {account: ("", {}), CALLEE: (code, {}), INNER: (stores(2), {})}
        yield "authorization", f"the delegate {name}", "", agreed, fields | {"to": f"0x{account.hex()}"}
        yield "authorization", f"the delegate {name}, a failure is ignored", f"{calls(account)}5000", agreed, fields
    new, fields = authorized(CALLEE, nonce=0)  # no gas is given back for an account that is new
    yield "authorization", "of a new account", f"{calls(new)}5000", {CALLEE: (stores(2), {})}, fields
    other, fields = authorized(CALLEE, nonce=5)
    refused: Contracts = {other: ("", {}), CALLEE: (stores(2), {})}
    yield "authorization", "of a wrong nonce, which is paid for", f"{calls(other)}50{stores(1)}", refused, fields
    reads = "".join(f"60{slot:02x}5450" for slot in range(8))
    yield "warm and cold", "slots read once", f"{reads}00", {}, {}
    yield "warm and cold", "slots read twice", f"{reads * 2}00", {}, {}
    yield "warm and cold", "a callee reads the slots of a second one", f"{calls(CALLEE)}50{calls(CALLEE)}5000", {
        CALLEE: (f"{reads}{calls(INNER)}5000", {}), INNER: (f"{reads}00", {})
    }, {}  # fmt: skip
    for name, code in (
        ("GAS is read and dropped", f"5a50{calls(CALLEE)}5000"),
        ("GAS is returned", f"{calls(CALLEE)}505a5f5260205ff3"),
        ("GAS is stored", f"{calls(CALLEE)}505a5f5500"),
        ("more is done with 200,000 gas left", f"62030d405a11600b5700005b{calls(CALLEE)}5000"),
        ("the payer's balance is read", f"323150{calls(CALLEE)}5000"),
    ):
        yield "gas introspection", name, code, {CALLEE: (stores(2), {})}, {}
    halts: Contracts = {CALLEE: ("fe", {}), INNER: (stores(1), {})}
    yield "caught failure", "an INVALID", f"{calls(CALLEE)}5000", halts, {}
    little = f"{calls(CALLEE, gas='61c350')}50{calls(INNER)}5000"
    yield "caught failure", "an INVALID with 50,000 gas", little, halts, {}
    yield "caught failure", "a revert", f"{calls(CALLEE)}50{stores(1)}", {CALLEE: (REVERTS, {})}, {}
