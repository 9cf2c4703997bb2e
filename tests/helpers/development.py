"""The development genesis as a state, its contracts by name, and calls on them encoded by signature."""

import json

import coincurve
from ethereum_rlp import rlp

from feemodel.estimates.chain import genesis_chain
from feemodel.ethereum._hashes import Authorization, keccak256
from feemodel.ethereum._quantities import from_hex
from feemodel.execution import CallState
from feemodel.ledger import parse_genesis
from tests.conftest import ROOT

DEVELOPMENT = ROOT / "data" / "development"
GENESIS = DEVELOPMENT / "genesis.json"
CONTRACTS = json.loads((DEVELOPMENT / "contracts.json").read_bytes())
ALDER, BIRCH = (from_hex(where) for where in CONTRACTS["Token"]["addresses"])
POOL, RECORDS = (from_hex(CONTRACTS[name]["addresses"][0]) for name in ("Pool", "Records"))
HOLDERS = [account.address for account in parse_genesis(json.loads(GENESIS.read_bytes())) if not account.code]
UNIT = 10**18  # of both tokens
CHAIN_ID, BASE_FEE = 1337, 7
MAX_WORD = 2**256 - 1

# Where the compiler put the variables of the contracts.
BALANCES, ALLOWANCES, LENGTH = 0, 1, 0


def development_state() -> CallState:
    """The development genesis as a call on its block sees it."""
    return genesis_chain(json.loads(GENESIS.read_bytes())).call_state


def encoded(signature: str, *arguments: int | bytes) -> bytes:
    """Calldata of a function whose arguments are numbers and addresses."""
    return keccak256(signature.encode())[:4] + words(*arguments)


def words(*values: int | bytes) -> bytes:
    """Numbers and addresses as 32 bytes each."""
    return b"".join((value if isinstance(value, bytes) else value.to_bytes(32)).rjust(32, b"\0") for value in values)


def token_creation(name: str, symbol: str, supply: int) -> bytes:
    """The init code of another token."""
    texts = b"".join(words(len(text)) + text.encode().ljust(32, b"\0") for text in (name, symbol))
    return from_hex(CONTRACTS["Token"]["initCode"]) + words(96, 160, supply) + texts


def mapped(slot: int, *keys: bytes) -> int:
    """The slot of an entry of a mapping, or of a mapping of mappings, that the compiler put at `slot`."""
    for key in keys:
        slot = int.from_bytes(keccak256(words(key, slot)))
    return slot


def creation_address(sender: bytes, nonce: int) -> bytes:
    """Where a contract of this sender comes to stand."""
    return keccak256(rlp.encode([sender, minimal(nonce)]))[12:]


def minimal(number: int) -> bytes:
    """A number as RLP has it."""
    return number.to_bytes((number.bit_length() + 7) // 8)


def account_of(key: coincurve.PrivateKey) -> bytes:
    """The address of a key."""
    return keccak256(key.public_key.format(compressed=False)[1:])[12:]


def consent(key: coincurve.PrivateKey, chain_id: int, target: bytes, nonce: int) -> Authorization:
    """The authorization of a key's account to run the code of another one."""
    digest = keccak256(b"\x05" + rlp.encode([minimal(chain_id), target, minimal(nonce)]))
    signature = key.sign_recoverable(digest, hasher=None)
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
    return Authorization(chain_id=chain_id, address=target, nonce=nonce, y_parity=signature[64], r=r, s=s)
