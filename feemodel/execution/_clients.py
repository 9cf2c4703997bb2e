"""Preparation of calls as geth and Besu do it: gas price, checks before execution, upper bound of the search.

In this module, the upfront cost is compared with the balance after the state override, for geth and for Besu. The real
Besu checks the balance before it applies the override, so Besu's check ignores a balance in an override.

Source: ethereum/go-ethereum at v1.17.10, internal/ethapi, eth/gasestimator, core/state_transition.go;
hyperledger/besu at 3fd224e (2026-03-29), AbstractEstimateGas, EthEstimateGas, TransactionSimulator.
"""

from abc import ABC, abstractmethod
from math import inf
from typing import ClassVar

from feemodel.checks import UINT64_MAX, choice
from feemodel.errors import ExecutionFailed
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import ZERO_ADDRESS, Transaction
from feemodel.ethereum.fee_market import GAS_PER_BLOB, TRANSACTION_GAS
from feemodel.execution._failures import UPFRONT_COST, not_executed
from feemodel.execution._limits import Limits
from feemodel.execution._message import Message
from feemodel.execution._search import Search
from feemodel.execution._state import EMPTY, Account, CallState


class NodeClient(ABC):
    """Behaviour of a node: gas price and largest gas limit of a call, and errors for calls that the node refuses."""

    name: ClassVar[str]
    transfer_to_code: ClassVar[bool] = True  #: whether a call without data to a contract is first tried with 21,000 gas
    # Errors; `{reason}` is the cause, `{gas}` the gas limit of the call.
    other_chain: ClassVar[str]  #: a call with the id of another chain
    unpayable: ClassVar[str]  #: a sender who cannot pay for the gas limit, the value and the blobs
    refused: ClassVar[str] = "{reason}"  #: any other call that the node does not execute

    @abstractmethod
    def upper_bound(self, call: Transaction, call_state: CallState, sender: Account, cap: int) -> int:
        """Return the largest gas limit that an estimate tries, at most `cap` [gas]."""

    @abstractmethod
    def message(self, call: Transaction, call_state: CallState) -> Message:
        """Return the message of a call, with its gas price."""

    def cannot_pay(self, message: Message, call: Transaction, call_state: CallState, gas: int) -> str | None:
        """Return the error for a sender who cannot pay for this gas limit, or `None` for one who can."""
        price = (call.max_fee or message.gas_price) if message.pays else 0
        have, want = call_state.account(message.sender).balance, gas * price + message.value + blob_cost(call)
        if want <= have:
            return None
        who, sender = checksummed(message.sender), to_hex(message.sender)
        return self.unpayable.format(who=who, sender=sender, have=have, want=want)

    def prepare(
        self, call: Transaction, call_state: CallState, *, tolerance: float, limits: Limits
    ) -> tuple[Message, Search]:
        """Return the message of a call, and the search for its gas limit; the parameters are not checked.

        Parameters
        ----------
        call, call_state : the call, and the state on which it is executed.
        tolerance : maximum of (estimate − smallest sufficient gas limit) / estimate [1].
        limits : limits on gas and time of one estimate.

        Raises `ExecutionFailed` for a call that the node refuses.

        >>> call = Transaction(type=None, to=bytes(20))
        >>> NODES["besu"].prepare(call, CallState(accounts={}), tolerance=0, limits=Limits())[0].gas_price
        7
        """
        if call.chain_id not in (None, call_state.chain_id):
            raise ExecutionFailed(self.other_chain.format(have=call.chain_id, want=call_state.chain_id))
        sender = call_state.accounts.get(call.from_address or ZERO_ADDRESS) or EMPTY
        cap = call_state.fork.max_transaction_gas
        upper = self.upper_bound(call, call_state, sender, min(limits.gas_cap, cap or limits.gas_cap))
        try:
            message = self.message(call, call_state)
            if sender.nonce == UINT64_MAX or message.to is None:
                check_executable(message, call_state)
            price = (call.max_fee or message.gas_price) if message.pays else 0
            spare = sender.balance - message.value - (blob_cost(call) if call.blob_hashes else 0)
            payable = -1 if spare < 0 else spare // price if price else inf
            transfer = message.to is not None and not message.data
            if transfer and not self.transfer_to_code:
                transfer = not call_state.account(message.to or ZERO_ADDRESS).code
            if upper > payable:
                if not transfer or payable < TRANSACTION_GAS:
                    raise ExecutionFailed(self.cannot_pay(message, call, call_state, upper) or "")
                upper = int(payable)
        except ExecutionFailed as error:
            raise ExecutionFailed(self.refused.format(reason=error.message, gas=upper)) from None
        return message, Search(
            rules=self.name,
            upper=upper,
            max_gas=min(payable, cap or inf),
            tolerance=tolerance,
            transfer=transfer,
            limits=limits,
        )


class Geth(NodeClient):
    """go-ethereum."""

    name, transfer_to_code = "geth", False
    other_chain = "chainId does not match node's (have={have}, want={want})"
    unpayable = "insufficient funds for gas * price + value: address {who} have {have} want {want}"
    refused = "failed with {gas} gas: {reason}"

    def message(self, call: Transaction, call_state: CallState) -> Message:
        """Return the EVM message of a call. For a call without a gas price, GASPRICE and BASEFEE are zero."""
        base_fee = call_state.block.base_fee
        cap = call.gas_price or call.max_fee or 0
        tip = cap if call.gas_price is not None else call.max_priority_fee or 0
        if tip > cap:
            raise ExecutionFailed(
                f"max priority fee per gas higher than max fee per gas: {named(call)}, "
                f"maxPriorityFeePerGas: {tip}, maxFeePerGas: {cap}"
            )
        if cap and cap < base_fee:
            raise ExecutionFailed(
                f"max fee per gas less than block base fee: {named(call)}, maxFeePerGas: {cap}, baseFee: {base_fee}"
            )
        price = min(cap, tip + base_fee)
        return message_of(call, gas_price=price, base_fee=base_fee if price else 0)

    def upper_bound(self, call: Transaction, call_state: CallState, sender: Account, cap: int) -> int:
        """Return the call's `gas`, or else the block's gas limit, limited by the balance and the cap."""
        given, price = call.gas_limit or 0, call.gas_price or call.max_fee or 0
        upper = given if given >= TRANSACTION_GAS else call_state.block.gas_limit
        if price:
            available = sender.balance - call.value
            if available <= 0:
                raise ExecutionFailed("insufficient funds for transfer")
            available -= blob_cost(call)
            if available <= 0:
                raise ExecutionFailed("insufficient funds for gas * price + value")
            upper = min(upper, available // price)
        return min(upper, cap)

    def call(self, call: Transaction, call_state: CallState, limits: Limits) -> tuple[Message, int]:
        """Return the message of an `eth_call` and its gas limit [gas], after the checks that geth makes, in its order.

        Raises `ExecutionFailed` for the first check that fails.
        """
        if call.chain_id not in (None, call_state.chain_id):
            raise ExecutionFailed(self.other_chain.format(have=call.chain_id, want=call_state.chain_id))
        gas = limits.gas_cap if call.gas_limit is None else min(call.gas_limit, limits.gas_cap)
        try:
            message = self.message(call, call_state)
            words = self.cannot_pay(message, call, call_state, gas)
            if words is not None:
                raise ExecutionFailed(words)
            check_executable(message, call_state)
        except ExecutionFailed as error:
            raise not_executed(error, gas) from None
        return message, gas


class Besu(NodeClient):
    """Besu, which Linea's nodes run."""

    name = "besu"
    other_chain = "transaction was meant for chain id {have} and not this chain id {want}"
    unpayable = (
        "transaction up-front cost {want:#x} exceeds transaction sender account balance {have:#x} for sender {sender}"
    )

    def message(self, call: Transaction, call_state: CallState) -> Message:
        """Return the EVM message of a call. A call without a gas price pays the base fee if the call has a sender."""
        base_fee = call_state.block.base_fee
        price = base_fee
        if call.gas_price is not None:
            price = call.gas_price
        elif call.max_fee is not None or call.max_priority_fee is not None:
            cap, tip = call.max_fee or 0, call.max_priority_fee or 0
            if tip > cap:
                raise ExecutionFailed("max priority fee per gas cannot be greater than max fee per gas")
            price = min(cap, tip + base_fee)
        return message_of(call, gas_price=price, base_fee=base_fee, pays=call.from_address is not None)

    def upper_bound(self, call: Transaction, call_state: CallState, sender: Account, cap: int) -> int:
        """Return the block's gas limit, limited by the balance and the cap; ignore the call's `gas`."""
        price = 0 if call.from_address is None else call.gas_price or call.max_fee or 0
        upper = min(call_state.block.gas_limit, cap)
        if price:
            upper = min(upper, max(sender.balance - call.value, 0) // price)
        if upper < TRANSACTION_GAS:
            raise ExecutionFailed("Upfront cost exceeds account balance", UPFRONT_COST)
        return upper


class Intact(Besu):
    """Besu with another upper bound; its gas price is the one that the call will pay."""

    name = "intact"

    def upper_bound(self, call: Transaction, call_state: CallState, sender: Account, cap: int) -> int:
        """Return the call's `gas`, or else the block's gas limit, limited by what the sender pays for, as geth does."""
        message, given = self.message(call, call_state), call.gas_limit
        price = (call.max_fee or message.gas_price) if message.pays else 0
        upper = min(call_state.block.gas_limit if given is None else given, cap)
        if price:
            upper = min(upper, max(sender.balance - message.value - blob_cost(call), 0) // price)
        if upper < TRANSACTION_GAS:
            raise ExecutionFailed("Upfront cost exceeds account balance", UPFRONT_COST)
        return upper


GETH_NODE = Geth()
NODES: dict[str, NodeClient] = {node.name: node for node in (GETH_NODE, Besu(), Intact())}


def node_named(name: str) -> NodeClient:
    """Return the node with this name, "geth", "besu" or "intact"; raises `InvalidInput` for another name.

    >>> node_named("besu").name
    'besu'
    """
    return NODES[choice("search", name, NODES)]


def check_executable(message: Message, call_state: CallState) -> None:
    """Raise `ExecutionFailed` if the sender's nonce is the maximum (EIP-2681) or the init code too long (EIP-3860)."""
    nonce = call_state.account(message.sender).nonce
    if nonce == UINT64_MAX:
        raise ExecutionFailed(f"nonce has max value: address {checksummed(message.sender)}, nonce: {nonce}")
    limit = call_state.fork.max_init_code
    if message.to is None and limit is not None and len(message.data) > limit:
        raise ExecutionFailed(f"max initcode size exceeded: code size {len(message.data)} limit {limit}")


def checksummed(address: bytes) -> str:
    """Return an address as hexadecimal text with the checksum of EIP-55.

    >>> checksummed(bytes.fromhex("5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"))
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    """
    digits = address.hex()
    digest = keccak256(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble > "7" else digit for digit, nibble in zip(digits, digest, strict=False)
    )


def message_of(call: Transaction, *, gas_price: int = 0, base_fee: int = 0, pays: bool = True) -> Message:
    """Return the EVM message of a call.

    >>> message_of(Transaction(type=None, to=bytes(20), value=5)).value
    5
    """
    return Message(
        sender=call.from_address or ZERO_ADDRESS,
        to=call.to,
        value=call.value,
        data=call.data,
        gas_price=gas_price,
        base_fee=base_fee,
        access_list=call.access_list or (),
        authorizations=call.authorizations,
        blob_hashes=call.blob_hashes,
        pays=pays,
    )


def blob_cost(call: Transaction) -> int:
    """Return the most that the sender pays for blobs [wei]."""
    return GAS_PER_BLOB * len(call.blob_hashes) * (call.max_fee_per_blob_gas or 0)


def named(call: Transaction) -> str:
    """Return the sender of a call in the form that geth uses in its errors."""
    return f"address {checksummed(call.from_address or ZERO_ADDRESS)}"
