"""Requests that are let in: for this host, of an allowed origin, of a known caller, and with a
bounded body.

Allowed hosts and origins are the defence against DNS rebinding and cross-site requests. Callers are
known by a bearer token or a session cookie; without accounts every request is the local user's. A
body is read only when the caller is known, and all bodies are bounded together: each counts until
its request is answered, or its stream begins. Bodies of unauthenticated callers have a memory
budget of their own, so that they cannot take the room of others.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from urllib.parse import urlsplit

import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stackroom.control.accounts.identity_cache import IdentityCache
from stackroom.errors import (
    ExpectedError,
    ForbiddenError,
    OverloadedError,
    SlowBodyError,
    StorageError,
    TooLargeError,
    UnauthenticatedError,
)
from stackroom.model.principal import Identity
from stackroom.serve.async_gate import CALLER, RefusalThrottle, asked_names
from stackroom.serve.frames import MAX_FRAME_BYTES
from stackroom.serve.http.replies import JSONReply, error_reply, status_reply
from stackroom.settings import ServerSettings
from stackroom.tools.operation import LOCAL, Origin

logger = logging.getLogger(__name__)

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
)
_USUAL_PORT = {"http": "80", "https": "443"}


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
    """ASGI: passes on requests for this server, by their `Host` and `Origin`; logs exceptions from
    inside.
    """

    def __init__(self, app: ASGIApp, server: ServerSettings) -> None:
        self._app = app
        public = urlsplit(server.public_url)
        bound = None if server.host in ("0.0.0.0", "::") else server.host
        names = [
            *LOOPBACK,
            *map(bracketed, filter(None, (bound, public.hostname))),
            *server.allowed_hosts,
        ]
        origins = (
            *server.allowed_origins,
            f"{public.scheme}://{public.netloc}" if public.netloc else "",
        )
        self._names = frozenset(name.lower() for name in names)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins if origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
        refusal = self._refusal(Headers(scope=scope))
        if scope["type"] == "websocket":
            await (
                refuse_upgrade(refusal, scope, receive, send)
                if refusal
                else self._app(scope, receive, send)
            )
        else:

            async def secured(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = secure(message.get("headers", ()))
                await send(message)

            try:
                await (refusal or self._app)(scope, receive, secured)
            except Exception:
                logger.exception("a request failed: %s %r", scope["method"], scope["path"][:200])

    def _refusal(self, headers: Headers) -> JSONReply | None:
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1:
            return status_reply(400, "no_host", "a request has one 'Host' header")
        known, host = _HOST.fullmatch(hosts[0]), hosts[0].lower()
        if (
            known is None
            or int(known["port"] or 0) > 65_535
            or self._names.isdisjoint((known["name"].lower(), host))
        ):
            return status_reply(421, "misdirected", "the 'Host' header does not name this server")
        for origin in origins:
            if not self._knows_origin(origin, known["port"]):
                return status_reply(
                    403, "foreign_origin", "the 'Origin' header is not of a page of this server"
                )
        if headers.get("content-encoding", "identity") != "identity":
            return status_reply(
                415, "encoded_body", "bodies are taken as they are, without 'Content-Encoding'"
            )
        return None

    def _knows_origin(self, origin: str, own_port: str | None) -> bool:
        """Tell whether an `Origin` header is of this server or of an allowed site."""
        found = _ORIGIN.fullmatch(origin)
        if found is None:
            return False
        if origin.lower() in self._origins:
            return True
        port = found["port"] or _USUAL_PORT[found["scheme"]]
        is_here = found["host"].lower() in self._names
        return is_here and port == (own_port or _USUAL_PORT["http"])


def secure(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return a response's headers with those that every response has."""
    given = list(headers)
    has_policy = NOTHING_RUNS[0] in dict(given)
    return [*given, *SECURITY_HEADERS, *(() if has_policy else (NOTHING_RUNS,))]


async def refuse_upgrade(reply: JSONReply, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a WebSocket's opening request with an HTTP response."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = secure(reply.raw_headers)
    await send(
        {"type": "websocket.http.response.start", "status": reply.status_code, "headers": headers}
    )
    await send({"type": "websocket.http.response.body", "body": reply.body})


COOKIE = "stackroom_session"
METADATA_PATH = "/.well-known/oauth-protected-resource"

_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/=-]{1,8000})")


class Authenticator:
    """Authenticates requests."""

    def __init__(
        self,
        identities: IdentityCache | None,
        *,
        base_url: Callable[[Scope], str],
        throttle: RefusalThrottle | None = None,
    ) -> None:
        """`throttle` delays callers who exceed their rate limit, before any work is done for
        them.
        """
        self._identities = identities
        self._base_url = base_url
        self._throttle = throttle or RefusalThrottle()

    async def identify(self, headers: Headers) -> Identity | None:
        """Return the identity of a request; None where it has no valid credential."""
        if self._identities is None:
            return LOCAL.identity
        secret = find_secret(headers)
        return await self.identify_secret(secret) if secret else None

    async def identify_secret(self, secret: str) -> Identity | None:
        """Return the current identity of a secret, or None."""
        if self._identities is None:
            return LOCAL.identity
        known = await self._resolve(self._identities, secret)
        if known and await self._throttle.wait(known.principal.name):
            known = await self._resolve(self._identities, secret)
        return known

    async def _resolve(self, identities: IdentityCache, secret: str) -> Identity | None:
        try:
            return identities.recall(secret) or await anyio.to_thread.run_sync(
                identities.identify, secret
            )
        # the reason is in the log, and not for unauthenticated callers
        except StorageError as error:
            raise StorageError(
                "the credential cannot be checked now; try again in a while"
            ) from error

    async def admit(
        self, scope: Scope, *, via: str, before_password: bool = False
    ) -> Origin | JSONReply:
        """Return the caller of a request, or its refusal; `before_password`: also one who has yet
        to choose theirs.
        """
        try:
            identity = await self.identify(Headers(scope=scope))
            if not before_password:
                require_password_chosen(identity)
            names = asked_names(scope["query_string"]) if scope["query_string"] else None
        except ExpectedError as error:
            return error_reply(error)
        if identity is None:
            return self.refusal(scope)
        return Origin(identity=identity, via=via, tool_names=names)

    def refusal(self, scope: Scope) -> JSONReply:
        """Return the 401 answer, with the address of the OAuth metadata."""
        where = f'resource_metadata="{self._base_url(scope)}{METADATA_PATH}/mcp"'
        wrong = 'error="invalid_token", ' if "authorization" in Headers(scope=scope) else ""
        problem = UnauthenticatedError("authentication required: send a bearer token or log in")
        return error_reply(problem, {"WWW-Authenticate": f"Bearer {wrong}{where}"})


class Authenticated:
    """ASGI: passes on authenticated requests only."""

    def __init__(
        self, app: ASGIApp, authenticator: Authenticator, *, via: str, before_password: bool = False
    ) -> None:
        self._app = app
        self._admit = partial(authenticator.admit, via=via, before_password=before_password)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate a request, and pass it on or refuse it."""
        found = await self._admit(scope)
        if not isinstance(found, Origin):
            await found(scope, receive, send)
            return
        scope[CALLER] = found
        scope["user"] = _sdk_user(found.principal.name)  # the SDK's sessions belong to users
        await self._app(scope, receive, send)


def require_password_chosen(identity: Identity | None) -> None:
    """Refuse a caller who logged in with a one-time password and has not chosen a password yet."""
    if identity is not None and identity.must_choose_password:
        raise ForbiddenError(
            'choose a password first: POST /v1/me/password with {"password": "…"}, or open the page'
            " of this server; a one-time password allows nothing else"
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


BODY_TIMEOUT_S = 20.0  # the time limit for a request's body, from the first time that it is read
# a limit for bodies of unauthenticated callers, and for those that are always small
SMALL_BODY = 16 * 1024
STRANGERS_BYTES = 8 * 1024 * 1024  # the most bytes of bodies of unauthenticated callers together
CALLERS_BYTES = 48 * 1024 * 1024  # the most bytes of bodies of authenticated callers together

CLOSING = {"Connection": "close"}
_BODILESS = ("GET", "HEAD", "OPTIONS")

Refuse = Callable[[ExpectedError, Mapping[str, str]], Response]


@dataclass
class MemoryBudget:
    """A bounded number of bytes that many requests hold together."""

    most: int
    held: int = 0


class Bodies:
    """The memory budgets that the bodies of all requests have."""

    def __init__(
        self, *, of_strangers: int = STRANGERS_BYTES, of_callers: int = CALLERS_BYTES
    ) -> None:
        self.of_strangers = MemoryBudget(of_strangers)
        self.of_callers = MemoryBudget(of_callers)


@dataclass
class _HeldBody:
    """The bytes of one body that count against a memory budget."""

    budget: MemoryBudget
    size: int = 0

    def release(self) -> None:
        self.budget.held -= self.size
        self.size = 0


class WithBody:
    """ASGI: passes on a request with its whole body; refuses one that is too large, or for which
    there is no room.
    """

    def __init__(
        self,
        app: ASGIApp,
        bodies: Bodies,
        *,
        most_bytes: int = MAX_FRAME_BYTES,
        is_public: bool = False,
        refuse: Refuse = error_reply,
    ) -> None:
        """`is_public` says that callers are not authenticated before this."""
        self._app = app
        self._budget = bodies.of_strangers if is_public else bodies.of_callers
        self._most_bytes = most_bytes
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, and pass the request on; the bytes count until it is answered, or its
        stream begins.
        """
        held = _HeldBody(self._budget)

        async def releasing(message: Message) -> None:
            if (
                dict(message.get("headers", ()))
                .get(b"content-type", b"")
                .startswith(b"text/event-stream")
            ):
                held.release()
            await send(message)

        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                body = await self._read(scope, receive, held)
        except TimeoutError:
            slow = SlowBodyError(
                f"the body did not come within {BODY_TIMEOUT_S:.0f} seconds; send it at once"
            )
            await self._refuse(slow, CLOSING)(scope, receive, send)
        except ExpectedError as error:
            await self._refuse(error, CLOSING)(scope, receive, send)
        else:
            if body is not None:
                whole: Message = {"type": "http.request", "body": body, "more_body": False}
                await self._app(scope, once_more(whole, receive), releasing)
        finally:
            held.release()

    async def _read(self, scope: Scope, receive: Receive, held: _HeldBody) -> bytes | None:
        """Return the body, None where the client disconnected; raise TooLargeError at its declared
        length, or as soon as it exceeds the limit.
        """
        if scope["method"] in _BODILESS:
            return b""
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared[:12]) > self._most_bytes:
            raise self._too_large()
        # a list of parts would take 50 times the memory where each is a byte
        body, has_more = bytearray(), True
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            part, has_more = message.get("body", b""), message.get("more_body", False)
            body += part
            if len(body) > self._most_bytes:
                raise self._too_large()
            if held.budget.held + len(part) > held.budget.most:
                raise OverloadedError(
                    "too many requests with large bodies are being read; try again in a moment"
                )
            held.budget.held += len(part)
            held.size += len(part)
        return bytes(body)

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"a body is at most {self._most_bytes} bytes long here")


def once_more(message: Message, receive: Receive) -> Receive:
    """Return a `receive` that first repeats a message."""
    waiting = [message]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed
