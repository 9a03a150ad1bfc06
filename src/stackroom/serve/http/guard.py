"""Requests that are let in: for this host, of an allowed origin, without an encoding, and of a known caller.

Allowed hosts and origins are the defence against DNS rebinding and cross-site requests. Callers are known by a bearer
token or a session cookie; without accounts every request is the local user's. No body is read here (`bodies`).
"""

import ipaddress
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.errors import ExpectedError, ForbiddenError, StorageError, UnauthenticatedError
from stackroom.model.principal import LOCAL_USER, Identity
from stackroom.serve.async_gate import CALLER, Caller, RefusalThrottle, asked_names
from stackroom.serve.http.replies import JSONReply, error_reply, status_reply
from stackroom.settings import ServerSettings

logger = logging.getLogger(__name__)

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

    def __init__(self, server: ServerSettings) -> None:
        public = urlsplit(server.public_url).hostname
        bound = [] if server.host in ("0.0.0.0", "::") else [bracketed(server.host)]
        names = [*LOOPBACK, *bound, *([bracketed(public)] if public else []), *server.allowed_hosts]
        origins = (*server.allowed_origins, _origin_of(server.public_url))
        self._names = frozenset(name.lower() for name in names)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins if origin)

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


SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NOTHING_RUNS = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
"""The policy of an answer that has none of its own."""


class Guard:
    """ASGI: passes on requests for this server; logs exceptions from inside."""

    def __init__(self, app: ASGIApp, hosts: KnownHosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
        refusal = self._refusal(Headers(scope=scope))
        if scope["type"] == "websocket":
            await (refuse_upgrade(refusal, scope, receive, send) if refusal else self._app(scope, receive, send))
        else:
            secured = _WithSecurityHeaders(send)
            await (refusal(scope, receive, secured) if refusal else self._guarded(scope, receive, secured))

    def _refusal(self, headers: Headers) -> JSONReply | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1:
            return status_reply(400, "no_host", "a request has one 'Host' header")
        if not self._hosts.knows_host(hosts[0]):
            return status_reply(421, "misdirected", "the 'Host' header does not name this server")
        if not all(self._hosts.knows_origin(origin, hosts[0]) for origin in origins):
            return status_reply(403, "foreign_origin", "the 'Origin' header is not of a page of this server")
        if headers.get("content-encoding", "identity") != "identity":
            return status_reply(415, "encoded_body", "bodies are taken as they are, without 'Content-Encoding'")
        return None

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception:
            logger.exception("a request failed: %s %r", scope["method"], scope["path"][:200])


class _WithSecurityHeaders:
    """ASGI send: adds the security headers to a response."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = secure(message.get("headers", ()))
        await self._send(message)


def secure(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return a response's headers with those that every response has."""
    given = list(headers)
    has_policy = any(name == NOTHING_RUNS[0] for name, _value in given)
    return [*given, *SECURITY_HEADERS, *(() if has_policy else (NOTHING_RUNS,))]


async def refuse_upgrade(reply: JSONReply, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a WebSocket's opening request with an HTTP response."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = secure(reply.raw_headers)
    await send({"type": "websocket.http.response.start", "status": reply.status_code, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": reply.body})


COOKIE = "stackroom_session"
METADATA_PATH = "/.well-known/oauth-protected-resource"

_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/=-]{1,8000})")


class Identities(Protocol):
    """Resolves a bearer secret to an identity, or None."""

    def recall(self, secret: str) -> Identity | None:
        """Return the identity of a secret, where it is cached."""

    def identify(self, secret: str) -> Identity | None:
        """Return the identity of a secret, or None."""


LOCAL_IDENTITY = Identity(principal=LOCAL_USER, credential_id="", expires_at=None)


class Authenticator:
    """Authenticates requests."""

    def __init__(
        self,
        identities: Identities | None,
        *,
        base_url: Callable[[Scope], str],
        throttle: RefusalThrottle | None = None,
    ) -> None:
        """`throttle` delays callers who exceed their rate limit, before any work is done for them."""
        self._identities = identities
        self._base_url = base_url
        self._throttle = throttle or RefusalThrottle()

    async def identify(self, headers: Headers) -> Identity | None:
        """Return the identity of a request; None where it has no valid credential."""
        if self._identities is None:
            return LOCAL_IDENTITY
        secret = find_secret(headers)
        return await self.identify_secret(secret) if secret else None

    async def identify_secret(self, secret: str) -> Identity | None:
        """Return the current identity of a secret, or None."""
        if self._identities is None:
            return LOCAL_IDENTITY
        known = self._identities.recall(secret)
        if known and await self._throttle.wait(known.principal.name):
            known = self._identities.recall(secret)
        try:
            return known or await anyio.to_thread.run_sync(self._identities.identify, secret)
        except StorageError as error:  # the reason is in the log, and not for unauthenticated callers
            raise StorageError("the credential cannot be checked now; try again in a while") from error

    def refusal(self, scope: Scope) -> JSONReply:
        """Return the 401 answer, with the address of the OAuth metadata."""
        where = f'resource_metadata="{self._base_url(scope)}{METADATA_PATH}/mcp"'
        wrong = 'error="invalid_token", ' if "authorization" in Headers(scope=scope) else ""
        problem = UnauthenticatedError("authentication required: send a bearer token or log in")
        return error_reply(problem, {"WWW-Authenticate": f"Bearer {wrong}{where}"})


class Authenticated:
    """ASGI: passes on authenticated requests only."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, *, via: str, before_password: bool = False) -> None:
        """`before_password`: also those of callers who have yet to choose a password."""
        self._app = app
        self._authenticator = authenticator
        self._via = via
        self._before_password = before_password

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate a request, and pass it on or refuse it."""
        try:
            identity = await self._authenticator.identify(Headers(scope=scope))
            if not self._before_password:
                require_password_chosen(identity)
            names = asked_names(scope["query_string"]) if scope["query_string"] else None
        except ExpectedError as error:
            await error_reply(error)(scope, receive, send)
            return
        if identity is None:
            await self._authenticator.refusal(scope)(scope, receive, send)
            return
        scope[CALLER] = Caller(principal=identity.principal, via=self._via, identity=identity, tool_names=names)
        scope["user"] = _sdk_user(identity.principal.name)  # the SDK's sessions belong to users
        await self._app(scope, receive, send)


def require_password_chosen(identity: Identity | None) -> None:
    """Refuse a caller who logged in with a one-time password and has not chosen a password yet."""
    if identity is not None and identity.must_choose_password:
        raise ForbiddenError(
            'choose a password first: POST /v1/me/password with {"password": "…"}, or open the page of this server; '
            "a one-time password allows nothing else"
        )


@lru_cache(maxsize=10_000)
def _sdk_user(name: str) -> AuthenticatedUser:
    """Return the SDK's form of a user, which is slow to make."""
    return AuthenticatedUser(AccessToken(token="", client_id=name, subject=name, scopes=[]))


def find_secret(headers: Headers) -> str | None:
    """Return a request's bearer token or session cookie; secrets in the URL are ignored."""
    values = headers.getlist("authorization")
    if values:
        found = _BEARER.fullmatch(values[0])
        return found[1] if found and len(values) == 1 else None
    cookies: Mapping[str, str] = cookie_parser(headers.get("cookie", ""))
    return cookies.get(COOKIE)
