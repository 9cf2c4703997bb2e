"""Checks of node addresses, and a short form of an address for error messages.

Error messages show only the scheme, host and port of an address, because the other parts may be secret.
"""

import re
from urllib.parse import urlsplit

from feemodel.errors import InvalidInput

HIDDEN = "(not shown)"


def check_address(name: str, url: str) -> None:
    """Raise `InvalidInput` for a text that is not the address of a node.

    The error message does not show parts of the text that may contain a password or a key.

    >>> check_address("node", "ws://user:password@localhost")
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: node: expected an address such as https://host:port/path, got '(not shown)'
    """
    try:
        address = urlsplit(url.strip()) if isinstance(url, str) else None
        valid = address is not None and address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:  # the address has unclosed brackets, or its port is not a number
        valid = False
    if not valid:
        # A word longer than a host may be a key.
        is_shown = not isinstance(url, str) or re.fullmatch(r"[\w.-]{0,16}(:[0-9]{0,5})?", url)
        reason = "expected an address such as https://host:port/path"
        raise InvalidInput(name, reason, url if is_shown else HIDDEN)


def shown_address(url: str) -> str:
    """Return only the scheme, host and port of an address.

    >>> shown_address("https://user:password@l1.example:8545/v3/key")
    'https://l1.example:8545'
    """
    address = urlsplit(url.strip())
    return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
