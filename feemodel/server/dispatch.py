"""JSON-RPC 2.0: convert the bytes of a request into the bytes of its response.

Source: https://www.jsonrpc.org/specification (2013-01-04); EIP-1474 for error codes above -32100.
"""

import asyncio
import inspect
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from itertools import zip_longest
from time import perf_counter
from typing import Any, Literal, TypeAlias, get_type_hints

import msgspec

from feemodel import __version__
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
from feemodel.estimates.json_types import parse, schemas
from feemodel.ethereum._call import decoded
from feemodel.execution._failures import REVERTED
from feemodel.io.node import NodeError
from feemodel.server.metrics import ERRORS, SECONDS

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
SERVER_ERROR, UNAVAILABLE, LIMIT_EXCEEDED = -32000, -32002, -32005
LABELS = frozenset((REVERTED, *range(PARSE_ERROR, SERVER_ERROR + 1)))  # codes that metrics count separately
_CODES: tuple[tuple[type[FeeModelError], int], ...] = (
    (NotFinalized, INVALID_REQUEST),  # production nodes return this code for a block that they do not serve
    (InvalidInput, INVALID_PARAMS),
    (LimitExceeded, LIMIT_EXCEEDED),
    (UpstreamError, UNAVAILABLE),
)
SENDER, RECEIVER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
CALL = {"from": SENDER, "to": RECEIVER, "value": "0x1"}
#: An example of each parameter, for the OpenRPC document.
EXAMPLES: dict[str, Any] = {
    "address": SENDER,
    "block": "latest",
    "blockCount": "0x1",
    "call": CALL,
    "moment": {"l1BaseFee": "0x3b9aca00", "blobBaseFee": "0x1", "at": "2026-02-01"},
    "newestBlock": "latest",
    "overrides": {SENDER: {"balance": "0xde0b6b3a7640000"}},
    "point": {"compressedSize": 128, "gas": "0x5208"},
    "rewardPercentiles": [10, 50],
    "stateOverride": "latest",
    "storageKeys": ["0x0"],
    "subject": CALL,
}

BATCH_CALLS = 1_000  # maximum number of calls in a batch
BATCH_SECONDS = 30.0  # time after which no further call of a batch starts [s]
BATCH_BYTES = 16 << 20  # size of the answers after which no further call of a batch starts [byte]
TOGETHER = 16  # calls of a batch that are answered concurrently, if there is a node to wait for

Forward: TypeAlias = Callable[[str, Any], Awaitable[Any]]

_log, _request_log = logging.getLogger(__name__), logging.getLogger("feemodel.calls")
_seconds = cache(SECONDS.labels)
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class CallError(FeeModelError):
    """Exception with the code, message and data of a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)  # pass all arguments, because pickle passes `args` to the constructor
        self.code, self.message, self.data = code, message, data

    def __str__(self) -> str:
        return self.message


def as_call_error(error: Exception) -> CallError | ExecutionFailed | NodeError:
    """Convert an exception to an error object.

    An unforeseen exception becomes "Internal error" with an identifier, under which the log has its traceback.
    """
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


class Method:
    """A JSON-RPC method; its parameters have the names and annotated types of the function's parameters.

    A function that is not `typed` checks JSON values itself, and runs in a thread if it is not a coroutine function.
    """

    def __init__(self, function: Callable[..., Any], *, typed: bool = True) -> None:
        in_loop = typed or inspect.iscoroutinefunction(function)
        self.function = function if in_loop else partial(asyncio.to_thread, function)
        self.is_async = not typed or inspect.iscoroutinefunction(function)
        hints = get_type_hints(function, include_extras=True) if typed else {}
        self.result = hints.get("return", Any)  #: type of the result
        self.summary = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
        # msgspec inspects the annotations of a structure only once, but inspects any other type again in each call.
        fields: list[Any] = []
        for one in inspect.signature(function).parameters.values():
            kind = hints.get(one.name, Any)
            fields.append((one.name, kind) if one.default is one.empty else (one.name, kind | None, one.default))
        self._arguments = msgspec.defstruct("Arguments", fields, array_like=True, forbid_unknown_fields=True)
        self._decode = msgspec.json.Decoder(self._arguments, dec_hook=decoded).decode
        self.parameters = msgspec.structs.fields(self._arguments)

    def arguments(self, given: msgspec.Raw) -> tuple[Any, ...]:
        """Return the typed arguments of a call from JSON; raises `InvalidInput` and `CallError`."""
        try:
            return msgspec.structs.astuple(self._decode(given))
        except msgspec.ValidationError:  # does not name the parameter, and is raised for null
            params = _decode(given) or []
        if isinstance(params, dict):
            raise CallError(INVALID_PARAMS, "non-array args")
        if len(params) > len(self.parameters):
            raise CallError(INVALID_PARAMS, f"too many arguments, want at most {len(self.parameters)}")
        for index, one in enumerate(self.parameters):
            if one.required and (index >= len(params) or params[index] is None):
                raise CallError(INVALID_PARAMS, f"missing value for required argument {index} ({one.name})")
        return tuple(
            one.default if value is None else parse(one.name, value, one.type)
            for one, value in zip_longest(self.parameters, params)
        )


def methods_of(owner: object) -> dict[str, Method]:
    """Return the public functions of an object's class as JSON-RPC methods by name."""
    return {name: Method(getattr(owner, name)) for name in vars(type(owner)) if not name.startswith("_")}


class _Call(msgspec.Struct):
    """A JSON-RPC 2.0 call."""

    jsonrpc: Literal["2.0"]
    method: str
    params: msgspec.Raw = msgspec.Raw(b"[]")
    id: int | float | str | msgspec.UnsetType | None = msgspec.UNSET  #: absent in a notification


_decode_call = msgspec.json.Decoder(_Call).decode
_decode_batch = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _call_of(body: bytes | msgspec.Raw) -> _Call | None:
    """Return a call, or `None` for a value that is not a call. Of members with the same name, the last one counts."""
    try:
        return _decode_call(body)
    except msgspec.ValidationError:  # raised for any of several members with the same name
        value = _decode(body)
    try:
        return _decode_call(_encode(value))
    except (msgspec.ValidationError, OverflowError):
        return None


class Dispatcher:
    """Answer requests with a table of methods, and count the calls; `forward` asks a node for any other method."""

    def __init__(self, methods: Mapping[str, Method], forward: Forward | None = None) -> None:
        self._methods, self._forward = methods, forward
        self._other = "unknown" if forward is None else "forwarded"  # label of methods that are not in `methods`
        self._labels = {*methods}  # with methods that the node has answered, so callers cannot invent labels
        self._turn = asyncio.Lock()

    async def answer(self, body: bytes) -> bytes | None:
        """Return the response to a request or to a batch; `None` if there were only notifications."""
        try:
            body.decode()  # msgspec does not check UTF-8 in unknown members
            if body.lstrip(b" \t\r\n")[:1] == b"[":
                return await self._answer_batch(_decode_batch(body))
            return await self._answer_call(_call_of(body))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _refused(CallError(PARSE_ERROR, f"Parse error: {error}"))

    async def _answer_call(self, call: _Call | None, excess: str | None = None) -> bytes | None:
        """Return the response to one call; `excess` is the error message if the batch has exceeded a limit."""
        if call is None or bytes(memoryview(call.params)[:1]) not in (b"[", b"{", b"n"):
            return _refused(CallError(INVALID_REQUEST, "Invalid Request"))
        began, method = perf_counter(), self._methods.get(call.method)
        label = call.method if call.method in self._labels else self._other
        identity = None if call.id is msgspec.UNSET else call.id
        try:
            if excess is not None:
                raise CallError(LIMIT_EXCEEDED, excess)
            if method is None:
                if self._forward is None:
                    raise CallError(METHOD_NOT_FOUND, f"the method {call.method:.100} does not exist/is not available")
                result = await self._forward(call.method, _decode(call.params) or [])
                label = call.method
                self._labels.add(label)
            else:
                result = method.function(*method.arguments(call.params))
                if method.is_async:
                    result = await result
            response, code = _encode({"jsonrpc": "2.0", "id": identity, "result": result}), 0
        except Exception as error:
            if isinstance(error, (msgspec.DecodeError, UnicodeDecodeError)):  # the parameters are not JSON
                raise
            response, code = _failed(identity, error)  # storing the error in a variable would create a reference cycle
            ERRORS.labels(label, str(code) if code in LABELS else "other").inc()  # a node may return any code
        seconds = perf_counter() - began
        _seconds(label).observe(seconds)
        if _request_log.isEnabledFor(logging.INFO):
            fields = {"method": label, "code": code, "milliseconds": round(seconds * 1_000, 3)}
            _request_log.info("call", extra={"fields": fields})
        return None if call.id is msgspec.UNSET else response

    async def _answer_batch(self, given: list[msgspec.Raw]) -> bytes | None:
        if not given or len(given) > BATCH_CALLS:
            reason = f"Invalid Request: a batch holds 1 to {BATCH_CALLS:,} calls, this one {len(given):,}"
            return _refused(CallError(INVALID_REQUEST, reason))
        calls = [_call_of(one) for one in given]
        in_order = self._forward is None or any(call and call.method.startswith("eth_send") for call in calls)
        step = 1 if in_order else TOGETHER
        answers: list[bytes] = []
        began, size, excess = perf_counter(), 0, None
        for start in range(0, len(calls), step):
            if size > BATCH_BYTES:
                excess = f"the answers to a batch: at most {BATCH_BYTES:,} bytes"
            elif perf_counter() - began > BATCH_SECONDS:
                excess = f"the calls of a batch: at most {BATCH_SECONDS:g} s"
            part = await asyncio.gather(*(self._answer_call(call, excess) for call in calls[start : start + step]))
            responses = [response for response in part if response is not None]
            answers += responses
            size += sum(map(len, responses))
            async with self._turn:  # batches take turns, so that batches do not delay single calls
                await asyncio.sleep(0)
        return b"[%b]" % b",".join(answers) if answers else None


def _failed(identity: Any, error: Exception) -> tuple[bytes, int]:
    """Return the response with an error object, and the code of the error."""
    found = as_call_error(error)
    fields = {"code": found.code, "message": found.message} | ({} if found.data is None else {"data": found.data})
    try:
        return _encode({"jsonrpc": "2.0", "id": identity, "error": fields}), found.code
    except Exception as unwritable:  # an error of a node may have invalid text or a very long code
        return _failed(identity, unwritable)


def _refused(error: CallError) -> bytes:
    """Return the response to a request that is not a valid call, and count the error."""
    ERRORS.labels("", str(error.code)).inc()
    return _failed(None, error)[0]


def document(methods: Mapping[str, Method]) -> bytes:
    """Return the OpenRPC document that describes the methods, as JSON."""
    methods = dict(sorted(methods.items()))
    kinds = [kind for method in methods.values() for kind in (*(one.type for one in method.parameters), method.result)]
    found, components = schemas(kinds)
    schema = iter(found)
    described = []
    for name, method in methods.items():
        fields = method.parameters
        params = [{"name": one.name, "required": one.required, "schema": next(schema)} for one in fields]
        example = [{"name": one.name, "value": EXAMPLES[one.name]} for one in fields if one.name in EXAMPLES]
        described.append({
            "name": name, "summary": method.summary, "paramStructure": "by-position", "params": params,
            "result": {"name": "result", "schema": next(schema)},
            "examples": [{"name": f"a call of {name}", "params": example}],
        })  # fmt: skip
    words = "What a rollup transaction must pay for L1, and proofs of the rollup's state."
    info = {"title": "feemodel", "version": __version__, "description": words, "license": {"name": "Apache-2.0"}}
    return msgspec.json.encode(
        {"openrpc": "1.3.2", "info": info, "methods": described, "components": {"schemas": components}}
    )
