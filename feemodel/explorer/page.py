"""The explorer's page: one file, and the content security policy that allows what is in it and nothing else."""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from feemodel.errors import UnreadableFile

PAGE = Path(__file__).with_name("page.html")


@cache
def page() -> tuple[bytes, str]:
    """The page's bytes, and its `Content-Security-Policy`, whose hashes are those of its one script and one style.

    >>> body, policy = page()
    >>> body[:15], policy.split(";")[0]
    (b'<!doctype html>', "default-src 'none'")
    """
    body = PAGE.read_bytes()
    return body, policy_of(body)


def policy_of(body: bytes) -> str:
    """The policy for a page with one inline script and one inline style; raises `UnreadableFile` for another page.

    >>> policy_of(b"<style>a{}</style><script>1</script>").split("; ")[2]
    "style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk='"
    """
    hashes = {}
    for tag in ("script", "style"):
        found = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), body, flags=re.DOTALL)
        if len(found) != 1:
            raise UnreadableFile(f"{PAGE.name}: expected one inline {tag}, found {len(found)}")
        hashes[tag] = f"'sha256-{b64encode(sha256(found[0]).digest()).decode()}'"
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {hashes['script']}",
            f"style-src {hashes['style']}",
            "connect-src 'self'",
            "img-src 'self' data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )
