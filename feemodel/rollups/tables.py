"""Tables of transaction sizes, of fees under the rules of rollups, and of the parameters of chains."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from feemodel._extras import need
from feemodel.arguments import checked
from feemodel.checks import (
    EMPTY,
    RealArray,
    WholeArray,
    check_indexes,
    choice,
    sequence,
)
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum._fee_units import implausible
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import SET_CODE, Transaction, parse_transaction
from feemodel.ethereum._transaction_fields import FIELD_OF
from feemodel.ethereum._transaction_table import as_table, is_table, is_transaction_table, known_column, transactions_of
from feemodel.ethereum.l1_table import check_table, l1_table
from feemodel.quantities import WHOLE, BaseFee, BlobBaseFee, Byte, Gas, Quantity, Timestamp, WholeNumber, quantity_of
from feemodel.rollups.chains import CHAINS, Chain, When
from feemodel.rollups.factors import TYPE_COLUMN, Rule
from feemodel.rollups.rules import PUBDATA, rules_at
from feemodel.sizes._codecs import SCROLL_ZSTD, Brotli, Codec, FastLz, compressed_sizes

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


HASH_COLUMN = "transaction_hash"
LARGEST_CUBE = 50_000_000  # maximum number of fees in `compare`, which take 0.8 GB
OF_ENCODING = ("length", "zero_bytes", "nonzero_bytes", "fastlz_size", "brotli_size", "zstd_size")
#: The columns of `measured_sizes`.
MEASURED = (TYPE_COLUMN, "gas", *OF_ENCODING, "data_length", "zstd_data_size", "linea_size", "pubdata")
#: Coordinates of the dimension `chain` of a comparison.
OF_CHAIN = ("chain", "upgrade", "token", "token_per_eth", "since", "source", "remarks", "reason")
#: Quantities of the columns of a comparison that are not sizes.
QUANTITIES = {
    "base_fee": BaseFee,
    "blob_base_fee": BlobBaseFee,
    "timestamp": Timestamp,
    **dict.fromkeys(("gas", "l1_data_gas", "l2_gas"), Gas),
    **dict.fromkeys((TYPE_COLUMN, "block_number"), WholeNumber),
    **dict.fromkeys((HASH_COLUMN, "time")),
}


class ComparisonRow(NamedTuple):
    """Total fees of a set of transactions under one rule."""

    rule: str
    token: str  #: token in which the fees are paid
    l1_fee: int  #: data fee [wei of the token]
    l2_fee: int  #: execution fee [wei of the token]
    total: int  #: [wei of the token]
    total_eth: int | None  #: total in wei of ETH; `None` if the chain's parameters have no token price [wei]
    per_byte: float  #: total / length of the signed transactions [wei of the token / byte]
    ratio: float | None  #: total_eth / total_eth of the reference rule; `None` without a token price [1]


def measured_sizes(
    signed_transactions: "Iterable[Transaction | bytes | str] | pd.DataFrame",
    *,
    gas: Sequence[int] | None = None,
    pubdata: ArrayLike = PUBDATA,
    linea_codec: str | Codec = "zstd",
    columns: Sequence[str] | None = None,
) -> dict[str, WholeArray]:
    """Measure all sizes of transactions that the rules of `feemodel.rollups.rules` use.

    Parameters
    ----------
    signed_transactions : EIP-2718 encodings (bytes or hexadecimal text) or `Transaction` objects; or a table of
        `feemodel.io.read_transactions`. If every row of a table has the gas used, the default of `gas` is the column of
        the gas used. Transactions without a signature get a placeholder signature. To convert a call to a
        `Transaction`, use `feemodel.ethereum.fill` and `with_placeholder_signature`.
    gas : gas used by each transaction; `None`: the gas limits, which are usually higher [gas].
    pubdata : assumed number of bytes that each transaction publishes on zkSync, one number or one per transaction
        [byte].
    linea_codec : codec of `linea_size`, the compressed size of the sender followed by the unsigned encoding; Linea uses
        `Lzss(dictionary)`.
    columns : columns of `MEASURED` that are measured; `None`: all.

    Returns
    -------
    dict : an int64 array of shape (transactions,) for each column; sizes in [byte], `gas` in [gas].

    Raises
    ------
    InvalidInput : no transactions, bytes that are not a transaction of type 0, 1, 2 or 4, lists of different lengths,
        or Series with different indexes.

    >>> transfer = Transaction(gas_limit=21_000, to=b"\\x11" * 20).with_placeholder_signature()
    >>> sizes = measured_sizes([transfer])
    >>> sizes["length"].tolist(), sizes["fastlz_size"].tolist()
    ([97], [85])
    """
    check_indexes({"signed_transactions": signed_transactions, "gas": gas, "pubdata": pubdata})
    table = as_table(signed_transactions)
    if is_table(table):
        sent = transactions_of(table, set_code=True)
        gas = known_column(table, "gas_used") if gas is None else gas
        signed_transactions = [one if one.signature else one.with_placeholder_signature() for one in sent]
    if not isinstance(signed_transactions, Iterable):
        raise InvalidInput("signed_transactions", "expected a list of transactions", signed_transactions)
    each: Iterable[Any] = signed_transactions
    transactions = [one if isinstance(one, Transaction) else parse_transaction(one) for one in each]
    count = len(transactions)
    if not count:
        raise InvalidInput("signed_transactions", "expected at least one transaction", [])
    if gas is not None and (isinstance(gas, Mapping) or np.shape(np.asarray(gas, dtype=object)) != (count,)):
        raise InvalidInput("gas", f"expected one value for each of {count:,} transactions", gas)
    published = np.asarray(Quantity("byte").check("pubdata", pubdata))
    if published.shape not in ((), (count,)):
        raise InvalidInput("pubdata", f"expected one number, or one number for each of {count:,} transactions", pubdata)
    signed = [transaction.signed() for transaction in transactions]
    zeros = np.array([encoding.count(0) for encoding in signed], dtype=np.int64)
    lengths = np.array([len(encoding) for encoding in signed], dtype=np.int64)
    used = [transaction.gas_limit for transaction in transactions] if gas is None else gas
    measures: dict[str, Callable[[], WholeArray]] = {
        "transaction_type": lambda: np.array([transaction.type for transaction in transactions], dtype=np.int64),
        "gas": lambda: np.asarray(Quantity("gas").check("gas", np.asarray(used))),
        "length": lambda: lengths,
        "zero_bytes": lambda: zeros,
        "nonzero_bytes": lambda: lengths - zeros,
        "fastlz_size": lambda: compressed_sizes(signed, FastLz()),
        "brotli_size": lambda: compressed_sizes(signed, Brotli()),
        "zstd_size": lambda: compressed_sizes(signed, SCROLL_ZSTD),
        "data_length": lambda: np.array([len(transaction.data) for transaction in transactions], dtype=np.int64),
        "zstd_data_size": lambda: compressed_sizes([transaction.data for transaction in transactions], SCROLL_ZSTD),
        "linea_size": lambda: compressed_sizes([one.sender() + one.unsigned() for one in transactions], linea_codec),
        "pubdata": lambda: np.broadcast_to(published, (count,)),
    }
    asked = MEASURED if columns is None else sequence("columns", columns)
    return {choice("columns", name, MEASURED): measures[name]() for name in asked}


def compare(
    transactions: Any,
    l1_fees: Any,
    rules: Sequence[str | Rule] | None = None,
    *,
    at: When | None = None,
    chains: Mapping[str, Chain] = CHAINS,
    parameters: Mapping[str, Mapping[str, Any]] = EMPTY,
) -> "xr.Dataset":
    """Compute the exact fee of each transaction, on each chain, at each sample of L1 fees.

    Parameters
    ----------
    transactions : table (mapping, pandas or polars) with the columns that the rules use, such as the result of
        `measured_sizes`; or a table of `feemodel.io.read_transactions`, whose sizes are then measured for the rules.
    l1_fees : table (mapping, pandas or polars) with `base_fee` and `blob_base_fee`, one row per sample; means are
        rounded to whole wei [wei / gas]. Columns may have any name of `feemodel.ethereum.l1_table`. `timestamp`
        (seconds or datetimes) becomes the coordinate `time`.
    rules : names of chains, names of the form CHAIN/UPGRADE, or `Rule` objects; `None`: every chain.
    at : date of the rules that are given by the name of a chain: ISO 8601, Unix seconds, `datetime` or
        `numpy.datetime64`; `None`: the newest rules.
    chains : chains by name: the chains of the package, or the result of `feemodel.rollups.read_chains`.
    parameters : values that replace a chain's own values: chain name → parameter name → value.

    Returns
    -------
    Dataset : `l1_fee` and `l2_fee` with the dimensions transaction, chain and time [wei of the token]. Coordinates of a
        chain are its `upgrade`, `token`, `token_per_eth`, `since`, `source`, `remarks` and, for a chain that cannot be
        priced, the `reason`; the coordinate `transaction_hash` is empty where the table has no hash. Fees are int64, or
        doubles if a chain cannot be priced; its fees are NaN. The attribute `l1_fees` has the dates of the L1 fees.

    Raises
    ------
    InvalidInput : an unknown rule, a missing column of a rule that was asked for by name, a table without rows, L1 fees
        that are probably not in wei, or a blob transaction.
    LimitExceeded : more than 50,000,000 fees; compare parts of the table.
    Int64Overflow : a fee does not fit into 64 bits.
    MissingExtra : xarray is not installed.

    >>> transfer = {"gas": [21_000], "fastlz_size": [100], "linea_size": [128]}
    >>> fees = compare(transfer, {"base_fee": [10**9, 10**10], "blob_base_fee": [1, 1]}, ["linea", "op-mainnet/jovian"])
    >>> fees.l1_fee.sel(chain="op-mainnet").values.tolist()
    [[8363200101, 83632000101]]
    """
    need("compare", "xarray")
    found, without = rules_at(at, only=rules, chains=chains, parameters=parameters)
    table, samples = _table(transactions, found), _samples(l1_fees)
    priced, lacking = (found, {}) if rules is not None else with_columns(found, table)
    chosen = {one.name: one for one in priced} | lacking | without
    shape = (len(next(iter(table.values()))), len(chosen), len(samples["base_fee"]))
    if np.prod(shape, dtype=float) > LARGEST_CUBE:
        counts = " × ".join(f"{n:,}" for n in shape)
        raise LimitExceeded(f"{counts} fees are more than {LARGEST_CUBE:,}: compare parts of the table")
    complete = all(isinstance(one, Rule) for one in chosen.values())
    l1_fee: Any = np.zeros(shape, np.int64) if complete else np.full(shape, np.nan)
    l2_fee = l1_fee.copy()
    columns = {name: column[:, None] for name, column in table.items()}
    l1 = {name: samples[name] for name in ("base_fee", "blob_base_fee")}
    for place, one in enumerate(chosen.values()):
        if isinstance(one, Rule):
            l1_fee[:, place], l2_fee[:, place] = one.fees(columns, **l1)
    dims, units = ("transaction", "chain", "time"), {"units": "wei"}
    variables = {"l1_fee": (dims, l1_fee, units), "l2_fee": (dims, l2_fee, units)}
    return _dataset(variables, chosen, chains, table, samples)


@checked
def comparison(
    transactions: Any,
    *,
    base_fee: BaseFee,
    blob_base_fee: BlobBaseFee,
    rules: Sequence[str | Rule] | None = None,
    reference: str | None = None,
    at: When | None = None,
) -> list[ComparisonRow]:
    """Compute the total fee of a set of transactions under each rule, and the ratios to the fee of a reference rule.

    Parameters
    ----------
    transactions : table with `length` and the columns that the rules use, such as the result of `measured_sizes`; or a
        table of `feemodel.io.read_transactions`, whose transactions are then measured.
    base_fee, blob_base_fee : base fee and blob base fee of L1 [wei / gas].
    rules : names of chains, names of the form CHAIN/UPGRADE, or `Rule` objects; `None`: every chain with known
        parameters.
    reference : name of one of the rules, with a fee above 0 and a known price of its token; `None`: "linea" if it is
        among the rules, else the first rule; ratios to a rule without such a fee are `None`.
    at : date of the rules that are given by the name of a chain: ISO 8601, Unix seconds, `datetime` or
        `numpy.datetime64`; `None`: the newest rules.

    Returns
    -------
    list of ComparisonRow : one for each rule [wei of the token].

    Raises
    ------
    InvalidInput : an unknown rule or reference, a missing column, a table without rows, a blob transaction, or a
        transaction of type 4 under a rule without fees for type 4.
    Int64Overflow : a fee does not fit into 64 bits.

    >>> transfer = {"gas": [21_000], "length": [110], "fastlz_size": [100], "linea_size": [128]}
    >>> rows = comparison(transfer, base_fee=10**9, blob_base_fee=1, rules=["linea", "op-mainnet/jovian"])
    >>> [(row.rule, row.total, round(row.ratio, 3)) for row in rows]
    [('linea', 832464822000, 1.0), ('op-mainnet/jovian', 29363200101, 0.035)]
    """
    fees = {"base_fee": base_fee, "blob_base_fee": blob_base_fee}
    for name, fee in fees.items():
        _check_plausible(name, np.array([Quantity("wei", double=True).check(name, fee)]))
    chosen, _ = rules_at(at, only=rules)
    table = _table(transactions, chosen, ["length"])
    if rules is None:
        chosen, _ = with_columns(chosen, table)
    check_table("transactions", table, ["length"])
    if not table["length"].all():
        raise InvalidInput("length", "expected at least 1 in every row", 0)
    paid = {one.name: _total(one, table, fees) for one in chosen}
    usual = "linea" if "linea" in paid else chosen[0].name
    name = usual if reference is None else choice("reference", reference, paid)
    of = paid[name].total_eth
    if reference is not None and not of:
        raise InvalidInput("reference", "expected a rule with a fee above 0 and a known price of its token", reference)
    return [
        row._replace(ratio=row.total_eth / of if of and row.total_eth is not None else None) for row in paid.values()
    ]


def _total(one: Rule, table: Mapping[str, WholeArray], fees: Mapping[str, int]) -> ComparisonRow:
    """Return the sum of a rule's fees of all rows of a table."""
    shape = table["length"].shape
    parts = (np.broadcast_to(np.asarray(part, dtype=object), shape) for part in one.fees(table, **fees))
    l1_fee, l2_fee = (int(part.sum()) for part in parts)
    total, per_eth = l1_fee + l2_fee, one.parameters.token_per_eth
    total_eth = None if per_eth is None else total if per_eth == 1.0 else round(total / per_eth)
    return ComparisonRow(
        one.name, one.parameters.chain.token, l1_fee, l2_fee, total, total_eth, total / table["length"].sum(), None
    )


def _check_plausible(name: str, values: RealArray) -> None:
    """Raise `InvalidInput` for L1 fees that are probably not in wei."""
    blobs = np.where(values == 0, np.nan, values) if name == "blob_base_fee" else values  # 0: before blobs
    if (wrong := implausible(name, blobs)) is not None:
        raise InvalidInput(name, f"expected {wrong.expected} on L1, in wei", wrong.value, (wrong.position,))


def _table(transactions: Any, rules: Iterable[Rule], more: Sequence[str] = ()) -> dict[str, WholeArray]:
    """Return the columns that rules need, which are measured if the transactions lack them, and the hashes."""
    used = [name for one in rules for name in one.columns]
    needed = [*dict.fromkeys(used), TYPE_COLUMN, *more]
    sizes = transactions = as_table(transactions)
    check_table("transactions", transactions)
    if is_transaction_table(transactions) or (is_table(transactions) and {*needed}.isdisjoint(transactions.columns)):
        sizes = measured_sizes(transactions, columns=[name for name in needed if name in MEASURED])
    columns = {name: _column(name, sizes[name]) for name in needed if name in sizes}
    check_table("transactions", transactions, () if columns else needed)
    named = next((name for name, field in FIELD_OF.items() if field == HASH_COLUMN and name in transactions), None)
    values = [] if named is None else transactions[named]
    hashes = [to_hex(one) if isinstance(one, bytes) else one if isinstance(one, str) else "" for one in values]
    if any(hashes):
        columns[HASH_COLUMN] = np.array(hashes)
    return _of_one_length("transactions", columns)


def _of_one_length(name: str, columns: dict[str, Any]) -> dict[str, Any]:
    for column, values in columns.items():
        if np.ndim(values) != 1:
            raise InvalidInput(column, "expected one number per row", f"an array of shape {values.shape}")
    lengths = {column: len(values) for column, values in columns.items()}
    if len(set(lengths.values())) != 1 or 0 in lengths.values():
        raise InvalidInput(name, "expected columns of equal length, at least 1", lengths)
    return columns


def with_columns(
    rules: Iterable[Rule], table: Mapping[str, WholeArray]
) -> tuple[tuple[Rule, ...], dict[str, InvalidInput]]:
    """Return the rules whose columns a table has, and errors for rules that lack columns or transactions of type 4."""
    lacking = {}
    has_set_code = TYPE_COLUMN in table and bool((table[TYPE_COLUMN] == SET_CODE).any())
    for one in rules:
        if missing := [column for column in one.columns if column not in table]:
            lacking[one.name] = InvalidInput("transactions", f"the rule needs {' and '.join(missing)}", [*table])
        elif has_set_code and one.no_set_code is not None:
            reason = f"no fee rule for transactions of type 4 (EIP-7702): {one.no_set_code}"
            lacking[one.name] = InvalidInput(TYPE_COLUMN, reason, SET_CODE)
    return tuple(one for one in rules if one.name not in lacking), lacking


def _samples(l1_fees: Any) -> dict[str, Any]:
    """Return the L1 fees in whole wei, and the columns with their times."""
    l1_fees = l1_table("l1_fees", l1_fees)
    check_table("l1_fees", l1_fees, ("base_fee", "blob_base_fee"))
    samples: dict[str, Any] = {}
    for name in ("base_fee", "blob_base_fee"):
        values = np.atleast_1d(np.asarray(Quantity("wei", double=True).check(name, l1_fees[name])))
        _check_plausible(name, values)
        given = np.asarray(l1_fees[name])
        whole_fees = given.dtype.kind in "iuO" and all(isinstance(value, (int, np.integer)) for value in given.flat)
        samples[name] = _column(name, l1_fees[name] if whole_fees else np.rint(values).astype(np.int64))
    for name in ("block_number", "timestamp"):
        if name in l1_fees:
            samples[name] = _column(name, l1_fees[name])
    if "timestamp" in samples:
        samples["time"] = samples["timestamp"].astype("datetime64[s]").astype("datetime64[ns]")
    return _of_one_length("l1_fees", samples)


def _column(name: str, values: Any) -> WholeArray:
    """Return a column as an int64 array; a number is a column of one row."""
    column = WHOLE.check(name, values)
    return np.asarray(WHOLE.check(name, [column])) if isinstance(column, int) else column


def _dataset(
    variables: Mapping[str, Any],
    chosen: Mapping[str, Rule | InvalidInput],
    chains: Mapping[str, Chain],
    table: Mapping[str, WholeArray],
    samples: Mapping[str, Any],
) -> "xr.Dataset":
    import xarray as xr

    rows = []
    for name, one in chosen.items():
        chain, _, upgrade = name.partition("/")
        if isinstance(one, Rule):
            known = one.parameters
            price = np.nan if known.token_per_eth is None else known.token_per_eth
            row = (chain, upgrade, known.chain.token, price, known.since, known.source, "; ".join(one.remarks), "")
        else:
            row = (chain, upgrade, chains[chain].token, np.nan, "", "", "", str(one))
        rows.append(row)
    coordinates: dict[str, Any] = {
        name: ("chain", np.array(values)) for name, values in zip(OF_CHAIN, zip(*rows, strict=True), strict=True)
    }
    for dim, columns in (("transaction", table), ("time", samples)):
        for name, values in columns.items():
            quantity = quantity_of(QUANTITIES.get(name, Byte))
            units = {} if quantity is None else {"units": quantity.unit}
            coordinates[name] = (dim, values, units)
    fees = xr.Dataset(variables, coordinates)
    days = [] if "time" not in samples else sorted({str(time)[:10] for time in samples["time"].astype(str)})
    fees.attrs["l1_fees"] = "no date given" if not days else " to ".join(dict.fromkeys((days[0], days[-1])))
    parameters = {one.name: one.parameters.as_dict() for one in chosen.values() if isinstance(one, Rule)}
    fees.attrs["parameters"] = json.dumps(parameters, ensure_ascii=False)
    return fees
