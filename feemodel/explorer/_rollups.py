"""Other rollups: the fee of a transaction under each rollup's rule on a given day, and the maximum value to send."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from feemodel.checks import UINT256_MAX, choice, known_fields, mapping, whole_scalar
from feemodel.errors import FeeModelError, InvalidInput, LimitExceeded, UnknownParameter
from feemodel.ethereum._call import Call
from feemodel.ethereum._quantities import from_quantity, to_quantity
from feemodel.ethereum._transaction import SET_CODE, Transaction, check_no_blobs, fill
from feemodel.explorer._fields import FIELDS, L1_FEES, check_subject_size, read_value
from feemodel.io.shipped import day_l1_fees
from feemodel.rollups.chains import CHAINS, parse_parameter, timestamp
from feemodel.rollups.rules import all_rules, rule, rules_at
from feemodel.sizes._codecs import Codec

if TYPE_CHECKING:
    from feemodel.rollups.factors import Rule

SEND_FEES = ("gas", "baseFee", *L1_FEES, "pricePerUnit", "maxPriorityFeePerGas", "maxFeePerGas")
SEND_OPTIONS = (*SEND_FEES, "blocksAhead", "at", "parameters")
STARKNET_GAS = {"l1DataGas": "l1_data_gas", "l2Gas": "l2_gas"}  # field of a request → column of a rule
MAX_BLOCKS = 1_000  # maximum of the option `blocksAhead` of `feemodel_maxSend`


def read_at(options: Mapping[str, Any], path: str) -> str | None:
    """Return the requested day as ISO 8601 text, or `None` for the newest rules."""
    at = options.get("at")
    if at is None:
        return None
    if not isinstance(at, str):
        raise InvalidInput(f"{path}.at", "expected a day such as 2024-06-14", at)
    timestamp(f"{path}.at", at)
    return at


def read_l1_fees(moment: Mapping[str, Any], at: str | None) -> tuple[int, int]:
    """Return the L1 base fee and blob base fee of a request. A missing fee is the median of the requested day."""
    missing = [name for name in L1_FEES if moment.get(name) is None]
    known: dict[str, int] = {}
    if at is not None and missing:
        fees = zip(L1_FEES, day_l1_fees("moment.at", timestamp("moment.at", at)), strict=True)
        known = {name: fee for name, fee in fees if name in missing}
    base_fee, blob_base_fee = (
        known[name] if name in known else read_value(FIELDS[name], moment.get(name), f"moment.{name}")
        for name in L1_FEES
    )
    return base_fee, blob_base_fee


def read_parameters(given: Any, path: str) -> dict[str, Mapping[str, Any]]:
    """Return the parameters in a request, by chain. They replace parameters of the chains."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, values in mapping(path, {} if given is None else given).items():
        choice(path, name, CHAINS)
        found[name] = read_values(values, f"{path}.{name}")
    return found


def read_values(given: Any, path: str) -> dict[str, Any]:
    """Return the parameters of a chain. Text is parsed as on the command line, so that numbers may exceed 2**53."""
    return {
        name: parse_parameter(name, value) if isinstance(value, str) else value
        for name, value in mapping(path, {} if given is None else given).items()
    }


def read_starknet_gas(given: Any) -> dict[str, int]:
    """Return the amounts of Starknet gas in a request, by column of Starknet's rule."""
    if given is None:
        return {}
    known_fields("moment.starknet", given, STARKNET_GAS)
    return {
        column: int(read_value(FIELDS["gas"], given.get(name), f"moment.starknet.{name}"))
        for name, column in STARKNET_GAS.items()
    }


def read_rules(
    given: Any, at: str | None, parameters: Mapping[str, Mapping[str, Any]]
) -> "tuple[list[Rule], dict[str, InvalidInput]]":
    """Return the rules to compare, and the reasons why chains have no rule at that time, by chain."""
    if given is None:
        found, without = rules_at(at, parameters=parameters)
        return list(found), without
    if given == "all" and at is None:
        return list(all_rules().values()), {}
    if not isinstance(given, list) or not given:
        raise InvalidInput("moment.rules", 'expected "all" or a list of names, with a day a list of chains', given)
    known = {**all_rules(), **dict.fromkeys(CHAINS)} if at is None else CHAINS
    for index, name in enumerate(given):
        choice(f"moment.rules[{index}]", name, known)
    return [rule(name, at=at, parameters=parameters.get(name, {})) for name in dict.fromkeys(given)], {}


def unknown_rows(without: Mapping[str, InvalidInput]) -> list[dict[str, str]]:
    """Return a row for every chain with unknown parameters, with the date since when the parameters are unknown."""
    return [
        {"rule": name, "token": CHAINS[name].token, "date": error.since, "source": error.reason, "error": error.brief}
        for name, error in without.items()
        if isinstance(error, UnknownParameter)
    ]


def compared(
    read: Call | Transaction,
    gas: int,
    rules: "Iterable[Rule]",
    base_fee: int,
    blob_base_fee: int,
    pubdata: int,
    codec: Codec,
    chain_id: int,
    starknet_gas: Mapping[str, int],
) -> tuple[list[dict[str, Any]], int, str]:
    """Return a row per rule, the length of the signed transaction [byte], and the reference rule of the ratios."""
    from feemodel.rollups.tables import comparison, measured_sizes

    senders = None
    if isinstance(read, Call):  # a placeholder signature, as in a node's estimate
        check_no_blobs(read)
        signed = fill(read, gas=gas, chain_id=chain_id, set_code=True).with_placeholder_signature()
        senders = [read.sender or bytes(20)]
    else:
        signed = read
    table = measured_sizes([signed], gas=[gas], senders=senders, pubdata=pubdata, linea_codec=codec)
    table |= {name: np.array([amount], dtype=np.int64) for name, amount in starknet_gas.items()}
    by_name = {one.name: one for one in rules}
    # Prefer a reference rule that has a fee for this transaction.
    priced = {name: one for name, one in by_name.items() if signed.type != SET_CODE or one.no_set_code is None}
    reference = priced.get("linea") or next(iter((priced or by_name).values()))

    def row(one: "Rule") -> dict[str, Any]:
        """Return the row of one rule: the fee and its ratio to the reference, or the reason why there is no fee."""
        known = {
            "rule": one.name, "token": one.token, "source": one.parameters.source, "date": one.parameters.since,
            "remarks": list(one.remarks),
        }  # fmt: skip
        try:
            both = list({each.name: each for each in (reference, one)}.values())
            found = comparison(table, base_fee=base_fee, blob_base_fee=blob_base_fee, rules=both)[-1]
        except FeeModelError as error:
            return {**known, "error": str(error)}
        fees = {"l1Fee": found.l1_fee, "l2Fee": found.l2_fee, "total": found.total}
        named = found.in_parts
        parts = {"dataFee": named.data_fee, "executionFee": named.execution_fee, "priorityFee": named.priority_fee}
        return {
            **known,
            **{part: to_quantity(fee) for part, fee in (fees | parts).items()},
            "totalEth": None if found.total_eth is None else to_quantity(found.total_eth),
            "perByte": found.per_byte,
            "ratio": found.ratio,
        }

    return [row(one) for one in by_name.values()], int(table["length"][0]), reference.name


def max_send(chain: Any, balance: Any, call: Any, options: Any) -> dict[str, Any]:
    """Compute the largest value that a balance can send on a chain, and the amount held back for fees.

    Parameters
    ----------
    chain : name of the chain, such as "op-mainnet".
    balance : balance of the sender [wei].
    call : a call object without `value`.
    options : `gas` [gas] and `baseFee` [wei / gas] are required. On Arbitrum, `gas` does not include the gas that pays
        for L1. Chains with a data fee also require `l1BaseFee` and `blobBaseFee`, or on Arbitrum `pricePerUnit`
        [wei / gas]. Optional fields: `blocksAhead` (default 1, at most 1,000), `maxPriorityFeePerGas` (default 0),
        `maxFeePerGas`, `at` (a day), and `parameters`, which replace parameters of the chain.

    Returns
    -------
    dict : the largest value and the amounts held back, as hexadecimal quantities [wei].

    Raises
    ------
    InvalidInput : the chain is unknown, an option is out of range, or the call has a value.
    LimitExceeded : the call has more than 131,072 bytes, or `blocksAhead` is above 1,000.

    >>> fees = {"gas": "0x5208", "baseFee": "0xf4240", "l1BaseFee": "0x3b9aca00", "blobBaseFee": "0x989680"}
    >>> answer = max_send("op-mainnet", "0x38d7ea4c68000", {"to": "0x" + "11" * 20}, fees)
    >>> int(answer["maxValue"], 16)
    999968410338780
    """
    from feemodel.rollups import _sending as sending

    known_fields("options", options, SEND_OPTIONS)
    needed = ["gas", "baseFee"]
    if sending.needs_l1_fees(chain, options.get("pricePerUnit")):
        needed += L1_FEES
    known = {
        name: read_value(FIELDS["gas" if name == "gas" else "baseFee"], options.get(name, ""), f"options.{name}")
        for name in SEND_FEES
        if name in needed or options.get(name) is not None
    }
    blocks = whole_scalar("options.blocksAhead", options.get("blocksAhead", 1))
    if blocks > MAX_BLOCKS:
        raise LimitExceeded(f"options.blocksAhead: at most {MAX_BLOCKS:,}, got {blocks:,}")
    now = sending.Now(
        base_fee=known["baseFee"], l1_base_fee=known.get("l1BaseFee", 0), blob_base_fee=known.get("blobBaseFee", 1),
        price_per_unit=known.get("pricePerUnit"),
    )  # fmt: skip
    wei = from_quantity(balance, "balance")
    if wei > UINT256_MAX:
        raise InvalidInput("balance", "expected at most 2**256 - 1", balance)
    found = sending.max_send(
        chain, wei, check_subject_size(mapping("call", call)), now=now, gas_limit=known["gas"], blocks_ahead=blocks,
        max_priority_fee=known.get("maxPriorityFeePerGas", 0), max_fee_per_gas=known.get("maxFeePerGas"),
        at=read_at(options, "options"), parameters=read_values(options.get("parameters"), "options.parameters"),
    )  # fmt: skip
    wire = {
        "held": found.held, "gasLimit": found.gas_limit, "maxFeePerGas": found.max_fee_per_gas, "l1Fee": found.l1_fee,
        "operatorFee": found.operator_fee,
    }  # fmt: skip
    return {
        "chain": chain,
        "token": CHAINS[chain].token,
        "maxValue": None if found.max_value is None else to_quantity(found.max_value),
        **{part: to_quantity(value) for part, value in wire.items()},
    }
