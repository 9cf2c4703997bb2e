"""Messages that an engine executes."""

from typing import Annotated, NamedTuple, TypeAlias

from feemodel.ethereum._hashes import Authorization
from feemodel.ethereum._transaction import (
    ACCESS_LIST_ADDRESS_GAS,
    ACCESS_LIST_KEY_GAS,
    AUTHORIZATION_GAS,
    CREATION_GAS,
    INIT_CODE_WORD_GAS,
    ZERO_ADDRESS,
)
from feemodel.ethereum.fee_market import NONZERO_BYTE_GAS, TRANSACTION_GAS, ZERO_BYTE_GAS
from feemodel.execution._fields import Address, Data, Uint8, Uint64, Uint128, Uint256, Word
from feemodel.execution._forks import Fork

#: An authorization, and the kinds of its fields.
Authorized: TypeAlias = Annotated[Authorization, tuple[Uint256, Address, Uint64, Uint8, Uint256, Uint256]]


class Message(NamedTuple):
    """A message that an engine executes: the fields of a transaction, without its gas limit."""

    sender: Address = ZERO_ADDRESS
    to: Address | None = None  #: `None` creates a contract
    value: Uint256 = 0  #: [wei]
    data: Data = b""
    gas_price: Uint128 = 0  #: the value of GASPRICE, and the price that the sender pays in advance [wei / gas]
    base_fee: Uint64 = 0  #: the value of BASEFEE [wei / gas]
    access_list: tuple[tuple[Address, tuple[Word, ...]], ...] = ()
    authorizations: tuple[Authorized, ...] = ()
    blob_hashes: tuple[Word, ...] = ()  #: what BLOBHASH reads; engines charge nothing for blobs
    pays: bool = True  #: whether the cost of the gas limit is deducted from the sender's balance


def intrinsic_gas(message: Message, fork: Fork) -> int:
    """Return the gas charged before the first instruction of a message, without the calldata floor [gas].

    Source: EIP-2, EIP-2028, EIP-2930, EIP-3860, EIP-7702.

    >>> from feemodel.execution._forks import fork_named
    >>> intrinsic_gas(Message(to=bytes(20), data=bytes(3) + b"abc"), fork_named("osaka"))
    21060
    """
    zeros = message.data.count(0)
    gas = TRANSACTION_GAS + ZERO_BYTE_GAS * zeros + NONZERO_BYTE_GAS * (len(message.data) - zeros)
    if message.to is None:
        gas += CREATION_GAS
        if fork.max_init_code is not None:
            gas += INIT_CODE_WORD_GAS * -(-len(message.data) // 32)
    keys = sum(len(slots) for _, slots in message.access_list)
    gas += ACCESS_LIST_ADDRESS_GAS * len(message.access_list) + ACCESS_LIST_KEY_GAS * keys
    return gas + AUTHORIZATION_GAS * len(message.authorizations)
