"""What the tests of the protocol server share: requests as bytes, a server whose connections are one's own, answers."""

import asyncio
import json
import socket
import time
from contextlib import ExitStack, contextmanager

from feemodel.rpc.app import Access, App, Page
from feemodel.rpc.protocol import Bounds
from tests.rpc_parts import PATIENCE, listening, request

HEAD = b"Host: localhost\r\nContent-Type: application/json\r\n"
LARGE = 8_000_000  # bytes, more than the buffers of a connection hold
SHORT = 0.2  # seconds that a connection may wait for its client
BODY_LIMIT = 600_000


WAITING = []  # how long each of the calls has meant to wait


async def wait(seconds):
    WAITING.append(seconds)
    await asyncio.sleep(seconds)
    return "waited"


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


METHODS = {"echo": lambda *values: list(values), "wait": wait}


def post(body, more=b""):
    return b"POST / HTTP/1.1\r\n" + HEAD + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


ECHO, LONG_WAIT = post(request("echo", 1)), post(request("wait", 4 * SHORT))


@contextmanager
def serving(*, idle_seconds=PATIENCE, connections=100, requests=256, body_seconds=10.0, page_size=LARGE, **access):
    page = Page(b"x" * page_size, ((b"content-type", b"text/html"),))
    app = App(METHODS, page=page, access=Access(**access))
    bounds = Bounds(connections, requests, idle_seconds, BODY_LIMIT, body_seconds)
    with listening(app, bounds=bounds) as port, connecting(port) as connect:
        yield connect


@contextmanager
def connecting(port):
    """What makes connections and sends their first bytes; all are closed at the end."""
    with ExitStack() as sockets:

        def connect(data=b"", **options):
            connection = sockets.enter_context(socket.socket())
            for name, value in options.items():
                connection.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
            connection.settimeout(PATIENCE)
            connection.connect(("127.0.0.1", port))
            connection.sendall(data)
            return connection

        yield connect


def until_closed(connection):
    """All that comes until the other side closes."""
    received = bytearray()
    while chunk := connection.recv(1 << 16):
        received += chunk
    return bytes(received)


def answer(connection):
    """The next answer: status, headers, body."""
    file = connection.makefile("rb", buffering=0)  # takes no byte of the answer behind this one
    status = file.readline()
    headers = dict(iter(lambda: file.readline().rstrip().partition(b": ")[::2], (b"", b"")))
    length, body = int(headers.get(b"content-length", b"0")), b""
    while len(body) < length:
        body += file.read(length - len(body))
    return int(status.split()[1]), headers, body


def result(connection):
    status, _, body = answer(connection)
    assert status == 200
    return json.loads(body)["result"]
