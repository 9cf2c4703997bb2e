"""A JSON-RPC node on 127.0.0.1 that serves a small chain, and misbehaves on demand."""

import gzip
import hashlib
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HEAD = 400

Fault = Callable[["Handler", Any], None]


def block_hash(number: int) -> str:
    return "0x" + hashlib.sha256(b"block %d" % number).hexdigest()


def header(number: int) -> dict[str, Any]:
    """A block as `eth_getBlockByNumber` gives it, its transactions as hashes."""
    return {
        "number": hex(number),
        "hash": block_hash(number),
        "parentHash": block_hash(number - 1),
        "timestamp": hex(1_700_000_000 + 12 * number),
        "gasUsed": hex(21_000 * (number % 3)),
        "gasLimit": hex(30_000_000),
        "baseFeePerGas": hex(7 + number),
        "blobGasUsed": hex(131_072 * (number % 4)),
        "excessBlobGas": hex(number),
        "extraData": "0x" + f"{number:08x}",
        "size": "0x27b",
        "transactions": [block_hash(-index - 1) for index in range(number % 3)],
        "logsBloom": "0x" + "00" * 256,
    }


def fee_history(count: int, newest: int, percentiles: list[float]) -> dict[str, Any]:
    """The fee history of blocks as `eth_feeHistory` answers it; a block with gas pays 1,000 wei times its number."""
    blocks = range(newest - count + 1, newest + 1)
    return {
        "oldestBlock": hex(blocks.start),
        "baseFeePerGas": [hex(7 + number) for number in range(blocks.start, blocks.stop + 1)],
        "gasUsedRatio": [21_000 * (number % 3) / 30_000_000 for number in blocks],
        "baseFeePerBlobGas": [hex(1 + number) for number in range(blocks.start, blocks.stop + 1)],
        "blobGasUsedRatio": [0.5] * count,
        "reward": [[hex(1_000 * number if number % 3 else 0) for _ in percentiles] for number in blocks],
    }


def answer(method: str, params: list[Any]) -> dict[str, Any]:
    match method:
        case "eth_blockNumber":
            return {"result": hex(HEAD)}
        case "eth_getBlockByNumber":
            number = int(params[0], 16)
            return {"result": header(number) if number <= HEAD else None}
        case "eth_feeHistory":
            return {"result": fee_history(int(params[0], 16), int(params[1], 16), params[2])}
        case "eth_call":
            return {"error": {"code": 3, "message": "execution reverted: no", "data": "0x08c379a0"}}
        case "echo":
            return {"result": params}
        case _:
            return {"error": {"code": -32601, "message": f"the method {method} does not exist"}}


def replies(payload: Any) -> Any:
    """The whole answer to a request or batch; the answers to a batch in reverse order, as the specification allows."""
    if isinstance(payload, list):
        return [replies(call) for call in reversed(payload)]
    return {"jsonrpc": "2.0", "id": payload["id"], **answer(payload["method"], payload["params"])}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes
    server: "NodeServer"

    def do_POST(self) -> None:
        payload = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, payload))
        with self.server.lock:
            fault = self.server.faults.popleft() if self.server.faults else self.server.always
        (fault or answered)(self, payload)

    def send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content_length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class NodeServer(ThreadingHTTPServer):
    daemon_threads = False  # joined at the end, so that no socket is left open
    request_queue_size = 128  # connections that may wait; a client tries again only after a second

    def __init__(self, port: int = 0) -> None:
        self._accepted: list[socket.socket] = []
        super().__init__(("127.0.0.1", port), Handler)
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.faults: deque[Fault | None] = deque()  #: for the requests that come next, one each
        self.always: Fault | None = None  #: for all that come after
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept the next connection."""
        connection, address = super().get_request()
        self._accepted.append(connection)
        return connection, address

    def hang_up(self) -> None:
        """End all connections."""
        for connection in self._accepted:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is part of the tests."""

    @property
    def methods(self) -> list[str]:
        return [
            call["method"]
            for _, _, payload in self.requests
            for call in (payload if isinstance(payload, list) else [payload])
        ]


@contextmanager
def running(port: int = 0) -> Iterator[NodeServer]:
    server = NodeServer(port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.hang_up()
        server.shutdown()
        thread.join()
        server.server_close()


def answered(handler: Handler, payload: Any) -> None:
    handler.send(200, json.dumps(replies(payload)).encode(), content_type="application/json")


def results(**known: Any) -> Fault:
    """These results or errors by method, or what a function makes of the parameters; other methods do not exist."""

    def answered_one(call: Any) -> Any:
        method, params = call["method"], call["params"]
        found = known[method](params) if callable(known.get(method)) else known.get(method)
        kind = "error" if isinstance(found, dict) and "code" in found else "result"
        return {"jsonrpc": "2.0", "id": call["id"], **({kind: found} if method in known else answer("", []))}

    def send(handler: Handler, payload: Any) -> None:
        answers = [answered_one(call) for call in payload] if isinstance(payload, list) else answered_one(payload)
        handler.send(200, json.dumps(answers).encode())

    return send


def zipped(handler: Handler, payload: Any) -> None:
    handler.send(200, gzip.compress(json.dumps(replies(payload)).encode()), content_encoding="gzip")


def status(code: int, body: bytes = b"<html>no</html>", **headers: str) -> Fault:
    return lambda handler, _: handler.send(code, body, **headers)


def edited(change: Callable[[Any], Any]) -> Fault:
    """The right answer, changed."""
    return lambda handler, payload: handler.send(200, json.dumps(change(replies(payload))).encode())


def rpc_error(code: int, message: str = "no") -> Fault:
    """The same JSON-RPC error for every call."""

    def send(handler: Handler, payload: Any) -> None:
        calls = payload if isinstance(payload, list) else [payload]
        errors = [{"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}} for call in calls]
        handler.send(200, json.dumps(errors if isinstance(payload, list) else errors[0]).encode())

    return send


def truncated(handler: Handler, payload: Any) -> None:
    """Half of the answer, then the end of the connection."""
    data = json.dumps(replies(payload)).encode()
    handler.send(200, data[: len(data) // 2], content_length=str(len(data)))
    handler.close_connection = True


def reset(handler: Handler, _: Any) -> None:
    """The connection torn down without an answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def silent(handler: Handler, _: Any) -> None:
    """No answer, until the server stops."""
    handler.server.stopping.wait()
    handler.close_connection = True


def dripping_head(handler: Handler, _: Any) -> None:
    """The head of an answer that never ends, a byte at a time, each within the time-out."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-name: ")
    while not handler.server.stopping.wait(0.05):
        handler.wfile.write(b"x")
    handler.close_connection = True


def dripping(handler: Handler, _: Any) -> None:
    """An answer that never ends, a byte at a time, each within the time-out."""
    handler.send(200, b"", content_length="1000000")
    while not handler.server.stopping.wait(0.05):
        handler.wfile.write(b" ")
    handler.close_connection = True
