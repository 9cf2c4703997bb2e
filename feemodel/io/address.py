"""Checks of node addresses, and a short form of an address for error messages.

Error messages show only the scheme, host and port of an address, because the other parts may be secret.
"""

import re
from urllib.parse import urlsplit

from feemodel.errors import InvalidInput

HIDDEN = "(not shown)"
#: Scheme, host and port of an address, or a bare host and port; a longer word without a scheme may be a key.
_WITHOUT_SECRETS = re.compile(
    r"[a-z][a-z0-9+.-]*://[\w.-]+(:[0-9]{0,5})?(?=[/?#]|\Z)|[\w.-]{0,16}(:[0-9]{0,5})?\Z", re.ASCII | re.IGNORECASE
)


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
        shown = without_secrets(url) if isinstance(url, str) else url
        raise InvalidInput(name, "expected an address such as https://host:port/path", shown)


def without_secrets(text: str) -> str:
    """Return the part of a text that cannot contain a secret, for an error message about an invalid address.

    >>> without_secrets("localhost:8545"), without_secrets("ftp://l1.example/v3/key"), without_secrets("ws://me:word@l1")
    ('localhost:8545', 'ftp://l1.example', '(not shown)')
    """
    found = _WITHOUT_SECRETS.match(text.strip())
    return HIDDEN if found is None or "@" in text else found[0]


def shown_address(url: str) -> str:
    """Return only the scheme, host and port of an address.

    >>> shown_address("https://user:password@l1.example:8545/v3/key")
    'https://l1.example:8545'
    """
    address = urlsplit(url.strip())
    return f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
