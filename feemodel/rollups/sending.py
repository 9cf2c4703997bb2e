"""The largest value that a call can send on a chain, some blocks ahead of now."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from feemodel.checks import EMPTY, UINT256_MAX, function, instance, mapping, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum.call import parse_call
from feemodel.ethereum.fee_market import GAS_PER_BLOB, MAINNET, Schedule
from feemodel.ethereum.transaction import Transaction, check_no_blobs, fill
from feemodel.rollups import arbitrum, arbitrum_l1_pricing, balance, optimism
from feemodel.rollups.balance import Sendable
from feemodel.rollups.chains import Chain, Parameters, When
from feemodel.rollups.rules import FAMILIES, parameters_of
from feemodel.rollups.what_if import blobs_at
from feemodel.sizes.codecs import SCROLL_ZSTD, Brotli, FastLz

L1_BLOCK_MILLISECONDS = 12_000
SIGNATURE_BYTES = 68  # of an encoding at most: 65 of the signature, its length prefixes

Sign = Callable[[Transaction], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """The fees of the chain and of L1 that a sender sees now."""

    base_fee: int  #: of the chain's newest block [wei / gas]
    l1_base_fee: int = 0  #: that the chain sees [wei / gas]
    blob_base_fee: int = 1  #: that the chain sees [wei / gas]
    price_per_unit: int | None = None  #: of Arbitrum's L1 controller, which only a batch report moves; `None`: where it
    #: rests at these L1 fees [wei / unit]


def max_send(
    name: str | Chain,
    balance_wei: int,
    call: Mapping[str, Any],
    *,
    now: Now,
    gas_limit: int,
    blocks_ahead: int = 1,
    max_priority_fee: int = 0,
    max_fee_per_gas: int | None = None,
    at: When | None = None,
    sign: Sign | None = None,
    parameters: Mapping[str, Any] = EMPTY,
    schedule: Schedule = MAINNET,
) -> Sendable:
    """The largest value that a call can carry and still be valid `blocks_ahead` blocks from now, whatever fees do.

    The max fee covers the largest base fee that the chain's rule allows until then, the L1 fee the largest L1 fees.

    Parameters
    ----------
    name : of a chain, see `feemodel.rollups.chains_table`, or a chain of one's own.
    balance_wei : of the sender [wei].
    call : without `value`; `to`, `data`, `accessList`, `nonce`, `chainId`; `authorizationList` where the chain carries
        transactions of type 4, whose gas is part of `gas_limit`.
    now : fees as the sender sees them.
    gas_limit : that the call needs; on Arbitrum without the gas that pays for L1 [gas].
    blocks_ahead : until inclusion; 0: the next block at the base fee of now.
    max_priority_fee : that is offered, part of the max fee [wei / gas].
    max_fee_per_gas : that is offered, if it is decided already; `None`: the largest base fee and the priority fee.
    at : the day whose rule holds; `None`: the newest.
    sign : signs a transaction; without it the size is the largest that a signature can give, and the value a few wei
        of L1 fee too small where the fee depends on the bytes.
    parameters : values that replace those of the chain, known or unknown.
    schedule : of Ethereum's blobs, which bound the blob base fee; see `feemodel.rollups.read_rules`.

    Returns
    -------
    Sendable : a value that is valid. Where the L1 fee does not depend on the bytes of the value (every chain but OP
        Stack above 170 FastLZ bytes, and Scroll), one wei more is not.

    Raises
    ------
    UnknownParameter : a parameter that no source gives at that time and that `parameters` does not give.
    InvalidInput : an unknown chain, one whose transactions are not Ethereum's, a number out of range, a call with
        a value, blobs, or authorizations that the chain does not carry, a chain whose base fee has no published bound
        and no `max_fee_per_gas`.

    A transfer on OP Mainnet, one block ahead (the base fee may rise by 0.4 %):

    >>> fees = Now(base_fee=1_000_000, l1_base_fee=10**9, blob_base_fee=10**7)
    >>> max_send("op-mainnet", 10**15, {"to": "0x" + "11" * 20}, now=fees, gas_limit=21_000)[:2]
    (999968410338780, 31589661220)
    """
    if mapping("call", call).get("value") is not None:
        raise InvalidInput("call.value", "expected none: it is the answer", call["value"])
    instance("now", now, Now)
    if sign is not None:
        function("sign", sign)
    blocks = whole_scalar("blocks_ahead", blocks_ahead)
    balance_wei = whole_scalar("balance", balance_wei, maximum=UINT256_MAX, unit="wei")
    terms = parameters_of(name, at=at, parameters=parameters)
    family = FAMILIES[terms.chain.family]
    if not family.sends_value:
        raise InvalidInput("chain", "expected a chain whose transactions are Ethereum's", terms.chain.name)
    tip = whole_scalar("max_priority_fee", max_priority_fee, unit="wei")
    if max_fee_per_gas is None:
        fee = max_base_fee(terms, now, blocks) + tip
    else:
        fee = whole_scalar("max_fee_per_gas", max_fee_per_gas, minimum=tip, unit="wei")
    unsigned = _transaction(call, terms, gas_limit, fee, tip)
    blobs = blobs_at(instance("schedule", schedule, Schedule), at)
    l1_fees = balance.l1_fee_bounds(now.l1_base_fee, now.blob_base_fee, l1_blocks_until(terms, blocks), blobs)
    if family.data_fee == "as gas":
        return _on_arbitrum(balance_wei, unsigned, sign, now, l1_fees, terms, fee)
    if family.data_fee == "in gas price":
        return balance.sendable(balance_wei, gas_limit=gas_limit, max_fee_per_gas=fee)
    # The price of gas is in the max fee: what is left of the L2 part is the operator fee.
    dated = family.rule(terms.given({"l2_gas_price": 0, "min_base_fee": 0}))

    def held(value: int) -> Sendable:
        columns = _sizes(replace(unsigned, value=value), sign, dated.columns, gas_limit)
        fees = dated.fees(columns, base_fee=l1_fees[0], blob_base_fee=l1_fees[1])
        return balance.sendable(
            balance_wei, gas_limit=gas_limit, max_fee_per_gas=fee, l1_fee=int(fees.l1), operator_fee=int(fees.l2)
        )

    return _largest(balance_wei, held)


def l1_blocks_until(parameters: Parameters, blocks: int) -> int:
    """Return the largest number of L1 blocks that a chain may have seen after so many of its own.

    One for each of its own where no file has its block time.

    >>> l1_blocks_until(parameters_of("op-mainnet"), 20)
    4
    """
    count = whole_scalar("blocks", blocks)
    milliseconds = instance("parameters", parameters, Parameters).get("block_milliseconds", L1_BLOCK_MILLISECONDS)
    return 1 + count * milliseconds // L1_BLOCK_MILLISECONDS if count else 0


def needs_l1_fees(name: str | Chain, price_per_unit: int | None) -> bool:
    """Whether a chain's charge for data follows from L1 fees; Arbitrum's follows from its price per unit, if known.

    >>> needs_l1_fees("arbitrum-one", None), needs_l1_fees("arbitrum-one", 10**9)
    (True, False)
    """
    data_fee = FAMILIES[parameters_of(name).chain.family].data_fee
    return data_fee == "apart" or (data_fee == "as gas" and price_per_unit is None)


def _largest(maximum: int, held: Callable[[int], Sendable]) -> Sendable:
    """The largest value found that its own bytes leave room for: from above, each step a value that may be valid."""
    value, found = maximum, held(maximum)
    while found.max_value is not None and found.max_value < value:
        value = found.max_value
        found = held(value)
    if found.max_value is None:
        return found
    # A value of fewer bytes than the one before may have stepped too far down: up again, to the last of its length.
    higher = min(found.max_value, 256 ** ((value.bit_length() + 7) // 8) - 1)
    again = held(higher) if higher > value else found
    if higher > value and again.max_value is not None and again.max_value >= higher:
        value, found = higher, again
    return found._replace(max_value=value)


def _on_arbitrum(
    balance_wei: int, unsigned: Transaction, sign: Sign | None, now: Now, l1_fees: tuple[int, int],
    parameters: Parameters, fee: int,
) -> Sendable:  # fmt: skip
    price = now.price_per_unit
    if price is None:
        batch = parameters.known("batch_l1_gas", "batch_blobs", "batch_transaction_bytes")
        cost = batch["batch_l1_gas"] * l1_fees[0] + batch["batch_blobs"] * GAS_PER_BLOB * l1_fees[1]
        units = int(arbitrum.poster_units(batch["batch_transaction_bytes"]))
        price = int(arbitrum_l1_pricing.equilibrium_price(cost, units))
    widest = replace(unsigned, value=balance_wei)
    # Unsigned: what is not compressible is stored, with a header.
    bound = len(widest.unsigned()) + SIGNATURE_BYTES + 8
    size = bound if sign is None else Brotli().size(sign(widest))
    return balance.arbitrum_sendable(
        balance_wei, execution_gas=unsigned.gas_limit, max_fee_per_gas=fee, brotli_size=size, price_per_unit=price,
        lowest_base_fee=parameters.known("min_base_fee")["min_base_fee"],
    )  # fmt: skip


def max_base_fee(parameters: Parameters, now: Now, blocks: int) -> int:
    """The largest base fee that the chain's rule allows after so many blocks [wei / gas].

    Raises `UnknownParameter` for a parameter that no source gives, `InvalidInput` for a chain without a published
    bound.

    >>> max_base_fee(parameters_of("op-mainnet"), Now(base_fee=10**6), 2)
    1008016
    """
    instance("parameters", parameters, Parameters)
    instance("now", now, Now)
    if not whole_scalar("blocks", blocks):
        return now.base_fee
    bound = FAMILIES[parameters.chain.family].bound
    if bound is None:
        reason = f"expected a price in wei: no bound of the base fee of {parameters.chain.name} is published"
        raise InvalidInput("max_fee_per_gas", reason, None)
    return bound(parameters, now.base_fee, blocks)


def _transaction(call: Mapping[str, Any], parameters: Parameters, gas_limit: int, fee: int, tip: int) -> Transaction:
    chain_id, name = parameters.chain.chain_id, parameters.chain.name
    parsed = parse_call({**call, "maxFeePerGas": fee, "maxPriorityFeePerGas": tip})
    if chain_id is None and parsed.chain_id is None:
        raise InvalidInput("call.chainId", "expected a chain id: many chains follow this rule", None)
    check_no_blobs(parsed)
    if parsed.authorizations and (reason := parameters.no_set_code) is not None:
        expected = f"expected none: no fees of {name} for transactions of type 4 (EIP-7702): {reason}"
        raise InvalidInput("call.authorizationList", expected, parsed.authorization_list)
    gas = whole_scalar("gas_limit", gas_limit, unit="gas")
    return fill(parsed, gas=gas, chain_id=chain_id or 0, set_code=True)


def _sizes(transaction: Transaction, sign: Sign | None, columns: tuple[str, ...], gas: int) -> dict[str, int]:
    """The columns of a rule; unsigned, each is the largest that a signature can give."""
    unsigned = transaction.unsigned()
    encoded = unsigned + b"\xff" * SIGNATURE_BYTES if sign is None else sign(transaction)
    zeros = encoded.count(0)
    fastlz = int(optimism.oracle_upper_bound_size(len(unsigned))) if sign is None else FastLz().size(encoded)
    zstd = len(encoded) if sign is None else SCROLL_ZSTD.size(encoded)
    known = {
        "gas": gas, "length": len(encoded), "zero_bytes": zeros, "nonzero_bytes": len(encoded) - zeros,
        "fastlz_size": fastlz, "zstd_size": zstd, "data_length": len(transaction.data),
        "zstd_data_size": SCROLL_ZSTD.size(transaction.data),
    }  # fmt: skip
    return {name: known[name] for name in columns}
