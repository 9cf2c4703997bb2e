"""Bodies of requests, answered by the real methods."""

import asyncio
import atexit
import json
import logging
from contextlib import ExitStack
from functools import cache
from typing import Any, NamedTuple

from feemodel.server.dispatch import Dispatcher
from tests.fuzz.answers import check_answer
from tests.fuzz.methods import real_service
from tests.fuzz.mutators import mutated_json
from tests.fuzz.target import Target

_log = logging.getLogger("feemodel.server.dispatch")

ADDRESS, OTHER = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0x" + "77" * 20
CALL = {"from": ADDRESS, "to": OTHER, "value": "0x1", "data": "0x00ff"}
OVERRIDES = {OTHER: {"code": "0x5f355f5260205ff3", "stateDiff": {"0x" + "00" * 32: "0x" + "01".zfill(64)}}}

#: A call of every method that is answered with a result.
PARAMS: dict[str, list[Any]] = {
    "eth_blockNumber": [],
    "eth_call": [CALL, "latest", OVERRIDES],
    "eth_chainId": [],
    "eth_estimateGas": [CALL, "latest", OVERRIDES],
    "eth_feeHistory": ["0x1", "latest", [10, 50.5]],
    "eth_gasPrice": [],
    "eth_getBalance": [ADDRESS, "latest"],
    "eth_getBlockByNumber": ["latest", False],
    "eth_getCode": [ADDRESS, {"blockNumber": "0x0"}],
    "eth_getTransactionCount": [ADDRESS, "pending"],
    "eth_maxPriorityFeePerGas": [],
    "feemodel_compare": [CALL, {"l1BaseFee": "0x3b9aca00", "blobBaseFee": "0x1"}],
    "feemodel_explain": [CALL],
    "feemodel_fee": [{"compressedSize": 128, "gas": "0x5208"}, "compressedSize", [1, 9]],
    "feemodel_presets": [],
    "feemodel_pricing": [],
    "linea_estimateGas": [CALL, OVERRIDES],
    "linea_getProof": [OTHER, [], "0x0"],
    "eth_accounts": [],
    "net_version": [],
    "rollup_estimateGas": [CALL],
    "rollup_getProof": [ADDRESS, ["0x1", "0x" + "00" * 31 + "02"], "latest"],
    "web3_clientVersion": [],
}


class _Unforeseen(logging.Handler):
    """Keeps what the server's log is told of exceptions that nobody foresaw."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.errors += [record.exc_info[1]] if record.exc_info and record.exc_info[1] else []


class _Server(NamedTuple):
    """What stays open from one input to the next."""

    resources: ExitStack
    loop: asyncio.AbstractEventLoop
    dispatcher: Dispatcher


@cache
def _server() -> _Server:
    resources, loop = ExitStack(), asyncio.new_event_loop()
    resources.callback(loop.close)
    atexit.register(resources.close)
    return _Server(resources, loop, resources.enter_context(real_service(loop)).dispatcher)


def close() -> None:
    """End the server that inputs were sent to; the next one has another."""
    if _server.cache_info().currsize:
        _server().resources.close()
        _server.cache_clear()


def _respond(body: bytes) -> bytes | None:
    """The answer; an exception behind an internal error is raised as it was."""
    server, unforeseen = _server(), _Unforeseen()
    _log.addHandler(unforeseen)
    try:
        answer = server.loop.run_until_complete(server.dispatcher.answer(body))
    finally:
        _log.removeHandler(unforeseen)
    for error in unforeseen.errors:
        raise error
    return answer


def seeds() -> list[bytes]:
    """A call of every method, and the forms that a request may have."""
    calls: list[Any] = [_call(method, params, 1) for method, params in PARAMS.items()]
    named = _call("rollup_getProof", {"address": ADDRESS, "storageKeys": [], "block": "finalized"}, "a")
    notification = {"jsonrpc": "2.0", "method": "rollup_getProof", "params": []}
    listed = [{"address": ADDRESS, "storageKeys": ["0x" + "33" * 32]}, {"address": OTHER, "storageKeys": None}]
    consent = {"chainId": "0x1", "address": OTHER, "nonce": "0x0", "yParity": "0x1", "r": "0x2", "s": "0x3"}
    blobs = {"blobVersionedHashes": ["0x01" + "33" * 31], "maxFeePerBlobGas": "0x1"}
    calls += [
        _call("rollup_estimateGas", [fields, OVERRIDES], 1)
        for fields in (
            CALL | {"gas": "0x5208", "gasPrice": "0x7", "nonce": "0x0", "chainId": "0x539", "accessList": listed},
            CALL | {"input": "0x00ff", "maxFeePerGas": "0x9", "maxPriorityFeePerGas": "0x1"},
            CALL | {"authorizationList": [consent]},
            CALL | blobs,
        )
    ]
    other = [named, notification, _call("nothing", [], None), [*calls[:3], notification, 1], [], [notification], 1.5]
    return [json.dumps(request).encode() for request in (*calls, *other)]


def _call(method: str, params: Any, identity: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


TARGETS = {"rpc": Target(_respond, (), check_answer, seeds, mutated_json)}
