"""Largest value that a call can send on a chain if the call is included some blocks later, and bounds of future fees.

A transaction is valid in a block if the block's base fee is at most the transaction's `maxFeePerGas`, and if the
sender's balance is at least

    OP Stack              gas limit · max fee + L1 data fee + operator fee for the gas limit + value
    Scroll                gas limit · max fee + L1 data fee + value
    Arbitrum              gas limit · max fee + value, where the gas limit includes the gas that pays for L1
    Linea, zkSync, Taiko  gas limit · max fee + value

The largest value that can be sent is the balance minus the amount held back for fees. The sender gets a refund for
unused gas, but not for the L1 data fee. An `eth_call` charges neither the L1 data fee nor the operator fee, so an
`eth_call` can succeed with a value that is too large for a transaction.

Sources: ethereum-optimism/op-geth at 7b56c73, core/state_transition.go and core/txpool/validation.go;
OffchainLabs/nitro at 6dce8d1, arbos/tx_processor.go; scroll-tech/go-ethereum, core/state_transition.go;
matter-labs/era-contracts, TransactionHelper.sol; matter-labs/zksync-os at 0a82da0.
"""

from __future__ import annotations  # so that `help` shows the names of quantities

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

from feemodel.arguments import check_fields, check_of, checked
from feemodel.checks import EMPTY, UINT256_MAX, check_limit, require
from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.ethereum._call import parse_call
from feemodel.ethereum._transaction import Transaction, check_no_blobs, fill
from feemodel.ethereum.fee_market import MAINNET, BlobRules, Schedule
from feemodel.quantities import BaseFee, BlobBaseFee, Gas, GasPrice, MaxFee, PriorityFee, Quantity, Wei, WholeNumber
from feemodel.rollups.arbitrum import poster_charge
from feemodel.rollups.arbitrum_l1_pricing import BATCH, batch_price
from feemodel.rollups.chains import Chain, Parameters, When, timestamp
from feemodel.rollups.rules import FAMILIES, parameters_of
from feemodel.sizes._codecs import SCROLL_ZSTD

Balance = Annotated[int, Quantity("wei", "balance of the sender", maximum=UINT256_MAX)]

MAX_BLOCKS = 100_000  # largest number of blocks to look ahead: two weeks of Ethereum blocks
L1_BLOCK_MILLISECONDS = 12_000
SIGNATURE_BYTES = 68  # largest signature in an encoding: 65 bytes and length prefixes


class Sendable(NamedTuple):
    """Largest value that can be sent, and the amount held back for fees."""

    max_value: int | None  #: largest value that can be sent; `None` if the balance does not cover the fees [wei]
    held: int  #: amount held back for fees [wei]
    gas_limit: int  #: [gas]
    max_fee_per_gas: int  #: max fee of the transaction [wei / gas]
    l1_fee: int  #: L1 data fee, a part of `held` [wei]
    operator_fee: int  #: operator fee, a part of `held` [wei]


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """Current fees of the chain and of L1."""

    base_fee: BaseFee  #: base fee of the chain's newest block [wei / gas]
    l1_base_fee: BaseFee = 0  #: base fee of L1 in the newest state of the chain [wei / gas]
    blob_base_fee: BlobBaseFee = 1  #: blob base fee of L1 in the newest state of the chain [wei / gas]
    #: price per unit of Arbitrum's L1 pricing controller; `None`: the equilibrium price at these L1 fees [wei / unit]
    price_per_unit: Wei | None = None

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def max_send(
    name: str | Chain,
    balance_wei: Balance,
    call: Mapping[str, Any],
    *,
    now: Now,
    gas_limit: Gas,
    blocks_ahead: WholeNumber = 1,
    max_priority_fee: PriorityFee = 0,
    max_fee_per_gas: MaxFee | None = None,
    at: When | None = None,
    parameters: Mapping[str, Any] = EMPTY,
    schedule: Schedule = MAINNET,
) -> Sendable:
    """Return the largest value with which a call is certain to be valid `blocks_ahead` blocks from now.

    The max fee covers the largest base fee that is possible until inclusion. The L1 data fee is computed from the
    largest L1 fees that are possible until inclusion.

    Parameters
    ----------
    name : name of a chain (`feemodel chains` lists them), or a `Chain`.
    balance_wei : balance of the sender [wei].
    call : call object with the fields `to`, `data`, `accessList`, `nonce` and `chainId`, but without `value`. If the
        chain supports transactions of type 4, the call may have an `authorizationList`; `gas_limit` must then include
        the gas of the authorizations.
    now : current fees.
    gas_limit : gas limit of the call; on Arbitrum without the gas that pays for L1 [gas].
    blocks_ahead : number of blocks until inclusion; 0: the next block, at the current base fee.
    max_priority_fee : priority fee, part of the max fee [wei / gas].
    max_fee_per_gas : max fee; `None`: the largest base fee plus the priority fee [wei / gas].
    at : date of the rule; `None`: the newest rule.
    parameters : values that replace the chain's own values, by parameter name.
    schedule : blob schedule of Ethereum, which bounds the blob base fee.

    Returns
    -------
    Sendable : a value that can be sent [wei]. On most chains, no value above the result can be sent. On Scroll, and on
        the OP Stack if the FastLZ length is above 170 bytes, the L1 fee depends on the bytes of the transaction. The
        largest possible L1 fee is then assumed, so a value above the result might also be valid.

    Raises
    ------
    UnknownParameter : the rule needs a parameter whose value at the date is not known and is not in `parameters`.
    InvalidInput : the chain is unknown or does not use Ethereum's transactions; a number is out of range; the call has
        a value, blobs or unsupported authorizations; or the base fee of the chain has no published bound and
        `max_fee_per_gas` is `None`.

    A transfer on OP Mainnet that is included one block later, when the base fee can be 0.4 % higher:

    >>> fees = Now(base_fee=1_000_000, l1_base_fee=10**9, blob_base_fee=10**7)
    >>> max_send("op-mainnet", 10**15, {"to": "0x" + "11" * 20}, now=fees, gas_limit=21_000)[:2]
    (999968410338780, 31589661220)
    """
    if call.get("value") is not None:
        raise InvalidInput("call.value", "not valid, because `max_send` computes the value", call["value"])
    check_limit(blocks_ahead, "blocks ahead", MAX_BLOCKS, ": bounds further ahead are not useful")
    terms = parameters_of(name, at=at, parameters=parameters)
    family = FAMILIES[terms.chain.family]
    if not family.sends_value:
        raise InvalidInput("chain", "expected a chain with Ethereum transactions", terms.chain.name)
    fee = _max_base_fee(terms, now, blocks_ahead) + max_priority_fee if max_fee_per_gas is None else max_fee_per_gas
    require("max_fee_per_gas", f"expected whole wei of at least {max_priority_fee:,}", fee, fee >= max_priority_fee)
    unsigned = _transaction(call, terms, gas_limit, fee, max_priority_fee)
    l1_blocks, blobs = _l1_blocks_until(terms, blocks_ahead), _blobs_at(schedule, at)
    l1_fees = _l1_fee_bounds(now.l1_base_fee, now.blob_base_fee, l1_blocks, blobs)
    if family.data_fee == "as gas":
        return _on_arbitrum(balance_wei, unsigned, now, l1_fees, terms, fee)
    if family.data_fee == "in gas price":
        return _sendable(balance_wei, gas_limit=gas_limit, max_fee_per_gas=fee)
    # The max fee pays for the L2 gas. With a gas price of 0, the rule's L2 fee is the operator fee alone.
    dated = family.rule(terms.given({"l2_gas_price": 0, "min_base_fee": 0}))
    columns = _sizes(_largest_bytes(unsigned, balance_wei), unsigned.data, dated.columns, gas_limit)
    fees = dated.fees(columns, base_fee=l1_fees[0], blob_base_fee=l1_fees[1])
    return _sendable(
        balance_wei, gas_limit=gas_limit, max_fee_per_gas=fee, l1_fee=int(fees.l1), operator_fee=int(fees.l2)
    )


def _sendable(
    balance: int, *, gas_limit: int, max_fee_per_gas: int, l1_fee: int = 0, operator_fee: int = 0
) -> Sendable:
    """Return the largest value that can be sent: balance − gas limit · max fee − L1 data fee − operator fee.

    >>> _sendable(10**15, gas_limit=160_000, max_fee_per_gas=50_000_000, l1_fee=40_000_000_000_123)[:2]
    (951999999999877, 48000000000123)
    """
    held = gas_limit * max_fee_per_gas + l1_fee + operator_fee
    left = balance - held
    return Sendable(left if left >= 0 else None, held, gas_limit, max_fee_per_gas, l1_fee, operator_fee)


def _arbitrum_sendable(
    balance: int,
    *,
    execution_gas: int,
    max_fee_per_gas: int,
    brotli_size: int,
    price_per_unit: int,
    lowest_base_fee: int,
) -> Sendable:
    """Return the largest value that can be sent on Arbitrum, where the gas limit includes the gas that pays for L1.

    This gas grows when the base fee falls, so the gas limit assumes the lowest possible base fee, at least 1 wei,
    and the max fee should cover the highest possible one.

    >>> _arbitrum_sendable(10**16, execution_gas=21_000, max_fee_per_gas=22_000_000, brotli_size=110,
    ...                    price_per_unit=10**9, lowest_base_fee=20_000_000)[:3]
    (9997602000000000, 2398000000000, 109000)
    """
    charge = poster_charge.core(brotli_size, price_per_unit=price_per_unit, gas_price=lowest_base_fee)
    return _sendable(balance, gas_limit=execution_gas + int(charge.gas), max_fee_per_gas=max_fee_per_gas)


def _l1_fee_bounds(
    l1_base_fee: int, blob_base_fee: int, l1_blocks: int, rules: BlobRules = MAINNET.rows[-1]
) -> tuple[int, int]:
    """Return the largest possible base fee and blob base fee of L1 after `l1_blocks` blocks [wei / gas].

    Several values of the excess blob gas give the same blob base fee; the function assumes the largest of these values.

    >>> _l1_fee_bounds(10**9, 10**9, 2)
    (1265625000, 1170047112)
    """
    if not l1_blocks:
        return l1_base_fee, blob_base_fee
    elasticity, denominator = fee_market.ELASTICITY, fee_market.BASE_FEE_CHANGE_DENOMINATOR
    full = fee_market.base_fee_bound(
        l1_base_fee, l1_blocks, gas_limit=elasticity, elasticity=elasticity, denominator=denominator
    )
    return full[-1], _blob_base_fee_bound(_largest_excess(blob_base_fee, rules), l1_blocks, rules)


def _largest_excess(blob_base_fee: int, rules: BlobRules) -> int:
    """Return the largest excess blob gas at which the blob base fee does not exceed `blob_base_fee` [gas].

    The blob base fee reaches 2 wei at an excess of 8,099,199 gas:

    >>> _largest_excess(1, MAINNET.rows[-1])
    8099198
    """
    return max(0, fee_market.excess_behind(blob_base_fee + 1, rules.update_fraction) - 1)


def _blob_base_fee_bound(excess: int, l1_blocks: int, rules: BlobRules) -> int:
    """Return the largest blob base fee after some full L1 blocks, given the current excess blob gas [wei / gas].

    >>> _blob_base_fee_bound(8_099_198, 1, MAINNET.rows[-1])
    2
    """
    reached = excess + l1_blocks * (rules.maximum - rules.target) * fee_market.GAS_PER_BLOB
    return int(fee_market.fake_exponential.core(fee_market.MIN_BLOB_BASE_FEE, reached, rules.update_fraction))


def _blobs_at(schedule: Schedule, at: When | None = None) -> BlobRules:
    """Return the blob rules at a date; `None`: the newest. For a date before the first row, return the first row.

    >>> _blobs_at(MAINNET).name, _blobs_at(MAINNET, "2025-06-01").name, _blobs_at(MAINNET, "2023-11-01").name
    ('BPO2', 'Prague', 'Cancun')
    """
    return schedule.rows[-1] if at is None else schedule.at(max(timestamp("at", at), schedule.rows[0].timestamp))


def _l1_blocks_until(parameters: Parameters, blocks: int) -> int:
    """Return the largest number of L1 blocks that can be produced while a chain produces `blocks` blocks.

    If the block time of the chain is not known, the function returns the argument `blocks`. The arguments are not
    checked.

    >>> _l1_blocks_until(parameters_of("op-mainnet"), 20)
    4
    """
    milliseconds = parameters.get("block_milliseconds", L1_BLOCK_MILLISECONDS)
    return 1 + blocks * milliseconds // L1_BLOCK_MILLISECONDS if blocks else 0


def needs_l1_fees(name: str | Chain, price_per_unit: int | None) -> bool:
    """Return whether a chain's data fee must be computed from L1 fees; on Arbitrum, only if `price_per_unit` is `None`.

    >>> needs_l1_fees("arbitrum-one", None), needs_l1_fees("arbitrum-one", 10**9)
    (True, False)
    """
    data_fee = FAMILIES[parameters_of(name).chain.family].data_fee
    return data_fee == "apart" or (data_fee == "as gas" and price_per_unit is None)


def _largest_bytes(unsigned: Transaction, balance: int) -> bytes:
    """Return the longest encoding, with the fewest zeros, for values up to the balance.

    >>> len(_largest_bytes(Transaction(gas_limit=21_000, to=bytes(20)), 10**15))
    104
    """
    value = 256 ** ((balance.bit_length() + 7) // 8) - 1
    return replace(unsigned, value=value).unsigned() + b"\xff" * SIGNATURE_BYTES


def _on_arbitrum(
    balance_wei: int, unsigned: Transaction, now: Now, l1_fees: tuple[int, int], parameters: Parameters, fee: int
) -> Sendable:
    price = now.price_per_unit
    if price is None:
        price = batch_price.core(*l1_fees, **parameters.known(*BATCH))
    # The transaction is assumed to be incompressible; brotli then adds a header of at most 8 bytes.
    size = len(_largest_bytes(unsigned, balance_wei)) + 8
    lowest = check_of(GasPrice)("min_base_fee", parameters["min_base_fee"])
    prices = {"max_fee_per_gas": fee, "price_per_unit": price, "lowest_base_fee": lowest}
    return _arbitrum_sendable(balance_wei, execution_gas=unsigned.gas_limit or 0, brotli_size=size, **prices)


def _max_base_fee(parameters: Parameters, now: Now, blocks: int) -> BaseFee:
    """Return the largest possible base fee of a chain after some blocks [wei / gas]; the arguments are not checked.

    Raises `UnknownParameter` for a parameter without a known value, and `InvalidInput` for a chain without a published
    bound.

    >>> _max_base_fee(parameters_of("op-mainnet"), Now(base_fee=10**6), 2)
    1008016
    """
    if not blocks:
        return now.base_fee
    bound = FAMILIES[parameters.chain.family].bound
    if bound is None:
        reason = f"expected a price in wei, because no bound on the base fee of {parameters.chain.name} is published"
        raise InvalidInput("max_fee_per_gas", reason, None)
    return bound(parameters, now.base_fee, blocks)


def _transaction(call: Mapping[str, Any], parameters: Parameters, gas_limit: int, fee: int, tip: int) -> Transaction:
    chain_id, name = parameters.chain.chain_id, parameters.chain.name
    parsed = parse_call({**call, "maxFeePerGas": fee, "maxPriorityFeePerGas": tip})
    if chain_id is None and parsed.chain_id is None:
        raise InvalidInput("call.chainId", "expected a chain id, because several chains have this rule", None)
    check_no_blobs(parsed)
    if parsed.authorizations and (reason := parameters.no_set_code) is not None:
        expected = f"{name} has no fee rule for transactions of type 4 (EIP-7702): {reason}"
        raise InvalidInput("call.authorizationList", expected, parsed.authorizations)
    return fill(parsed, gas=gas_limit, chain_id=chain_id or 0, set_code=True)


def _largest_fastlz_size(size: int) -> int:
    """Return the largest FastLZ length of a payload of this size, like `GasPriceOracle.getL1FeeUpperBound` [byte].

    >>> _largest_fastlz_size(73)
    89
    """
    return size + size // 255 + 16


def _sizes(encoded: bytes, data: bytes, columns: tuple[str, ...], gas: int) -> dict[str, int]:
    """Return upper bounds of the sizes that a rule needs, by column, for a transaction's longest encoding."""
    length, zeros = len(encoded), encoded.count(0)
    known = {"gas": gas, "length": length, "zero_bytes": zeros, "nonzero_bytes": length - zeros}
    known |= {"fastlz_size": _largest_fastlz_size(length), "zstd_size": length}
    known |= {"data_length": len(data), "zstd_data_size": SCROLL_ZSTD.size(data)}
    return {name: known[name] for name in columns}
