"""The log of the server: one line of JSON an event on standard error; neither calldata nor keys."""

import logging
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress

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
    logging.getLogger("feemodel.lifecycle").setLevel(logging.INFO)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # its warnings quote whole addresses, which may hold a key


def request_writer() -> Callable[..., None]:
    """A function that writes a line of fields to the request log; what cannot be written is lost."""
    process = os.getpid()

    def note(event: str, **fields: str | float) -> None:
        line = {"time": round(time.time(), 3), "level": "info", "process": process, "event": event}
        with suppress(OSError):
            sys.stderr.write(_encode(line | fields).decode() + "\n")

    return note
