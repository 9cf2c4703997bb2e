"""The bytes of a call or transaction that a node measures, and their compressed size, on which the fee depends."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from feemodel.ethereum.call import Call, as_mapping, is_missing, parse_call
from feemodel.ethereum.transaction import (
    LINEA_CHAIN_ID,
    ZERO_ADDRESS,
    fill,
    intrinsic_gas,
    measured_form,
    parse_transaction,
)
from feemodel.ethereum.transaction_table import RAW, UNSIGNED, Sent, raw_row, transactions_of
from feemodel.linea.parameters import NODE
from feemodel.sizes.codecs import Codec, compressed_size, compressed_sizes
from feemodel.sizes.lzss import packed_size
from feemodel.sizes.payloads import Sizes

if TYPE_CHECKING:
    import pandas as pd


def fee_payloads(
    transactions: "pd.DataFrame", *, form: str = "sender_unsigned", chain_id: int = LINEA_CHAIN_ID
) -> list[bytes]:
    """The bytes that are measured of each transaction of a table, in its order.

    Parameters
    ----------
    transactions : a table of `feemodel.io.read_transactions` or `read_raw_transactions`, or your own with the same
        column names.
    form : as in `fee_size`; "signed" has a placeholder of the same length where the table has no signature.
    chain_id : of transactions for which the table has none.

    Raises
    ------
    InvalidInput : a missing column; a row that is no transaction of type 0, 1 or 2, named by row, from 1, and column.

    >>> import pandas as pd
    >>> row = {"from": bytes(20), "to": bytes(20), "value": 1, "input": b"", "nonce": 0, "gas": 21_000, "gasPrice": 7}
    >>> len(fee_payloads(pd.DataFrame([row]), form="unsigned")[0])  # a list of nine items
    34
    """
    return [sent.measured(form) for sent in transactions_of(transactions, chain_id=chain_id)]


def fee_sizes(
    transactions: "pd.DataFrame",
    *,
    codec: str | Codec = "zstd",
    form: str = "sender_unsigned",
    packed: bool = False,
    chain_id: int = LINEA_CHAIN_ID,
    threads: int | None = None,
) -> Sizes:
    """The compressed size of each transaction of a table, as `fee_size` of its row [byte], int64.

    Parameters and errors as `fee_payloads` and `fee_size`; `threads` as in `feemodel.compressed_sizes`.

    >>> import pandas as pd
    >>> row = {"hash": "0x" + "33" * 32, "from": "0x" + "22" * 20, "to": "0x" + "11" * 20, "value": "0x1",
    ...     "input": "0x", "nonce": "0x0", "gas": "0x5208", "gasPrice": "0x7"}
    >>> fee_sizes(pd.DataFrame([row])).tolist(), fee_size(row)
    ([30], 30)
    """
    sizes = compressed_sizes(fee_payloads(transactions, form=form, chain_id=chain_id), codec, threads=threads)
    return np.asarray(packed_size(sizes)) if packed else sizes


def fee_transaction(
    call: Call | Mapping[str, Any],
    *,
    gas: int,
    nonce: int = 0,
    base_fee: int = NODE.base_fee,
    chain_id: int = LINEA_CHAIN_ID,
    form: str = "sender_unsigned",
) -> bytes:
    """The bytes that a node measures for a call.

    Parameters
    ----------
    call : a call object, a transaction that was sent (of JSON-RPC, or a table's row), or either already parsed.
    gas : the gas estimate, which becomes the gas limit [gas].
    nonce : of the account, for a call that names none.
    base_fee : of the block [wei / gas], the gas price of a call that names no price.
    chain_id : of the node; a legacy transaction carries one only where the call does.
    form : "sender_unsigned", "unsigned" or "signed".

    Notes
    -----
    The call becomes a transaction as in `feemodel.ethereum.transaction.fill`. In the form "sender_unsigned" a node's
    estimate writes the absent `to` of a contract creation as 20 zero bytes, and so does this function; the encoder of
    the published blobs leaves it empty, and so does `measured_form`.

    Source: Consensys/linea-monorepo at cb180134 (2026-06-12), LineaEstimateGas and TxEncodingUtils.

    A transfer, as mainnet measured it in January 2026:

    >>> len(fee_transaction({"to": "0x" + "11" * 20, "value": "0x1"}, gas=21_000, form="signed"))
    97
    """
    parsed = call if isinstance(call, Call) else parse_call(call)
    transaction = fill(parsed, gas=gas, nonce=nonce, base_fee=base_fee, chain_id=chain_id)
    if form == "sender_unsigned" and transaction.to is None and not parsed.sent:
        transaction = replace(transaction, to=ZERO_ADDRESS)
    return Sent(parsed.sender if parsed.sent else parsed.sender or ZERO_ADDRESS, transaction).measured(form)


def fee_bytes(
    call_or_raw: Call | Mapping[str, Any] | bytes | str,
    *,
    form: str = "sender_unsigned",
    gas: int | None = None,
    nonce: int = 0,
    base_fee: int = NODE.base_fee,
    chain_id: int = LINEA_CHAIN_ID,
) -> bytes:
    """The bytes that a node measures for a call or for a signed transaction; parameters as in `fee_size`.

    >>> len(fee_bytes({"to": "0x" + "11" * 20, "value": "0x1"}))
    49
    """
    if isinstance(call_or_raw, (bytes, bytearray, memoryview, str)):
        return measured_form(parse_transaction(call_or_raw), form)
    if not isinstance(call_or_raw, Call):
        row = as_mapping(call_or_raw)
        raw, unsigned = row.get(RAW), row.get(UNSIGNED)
        if not (is_missing(raw) and is_missing(unsigned)):
            return raw_row(raw, unsigned, row.get("sender")).measured(form)
        call_or_raw = parse_call(row)
    call = call_or_raw
    if gas is None:
        gas = call.gas if call.gas is not None else intrinsic_gas(call)
    return fee_transaction(call, gas=gas, nonce=nonce, base_fee=base_fee, chain_id=chain_id, form=form)


def fee_size(
    call_or_raw: Call | Mapping[str, Any] | bytes | str,
    *,
    codec: str | Codec = "zstd",
    form: str = "sender_unsigned",
    packed: bool = False,
    gas: int | None = None,
    nonce: int = 0,
    base_fee: int = NODE.base_fee,
    chain_id: int = LINEA_CHAIN_ID,
) -> int:
    """The compressed size of a call or a transaction, as a fee is computed from it.

    Parameters
    ----------
    call_or_raw : a call object, a signed transaction (bytes or hexadecimal text), or a transaction that was sent:
        an object of JSON-RPC, or a row of a table of `feemodel.io.read_transactions`.
    codec : a name, or an object such as `Zstd(level=…)` or `Lzss(dictionary)`.
    form : what is compressed: "sender_unsigned", "unsigned" or "signed" (a call: with the placeholder signature).
    packed : count the 32-byte field elements of 254 bits that the size fills in a blob.
    gas : the gas estimate of a call [gas]; without it the call's own `gas`, or else its intrinsic gas.
    nonce, base_fee, chain_id : what a call that names none gets, see `fee_transaction`.

    Returns
    -------
    int [byte].

    Raises
    ------
    InvalidInput : a call, transaction, codec or form that cannot be read.

    >>> fee_size({"to": "0x" + "11" * 20, "value": "0x1"})
    25
    """
    measured = fee_bytes(call_or_raw, form=form, gas=gas, nonce=nonce, base_fee=base_fee, chain_id=chain_id)
    size = compressed_size(measured, codec)
    return int(packed_size(size)) if packed else size
