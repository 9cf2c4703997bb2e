"""Largest value that an account can send with a given balance, and upper bounds of future fees.

A transaction is valid in a block if the block's base fee is at most the transaction's `maxFeePerGas`, and if the
sender's balance is at least

    OP Stack              gas limit · max fee + L1 data fee + operator fee for the gas limit + value
    Scroll                gas limit · max fee + L1 data fee + value
    Arbitrum              gas limit · max fee + value, where the gas limit includes the gas that pays for L1
    Linea, zkSync, Taiko  gas limit · max fee + value

The largest value that can be sent is the balance minus the amount held back for fees. The sender gets a refund for
unused gas, but not for the L1 data fee. An `eth_call` charges neither the L1 data fee nor the operator fee, so an
`eth_call` can succeed with a value that is too large for a transaction.

The functions of this module do not check their arguments.

Sources: ethereum-optimism/op-geth at 7b56c73, core/state_transition.go and core/txpool/validation.go;
OffchainLabs/nitro at 6dce8d1, arbos/tx_processor.go; scroll-tech/go-ethereum, core/state_transition.go;
matter-labs/era-contracts, TransactionHelper.sol; matter-labs/zksync-os at 0a82da0.
"""

from typing import NamedTuple

from feemodel._records import printed_as_table
from feemodel.ethereum import fee_market
from feemodel.rollups import arbitrum


@printed_as_table
class Sendable(NamedTuple):
    """Largest value that can be sent, and the amount held back for fees."""

    max_value: int | None  #: largest value that can be sent; `None` if the balance does not cover the fees [wei]
    held: int  #: amount held back for fees [wei]
    gas_limit: int  #: [gas]
    l1_fee: int  #: L1 data fee, a part of `held` [wei]
    operator_fee: int  #: operator fee, a part of `held` [wei]
    max_fee_per_gas: int  #: max fee of the transaction [wei / gas]

    def as_dict(self) -> dict[str, int | None]:
        """Return the fields with their names in JSON."""
        return {
            "maxValue": self.max_value, "held": self.held, "gasLimit": self.gas_limit,
            "maxFeePerGas": self.max_fee_per_gas, "l1Fee": self.l1_fee, "operatorFee": self.operator_fee,
        }  # fmt: skip


def sendable(balance: int, *, gas_limit: int, max_fee_per_gas: int, l1_fee: int = 0, operator_fee: int = 0) -> Sendable:
    """Return the largest value that can be sent: balance − gas limit · max fee − L1 data fee − operator fee.

    Parameters
    ----------
    balance : balance of the sender [wei].
    gas_limit : gas limit of the transaction [gas].
    max_fee_per_gas : max fee of the transaction [wei / gas].
    l1_fee : L1 data fee, charged in addition to the gas [wei].
    operator_fee : operator fee, charged in addition to the gas [wei].

    >>> sendable(10**15, gas_limit=160_000, max_fee_per_gas=50_000_000, l1_fee=40_000_000_000_123)[:2]
    (951999999999877, 48000000000123)
    """
    held = gas_limit * max_fee_per_gas + l1_fee + operator_fee
    left = balance - held
    return Sendable(left if left >= 0 else None, held, gas_limit, l1_fee, operator_fee, max_fee_per_gas)


def arbitrum_sendable(
    balance: int,
    *,
    execution_gas: int,
    max_fee_per_gas: int,
    brotli_size: int,
    price_per_unit: int,
    lowest_base_fee: int,
) -> Sendable:
    """Return the largest value that can be sent on Arbitrum, where the gas limit includes the gas that pays for L1.

    The gas that pays for L1 is price_per_unit · 16 · brotli_size // base fee, and grows when the base fee falls. The
    function therefore computes the gas limit with the lowest possible base fee. The max fee should cover the highest
    possible base fee.

    Parameters
    ----------
    balance : balance of the sender [wei].
    execution_gas : gas of the transaction without the gas that pays for L1 [gas].
    max_fee_per_gas : max fee of the transaction [wei / gas].
    brotli_size : compressed length of the signed transaction [byte].
    price_per_unit : price per unit of the L1 pricing controller [wei / unit].
    lowest_base_fee : lowest possible base fee until inclusion, such as the chain's minimum, at least 1 [wei / gas].

    >>> arbitrum_sendable(10**16, execution_gas=21_000, max_fee_per_gas=22_000_000, brotli_size=110,
    ...                   price_per_unit=10**9, lowest_base_fee=20_000_000)[:3]
    (9997602000000000, 2398000000000, 109000)
    """
    charge = arbitrum.poster_charge.core(brotli_size, price_per_unit=price_per_unit, gas_price=lowest_base_fee)
    return sendable(balance, gas_limit=execution_gas + int(charge.gas), max_fee_per_gas=max_fee_per_gas)


def l1_fee_bounds(
    l1_base_fee: int, blob_base_fee: int, l1_blocks: int, rules: fee_market.BlobRules = fee_market.MAINNET.rows[-1]
) -> tuple[int, int]:
    """Return the largest possible base fee and blob base fee of L1 after `l1_blocks` blocks [wei / gas].

    Several values of the excess blob gas give the same blob base fee; the function assumes the largest of these values.

    Parameters
    ----------
    l1_base_fee : base fee of the newest L1 block known to the rollup [wei / gas].
    blob_base_fee : blob base fee of the newest L1 block known to the rollup [wei / gas].
    l1_blocks : number of L1 blocks until inclusion.
    rules : rules of the blob market.

    >>> l1_fee_bounds(10**9, 10**9, 2)
    (1265625000, 1170047112)
    """
    if not l1_blocks:
        return l1_base_fee, blob_base_fee
    elasticity, denominator = fee_market.ELASTICITY, fee_market.BASE_FEE_CHANGE_DENOMINATOR
    full = fee_market.base_fee_bound(
        l1_base_fee, l1_blocks, gas_limit=elasticity, elasticity=elasticity, denominator=denominator
    )
    return full[-1], blob_base_fee_bound(largest_excess(blob_base_fee, rules), l1_blocks, rules)


def largest_excess(blob_base_fee: int, rules: fee_market.BlobRules) -> int:
    """Return the largest excess blob gas at which the blob base fee does not exceed `blob_base_fee` [gas].

    The blob base fee reaches 2 wei at an excess of 8,099,199 gas:

    >>> largest_excess(1, fee_market.MAINNET.rows[-1])
    8099198
    """
    return max(0, fee_market.excess_behind(blob_base_fee + 1, rules.update_fraction) - 1)


def blob_base_fee_bound(excess: int, l1_blocks: int, rules: fee_market.BlobRules) -> int:
    """Return the largest blob base fee after some L1 blocks full of blobs, given the current excess [wei / gas].

    >>> blob_base_fee_bound(8_099_198, 1, fee_market.MAINNET.rows[-1])
    2
    """
    reached = excess + l1_blocks * (rules.maximum - rules.target) * fee_market.GAS_PER_BLOB
    return int(fee_market.fake_exponential.core(fee_market.MIN_BLOB_BASE_FEE, reached, rules.update_fraction))
