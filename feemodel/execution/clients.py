"""What a node makes of a call before it executes it: its price, what it refuses, the upper bound of the search.

The balance is the overridden one in both, which Besu does not do: a state override that funds an account is of no use
otherwise.

Source: ethereum/go-ethereum at v1.17.10, internal/ethapi, eth/gasestimator, core/state_transition.go;
hyperledger/besu at 3fd224e (2026-03-29), AbstractEstimateGas, EthEstimateGas, TransactionSimulator.
"""

from math import inf
from typing import TypeAlias

from feemodel.checks import UINT64_MAX, choice
from feemodel.errors import ExecutionFailed
from feemodel.ethereum.call import Call
from feemodel.ethereum.fee_market import GAS_PER_BLOB, TRANSACTION_GAS
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import to_hex
from feemodel.ethereum.transaction import ZERO_ADDRESS
from feemodel.execution.failures import UPFRONT_COST
from feemodel.execution.message import Message, Request, fee_cap, parse_message, tip_cap
from feemodel.execution.search import BESU, GETH
from feemodel.execution.state import CallState, blob_base_fee


class Geth:
    """go-ethereum: the price and the upper bound of a call [wei / gas; gas], and what is refused, `ExecutionFailed`."""

    rules = GETH
    names_floor = True  #: whether an estimate names the floor of calldata, or says that the allowance is exceeded

    def message(self, request: Request, call_state: CallState) -> Message:
        """A call without a price pays nothing and reads a base fee of zero."""
        call, base_fee = request.call, call_state.block.base_fee
        cap, tip = fee_cap(call), tip_cap(call)
        if tip > cap:
            raise ExecutionFailed(
                f"max priority fee per gas higher than max fee per gas: {named(call)}, "
                f"maxPriorityFeePerGas: {tip}, maxFeePerGas: {cap}"
            )
        if cap and cap < base_fee:
            raise ExecutionFailed(
                f"max fee per gas less than block base fee: {named(call)}, maxFeePerGas: {cap}, baseFee: {base_fee}"
            )
        if request.blob_hashes:
            _check_blob_fee(request, call_state)
        price = min(cap, tip + base_fee)
        return parse_message(request, gas_price=price, base_fee=base_fee if price else 0, pays=True)

    def check_chain(self, request: Request, call_state: CallState) -> None:
        """Refuse a call of another chain."""
        _check_chain(request.call, call_state, "chainId does not match node's (have={have}, want={want})")

    def upper_bound(self, request: Request, call_state: CallState, gas_cap: int) -> int:
        """The call's own `gas`, or the block's limit; then what the balance can pay for."""
        call = request.call
        upper = call.gas if call.gas is not None and call.gas >= TRANSACTION_GAS else call_state.block.gas_limit
        if call_state.fork.max_transaction_gas is not None:
            upper = min(upper, call_state.fork.max_transaction_gas)
        cap = fee_cap(call)
        if cap:
            available, value = call_state.account(call.sender or ZERO_ADDRESS).balance, call.value or 0
            if value >= available:
                raise ExecutionFailed("insufficient funds for transfer")
            available -= value
            if request.blob_hashes:
                if _blob_cost(request) >= available:
                    raise ExecutionFailed("insufficient funds for gas * price + value")
                available -= _blob_cost(request)
            upper = min(upper, available // cap)
        return min(upper, gas_cap)

    def price(self, request: Request, call_state: CallState) -> int:
        """What the sender must be able to pay for each unit of the gas limit [wei / gas]."""
        return fee_cap(request.call)

    def unpayable(self, request: Request, call_state: CallState, gas_limit: int) -> str:
        """The error for a sender who cannot pay for this gas limit, the value and the blobs."""
        have, want = _balance(request, call_state), gas_limit * self.price(request, call_state) + fixed_cost(request)
        return f"insufficient funds for gas * price + value: {named(request.call)} have {have} want {want}"

    def refused(self, reason: str, gas_limit: int) -> str:
        """What an estimate answers where a call with this gas limit is not executed."""
        return f"failed with {gas_limit} gas: {reason}"

    def admitted(self, request: Request, call_state: CallState, gas_limit: int) -> Message:
        """The message with its price, where geth would begin to execute it with this gas limit.

        Raises `ExecutionFailed` for the first reason, in the order of its checks, why it would not.
        """
        check_nonce(request.call.sender or ZERO_ADDRESS, call_state)
        message = self.message(request, call_state)
        if gas_limit > payable_gas(self, request, call_state):
            raise ExecutionFailed(self.unpayable(request, call_state, gas_limit))
        check_init_code(message, call_state)
        return message


class Besu:
    """Besu, and with it Linea's nodes; methods as of `Geth`."""

    rules = BESU
    names_floor = False

    def check_chain(self, request: Request, call_state: CallState) -> None:
        words = "transaction was meant for chain id {have} and not this chain id {want}"
        _check_chain(request.call, call_state, words)

    def message(self, request: Request, call_state: CallState) -> Message:
        """A call without a price is executed at the base fee; only a sender that is named pays for its gas."""
        call, base_fee = request.call, call_state.block.base_fee
        if tip_cap(call) > fee_cap(call):
            raise ExecutionFailed("max priority fee per gas cannot be greater than max fee per gas")
        _check_blob_fee(request, call_state)
        return parse_message(request, gas_price=_besu_price(call, base_fee), base_fee=base_fee)

    def upper_bound(self, request: Request, call_state: CallState, gas_cap: int) -> int:
        """The block's limit, then what the balance can pay for; the call's own `gas` is not looked at."""
        call = request.call
        upper = min(call_state.block.gas_limit, gas_cap)
        if call_state.fork.max_transaction_gas is not None:
            upper = min(upper, call_state.fork.max_transaction_gas)
        if call.sender is not None and fee_cap(call):
            spare = max(call_state.account(call.sender).balance - (call.value or 0), 0)
            upper = min(upper, spare // fee_cap(call))
        if upper < TRANSACTION_GAS:
            raise ExecutionFailed("Upfront cost exceeds account balance", UPFRONT_COST)
        return upper

    def price(self, request: Request, call_state: CallState) -> int:
        """What the sender must be able to pay for each unit of the gas limit [wei / gas]."""
        call = request.call
        return 0 if call.sender is None else max(fee_cap(call), _besu_price(call, call_state.block.base_fee))

    def unpayable(self, request: Request, call_state: CallState, gas_limit: int) -> str:
        """The error for a sender who cannot pay for this gas limit, the value and the blobs."""
        balance, cost = _balance(request, call_state), gas_limit * self.price(request, call_state) + fixed_cost(request)
        return (
            f"transaction up-front cost {cost:#x} exceeds transaction sender account balance {balance:#x} "
            f"for sender {to_hex(request.call.sender or ZERO_ADDRESS)}"
        )

    def refused(self, reason: str, gas_limit: int) -> str:
        return reason


Node: TypeAlias = Geth | Besu
NODES: dict[str, Node] = {node.rules.name: node for node in (Geth(), Besu())}


def node_named(name: str) -> Node:
    """The habits of a node by its name, "geth" or "besu".

    >>> node_named("besu").rules.name
    'besu'
    """
    return NODES[choice("search", name, NODES)]


def payable_gas(node: Node, request: Request, call_state: CallState) -> float:
    """The largest gas limit that the sender can pay for, besides value and blobs; negative if not even these [gas]."""
    spare = call_state.account(request.call.sender or ZERO_ADDRESS).balance - fixed_cost(request)
    if spare < 0:
        return -1
    price = node.price(request, call_state)
    return spare // price if price else inf


def check_rules(message: Message, call_state: CallState) -> None:
    """Refuse what no transaction may be by the rules of the chain, whatever it pays: EIP-2681, EIP-3860."""
    check_nonce(message.sender, call_state)
    check_init_code(message, call_state)


def check_nonce(sender: bytes, call_state: CallState) -> None:
    """Refuse a sender whose nonce cannot rise, EIP-2681."""
    nonce = call_state.account(sender).nonce
    if nonce == UINT64_MAX:
        raise ExecutionFailed(f"nonce has max value: address {checksummed(sender)}, nonce: {nonce}")


def check_init_code(message: Message, call_state: CallState) -> None:
    """Refuse a creation with too much code, EIP-3860."""
    limit = call_state.fork.max_init_code
    if message.to is None and limit is not None and len(message.data) > limit:
        raise ExecutionFailed(f"max initcode size exceeded: code size {len(message.data)} limit {limit}")


def checksummed(address: bytes) -> str:
    """An address as people write it, its letters a checksum, EIP-55.

    >>> checksummed(bytes.fromhex("5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"))
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    """
    digits = address.hex()
    digest = keccak256(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble > "7" else digit for digit, nibble in zip(digits, digest, strict=False)
    )


def fixed_cost(request: Request) -> int:
    """What the sender must be able to pay whatever the gas limit is: the value, and the blobs at most [wei]."""
    value = request.call.value or 0
    return value + _blob_cost(request) if request.blob_hashes else value


def _balance(request: Request, call_state: CallState) -> int:
    return call_state.account(request.call.sender or ZERO_ADDRESS).balance


def named(call: Call) -> str:
    """The sender of a call, as geth's errors name it."""
    return f"address {checksummed(call.sender or ZERO_ADDRESS)}"


def _check_chain(call: Call, call_state: CallState, words: str) -> None:
    if call.chain_id is not None and call.chain_id != call_state.chain_id:
        raise ExecutionFailed(words.format(have=call.chain_id, want=call_state.chain_id))


def _check_blob_fee(request: Request, call_state: CallState) -> None:
    cap = request.call.max_fee_per_blob_gas or 0
    if not request.blob_hashes or not cap:
        return
    if cap < blob_base_fee(call_state):
        raise ExecutionFailed(
            f"max fee per blob gas less than block blob gas fee: {named(request.call)} "
            f"blobGasFeeCap: {cap}, blobBaseFee: {blob_base_fee(call_state)}"
        )


def _besu_price(call: Call, base_fee: int) -> int:
    if call.gas_price is not None:
        return call.gas_price
    if call.max_fee is None and call.max_priority_fee is None:
        return base_fee
    return min(fee_cap(call), tip_cap(call) + base_fee)


def _blob_cost(request: Request) -> int:
    return GAS_PER_BLOB * len(request.blob_hashes) * (request.call.max_fee_per_blob_gas or 0)
