"""What any answer to a body must look like, by JSON-RPC 2.0 and this server's documentation."""

import json
from itertools import accumulate
from types import NoneType
from typing import Any

import msgspec

from feemodel.server.dispatch import BATCH_CALLS
from tests.fuzz.target import check, check_equal

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
EXECUTION = {3, -32000, -32004, -32005}  # reverted, a node's words, upfront cost, a limit
DOCUMENTED = {PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, *EXECUTION}
UNREADABLE, TOO_DEEP = object(), object()
_STEPS = [(byte in b"[{") - (byte in b"]}") for byte in range(256)]
SURE_DEPTH = 900  # of nesting that every reader here takes, under the interpreter's recursion limit


def check_answer(body: bytes, answer: bytes | None) -> None:
    """Raise `Violation` unless the answer is what a server may send for that body.

    An internal error (-32603) is none: it stands for an exception that nobody foresaw.
    """
    request = _read(body)
    if request is TOO_DEEP:
        _check_some_response(answer)
        return
    if isinstance(request, list) and 0 < len(request) <= BATCH_CALLS:
        due = [call for call in request if not _is_notification(call)]
        check_equal(bool(due), answer is not None, "whether there is an answer")
        responses = _strict(answer) if answer is not None else []
        check(isinstance(responses, list), "a batch is answered by a list")
        check_equal(len(due), len(responses), "answers of a batch")
        for call, response in zip(due, responses, strict=True):
            _check_response(call, response)
        return
    if _is_notification(request):
        check_equal(None, answer, "the answer to a notification")
        return
    check(answer is not None, "a request without an answer")
    response = _strict(answer or b"")
    _check_response(request, response)
    if request is UNREADABLE or isinstance(request, list):
        code = PARSE_ERROR if request is UNREADABLE else INVALID_REQUEST
        check_equal(code, response["error"]["code"], "the code")


def _read(body: bytes) -> Any:
    if _depth(body) > SURE_DEPTH:  # whether the server reads it depends on how high on the stack it stands
        return TOO_DEEP
    try:
        request = msgspec.json.decode(body)
        json.loads(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return UNREADABLE
    except ValueError:  # an integer of thousands of digits, which some readers take
        return TOO_DEEP
    return request


def _depth(body: bytes) -> int:
    """How deep lists and objects stand in each other, at most; brackets in texts count too."""
    if body.count(b"[") + body.count(b"{") <= SURE_DEPTH:
        return 0
    return max(accumulate(map(_STEPS.__getitem__, body)))


def _check_some_response(answer: bytes | None) -> None:
    """Of a request that is nested too deep to be read here."""
    responses = [] if answer is None else _strict(answer)
    for response in responses if isinstance(responses, list) else [responses]:
        check_equal("2.0", response.get("jsonrpc"), "the version")
        check(("result" in response) != ("error" in response), f"a response: {response!r:.200}")
        check("error" not in response or response["error"]["code"] in DOCUMENTED, f"the error {response!r:.500}")


def _strict(answer: bytes) -> Any:
    """The JSON of an answer, read by another parser than wrote it."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    return json.loads(answer, parse_constant=refuse)


def _is_request(call: Any) -> bool:
    if not isinstance(call, dict) or call.get("jsonrpc") != "2.0" or not isinstance(call.get("method"), str):
        return False
    identity = call.get("id")
    fits = identity is None or type(identity) in (str, int, float)
    return fits and isinstance(call.get("params"), (list, dict, NoneType))


def _is_notification(call: Any) -> bool:
    return _is_request(call) and "id" not in call


def _check_response(call: Any, response: Any) -> None:
    check(isinstance(response, dict), f"a response is an object, not {response!r:.100}")
    check_equal("2.0", response.get("jsonrpc"), "the version")
    check("id" in response, "a response without an id")
    expected = call.get("id") if _is_request(call) else None
    check_equal((type(expected), expected), (type(response["id"]), response["id"]), "the id")
    if "error" not in response:
        check_equal({"jsonrpc", "id", "result"}, set(response), "the names of a response")
        check(_is_request(call), "a result of what is no request")
        return
    check_equal({"jsonrpc", "id", "error"}, set(response), "the names of an error response")
    error = response["error"]
    check(isinstance(error, dict) and set(error) - {"data"} == {"code", "message"}, f"an error object: {error!r:.200}")
    check(isinstance(error["message"], str) and bool(error["message"]), "an error without a message")
    check(error["code"] in DOCUMENTED, f"the error {error!r:.500}")
    if not _is_request(call):
        check(error["code"] in (INVALID_REQUEST, PARSE_ERROR), f"the code of what is no request: {error!r:.200}")
