"""Tables of transaction sizes, of fees under the rules of rollups, and of the parameters of chains."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from feemodel._extras import need
from feemodel.checks import (
    WholeArray,
    check_indexes,
    check_table,
    choice,
    instance,
    mapping,
    sequence,
    whole,
    whole_scalar,
)
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum._transaction import Transaction, parse_transaction
from feemodel.ethereum._transaction_fee import TransactionFee, transaction_fee
from feemodel.ethereum._transaction_table import is_table, is_transaction_table, known_column, transactions_of
from feemodel.integers import fitting
from feemodel.rollups.chains import CHAINS, Chain, When, shown
from feemodel.rollups.factors import Factors, Rule
from feemodel.rollups.rules import PUBDATA, rule, rules_at
from feemodel.sizes._codecs import SCROLL_ZSTD, Brotli, Codec, FastLz, compressed_sizes

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from feemodel.rollups import kernels

LARGEST_CUBE = 50_000_000  # maximum number of fees in `compare`, which take 0.8 GB
BLOCK = 1_000_000  # maximum number of fees that are computed at a time
#: The columns of `measured_sizes`.
MEASURED = (
    "transaction_type", "gas", "length", "zero_bytes", "nonzero_bytes", "fastlz_size", "brotli_size", "zstd_size",
    "data_length", "zstd_data_size", "linea_size", "pubdata",
)  # fmt: skip
SAMPLE_COLUMNS = ("block_number", "timestamp", "base_fee", "blob_base_fee")
UNITS = {"base_fee": "wei / gas", "blob_base_fee": "wei / gas", "timestamp": "s", "gas": "gas"}


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

    @property
    def in_parts(self) -> TransactionFee:
        """Total fee, divided into the components of RIP-7759; the priority fee is 0 [wei]."""
        return transaction_fee(total=self.total, data_fee=self.l1_fee)


def measured_sizes(
    signed_transactions: "Iterable[Transaction | bytes | str] | pd.DataFrame",
    *,
    gas: Sequence[int] | None = None,
    senders: Sequence[bytes] | None = None,
    pubdata: ArrayLike = PUBDATA,
    linea_codec: str | Codec = "zstd",
) -> dict[str, WholeArray]:
    """Measure all sizes of transactions that the rules of `feemodel.rollups.rules` use.

    Parameters
    ----------
    signed_transactions : EIP-2718 encodings (bytes or hexadecimal text) or `Transaction` objects; or a table of
        `feemodel.io.read_transactions`. If every row of a table has the gas used, the default of `gas` is the column of
        the gas used. Transactions without a signature get a placeholder signature. To convert a call to a
        `Transaction`, use `feemodel.ethereum._transaction.fill(call, ..., set_code=True).with_placeholder_signature()`.
    gas : gas used by each transaction; `None`: the gas limits, which are usually higher [gas].
    senders : address of each sender (20 bytes); `None`: recovered from the signatures.
    pubdata : assumed number of bytes that each transaction publishes on zkSync, one number or one per transaction
        [byte].
    linea_codec : codec of `linea_size`, the compressed size of the sender followed by the unsigned encoding; Linea uses
        `Lzss(dictionary)`.

    Returns
    -------
    dict : an int64 array of shape (transactions,) for each column of `MEASURED`; sizes in [byte], `gas` in [gas].

    Raises
    ------
    InvalidInput : no transactions, bytes that are not a transaction of type 0, 1, 2 or 4, lists of different lengths,
        or Series with different indexes.

    >>> transfer = Transaction(gas_limit=21_000, to=b"\\x11" * 20).with_placeholder_signature()
    >>> sizes = measured_sizes([transfer])
    >>> sizes["length"].tolist(), sizes["fastlz_size"].tolist()
    ([97], [85])
    """
    check_indexes({"signed_transactions": signed_transactions, "gas": gas, "senders": senders, "pubdata": pubdata})
    if is_table(signed_transactions):
        signed_transactions = cast("pd.DataFrame", signed_transactions)
        sent = transactions_of(signed_transactions, set_code=True)
        gas = known_column(signed_transactions, "gas_used") if gas is None else gas
        if senders is None and all(one.sender is not None for one in sent):
            senders = [one.sender or b"" for one in sent]
        signed_transactions = [one.signed() for one in sent]
    if not isinstance(signed_transactions, Iterable):
        raise InvalidInput("signed_transactions", "expected a list of transactions", signed_transactions)
    each: Iterable[Any] = signed_transactions
    transactions = [one if isinstance(one, Transaction) else parse_transaction(one) for one in each]
    count = len(transactions)
    if not count:
        raise InvalidInput("signed_transactions", "expected at least one transaction", [])
    for name, values in (("gas", gas), ("senders", senders)):
        if values is not None and (
            isinstance(values, Mapping) or np.shape(np.asarray(values, dtype=object)) != (count,)
        ):
            raise InvalidInput(name, f"expected one value for each of {count:,} transactions", values)
    senders = None if senders is None else [*senders]  # a list can be indexed by position, unlike a Series
    for sender in senders or ():
        if not isinstance(sender, bytes) or len(sender) != 20:
            raise InvalidInput("senders", "expected addresses of 20 bytes", sender)
    published = np.asarray(whole("pubdata", pubdata, unit="bytes"))
    if published.shape not in ((), (count,)):
        raise InvalidInput("pubdata", f"expected one number, or one number for each of {count:,} transactions", pubdata)
    signed = [transaction.signed() for transaction in transactions]
    data = [transaction.data for transaction in transactions]
    measured = [
        (transaction.sender() if senders is None else senders[i]) + transaction.unsigned()
        for i, transaction in enumerate(transactions)
    ]
    zeros = np.array([encoding.count(0) for encoding in signed], dtype=np.int64)
    lengths = np.array([len(encoding) for encoding in signed], dtype=np.int64)
    used = [transaction.gas_limit for transaction in transactions] if gas is None else gas
    return {
        "transaction_type": np.array([transaction.type for transaction in transactions], dtype=np.int64),
        "gas": np.asarray(whole("gas", np.asarray(used), unit="gas")),
        "length": lengths,
        "zero_bytes": zeros,
        "nonzero_bytes": lengths - zeros,
        "fastlz_size": compressed_sizes(signed, FastLz()),
        "brotli_size": compressed_sizes(signed, Brotli()),
        "zstd_size": compressed_sizes(signed, SCROLL_ZSTD),
        "data_length": np.array([len(payload) for payload in data], dtype=np.int64),
        "zstd_data_size": compressed_sizes(data, SCROLL_ZSTD),
        "linea_size": compressed_sizes(measured, linea_codec),
        "pubdata": np.broadcast_to(published, (count,)),
    }


def sizes_table(
    signed_transactions: "Iterable[Transaction | bytes | str] | pd.DataFrame",
    *,
    gas: Sequence[int] | None = None,
    senders: Sequence[bytes] | None = None,
    pubdata: ArrayLike = PUBDATA,
    linea_codec: str | Codec = "zstd",
) -> "pd.DataFrame":
    """Measure all transaction sizes that the rules of `feemodel.rollups.rules` use, and return a DataFrame.

    Parameters
    ----------
    signed_transactions : EIP-2718 encodings (bytes or hexadecimal text) or `Transaction` objects; or a table of
        `feemodel.io.read_transactions`.
    gas : gas used by each transaction; `None`: the gas limits, which are usually higher [gas].
    senders : address of each sender (20 bytes); `None`: recovered from the signatures.
    pubdata : assumed number of bytes that each transaction publishes on zkSync, one number or one per transaction
        [byte].
    linea_codec : codec of `linea_size`, the compressed size of the sender followed by the unsigned encoding; Linea uses
        `Lzss(dictionary)`.

    Returns
    -------
    DataFrame : one row per transaction, with the columns of `MEASURED`; sizes in [byte], `gas` in [gas].

    Raises
    ------
    InvalidInput : no transactions, bytes that are not a transaction of type 0, 1, 2 or 4, lists of different lengths,
        or Series with different indexes.
    MissingExtra : pandas is not installed.

    >>> transfer = Transaction(gas_limit=21_000, to=b"\\x11" * 20).with_placeholder_signature()
    >>> sizes_table([transfer])[["gas", "length", "fastlz_size"]].to_dict("records")
    [{'gas': 21000, 'length': 97, 'fastlz_size': 85}]
    """
    need("sizes_table", "pandas")
    import pandas as pd

    sizes = measured_sizes(
        signed_transactions, gas=gas, senders=senders, pubdata=pubdata, linea_codec=linea_codec
    )  # fmt: skip
    return pd.DataFrame(sizes)


def compare(
    transactions: "Mapping[str, Any] | pd.DataFrame",
    l1_fees: "Mapping[str, Any] | pd.DataFrame",
    rules: Sequence[str | Rule] | None = None,
    *,
    at: When | None = None,
) -> "xr.Dataset":
    """Compute the exact fee of each transaction, under each rule, at each sample of L1 fees.

    Parameters
    ----------
    transactions : table with the columns that the rules use, such as the result of `sizes_table`; or a table of
        `feemodel.io.read_transactions`, whose transactions are then measured.
    l1_fees : table with `base_fee` and `blob_base_fee`, one row per sample [wei / gas].
    rules : names of chains, names of the form CHAIN/UPGRADE, or `Rule` objects; `None`: every live chain with known
        parameters.
    at : date of the rules that are given by the name of a chain: ISO 8601, Unix seconds, `datetime` or
        `numpy.datetime64`; `None`: the newest rules.

    Returns
    -------
    Dataset : `l1_fee` and `l2_fee` with the dimensions rule, transaction and moment (a sample of L1 fees) [wei]. The
        coordinates include the L1 fees, the columns of the transactions and the sources of the rules.

    Raises
    ------
    InvalidInput : an unknown rule, a missing column, a table without rows, a blob transaction, or a transaction of type
        4 under a rule without fees for type 4.
    LimitExceeded : more than 50,000,000 fees; use `compare_sums`.
    Int64Overflow : a fee does not fit into 64 bits.
    MissingExtra : xarray is not installed.

    >>> transfer = {"gas": [21_000], "fastlz_size": [100], "linea_size": [128]}
    >>> fees = compare(transfer, {"base_fee": [10**9, 10**10], "blob_base_fee": [1, 1]}, ["linea", "op-mainnet/jovian"])
    >>> fees.l1_fee.sel(rule="op-mainnet/jovian").values.tolist()
    [[8363200101, 83632000101]]
    """
    need("compare", "xarray")
    chosen, table, moments = _inputs(transactions, l1_fees, rules, at)
    shape = (len(chosen), _rows(table), _rows(moments))
    if np.prod(shape, dtype=float) > LARGEST_CUBE:
        counts = " × ".join(f"{n:,}" for n in shape)
        raise LimitExceeded(f"{counts} fees are more than {LARGEST_CUBE:,}: compare_sums reduces them")
    fees = {part: np.empty(shape, dtype=np.int64) for part in ("l1_fee", "l2_fee")}
    base_fee, blob_base_fee = moments["base_fee"], moments["blob_base_fee"]
    rows = max(1, BLOCK // shape[2])
    for r, one in enumerate(chosen):
        for start in range(0, shape[1], rows):
            block = slice(start, start + rows)
            columns = {name: column[block, None] for name, column in table.items()}
            l1_fee, l2_fee = one.fees_of_checked(columns, base_fee, blob_base_fee)
            fees["l1_fee"][r, block], fees["l2_fee"][r, block] = l1_fee, l2_fee
    dims = ("rule", "transaction", "moment")
    return _dataset({name: (dims, values) for name, values in fees.items()}, chosen, table, moments)


def compare_sums(
    transactions: "Mapping[str, Any] | pd.DataFrame",
    l1_fees: "Mapping[str, Any] | pd.DataFrame",
    rules: Sequence[str | Rule] | None = None,
    *,
    at: When | None = None,
) -> "xr.Dataset":
    """Compute sums of fees over all transactions, and over all samples of L1 fees, without storing the individual fees.

    Each fee is an exact integer; the sums are doubles.

    Parameters
    ----------
    transactions : table with the columns that the rules use, such as the result of `sizes_table`; or a table of
        `feemodel.io.read_transactions`, whose transactions are then measured.
    l1_fees : table with `base_fee` and `blob_base_fee`, one row per sample [wei / gas].
    rules : names of chains, names of the form CHAIN/UPGRADE, or `Rule` objects; `None`: every live chain with known
        parameters.
    at : date of the rules that are given by the name of a chain: ISO 8601, Unix seconds, `datetime` or
        `numpy.datetime64`; `None`: the newest rules.

    Returns
    -------
    Dataset : `l1_fee_of_moment` and `l2_fee_of_moment` (rule × moment) are sums over the transactions.
        `l1_fee_of_transaction` and `l2_fee_of_transaction` (rule × transaction) are sums over the samples [wei].

    Raises
    ------
    InvalidInput : an unknown rule, a missing column, a table without rows, a blob transaction, or a transaction of type
        4 under a rule without fees for type 4.
    Int64Overflow : a fee exceeds the range in which the arithmetic is exact.
    MissingExtra : xarray or numba is not installed.

    >>> transfer = {"gas": [21_000, 21_000], "fastlz_size": [100, 100]}
    >>> sums = compare_sums(transfer, {"base_fee": [10**9, 10**10], "blob_base_fee": [1, 1]}, ["op-mainnet/jovian"])
    >>> sums.l1_fee_of_moment.values.tolist()
    [[16726400202.0, 167264000202.0]]
    """
    need("compare_sums", "xarray", "numba")
    from feemodel.rollups import kernels

    chosen, table, moments = _inputs(transactions, l1_fees, rules, at)
    counts = {"transaction": _rows(table), "moment": _rows(moments)}
    sums = {
        f"{part}_fee_of_{dim}": (("rule", dim), np.empty((len(chosen), count)))
        for part in ("l1", "l2")
        for dim, count in counts.items()
    }
    for r, one in enumerate(chosen):
        factors = one.factors_of_checked(table, moments["base_fee"], moments["blob_base_fee"])
        for part, found in (
            ("l1", kernels.l1_sums(factors, counts["transaction"], counts["moment"])),
            ("l2", _l2_sums(factors, counts["transaction"], counts["moment"])),
        ):
            sums[f"{part}_fee_of_transaction"][1][r] = found.by_transaction
            sums[f"{part}_fee_of_moment"][1][r] = found.by_sample
    return _dataset(sums, chosen, table, moments)


def comparison(
    transactions: "Mapping[str, Any] | pd.DataFrame",
    *,
    base_fee: int,
    blob_base_fee: int,
    rules: Sequence[str | Rule] | None = None,
    reference: str | None = None,
    at: When | None = None,
) -> list[ComparisonRow]:
    """Compute the total fee of a set of transactions under each rule, and the ratios to the fee of a reference rule.

    Parameters
    ----------
    transactions : table with `length` and the columns that the rules use, such as the result of `sizes_table`; or a
        table of `feemodel.io.read_transactions`, whose transactions are then measured.
    base_fee, blob_base_fee : base fee and blob base fee of L1 [wei / gas].
    rules : names of chains, names of the form CHAIN/UPGRADE, or `Rule` objects; `None`: every live chain with known
        parameters.
    reference : name of one of the rules; `None`: "linea" if it is among the rules, else the first rule.
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
    if is_transaction_table(transactions):
        transactions = measured_sizes(cast("pd.DataFrame", transactions))
    base_fee = whole_scalar("base_fee", base_fee, unit="wei")
    blob_base_fee = whole_scalar("blob_base_fee", blob_base_fee, unit="wei")
    fees_of_l1 = {"base_fee": [base_fee], "blob_base_fee": [blob_base_fee]}
    chosen, table, _ = _inputs(transactions, fees_of_l1, rules, at, ["length"])
    if "length" not in table:
        raise InvalidInput("transactions", "expected a column length", [*transactions])
    signed_bytes = int(table["length"].sum())
    paid = {}
    for one in chosen:
        fees = one.fees_of_checked(table, base_fee, blob_base_fee)
        shape = (_rows(table),)
        paid[one.name] = tuple(int(np.broadcast_to(np.asarray(part, dtype=object), shape).sum()) for part in fees)
    if reference is None:
        reference = "linea" if "linea" in paid else chosen[0].name
    choice("reference", reference, paid)
    totals_in_eth = {one.name: in_eth(sum(paid[one.name]), one) for one in chosen}
    whole_reference = totals_in_eth[reference]
    if whole_reference is None:
        raise InvalidInput("reference", "expected a rule whose token has a known price in ETH", reference)
    if not (signed_bytes and whole_reference):
        raise InvalidInput(
            "transactions",
            "expected transactions whose total length, and whose fee under the reference rule, are above 0",
            (signed_bytes, whole_reference),
        )
    rows = []
    for one in chosen:
        l1_fee, l2_fee = paid[one.name]
        total, eth = l1_fee + l2_fee, totals_in_eth[one.name]
        ratio = None if eth is None else eth / whole_reference
        rows.append(ComparisonRow(one.name, one.token, l1_fee, l2_fee, total, eth, total / signed_bytes, ratio))
    return rows


def in_eth(total: int, one: Rule) -> int | None:
    """Convert an amount of a rule's token to wei of ETH; the result is exact if the token is ETH.

    The result is `None` if the chain's parameters have no exchange rate of the token. Raises `InvalidInput` if the
    amount is not an integer of at least 0.

    >>> from feemodel.rollups.rules import rule
    >>> in_eth(29_363_200_101, rule("op-mainnet/jovian"))
    29363200101
    """
    total = whole_scalar("total", total, unit="wei")
    per_eth = instance("one", one, Rule).token_per_eth
    return None if per_eth is None else total if per_eth == 1.0 else round(total / per_eth)


def compare_days(
    transactions: "Mapping[str, Any] | pd.DataFrame", l1_fees: "Mapping[str, Any] | pd.DataFrame"
) -> "pd.DataFrame":
    """Compute the total fee of the same transactions on several days, with the rules and the L1 fees of each day.

    Parameters
    ----------
    transactions : table with `length` and the columns that the rules use, such as the result of `sizes_table`; or a
        table of `feemodel.io.read_transactions`, whose transactions are then measured.
    l1_fees : table with one row per day: `day` (ISO 8601), `base_fee`, `blob_base_fee` [wei / gas], and `source`, the
        origin of the fees.

    Returns
    -------
    DataFrame : one row per day and chain. The columns are `day`, `chain`, `rule`, `token`; the sums `data_fee`,
        `execution_fee` and `total` of all transactions [wei of the token]; the L1 fees `base_fee` and `blob_base_fee`
        [wei / gas] and their `source`; and `without`, the reason why a chain has no rule on that day. For a chain
        without a rule, the columns of fees are empty.

    Raises
    ------
    InvalidInput : a day or fee that is missing or not valid, a missing column, a table without rows, a blob
        transaction, or a transaction of type 4 under a rule without fees for type 4.
    Int64Overflow : a fee does not fit into 64 bits.
    MissingExtra : pandas is not installed.

    >>> transfer = {"gas": [21_000], "length": [110], "pubdata": [200]} | dict.fromkeys(
    ...     ["zero_bytes", "nonzero_bytes", "fastlz_size", "brotli_size", "zstd_size", "linea_size"], [100])
    >>> fees = {"day": ["2024-03-20"], "base_fee": [10**10], "blob_base_fee": [1], "source": ["assumed"]}
    >>> compare_days(transfer, fees)[["rule", "data_fee"]].head(2).to_dict("list")
    {'rule': ['op-mainnet/ecotone', 'base/ecotone'], 'data_fee': [27360000101, 22020000082]}
    """
    need("compare_days", "pandas")
    import pandas as pd

    if is_transaction_table(transactions):
        transactions = measured_sizes(cast("pd.DataFrame", transactions))
    names, rows = ("day", "base_fee", "blob_base_fee", "source"), []
    check_table("l1_fees", l1_fees, names)
    known_fees = {name: np.atleast_1d(whole(name, l1_fees[name], unit="wei")) for name in names[1:3]}
    try:
        columns_of_days = [np.atleast_1d(np.asarray(known_fees.get(name, l1_fees[name]), object)) for name in names]
    except (TypeError, ValueError):
        raise InvalidInput("l1_fees", "expected columns with one value per day", l1_fees) from None
    shapes = [column.shape for column in columns_of_days]
    if len(set(shapes)) != 1 or len(shapes[0]) != 1 or not shapes[0][0]:
        raise InvalidInput("l1_fees", "expected columns of equal length, at least 1", shapes)
    for day, base_fee, blob_base_fee, source in zip(*columns_of_days, strict=True):
        rules, without = rules_at(day)
        known = {"day": day, "base_fee": int(base_fee), "blob_base_fee": int(blob_base_fee), "source": source}
        fees = {name: known[name] for name in ("base_fee", "blob_base_fee")}
        for row in comparison(transactions, **fees, rules=rules):
            parts = {"token": row.token, "data_fee": row.l1_fee, "execution_fee": row.l2_fee, "total": row.total}
            rows.append(known | {"chain": row.rule.partition("/")[0], "rule": row.rule, **parts, "without": ""})
        rows += [known | {"chain": name, "without": str(reason)} for name, reason in without.items()]
    columns = ("day", "chain", "rule", "token", "data_fee", "execution_fee", "total", *names[1:], "without")
    return pd.DataFrame(rows, columns=pd.Index(columns), dtype=object)


def chains_table(chains: Mapping[str, Chain] = CHAINS) -> "pd.DataFrame":
    """Return the dated parameters of chains as a table.

    Parameters
    ----------
    chains : chains by name: the chains of the package, or the result of `feemodel.rollups.read_chains`.

    Returns
    -------
    DataFrame : one row for each `Row` of each chain, with the columns `chain`, `family`, `token`, `since`, `values`,
        `assumed`, `unknown`, `source`, `checked`, `note` and `archived`, all text.

    Raises
    ------
    InvalidInput : `chains` is not a mapping of `Chain` objects.
    MissingExtra : pandas is not installed.

    >>> chains_table().query("chain == 'soneium'").since.tolist()[:2]
    ['2024-12-02T10:19:11', '2025-02-03T09:00:00']
    """
    need("chains_table", "pandas")
    import pandas as pd

    return pd.DataFrame(
        {
            "chain": one.name,
            "family": one.family,
            "token": one.token,
            "since": row.since,
            "values": ", ".join(f"{name}={shown(value)}" for name, value in row.values.items()),
            "assumed": ", ".join(row.assumed),
            "unknown": ", ".join(row.unknown),
            "source": row.source,
            "checked": row.checked,
            "note": row.note,
            "archived": one.archived or "",
        }
        for one in (instance("chains", one, Chain) for one in mapping("chains", chains).values())
        for row in one.rows
    )


def _inputs(
    transactions: "Mapping[str, Any] | pd.DataFrame",
    l1_fees: "Mapping[str, Any] | pd.DataFrame",
    rules: Sequence[str | Rule] | None,
    at: When | None,
    more: Sequence[str] = (),
) -> tuple[list[Rule], dict[str, WholeArray], dict[str, WholeArray]]:
    if is_transaction_table(transactions):
        transactions = measured_sizes(cast("pd.DataFrame", transactions))
    check_table("transactions", transactions)
    check_table("l1_fees", l1_fees, ("base_fee", "blob_base_fee"))
    if rules is None:
        chosen = list(rules_at(at)[0])
    else:
        chosen = [one if isinstance(one, Rule) else rule(one, at=at) for one in sequence("rules", rules)]
    if not chosen or len({one.name for one in chosen}) != len(chosen):
        raise InvalidInput("rules", "expected at least one rule, and each rule only once", [one.name for one in chosen])
    needed = [*dict.fromkeys(name for one in chosen for name in one.columns), "transaction_type", *more]
    table = {name: _column(name, transactions[name]) for name in needed if name in transactions}
    moments = {name: _column(name, l1_fees[name]) for name in SAMPLE_COLUMNS if name in l1_fees}
    for name, columns in (("transactions", table), ("l1_fees", moments)):
        for column, values in columns.items():
            if values.ndim != 1:
                raise InvalidInput(column, "expected one number per row", f"an array of shape {values.shape}")
        lengths = {column: len(values) for column, values in columns.items()}
        if len(set(lengths.values())) != 1 or not _rows(columns):
            raise InvalidInput(name, "expected columns of equal length, at least 1", lengths)
    return chosen, table, moments


def _column(name: str, values: Any) -> WholeArray:
    """Return a column as an int64 array; a number is a column of one row."""
    column = whole(name, values)
    return np.asarray(whole(name, [column])) if isinstance(column, int) else column


def _l2_sums(factors: Factors, transactions: int, moments: int) -> "kernels.Sums":
    from feemodel.rollups import kernels

    # The L2 fee is gas · gas_price + extra. `gas_price` does not depend on the transaction, and `gas` and `extra` do
    # not depend on the sample of L1 fees, so sums of L2 fees are computed from sums of the factors.
    gas, extra, price = (
        np.broadcast_to(fitting("l2_fee", value), (count,)).astype(float)
        for value, count in ((factors.gas, transactions), (factors.extra, transactions), (factors.gas_price, moments))
    )
    return kernels.Sums(gas * price.sum() + moments * extra, price * gas.sum() + extra.sum())


def _dataset(
    variables: Mapping[str, Any],
    rules: Sequence[Rule],
    table: Mapping[str, WholeArray],
    moments: Mapping[str, WholeArray],
) -> "xr.Dataset":
    coordinates: dict[str, Any] = {
        "rule": [one.name for one in rules],
        "source": ("rule", [one.parameters.source for one in rules]),
        "date": ("rule", [one.parameters.since for one in rules]),
        "token": ("rule", [one.token for one in rules]),
    }
    for dim, columns in (("transaction", table), ("moment", moments)):
        coordinates |= {name: (dim, values, {"units": UNITS.get(name, "byte")}) for name, values in columns.items()}
    for name in ("transaction_type", "block_number"):
        if name in coordinates:
            coordinates[name][2]["units"] = "1"
    import xarray as xr

    found = xr.Dataset(variables, coordinates)
    for name in variables:
        found[name].attrs["units"] = "wei"
    found.attrs["parameters"] = json.dumps({one.name: one.parameters.as_dict() for one in rules}, ensure_ascii=False)
    return found


def _rows(columns: Mapping[str, WholeArray]) -> int:
    return len(next(iter(columns.values()), ()))
