"""What a verb is asked about: a signed transaction, or a call, from the command line, a file or standard input."""

import json
import sys
from pathlib import Path

from feemodel.call import Call, parse_call
from feemodel.errors import InvalidInput
from feemodel.transaction import Transaction, intrinsic_gas, parse_transaction


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
    try:
        return parse_call(json.loads(text))
    except json.JSONDecodeError as error:
        raise InvalidInput("call", f"expected JSON ({error})", text) from None


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
