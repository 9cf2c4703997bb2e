"""Calls that a node answers: which ones, sent with a check of the chain id, answered in the node's own bytes.

The chain id is asked for in the same request as the calls, so that no answer of another chain is given out, whatever
stands behind an open connection. An answer of more than a mebibyte is passed on while it arrives. Short reads and quick
calls at the newest block that follow each other closely share a request, see `feemodel.rpc.reads`.
"""

import asyncio
import json
import math
import random
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.client import responses
from time import monotonic
from typing import Any, cast

import msgspec

from feemodel.errors import InvalidInput, LimitExceeded, UpstreamError
from feemodel.ethereum.call import check_names
from feemodel.io.node import RETRIED_STATUSES, BatchRefused, Node, NodeError, TryAgain, changes_state
from feemodel.rpc.begun import Begun, Later, following
from feemodel.rpc.fair_queue import CLIENT, FairQueue
from feemodel.rpc.head import ChainId, OtherChain
from feemodel.rpc.jsonrpc import BATCH_SECONDS, GroupedMethod, Streamed
from feemodel.rpc.node_connections import ConnectionFailed, NodeConnection, NodeConnections
from feemodel.rpc.reads import (
    CALL_BYTES,
    SHARED_SECONDS,
    Call,
    Quickness,
    Reads,
    Sent,
    call_target,
    is_short_read,
)

#: Methods that wallets and tools call. `admin_`, `debug_`, `personal_` and `txpool_` are not among them, nor is what
#: would use accounts of the node.
PASSED = (
    "eth_blobBaseFee", "eth_blockNumber", "eth_call", "eth_chainId", "eth_createAccessList", "eth_estimateGas",
    "eth_feeHistory", "eth_gasPrice", "eth_getBalance", "eth_getBlockByHash", "eth_getBlockByNumber",
    "eth_getBlockReceipts", "eth_getBlockTransactionCountByHash", "eth_getBlockTransactionCountByNumber",
    "eth_getCode", "eth_getFilterChanges", "eth_getFilterLogs", "eth_getLogs", "eth_getRawTransactionByHash",
    "eth_getStorageAt", "eth_getTransactionByBlockHashAndIndex", "eth_getTransactionByBlockNumberAndIndex",
    "eth_getTransactionByHash", "eth_getTransactionCount", "eth_getTransactionReceipt",
    "eth_getUncleByBlockHashAndIndex", "eth_getUncleByBlockNumberAndIndex", "eth_getUncleCountByBlockHash",
    "eth_getUncleCountByBlockNumber", "eth_maxPriorityFeePerGas", "eth_newBlockFilter", "eth_newFilter",
    "eth_newPendingTransactionFilter", "eth_sendRawTransaction", "eth_simulateV1", "eth_syncing",
    "eth_uninstallFilter", "net_listening", "net_peerCount", "net_version", "web3_sha3",
)  # fmt: skip

#: Of these, methods whose first parameter is a call object. A node ignores a field that it does not know, so that a
#: misspelt one would be executed as if it were absent.
CALLS = frozenset(("eth_call", "eth_createAccessList", "eth_estimateGas"))

CALLS_AT_A_TIME = 64  # requests to one node
CALLS_WAITING = 1_024  # for one of these
STREAMED_FROM = 1 << 20  # bytes of an answer; a shorter one is read as a whole first
MAX_RESPONSE = 32 << 20  # bytes of an answer that cannot be passed on while it arrives
HELD_BYTES = 64 << 20  # of all answers that are being read as a whole
STREAM_SECONDS = 120.0  # for an answer that is passed on while it arrives
ERROR_BYTES = 1 << 20  # of an error object
RETRY_SECONDS = 0.25  # before the second attempt
TAIL = 64  # bytes of an answer that are held back, behind which it may end

_CHAIN_ID = b'{"jsonrpc":"2.0","id":0,"method":"eth_chainId","params":[]}'
_WITH_CHAIN_ID = b'[%b,{"jsonrpc":"2.0","id":1,%%b]' % _CHAIN_ID
_BEGINS = rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*%d\s*,\s*"result"\s*:\s*'
_SINGLE = re.compile(_BEGINS % 1)
_BATCH = re.compile(rb"\s*\[" + _BEGINS % 0 + rb'("0x[0-9a-fA-F]+")\s*\}\s*,' + _BEGINS % 1)


class _Reply(msgspec.Struct):
    """A JSON-RPC response whose result stays as the node wrote it."""

    id: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Ask(msgspec.Struct):
    """A JSON-RPC request."""

    id: int
    method: str
    params: Sequence[Any]
    jsonrpc: str = "2.0"


_ASK_CHAIN_ID = _Ask(0, "eth_chainId", ())


class NotSent(UpstreamError):
    """A call that the node cannot have acted on."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[_Reply] | _Reply).decode


class PassedOn(GroupedMethod):
    """A method that a node answers.

    Parameters
    ----------
    name : under which the node has it.
    ask : see `feemodel.rpc.upstream.Upstreams.begin`.
    ask_together : see `feemodel.rpc.upstream.Upstreams.begin_together`.
    """

    def __init__(
        self,
        name: str,
        ask: Callable[[str, Sequence[Any]], Begun[Any]],
        ask_together: Callable[[Sequence[Call]], Begun[list[Any]]],
    ) -> None:
        self.name, self._ask, self._ask_together = name, ask, ask_together
        self._takes_call = name in CALLS

    def __call__(self, *params: Any) -> Begun[Any]:
        """The node's answer.

        Raises `InvalidInput` for a call object with an unknown field.
        """
        if self._takes_call and (error := _unknown_field(params)) is not None:
            raise error
        return self._ask(self.name, params)

    def together(self, calls: Sequence[tuple[GroupedMethod, Sequence[Any]]]) -> Begun[list[Any]]:
        """The node's answers to calls of one batch."""
        named = cast(Sequence[tuple[PassedOn, Sequence[Any]]], calls)  # no other methods are grouped
        if not any(method._takes_call for method, _ in named):
            return self._ask_together([(method.name, params) for method, params in named])
        errors = [_unknown_field(params) if method._takes_call else None for method, params in named]
        asked = [(method.name, params) for (method, params), error in zip(named, errors, strict=True) if error is None]

        def merged(outcomes: list[Any]) -> list[Any]:
            answers = iter(outcomes)
            return [next(answers) if error is None else error for error in errors]

        return following(self._ask_together(asked), merged) if asked else list(errors)


def _unknown_field(params: Sequence[Any]) -> InvalidInput | None:
    """The error for a call object with a field that no client knows; `None` where there is none."""
    if params and isinstance(params[0], Mapping):
        try:
            check_names(params[0])
        except InvalidInput as error:
            return error
    return None


class PassThrough:
    """The calls that one node answers.

    Parameters
    ----------
    node : whose address, name and manners it has.
    url : of the node.
    chain : whose id the node must have.
    failed : called with the error of a node of another chain.

    Belongs to one event loop.
    """

    def __init__(self, node: Node, url: str, chain: ChainId, failed: Callable[[Exception], None]) -> None:
        self._node, self._chain, self._failed = node, chain, failed
        self._connections = NodeConnections(url)
        self._places = FairQueue(CALLS_AT_A_TIME, CALLS_AT_A_TIME, CALLS_WAITING, what="connection to the node")
        self._held = 0
        self._chain_id = msgspec.Raw()  # the last answer that was found to be right
        self._sent: dict[NodeConnection, Sequence[Sent]] = {}  # that no task waits for
        self._timer: asyncio.TimerHandle | None = None  # of the first of them whose time is over, or one before it
        self._ends = 0.0  # when that is, monotonic time [s]
        self._reads = Reads(self._send, self._not_sent)
        self._calls = Reads(self._send, self._not_sent)
        self._quickness = Quickness()

    def begin(self, method: str, params: Sequence[Any]) -> "Later[msgspec.Raw | Streamed] | None":
        """The same as `call` without a task; `None` where a connection or a place would have to be waited for."""
        client, seconds, is_sent = CLIENT.get(), self._node.timeout, False
        if not self._node.takes_batches or not self._places.enter_now(client, known=False):
            return None
        try:
            sent = Sent(((method, params),), _request(method, params), client, seconds)
            is_sent = self._begun(sent, method, params)
        finally:
            if not is_sent:
                self._places.leave(client, known=False)
        return sent if is_sent else None

    def _begun(self, sent: Sent, method: str, params: Sequence[Any]) -> bool:
        """Send a call by itself, or with others that it may share a request with; whether that could be done."""
        if is_short_read(method, params):
            return self._reads.add(sent)
        if (target := call_target(method, params)) is not None and len(sent.request) <= CALL_BYTES:
            sent.target = target
            if self._quickness.is_quick(target):
                return self._calls.add(sent)
        return self._send((sent,))

    def begin_together(self, calls: Sequence[Call]) -> "Later[list[Any]] | None":
        """The same as `together` without a task; `None` as of `begin`."""
        client, is_sent = CLIENT.get(), False
        if not self._node.takes_batches or not self._places.enter_now(client, known=False):
            return None
        try:
            sent = Sent(calls, _batch(calls), client, self._seconds(len(calls)), is_batch=True)
            is_sent = self._send((sent,))
        finally:
            if not is_sent:
                self._places.leave(client, known=False)
        return sent if is_sent else None

    def _send(self, group: Sequence[Sent]) -> bool:
        """Send the calls of a group in one request; whether there was a connection for it."""
        first, changes = group[0], False
        if len(group) > 1:
            body = b"[%b]" % b",".join((_CHAIN_ID, *map(_numbered, *zip(*_places_of(group).items(), strict=True))))
        elif first.is_batch:
            body, changes = first.request, any_changes(first.calls)
        else:
            body, changes = _WITH_CHAIN_ID % first.request, changes_state(first.calls[0][0])
        connection = self._connections.begin(body, self._arrived, changes=changes)
        if connection is None:
            return False
        self._sent[connection] = group
        end = _end_of(group)
        if self._timer is None or end < self._ends:
            self._look_at(end)
        return True

    def _look_at(self, end: float) -> None:
        """Look then for calls whose time is over, in monotonic time [s]."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(max(end - monotonic(), 0.0), self._end_late)
        self._ends = end

    def _not_sent(self, group: Sequence[Sent]) -> None:
        """Ask each call of a group by itself, in a task."""
        for sent in group:
            sent.settle(self._continued(sent, None))

    def _arrived(self, connection: NodeConnection) -> None:
        """Settle calls that were begun: plain answers here, any other in a task."""
        group = self._sent.pop(connection)
        is_lone = len(group) == 1
        places = {} if is_lone else _places_of(group)
        data = connection.arrived()
        replies = None if data is None else _plain_replies(data, len(group[0].calls) if is_lone else len(places))
        if replies is None:
            self._ended(group, is_well=False)
            if is_lone:
                group[0].settle(self._continued(group[0], connection))
            else:
                connection.abort()
                self._not_sent(group)
            return
        connection.drop()
        self._connections.release(connection)
        for sent in group:
            self._places.leave(sent.client, known=False)
        self._ended(group, is_well=True)
        failure = self._chain_failure(replies[0])
        if is_lone:
            group[0].settle(failure or self._settled(group[0], replies[1:]))
            return
        for sent in group:
            sent.settle(failure or self._settled(sent, (replies[places[sent.request]],)))

    def _ended(self, group: Sequence[Sent], *, is_well: bool) -> None:
        """Note that the calls of a group were answered."""
        last = group[-1]
        if last.target is None:
            self._reads.ended(group, is_well=is_well)
            return
        seconds = (monotonic() - last.began) / len(group) if is_well else math.inf
        for sent in group:
            if sent.target is not None:
                self._quickness.note(sent.target, seconds)
        self._calls.ended(group, is_well=is_well)

    def _chain_failure(self, reply: _Reply) -> Exception | None:
        """Why answers that came with this chain id are not given out; `None` where they are."""
        try:
            self._check_chain(reply)
        except Exception as error:
            if isinstance(error, OtherChain):
                self._failed(error)
            return error
        return None

    def _settled(self, sent: Sent, replies: Sequence[_Reply]) -> Any:
        """The outcome of a call, or those of a batch."""
        try:
            if not sent.is_batch:
                return self._outcome(sent.calls[0][0], replies[0])
            return [
                reply.result
                if reply.error is msgspec.UNSET and reply.result is not msgspec.UNSET
                else self._outcome(method, reply)
                for (method, _), reply in zip(sent.calls, replies, strict=True)
            ]
        except Exception as error:
            return error

    async def _continued(self, sent: Sent, connection: NodeConnection | None) -> Any:
        outcomes = await self._asked(sent.calls, streams=not sent.is_batch, sent=sent, connection=connection)
        return outcomes if sent.is_batch else _raised(outcomes[0])

    def _end_late(self) -> None:
        """Give up the calls whose time is over, and ask those one by one that share a request for too long."""
        now, self._timer = monotonic(), None
        for connection, group in list(self._sent.items()):
            if _end_of(group) > now:
                continue
            del self._sent[connection]
            connection.abort()
            self._ended(group, is_well=False)
            if group[0].deadline > now:
                self._not_sent(group)
                continue
            for sent in group:
                self._places.leave(sent.client, known=False)
                sent.settle(UpstreamError(_no_answer(sent.seconds)))
        if self._sent:
            self._look_at(min(map(_end_of, self._sent.values())))

    async def call(self, method: str, params: Sequence[Any]) -> msgspec.Raw | Streamed:
        """The result of one call, in the node's bytes.

        Raises `feemodel.io.node.NodeError` with the node's error, `UpstreamError` where there is no answer.
        """
        (outcome,) = await self._asked([(method, params)], streams=True)
        return _raised(outcome)

    async def together(self, calls: Sequence[Call]) -> list[Any]:
        """The results of calls sent in one request, with an exception for each that failed."""
        return await self._asked(calls, streams=False)

    def close(self) -> None:
        """Close the connections."""
        if self._timer is not None:
            self._timer.cancel()
        self._reads.close()
        self._calls.close()
        self._connections.close()

    def _seconds(self, calls: int) -> float:
        """For so many calls of a batch [s]."""
        return min(self._node.timeout * calls, max(BATCH_SECONDS, self._node.timeout))

    async def _asked(
        self, calls: Sequence[Call], *, streams: bool, sent: Sent | None = None,
        connection: NodeConnection | None = None,
    ) -> list[Any]:  # fmt: skip
        """Ask in a task; `sent` has begun already, and holds a place, `connection` is where it was sent."""
        seconds = self._seconds(len(calls)) if sent is None else sent.seconds
        try:
            async with asyncio.timeout(seconds if sent is None else sent.deadline - monotonic()):
                return await self._asked_in_place(calls, seconds, streams=streams, sent=sent, connection=connection)
        except TimeoutError:
            raise UpstreamError(_no_answer(seconds)) from None
        except OtherChain as error:
            self._failed(error)
            raise

    async def _asked_in_place(
        self, calls: Sequence[Call], seconds: float, *, streams: bool, sent: Sent | None,
        connection: NodeConnection | None,
    ) -> list[Any]:  # fmt: skip
        """Ask while a place is held; a result that is still arriving keeps it."""
        client = CLIENT.get() if sent is None else sent.client
        leave = partial(self._places.leave, client, known=False)
        if sent is None:
            await self._places.enter(client, known=False, seconds=seconds)
        try:
            outcomes = await self._attempted(calls, streams=streams, begun=connection)
        except BaseException:
            leave()
            raise
        if isinstance(outcomes[0], NodeStream):
            outcomes[0].leave = leave
        else:
            leave()
        return outcomes

    async def _attempted(self, calls: Sequence[Call], *, streams: bool, begun: NodeConnection | None) -> list[Any]:
        changes = any_changes(calls)
        for attempt in range(2):
            try:
                first = begun if attempt == 0 else None
                return await self._exchanged(calls, streams=streams, changes=changes, begun=first)
            except ConnectionFailed as error:
                failure = (UpstreamError if error.received else NotSent)(f"the node: {error}")
                again = TryAgain(failure, received=error.received)
            except TryAgain as error:
                again = error
            if attempt or (changes and again.received):
                break
            await asyncio.sleep(RETRY_SECONDS * random.uniform(0.5, 1.0))
        raise again.error from None

    async def _exchanged(
        self, calls: Sequence[Call], *, streams: bool, changes: bool, begun: NodeConnection | None
    ) -> list[Any]:
        if self._node.takes_batches or begun is not None:
            try:
                connection = await self._connections.post(_batch(calls), changes=changes, begun=begun)
                return await self._batched(calls, connection, streams=streams)
            except BatchRefused as error:
                if changes:  # the node may have acted on a part of it
                    raise error.error from None
        outcomes = [await self._single(call, streams=streams) for call in calls]
        self._node.takes_batches = False  # now that its calls are answered
        return outcomes

    async def _batched(self, calls: Sequence[Call], connection: NodeConnection, *, streams: bool) -> list[Any]:
        read = await self._read(connection, _BATCH if streams else None)
        if isinstance(read, NodeStream):
            return [read]
        replies = self._replies(connection, read, is_batch=True)
        if not isinstance(replies, list):
            if replies.error is not msgspec.UNSET:
                raise BatchRefused(self._error("batch", replies.error))
            raise BatchRefused(UpstreamError("the node: the answer to a batch is not a list"))
        by_id = {reply.id: reply for reply in replies if type(reply.id) is int}
        if len(replies) != len(calls) + 1 or by_id.keys() != set(range(len(calls) + 1)):
            for reply in replies:  # an error whose id is null says more than the count
                if reply.id is None and reply.error is not msgspec.UNSET:
                    raise BatchRefused(self._error("batch", reply.error))
            raise UpstreamError(f"the node: the answers to a batch do not have the ids of its {len(calls)} calls")
        self._check_chain(by_id[0])
        return [self._outcome(method, by_id[place]) for place, (method, _) in enumerate(calls, 1)]

    async def _single(self, call: Call, *, streams: bool) -> "msgspec.Raw | Exception | NodeStream":
        """The outcome of a call of a node without batches, behind the chain id on the same connection."""
        body = _numbered(_request(*call), 1)
        connection = await self._connections.post(_CHAIN_ID)
        self._check_chain(self._reply(connection, await self._read(connection, None), identity=0))
        connection = await self._connections.post(body, changes=changes_state(call[0]))
        read = await self._read(connection, _SINGLE if streams else None)
        if isinstance(read, NodeStream):
            return read
        return self._outcome(call[0], self._reply(connection, read, identity=1))

    async def _read(self, connection: NodeConnection, begins: "re.Pattern[bytes] | None") -> "bytes | NodeStream":
        """The answer as a whole, or a long one as a stream where it begins as expected."""
        data = bytearray()
        try:
            while piece := await connection.piece():
                data += piece
                self._held += len(piece)
                if begins is not None and len(data) > STREAMED_FROM:
                    found = begins.match(data) if connection.status == HTTPStatus.OK else None
                    if found is not None:
                        if begins is _BATCH:
                            self._chain.check(found[1][1:-1].decode())
                        return NodeStream(bytes(data[found.end() :]), connection, self._connections, begins is _BATCH)
                    begins = None
                if len(data) > MAX_RESPONSE:
                    raise UpstreamError(f"the node: the answer is longer than {MAX_RESPONSE:,} bytes")
                if self._held > HELD_BYTES:
                    raise LimitExceeded(f"answers of the node under way: at most {HELD_BYTES:,} bytes")
        except BaseException:
            connection.abort()
            raise
        finally:
            self._held -= len(data)
        self._connections.release(connection)
        return bytes(data)

    def _check_chain(self, reply: _Reply) -> None:
        if reply.error is msgspec.UNSET and self._chain.refusal is None and reply.result == self._chain_id:
            return
        outcome = self._outcome("eth_chainId", reply)
        if isinstance(outcome, Exception):
            raise UpstreamError(f"the node: {outcome}")
        self._chain.check(json.loads(bytes(outcome)))
        self._chain_id = msgspec.Raw(bytes(outcome))

    def _reply(self, connection: NodeConnection, data: "bytes | NodeStream", *, identity: int) -> _Reply:
        assert isinstance(data, bytes)
        reply = self._replies(connection, data, is_batch=False)
        if isinstance(reply, list):
            raise UpstreamError("the node: the answer is not a JSON-RPC response")
        if reply.id is None and reply.error is not msgspec.UNSET:
            return reply  # a node that could not read the request
        if type(reply.id) is not int or reply.id != identity:
            raise UpstreamError(f"the node: the answer is to request {reply.id!r:.100}, asked was {identity}")
        return reply

    def _replies(self, connection: NodeConnection, data: bytes, *, is_batch: bool) -> list[_Reply] | _Reply:
        """The parsed answer; raises `TryAgain` and `UpstreamError` for what is none."""
        status = connection.status
        reason = f"HTTP {status} {responses.get(status, '')}".rstrip()
        if status in RETRIED_STATUSES:
            error = UpstreamError(f"the node: {reason}")
            raise TryAgain(error, received=status != HTTPStatus.TOO_MANY_REQUESTS)
        replies: list[_Reply] | _Reply | None = None
        try:
            if connection.encoding in ("", "identity") and (data.isascii() or data.decode()):
                replies = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
        is_error = isinstance(replies, _Reply) and replies.error is not msgspec.UNSET
        if replies is not None and (status == HTTPStatus.OK or is_error):
            return replies
        if status == HTTPStatus.OK:
            kind = self._node.anonymous(connection.content_type[:100]) or "no content type"
            reason = f"the answer is not JSON-RPC ({len(data):,} bytes, {kind})"
        failure = UpstreamError(f"the node: {reason}")
        raise BatchRefused(failure) if is_batch else failure

    def _outcome(self, method: str, reply: _Reply) -> "msgspec.Raw | Exception":
        """The result in the node's bytes, or its error."""
        error, result = reply.error, reply.result
        if error is not msgspec.UNSET and bytes(error) != b"null":
            return self._error(method, error)
        if result is msgspec.UNSET:
            return UpstreamError(f"the node: {method}: the answer has neither result nor error")
        return result

    def _error(self, method: str, error: "msgspec.Raw | msgspec.UnsetType") -> UpstreamError:
        text = b"" if isinstance(error, msgspec.UnsetType) else bytes(error)
        if len(text) > ERROR_BYTES:
            return UpstreamError(f"the node: {method}: an error of {len(text):,} bytes")
        failure = self._node.error_of(method, json.loads(text))
        return failure if isinstance(failure, NodeError) else UpstreamError(self._node.anonymous(str(failure)))


def any_changes(calls: Sequence[Call]) -> bool:
    """Whether asking these calls twice may not be the same as asking them once."""
    return any(changes_state(method) for method, _ in calls)


def _places_of(group: Sequence[Sent]) -> dict[bytes, int]:
    """The requests of calls that share one, each once, and their places in it, behind the chain id."""
    places: dict[bytes, int] = {}
    for sent in group:
        places.setdefault(sent.request, len(places) + 1)
    return places


def _end_of(group: Sequence[Sent]) -> float:
    """When a group is not waited for any longer, in monotonic time [s]; calls that share a request may be slow."""
    are_calls = len(group) > 1 and group[0].target is not None
    return group[-1].began + SHARED_SECONDS if are_calls else group[0].deadline


def _plain_replies(data: bytes, count: int) -> list[_Reply] | None:
    """The chain id and the answers to so many calls; `None` for anything else."""
    try:
        replies = _decode(data) if data.isascii() or data.decode() else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(replies, list) or len(replies) != count + 1:
        return None
    for place, reply in enumerate(replies):
        if type(reply.id) is not int or reply.id != place:
            return None
    return replies


def _request(method: str, params: Sequence[Any]) -> bytes:
    """The bytes of a request behind its id."""
    return _encoded({"method": method, "params": params})[1:]


def _numbered(request: bytes, place: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,%b' % (place, request)


def _batch(calls: Sequence[Call]) -> bytes:
    """A request for the chain id and for these, whose ids are their places."""
    return _encoded([_ASK_CHAIN_ID, *[_Ask(place, *call) for place, call in enumerate(calls, 1)]])


def _encoded(asked: Any) -> bytes:
    try:
        return _encode(asked)
    except (OverflowError, TypeError, ValueError):
        raise InvalidInput("params", "expected JSON whose integers fit 64 bits", "others") from None


def _raised(outcome: Any) -> "msgspec.Raw | Streamed":
    if isinstance(outcome, Exception):
        raise outcome
    found: msgspec.Raw | Streamed = outcome
    return found


def _no_answer(seconds: float) -> str:
    return f"the node: no answer in {seconds:g} s"


class NodeStream(Streamed):
    """The result of a call that is still arriving.

    Parameters
    ----------
    first : what has come of it.
    connection : on which the rest comes.
    connections : to which that belongs.
    is_batch : whether the response is the last of a batch.
    """

    def __init__(self, first: bytes, connection: NodeConnection, connections: NodeConnections, is_batch: bool) -> None:
        self._first, self._connection, self._connections, self._is_batch = first, connection, connections, is_batch
        self.leave: Callable[[], None] | None = None  #: gives back a place among the calls to the node

    async def pieces(self) -> AsyncIterator[bytes]:
        """The result and the end of the response object, as they come; raises `UpstreamError` where they break off."""
        tail, end = b"", asyncio.get_running_loop().time() + STREAM_SECONDS
        piece, self._first = self._first, b""
        while piece:
            tail += piece
            if len(tail) > TAIL:
                yield tail[:-TAIL]
                tail = tail[-TAIL:]
            try:
                async with asyncio.timeout_at(end):
                    piece = await self._connection.piece()
            except ConnectionFailed as error:
                raise UpstreamError(f"the node: {error}") from None
            except TimeoutError:
                raise UpstreamError(f"the node: no whole answer in {STREAM_SECONDS:g} s") from None
        tail = tail.rstrip()
        if self._is_batch:
            if not tail.endswith(b"]"):
                raise UpstreamError("the node: the answer does not end")
            tail = tail[:-1].rstrip()
        if not tail.endswith(b"}"):
            raise UpstreamError("the node: the answer does not end")
        yield tail

    async def close(self) -> None:
        """Give the connection back, or close it where the answer was not read as a whole."""
        self._connections.release(self._connection)
        if self.leave is not None:
            self.leave()
            self.leave = None
