"""The log of the server: one line of JSON an event on standard error; neither calldata nor keys."""

import logging
import os
import sys
import time
import traceback
from collections.abc import Callable

import msgspec

_encode = msgspec.json.Encoder().encode


class JsonLines(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "process": record.process,
            "event": _text(record.getMessage()),
        }
        if record.exc_info:
            line["trace"] = _text("".join(traceback.format_exception(*record.exc_info)))
        return _encode(line).decode()


def _text(text: str) -> str:
    """A text that can be written: a node's words may hold half a surrogate pair."""
    return text.encode(errors="backslashreplace").decode()


def set_up(kind: str) -> None:
    """Log as the setting says: "requests" and "errors" write warnings and worse, "off" nothing."""
    root = logging.getLogger()
    handler: logging.Handler = logging.NullHandler() if kind == "off" else logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def request_writer() -> Callable[[str, int, float], None]:
    """A function that writes the line of one call: method, error code or 0, milliseconds."""
    write, process = sys.stderr.write, os.getpid()

    def note(method: str, code: int, seconds: float) -> None:
        line = {"time": round(time.time(), 3), "level": "info", "process": process, "event": "call", "method": method}
        write(_encode({**line, "code": code, "ms": round(seconds * 1_000, 3)}).decode() + "\n")

    return note
