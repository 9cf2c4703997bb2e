"""Connections to nodes with a time-out for response headers, and errors that do not show the host name."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import SHUT_RDWR

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NameResolutionError, NewConnectionError
from urllib3.response import HTTPResponse

OTHER_HOST = frozenset({62, 64})  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH
GRACE = 0.1  # seconds
LONGEST = 86_400.0  # seconds, of a connection without a time-out


def connection_class(scheme: str) -> type[HTTPConnection]:
    """Return a connection class whose time-out applies to all response headers together, not to each read.

    Parameters
    ----------
    scheme : "http" or "https".
    """
    base: type[HTTPConnection] = HTTPSConnection if scheme == "https" else HTTPConnection

    class Connection(base):  # type: ignore[valid-type,misc]
        def getresponse(self) -> HTTPResponse:
            with _ended_in_time(self):
                answer: HTTPResponse = super().getresponse()
                return answer

    return Connection


@contextmanager
def _ended_in_time(connection: HTTPConnection) -> Iterator[None]:
    """Shut the connection down when its time-out has passed, so that a pending read returns."""

    def end() -> None:
        with suppress(OSError, AttributeError):  # it has ended by itself
            connection.sock.shutdown(SHUT_RDWR)

    # Later than the time-out of a read, by which a node that sends nothing at all is told from one that drips.
    timer = threading.Timer(GRACE + 1.2 * (connection.timeout or LONGEST), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def without_host(error: NewConnectionError) -> str:
    """Return why there is no connection, without urllib3's message, which may contain the host."""
    if isinstance(error, NameResolutionError):
        return "its name is not known"
    cause = error.__cause__ or error.__context__
    return (isinstance(cause, OSError) and cause.strerror) or "the system refuses it"


def of_certificate(error: BaseException) -> str:
    """Return why a connection is not secure, without OpenSSL's message, which may contain the host."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ssl.SSLError):
        reason = cause.args[0] if cause.args else None
        cause = reason if isinstance(reason, BaseException) else cause.__cause__ or cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        if cause.verify_code in OTHER_HOST:
            return "its certificate is for another host"
        return f"its certificate: {cause.verify_message}"
    return (cause is not None and cause.reason) or "TLS failed"
