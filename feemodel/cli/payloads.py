"""A file of transactions as the payloads that are measured."""

from typing import Any

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.transaction import measured_form, parse_sender_unsigned, parse_transaction


def read_payloads(path: str, form: str) -> list[bytes]:
    """The transactions of a file in a form, in its order; a transaction that cannot be read is named by its place."""
    from feemodel.io import read_raw_transactions

    table = read_raw_transactions(path)
    columns = (table[name].to_list() for name in ("raw", "sender_and_unsigned_transaction", "sender"))
    payloads = []
    for place, (raw, sender_unsigned, sender) in enumerate(zip(*columns, strict=True), 1):
        try:
            payloads.append(_payload(raw, sender_unsigned, sender, form))
        except InvalidInput as error:
            raise UnreadableFile(f"{path}: transaction {place:,}: {error}") from None
    return payloads


def _payload(raw: Any, sender_unsigned: Any, sender: Any, form: str) -> bytes:
    if isinstance(raw, bytes):
        return measured_form(parse_transaction(raw), form, sender=sender if isinstance(sender, bytes) else None)
    found, transaction = parse_sender_unsigned(sender_unsigned)
    return measured_form(transaction, form, sender=found)
