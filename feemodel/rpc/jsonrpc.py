"""JSON-RPC 2.0: the bytes of a request in, the bytes of the response out.

Methods are plain functions or coroutine functions by name. Parameters may come by position or by name. The package's
errors become error objects with their message; anything unexpected becomes "Internal error" with an id under which the
log has it.

Source: https://www.jsonrpc.org/specification (2013-01-04); EIP-1474 for the codes above −32100.
"""

import asyncio
import inspect
import logging
import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, partial
from time import perf_counter
from types import CoroutineType, NoneType
from typing import Any, TypeAlias

import msgspec

from feemodel.errors import ExecutionFailed, FeeModelError, InvalidInput, LimitExceeded, NotFinalized, UpstreamError
from feemodel.io.node import NodeError
from feemodel.rpc.begun import Begun, Later, eventual, once

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
SERVER_ERROR, UNAVAILABLE, LIMIT_EXCEEDED = -32000, -32002, -32005
CODES: tuple[tuple[type[FeeModelError], int], ...] = (
    (NotFinalized, INVALID_REQUEST),  # as production answers for a block that it does not serve
    (InvalidInput, INVALID_PARAMS),
    (LimitExceeded, LIMIT_EXCEEDED),
    (UpstreamError, UNAVAILABLE),
)
BATCH_LIMIT = 100  # calls
BATCH_BYTES = 32 << 20  # of the answers to a batch, beyond which no further call of it is begun
BATCHES_BYTES = 256 << 20  # of the answers to all batches under way, likewise
GROUPED = 16  # calls answered together that may follow each other at once
BATCH_SECONDS = 30.0  # likewise; whoever sent it may be gone

AWAITABLE = (CoroutineType, Awaitable)  # the first is recognised by its type alone
_PLAIN = frozenset(
    (msgspec.Raw, str, dict, list, bool, NoneType)
)  # types of most results, checked sooner than Awaitable

_decode = msgspec.json.Decoder().decode
_encoded = msgspec.json.Encoder().encode

Methods: TypeAlias = Mapping[str, Callable[..., Any]]
Observe: TypeAlias = Callable[[str, int, float], None]  # method, error code or 0, time [s]
Admit: TypeAlias = Callable[[str], None]  # method
_log = logging.getLogger(__name__)


class CallError(FeeModelError):
    """An error object: the code, the message, and data where there is more to say."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.code, self.message, self.data = code, message, data
        super().__init__(message)


class Streamed(ABC):
    """A result that is passed on while it arrives."""

    head = b""  #: of the response, up to the result

    @abstractmethod
    def pieces(self) -> AsyncIterator[bytes]:
        """The result and the end of the response; raises `UpstreamError` where they break off."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what it holds, whether it was read or not."""


class GroupedMethod(ABC):
    """A method whose calls in one batch are answered together."""

    @abstractmethod
    def __call__(self, *params: Any) -> Begun[Any]:
        """The result of one call."""

    @abstractmethod
    def together(self, calls: "Sequence[tuple[GroupedMethod, Sequence[Any]]]") -> Begun[list[Any]]:
        """The result of each call, or the exception that it ends with; never one that is streamed."""


class Unavailable:
    """A method that is known and not answered, with the reason in its error.

    Parameters
    ----------
    reason : what would answer it.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __call__(self, *params: Any) -> Any:
        """Raise the error."""
        raise CallError(METHOD_NOT_FOUND, self.reason)


Response: TypeAlias = bytes | Streamed | None  # `None` to notifications


def unobserved(method: str, code: int, seconds: float) -> None:
    """Observe nothing."""


class Batches:
    """What the batches in progress in one event loop share: turns, and room for their answers.

    Were each of them to do its next call whenever the loop comes round, others would wait for a call of every batch. So
    the loop does one call of all batches together, and then whatever is new.
    """

    def __init__(self) -> None:
        self.held = 0  # bytes of answers that wait for the end of their batch
        self._turn = asyncio.Lock()

    async def turn(self) -> None:
        """Wait until all others had theirs."""
        async with self._turn:
            await asyncio.sleep(0)


def begin(
    body: bytes,
    methods: Methods,
    *,
    batch_limit: int = BATCH_LIMIT,
    observe: Observe = unobserved,
    batches: Batches | None = None,
    admit: Admit | None = None,
) -> Begun[Response]:
    """The response to a request or to a batch of them, or what waits for it; `None` where only notifications were sent.

    Parameters
    ----------
    body : JSON text.
    methods : name → function.
    batch_limit : the most calls that a batch may hold; those behind 32 MiB of answers, or 30 s, are refused.
    observe : called after every call; its method is "unknown" where there is none of that name, "" for what is no call.
    batches : in progress in the same event loop.
    admit : asked before each call; raises `CallError` where it is not to be answered.
    """
    try:
        request = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        observe("", PARSE_ERROR, 0.0)
        return _encoded(_failure(None, CallError(PARSE_ERROR, "Parse error", str(error))))
    if not isinstance(request, list):
        return _begin(request, methods, observe, admit=admit)
    if not request or len(request) > batch_limit:
        reason = f"a batch holds 1 to {batch_limit:,} calls, this one {len(request):,}"
        observe("", INVALID_REQUEST, 0.0)
        return _encoded(_failure(None, CallError(INVALID_REQUEST, "Invalid Request", reason)))
    began, batches = perf_counter(), batches or Batches()
    group = _Group(request, methods, admit)
    if len(group.places) == len(request) <= GROUPED and isinstance(group.begun, Later):
        return group.begun.then(partial(_answer_group, request, group, methods, observe, batches, began))
    group.wait()
    return _answer_batch(request, group, methods, observe, batches, admit)


def _answer_group(
    calls: list[Any], group: "_Group", methods: Methods, observe: Observe, batches: Batches, began: float,
    outcomes: Any,
) -> bytes | None:  # fmt: skip
    """The response to a short batch all of whose calls were answered together: a task would take as long as half."""
    answered, size, asked, now = [], 0, began, perf_counter()
    is_late, has_room = now - began > BATCH_SECONDS, batches.held <= BATCHES_BYTES - BATCH_BYTES
    if not is_late and has_room and _have_results(calls, outcomes):
        for call in calls:  # the first of which all of them have waited for
            observe(call["method"], 0, now - asked)
            asked = now
        answers = zip(calls, outcomes, strict=True)
        results = [{"jsonrpc": "2.0", "id": call["id"], "result": result} for call, result in answers if "id" in call]
        return _encoded(results) if results else None
    for place, call in enumerate(calls):
        excess = None
        if (is_late and place) or size > BATCH_BYTES or not has_room:
            excess = _excess(size, batches.held + size, asked - began)
        if excess is not None:
            response = _refused(call, excess, observe)
        else:
            response = _ended(call, methods, observe, asked, group.found(place, outcomes))
        if response is not None:
            answered.append(response)
            size += len(response)
        asked = now
    return b"[%b]" % b",".join(answered) if answered else None


def _have_results(calls: list[Any], outcomes: Any) -> bool:
    """Whether a node has answered all calls of a batch well and shortly.

    Written in one step, as the batch to the node is: ten calls take 54 µs in process then, not 60.
    """
    if type(outcomes) is not list or len(outcomes) != len(calls):
        return False
    return {*map(type, outcomes)} == {msgspec.Raw} and sum(map(len, outcomes)) <= BATCH_BYTES // 2


async def _answer_batch(
    calls: list[Any], group: "_Group", methods: Methods, observe: Observe, batches: Batches, admit: Admit | None
) -> bytes | None:
    answered, size, began = [], 0, perf_counter()
    try:
        for place, call in enumerate(calls):
            excess = _excess(size, batches.held, perf_counter() - began)
            response: Response
            if excess is not None:
                response = _refused(call, excess, observe)
            elif place in group.places:
                asked = perf_counter()
                response = _ended(call, methods, observe, asked, await group.outcome(place))
            else:
                response = await once(_begin(call, methods, observe, admit=admit))
            assert not isinstance(response, Streamed)
            if response is not None:
                answered.append(msgspec.Raw(response))
                size += len(response)
                batches.held += len(response)
            if place not in group.places or place % GROUPED == 0:
                await batches.turn()
    finally:
        batches.held -= size
        group.close()
    return _encoded(answered) if answered else None


class _Group:
    """The calls of a batch that are answered together.

    Parameters
    ----------
    calls : of the batch.
    methods : name → function.
    admit : asked before each call.
    """

    def __init__(self, calls: list[Any], methods: Methods, admit: Admit | None) -> None:
        grouped: dict[int, tuple[GroupedMethod, Sequence[Any]]] = {}
        for place, call in enumerate(calls):
            method = methods.get(call["method"]) if _is_request(call) else None
            if isinstance(method, GroupedMethod) and isinstance(params := call.get("params") or [], list):
                grouped[place] = method, params
        self.places: dict[int, int | CallError] = {}  #: of these calls, and where its outcome will be or why it is none
        self.begun: Begun[list[Any]] | None = None
        self._task: asyncio.Future[list[Any]] | None = None
        if len(grouped) < 2:
            return
        asked: list[tuple[GroupedMethod, Sequence[Any]]] = []
        for place, call in grouped.items():
            try:
                if admit is not None:
                    admit(calls[place]["method"])
            except CallError as error:
                self.places[place] = error
            else:
                self.places[place] = len(asked)
                asked.append(call)
        if asked:
            try:
                self.begun = asked[0][0].together(asked)
            except Exception as error:
                self.begun = [error] * len(asked)

    def wait(self) -> None:
        """Wait for the outcomes, which may come before anybody asks for one."""
        if isinstance(self.begun, Later):
            self._task = eventual(self.begun)
        elif self.begun is not None:
            self._task = asyncio.ensure_future(once(self.begun))

    def found(self, place: int, outcomes: Any) -> Any:
        """The outcome of a call, of all of them or the exception that they end with."""
        index = self.places[place]
        if type(index) is int and type(outcomes) is list:
            return outcomes[index]
        return index if isinstance(index, CallError) else outcomes

    async def outcome(self, place: int) -> Any:
        """The result of a call, or the exception that it ends with."""
        if self._task is None:
            return self.places[place]
        try:
            return self.found(place, await self._task)
        except Exception as error:
            return error

    def close(self) -> None:
        """End what nobody waits for any more."""
        if self._task is not None:
            self._task.cancel()
            if self._task.done() and not self._task.cancelled():
                self._task.exception()  # which the calls answer with


def _excess(size: int, held: int, seconds: float) -> str | None:
    """Why no further call of a batch is begun; `None` where it is."""
    if size > BATCH_BYTES:
        return f"the answers to a batch: at most {BATCH_BYTES:,} bytes"
    if held > BATCHES_BYTES:
        return f"the answers to all batches under way: at most {BATCHES_BYTES:,} bytes"
    return f"the calls of a batch: at most {BATCH_SECONDS:g} s" if seconds > BATCH_SECONDS else None


def _refused(request: Any, reason: str, observe: Observe) -> bytes | None:
    """The response to a call that is not begun."""
    if not _is_request(request):
        return failure(CallError(INVALID_REQUEST, "Invalid Request"))
    observe("unknown", LIMIT_EXCEEDED, 0.0)
    error = CallError(LIMIT_EXCEEDED, reason)
    return _encoded(_failure(request["id"], error)) if "id" in request else None


def _begin(request: Any, methods: Methods, observe: Observe, *, admit: Admit | None = None) -> Begun[Response]:
    """The response to one call: a task for every call would take longer than most calls do."""
    if not _is_request(request):
        observe("", INVALID_REQUEST, 0.0)
        return failure(CallError(INVALID_REQUEST, "Invalid Request"))
    began = perf_counter()
    try:
        if admit is not None:
            admit(request["method"])
        result = _called(request["method"], request.get("params") or [], methods)
    except Exception as error:
        return _ended(request, methods, observe, began, error)
    if type(result) in _PLAIN:
        return _ended(request, methods, observe, began, result)
    if isinstance(result, Later):
        return result.then(partial(_responded, request, methods, observe, began))
    return _responded(request, methods, observe, began, result)


def _responded(request: Any, methods: Methods, observe: Observe, began: float, result: Any) -> Begun[Response]:
    """The response of a result, an exception, or what has to be waited for."""
    if type(result) not in _PLAIN and isinstance(result, (*AWAITABLE, Streamed)):
        return _awaited(request, methods, observe, began, result)
    return _ended(request, methods, observe, began, result)


async def _awaited(request: Any, methods: Methods, observe: Observe, began: float, result: Any) -> Response:
    try:
        if isinstance(result, AWAITABLE):
            result = await result
        if isinstance(result, Streamed):
            observe(request["method"], 0, perf_counter() - began)
            if "id" not in request:
                await result.close()
                return None
            result.head = _encoded({"jsonrpc": "2.0", "id": request["id"], "result": 0})[:-2]
            return result
    except Exception as error:
        result = error
    return _ended(request, methods, observe, began, result)


def _ended(request: Any, methods: Methods, observe: Observe, began: float, result: Any) -> bytes | None:
    """The response of a result or an exception."""
    name, identity, code = request["method"], request.get("id"), 0
    if isinstance(result, Exception):
        code, response = _failed(identity, _as_call_error(result))
    else:
        try:
            response = _encoded({"jsonrpc": "2.0", "id": identity, "result": result})
        except Exception as error:
            code, response = _failed(identity, _as_call_error(error))
    observe(name if name in methods else "unknown", code, perf_counter() - began)
    return response if "id" in request else None


def _failed(identity: Any, error: CallError) -> tuple[int, bytes]:
    """The code and the response of a call that failed."""
    try:
        return error.code, _encoded(_failure(identity, error))
    except Exception as unwritable:  # of a node's words, which may be no text, and its code of any length
        return INTERNAL_ERROR, _encoded(_failure(identity, _unforeseen(unwritable)))


def _is_request(request: Any) -> bool:
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
        return False
    method, params, identity = request.get("method"), request.get("params"), request.get("id")
    if not isinstance(method, str) or not isinstance(params, (list, dict, NoneType)):  # null is none, as geth has it
        return False
    if isinstance(identity, int):  # 64 bits are what the encoder writes
        return not isinstance(identity, bool) and -(2**63) <= identity < 2**64
    return identity is None or isinstance(identity, (str, float))


def _called(name: str, params: list[Any] | dict[str, Any], methods: Methods) -> Any:
    method = methods.get(name)
    if method is None:
        raise CallError(METHOD_NOT_FOUND, "Method not found", name)
    least, most = _positions(method)
    # Nearly all come by position and in the right number, and binding takes its time.
    fits = isinstance(params, list) and least <= len(params) <= most
    return method(*params) if fits else _bound(method, params)


def _bound(method: Callable[..., Any], params: list[Any] | dict[str, Any]) -> Any:
    signature = _signature(method)
    try:
        bound = signature.bind(**params) if isinstance(params, dict) else signature.bind(*params)
    except TypeError as error:
        raise CallError(INVALID_PARAMS, f"Invalid params: {error}, expected {signature}") from None
    return method(*bound.args, **bound.kwargs)


@lru_cache
def _positions(method: Callable[..., Any]) -> tuple[int, float]:
    """The least and the most parameters by position."""
    parameters = _signature(method).parameters.values()
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return 0, math.inf
    return sum(parameter.default is parameter.empty for parameter in parameters), len(parameters)


@lru_cache
def _signature(method: Callable[..., Any]) -> inspect.Signature:
    signature = inspect.signature(method)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)


def _as_call_error(error: Exception) -> CallError:
    if isinstance(error, CallError):
        return error
    if isinstance(error, (ExecutionFailed, NodeError)):  # which have the code and the words of a node
        return CallError(error.code, error.message, error.data)
    for kind, code in CODES:
        if isinstance(error, kind):
            return CallError(code, str(error))
    return _unforeseen(error)


def _unforeseen(error: Exception) -> CallError:
    identity = secrets.token_hex(8)
    _log.error("internal error %s", identity, exc_info=error)
    return CallError(INTERNAL_ERROR, "Internal error", {"id": identity})


def _failure(identity: Any, error: CallError) -> dict[str, Any]:
    fields: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        fields["data"] = error.data
    return {"jsonrpc": "2.0", "id": identity, "error": fields}


def failure(error: CallError) -> bytes:
    """The response to a request that was not read: an error whose id is null."""
    return _encoded(_failure(None, error))
