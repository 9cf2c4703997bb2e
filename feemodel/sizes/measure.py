"""`fee_size`: the size that a fee is computed from, the one function that everybody calls."""

from collections.abc import Mapping
from typing import Any

from feemodel.call import Call, as_mapping, is_missing, parse_call
from feemodel.sizes.codecs import Codec, compressed_size
from feemodel.sizes.lzss import packed_size
from feemodel.transaction import (
    LINEA_CHAIN_ID,
    fee_transaction,
    intrinsic_gas,
    measured_form,
    parse_sender_unsigned,
    parse_transaction,
)


def fee_bytes(
    call_or_raw: Call | Mapping[str, Any] | bytes | str,
    *,
    form: str = "sender_unsigned",
    gas: int | None = None,
    nonce: int = 0,
    base_fee: int = 7,
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
        if not is_missing(row.get("raw")):
            return measured_form(parse_transaction(row["raw"]), form)
        if not is_missing(row.get("sender_and_unsigned_transaction")):
            sender, transaction = parse_sender_unsigned(row["sender_and_unsigned_transaction"])
            return measured_form(transaction, form, sender=sender)
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
    base_fee: int = 7,
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
    nonce, base_fee, chain_id : what a call that names none gets, see `feemodel.transaction.fee_transaction`.

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
