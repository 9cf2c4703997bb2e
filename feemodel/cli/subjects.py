"""What a verb is asked about: a signed transaction, or a call, from the command line, a file or standard input."""

import sys
from pathlib import Path

from feemodel.errors import InvalidInput
from feemodel.ethereum.call import Call, parse_call
from feemodel.ethereum.transaction import DYNAMIC_FEE, LINEA_CHAIN_ID, Transaction, intrinsic_gas, parse_transaction


def read_subject(subject: str) -> Call | Transaction:
    """The subject of `0x…`, `{…}`, the name of a file with either, or `-` for standard input."""
    text = subject.strip()
    if text == "-":
        text = sys.stdin.read().strip()
    elif not text.startswith(("0x", "{")):
        from feemodel.io.files import reading

        with reading(text):
            text = Path(text).read_text(encoding="utf-8").strip()
    if not text.startswith("{"):
        return parse_transaction(text)
    from feemodel.io.files import parse_json

    return parse_call(parse_json(text, "call"))


def as_call(transaction: Transaction) -> Call:
    """The call that a signed transaction makes; its gas limit and nonce do not bound an execution, so they stay out."""
    is_dynamic = transaction.type == DYNAMIC_FEE
    return Call(
        sender=transaction.sender(), to=transaction.to, value=transaction.value, data=transaction.data,
        gas_price=None if is_dynamic else transaction.gas_price,
        max_fee=transaction.max_fee if is_dynamic else None,
        max_priority_fee=transaction.max_priority_fee if is_dynamic else None,
        chain_id=transaction.chain_id, access_list=transaction.access_list or None,
    )  # fmt: skip


def gas_limit(subject: Call | Transaction) -> int | None:
    """The gas that the subject allows, `None` for a call that does not say [gas]."""
    return subject.gas_limit if isinstance(subject, Transaction) else subject.gas


def estimated_gas(subject: Call | Transaction, given: int | None) -> int:
    """The gas estimate: the one given, the subject's own limit, or that of a plain transfer [gas]."""
    estimated = given if given is not None else gas_limit(subject)
    if estimated is not None:
        return estimated
    if subject.data or subject.to is None:
        raise InvalidInput("--gas", "expected the estimate of a call that executes code: it is not run here", None)
    return intrinsic_gas(subject)


def signing_fields(subject: Call | Transaction, nonce: int | None, chain_id: int | None) -> tuple[int, int]:
    """The nonce and the chain id that a call is completed with; refused where the subject names its own."""
    for option, given, own in (("--nonce", nonce, subject.nonce), ("--chain-id", chain_id, subject.chain_id)):
        if given is not None and isinstance(subject, Transaction):
            raise InvalidInput(option, "expected none: a signed transaction has its own", given)
        if given is not None and own is not None:
            raise InvalidInput(option, f"expected none: the call names {own}", given)
    return nonce or 0, LINEA_CHAIN_ID if chain_id is None else chain_id
