"""Transactions and calls from the command line, a file or standard input."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from feemodel.cli import STDIN, UsageError
from feemodel.cli.parameters import check_known
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._call import MAX_TYPE, is_missing, parse_call, read_type
from feemodel.ethereum._transaction import BLOB, SET_CODE, Transaction, intrinsic_gas, parse_transaction
from feemodel.ethereum._transaction_table import RAW, assumptions, columns_of, is_known, transactions_of
from feemodel.io.files import PathLike, contents, parse_json, reading

if TYPE_CHECKING:
    import pandas as pd

    from feemodel.simulation.surfaces import Workload


def is_file(subject: str) -> bool:
    """Return whether a subject is the name of a file, and not a transaction, a call or standard input."""
    return subject != STDIN and not subject.strip().startswith(("0x", "{"))


def subject_text(subject: str) -> str:
    """Return the text of a transaction or call: the subject itself, the content of a file, or standard input."""
    if subject == STDIN:
        return sys.stdin.read().strip()
    if not is_file(subject):
        return subject.strip()
    with reading(subject):
        return contents(subject).decode("utf-8-sig").strip()


def read_subject(subject: str) -> Transaction:
    """Read one signed transaction or call from a text, a file or standard input.

    >>> read_subject('{"to": "0x1111111111111111111111111111111111111111", "gas": "0x5208"}').gas_limit
    21000
    """
    text = subject_text(subject)
    return parse_transaction(text) if text.startswith("0x") else parse_call(parse_json(text, "call"))


def estimated_gas(subject: Transaction, given: int | None) -> int:
    """Return the gas estimate: the given estimate, or else the gas limit, or else the intrinsic gas [gas]."""
    estimated = given if given is not None else subject.gas_limit
    if estimated is not None:
        return estimated
    if subject.data or subject.to is None:
        raise UsageError("--gas: required, because the call has data or no recipient and is not executed")
    return intrinsic_gas(subject)


class TransactionFile(NamedTuple):
    """The transactions of a file."""

    table: Any  #: table from `feemodel.io.read_transactions`, without the rows that are left out
    sent: list[Transaction]
    said: list[str]  #: notes on assumptions and on left-out transactions

    def payloads(self, form: str) -> list[bytes]:
        """Return the bytes of the transactions in the encoding whose compressed size is measured."""
        return [one.measured(form) for one in self.sent]


def read_transaction_file(
    path: str, columns: Mapping[str, str] | None = None, *, set_code: bool = False, gas_used: bool = False
) -> TransactionFile:
    """Read the transactions of a file. Errors name the unreadable row.

    Parameters
    ----------
    path : the file.
    columns : names of columns, as in `feemodel.io.read_transactions`.
    set_code : whether transactions of type 4 are included.
    gas_used : whether to leave out transactions without gas used, unless that of all transactions is unknown.
    """
    from feemodel.io import read_transactions

    read = read_transactions(path, columns=columns)
    table = read[priced_rows(read, set_code=set_code)]
    said, left_out = [], len(read) - len(table)
    if left_out:
        kinds = "type 3, or above 4" if set_code else "type 3 or above"
        said.append(f"left out: {left_out:,} transactions of {kinds}, for which no fee is published")
    if not len(table):
        raise UnreadableFile(f"{path}: expected transactions, found none{': ' + said[-1] if left_out else ''}")
    known = is_known(table, "gas_used")
    if gas_used and any(known) and not all(known):
        said.append(f"left out: {known.count(False):,} of {len(known):,} transactions without gas used")
        table = table[known]
    try:
        sent = transactions_of(table, set_code=set_code)
    except InvalidInput as error:
        raise UnreadableFile(f"{path}: {error}") from None
    return TransactionFile(table, sent, [*(f"assumed: {text}" for text in assumptions(table, sent)), *said])


def priced_rows(table: "pd.DataFrame", *, set_code: bool = False) -> list[bool]:
    """Return for each row of a table whether a fee is published for the type of its transaction.

    Types above 4 are specific to a rollup, such as the deposit that begins each block of the OP Stack.
    """
    priced = (*range(BLOB), SET_CODE) if set_code else range(BLOB)
    if RAW in table.columns:  # a typed encoding (EIP-2718) begins with one byte below 0x80
        return [is_missing(raw) or raw[0] >= 0x80 or raw[0] in priced for raw in table[RAW].tolist()]
    name = columns_of(table).get("transaction_type")
    if name is None:
        return [True] * len(table)
    kinds = table[name].tolist()
    return [is_missing(kind) or kind != kind or read_type("type", kind, maximum=MAX_TYPE) in priced for kind in kinds]


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
