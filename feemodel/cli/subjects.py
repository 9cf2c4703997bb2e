"""Transactions and calls from the command line, a file or standard input."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from shutil import copyfileobj
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from feemodel.cli import STDIN, UsageError
from feemodel.cli.parameters import FileOptions, check_known, read_columns
from feemodel.errors import FeeModelError, InvalidInput, UnreadableFile
from feemodel.ethereum._call import MAX_TYPE, is_missing, parse_call, read_type
from feemodel.ethereum._transaction import (
    BLOB,
    DYNAMIC_FEE,
    LINEA_CHAIN_ID,
    SET_CODE,
    Transaction,
    check_published,
    intrinsic_gas,
    parse_transaction,
)
from feemodel.ethereum._transaction_table import (
    RAW,
    UNSIGNED,
    assumptions,
    columns_of,
    field_call,
    is_known,
    known_column,
    rows_of,
    transactions_of,
)
from feemodel.io.files import PathLike, parse_json

if TYPE_CHECKING:
    import pandas as pd

    from feemodel.simulation.surfaces import Workload

Item: TypeAlias = tuple[str, Transaction | FeeModelError]


def as_call(transaction: Transaction) -> Transaction:
    """Return a signed transaction as a call, without gas limit and nonce, which could make the call fail."""
    check_published(transaction)
    fees = ("gas_price",) if transaction.type == DYNAMIC_FEE else ("max_fee", "max_priority_fee")
    absent: dict[str, Any] = dict.fromkeys(("type", "signature", "gas_limit", "nonce", *fees))
    sender, listed = transaction.sender(), transaction.access_list or None
    return replace(transaction, from_address=sender, access_list=listed, **absent)


def read_subjects(subject: str, columns: Mapping[str, str] | None = None) -> list[Item]:
    """Read all transactions and calls of a text, of a file in any supported format, or of `-` for standard input.

    Each item has a position in the text, such as "line 3", or "" if there is only one item. For a call or transaction
    that cannot be read, the item contains the error.
    """
    text = subject.strip()
    if text.startswith(("0x", "{")):
        return _of_text(text, columns)
    if text != STDIN:
        return _of_file(text, columns)
    with NamedTemporaryFile(prefix="feemodel-") as file:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            file.write(sys.stdin.read().encode())
        else:
            copyfileobj(stream, file)
        file.flush()
        try:
            return _of_file(file.name, columns)
        except UnreadableFile as error:
            raise UnreadableFile(str(error).replace(file.name, "standard input")) from None


def _of_file(path: str, columns: Mapping[str, str] | None) -> list[Item]:
    from feemodel.io.files import container_of, contents, reading
    from feemodel.io.transactions import read_in_file_order

    with reading(path):
        if container_of(path) == "json":
            return _of_text(contents(path).decode("utf-8-sig").strip(), columns)
        return [(f"row {row}", one) for row, one in enumerate(subjects_of(read_in_file_order(path, columns)), 1)]


def _of_text(text: str, columns: Mapping[str, str] | None) -> list[Item]:
    """Parse calls and transactions from JSON, JSON Lines, or lines of hexadecimal data."""
    if text.startswith(("{", "[")):
        first, _, rest = text.partition("\n")
        line = _json(first) if rest else None
        document = parse_json(text, "call") if line is None else line
        item = document[0] if isinstance(document, list) and document else document
        if isinstance(item, Mapping) and not {"transactions", "result", "error"}.isdisjoint(item):  # of a node
            from feemodel.io.transactions import parse_transactions

            table = parse_transactions(text.encode(), columns=columns)
            return [(f"row {row}", one) for row, one in enumerate(subjects_of(table), 1)]
        if line is None and isinstance(document, list):
            return [(f"item {number}", _tried(item, columns)) for number, item in enumerate(document, 1)]
        if line is None:
            return [("", _of_item(document, columns))]
    lines = [(f"line {number}", line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) == 1:
        return [("", parse_transaction(text))]
    return [(position, _tried(line, columns)) for position, line in lines]


def _tried(item: Any, columns: Mapping[str, str] | None) -> Transaction | FeeModelError:
    try:
        if isinstance(item, str) and not item.startswith("0x"):
            item = parse_json(item, "call")
        return _of_item(item, columns)
    except FeeModelError as error:
        return error


def _of_item(item: Any, columns: Mapping[str, str] | None) -> Transaction:
    """Parse a raw transaction, a call object, or a transaction with the field names of an export tool."""
    if isinstance(item, str):
        return parse_transaction(item)
    if not isinstance(item, Mapping):
        raise InvalidInput("subject", "expected a transaction or a call", item)
    if item.get("raw") is not None:
        return parse_transaction(item["raw"])
    try:
        return parse_call(item)
    except InvalidInput:
        from feemodel.io.formats import missing, parse_columns, table_of_objects
        from feemodel.io.tables import TRANSACTIONS

        if missing(TRANSACTIONS, [*item], parse_columns(columns, TRANSACTIONS)):
            raise
        (found,) = subjects_of(table_of_objects([item], TRANSACTIONS, columns))
        if isinstance(found, InvalidInput):
            raise found from None
        return found


def _json(text: str) -> Any:
    """Parse JSON text; returns `None` if the text is not JSON."""
    try:
        return parse_json(text, "")
    except InvalidInput:
        return None


def estimated_gas(subject: Transaction, given: int | None) -> int:
    """Return the gas estimate: the given estimate, or else the gas limit, or else the intrinsic gas [gas]."""
    estimated = given if given is not None else subject.gas_limit
    if estimated is not None:
        return estimated
    if subject.data or subject.to is None:
        raise UsageError("--gas: required, because the call has data or no recipient and is not executed")
    return intrinsic_gas(subject)


def signing_fields(subject: Transaction, nonce: int | None, chain_id: int | None) -> tuple[int, int]:
    """Return the nonce and chain id for a call. Raises `InvalidInput` for a value that is given twice."""
    for option, given, own in (("--nonce", nonce, subject.nonce), ("--chain-id", chain_id, subject.chain_id)):
        if given is not None and subject.type is not None:
            raise InvalidInput(option, "not valid for a signed transaction, which has its own value", given)
        if given is not None and own is not None:
            raise InvalidInput(option, f"not valid, because the call already has the value {own}", given)
    return nonce or 0, LINEA_CHAIN_ID if chain_id is None else chain_id


class TransactionFile(NamedTuple):
    """The transactions of a file."""

    table: Any  #: table from `feemodel.io.read_transactions`; types that have no published fee are left out
    sent: list[Transaction]
    rows: list[int]  #: row of each transaction in the file, counted from 0
    said: list[str]  #: notes on assumptions and on left-out transactions

    def payloads(self, form: str) -> list[bytes]:
        """Return the bytes of the transactions in the encoding whose compressed size is measured."""
        return [one.measured(form) for one in self.sent]

    def with_gas_used(self) -> "TransactionFile":
        """Leave out transactions with unknown gas used, unless the gas used of all transactions is unknown."""
        known = is_known(self.table, "gas_used")
        if all(known) or not any(known):
            return self
        text = f"left out: {known.count(False):,} of {len(known):,} transactions without gas used"
        known_rows = [index for index, is_known in enumerate(known) if is_known]
        sent, rows = [self.sent[index] for index in known_rows], [self.rows[index] for index in known_rows]
        return TransactionFile(self.table.iloc[known_rows], sent, rows, [*self.said, text])

    def gas_used(self) -> list[int] | None:
        """Return the gas used by each transaction, or `None` if the file does not contain gas used [gas]."""
        return known_column(self.table, "gas_used")


def read_transaction_file(path: str, options: FileOptions, *, set_code: bool = False) -> TransactionFile:
    """Read the transactions of a file, including type 4 if `set_code` is true. Errors name the unreadable row."""
    from feemodel.io import read_transactions

    read = read_transactions(path, columns=read_columns(options.columns))
    table, left_out = without_unpriced(read, set_code=set_code)
    try:
        sent = transactions_of(table, chain_id=options.chain_id, set_code=set_code)
    except InvalidInput as error:
        raise UnreadableFile(f"{path}: {error}") from None
    said = [f"assumed: {text}" for text in assumptions(table, sent, chain_id=options.chain_id)]
    if left_out:
        kinds = "type 3, or above 4" if set_code else "type 3 or above"
        said.append(f"left out: {left_out:,} transactions of {kinds}, for which no fee is published")
    if not sent:
        raise UnreadableFile(f"{path}: expected transactions, found none{': ' + said[-1] if left_out else ''}")
    return TransactionFile(table, sent, table.index.tolist(), said)


def measured_workload(
    path: PathLike | None, size: str, gas: str = "gas_used", columns: Mapping[str, str] | None = None
) -> "Workload | None":
    """Return the measured sizes and the gas of the transactions in a file; `None` for a file that has no sizes.

    Without a path, return those of the transactions in the package, by the columns `size` and `gas`.
    """
    import numpy as np

    from feemodel.io.shipped import read_shipped_transactions
    from feemodel.io.transactions import read_measured
    from feemodel.simulation.surfaces import Workload

    if path is not None:
        measured = read_measured(path, size, gas=gas, columns=columns)
        return None if measured is None else Workload(**measured)
    table = read_shipped_transactions()
    for name, column in (("size", size), ("gas", gas)):
        check_known(name, column, [*map(str, table)])
    known = table.dropna(subset=[size, gas])
    name = f"real Linea transactions in the package, {len(known):,} of {len(table):,} that have {size} and {gas}"
    return Workload(name, *(known[one].to_numpy(np.int64) for one in (size, gas, "timestamp", "calldata_bytes")))


def without_unpriced(table: "pd.DataFrame", *, set_code: bool = False) -> "tuple[pd.DataFrame, int]":
    """Remove transactions of types for which no fee is published: type 3 and above.

    Types above 4 are specific to a rollup, such as the deposit that begins each block of the OP Stack.

    Parameters
    ----------
    table : a table of transactions.
    set_code : whether transactions of type 4 are kept.

    Returns
    -------
    (table, removed): the remaining rows, and the number of removed rows.
    """
    columns = columns_of(table)
    priced = (*range(BLOB), SET_CODE) if set_code else range(BLOB)
    if RAW in table.columns:
        kept = [
            is_missing(raw) or not (len(raw) > 1 and raw[0] <= 0x7F and raw[1] >= 0xC0) or raw[0] in priced
            for raw in table[RAW].tolist()  # a typed encoding (EIP-2718): one byte below 0x80, then an RLP list
        ]
    else:
        kept = [True] * len(table)
        if "transaction_type" in columns:
            given = table[columns["transaction_type"]].tolist()
            kept = [
                is_missing(kind) or kind != kind or read_type("type", kind, maximum=MAX_TYPE) in priced
                for kind in given
            ]
        for name in ("authorization_list", "blob_versioned_hashes", "max_fee_per_blob_gas"):
            if name in columns and not (set_code and name == "authorization_list"):
                cells = table[columns[name]].tolist()
                kept = [one and not _is_given(cell) for one, cell in zip(kept, cells, strict=True)]
    return (table, 0) if all(kept) else (table.loc[kept], kept.count(False))


def _is_given(cell: Any) -> bool:
    """Return whether a cell contains a fee or a non-empty list."""
    if is_missing(cell) or (isinstance(cell, float) and cell != cell):
        return False
    return len(cell) > 0 if hasattr(cell, "__len__") else True


def subjects_of(table: "pd.DataFrame") -> Iterator[Transaction | InvalidInput]:
    """Yield a call or a transaction for each row of a table, or the error for a row that is not valid."""
    if {RAW, UNSIGNED} & {*table.columns}:
        rows: Iterable[Any] = table[RAW].tolist() if RAW in table.columns else [None] * len(table)
        read: Callable[[Any], Transaction] = _raw_subject
    else:
        rows, read = rows_of(table), field_call
    for row in rows:
        try:
            yield read(row)
        except InvalidInput as error:
            yield InvalidInput(error.name.removeprefix("call."), error.reason, error.value)


def _raw_subject(raw: Any) -> Transaction:
    if is_missing(raw):
        raise InvalidInput(RAW, "expected a signed transaction", None)
    return parse_transaction(raw)
