"""Bearer tokens and session cookies → callers. Without accounts, everybody who reaches us is the local user."""

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

from pinakes.errors import ExpectedError, StorageError, UnauthenticatedError
from pinakes.model.principal import LOCAL_USER, Identity
from pinakes.serve.caller import CALLER, Caller
from pinakes.serve.caller_limits import RefusalThrottle
from pinakes.serve.http.replies import JSONReply, error_reply

COOKIE = "pinakes_session"
IDENTITY = "pinakes.identity"
"""Where a request's scope has who it is from, and until when."""
METADATA_PATH = "/.well-known/oauth-protected-resource"

_BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/=-]{1,8000})")


class Identities(Protocol):
    """Knows secrets."""

    def recall(self, secret: str) -> Identity | None:
        """Return whose a secret is, where that is in memory."""

    def identify(self, secret: str) -> Identity | None:
        """Return whose a secret is."""


LOCAL_IDENTITY = Identity(principal=LOCAL_USER, credential_id="", expires_at=None)


class Authenticator:
    """Tells who a request is from."""

    def __init__(
        self,
        identities: Identities | None,
        *,
        base_url: Callable[[Scope], str],
        throttle: RefusalThrottle | None = None,
    ) -> None:
        """`brake` holds up those who ask too often, before anything is done for them."""
        self._identities = identities
        self._base_url = base_url
        self._brake = throttle or RefusalThrottle()

    async def identify(self, headers: Headers) -> Identity | None:
        """Return whose request this is; None where it does not say, or says something wrong."""
        if self._identities is None:
            return LOCAL_IDENTITY
        secret = find_secret(headers)
        return await self.identify_secret(secret) if secret else None

    async def identify_secret(self, secret: str) -> Identity | None:
        """Return whose secret this is now."""
        if self._identities is None:
            return LOCAL_IDENTITY
        known = self._identities.recall(secret)
        if known and await self._brake.wait(known.principal.name):
            known = self._identities.recall(secret)
        try:
            return known or await anyio.to_thread.run_sync(self._identities.identify, secret)
        except StorageError as error:  # why is in the log, and not for somebody whom nobody knows
            raise StorageError("it cannot be looked up who is asking; try again in a while") from error

    def refusal(self, scope: Scope) -> JSONReply:
        """Return the answer to somebody who is not known: the same for everybody, with where to learn how to log in."""
        where = f'resource_metadata="{self._base_url(scope)}{METADATA_PATH}/mcp"'
        wrong = 'error="invalid_token", ' if "authorization" in Headers(scope=scope) else ""
        problem = UnauthenticatedError("log in, or send a token: Authorization: Bearer …")
        return error_reply(problem, {"WWW-Authenticate": f"Bearer {wrong}{where}"})


class Authenticated:
    """ASGI: an application whose requests all come from somebody who is known."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, *, via: str) -> None:
        self._app = app
        self._authenticator = authenticator
        self._via = via

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or refuse it."""
        try:
            identity = await self._authenticator.identify(Headers(scope=scope))
        except ExpectedError as error:
            await error_reply(error)(scope, receive, send)
            return
        if identity is None:
            await self._authenticator.refusal(scope)(scope, receive, send)
            return
        note_identity(scope, identity, via=self._via)
        await self._app(scope, receive, send)


def note_identity(scope: Scope, identity: Identity, *, via: str) -> None:
    """Write into a request's scope who it is from, for us and for the SDK, whose sessions belong to their users."""
    scope[IDENTITY] = identity
    scope[CALLER] = Caller(principal=identity.principal, via=via)
    scope["user"] = _sdk_user(identity.principal.name)


@lru_cache(maxsize=10_000)
def _sdk_user(name: str) -> AuthenticatedUser:
    """Return a user as the SDK knows them, which takes it a while to make."""
    return AuthenticatedUser(AccessToken(token="", client_id=name, subject=name, scopes=[]))


def find_secret(headers: Headers) -> str | None:
    """Return the secret of a request: its bearer token or its session cookie. One in the address is never looked at."""
    given = headers.getlist("authorization")
    if given:
        found = _BEARER.fullmatch(given[0])
        return found[1] if found and len(given) == 1 else None
    cookies: Mapping[str, str] = cookie_parser(headers.get("cookie", ""))
    return cookies.get(COOKIE)
