"""A hundred thousand bad requests: each gets a documented answer, none an internal error, and memory does not grow.

The real application and the real methods, in process. Every request is made of a good one by one kind of damage; the
damages come in turn, the rest is drawn with a seed.
"""

import asyncio
import ctypes
import gc
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from feemodel.rpc.app import App
from feemodel.rpc.service import Service
from tests.fuzz.answers import check_answer
from tests.fuzz.methods import real_service
from tests.fuzz.rpc_bodies import ADDRESS, CALL, PARAMS
from tests.rpc_parts import JSON, Answer, exchange, respond

REQUESTS = 100_000
HTTP_ERRORS = {403, 404, 405, 415}  # beside 200 and 204
KNOWN_METHODS = {*PARAMS, "unknown", ""}

#: The second half of the requests comes in parts. What each may leave behind, when every cache is full: a small object
#: for every fifty of its requests, or a hundred bytes of anything for each, would be more.
PARTS = 5
BLOCKS = REQUESTS // 2 // PARTS // 50
BYTES = REQUESTS // 2 // PARTS * 100

WRONG = [
    None, True, 0, -1, 1, 1.5, 10**30, "", "0x", "0x0", "0x00", "0xg", "latest", "0x" + "11" * 20, "0x" + "ff" * 32,
    "0x" + "f" * 5_000, "é", [], {}, [[]], [{}], {"": 0}, ["0x1"] * 9, {"0x" + "11" * 20: 1},
    {"0x" + "11" * 20: {"stateDiff": {"0x0": "0x1"}}}, {"blockHash": "0x1"}, {"from": 1}, {"to": ["0x"]},
    {**CALL, "gas": -1}, {**CALL, "value": "0x" + "f" * 65}, {**CALL, "data": "0x0"}, {**CALL, "accessList": [1]},
    {**CALL, "gas": ["a" * 500, *[""] * 500]}, {"compressedSize": -1}, {"compressedSize": 1e400, "gas": "0x1"},
]  # fmt: skip
IDS: list[Any] = [None, 0, 1, -1, "a", 1.5, True, [], {}, 2**63, 2**64, -(2**63) - 1]
NUMBERS = ["1" + "0" * 400, "9" * 4_300, "9" * 4_301, "1e400", "-1e400", "1e-400", "NaN", "-Infinity", "01", "0x1"]


class Request(NamedTuple):
    """One request, and the status that it must get; `None` for JSON-RPC's 200 or 204."""

    body: bytes
    status: int | None = None
    method: str = "POST"
    path: str = "/"
    headers: dict[str, str] = JSON


def body_of(method: str, params: Any, identity: Any = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()


WITH_FIELDS = [name for name in sorted(PARAMS) if any(isinstance(value, dict) for value in PARAMS[name])]


def good(rng: Random) -> bytes:
    method = rng.choice(METHODS)
    return body_of(method, PARAMS[method])


# Those that take long when a damage leaves them good are damaged in their parameters only.
SLOW = {
    "feemodel_compare", "feemodel_explain", "feemodel_curve", "feemodel_film", "feemodel_history", "feemodel_presets",
    "eth_estimateGas", "rollup_estimateGas", "linea_estimateGas", "rollup_getProof", "linea_getProof",
}  # fmt: skip
METHODS = sorted(PARAMS.keys() - SLOW)


def truncated(rng: Random) -> Request:
    body = good(rng)
    return Request(body[: rng.randrange(len(body))])


def wrong_parameter(rng: Random) -> Request:
    """Of every method, in every place."""
    method = rng.choice(sorted(PARAMS))
    params = list(PARAMS[method]) or [None]
    params[rng.randrange(len(params))] = rng.choice(WRONG)
    return Request(body_of(method, params))


def wrong_field(rng: Random) -> Request:
    """A field of an object among the parameters."""
    method = rng.choice(WITH_FIELDS)
    params = [dict(value) if isinstance(value, dict) else value for value in PARAMS[method]]
    fields = rng.choice([value for value in params if isinstance(value, dict)])
    fields[rng.choice([*fields, "gas", "nonce", "value"])] = rng.choice(WRONG)
    return Request(body_of(method, params))


def wrong_number_of_parameters(rng: Random) -> Request:
    method = rng.choice(METHODS)
    params = [*PARAMS[method], *[rng.choice(WRONG)] * 5][: rng.choice([0, 1, 2, 3, 9])]
    named = {rng.choice(["call", "block", "address", "point", "", "self", "x"]): value for value in params}
    return Request(body_of(method, rng.choice([params, named])))


def deep(rng: Random) -> Request:
    open_, close = rng.choice([("[", "]"), ('{"a":', "}")])
    depth = rng.choice([rng.randrange(2, 100), rng.randrange(2, 100), rng.randrange(900, 1_010)])
    nested = open_ * depth + "0" + close * depth * rng.choice([0, 1, 1])
    if rng.random() < 0.2:
        return Request(nested.encode())
    method = rng.choice(sorted(PARAMS))
    return Request(f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[{nested}]}}'.encode())


def huge_number(rng: Random) -> Request:
    number = rng.choice(NUMBERS)
    method, place = rng.choice(sorted(PARAMS)), rng.choice(["id", "params"])
    fields = {"id": number if place == "id" else "1", "params": f"[{number}]" if place == "params" else "[]"}
    return Request(f'{{"jsonrpc":"2.0","method":"{method}",{_fields(fields)}}}'.encode())


def _fields(fields: dict[str, str]) -> str:
    return ",".join(f'"{name}":{value}' for name, value in fields.items())


def name_twice(rng: Random) -> Request:
    body = good(rng)
    name, value = rng.choice(["id", "method", "jsonrpc", "params"]), rng.choice(WRONG)
    return Request(b"{" + json.dumps(name).encode() + b":" + json.dumps(value).encode() + b"," + body[1:])


def not_utf_8(rng: Random) -> Request:
    body = bytearray(good(rng))
    place = rng.randrange(len(body))
    body[place:place] = rng.choice(
        [b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\x00", b"\xf5\x80", b'"\\ud800"', b"\xef\xbb\xbf"]
    )
    return Request(bytes(body))


def changed_bytes(rng: Random) -> Request:
    body = bytearray(good(rng))
    for _ in range(rng.choice([1, 2, 9])):
        body[rng.randrange(len(body))] = rng.randrange(256)
    return Request(bytes(body))


def wrong_envelope(rng: Random) -> Request:
    method = rng.choice(METHODS)
    fields: dict[str, Any] = {"jsonrpc": "2.0", "id": rng.choice(IDS), "method": method, "params": []}
    name = rng.choice(list(fields))
    fields[name] = rng.choice(WRONG if name != "id" else IDS)
    if rng.random() < 0.2:
        del fields[rng.choice(list(fields))]
    return Request(json.dumps(fields).encode())


def wrong_batch(rng: Random) -> Request:
    calls = [wrong_envelope(rng).body.decode() for _ in range(rng.choice([0, 1, 2, 3, 101]))]
    calls += rng.choice([[], [], ["1"], ["null"], ["[]"]])
    return Request(("[" + ",".join(calls) + "]").encode())


def unknown_method(rng: Random) -> Request:
    name = rng.choice(["eth_sendTransaction", "debug_traceCall", "", "__class__", "rollup_getproof", "x" * 5_000])
    return Request(body_of(f"{name}{rng.choice(['', rng.randrange(10**9)])}", rng.choice([[], {}, [ADDRESS]])))


def random_bytes(rng: Random) -> Request:
    return Request(rng.randbytes(rng.randrange(200)))


def wrong_http(rng: Random) -> Request:
    body = good(rng)
    return rng.choice([
        Request(body, 415, headers=JSON | {"content-type": rng.choice(["", "text/plain", "application/x", "é"])}),
        Request(body, 415, headers={"host": "localhost"}),
        Request(body, 415, headers=JSON | {"content-encoding": rng.choice(["gzip", "br", "", "identity, gzip"])}),
        Request(body, 403, headers=JSON | {"host": rng.choice(["", "evil.example", "localhost.evil.example", "[::2"])}),
        Request(body, 404, path=rng.choice(["/x", "//", "/openrpc", "/../", "/v4", "/é", "/\x00"])),
        Request(body, 405, method=rng.choice(["PUT", "DELETE", "OPTIONS", "PATCH", "", "é"])),
    ])  # fmt: skip


DAMAGES: list[Callable[[Random], Request]] = [
    truncated, wrong_parameter, wrong_field, wrong_number_of_parameters, deep, huge_number, name_twice, not_utf_8,
    changed_bytes, wrong_envelope, wrong_batch, unknown_method, random_bytes, wrong_http,
]  # fmt: skip


def requests(seed: int, count: int) -> Iterator[Request]:
    rng = Random(seed)
    for number in range(count):
        yield DAMAGES[number % len(DAMAGES)](rng)


def check(asked: Request, answer: Answer) -> None:
    """Every answer is the one that the documentation promises."""
    if asked.status is not None:
        assert answer.status == asked.status, asked
        assert answer.status in HTTP_ERRORS
        assert set(json.loads(answer.body)) == {"error"}
        return
    assert answer.status in (200, 204), asked
    check_answer(asked.body, answer.body if answer.status == 200 else None)


async def send(app: App, asked: Request) -> Answer:
    return await exchange(app, asked.method, asked.path, asked.body, asked.headers)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[asyncio.AbstractEventLoop, Service]]:
    loop = asyncio.new_event_loop()
    with real_service(loop) as service:
        yield loop, service
    loop.close()


def test_every_method_is_asked(server):
    _, service = server
    assert set(PARAMS) == set(service.answered)


@pytest.mark.parametrize("method", sorted(PARAMS))
def test_the_good_requests_that_bad_ones_are_made_of_are_good(server, method):
    loop, service = server
    response = loop.run_until_complete(respond(body_of(method, PARAMS[method]), service.methods))
    assert "result" in json.loads(response or b"")


def test_a_hundred_thousand_bad_requests(server):
    loop, service = server
    codes: Counter[tuple[str, int]] = Counter()

    async def answer_all(seed: int, count: int, methods: Mapping[str, Any]) -> None:
        app = App(methods, state=service, observe=lambda name, code, _: codes.update([(name, code)]))
        for asked in requests(seed, count):
            check(asked, await send(app, asked))

    loop.run_until_complete(answer_all(1, REQUESTS // 2, service.methods))
    # A film is kept, a bounded number of them, and takes some 20 MiB while it is computed: memory is measured without.
    without_films = {name: method for name, method in service.methods.items() if name != "feemodel_film"}
    memory = [held()]
    for part in range(PARTS):
        loop.run_until_complete(answer_all(2 + part, REQUESTS // 2 // PARTS, without_films))
        memory.append(held())
    # What is leaked is leaked in every part; an allocator that moves its limits does so in one.
    blocks, resident = (sorted(after[i] - before[i] for before, after in pairwise(memory)) for i in (0, 1))
    assert blocks[PARTS // 2] < BLOCKS, memory
    assert resident[PARTS // 2] < BYTES, memory
    assert {name for name, _ in codes} <= KNOWN_METHODS
    assert {code for _, code in codes} >= {0, -32700, -32600, -32601, -32602}


@pytest.mark.parametrize("method", sorted(PARAMS))
def test_no_depth_of_nesting_is_an_internal_error(server, method):
    """Just below the recursion limit a parameter can be read, and no longer shown in the words of an error."""
    loop, service = server
    for open_, close in (("[", "]"), ('{"a":', "}")):
        for depth in range(850, 1_000):
            nested = open_ * depth + "0" + close * depth
            body = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[{nested}]}}'.encode()
            check_answer(body, loop.run_until_complete(respond(body, service.methods)))


def held() -> tuple[int, int]:
    """Small objects of the interpreter, and the memory of the process [byte], 0 where the system does not tell it."""
    gc.collect()
    if sys.platform == "linux":
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)  # what is free and not yet given back is no leak
    pages = Path("/proc/self/statm")
    resident = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if pages.exists() else 0
    return sys.getallocatedblocks(), resident
