"""Raw transactions, and transactions in the form that blobs carry."""

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import Transaction, intrinsic_gas, parse_sender_unsigned, parse_transaction
from tests.fuzz.mutators import mutated_rlp
from tests.fuzz.target import Target, check, check_equal

# Linea mainnet block 41,640, transaction 0 (2023-07-24)
MAINNET = bytes.fromhex(
    "02f87782e7088255f885012a05f200852e90edd000825208945e971b1e3d22764789442cde789efd2fe8cb8498872386f26fc1006880c0"
    "01a0e634f8712b93499615e1ef9fa3c1ba88ded15a68fcaecc5d37098bb7afce0fe7a002533afbcaaa9b382697dcee1e99bfdc38ba4cbc61"
    "81ad750889431141541c7a"
)
SENDERS_TRIED = 64  # one of so many transactions has its sender recovered, which is slow


def _check_transaction(data: bytes, transaction: Transaction) -> None:
    """A transaction that is read is written again to the byte, as text too."""
    check_equal(data, transaction.signed(), "the transaction written again")
    check_equal(transaction, parse_transaction(to_hex(data)), "the transaction of the same text")
    _check_measured(transaction)
    if data[-1] % SENDERS_TRIED == 0:
        try:
            sender = transaction.sender()
        except InvalidInput:  # no key makes such a signature
            return
        check_equal(sender + transaction.unsigned(), transaction.measured("sender_unsigned"), "the measured form")


def _check_sender_unsigned(data: bytes, answer: tuple[bytes, Transaction]) -> None:
    """The form that blobs carry is written again to the byte."""
    sender, transaction = answer
    check_equal(20, len(sender), "bytes of the sender")
    check_equal(data, sender + transaction.unsigned(), "the transaction written again")
    _check_measured(transaction)


def _check_measured(transaction: Transaction) -> None:
    check(intrinsic_gas(transaction) >= 21_000, "less gas than any transaction costs")
    for address, keys in transaction.access_list:
        check(isinstance(address, bytes) and len(address) == 20, f"an address of the access list: {address!r:.200}")
        check(all(isinstance(key, bytes) and len(key) == 32 for key in keys), f"keys of the access list: {keys!r:.200}")
    if (transaction.chain_id or 0).bit_length() > 254:  # `v` has the chain id twice, and 256 bits
        return
    signed = transaction.with_placeholder_signature()
    check_equal(signed, parse_transaction(signed.signed()), "the transaction under the placeholder signature")


def _samples() -> list[Transaction]:
    to, access_list = b"\x11" * 20, ((b"\x22" * 20, (bytes(32), b"\x33" * 32)), (b"\x44" * 20, ()))
    return [
        Transaction(nonce=1, gas_price=7, gas_limit=21_000, to=to, value=1),
        Transaction(gas_price=7, gas_limit=2**64 - 1, data=bytes(60), chain_id=59_144),
        Transaction(type=1, chain_id=1, gas_price=2**256 - 1, gas_limit=1, to=to, access_list=access_list),
        Transaction(type=2, chain_id=59_144, max_fee=9, max_priority_fee=2, gas_limit=9, access_list=access_list),
    ]


def _transaction_seeds() -> list[bytes]:
    return [MAINNET, *(transaction.with_placeholder_signature().signed() for transaction in _samples())]


def _sender_unsigned_seeds() -> list[bytes]:
    return [bytes(20) + transaction.unsigned() for transaction in (*_samples(), parse_transaction(MAINNET))]


TARGETS = {
    "transaction": Target(parse_transaction, (InvalidInput,), _check_transaction, _transaction_seeds, mutated_rlp(-1)),
    "sender_unsigned": Target(
        parse_sender_unsigned, (InvalidInput,), _check_sender_unsigned, _sender_unsigned_seeds, mutated_rlp(20)
    ),
}
