"""What any answer to a body must look like, by JSON-RPC 2.0 and this server's documentation."""

import json
from itertools import accumulate
from types import NoneType
from typing import Any

import msgspec

from feemodel.server.dispatch import BATCH_CALLS

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
EXECUTION = {3, -32000, -32004, -32005}  # reverted, a node's words, upfront cost, a limit
DOCUMENTED = {PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, *EXECUTION}
UNREADABLE, UNSURE = object(), object()
SURE_DEPTH = 900  # of nesting that every reader here takes, under the interpreter's recursion limit


def check_answer(body: bytes, answer: bytes | None) -> None:
    """Fail unless the answer is what a server may send for that body.

    An internal error (-32603) is none: it stands for an exception that nobody foresaw.
    """
    request = _read(body)
    found = None if answer is None else json.loads(answer, parse_constant=_refuse)
    if request is UNSURE:
        for response in found if isinstance(found, list) else [found or {"jsonrpc": "2.0", "result": None}]:
            assert response["jsonrpc"] == "2.0"
            assert ("result" in response) != ("error" in response)
            assert "error" not in response or response["error"]["code"] in DOCUMENTED
    elif isinstance(request, list) and 0 < len(request) <= BATCH_CALLS:
        due = [call for call in request if not _is_notification(call)]
        assert bool(due) == (answer is not None)
        for call, response in zip(due, found or [], strict=True):
            _check_response(call, response)
    elif _is_notification(request):
        assert answer is None
    else:
        _check_response(request, found)
        if request is UNREADABLE or isinstance(request, list):
            assert found["error"]["code"] == (PARSE_ERROR if request is UNREADABLE else INVALID_REQUEST)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _read(body: bytes) -> Any:
    """The request; `UNSURE` of what some readers take: deep nesting, numbers beyond a double or of many digits."""
    steps = ((byte in b"[{") - (byte in b"]}") for byte in body)  # brackets in texts count too
    if max(accumulate(steps), default=0) > SURE_DEPTH:
        return UNSURE
    try:
        json.loads(body, parse_constant=_refuse)
    except UnicodeDecodeError:
        return UNREADABLE
    except ValueError as error:
        return UNSURE if "digits" in str(error) else UNREADABLE
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return UNSURE


def _is_request(call: Any) -> bool:
    if not isinstance(call, dict) or call.get("jsonrpc") != "2.0" or not isinstance(call.get("method"), str):
        return False
    identity = call.get("id")
    fits = identity is None or type(identity) in (str, int, float)
    return fits and isinstance(call.get("params"), (list, dict, NoneType))


def _is_notification(call: Any) -> bool:
    return _is_request(call) and "id" not in call


def _check_response(call: Any, response: Any) -> None:
    expected = call.get("id") if _is_request(call) else None
    assert response.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"})
    assert response["jsonrpc"] == "2.0"
    assert (type(response["id"]), response["id"]) == (type(expected), expected)
    if "result" in response:
        assert _is_request(call)
        return
    error = response["error"]
    assert error.keys() - {"data"} == {"code", "message"}
    assert isinstance(error["message"], str)
    assert error["message"]
    assert error["code"] in (DOCUMENTED if _is_request(call) else (INVALID_REQUEST, PARSE_ERROR))
