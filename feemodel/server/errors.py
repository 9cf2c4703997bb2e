"""Error objects of JSON-RPC: their codes, and the conversion of exceptions to error objects.

The error object of a `FeeModelError` has the message of the exception, except for errors of the ledger file. Any other
exception becomes "Internal error" with an identifier; the log has the traceback under the same identifier.

Source: https://www.jsonrpc.org/specification (2013-01-04); EIP-1474 for error codes above -32100.
"""

import logging
import secrets
from typing import Any

from feemodel.errors import (
    ExecutionFailed,
    FeeModelError,
    InvalidInput,
    LedgerDamaged,
    LimitExceeded,
    NotFinalized,
    UnreadableFile,
    UpstreamError,
)
from feemodel.io.node import NodeError

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
SERVER_ERROR, UNAVAILABLE, LIMIT_EXCEEDED = -32000, -32002, -32005
_CODES: tuple[tuple[type[FeeModelError], int], ...] = (
    (NotFinalized, INVALID_REQUEST),  # production nodes return this code for a block that they do not serve
    (InvalidInput, INVALID_PARAMS),
    (LimitExceeded, LIMIT_EXCEEDED),
    (UpstreamError, UNAVAILABLE),
)
#: Code, message and cause of each error that may be returned in place of a result.
FAILURES = (
    (3, "execution reverted[: reason]", "the call reverts; data has the raw bytes, Error and Panic are decoded"),
    (-32000, "a message of geth or Besu", "too few funds, too little gas, a halt, a wrong nonce, an unknown block"),
    (-32002, "the failure", "the node cannot be reached, or costs are too old"),
    (-32004, "Upfront cost exceeds account balance", "the sender cannot pay for any gas limit, rollup methods"),
    (-32005, "the limit and its value", "gas, time, number of waiting calls"),
    (-32600, "Invalid Request, or the block", "not a request; a batch with too many calls; a block that is not final"),
    (-32601, "the unknown method", "any other method; a method that is not forwarded to the node"),
    (-32602, "the field and its value", "an invalid parameter; too many storage keys"),
    (-32603, "Internal error", "unexpected errors; data contains the id of the log entry"),
    (-32700, "Parse error", "not JSON"),
)

_log = logging.getLogger(__name__)


class CallError(FeeModelError):
    """Exception with the code, message and data of a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)  # pass all arguments, because pickle passes `args` to the constructor
        self.code, self.message, self.data = code, message, data

    def __str__(self) -> str:
        return self.message


def as_call_error(error: Exception) -> CallError | ExecutionFailed | NodeError:
    """Convert an exception to an error with a code, a message and data."""
    if isinstance(error, (CallError, ExecutionFailed, NodeError)):
        return error
    for kind, code in _CODES:
        if isinstance(error, kind):
            return CallError(code, str(error))
    identity = secrets.token_hex(8)
    if not isinstance(error, UnreadableFile):
        _log.error("internal error", exc_info=error, extra={"fields": {"id": identity}})
        return CallError(INTERNAL_ERROR, "Internal error", {"id": identity})
    # Only the log contains the path of the file.
    _log.error("ledger error", extra={"fields": {"id": identity, "error": str(error)}})
    if isinstance(error, LedgerDamaged):
        return CallError(INTERNAL_ERROR, "the ledger is damaged", {"id": identity})
    return CallError(UNAVAILABLE, "the ledger cannot be read", {"id": identity})
