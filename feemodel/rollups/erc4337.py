"""preVerificationGas of ERC-4337, by the formulas of three public bundlers for each family of chains.

rundler    4 · zero + 16 · nonzero + 4 · words + per operation + ⌈21,000 / bundle⌉ + authorization + data gas
alto       4 · (zero + 4 · nonzero) + 21,000 + 9,830 + 7,260 + ⌈calldata / 32⌉ · 9.2 + data gas
Voltaire   4 · zero + 16 · nonzero + 21,000 + 18,300 + 4 · words + data gas

`zero`, `nonzero` and `words` are the numbers of zero bytes, non-zero bytes and 32-byte words in the ABI-encoded
operation. alto and Voltaire replace some fields by placeholders before they count the bytes. The data gas pays for the
L1 data of the whole bundle. For the data gas, rundler compresses the bundle itself on the OP Stack, and calls the node
on Arbitrum. alto and Voltaire call an oracle contract on the chain. `feemodel.rollups._user_operation` has the
encodings.

No bundler includes an operator fee, and alto still uses the rule that Mantle had before its upgrade Arsia. A bundler's
result can differ from the result of this module for three reasons. First, rundler uses a random beneficiary, and alto
uses random gas limits and a random signature for an estimate. Second, alto and Voltaire divide the data fee by the gas
price that they suggest, but this module divides by the gas price of the operation. Third, Voltaire adds 1,000 gas to an
estimate.

Sources: alchemyplatform/rundler at 6db381f (2026-08-06): crates/types/src/chain.rs and user_operation/mod.rs,
crates/provider/src/alloy/da/local and entry_point; pimlicolabs/alto at b2bc09c (2026-08-21):
src/rpc/estimation/preVerificationGasCalculator.ts; candidelabs/voltaire at 21e7845: voltaire_bundler/gas. Rundler, alto
and Voltaire publish no test vectors.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from feemodel.checks import EMPTY, check_fields, choice, flag, instance, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.integers import multiply_divide_parts
from feemodel.rollups import optimism
from feemodel.rollups._user_operation import (
    ENTRY_POINTS,
    WORD,
    UserOperation,
    alto_filled,
    alto_transaction,
    encode,
    handle_ops,
    rundler_transaction,
    voltaire_filled,
    voltaire_measured,
)
from feemodel.rollups.arbitrum_node import node_interface_gas
from feemodel.rollups.chains import Chain, Parameters, When
from feemodel.rollups.rules import parameters_of
from feemodel.sizes._codecs import FastLz

PER_OPERATION = {"0.6": 18_300, "0.7": 19_500}  # rundler's gas per operation, by version of the entry point [gas]
WORD_GAS = 4
AUTHORIZATION_GAS = 25_000  # gas of an EIP-7702 authorization
ALTO_FIXED_GAS, ALTO_OPERATION_GAS = 9_830, 7_260
ALTO_WORD_MILLIGAS = 9_200
ALTO_EXECUTE_GAS, ALTO_EXECUTE_WORD_MILLIGAS = 1_610, 8_200  # gas for accounts called with executeUserOp
EXECUTE_USER_OP = bytes.fromhex("8dd7712f")
FLOOR_GAS = {"zero": 10, "nonzero": 40}  # gas per byte in EIP-7623
SIGNATURE_SIZE = 68  # assumed FastLZ length of the missing signature
SCALE = 10**6
ETHERLINK_BYTES, ETHERLINK_BYTE_PRICE = 150, 4 * 10**12
VOLTAIRE_OPERATION_GAS = 18_300
VOLTAIRE_OP_STACK = ("op-mainnet", "base", "world-chain")  # OP Stack chains where Voltaire adds data gas
NO_DATA_FEE = ("taiko", "linea")  # families of chains without a separate data fee
BUNDLERS = ("rundler", "alto", "voltaire")


class PreVerificationGas(NamedTuple):
    """preVerificationGas and its parts [gas]."""

    gas: int
    execution: int  #: gas for the execution of the bundle
    data: int  #: gas that pays for the L1 data fee, at the operation's gas price


def rundler_gas(
    zero_bytes: int, nonzero_bytes: int, *, entry_point: str = "0.7", bundle_size: int = 1,
    intrinsic_gas: int = TRANSACTION_GAS, deploy_overhead: int = 0, authorization_gas: int = 0, aggregator_gas: int = 0,
    data_gas: int = 0,
) -> int:  # fmt: skip
    """Return rundler's preVerificationGas.

    Parameters
    ----------
    zero_bytes, nonzero_bytes : number of zero and non-zero bytes in the ABI-encoded operation [byte].
    entry_point : "0.6" or "0.7".
    bundle_size : number of operations among which the intrinsic gas is divided.
    intrinsic_gas : intrinsic gas of the bundle's transaction [gas].
    deploy_overhead, authorization_gas, aggregator_gas, data_gas : amounts that are added to the result [gas].

    Raises `InvalidInput` for an argument that is not an integer of at least 0, or a bundle size of 0.

    The result is 4 · 180 + 16 · 300 for the bytes, 4 · 15 for the words, 18,300 for the operation and 21,000 for the
    transaction:

    >>> rundler_gas(180, 300, entry_point="0.6")
    44880
    """
    zeros, others = whole_scalar("zero_bytes", zero_bytes), whole_scalar("nonzero_bytes", nonzero_bytes)
    own = PER_OPERATION[choice("entry_point", entry_point, PER_OPERATION)]
    static = 4 * zeros + 16 * others + WORD_GAS * -(-(zeros + others) // WORD) + own
    gas = whole_scalar("intrinsic_gas", intrinsic_gas)
    shared = -(-gas // whole_scalar("bundle_size", bundle_size, minimum=1))
    added = {"deploy_overhead": deploy_overhead, "authorization_gas": authorization_gas,
             "aggregator_gas": aggregator_gas, "data_gas": data_gas}  # fmt: skip
    return static + shared + sum(whole_scalar(name, value) for name, value in added.items())


def rundler_floor(
    gas: int, *, execution_gas_limit: int, verification_gas_limit: int, calldata_floor: int,
    threshold_ppt: int = 200, data_gas: int = 0,
) -> int:  # fmt: skip
    """Return rundler's preVerificationGas with the calldata floor of EIP-7623.

    rundler assumes that an operation uses `gas` + execution_gas_limit // 10 + verification_gas_limit · threshold_ppt //
    1000. If the assumed gas is below the calldata floor, the difference is added to `gas`.

    Parameters
    ----------
    gas : result of `rundler_gas` without data gas [gas].
    execution_gas_limit, verification_gas_limit : gas limits of the operation [gas].
    calldata_floor : calldata floor: 10 gas for each zero byte and 40 gas for each non-zero byte [gas].
    threshold_ppt : share of the verification gas limit that is assumed to be used [10⁻³].
    data_gas : gas for the L1 data fee, which is added to the result [gas].

    The assumed gas is 60,000 + 10,000 + 20,000, which is 30,000 below the calldata floor of 120,000:

    >>> rundler_floor(60_000, execution_gas_limit=100_000, verification_gas_limit=100_000, calldata_floor=120_000)
    90000
    """
    own = whole_scalar("gas", gas)
    share = whole_scalar("threshold_ppt", threshold_ppt, maximum=1000)
    minimum = own + whole_scalar("execution_gas_limit", execution_gas_limit) // 10
    minimum += whole_scalar("verification_gas_limit", verification_gas_limit) * share // 1000
    short = max(0, whole_scalar("calldata_floor", calldata_floor) - minimum)
    return own + short + whole_scalar("data_gas", data_gas)


def op_stack_data_gas(
    fastlz_size: int, *, l1_base_fee: int, blob_base_fee: int, base_fee_scalar: int, blob_base_fee_scalar: int,
    gas_price: int, extra_bytes: int = 0,
) -> int:  # fmt: skip
    """Return rundler's data gas on the OP Stack [gas].

    The data gas is L1 data fee // gas_price. The L1 data fee is computed by Fjord's formula from `fastlz_size` + 68
    bytes, where the 68 bytes stand for the signature.

    Parameters
    ----------
    fastlz_size : FastLZ length of the operation [byte].
    l1_base_fee, blob_base_fee : base fee and blob base fee of L1 [wei / gas].
    base_fee_scalar, blob_base_fee_scalar : the chain's factors for base fee and blob base fee [10⁻⁶].
    gas_price : min(max fee, base fee + priority fee), at least 1 [wei / gas].
    extra_bytes : bytes that the bundle adds to the operation [byte].

    >>> op_stack_data_gas(300, l1_base_fee=2 * 10**9, blob_base_fee=125 * 10**6, base_fee_scalar=5_227,
    ...                   blob_base_fee_scalar=1_014_213, gas_price=1_000_252)
    77973
    """
    size = int(optimism._scaled_size(whole_scalar("fastlz_size", fastlz_size, unit="bytes") + SIGNATURE_SIZE))
    size += whole_scalar("extra_bytes", extra_bytes, unit="bytes") * SCALE
    price = optimism._weighted_price(
        base_fee_scalar=whole_scalar("base_fee_scalar", base_fee_scalar),
        l1_base_fee=whole_scalar("l1_base_fee", l1_base_fee),
        blob_base_fee_scalar=whole_scalar("blob_base_fee_scalar", blob_base_fee_scalar),
        blob_base_fee=whole_scalar("blob_base_fee", blob_base_fee),
    )
    fee = int(multiply_divide_parts("l1_fee", price, size, optimism.UNITS_PER_BYTE["fjord"]))
    return fee // whole_scalar("gas_price", gas_price, minimum=1)


class ArbitrumDataGas(NamedTuple):
    """Data gas of an operation on Arbitrum at current prices, and the size that rundler stores for the operation."""

    units: int  #: [10⁻⁶ unit]
    gas: int  #: [gas]


def arbitrum_data_gas(
    gas_for_l1: int, *, l1_base_fee: int, base_fee: int, new_l1_base_fee: int, new_base_fee: int
) -> ArbitrumDataGas:
    """Return rundler's data gas on Arbitrum: the node's estimate, converted to current prices.

    Parameters
    ----------
    gas_for_l1 : result of `gasEstimateL1Component` [gas].
    l1_base_fee, base_fee : base fees of L1 and of the chain when `gas_for_l1` was estimated [wei / gas].
    new_l1_base_fee, new_base_fee : current base fees of L1 and of the chain [wei / gas].

    If `l1_base_fee` is 0, the stored size is 0. If `new_base_fee` is 0, the data gas is 0.

    The L1 base fee doubles, so the data gas doubles. `units` is gas_for_l1 · 10⁶ · base_fee · 10 // 11 // l1_base_fee =
    50,000 · 10⁶ · 0.1 gwei · 10 // 11 // 20 gwei:

    >>> prices = {"l1_base_fee": 20 * 10**9, "base_fee": 10**8}
    >>> arbitrum_data_gas(50_000, **prices, new_l1_base_fee=40 * 10**9, new_base_fee=10**8)
    ArbitrumDataGas(units=227272727, gas=99999)
    """
    l1, own = whole_scalar("l1_base_fee", l1_base_fee), whole_scalar("base_fee", base_fee)
    new_l1, new_own = whole_scalar("new_l1_base_fee", new_l1_base_fee), whole_scalar("new_base_fee", new_base_fee)
    units = whole_scalar("gas_for_l1", gas_for_l1) * SCALE * own * 10 // 11 // l1 if l1 else 0
    return ArbitrumDataGas(units, units * new_l1 * 11 // 10 // new_own // SCALE if new_own else 0)


def alto_gas(
    zero_bytes: int, nonzero_bytes: int, *, call_data_bytes: int, authorization: bool = False,
    execute_user_op: bool = False, calldata_floor: bool = False, assumed_gas_used: int = 0,
) -> int:  # fmt: skip
    """Return alto's preVerificationGas without the data gas [gas].

    Parameters
    ----------
    zero_bytes, nonzero_bytes : number of zero and non-zero bytes in the ABI-encoded operation [byte].
    call_data_bytes : length of the operation's calldata [byte].
    authorization : whether the operation has an authorization of EIP-7702.
    execute_user_op : whether the account is called with `executeUserOp`. If `True`, alto charges the gas per word for
        all words of the operation; if `False`, only for the words of the calldata.
    calldata_floor : whether the chain has the calldata floor of EIP-7623.
    assumed_gas_used : gas that the operation is assumed to use: a tenth of its gas limits [gas].

    The gas is 4 · 1,740 for the bytes, 38,090 of fixed gas, and 46 for the five words of the calldata:

    >>> alto_gas(700, 260, call_data_bytes=132)
    45096
    """
    tokens = whole_scalar("zero_bytes", zero_bytes) + 4 * whole_scalar("nonzero_bytes", nonzero_bytes)
    words = -(-whole_scalar("call_data_bytes", call_data_bytes) // WORD)
    operation = ALTO_OPERATION_GAS + words * ALTO_WORD_MILLIGAS // 1000
    if flag("execute_user_op", execute_user_op):
        words = -(-(zero_bytes + nonzero_bytes) // WORD)
        operation = ALTO_OPERATION_GAS + ALTO_EXECUTE_GAS + words * ALTO_EXECUTE_WORD_MILLIGAS // 1000
    operation += AUTHORIZATION_GAS if flag("authorization", authorization) else 0
    used = 4 * tokens + ALTO_FIXED_GAS + operation
    if flag("calldata_floor", calldata_floor):
        assumed = whole_scalar("assumed_gas_used", assumed_gas_used)
        used = max(used + assumed, 10 * tokens) - assumed
    return TRANSACTION_GAS + used


def voltaire_gas(zero_bytes: int, nonzero_bytes: int) -> int:
    """Return Voltaire's preVerificationGas without the data gas: 4 · zero + 16 · nonzero + 4 · words + 39,300 [gas].

    Parameters
    ----------
    zero_bytes, nonzero_bytes : number of zero and non-zero bytes in the encoded operation, without its first word (the
        offset of the tuple) [byte].

    Voltaire computes the number of words as ⌈(bytes + 31) / 32⌉. Voltaire thus counts 16 words for 480 bytes, although
    480 bytes fit in 15 words:

    >>> voltaire_gas(200, 280)
    44644
    """
    zeros, others = whole_scalar("zero_bytes", zero_bytes), whole_scalar("nonzero_bytes", nonzero_bytes)
    words = -(-(zeros + others + WORD - 1) // WORD)
    return 4 * zeros + 16 * others + TRANSACTION_GAS + VOLTAIRE_OPERATION_GAS + WORD_GAS * words


def alto_data_gas(l1_fee: int, *, max_fee_per_gas: int, max_priority_fee_per_gas: int, base_fee: int) -> int:
    """Return alto's data gas on the OP Stack: L1 fee // min(max fee, base fee + priority fee) [gas].

    >>> alto_data_gas(3 * 10**12, max_fee_per_gas=10**8, max_priority_fee_per_gas=10**6, base_fee=5 * 10**6)
    500000
    """
    price = whole_scalar("base_fee", base_fee) + whole_scalar("max_priority_fee_per_gas", max_priority_fee_per_gas)
    offered = min(whole_scalar("max_fee_per_gas", max_fee_per_gas, minimum=1), max(price, 1))
    return whole_scalar("l1_fee", l1_fee, unit="wei") // offered


def alto_mantle_data_gas(
    data_gas: int, *, l1_base_fee: int, token_ratio: int, scalar: int, max_fee_per_gas: int
) -> int:  # fmt: skip
    """Return alto's data gas on Mantle, by the rule that Mantle had before its upgrade Arsia [gas].

    >>> alto_mantle_data_gas(1_618, l1_base_fee=10**9, token_ratio=3_114, scalar=10_000, max_fee_per_gas=20 * 10**6)
    2519226
    """
    fee = whole_scalar("data_gas", data_gas) * whole_scalar("l1_base_fee", l1_base_fee)
    fee = fee * whole_scalar("token_ratio", token_ratio) * whole_scalar("scalar", scalar) // 10**6
    return fee // whole_scalar("max_fee_per_gas", max_fee_per_gas, minimum=1)


def alto_etherlink_data_gas(transaction_bytes: int, *, max_fee_per_gas: int) -> int:
    """Return alto's data gas on Etherlink: (transaction_bytes + 150) · 4 · 10⁻⁶ XTZ // max fee [gas].

    >>> alto_etherlink_data_gas(900, max_fee_per_gas=10**9)
    4200000
    """
    size = whole_scalar("transaction_bytes", transaction_bytes, unit="bytes") + ETHERLINK_BYTES
    return size * ETHERLINK_BYTE_PRICE // whole_scalar("max_fee_per_gas", max_fee_per_gas, minimum=1)


def alto_citrea_data_gas(l1_fee: int, *, max_fee_per_gas: int) -> int:
    """Return alto's data gas on Citrea: ⌈L1 fee / max fee⌉ [gas].

    >>> alto_citrea_data_gas(10**9 + 1, max_fee_per_gas=10**9)
    2
    """
    return -(-whole_scalar("l1_fee", l1_fee, unit="wei") // whole_scalar("max_fee_per_gas", max_fee_per_gas, minimum=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class BundlerFees:
    """Current fees that a bundler reads from the chain."""

    base_fee: int = 0  #: base fee of the chain [wei / gas]
    l1_base_fee: int = 0  #: base fee of L1 in the newest state of the chain [wei / gas]
    blob_base_fee: int = 1  #: blob base fee of L1 in the newest state of the chain [wei / gas]
    price_per_unit: int | None = None  #: price per unit of Arbitrum's L1 pricing controller [wei / unit]

    def __post_init__(self) -> None:
        check_fields(self)


def preverification_gas(
    user_operation: UserOperation, chain: str | Chain, at: When | None = None, *, fees: BundlerFees,
    bundler: str = "rundler", bundle_size: int = 1, parameters: Mapping[str, Any] = EMPTY,
) -> PreVerificationGas:  # fmt: skip
    """Return the preVerificationGas that a public bundler requires for a user operation on a chain.

    Parameters
    ----------
    user_operation : the operation as it is sent, with gas limits, fees and signature.
    chain : name of a chain, or a `Chain`.
    at : date of the rule; `None`: the newest rule.
    fees : current fees of the chain and of L1.
    bundler : "rundler", "alto" or "voltaire".
    bundle_size : number of operations in a bundle; only rundler uses it.
    parameters : values that replace the chain's own values, by parameter name.

    Returns
    -------
    PreVerificationGas : the total and its parts. For rundler and alto, the calldata floor of EIP-7623 is applied on
        chains that support transactions of type 4 (EIP-7702): one upgrade introduced both EIPs. Voltaire does not apply
        the calldata floor.

    Raises
    ------
    UnknownParameter : the rule needs a parameter whose value at the date is not known and is not in `parameters`.
    InvalidInput : the bundler has no rule for the data fee of the chain, or the gas price is 0.

    The encoded operation has 480 bytes, which are 15 words: 447 zero bytes and 33 non-zero bytes. The execution gas is
    4 · 447 + 16 · 33 for the bytes, 4 · 15 for the words, 19,500 for the operation and 21,000 for the transaction,
    42,876 in total:

    >>> operation = UserOperation(sender=b"\x11" * 20, call_data=bytes(4), max_fee_per_gas=10**7)
    >>> seen = BundlerFees(base_fee=10**6, l1_base_fee=10**9, blob_base_fee=10**7)
    >>> preverification_gas(operation, "op-mainnet", fees=seen)
    PreVerificationGas(gas=57865, execution=42876, data=14989)
    """
    op = instance("user_operation", user_operation, UserOperation)
    seen = instance("fees", fees, BundlerFees)
    terms = parameters_of(chain, at=at, parameters=parameters)
    price = min(op.max_fee_per_gas, seen.base_fee + op.max_priority_fee_per_gas)
    if price < 1:
        raise InvalidInput("fees", "expected a gas price of at least 1 wei", price)
    has_floor = bool(terms.get("set_code"))
    if choice("bundler", bundler, BUNDLERS) == "rundler":
        execution = _rundler_execution(op, bundle_size, has_floor)
        data = _rundler_data(op, terms, seen, price)
    elif bundler == "alto":
        execution = _alto_execution(op, has_floor)
        data = _alto_data(op, terms, seen, price)
    else:
        execution = voltaire_gas(*_counts(encode(voltaire_filled(op))[WORD:]))
        data = _voltaire_data(op, terms, seen, price)
    return PreVerificationGas(execution + data, execution, data)


def _counts(data: bytes) -> tuple[int, int]:
    zeros = data.count(0)
    return zeros, len(data) - zeros


def _rundler_execution(op: UserOperation, bundle_size: int, has_floor: bool) -> int:
    zeros, others = _counts(encode(op))
    execution = rundler_gas(
        zeros, others, entry_point=op.entry_point, bundle_size=bundle_size,
        authorization_gas=AUTHORIZATION_GAS if op.delegate else 0,
    )  # fmt: skip
    if not has_floor:
        return execution
    return rundler_floor(
        execution, execution_gas_limit=op.call_gas_limit + op.post_operation_gas_limit,
        verification_gas_limit=op.verification_gas_limit + op.paymaster_verification_gas_limit,
        calldata_floor=FLOOR_GAS["zero"] * zeros + FLOOR_GAS["nonzero"] * others,
    )  # fmt: skip


def _rundler_data(op: UserOperation, terms: Parameters, fees: BundlerFees, price: int) -> int:
    family = terms.chain.family
    if family in NO_DATA_FEE:
        return 0
    if family in ("op-stack", "arbitrum"):
        sent = rundler_transaction(op, gas_price=price, chain_id=terms.chain.chain_id or 0)
        if family == "op-stack":
            return _op_stack_fee_gas(sent, terms, fees, price)
        return _arbitrum(sent, None, terms, fees)  # rundler requests the estimate for a contract creation
    raise _no_rule("rundler", terms)


def _alto_execution(op: UserOperation, has_floor: bool) -> int:
    used = op.call_gas_limit + (op.verification_gas_limit if op.entry_point == "0.6" else op.post_operation_gas_limit)
    return alto_gas(
        *_counts(encode(alto_filled(op))), call_data_bytes=len(op.call_data), authorization=bool(op.delegate),
        execute_user_op=op.call_data[:4] == EXECUTE_USER_OP, calldata_floor=has_floor, assumed_gas_used=used // 10,
    )  # fmt: skip


def _alto_data(op: UserOperation, terms: Parameters, fees: BundlerFees, price: int) -> int:
    family, chain_id = terms.chain.family, terms.chain.chain_id or 0
    if family in NO_DATA_FEE:
        return 0
    if family == "op-stack":
        return _op_stack_fee_gas(alto_transaction(op, chain_id=chain_id), terms, fees, price)
    if family == "arbitrum":
        return _arbitrum(alto_transaction(op, chain_id=chain_id), ENTRY_POINTS[op.entry_point], terms, fees)
    if family == "mantle":
        mantle = terms.known("token_ratio", "scalar", "overhead")
        zeros, others = _counts(alto_transaction(alto_filled(op), chain_id=chain_id))
        gas = 4 * zeros + 16 * others + mantle.pop("overhead") + 16 * SIGNATURE_SIZE
        return alto_mantle_data_gas(gas, l1_base_fee=fees.l1_base_fee, max_fee_per_gas=op.max_fee_per_gas, **mantle)
    raise _no_rule("alto", terms)


def _voltaire_data(op: UserOperation, terms: Parameters, fees: BundlerFees, price: int) -> int:
    data = handle_ops(voltaire_measured(op))
    if op.entry_point == "0.6":
        return 0
    if terms.chain.name in VOLTAIRE_OP_STACK:
        return math.ceil(_op_stack_fee_gas(data, terms, fees, 1) / price)
    if terms.chain.name == "arbitrum-one":  # for the nonce 0, Voltaire estimates a contract creation
        return _arbitrum(data, ENTRY_POINTS[op.entry_point] if op.nonce else None, terms, fees)
    return 0


def _op_stack_fee_gas(sent: bytes, terms: Parameters, fees: BundlerFees, price: int) -> int:
    """Return the gas that pays for the L1 data fee (Fjord) of an unsigned encoding and a signature of 68 bytes."""
    if optimism.upgrade_named(terms["upgrade"]).l1_rule != "fjord":
        reason = f"expected a date from Fjord on, because bundlers use its rule for {terms.chain.name}"
        raise InvalidInput("at", reason, terms.since)
    return op_stack_data_gas(
        FastLz().size(sent), l1_base_fee=fees.l1_base_fee, blob_base_fee=fees.blob_base_fee, gas_price=price,
        **terms.known("base_fee_scalar", "blob_base_fee_scalar"),
    )  # fmt: skip


def _arbitrum(sent: bytes, to: bytes | None, terms: Parameters, fees: BundlerFees) -> int:
    unit = whole_scalar("fees.price_per_unit", fees.price_per_unit, unit="wei")
    price = max(fees.base_fee, 1)
    return node_interface_gas(sent, to=to, price_per_unit=unit, base_fee=price, **terms.known("version"))


def _no_rule(bundler: str, terms: Parameters) -> InvalidInput:
    return InvalidInput("chain", f"expected a chain whose data fee {bundler} estimates", terms.chain.name)
