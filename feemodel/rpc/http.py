"""Reads HTTP/1.1 requests, strictly and within limits.

Bytes go in as they come, one request at a time comes out; what follows it stays unread. The grammar is that of RFC
9112 without what it only tolerates. Lines end in CRLF, no empty line comes before a request, and no line continues
another. A body has one length or is chunked, no field that frames a message comes twice, and targets are paths.
Everything else is `Malformed`, after which a connection cannot be used: where the next request begins is not known.
"""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

HEAD_LIMIT = 1 << 16  # bytes of a request before its body
FIELD_LIMIT = 100  # header fields
FRAMING_LIMIT = 1 << 14  # bytes that the chunks of one body may spend on sizes, extensions and trailers together
PIECE = 1 << 16  # bytes of a body that are kept together while it arrives: a longer piece would be moved as it grows
CHUNK_LINE = 256  # bytes of a chunk's size and its extensions
STEPS = 256  # chunks that are read at a time; others are answered in between
KNOWN_HEADS, KNOWN_BYTES = 1_024, 1_024  # heads that are kept as they were read, and bytes of each: 0.1 µs, not 11

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_LINE = re.compile(rb"(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE) (/[!-~]*) HTTP/1\.([01])")
_FIELD = re.compile(rb"(%s):([\t -~\x80-\xff]*)" % _TOKEN)
_LENGTH = re.compile(rb"[0-9]{1,18}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})((?:;%s(?:=%s)?)*)" % (_TOKEN, _TOKEN))
_BARE = re.compile(rb"(?<!\r)\n")
_ONCE = frozenset((b"host", b"content-length", b"transfer-encoding"))


class Malformed(Exception):
    """Bytes that are no request, or too many of them: the status to answer, and why."""

    def __init__(self, status: int, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)


class Head(NamedTuple):
    """What stands before the body of a request."""

    method: str
    path: str  #: without query, percent-decoded
    headers: dict[bytes, bytes]  #: by name in lower case; values of one name joined by commas
    length: int | None = 0  #: of the body [byte]; `None` where it is chunked
    keeps_open: bool = True  #: whether another request may follow
    target: bytes = b""  #: the path and the query as they were sent
    is_newest: bool = True  #: whether it is of HTTP/1.1, whose answers may be chunked


def read_head(head: bytes) -> Head:
    """The head of a request, without the empty line that ends it.

    Raises `Malformed`.

    >>> read_head(b"GET /health HTTP/1.1\\r\\nHost: localhost").path
    '/health'
    """
    first, *lines = head.split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise Malformed(400, "expected a request line such as POST / HTTP/1.1")
    if len(lines) > FIELD_LIMIT:
        raise Malformed(431, f"expected at most {FIELD_LIMIT} header fields, got {len(lines)}")
    headers: dict[bytes, bytes] = {}
    for text in lines:
        name, value = _field(text)
        if name not in headers:
            headers[name] = value
        elif name in _ONCE:
            raise Malformed(400, f"expected one {name.decode()} field, got several")
        else:
            headers[name] += b", " + value
    method, target, minor = line.groups()
    is_newest = minor == b"1"
    if is_newest and b"host" not in headers:
        raise Malformed(400, "expected a host field")
    keeps_open = is_newest and b"close" not in _options(headers.get(b"connection", b""))
    path = unquote_to_bytes(target.partition(b"?")[0]).decode("utf-8", "replace")
    return Head(method.decode(), path, headers, _length(headers, is_newest=is_newest), keeps_open, target, is_newest)


#: The verdict on a head depends on its bytes alone, so that the same bytes need not be read again.
_kept = lru_cache(KNOWN_HEADS)(read_head)


def _field(line: bytes) -> tuple[bytes, bytes]:
    found = _FIELD.fullmatch(line)
    if found is None:
        raise Malformed(400, "expected a header field such as Host: localhost")
    return found[1].lower(), found[2].strip(b" \t")


def _options(value: bytes) -> set[bytes]:
    return {option.strip(b" \t").lower() for option in value.split(b",")}


def _length(headers: dict[bytes, bytes], *, is_newest: bool) -> int | None:
    coding, length = headers.get(b"transfer-encoding"), headers.get(b"content-length")
    if coding is not None:
        if coding.lower() != b"chunked" or length is not None or not is_newest:
            raise Malformed(400, "expected transfer-encoding chunked, in HTTP/1.1 and without a content-length")
        return None
    if length is not None and not _LENGTH.fullmatch(length):
        raise Malformed(400, "expected a content-length in digits")
    return int(length or 0)


class Reader:
    """The requests of one connection: `head()`, then `body()` until it is there as a whole, then `head()` again.

    What is read depends on the bytes alone, not on the pieces in which they come.

    Parameters
    ----------
    body_limit : of a request [byte].
    """

    def __init__(self, body_limit: int) -> None:
        self._body_limit = body_limit
        self._bytes = bytearray()  # not read yet
        self._searched = 0  # of them, in which a head does not end
        self._body: list[bytearray] = []  # as far as it has come
        self._body_size = 0
        self._left: int | None = None  # bytes of the body, or of the chunk; `None` before a chunk's size
        self._chunked = self._in_trailers = False
        self._framing = self._trailers = 0  # bytes of chunks that are no content, and fields behind the last one
        self.has_more_chunks = False  #: whether `body()` stopped only for others to be answered meanwhile

    def feed(self, data: bytes | memoryview) -> None:
        """Take what has come."""
        self._bytes += data

    def whole(self, data: memoryview) -> tuple[Head, bytes] | None:
        """The request that has come as a whole and alone, as most do; `None`, with nothing taken, for anything else.

        One with `Expect` or `Upgrade` is left to `head`, as it may be answered before its body.
        """
        if self._bytes or self._body:
            return None
        text = bytes(data)
        end = text.find(b"\r\n\r\n", 0, KNOWN_BYTES + 4)
        if end < 0:
            return None
        try:
            head = _kept(text[:end])
        except Malformed:
            return None
        size, headers = len(text) - end - 4, head.headers
        if head.length != size or size > self._body_limit or b"expect" in headers or b"upgrade" in headers:
            return None
        return head, text[end + 4 :]

    @property
    def held(self) -> int:
        """Bytes that are kept: those not read, and the body as far as it has come."""
        return len(self._bytes) + self._body_size

    @property
    def has_unread(self) -> bool:
        """Whether there are bytes that were not read."""
        return bool(self._bytes)

    def rest(self) -> bytes:
        """All bytes that were not read, which are no requests; none are left."""
        rest, self._bytes = bytes(self._bytes), bytearray()
        return rest

    def head(self) -> Head | None:
        """The head of the next request; `None` where it has not come as a whole.

        Raises `Malformed`.
        """
        data = self._bytes
        if data and not 0x41 <= data[0] <= 0x5A:  # such as the first byte of TLS, which sends no line
            raise Malformed(400, "expected a request line such as POST / HTTP/1.1")
        end = data.find(b"\r\n\r\n", self._searched)
        least = end if end >= 0 else len(data) - 3
        if least > HEAD_LIMIT:
            raise Malformed(431, f"expected at most {HEAD_LIMIT:,} bytes before the body")
        if end < 0:
            if _BARE.search(data, self._searched):
                raise Malformed(400, "expected lines that end in CRLF")
            self._searched = max(least, 0)
            return None
        text = bytes(data[:end])
        head = _kept(text) if end <= KNOWN_BYTES else read_head(text)
        del data[: end + 4]
        self._searched = 0
        self._chunked, self._left = head.length is None, head.length
        self._in_trailers, self._framing, self._trailers = False, 0, 0
        return head

    def skip(self) -> bool:
        """Drop the body, whose length is known; whether it has come as a whole."""
        left = self._left or 0
        self._left = left - min(left, len(self._bytes))
        del self._bytes[:left]
        return self._left == 0

    def body(self) -> bytes | None:
        """The body, once it has come as a whole; `None` before.

        Raises `Malformed`.
        """
        if not self._chunked:
            size = self._left or 0
            self._check_size(size)
            if not self._body and len(self._bytes) >= size:  # nearly always: it came with its head
                body = bytes(self._bytes[:size])
                del self._bytes[:size]
                self._left = 0
                return body
            return self._done() if self._take() else None
        self.has_more_chunks = False
        for _ in range(STEPS):
            if self._in_trailers:
                if not self._trailer():
                    return None
                if not self._in_trailers:
                    return self._done()
            elif self._left is None:
                if not self._chunk():
                    return None
            elif not self._take() or not self._close_chunk():
                return None
        self.has_more_chunks = True
        return None

    def _take(self) -> bool:
        """Take the rest of the body, or of a chunk, as far as it has come; whether that is all of it."""
        if self._left:
            if len(self._bytes) <= self._left:
                taken, self._bytes = self._bytes, bytearray()
            else:
                taken = self._bytes[: self._left]
                del self._bytes[: self._left]
            self._keep(taken)
            self._left -= len(taken)
        return not self._left

    def _keep(self, taken: bytearray) -> None:
        """Add to the body; pieces that are short share one, so that they take no more memory than they have bytes."""
        self._body_size += len(taken)
        if self._body and len(self._body[-1]) + len(taken) <= PIECE:
            self._body[-1] += taken
        elif taken:
            self._body.append(taken)

    def _close_chunk(self) -> bool:
        """Read the line end behind a chunk; whether it has come."""
        closing = self._bytes[:2]
        if not b"\r\n".startswith(closing):
            raise Malformed(400, "expected the end of a chunk")
        if len(closing) < 2:
            return False
        del self._bytes[:2]
        self._left = None
        return True

    def _chunk(self) -> bool:
        """Read the size of the next chunk; whether it has come."""
        end = self._bytes.find(b"\r\n", 0, CHUNK_LINE + 2)
        if end < 0:
            self._check_lines(CHUNK_LINE + 2)
            if len(self._bytes) >= CHUNK_LINE + 2:
                raise Malformed(400, f"expected the size of a chunk in at most {CHUNK_LINE} bytes")
            return False
        found = _CHUNK.fullmatch(bytes(self._bytes[:end]))
        if found is None:
            raise Malformed(400, "expected the size of a chunk")
        size = int(found[1], 16)
        self._check_framing(end + 4)
        self._check_size(size)
        del self._bytes[: end + 2]
        if size:
            self._left = size
        else:
            self._in_trailers = True
        return True

    def _trailer(self) -> bool:
        """Read a field behind the last chunk, of which none matters, or their end; whether it has come."""
        end = self._bytes.find(b"\r\n", 0, FRAMING_LIMIT + 2)
        if end < 0:
            self._check_lines(FRAMING_LIMIT + 2)
            self._check_framing(len(self._bytes) + 1, spend=False)
            return False
        if end == 0:
            self._in_trailers = False
        else:
            self._check_framing(end + 2)
            name, _ = _field(bytes(self._bytes[:end]))
            if name in _ONCE:
                raise Malformed(400, f"expected no {name.decode()} field behind the body")
            self._trailers += 1
            if self._trailers > FIELD_LIMIT:
                raise Malformed(400, f"expected at most {FIELD_LIMIT} trailer fields")
        del self._bytes[: end + 2]
        return True

    def _check_lines(self, size: int) -> None:
        """Refuse a line end without CR, where no whole one is among so many bytes."""
        if self._bytes.find(b"\n", 0, size) >= 0:
            raise Malformed(400, "expected lines that end in CRLF")

    def _check_framing(self, size: int, *, spend: bool = True) -> None:
        if self._framing + size > FRAMING_LIMIT:
            raise Malformed(400, f"expected at most {FRAMING_LIMIT:,} bytes of chunk sizes and trailers")
        self._framing += size * spend

    def _check_size(self, more: int) -> None:
        if self._body_size + more > self._body_limit:
            raise Malformed(413, f"the request is longer than {self._body_limit} bytes")

    def _done(self) -> bytes:
        body = b"".join(self._body)
        self._body, self._body_size = [], 0
        self._left = 0
        return body
