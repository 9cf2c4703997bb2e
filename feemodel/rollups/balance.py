"""Largest value that a balance can send, leaving enough for every fee, and how far fees may rise until then.

A transaction is valid in a block while the base fee is at most its `maxFeePerGas` and the sender has

    OP Stack              gas limit · max fee + L1 data fee + operator fee of the gas limit + value
    Scroll                gas limit · max fee + L1 data fee + value
    Arbitrum              gas limit · max fee + value, the gas limit covering the gas that pays for L1
    Linea, zkSync, Taiko  gas limit · max fee + value

so the largest value is the balance less what is *held* back. What is not used of it comes back; the L1 data fee does
not. An `eth_call` charges neither L1 data fee nor operator fee and so does not find a value that is too large.

Sources: ethereum-optimism/op-geth at 7b56c73, core/state_transition.go and core/txpool/validation.go;
OffchainLabs/nitro at 6dce8d1, arbos/tx_processor.go; scroll-tech/go-ethereum, core/state_transition.go;
matter-labs/era-contracts, TransactionHelper.sol; matter-labs/zksync-os at 0a82da0.
"""

from collections.abc import Sequence
from typing import NamedTuple

from feemodel.checks import INT64_MAX, check_limit, instance, sequence, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum import fee_market
from feemodel.records import printed_as_table
from feemodel.rollups import arbitrum, taiko, zksync_os
from feemodel.rollups.arbitrum_l2_pricing import BIPS, GasConstraint, constraint_base_fee

L1_BASE_FEE_DENOMINATOR = 8
ARBITRUM_BLOCK_GAS = 2 * 32_000_000  # the last transaction of a block may pass the block limit, by one more limit
TAIKO_GAS_LIMIT = 240_000_000  # any even one: the fee sees gas used over the target

MAX_BLOCKS = 100_000  # to look ahead: two weeks of Ethereum


@printed_as_table
class Sendable(NamedTuple):
    """Largest value that can be sent, and the amount held back for fees."""

    max_value: int | None  #: `None`: the balance does not cover what is held back [wei]
    held: int  #: [wei]
    gas_limit: int  #: [gas]
    l1_fee: int  #: part of what is held back [wei]
    operator_fee: int  #: part of what is held back [wei]
    max_fee_per_gas: int  #: of the transaction [wei / gas]


def sendable(balance: int, *, gas_limit: int, max_fee_per_gas: int, l1_fee: int = 0, operator_fee: int = 0) -> Sendable:
    """The balance less gas limit · max fee, L1 data fee and operator fee.

    Parameters
    ----------
    balance : of the sender [wei].
    gas_limit : of the transaction [gas].
    max_fee_per_gas : of the transaction [wei / gas].
    l1_fee, operator_fee : that the chain takes besides the gas [wei].

    Raises `InvalidInput` for anything that is not a whole number of at least 0.

    >>> sendable(10**15, gas_limit=160_000, max_fee_per_gas=50_000_000, l1_fee=40_000_000_000_123)[:2]
    (951999999999877, 48000000000123)
    """
    limit = whole_scalar("gas_limit", gas_limit, unit="gas")
    data, operator = whole_scalar("l1_fee", l1_fee, unit="wei"), whole_scalar("operator_fee", operator_fee, unit="wei")
    fee = whole_scalar("max_fee_per_gas", max_fee_per_gas, unit="wei")
    held = limit * fee + data + operator
    left = whole_scalar("balance", balance, unit="wei") - held
    return Sendable(left if left >= 0 else None, held, limit, data, operator, fee)


def arbitrum_sendable(
    balance: int,
    *,
    execution_gas: int,
    max_fee_per_gas: int,
    brotli_size: int,
    price_per_unit: int,
    lowest_base_fee: int,
) -> Sendable:
    """Largest value that can be sent on Arbitrum, whose gas limit covers the gas that pays for L1.

    That gas is price_per_unit · 16 · brotli_size // base fee: it grows when the base fee falls. So the gas limit is
    sized at the lowest base fee that may hold, while the max fee is for the highest.

    Parameters
    ----------
    balance, max_fee_per_gas : as in `sendable`.
    execution_gas : of the transaction without what pays for L1 [gas].
    brotli_size : compressed length of the signed transaction [byte].
    price_per_unit : of the L1 controller [wei / unit].
    lowest_base_fee : that may hold until the block of inclusion, such as the chain's minimum, at least 1 [wei / gas].

    >>> arbitrum_sendable(10**16, execution_gas=21_000, max_fee_per_gas=22_000_000, brotli_size=110,
    ...                   price_per_unit=10**9, lowest_base_fee=20_000_000)[:3]
    (9997602000000000, 2398000000000, 109000)
    """
    charge = arbitrum.poster_charge(
        whole_scalar("brotli_size", brotli_size, unit="bytes"),
        price_per_unit=whole_scalar("price_per_unit", price_per_unit, unit="wei"),
        gas_price=whole_scalar("lowest_base_fee", lowest_base_fee, minimum=1, unit="wei"),
    )
    limit = whole_scalar("execution_gas", execution_gas, unit="gas") + int(charge.gas)
    return sendable(balance, gas_limit=limit, max_fee_per_gas=max_fee_per_gas)


def base_fee_bound(
    base_fee: int, blocks: int, *, gas_limit: int, elasticity: int, denominator: int, min_base_fee: int = 0
) -> list[int]:
    """The largest base fees that EIP-1559 allows after 1, 2, … blocks: all of them full.

    Parameters
    ----------
    base_fee : of the newest block [wei / gas].
    blocks : how many to look ahead.
    gas_limit, elasticity, denominator : of the chain.
    min_base_fee : of an OP Stack chain from Jovian on [wei / gas].

    Ethereum, 1 gwei and an eighth more each time:

    >>> base_fee_bound(10**9, 3, gas_limit=30_000_000, elasticity=2, denominator=8)
    [1125000000, 1265625000, 1423828125]
    """
    fee, floor = whole_scalar("base_fee", base_fee, unit="wei"), whole_scalar("min_base_fee", min_base_fee, unit="wei")
    for name, value in (("gas_limit", gas_limit), ("elasticity", elasticity), ("denominator", denominator)):
        whole_scalar(name, value, minimum=1)
    fees: list[int] = []
    for _ in range(_blocks("blocks", blocks)):
        fee = int(fee_market.next_base_fee(fee, gas_limit, gas_limit, elasticity=elasticity, denominator=denominator))
        fee = max(fee, floor)
        fees.append(fee)
    return fees


def arbitrum_base_fee_bound(
    base_fee: int, blocks: int, *, constraints: Sequence[GasConstraint], min_base_fee: int
) -> int:
    """The largest base fee of Arbitrum after some blocks: each as full as a block can be, and no time between them.

    The backlogs are only known through the fee, so the exponent is the largest that gives it. Each block adds 64
    million gas to every backlog.

    Parameters
    ----------
    base_fee : of the newest block [wei / gas].
    blocks : how many to look ahead.
    constraints : of the chain; the legacy rule is one of its speed limit and inertia.
    min_base_fee : of the chain, at least 1 [wei / gas].

    64 million gas on empty backlogs, 1,186 + 301 + 68 + 16 + 4 + 1 basis points with each term rounded up:

    >>> from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS
    >>> arbitrum_base_fee_bound(20_000_000, 1, constraints=DIA_CONSTRAINTS, min_base_fee=20_000_000)
    23412000
    """
    count = _blocks("blocks", blocks)
    floor = whole_scalar("min_base_fee", min_base_fee, minimum=1, unit="wei")
    fee = max(whole_scalar("base_fee", base_fee, unit="wei"), floor)
    if fee >= constraint_base_fee(INT64_MAX, min_base_fee=floor):
        raise InvalidInput("base_fee", "expected less than the fee at which the node's arithmetic saturates", base_fee)
    low, high = 0, 1  # the exponent of low is not too large, that of high is
    while constraint_base_fee(high, min_base_fee=floor) <= fee:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = constraint_base_fee(middle, min_base_fee=floor) <= fee
        low, high = (middle, high) if fits else (low, middle)
    gas = count * ARBITRUM_BLOCK_GAS * BIPS
    each = [instance("constraints", one, GasConstraint) for one in sequence("constraints", constraints)]
    added = [-(-gas // (one.window * one.target)) for one in each]
    return constraint_base_fee(low + sum(added), min_base_fee=floor)


def taiko_base_fee_bound(base_fee: int, blocks: int, *, chain: taiko.Chain = taiko.MAINNET) -> int:
    """The largest base fee of Taiko after some blocks: each full, and no time between them, up to the chain's maximum.

    A quarter more for each block:

    >>> taiko_base_fee_bound(25_000_000, 2)
    39062500
    """
    instance("chain", chain, taiko.Chain)
    fee = whole_scalar("base_fee", base_fee, unit="wei")
    for _ in range(_blocks("blocks", blocks)):
        if fee >= chain.max_base_fee:
            break
        fee = int(taiko.next_base_fee(fee, TAIKO_GAS_LIMIT, TAIKO_GAS_LIMIT, 0, chain=chain))
    return fee


def zksync_os_base_fee_bound(base_fee: int, blocks: int, *, native_per_gas: int) -> int:
    """The largest base fee of ZKsync OS after some blocks: the native price may rise by an eighth, at least 1, in each.

    Parameters
    ----------
    base_fee : of the newest block [wei / gas].
    blocks : how many to look ahead.
    native_per_gas : of the chain, at least 1 [native unit / gas].

    >>> zksync_os_base_fee_bound(100, 3, native_per_gas=100), zksync_os_base_fee_bound(80_000, 2, native_per_gas=100)
    (400, 101200)
    """
    per_gas = whole_scalar("native_per_gas", native_per_gas, minimum=1)
    native = -(-whole_scalar("base_fee", base_fee, unit="wei") // per_gas)
    for _ in range(_blocks("blocks", blocks)):
        native += max(1, native // zksync_os.CHANGE_DENOMINATOR)
    return native * per_gas


def l1_fee_bounds(
    l1_base_fee: int, blob_base_fee: int, l1_blocks: int, rules: fee_market.BlobRules = fee_market.MAINNET.rows[-1]
) -> tuple[int, int]:
    """The largest base fee and blob base fee of L1 after some blocks, all of them full [wei / gas].

    Parameters
    ----------
    l1_base_fee, blob_base_fee : of the newest block that the rollup has seen [wei / gas].
    l1_blocks : that it may have seen by the time of inclusion: one L2 block moves at most one L1 block on.
    rules : of the blobs.

    The excess blob gas is only known through its price, so the bound is that of the largest excess at this price.

    >>> l1_fee_bounds(10**9, 10**9, 2)
    (1265625000, 1170047112)
    """
    blocks = _blocks("l1_blocks", l1_blocks)
    instance("rules", rules, fee_market.BlobRules)
    base = l1_base_fee_bound(l1_base_fee, blocks)
    if not blocks:
        return base, whole_scalar("blob_base_fee", blob_base_fee, unit="wei")
    return base, blob_base_fee_bound(largest_excess(blob_base_fee, rules), blocks, rules)


def l1_base_fee_bound(l1_base_fee: int, l1_blocks: int) -> int:
    """The largest base fee of L1 after some full blocks [wei / gas].

    >>> l1_base_fee_bound(10**9, 2)
    1265625000
    """
    base = whole_scalar("l1_base_fee", l1_base_fee, unit="wei")
    for _ in range(_blocks("l1_blocks", l1_blocks)):
        base += max(1, base // L1_BASE_FEE_DENOMINATOR)
    return base


def largest_excess(blob_base_fee: int, rules: fee_market.BlobRules) -> int:
    """The largest excess blob gas at which blob gas costs no more than that [gas].

    The least excess that costs 2 wei has 8,099,199 gas, 100 more than ln 2 fractions, as the series is rounded:

    >>> largest_excess(1, fee_market.MAINNET.rows[-1])
    8099198
    """
    fee = whole_scalar("blob_base_fee", blob_base_fee, unit="wei")
    return max(0, fee_market.excess_behind(fee + 1, instance("rules", rules, fee_market.BlobRules).update_fraction) - 1)


def blob_base_fee_bound(excess: int, l1_blocks: int, rules: fee_market.BlobRules) -> int:
    """The largest blob base fee after some blocks full of blobs, from an excess of blob gas [wei / gas].

    >>> blob_base_fee_bound(8_099_198, 1, fee_market.MAINNET.rows[-1])
    2
    """
    instance("rules", rules, fee_market.BlobRules)
    risen = _blocks("l1_blocks", l1_blocks) * (rules.maximum - rules.target) * fee_market.GAS_PER_BLOB
    reached = whole_scalar("excess", excess, unit="gas") + risen
    return int(fee_market.fake_exponential(fee_market.MIN_BLOB_BASE_FEE, reached, rules.update_fraction))


def _blocks(name: str, blocks: int) -> int:
    count = whole_scalar(name, blocks)
    check_limit(count, "blocks ahead", MAX_BLOCKS, ": the bound has no meaning there")
    return count
