"""Allowed `Host` and `Origin` headers, against DNS rebinding and cross-site requests."""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_USUAL_PORT = {"http": "80", "https": "443"}


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a listener on this address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class KnownHosts:
    """Checks a request's `Host` and `Origin` headers."""

    def __init__(self, *, listening: str, public_url: str, hosts: Iterable[str], origins: Iterable[str]) -> None:
        public = urlsplit(public_url).hostname if public_url else None
        bound = [] if listening in ("0.0.0.0", "::") else [bracketed(listening)]
        names = [*LOOPBACK, *bound, *([bracketed(public)] if public else []), *hosts]
        self._names = frozenset(name.lower() for name in names)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in (*origins, _origin_of(public_url)) if origin)

    def knows_host(self, host: str) -> bool:
        """Tell whether a `Host` header names this server, with any port."""
        found = _HOST.fullmatch(host)
        if found is None or int(found["port"] or 0) > 65_535:
            return False
        return found["name"].lower() in self._names or host.lower() in self._names

    def knows_origin(self, origin: str, host: str) -> bool:
        """Tell whether an `Origin` header is of this server or of an allowed site."""
        found = _ORIGIN.fullmatch(origin)
        if found is None:
            return False
        if origin.lower() in self._origins:
            return True
        port = found["port"] or _USUAL_PORT[found["scheme"]]
        return found["host"].lower() in self._names and port == _port_of(host)


def _port_of(host: str) -> str:
    found = _HOST.fullmatch(host)
    return (found["port"] if found else None) or _USUAL_PORT["http"]


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def bracketed(host: str) -> str:
    """Return a host as it appears in a URL: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
