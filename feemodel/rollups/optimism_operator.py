"""Parameters that the operator of an OP Stack chain sets: L1 fee scalars for a given margin, and the footprint scalar.

Sources: ethereum-optimism/docs at bbe7f1e (2025-11-21): utils/calculator-helpers.ts, utils/transaction-types.ts;
base/contract-deployments at 15ac105 (2026-08-20): README and archive; ethereum-optimism/specs at fd72cf7 (Ecotone).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from feemodel._records import printed_as_table
from feemodel.checks import INT64_MAX, ArrayLike, flag, instance, real_scalar, text, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB, TRANSACTION_GAS
from feemodel.integers import MILLION
from feemodel.rollups import optimism

UINT32_MAX = 2**32 - 1
SCALAR_VERSION = 1  # version of the encoded scalars in the system configuration, since Ecotone
UINT16_MAX = 2**16 - 1

CALLDATA_GAS_PER_BYTE = 16
USABLE_BLOB_BYTES = GAS_PER_BLOB - 406 - 1_028  # usable bytes of a blob in the published calculator
BLOBS_PER_TRANSACTION = 5  # maximum number of blobs in the published calculator
HOURS = 24.0
STATE_GAS, FAULT_PROOF_STATE_GAS = 86_847.5, 420_926.0  # L1 gas of a state output, without and with fault proofs

FOOTPRINT_BLOB_BYTES = 128_000  # usable bytes of a blob in the published footprint formula; a blob has 131,072 bytes
SLOT_SECONDS = 12
FOOTPRINT_HEADROOM = Fraction(3, 2)
MIN_OF_MIX, MAX_OF_MIX = 1e-9, 1e9  # outside this range, the formulas lose precision
# Minimum values of `transactions_per_day` and `channel_hours`. Below these minimum values, a result could exceed the
# range of a double.
MIN_TRANSACTIONS, MIN_HOURS = 1e-9, 1e-6


@dataclass(frozen=True, slots=True)
class TransactionMix:
    """Sizes of a chain's transactions, as inputs of the published calculator."""

    name: str
    estimated_size: float  #: mean estimated size of a transaction, on which the L1 fee depends [byte]
    size_per_blob_gas: float  #: estimated size per unit of blob gas [byte / gas]
    size_per_calldata_gas: float  #: estimated size per unit of calldata gas [byte / gas]

    def __post_init__(self) -> None:
        text("name", self.name)
        for name in ("estimated_size", "size_per_blob_gas", "size_per_calldata_gas"):
            if not MIN_OF_MIX <= real_scalar(name, getattr(self, name)) <= MAX_OF_MIX:
                raise InvalidInput(name, f"expected {MIN_OF_MIX:g} to {MAX_OF_MIX:g}", getattr(self, name))


MIXES = MappingProxyType({
    mix.name: mix
    for mix in (
        TransactionMix("op-mainnet", 474.6, 1.313, 21.0), TransactionMix("base", 368.6, 2.193, 35.09),
        TransactionMix("mode", 144.3, 1.402, 22.43), TransactionMix("zora", 174.6, 1.435, 22.96),
    )
})  # fmt: skip


@printed_as_table
class Scalars(NamedTuple):
    """The two scalars of the L1 fee [10⁻⁶]."""

    base_fee_scalar: int
    blob_base_fee_scalar: int


@printed_as_table
class PostingPlan(NamedTuple):
    """Blobs and L1 transactions that post the batches of one day, as in the published calculator."""

    blobs: float  #: number of blobs per day
    fullness: float  #: used share of each blob [1]
    blobs_per_transaction: int
    l1_gas: float  #: execution gas per day, without state outputs [gas]


def measured_mix(name: str, fastlz_sizes: ArrayLike, posted_bytes: int) -> TransactionMix:
    """Compute a `TransactionMix` from the transactions of a channel.

    Parameters
    ----------
    name : name of the mix.
    fastlz_sizes : FastLZ lengths of the signed transactions, one-dimensional [byte].
    posted_bytes : size of the compressed channel, at least 1 [byte].

    Raises `InvalidInput` if an argument is not an integer in its range, or if there are no transactions.

    Two transactions with the minimum size of 100 bytes, posted in 80 bytes:

    >>> measured_mix("two", [120, 150], 80)
    TransactionMix(name='two', estimated_size=100.0, size_per_blob_gas=2.5, size_per_calldata_gas=40.0)
    """
    lengths = np.atleast_1d(np.asarray(optimism.scaled_size(fastlz_sizes)))
    if lengths.dtype == object:
        raise InvalidInput("fastlz_sizes", "expected lengths of at most 64 bits", fastlz_sizes)
    sizes = lengths / MILLION
    if sizes.ndim != 1 or not sizes.size:
        raise InvalidInput("fastlz_sizes", "expected a list of lengths, one for each transaction", fastlz_sizes)
    whole_scalar("posted_bytes", posted_bytes, minimum=1, maximum=INT64_MAX, unit="bytes")
    per_byte = float(sizes.sum()) / posted_bytes
    return TransactionMix(name, float(sizes.mean()), per_byte, CALLDATA_GAS_PER_BYTE * per_byte)


@printed_as_table
class Recovery(NamedTuple):
    """Revenue from the L1 fees of a channel's transactions, and cost of posting the channel."""

    revenue: int  #: [wei]
    cost: int  #: [wei]
    margin: float  #: (revenue − cost) / revenue; negative if the cost is higher than the revenue [1]


def recovery(
    scalars: Scalars,
    fastlz_sizes: ArrayLike,
    *,
    blobs: int,
    l1_transactions: int,
    l1_base_fee: int,
    blob_base_fee: int,
) -> Recovery:
    """Return revenue, cost and margin of a channel that was posted in blobs.

    Parameters
    ----------
    scalars : scalars of the L1 fee.
    fastlz_sizes : FastLZ lengths of the signed transactions, one-dimensional [byte].
    blobs : number of blobs of the channel; a partly filled blob costs as much as a full blob.
    l1_transactions : number of L1 transactions that carried the blobs; each used 21,000 gas.
    l1_base_fee, blob_base_fee : base fee and blob base fee of L1. The operator is assumed to post the channel at the
        same L1 fees at which the users were charged [wei / gas].

    Raises `InvalidInput` if an argument is not an integer of at least 0, or if the revenue is 0.

    >>> recovery(Scalars(0, 1_000_000), [150], blobs=1, l1_transactions=0, l1_base_fee=1, blob_base_fee=10**6)
    Recovery(revenue=100000000, cost=131072000000, margin=-1309.72)
    """
    instance("scalars", scalars, Scalars)
    base_fee, blob_fee = whole_scalar("l1_base_fee", l1_base_fee), whole_scalar("blob_base_fee", blob_base_fee)
    fees = optimism.fjord_l1_fee(
        fastlz_sizes, l1_base_fee=base_fee, blob_base_fee=blob_fee, base_fee_scalar=scalars.base_fee_scalar,
        blob_base_fee_scalar=scalars.blob_base_fee_scalar,
    )  # fmt: skip
    revenue = int(np.sum(np.asarray(fees, dtype=object)))
    cost = whole_scalar("blobs", blobs, maximum=UINT32_MAX) * GAS_PER_BLOB * blob_fee
    cost += whole_scalar("l1_transactions", l1_transactions, maximum=UINT32_MAX) * TRANSACTION_GAS * base_fee
    if not revenue:
        raise InvalidInput("scalars", "expected scalars with a revenue above 0", scalars)
    return Recovery(revenue, cost, (revenue - cost) / revenue)


def posting_plan(
    transactions_per_day: float, mix: TransactionMix, *, channel_hours: float, as_published: bool = True
) -> PostingPlan:
    """Return the number of blobs per day, the used share of each blob, and the L1 transactions that carry the blobs.

    Parameters
    ----------
    transactions_per_day : number of transactions per day, at least 1e-9.
    mix : sizes of the chain's transactions, such as an element of `MIXES`.
    channel_hours : time after which a channel is posted even if it is not full, from 1e-6 to 24 [h].
    as_published : `True` to compute the number of blobs per transaction from the calldata size, as the published code
        does; `False` to use the mean size, as the published formula does.

    >>> plan = posting_plan(500_000, MIXES["op-mainnet"], channel_hours=5)
    >>> round(plan.blobs), plan.fullness, plan.blobs_per_transaction
    (1394, 1.0, 5)
    """
    instance("mix", mix, TransactionMix)
    count = real_scalar("transactions_per_day", transactions_per_day, minimum=MIN_TRANSACTIONS)
    hours = real_scalar("channel_hours", channel_hours, minimum=MIN_HOURS)
    if hours > HOURS:
        raise InvalidInput("channel_hours", "expected at most 24 hours", channel_hours)
    capacity = USABLE_BLOB_BYTES * mix.size_per_blob_gas
    per_blob = min(capacity / mix.estimated_size, count / (HOURS / hours))
    blobs = count / per_blob
    # The published code uses `size_per_calldata_gas`, but the published formula uses `estimated_size`; see
    # `as_published` in `scalars_for_margin`.
    size = mix.size_per_calldata_gas if flag("as_published", as_published) else mix.estimated_size
    wanted = size * count * (hours / HOURS) / capacity
    carried = _rounded(max(1.0, min(float(BLOBS_PER_TRANSACTION), wanted)))
    return PostingPlan(blobs, per_blob * mix.estimated_size / capacity, carried, blobs / carried * TRANSACTION_GAS)


def scalars_for_margin(
    transactions_per_day: float,
    mix: TransactionMix,
    *,
    margin: float,
    channel_hours: float,
    output_hours: float,
    fault_proofs: bool = True,
    state_in_fees: bool = False,
    as_published: bool = False,
) -> Scalars:
    """Return the scalars at which users' L1 data fees cover the cost of posting and leave a given margin.

    The margin is a share of the revenue, so revenue = cost / (1 − margin). In the formulas for the scalars, n is
    `transactions_per_day` and size is `mix.estimated_size`:

        blob_base_fee_scalar = round(blobs · 131,072 / (size · n) / (1 − margin) · 10⁶)
        base_fee_scalar      = round((L1 gas + state gas) / (16 · size · n) / (1 − margin) · 10⁶)

    Parameters
    ----------
    transactions_per_day : number of transactions per day, at least 1e-9.
    mix : sizes of the chain's transactions, such as an element of `MIXES`.
    margin : share of revenue, at least 0 and below 1 [1].
    channel_hours : time after which a channel is posted even if it is not full, from 1e-6 to 24 [h].
    output_hours : time between two state outputs, at least 1e-6; 0 if the chain posts no outputs [h].
    fault_proofs : whether state outputs are posted with fault proofs, which increase the gas of an output.
    state_in_fees : whether users pay for state outputs.
    as_published : whether to return the scalars of the calculator in the documentation, including two errors of the
        calculator. First, the calculator computes the number of blobs per transaction from the calldata size. Second,
        the calculator divides the number of blobs by their fullness, although the number already includes partly filled
        blobs. Therefore, the calculator counts the cost of half-full blobs twice.

    Raises `InvalidInput` for an argument out of range. If `as_published` is `False`, a scalar of more than 32 bits also
    raises `InvalidInput`, because such a scalar does not fit into the system configuration.

    >>> scalars_for_margin(500_000, MIXES["op-mainnet"], margin=0.05, channel_hours=5, output_hours=1)
    Scalars(base_fee_scalar=1623, blob_base_fee_scalar=810568)
    """
    plan = posting_plan(transactions_per_day, mix, channel_hours=channel_hours, as_published=as_published)
    state_gas = 0.0
    if flag("state_in_fees", state_in_fees):
        per_output = FAULT_PROOF_STATE_GAS if flag("fault_proofs", fault_proofs) else STATE_GAS
        hours = real_scalar("output_hours", output_hours)
        if 0.0 < hours < MIN_HOURS:
            raise InvalidInput("output_hours", f"expected 0, or at least {MIN_HOURS:g}", output_hours)
        state_gas = HOURS / hours * per_output if hours else 0.0
    part = real_scalar("margin", margin)
    if not 0 <= part < 1:
        raise InvalidInput("margin", "expected a share of revenue, at least 0 and below 1", margin)
    size = mix.estimated_size * transactions_per_day
    blob = plan.blobs * GAS_PER_BLOB / size / (plan.fullness if as_published else 1.0) / (1 - part) * MILLION
    base = (plan.l1_gas + state_gas) / (CALLDATA_GAS_PER_BYTE * size) / (1 - part) * MILLION
    found = Scalars(_rounded(base), _rounded(blob))
    for name, value in found._asdict().items():
        if value > UINT32_MAX and not as_published:
            raise InvalidInput(name, "expected a scalar of at most 32 bits; nearly empty blobs need more", value)
    return found


def encode_scalars(base_fee_scalar: int, blob_base_fee_scalar: int) -> bytes:
    """Encode the scalars as a word of the system configuration: version byte 1, zeros, and four bytes for each scalar.

    >>> encode_scalars(5_227, 1_014_213)[-8:].hex()
    '000f79c50000146b'
    """
    base = whole_scalar("base_fee_scalar", base_fee_scalar, maximum=UINT32_MAX)
    blob = whole_scalar("blob_base_fee_scalar", blob_base_fee_scalar, maximum=UINT32_MAX)
    return bytes([SCALAR_VERSION]) + bytes(23) + blob.to_bytes(4, "big") + base.to_bytes(4, "big")


def decode_scalars(word: bytes) -> Scalars:
    """Decode the scalars from a word of the system configuration; the blob base fee scalar is 0 for version 0.

    Raises `InvalidInput` if the word does not have 32 bytes and version 0 or 1, or has a non-zero byte outside the
    scalars.

    >>> decode_scalars(encode_scalars(5_227, 1_014_213))
    Scalars(base_fee_scalar=5227, blob_base_fee_scalar=1014213)
    """
    if (
        not isinstance(word, bytes)
        or len(word) != 32
        or word[0] > SCALAR_VERSION
        or any(word[1:24])
        or (word[0] == 0 and any(word[24:28]))
    ):
        raise InvalidInput("word", "expected 32 bytes of version 0 or 1, all zero except for the scalars", word)
    return Scalars(int.from_bytes(word[28:], "big"), int.from_bytes(word[24:28], "big"))


def footprint_scalar(gas_limit: int, *, elasticity: int, target_blobs: int, block_seconds: int | Fraction = 2) -> int:
    """Return the footprint scalar for a chain whose data should fit in L1's target number of blobs [gas / byte].

    The scalar is gas_limit // (elasticity · block_seconds · target_blobs · 128,000 / 12 · 1.5), in exact arithmetic.
    With the resulting scalar, a block can have at most gas_limit / scalar bytes of data, and the base fee rises if a
    block has more than gas_limit / elasticity / scalar bytes. Blocks with gas_limit / elasticity / scalar bytes fill
    1.5 times the target number of blobs. In a chain's configuration, a scalar of 0 means the default of 400.

    Parameters
    ----------
    gas_limit : gas limit of a block [gas].
    elasticity : gas limit divided by gas target, at least 1 [1].
    target_blobs : target number of blobs of an L1 block, at least 1.
    block_seconds : time between blocks, above 0; pass a `Fraction` if the time is not a whole number of seconds [s].

    Raises `InvalidInput` for an argument out of range, and if the scalar would be 0 or above 65,535.

    The scalars that Base set on 2025-12-04 and 2025-12-18:

    >>> footprint_scalar(300_000_000, elasticity=5, target_blobs=6)
    312
    >>> footprint_scalar(375_000_000, elasticity=6, target_blobs=6)
    325

    The same gas per second in blocks of 200 ms:

    >>> footprint_scalar(30_000_000, elasticity=5, target_blobs=6, block_seconds=Fraction(1, 5))
    312
    """
    limit = whole_scalar("gas_limit", gas_limit, minimum=1, unit="gas")
    if isinstance(block_seconds, bool) or not isinstance(block_seconds, (int, Fraction)) or block_seconds <= 0:
        raise InvalidInput("block_seconds", "expected a whole number or Fraction above 0", block_seconds)
    share = whole_scalar("elasticity", elasticity, minimum=1) * block_seconds
    bytes_ = share * whole_scalar("target_blobs", target_blobs, minimum=1) * FOOTPRINT_BLOB_BYTES
    return _footprint(math.floor(limit * SLOT_SECONDS / (bytes_ * FOOTPRINT_HEADROOM)))


def footprint_scalar_at_limit(gas_limit: int, *, maximum_blobs: int) -> int:
    """Return the footprint scalar with which a full L2 block fills the maximum number of L1 blobs [gas / byte].

    The scalar is gas_limit // (maximum_blobs · 128,000), the formula by which Base has set its footprint scalar since
    2026-03.

    >>> footprint_scalar_at_limit(400_000_000, maximum_blobs=21)
    148
    """
    limit = whole_scalar("gas_limit", gas_limit, minimum=1, unit="gas")
    return _footprint(limit // (whole_scalar("maximum_blobs", maximum_blobs, minimum=1) * FOOTPRINT_BLOB_BYTES))


def _rounded(value: float) -> int:
    return math.floor(value + 0.5)  # like JavaScript's Math.round


def _footprint(scalar: int) -> int:
    if not 0 < scalar <= UINT16_MAX:
        raise InvalidInput(
            "footprint_scalar", "expected arguments for which the scalar is from 1 to 65,535 gas per byte", scalar
        )
    return scalar
