"""Authentication by bearer token or session cookie. Without accounts every request is the local user's."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Protocol

import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from stackroom.errors import ExpectedError, ForbiddenError, StorageError, UnauthenticatedError
from stackroom.model.principal import LOCAL_USER, Identity
from stackroom.serve.caller import CALLER, Caller
from stackroom.serve.http.replies import JSONReply, error_reply
from stackroom.serve.workers import RefusalThrottle

COOKIE = "stackroom_session"
IDENTITY = "stackroom.identity"
"""The key of the caller's identity in a request's scope."""
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
        except ExpectedError as error:
            await error_reply(error)(scope, receive, send)
            return
        if identity is None:
            await self._authenticator.refusal(scope)(scope, receive, send)
            return
        note_identity(scope, identity, via=self._via)
        await self._app(scope, receive, send)


def require_password_chosen(identity: Identity | None) -> None:
    """Refuse a caller who logged in with a one-time password and has not chosen a password yet."""
    if identity is not None and identity.must_choose_password:
        raise ForbiddenError(
            'choose a password first: POST /v1/me/password with {"password": "…"}, or open the page of this server; '
            "a one-time password allows nothing else"
        )


def note_identity(scope: Scope, identity: Identity, *, via: str) -> None:
    """Write the caller into a request's scope, also for the SDK, whose sessions belong to users."""
    scope[IDENTITY] = identity
    scope[CALLER] = Caller(principal=identity.principal, via=via, identity=identity)
    scope["user"] = _sdk_user(identity.principal.name)


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
