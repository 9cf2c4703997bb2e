"""Transactions of type 0, 1, 2 and 4: encodings, hash, sender, and intrinsic gas.

Rollups measure one of three encodings:

    sender_unsigned   sender ‖ the bytes whose hash is signed          (Linea since February 2026)
    unsigned          the bytes whose hash is signed
    signed            the encoding sent to the network, with a placeholder if there is no signature

Source: EIP-155, EIP-2718, EIP-2930, EIP-1559, EIP-7702.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self, TypeAlias

from ethereum_rlp import rlp
from ethereum_rlp.exceptions import RLPException

from feemodel.arguments import checked
from feemodel.checks import UINT64_MAX, UINT256_MAX, choice, instance
from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import Authorization, Signature, keccak256
from feemodel.ethereum._quantities import address_bytes, as_bytes, to_hex
from feemodel.ethereum.fee_market import LOWEST_BASE_FEE, TRANSACTION_GAS, calldata_floor_gas, calldata_gas
from feemodel.quantities import BaseFee, GasAboveZero, Quantity, WholeNumber

AccessList: TypeAlias = tuple[tuple[bytes, tuple[bytes, ...]], ...]

LEGACY, ACCESS_LIST, DYNAMIC_FEE, BLOB, SET_CODE = range(5)
FORMS = ("sender_unsigned", "unsigned", "signed")
LINEA_CHAIN_ID = 59_144  # Linea mainnet, the default for calls without a chain id
ZERO_ADDRESS = bytes(20)
PLACEHOLDER_R = 66397251408932042429874251838229702988618145381408295790259650671563847073199
PLACEHOLDER_S = 24729624138373455972486746091821238755870276413282629437244319694880507882088

CREATION_GAS, INIT_CODE_WORD_GAS = 32_000, 2
ACCESS_LIST_ADDRESS_GAS, ACCESS_LIST_KEY_GAS = 2_400, 1_900
AUTHORIZATION_GAS = 25_000

_MAXIMUM = {  # maximum of each number in a transaction or in an authorization
    **dict.fromkeys(("nonce", "gas_limit"), UINT64_MAX),
    **dict.fromkeys(("chain_id", "gas_price", "max_priority_fee", "max_fee", "value", "r", "s"), UINT256_MAX),
    "y_parity": 255,
}
_NUMBERS = ("nonce", "gas_limit", "chain_id", "gas_price", "max_priority_fee", "max_fee", "value")
_NO_FEE = "expected type 0, 1 or 2, because no fee for this type is published"
_LISTS = {  # type → fields in the order of the RLP list, without the signature
    LEGACY: "nonce gas_price gas_limit to value data",
    ACCESS_LIST: "chain_id nonce gas_price gas_limit to value data access_list",
    DYNAMIC_FEE: "chain_id nonce max_priority_fee max_fee gas_limit to value data access_list",
    SET_CODE: "chain_id nonce max_priority_fee max_fee gas_limit to value data access_list authorizations",
}
_FIELDS = {kind: tuple(names.split()) for kind, names in _LISTS.items()}
_VALUES = {kind: attrgetter(*names) for kind, names in _FIELDS.items()}  # type → function that returns its `_FIELDS`


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """Transaction of type 0, 1, 2 or 4, signed or not; without a type, a call that may lack any field.

    `parse_call` returns a transaction without a type, whose fields it has checked; `fill` completes it.

    >>> transfer = Transaction(nonce=1, gas_price=7, gas_limit=21_000, to=bytes(20), value=1)
    >>> transfer.unsigned().hex()
    'dc01078252089400000000000000000000000000000000000000000180'
    """

    type: int | None = LEGACY  #: `None` for a call, and for a sent transaction that `fill` has not completed
    sent_type: int | None = None  #: type of a transaction that was sent, until `fill` completes it
    chain_id: int | None = None  #: chain id; with a type, may be `None` only in legacy transactions
    from_address: bytes | None = None  #: the sender, 20 bytes; `None` if unknown, see `sender`
    nonce: int | None = None
    gas_price: int | None = None  #: only in types 0 and 1 [wei / gas]
    max_priority_fee: int | None = None  #: only in types 2 and 4 [wei / gas]
    max_fee: int | None = None  #: only in types 2 and 4 [wei / gas]
    max_fee_per_blob_gas: int | None = None  #: only in calls [wei / gas]
    gas_limit: int | None = None  #: required except in calls
    to: bytes | None = None  #: 20 bytes; `None` creates a contract
    value: int = 0  #: [wei]
    data: bytes = b""
    access_list: AccessList | None = None
    authorizations: tuple[Authorization, ...] = ()  #: EIP-7702: at least one in type 4, none in other types
    blob_hashes: tuple[bytes, ...] = ()  #: EIP-4844, only in calls
    signature: Signature | None = None

    def __post_init__(self) -> None:
        if self.type is None:
            return
        if self.type not in _FIELDS:
            raise InvalidInput("type", "expected 0, 1, 2 or 4", self.type)
        if self.type != LEGACY and self.chain_id is None:
            raise InvalidInput("chain_id", f"expected a chain id in a transaction of type {self.type}", None)
        for name in _NUMBERS:
            number = getattr(self, name)
            if number is None and name != "gas_limit":
                object.__setattr__(self, name, None if name == "chain_id" else 0)
            elif type(number) is not int or not 0 <= number <= _MAXIMUM[name]:
                object.__setattr__(self, name, Quantity("1", maximum=_MAXIMUM[name]).check_one(name, number))
        object.__setattr__(self, "data", as_bytes("data", self.data))
        if self.to is not None:
            object.__setattr__(self, "to", address_bytes(self.to, "to"))
        if self.access_list is None:
            object.__setattr__(self, "access_list", ())
        if self.type == SET_CODE or self.authorizations:
            self._check_authorizations()

    def _check_authorizations(self) -> None:
        """Raise `InvalidInput` for a transaction that is not valid by EIP-7702."""
        if self.type != SET_CODE or not self.authorizations:
            reason = "expected at least one in a transaction of type 4, and none in other types"
            raise InvalidInput("authorizations", reason, [*self.authorizations])
        if self.to is None:
            raise InvalidInput("to", "expected an address in a transaction of type 4", None)
        for index, one in enumerate(self.authorizations):
            instance(f"authorizations[{index}]", one, Authorization)
            for name, value in one._asdict().items():
                label = f"authorizations[{index}].{name}"
                if name != "address":
                    Quantity("1", maximum=_MAXIMUM[name]).check_one(label, value)
                elif not _is_bytes(value, 20):
                    raise InvalidInput(label, "expected an address of 20 bytes", value)

    def unsigned(self) -> bytes:
        """Return the bytes whose hash is signed: the type, if it is not 0, then the RLP list of the fields."""
        if self.type is None:
            raise InvalidInput("type", "expected a transaction, which `fill` makes of a call", None)
        return encoded(self)

    def signed(self) -> bytes:
        """Return the signed EIP-2718 encoding, the parameter of `eth_sendRawTransaction`."""
        if self.signature is None:
            raise InvalidInput("signature", "expected a signed transaction", None)
        return encoded(self, self.signature)

    def network(self) -> bytes:
        """Return the signed encoding as in a block: a typed transaction is wrapped as an RLP byte string."""
        return self.signed() if self.type == LEGACY else rlp_encoded(self.signed())

    def sender(self) -> bytes:
        """Return the sender's address, 20 bytes, which is recovered from the signature if it is not known."""
        if self.from_address is not None:
            return self.from_address
        if self.signature is None:
            raise InvalidInput("signature", "expected a signed transaction", None)
        v = self.signature.v
        parity = v if self.type != LEGACY else v - 27 if self.chain_id is None else v - 35 - 2 * self.chain_id
        return signer(keccak256(self.unsigned()), Signature(parity, self.signature.r, self.signature.s))

    def with_placeholder_signature(self) -> Self:
        """Return the transaction with the fixed signature that a node uses to measure calls."""
        v = 0 if self.type != LEGACY else 27 if self.chain_id is None else 35 + 2 * self.chain_id
        return replace(self, signature=Signature(v, PLACEHOLDER_R, PLACEHOLDER_S))

    def measured(self, form: str) -> bytes:
        """Return one of the encodings that rollups measure, with a placeholder if there is no signature.

        >>> Transaction(gas_limit=21_000, to=bytes(20)).measured("unsigned").hex()
        'dc80808252089400000000000000000000000000000000000000008080'
        """
        choice("form", form, FORMS)
        check_published(self)
        if form == "signed":
            return (self if self.signature else self.with_placeholder_signature()).network()
        return self.unsigned() if form == "unsigned" else self.sender() + self.unsigned()


def completed(
    call: Transaction, *, gas: int, nonce: int, base_fee: int, chain_id: int, creates: bytes | None = None
) -> Transaction:
    """Return the unsigned transaction of a call, see `fill`, without checks; a creation gets `creates` as `to`.

    >>> completed(Transaction(type=None, to=bytes(20)), gas=21_048, nonce=0, base_fee=7, chain_id=1).gas_price
    7
    """
    kind, price, chain = DYNAMIC_FEE, 0, chain_id if call.chain_id is None else call.chain_id
    if call.max_fee is None and call.max_priority_fee is None and call.max_fee_per_blob_gas is None:
        kind = LEGACY if call.access_list is None else ACCESS_LIST
        price = base_fee if call.gas_price is None else call.gas_price
    made = Transaction(
        type=None,
        chain_id=call.chain_id if kind == LEGACY else chain,
        from_address=call.from_address,
        nonce=nonce if call.nonce is None else call.nonce,
        gas_price=price,
        max_fee=call.max_fee or 0,
        max_priority_fee=call.max_priority_fee or 0,
        gas_limit=gas,
        to=call.to or creates,
        value=call.value,
        data=call.data,
        access_list=call.access_list or (),
    )
    object.__setattr__(made, "type", kind)  # set last: with a type, every field would be checked
    return made


def encoded(transaction: Transaction, signature: Signature | None = None) -> bytes:
    """Return the EIP-2718 encoding; if no signature is given, return the bytes whose hash is signed."""
    kind = transaction.type or LEGACY
    items = _VALUES[kind](transaction)
    if signature is not None:
        items += (signature.v, signature.r, signature.s)
    elif kind == LEGACY and transaction.chain_id is not None:
        items += (transaction.chain_id, b"", b"")  # EIP-155
    body = rlp_encoded(items)
    return body if kind == LEGACY else bytes([kind]) + body


def rlp_encoded(item: Any) -> bytes:
    """Return the RLP encoding of an integer, of bytes, or of a sequence of items; `None` is encoded as no bytes.

    Source: the Yellow Paper, appendix B.

    >>> rlp_encoded([1_024, b"dog", (0, None)]).hex()
    'ca82040083646f67c28080'
    """
    if item is None:
        item = b""
    elif isinstance(item, int):
        item = item.to_bytes((item.bit_length() + 7) // 8)
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        first, content = 0x80, item
    else:
        first, content = 0xC0, b"".join(map(rlp_encoded, item))
    if len(content) < 56:
        return (first + len(content)).to_bytes() + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8)
    return (first + 55 + len(size)).to_bytes() + size + content


@checked
def fill(
    call: Transaction,
    *,
    gas: GasAboveZero,
    nonce: WholeNumber = 0,
    base_fee: BaseFee = LOWEST_BASE_FEE,
    chain_id: WholeNumber,
    set_code: bool = False,
) -> Transaction:
    """Turn a call into an unsigned transaction; a transaction that was sent keeps its signature.

    A call with a dynamic-fee field becomes type 2. Without a dynamic-fee field, a call becomes type 1 if it has an
    access list, and type 0 otherwise.

    Parameters
    ----------
    call : a call or a transaction that was sent, from `parse_call`.
    gas : gas limit, at least 1 [gas].
    nonce : nonce for a call without a nonce.
    base_fee : base fee of the block; also the gas price of a call without a gas price [wei / gas].
    chain_id : chain id for a call without a chain id. An unsigned legacy transaction has a chain id only if the call
        sets one.
    set_code : whether a call with authorizations becomes type 4. If `False`, authorizations of a call are ignored, as
        by Linea's nodes, and a sent transaction of type 4 is refused.

    Returns
    -------
    Transaction.

    Raises
    ------
    InvalidInput : a number outside its range, an unsupported type, or both authorizations and a gas price.

    >>> fill(Transaction(type=None, to=bytes(20), data=b"abc"), gas=21_048, chain_id=1).gas_price
    7
    """
    chain: int | None = chain_id if call.chain_id is None else call.chain_id
    kind, max_fee = call.sent_type, call.max_fee
    if kind is None and not (set_code and call.authorizations):
        return replace(completed(call, gas=gas, nonce=nonce, base_fee=base_fee, chain_id=chain_id))  # `replace` checks
    if kind is None:
        kind = SET_CODE
        if call.gas_price is not None:
            raise InvalidInput(
                "call.gasPrice", "expected maxFeePerGas in a call with authorizations (type 4)", call.gas_price
            )
        if call.max_fee is None and call.max_priority_fee is None:
            max_fee = base_fee
    elif kind > DYNAMIC_FEE and not (set_code and kind == SET_CODE):
        raise InvalidInput("call.type", _NO_FEE, kind)
    elif kind == LEGACY and call.signature is not None:  # the signature shows whether EIP-155 is used
        chain = (call.signature.v - 35) // 2 if call.signature.v >= 35 else None
    return replace(
        call,
        type=kind,
        sent_type=None,
        chain_id=chain,
        nonce=nonce if call.nonce is None else call.nonce,
        max_fee=max_fee,
        gas_limit=gas,
        authorizations=call.authorizations if kind == SET_CODE else (),
    )


def check_no_blobs(call: Transaction) -> None:
    """Raise `InvalidInput` for a call with a blob fee: only type 3 has a blob fee, and no rollup accepts type 3."""
    if call.max_fee_per_blob_gas is not None:
        raise InvalidInput("call", "expected no blobs, because rollups do not accept transactions of type 3", BLOB)


def check_published(transaction: Transaction) -> None:
    """Raise `InvalidInput` for a transaction of type 4, for which Linea publishes no fee."""
    if transaction.type == SET_CODE:
        raise InvalidInput("transaction", _NO_FEE, SET_CODE)


def parse_transaction(raw: bytes | str) -> Transaction:
    """Parse a signed transaction in its EIP-2718 encoding.

    Parameters
    ----------
    raw : bytes or hexadecimal text.

    Returns
    -------
    Transaction with its signature.

    Raises
    ------
    InvalidInput : not RLP, a field of the wrong size, or a type other than 0, 1, 2 and 4.

    >>> transfer = Transaction(nonce=1, gas_price=7, gas_limit=21_000, to=bytes(20)).with_placeholder_signature()
    >>> parse_transaction(transfer.signed()) == transfer
    True
    """
    data = as_bytes("transaction", raw)
    kind, items = _decode(data)
    names = (*_FIELDS[kind], "v", "r", "s")
    if len(items) != len(names):
        raise InvalidInput("transaction", f"expected a list of {len(names)} fields for type {kind}", to_hex(data))
    fields = _read_fields(names, items)
    signature = Signature(fields.pop("v"), fields.pop("r"), fields.pop("s"))
    if kind == LEGACY and signature.v >= 35:
        fields["chain_id"] = (signature.v - 35) // 2
    return Transaction(type=kind, signature=signature, **fields)


def parse_sender_unsigned(measured: bytes | str) -> tuple[bytes, Transaction]:
    """Parse the "sender_unsigned" encoding, which Linea's blobs contain.

    Parameters
    ----------
    measured : the sender's 20 bytes, then the unsigned transaction; bytes or hexadecimal text.

    Returns
    -------
    (sender, transaction): 20 bytes, and a `Transaction` without a signature.

    Raises
    ------
    InvalidInput : not RLP, a field of the wrong size, or a type other than 0, 1, 2 and 4.

    >>> transfer = Transaction(nonce=1, gas_price=7, gas_limit=21_000, to=bytes(20))
    >>> parse_sender_unsigned(bytes(20) + transfer.unsigned()) == (bytes(20), transfer)
    True
    """
    data = as_bytes("transaction", measured)
    sender, unsigned = data[:20], data[20:]
    kind, items = _decode(unsigned)
    names = _FIELDS[kind]
    protected = kind == LEGACY and len(items) == len(names) + 3 and list(items[-2:]) == [b"", b""]  # EIP-155
    if not protected and len(items) != len(names):
        raise InvalidInput("transaction", f"expected a list of {len(names)} fields for type {kind}", to_hex(data))
    fields = _read_fields((*names, "chain_id") if protected else names, items)
    return sender, Transaction(type=kind, **fields)


def signer(digest: bytes, signature: Signature) -> bytes:
    """Return the address whose key signed a hash of 32 bytes; `v` of the signature is the y parity, 0 or 1."""
    from coincurve import PublicKey

    try:
        compact = signature.r.to_bytes(32, "big") + signature.s.to_bytes(32, "big") + bytes([signature.v])
        key = PublicKey.from_signature_and_message(compact, digest, hasher=None)
    except (ValueError, OverflowError) as error:
        raise InvalidInput("signature", "expected a signature from which a key can be recovered", signature) from error
    return keccak256(key.format(compressed=False)[1:])[12:]


def intrinsic_gas(call: Transaction) -> int:
    """Return the gas that a transaction is charged before its first instruction, at least the calldata floor.

        21,000 + calldata_gas (+ 32,000 + 2 · words for a contract creation) + 2,400 · addresses + 1,900 · keys
        + 25,000 · authorizations

    Parameters
    ----------
    call : a call or a transaction.

    Returns
    -------
    int [gas].

    Source: EIP-2930, EIP-3860, EIP-7623, EIP-7702.

    The data has three zero and three non-zero bytes. 21,000 + 3 · 4 + 3 · 16 is 21,060, which is less than the floor of
    21,000 + 10 · (3 + 3 · 4):

    >>> intrinsic_gas(Transaction(type=None, to=bytes(20), data=bytes(3) + b"abc"))
    21150
    """
    zeros = call.data.count(0)
    others = len(call.data) - zeros
    gas: int = TRANSACTION_GAS + calldata_gas.core(zeros, others)
    if call.to is None:
        gas += CREATION_GAS + INIT_CODE_WORD_GAS * -(-len(call.data) // 32)
    entries = call.access_list or ()
    gas += ACCESS_LIST_ADDRESS_GAS * len(entries) + ACCESS_LIST_KEY_GAS * sum(len(keys) for _, keys in entries)
    gas += AUTHORIZATION_GAS * len(call.authorizations)
    return max(gas, int(calldata_floor_gas.core(zeros, others)))


def _decode(data: bytes) -> tuple[int, Sequence[Any]]:
    """Return the type of an encoded transaction, and the items of its RLP list."""
    if not data:
        raise InvalidInput("transaction", "expected a transaction", to_hex(data))
    kind = data[0] if data[0] < 0x80 else LEGACY
    if kind == BLOB:
        raise InvalidInput("transaction", _NO_FEE, kind)
    if kind not in _FIELDS or (kind == LEGACY and data[0] < 0xC0):
        raise InvalidInput("transaction", "expected type 0, 1, 2 or 4", to_hex(data))
    try:
        items = rlp.decode(data if kind == LEGACY else data[1:])
    except (RLPException, RecursionError) as error:
        raise InvalidInput("transaction", f"expected RLP ({error})", to_hex(data)) from None
    if isinstance(items, bytes):
        raise InvalidInput("transaction", "expected a list of fields", to_hex(data))
    return kind, items


def _read_fields(names: Sequence[str], items: Sequence[Any]) -> dict[str, Any]:
    return {name: _field(name, item) for name, item in zip(names, items, strict=False)}


def _field(name: str, item: Any) -> Any:
    where = f"transaction.{name}"
    if name == "access_list":
        if not isinstance(item, list) or not all(map(_is_access, item)):
            raise InvalidInput(where, "expected pairs of an address and a list of 32-byte keys", item)
        return tuple((address, tuple(keys)) for address, keys in item)
    if name == "authorizations":
        if not isinstance(item, list) or not all(isinstance(one, list) and len(one) == 6 for one in item):
            raise InvalidInput(where, "expected lists of chain id, address, nonce, y parity, r and s", item)
        return tuple(Authorization(**_read_fields(Authorization._fields, one)) for one in item)
    if not isinstance(item, bytes):
        raise InvalidInput(where, "expected a byte string", item)
    if name in ("data", "address"):
        return item
    if name == "to":
        if len(item) not in (0, 20):
            raise InvalidInput(where, f"expected an address of 20 bytes or no bytes, counted {len(item)}", to_hex(item))
        return item or None
    if len(item) > 32 or item[:1] == b"\0":
        raise InvalidInput(where, "expected an integer of at most 32 bytes without leading zeros", to_hex(item))
    return int.from_bytes(item, "big")


def _is_access(entry: Any) -> bool:
    """Return whether an item is an access-list entry: an address, and a list (not a byte string) of keys."""
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], list):
        return False
    address, keys = entry
    return _is_bytes(address, 20) and all(_is_bytes(key, 32) for key in keys)


def _is_bytes(item: Any, size: int) -> bool:
    return isinstance(item, bytes) and len(item) == size
