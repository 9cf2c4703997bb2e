"""Transactions and calls from the command line, a file or standard input."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from feemodel.cli import STDIN, UsageError
from feemodel.cli.parameters import assigned
from feemodel.errors import UnreadableFile
from feemodel.ethereum._call import MAX_TYPE, is_missing, parse_call, read_type
from feemodel.ethereum._transaction import BLOB, SET_CODE, Transaction, intrinsic_gas, parse_transaction
from feemodel.ethereum._transaction_table import RAW, assumptions, columns_of, is_known, transactions_of
from feemodel.io.files import contents, parse_json, reading

if TYPE_CHECKING:
    import pandas as pd

    from feemodel.simulation.surfaces import Workload
    from feemodel.sizes._codecs import Codec


def is_file(subject: str) -> bool:
    """Return whether a subject is the name of a file, and not a transaction, a call or standard input."""
    return subject != STDIN and not subject.strip().startswith(("0x", "{"))


def read_subject(subject: str) -> Transaction:
    """Read one signed transaction or call from a text, a file or standard input."""
    text = sys.stdin.read() if subject == STDIN else subject
    if is_file(subject):
        with reading(subject):
            text = contents(subject).decode("utf-8-sig")
    text = text.strip()
    return parse_transaction(text) if text.startswith("0x") else parse_call(parse_json(text, "call"))


def estimated_gas(subject: Transaction, given: int | None) -> int:
    """Return the gas estimate: the given estimate, or else the gas limit, or else the intrinsic gas [gas]."""
    estimated = given if given is not None else subject.gas_limit
    if estimated is None and (subject.data or subject.to is None):
        raise UsageError("--gas: required, because the call has data or no recipient and is not executed")
    return intrinsic_gas(subject) if estimated is None else estimated


def read_transaction_file(
    path: str, columns: Sequence[str] = (), *, set_code: bool = False, gas_used: bool = False
) -> "tuple[pd.DataFrame, list[Transaction], list[str]]":
    """Read the transactions of a file: a table without the rows that are left out, and notes. Errors name the row.

    `set_code` includes type 4. `gas_used` leaves out rows without gas used, unless no row has it.
    """
    from feemodel.io import read_transactions

    read = read_transactions(path, columns=assigned("--columns", columns))
    table = read[priced_rows(read, set_code=set_code)]
    said, left_out = [], len(read) - len(table)
    if left_out:
        kinds = "type 3, or above 4" if set_code else "type 3 or above"
        said.append(f"left out: {left_out:,} of {len(read):,} transactions, of {kinds}, for which no fee is published")
    if not len(table):
        raise UnreadableFile(f"{path}: expected transactions, found none{': ' + said[-1] if left_out else ''}")
    known = is_known(table, "gas_used")
    if gas_used and any(known) and not all(known):
        said.append(f"left out: {known.count(False):,} of {len(known):,} transactions, without gas used")
        table = table[known]
    with reading(path):
        sent = transactions_of(table, set_code=set_code)
    return table, sent, [*(f"assumed: {text}" for text in assumptions(table, sent)), *said]


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


def read_workload(path: str, codec: "Codec", columns: Sequence[str] = (), *, packed: bool = False) -> "Workload":
    """Return the sizes and the gas of the transactions of a file; transactions without gas used are left out."""
    from feemodel.simulation.surfaces import Workload

    table, _, notes = read_transaction_file(path, columns, gas_used=True)
    workload = Workload.from_transactions(table, codec=codec, packed=packed, name=Path(path).name)
    return replace(workload, name="; ".join([workload.name, *(said for said in notes if said.startswith("left out"))]))


def shipped_workload() -> "Workload":
    """Return the sizes by zstd and the gas used of the transactions in the package."""
    import numpy as np

    from feemodel.io.shipped import read_shipped_transactions
    from feemodel.simulation.surfaces import Workload

    table = read_shipped_transactions()
    known = table.dropna(subset=["gas_used"])
    name = f"real Linea transactions in the package, {len(known):,} of {len(table):,} that have gas_used"
    columns = known[["zstd", "gas_used", "timestamp", "calldata_bytes"]].to_numpy(np.int64)
    return Workload(name, *columns.T)
