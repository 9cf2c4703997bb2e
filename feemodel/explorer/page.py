"""Folder with the files of the explorer's page, and a content security policy that allows only these files."""

from pathlib import Path

STATIC = Path(__file__).with_name("static")
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
