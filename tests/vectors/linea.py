"""Runners for the sections of `linea/fees.json`; one function a section, named after it."""

import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from feemodel.ethereum._quantities import from_hex
from feemodel.ethereum._transaction import Transaction
from feemodel.linea import _node as node
from feemodel.linea import coordinator, priority
from feemodel.linea._measure import fee_bytes
from feemodel.linea.extra_data import PricingRecord, latest_variable_cost
from feemodel.sizes._lzss import Lzss, packed_size
from tests.helpers.inputs import inputs
from tests.vectors import Case, compare, guarded, refused
from tests.vectors.rollups import of

Row = dict[str, Any]

#: The published dictionaries by their names in the vectors.
DICTIONARIES = {"dict2025": "linea-dict-2025-04-21.bin", "dictOld": "linea-dict-2024.bin"}
#: Names of arguments, and the keys of the vectors.
HISTORY = (
    "base_fees=baseFeePerGas priority_fees=reward gas_used_ratios=gasUsedRatio blob_base_fees=baseFeePerBlobGas? "
    "blob_gas_used_ratios=blobGasUsedRatio?"
)
GASES = "execution_gas=blobSubmissionExpectedExecutionGas blob_gas=expectedBlobGas"
SUBMISSION = f"{GASES} bytes_per_submission=bytesPerDataSubmission margin"
COSTS = "variable_cost=variableCostWei fixed_cost=fixedCostWei margin=minMargin"


def run(sections: Row) -> Iterator[Case]:
    for name, section in sections.items():
        if name == "meta":
            continue
        if name in SECTIONS:
            rows = section.get("blocks", section.get("items")) if isinstance(section, dict) else section
            for i, row in enumerate(rows):
                yield from guarded(f"{name}[{i}]", SECTIONS[name](f"{name}[{i}]", row))
        else:
            yield Case(name, False, "no runner knows this section")


def extra_data_codec(name: str, row: Row) -> Iterator[Case]:
    data = from_hex(row["hex"])
    if "error" in row:
        yield refused(name, lambda: PricingRecord.from_bytes(data))
    if "historicVariableCostWei" in row:
        yield compare(f"{name} latest cost", row["historicVariableCostWei"], latest_variable_cost(data))
    if "minGasPriceWeiAfter" in row:
        yield compare(name, row["minGasPriceWeiAfter"], PricingRecord.from_bytes(data).eth_gas_price)
    if "fixedCostKWei" in row:
        record = PricingRecord.from_bytes(data)
        yield from _record_is(name, row, record)
        yield compare(f"{name} encoded", data[:32], record.to_bytes())
    if "fixedCostWei" in row:  # read by the SDK, which looks at neither version nor length
        record = PricingRecord.from_bytes(data, strict=False)
        costs = (row["fixedCostWei"], row["variableCostWei"], row["ethGasPriceWei"])
        yield compare(name, costs, (record.fixed_cost, record.variable_cost, record.eth_gas_price))


def extra_data_onchain(name: str, row: Row) -> Iterator[Case]:
    record = PricingRecord.from_bytes(from_hex(row["hex"]))
    yield from _record_is(name, row, record)
    yield compare(f"{name} encoded", from_hex(row["hex"])[:32], record.to_bytes())
    price = coordinator.sample_gas_price(record.variable_cost, fixed_cost=record.fixed_cost, compressed_size=250)
    sample_kwei = PricingRecord(0, 0, price).to_bytes()[9:13]
    yield compare(f"{name} sample", row["sampleTx250_21000_KWei"], int.from_bytes(sample_kwei, "big"))
    matches = int.from_bytes(sample_kwei, "big") * 1000 == record.eth_gas_price
    yield compare(f"{name} sample matches", row["sampleTxMatches"], matches)


def coordinator_variable_fees(name: str, row: Row) -> Iterator[Case]:
    fees = (row["averageWeightedBaseFee"], row["averageWeightedPriorityFee"], row["averageWeightedBlobBaseFee"])
    cost = of(partial(coordinator.variable_cost, *fees), SUBMISSION)
    yield compare(name, row["expected"], cost(row["config"]))


def coordinator_weighted_average(name: str, row: Row) -> Iterator[Case]:
    expected = (row["expectedBase"], row["expectedPriority"], row["expectedBlob"])
    yield compare(name, expected, tuple(of(coordinator.average_fees, HISTORY)(row)))


def coordinator_naive_gas_usage_ratio(name: str, row: Row) -> Iterator[Case]:
    coefficients = (
        "base_fee_coefficient=baseFeeCoefficient priority_fee_coefficient=priorityFeeCoefficient "
        "blob_base_fee_coefficient=baseFeeBlobCoefficient"
    )
    price = of(coordinator.usage_weighted_gas_price, f"{HISTORY} {coefficients} {GASES}")(row | row["config"])
    if "expected" in row:
        yield compare(name, row["expected"], price)
    else:
        yield compare(name, row["expectedTruncated"], int(price))


def coordinator_wma(name: str, row: Row) -> Iterator[Case]:
    history = "base_fees=baseFeePerGas priority_fees=reward gas_used_ratios=gasUsedRatio"
    coefficients = "base_fee_coefficient=baseFeeCoefficient priority_fee_coefficient=priorityFeeWmaCoefficient"
    fee = of(coordinator.weighted_moving_average_fee, f"{history} {coefficients}")(row)
    if "expected" in row:
        yield compare(name, row["expected"], fee)
        return
    caps = of(
        partial(coordinator.submission_fees, fee, row["baseFeePerGas"][-1]),
        "max_fee_cap=maxFeePerGasCap max_priority_fee_cap=maxPriorityFeePerGasCap",
    )
    tip, max_fee = caps(row["caps"])
    yield compare(f"{name} tip", row["expectedMaxPriorityFeePerGas"], tip)
    yield compare(f"{name} max fee", row["expectedMaxFeePerGas"], max_fee)


def coordinator_bounds(name: str, row: Row) -> Iterator[Case]:
    bounds = {"fee_margin": row["feeMargin"], "lower_bound": row["lower"], "upper_bound": row["upper"]}
    if "error" in row:
        yield refused(name, lambda: coordinator.bounded(row.get("inner", 0.0), **bounds))
    else:
        yield compare(name, row["expected"], coordinator.bounded(row["inner"], **bounds))


def coordinator_extra_data_calculator(name: str, row: Row) -> Iterator[Case]:
    gas_price = row["legacyFeesWei"] * row["ethGasPriceMultiplier"]
    record = PricingRecord(row["fixedCostKWei"] * 1000, row["variableFeesWei"], gas_price)
    yield from _record_is(name, row["expected"], PricingRecord.from_bytes(record.to_bytes()))


def coordinator_calldata_pricing(name: str, row: Row) -> Iterator[Case]:
    rule = {
        "max_block_calldata": row["config"]["maxBlockCalldataSize"],
        "block_count": row["config"]["calldataSizeBlockCount"],
        "denominator": row["config"]["feeChangeDenominator"],
    }
    if "expected" in row:
        cost = coordinator.calldata_variable_cost(
            row["variableFee"], row["latestVariableCost"], row["sumCalldata"], **rule
        )
        yield compare(name, row["expected"], cost)
        pressure = {key: rule[key] for key in ("max_block_calldata", "block_count")}
        yield compare(f"{name} delta", row["delta"], coordinator.calldata_pressure(row["sumCalldata"], **pressure))
    else:  # full pressure, iterated as often and from where the note says
        iterations, start = 23, 15_000.0
        cost, calldata = start, rule["max_block_calldata"] * rule["block_count"]
        for _ in range(iterations):
            cost = coordinator.calldata_variable_cost(0.0, cost, calldata, **rule)
        yield compare(name, row["value"], cost)
        yield compare(f"{name} grows", True, cost > row["expectedGreaterThan"])


def coordinator_calldata_accumulator(name: str, row: Row) -> Iterator[Case]:
    total = coordinator.calldata_sum(
        row["blockSizes"], block_count=row["calldataSizeBlockCount"], overhead=row["blockSizeNonCalldataOverhead"]
    )
    yield compare(name, row["expected"], total)


def coordinator_sample_transaction(name: str, row: Row) -> Iterator[Case]:
    history = of(coordinator.average_fees, HISTORY)(row)
    cost = of(partial(coordinator.variable_cost, *history), SUBMISSION)(row["variable"])
    config = "fixed_cost=fixedCostWei compressed_size=compressedTxSize gas=expectedGas multiplier"
    price = of(partial(coordinator.sample_gas_price, cost), config)(row["config"])
    names = ("base_fee_coefficient", "priority_fee_coefficient", "blob_base_fee_coefficient")
    coefficients = dict.fromkeys(names, 0.02)  # what the derived figure was computed with
    usage_weighted = of(coordinator.usage_weighted_gas_price, f"{HISTORY} {GASES}", **coefficients)
    yield compare(f"{name} variable cost", row["derivedVariableFee"], cost)
    yield compare(f"{name} gas price", row["derivedSampleTxGasPrice"], price)
    yield compare(f"{name} usage weighted", row["derivedNaive"], usage_weighted(row | row["variable"]))


def selector(name: str, row: Row) -> Iterator[Case]:
    size = _random_payload_size(row["randomPayloadBytes"], row["gasPrice"], row["gasLimit"])
    # Without pricing from block headers, the variable cost is the node's minimum gas price.
    terms = "price=gasPrice gas variable_cost=minGasPrice fixed_cost=fixedCostWei margin=minMargin base_fee=baseFee"
    profitable = of(priority.profitable, terms, compressed_size=size)
    pays = [row["priority"] or profitable(row | row["config"] | {"gas": row[gas]}) for gas in ("gasLimit", "gasUsed")]
    yield from _selection(name, row, *pays)


def selector_early(name: str, row: Row) -> Iterator[Case]:
    terms = (
        "price=gasPrice compressed_size=txSize gas min_gas_price=minGasPrice verification_gas_cost=verificationGasCost "
        "verification_capacity=verificationCapacity gas_price_ratio=gasPriceRatio size_adjustment=adjustTxSize"
    )

    def margin(gas: int) -> float:
        return float(of(priority.verification_margin, terms)(row | {"gas": gas}))

    def pays(gas: int) -> bool:
        return bool(row.get("priority") or margin(gas) >= row["minMargin"])

    if "margin" in row:
        yield compare(f"{name} margin", row["margin"], margin(row["gasUsed"]))
        yield compare(name, row["result"], "SELECTED" if pays(row["gasUsed"]) else "TX_UNPROFITABLE")
    else:
        yield compare(f"{name} margin at limit", row["marginAtGasLimit"], margin(row["gasLimit"]))
        yield compare(f"{name} margin at used", row["marginAtGasUsed"], margin(row["gasUsed"]))
        yield from _selection(name, row, pays(row["gasLimit"]), pays(row["gasUsed"]))


def txpool_validator(name: str, row: Row) -> Iterator[Case]:
    checked = of(node.pool_checks, "local api_check=apiCheck? p2p_check=p2pCheck? has_priority=priority")
    if not checked({"apiCheck": True, "p2pCheck": True} | row):
        yield compare(name, row["result"], None)
        return
    fields = "nonce gas_price=gasPrice gas_limit=gasLimit to value data=payload chain_id=chainId"
    texts = {key: from_hex(row["tx"][key]) for key in ("to", "payload")}
    unsigned = of(Transaction, fields)(row["tx"] | texts)
    pays = of(
        priority.profitable, "price=gasPrice gas=gasLimit variable_cost=minGasPriceWei fixed_cost=fixedCostWei "
        "margin=txPoolMinMargin base_fee=baseFee",
        compressed_size=_zstd_size(unsigned.with_placeholder_signature().network()),
    )(row["tx"] | row["config"])  # fmt: skip
    yield compare(name, row["result"], None if pays else "Gas price too low")


def priority_fee_current_derived(name: str, row: Row) -> Iterator[Case]:
    terms = f"compressed_size=compressedTxSize gas {COSTS}"
    yield compare(name, row["priorityFeePerGas"], of(priority.priority_fee, terms)(row))
    yield compare(f"{name} parts", row["priorityFeePerGas"], of(priority.breakdown, terms)(row).total)


def lzss_sizes(name: str, row: Row) -> Iterator[Case]:
    data = from_hex(row["hex"])
    for dictionary in DICTIONARIES.keys() & row:
        expected, measure = row[dictionary], load_lzss(dictionary)
        yield compare(f"{name} {dictionary} without fallback", expected["lzss"], measure.raw_size(data))
        yield compare(f"{name} {dictionary}", expected["withFallback"], measure.size(data))
        yield compare(f"{name} {dictionary} packed", expected["packed"], packed_size(measure.size(data)))


def mainnet_exact_priority_fee(name: str, row: Row) -> Iterator[Case]:
    record = PricingRecord.from_bytes(from_hex(row["extraData"]))
    measured = fee_bytes(row["call"], gas=row["gasEstimate"], base_fee=7, form="signed")
    yield compare(f"{name} measured bytes", row["feeEstimationTxRlp"], "0x" + measured.hex())
    size = packed_size(load_lzss("dict2025").size(measured))
    yield compare(f"{name} size", row["compressedTxSize"], size)
    fee = priority.priority_fee(
        size,
        row["gasEstimate"],
        variable_cost=int(record.variable_cost),
        fixed_cost=int(record.fixed_cost),
        margin=row["minMargin"],
    )
    yield compare(f"{name} fee", row["priorityFeePerGas"], fee)
    wallet = int(Decimal(row["walletPriorityMultiplier"]) * fee)
    yield compare(f"{name} on chain", row["onChainMaxPriorityFeePerGas"], wallet)


SECTIONS: dict[str, Callable[[str, Row], Iterator[Case]]] = {
    "extraData_codec": extra_data_codec,
    "extraData_onchain": extra_data_onchain,
    "coordinator_variable_fees": coordinator_variable_fees,
    "coordinator_weighted_average": coordinator_weighted_average,
    "coordinator_naive_gas_usage_ratio": coordinator_naive_gas_usage_ratio,
    "coordinator_wma": coordinator_wma,
    "coordinator_bounds": coordinator_bounds,
    "coordinator_extra_data_calculator": coordinator_extra_data_calculator,
    "coordinator_calldata_pricing": coordinator_calldata_pricing,
    "coordinator_calldata_accumulator": coordinator_calldata_accumulator,
    "coordinator_sample_transaction": coordinator_sample_transaction,
    "selector": selector,
    "selector_early": selector_early,
    "txpool_validator": txpool_validator,
    "priority_fee_current_derived": priority_fee_current_derived,
    "lzss_sizes": lzss_sizes,
    "mainnet_exact_priority_fee": mainnet_exact_priority_fee,
}


@lru_cache
def load_lzss(dictionary: str) -> Lzss:
    return Lzss.from_file(inputs() / "data" / DICTIONARIES[dictionary])


def _zstd_size(data: bytes) -> int:
    from feemodel.sizes._codecs import compressed_size

    return compressed_size(data)


def _random_payload_size(length: int, gas_price: int, gas_limit: int) -> int:
    # Random bytes do not compress: under any codec the outcome of these vectors is the same.
    payload = random.Random(length).randbytes(length)
    transaction = Transaction(gas_price=gas_price, gas_limit=gas_limit, to=bytes(20), data=payload)
    return _zstd_size(transaction.with_placeholder_signature().network())


def _selection(name: str, row: Row, pays_at_limit: bool, pays_at_used: bool) -> Iterator[Case]:
    before = "SELECTED" if pays_at_limit else "TX_UNPROFITABLE_UPFRONT"
    yield compare(f"{name} before execution", row["preProcessing"], before)
    if row["postProcessing"] is not None:
        after = "SELECTED" if pays_at_used else "TX_UNPROFITABLE"
        yield compare(f"{name} after execution", row["postProcessing"], after)


def _record_is(name: str, row: Row, record: PricingRecord) -> Iterator[Case]:
    expected = tuple(row[field] * 1000 for field in ("fixedCostKWei", "variableCostKWei", "ethGasPriceKWei"))
    yield compare(name, expected, (record.fixed_cost, record.variable_cost, record.eth_gas_price))
