"""The certificates that servers are checked by."""

import ssl
from functools import cache

import httpx


@cache
def load_certificates() -> ssl.SSLContext:
    """Return what servers are checked by, read once: that takes longer than a request on loopback."""
    return httpx.create_ssl_context()
