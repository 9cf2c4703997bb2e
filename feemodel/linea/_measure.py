"""The bytes that a node measures for a call or transaction, and the compressed size, on which the fee depends."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from feemodel.ethereum._call import as_mapping, is_missing, parse_call
from feemodel.ethereum._transaction import (
    LINEA_CHAIN_ID,
    ZERO_ADDRESS,
    Transaction,
    fill,
    intrinsic_gas,
    parse_transaction,
)
from feemodel.ethereum._transaction_table import RAW, UNSIGNED, raw_row, transactions_of
from feemodel.linea.parameters import NODE
from feemodel.sizes._codecs import Codec, compressed_size, compressed_sizes
from feemodel.sizes._lzss import packed_size
from feemodel.sizes._payloads import Sizes

if TYPE_CHECKING:
    import pandas as pd


def fee_sizes(
    transactions: "pd.DataFrame",
    *,
    codec: str | Codec = "zstd",
    form: str = "sender_unsigned",
    packed: bool = False,
    chain_id: int = LINEA_CHAIN_ID,
    threads: int | None = None,
) -> Sizes:
    """Return the compressed size of each transaction of a table.

    Parameters
    ----------
    transactions : a table of `feemodel.io.read_transactions`, or a table of your own with
        the same column names.
    codec : a codec's name, or a codec object such as `Zstd(level=…)` or `Lzss(dictionary)`.
    form : encoding that is compressed: "sender_unsigned", "unsigned" or "signed".
    packed : whether sizes are rounded up to 32-byte field elements of 254 usable bits.
    chain_id : chain id for transactions that have no chain id in the table.
    threads : number of threads; `None` means one thread for each processor.

    Returns
    -------
    int64 array, one size for each row [byte].

    Raises
    ------
    InvalidInput : a missing column, a row that is not a transaction of type 0, 1 or 2, an unknown codec or encoding, or
        fewer than one thread.

    >>> import pandas as pd
    >>> row = {"hash": "0x" + "33" * 32, "from": "0x" + "22" * 20, "to": "0x" + "11" * 20, "value": "0x1",
    ...     "input": "0x", "nonce": "0x0", "gas": "0x5208", "gasPrice": "0x7"}
    >>> fee_sizes(pd.DataFrame([row])).tolist(), fee_size(row)
    ([30], 30)
    """
    payloads = [sent.measured(form) for sent in transactions_of(transactions, chain_id=chain_id)]
    sizes = compressed_sizes(payloads, codec, threads=threads)
    return np.asarray(packed_size(sizes)) if packed else sizes


def fee_bytes(
    call_or_raw: Transaction | Mapping[str, Any] | bytes | str,
    *,
    form: str = "sender_unsigned",
    gas: int | None = None,
    nonce: int = 0,
    base_fee: int = NODE.base_fee,
    chain_id: int = LINEA_CHAIN_ID,
) -> bytes:
    """Bytes that a node measures for a call or a transaction.

    Parameters
    ----------
    call_or_raw : a call object, a `Transaction`, a signed transaction (bytes or hexadecimal text), or a transaction
        that was sent, as an object from JSON-RPC or a row of a table of `feemodel.io.read_transactions`.
    form : encoding: "sender_unsigned", "unsigned" or "signed" (a call gets a placeholder signature).
    gas : gas estimate of a call, which becomes the gas limit; `None` means the call's field `gas` or, without this
        field, the intrinsic gas [gas].
    nonce : nonce for a call that does not set a nonce.
    base_fee : base fee of the block; also the gas price of a call that sets no price [wei / gas].
    chain_id : the node's chain id. A legacy transaction includes a chain id only if the call has a chain id.

    Returns
    -------
    bytes.

    Raises
    ------
    InvalidInput : a call, transaction or encoding that is not valid, a transaction of type 3 or above, or zero gas.

    Notes
    -----
    The call becomes a transaction as in `feemodel.ethereum.fill`. A contract creation has no `to`. For an estimate of a
    contract creation, this function, like a node, writes 20 zero bytes in place of `to` in the "sender_unsigned"
    encoding. For a contract creation in a published blob or in a transaction that was sent, `to` is empty.

    Source: Consensys/linea-monorepo at cb180134 (2026-06-12), LineaEstimateGas and TxEncodingUtils.

    Number of bytes that Linea mainnet measured for a transfer in January 2026:

    >>> len(fee_bytes({"to": "0x" + "11" * 20, "value": "0x1"}, gas=21_000, form="signed"))
    97
    """
    if isinstance(call_or_raw, (bytes, bytearray, memoryview, str)):
        return parse_transaction(call_or_raw).measured(form)
    if not isinstance(call_or_raw, Transaction):
        row = as_mapping(call_or_raw)
        raw, unsigned = row.get(RAW), row.get(UNSIGNED)
        if not (is_missing(raw) and is_missing(unsigned)):
            return raw_row(raw, unsigned, row.get("sender")).measured(form)
        call_or_raw = parse_call(row)
    call = call_or_raw
    if call.type is not None:
        return call.measured(form)
    if gas is None:
        gas = call.gas_limit if call.gas_limit is not None else intrinsic_gas(call)
    transaction = fill(call, gas=gas, nonce=nonce, base_fee=base_fee, chain_id=chain_id)
    if form == "sender_unsigned" and call.sent_type is None:
        sender, to = call.from_address or ZERO_ADDRESS, call.to or ZERO_ADDRESS
        transaction = replace(transaction, from_address=sender, to=to)
    return transaction.measured(form)


def fee_size(
    call_or_raw: Transaction | Mapping[str, Any] | bytes | str,
    *,
    codec: str | Codec = "zstd",
    form: str = "sender_unsigned",
    packed: bool = False,
    gas: int | None = None,
    nonce: int = 0,
    base_fee: int = NODE.base_fee,
    chain_id: int = LINEA_CHAIN_ID,
) -> int:
    """Compressed size of a call or a transaction; the fee depends on this size.

    Parameters
    ----------
    call_or_raw : a call object, a `Transaction`, a signed transaction (bytes or hexadecimal text), or a transaction
        that was sent, as an object from JSON-RPC or a row of a table of `feemodel.io.read_transactions`.
    codec : a codec's name, or a codec object such as `Zstd(level=…)` or `Lzss(dictionary)`.
    form : encoding that is compressed: "sender_unsigned", "unsigned" or "signed" (a call gets a placeholder signature).
    packed : whether the size is rounded up to 32-byte field elements of 254 usable bits.
    gas : gas estimate of a call; `None` means the call's field `gas` or, without this field, the intrinsic gas [gas].
    nonce, chain_id : nonce and chain id for a call that does not set these values.
    base_fee : base fee of the block; also the gas price of a call that sets no price [wei / gas].

    Returns
    -------
    int [byte].

    Raises
    ------
    InvalidInput : a call, transaction, codec or encoding that is not valid.

    >>> fee_size({"to": "0x" + "11" * 20, "value": "0x1"})
    25
    """
    measured = fee_bytes(call_or_raw, form=form, gas=gas, nonce=nonce, base_fee=base_fee, chain_id=chain_id)
    size = compressed_size(measured, codec)
    return int(packed_size(size)) if packed else size
