"""ERC-4337 user operations, and the encodings from which public bundlers compute preVerificationGas.

encode : the ABI encoding of an operation; bundlers count the bytes of this encoding
handle_ops : the calldata of a bundle with one operation
rundler_transaction, alto_transaction : the transaction that carries the bundle, with placeholders for unknown fields

Sources: alchemyplatform/rundler, crates/provider/src/alloy/entry_point/mod.rs (max_bundle_transaction_data) and
crates/types/src/authorization.rs; pimlicolabs/alto at b1873c9, src/rpc/estimation/preVerificationGasCalculator.ts;
candidelabs/voltaire at 21e7845, voltaire_bundler/gas.
"""

from dataclasses import dataclass, replace
from typing import Any

from feemodel.checks import UINT64_MAX, UINT256_MAX, choice, instance, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._transaction import (
    DYNAMIC_FEE,
    SET_CODE,
    Authorization,
    Signature,
    Transaction,
    rlp_encoded,
)

WORD = 32
UINT128_MAX, UINT32_MAX = 2**128 - 1, 2**32 - 1
#: Version → address of the entry point, the same on every chain.
ENTRY_POINTS = {
    "0.6": bytes.fromhex("5ff137d4b0fdcd49dca30c7cf57e578a026d2789"),
    "0.7": bytes.fromhex("0000000071727de22e5e9d8baf0edac6f37da032"),
}
HANDLE_OPS = {"0.6": bytes.fromhex("1fad948c"), "0.7": bytes.fromhex("765e827f")}
#: Beneficiary of the bundle. rundler uses a random address; this hash compresses as badly as a random address.
BENEFICIARY = keccak256(b"beneficiary")[:20]
ALTO_NONCE, ALTO_SIGNATURE = 999_999, bytes.fromhex("1234512345" * 6)
PAYMASTER_LIMITS = slice(20, 36), slice(36, 52)  # gas limits in paymasterAndData of EntryPoint 0.7
PAYMASTER_DATA = 52


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOperation:
    """A user operation of entry point 0.6 or 0.7; encodings for 0.7 have packed gas fields."""

    sender: bytes  #: 20 bytes
    nonce: int = 0
    init_code: bytes = b""  #: factory and its data
    call_data: bytes = b""
    call_gas_limit: int = 0  #: [gas]
    verification_gas_limit: int = 0  #: [gas]
    pre_verification_gas: int = 0  #: [gas]
    max_fee_per_gas: int = 0  #: [wei / gas]
    max_priority_fee_per_gas: int = 0  #: [wei / gas]
    paymaster_and_data: bytes = b""  #: for 0.7: paymaster, its two gas limits of 16 bytes each, and its data
    signature: bytes = b""
    entry_point: str = "0.7"
    delegate: bytes = b""  #: address in the EIP-7702 authorization (20 bytes); empty: no authorization

    def __post_init__(self) -> None:
        for name in ("sender", "delegate"):
            given = getattr(self, name)
            if not isinstance(given, bytes) or len(given) not in ((20,) if name == "sender" else (0, 20)):
                raise InvalidInput(name, "expected 20 bytes", given)
        for name in ("init_code", "call_data", "paymaster_and_data", "signature"):
            if not isinstance(getattr(self, name), bytes):
                raise InvalidInput(name, "expected bytes", getattr(self, name))
        for name in ("nonce", "call_gas_limit", "verification_gas_limit", "pre_verification_gas", "max_fee_per_gas",
                     "max_priority_fee_per_gas"):  # fmt: skip
            highest = UINT256_MAX if name in ("nonce", "pre_verification_gas") else UINT128_MAX
            whole_scalar(name, getattr(self, name), maximum=highest)
        choice("entry_point", self.entry_point, ENTRY_POINTS)
        if self.entry_point == "0.7" and 0 < len(self.paymaster_and_data) < PAYMASTER_DATA:
            reason = f"expected no bytes, or at least {PAYMASTER_DATA} bytes (the paymaster and two gas limits)"
            raise InvalidInput("paymaster_and_data", reason, self.paymaster_and_data)

    @property
    def paymaster_verification_gas_limit(self) -> int:
        """Gas limit of the paymaster's validation; 0 for entry point 0.6, which has no such limit [gas]."""
        return self._paymaster_limit(0)

    @property
    def post_operation_gas_limit(self) -> int:
        """Gas limit of the paymaster's postOp; 0 for entry point 0.6, which has no such limit [gas]."""
        return self._paymaster_limit(1)

    def _paymaster_limit(self, index: int) -> int:
        limits = self.paymaster_and_data[PAYMASTER_LIMITS[index]] if self.entry_point == "0.7" else b""
        return int.from_bytes(limits, "big")


def encode(operation: UserOperation) -> bytes:
    """Return the ABI encoding of a user operation: the offset of a tuple, followed by the tuple of the fields.

    >>> len(encode(UserOperation(sender=bytes(20)))), len(encode(UserOperation(sender=bytes(20), entry_point="0.6")))
    (448, 512)
    """
    op = instance("operation", operation, UserOperation)
    if op.entry_point == "0.6":
        gas: tuple[int | bytes, ...] = (
            op.call_gas_limit, op.verification_gas_limit, op.pre_verification_gas, op.max_fee_per_gas,
            op.max_priority_fee_per_gas,
        )  # fmt: skip
    else:
        limits = op.verification_gas_limit << 128 | op.call_gas_limit
        gas = (limits, op.pre_verification_gas, op.max_priority_fee_per_gas << 128 | op.max_fee_per_gas)
    fields = (int.from_bytes(op.sender, "big"), op.nonce, op.init_code, op.call_data, *gas, op.paymaster_and_data,
              op.signature)  # fmt: skip
    head, tail = b"", b""
    for field in fields:
        if isinstance(field, bytes):
            head += _word(WORD * len(fields) + len(tail))
            tail += _word(len(field)) + field + bytes(-len(field) % WORD)
        else:
            head += _word(field)
    return _word(WORD) + head + tail


def handle_ops(operation: UserOperation, *, beneficiary: bytes = BENEFICIARY) -> bytes:
    """Return the calldata of `handleOps` for a bundle with one operation.

    Parameters
    ----------
    operation : the operation.
    beneficiary : address that is paid for the bundle, 20 bytes.

    The calldata is 4 + 4 · 32 − 32 = 100 bytes longer than the encoded operation, because the calldata has a selector
    of 4 bytes, four words (two arguments, length of the array, offset of the element), and the encoded operation
    without the first word:

    >>> len(handle_ops(UserOperation(sender=bytes(20)))) - len(encode(UserOperation(sender=bytes(20))))
    100
    """
    op = instance("operation", operation, UserOperation)
    if not isinstance(beneficiary, bytes) or len(beneficiary) != 20:
        raise InvalidInput("beneficiary", "expected 20 bytes", beneficiary)
    head = _word(2 * WORD) + bytes(12) + beneficiary + _word(1) + _word(WORD)
    return HANDLE_OPS[op.entry_point] + head + encode(op)[WORD:]


def rundler_transaction(
    operation: UserOperation, *, gas_price: int, chain_id: int, beneficiary: bytes = BENEFICIARY
) -> bytes:
    """Return the transaction whose size rundler measures, with the maximum value in every unknown field.

    All bits are 1 in the following fields: the nonce, gas limit and chain id (4 bytes each); r and s of the signature
    (32 bytes each); the fees (as many bits as the gas price has); and the nonce of an authorization (8 bytes).

    Parameters
    ----------
    operation : the operation, with its gas fields and signature.
    gas_price : gas price of the operation [wei / gas].
    chain_id : chain id in the authorization.
    beneficiary : address that is paid for the bundle, 20 bytes.

    The encoding consists of an outer header (3 bytes), a type byte, the header of a list (3 bytes) and the list (664
    bytes):

    >>> len(rundler_transaction(UserOperation(sender=bytes(20)), gas_price=10**6, chain_id=10))
    671
    """
    op = instance("operation", operation, UserOperation)
    price = whole_scalar("gas_price", gas_price, minimum=1, maximum=UINT128_MAX, unit="wei")
    ones = 2 ** (price - 1).bit_length() - 1
    terms: dict[str, Any] = {"type": DYNAMIC_FEE}
    if op.delegate:
        authorization = Authorization(
            whole_scalar("chain_id", chain_id), op.delegate, UINT64_MAX, 27, UINT256_MAX, UINT256_MAX
        )
        terms = {"type": SET_CODE, "authorizations": (authorization,)}
    bundle = Transaction(
        chain_id=UINT32_MAX, nonce=UINT32_MAX, max_priority_fee=ones, max_fee=ones, gas_limit=UINT32_MAX,
        to=ENTRY_POINTS[op.entry_point], data=handle_ops(op, beneficiary=beneficiary),
        signature=Signature(0, UINT256_MAX, UINT256_MAX), **terms,
    )  # fmt: skip
    return bundle.network()


def alto_transaction(operation: UserOperation, *, chain_id: int) -> bytes:
    """Return the transaction that alto passes to a chain's fee oracle.

    The transaction has the nonce 999,999, fees of 2**64 − 1, an empty gas limit, and a signature whose r and s have 30
    bytes each. The beneficiary in the calldata is the entry point.

    Parameters
    ----------
    operation : the operation. For an estimate, alto replaces the gas limits with random values, and the last 65 bytes
        of the signature with 130 random letters.
    chain_id : chain id of the chain.

    The encoding consists of a type byte, the header of a list (3 bytes) and the list (661 bytes):

    >>> len(alto_transaction(UserOperation(sender=bytes(20)), chain_id=10))
    665
    """
    op = instance("operation", operation, UserOperation)
    entry_point = ENTRY_POINTS[op.entry_point]
    numbers = (whole_scalar("chain_id", chain_id), ALTO_NONCE, UINT64_MAX, UINT64_MAX)
    data = handle_ops(op, beneficiary=entry_point)
    items = [*numbers, 0, entry_point, 0, data, [], 1, ALTO_SIGNATURE, ALTO_SIGNATURE]
    return bytes([DYNAMIC_FEE]) + rlp_encoded(items)


def alto_filled(operation: UserOperation) -> UserOperation:
    """Return the operation whose bytes alto counts.

    All bits of the gas fields, the paymaster data and the signature are 1.

    For entry point 0.6, alto counts the paymaster data and the signature as hexadecimal text with "0x": each character
    of the text counts as one byte.

    >>> filled = alto_filled(UserOperation(sender=bytes(20), signature=bytes(65), entry_point="0.6"))
    >>> len(filled.signature), filled.paymaster_and_data
    (132, b'\\xff\\xff')
    """
    op = instance("operation", operation, UserOperation)
    paid = op.paymaster_and_data
    if op.entry_point == "0.6":
        paid, signature = _ones(2 + 2 * len(paid)), _ones(2 + 2 * len(op.signature))
    else:
        signature = _ones(len(op.signature))
        paid = paid[:20] + _ones(len(paid) - 20) if paid else b""
    return replace(
        op, call_gas_limit=UINT128_MAX, verification_gas_limit=UINT128_MAX, pre_verification_gas=UINT256_MAX,
        max_fee_per_gas=UINT128_MAX, max_priority_fee_per_gas=UINT128_MAX, paymaster_and_data=paid,
        signature=signature,
    )  # fmt: skip


def voltaire_filled(operation: UserOperation) -> UserOperation:
    """Return the operation whose bytes Voltaire counts, with a preVerificationGas of 21,000.

    A signature of less than 65 bytes is replaced by 65 bytes with the value 0x01.

    >>> voltaire_filled(UserOperation(sender=bytes(20))).pre_verification_gas
    21000
    """
    op = instance("operation", operation, UserOperation)
    return replace(op, pre_verification_gas=21_000, signature=op.signature if len(op.signature) >= 65 else b"\x01" * 65)


def voltaire_measured(operation: UserOperation) -> UserOperation:
    """Return the operation that Voltaire passes to a chain's fee oracle.

    Gas fields with the value 0 are replaced by numbers of 5 bytes.

    >>> voltaire_measured(UserOperation(sender=bytes(20))).pre_verification_gas
    725085413242
    """
    op = instance("operation", operation, UserOperation)
    filled: dict[str, int] = {}
    if not op.verification_gas_limit and not op.call_gas_limit:
        filled |= {"verification_gas_limit": 0xAB8621DF9B, "call_gas_limit": 0xA51448DF8C}
    if not op.pre_verification_gas:
        filled |= {"pre_verification_gas": 0xA8D2755F7A}
    if not op.max_priority_fee_per_gas and not op.max_fee_per_gas:
        filled |= {"max_priority_fee_per_gas": 0xA4F91CBF5F, "max_fee_per_gas": 0xA76E216F4B}
    return replace(op, **filled)  # type: ignore[arg-type]


def _word(number: int) -> bytes:
    return number.to_bytes(WORD, "big")


def _ones(count: int) -> bytes:
    return b"\xff" * count
