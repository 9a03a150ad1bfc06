"""Logging in and out, who one is, one's password and one's tokens.

Everything goes through the gate, so that it is limited and noted like any call. Passwords and secrets are in no note
and in no message.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

from pydantic import Field, StrictInt, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from pinakes.control.accounts.credentials import PREFIXES, Credential
from pinakes.control.accounts.users import User
from pinakes.control.control import Control
from pinakes.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    NotFoundError,
    RateLimitedError,
    UnauthenticatedError,
)
from pinakes.gate.gate import CallContext, Gate
from pinakes.model.principal import ANONYMOUS, Cost, Identity, Principal, Quotas
from pinakes.model.principal import Action as Permission
from pinakes.serve.http.authenticate import COOKIE, find_secret
from pinakes.serve.http.endpoints import PRIVATE, SECRET, BodyParams, asking, base_url, identity_of, validated
from pinakes.serve.http.replies import JSONReply
from pinakes.serve.http.service import Service

LONGEST_PASSWORD = 1024
LONGEST_NAME = 256
WRONG_PAIR = "the name or the password is not right"

ResultT = TypeVar("ResultT")
Password = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PASSWORD)]
CatalogueName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class LoginParams(BodyParams):
    """Who wants to log in."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="the user's name")
    password: Password = Field(description="their password, or the secret that works once")


class PasswordParams(BodyParams):
    """A new password."""

    password: Password = Field(description="the new password, 8 characters or more")
    current_password: Password | None = Field(
        default=None, description="the password until now; only who has none yet need not give it"
    )


class TokenParams(BodyParams):
    """A token to be made."""

    name: str = Field(description="what you will know the token by, 1 to 64 characters")
    scopes: list[Permission] | None = Field(
        default=None, min_length=1, max_length=len(Permission), description="all that it may do; else whatever you may"
    )
    catalogues: list[CatalogueName] | None = Field(
        default=None, min_length=1, max_length=100, description="all that it sees; else whatever you see"
    )
    expires_in_days: StrictInt | None = Field(
        default=None,
        ge=1,
        le=3650,
        description="when it ends; else it lasts until it is revoked, which a token that ends cannot ask for",
    )


class AccountEndpoints:
    """What somebody does with their own account."""

    def __init__(self, service: Service, control: Control) -> None:
        self._service = service
        self._control = control

    async def log_in(self, request: Request, body: dict[str, Any]) -> Response:
        """Begin a session for whoever knows the password."""
        wanted = validated(LoginParams, body)
        refusal = self._find_refusal(wanted.name, request)
        ask = CallContext(
            principal=ANONYMOUS,
            via="rest",
            operation="account/login",
            target=wanted.name,
            parameters={"name": wanted.name},
            cost=Cost.READ if refusal else Cost.WRITE,  # guessing must not make us write to the disk at each guess
        )
        secret, credential, user = await self._perform(ask, lambda: self._enter(wanted, refusal))
        return self._session_reply(request, secret, credential, user)

    async def log_out(self, request: Request) -> Response:
        """End the session that was shown. This is never one call too many."""
        caller = asking(request).principal
        secret = find_secret(request.headers) or ""
        ask = _ask(replace(caller, quotas=None), "logout", cost=Cost.WRITE)
        await self._perform(ask, lambda: self._leave(secret))
        reply = Response(status_code=204, headers=SECRET)
        reply.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=self._is_https(request))
        return reply

    async def show_me(self, request: Request) -> Response:
        """Answer with who the caller is, and what they may do."""
        identity, kind = identity_of(request), _kind(find_secret(request.headers))
        me = await self._perform(_ask(identity.principal, "me"), lambda: self._describe(identity, kind))
        return JSONReply(me, headers=PRIVATE)

    async def set_password(self, request: Request, body: dict[str, Any]) -> Response:
        """Set the caller's password; every session of theirs ends, and a new one begins."""
        wanted, principal = validated(PasswordParams, body), asking(request).principal
        ask = _ask(principal, "set_password", cost=Cost.WRITE)
        secret, credential, user = await self._perform(ask, lambda: self._put_password(request, principal, wanted))
        return self._session_reply(request, secret, credential, user)

    async def list_tokens(self, request: Request) -> Response:
        """Answer with the caller's tokens that are not revoked, the newest first."""
        identity = identity_of(request)
        found = await self._perform(
            _ask(identity.principal, "list_tokens"),
            lambda: self._control.credentials.list_of(identity.principal.name),
        )
        tokens = [one for one in found if one.kind == "token" and not one.revoked]
        return JSONReply({"tokens": [_token_entry(one, identity) for one in tokens]}, headers=PRIVATE)

    async def create_token(self, request: Request, body: dict[str, Any]) -> Response:
        """Make a token; its secret is in this answer and in no other."""
        wanted, identity = validated(TokenParams, body), identity_of(request)
        kind = _kind(find_secret(request.headers))
        ask = _ask(
            identity.principal,
            "create_token",
            target=wanted.name,
            parameters=wanted.model_dump(mode="json", exclude={"name"}, exclude_none=True),
            cost=Cost.WRITE,
        )

        def work(gate: Gate) -> tuple[str, Credential]:
            gate.require_catalogues(identity.principal, wanted.catalogues or (), field="catalogues")
            return self._issue(identity, kind, wanted)

        secret, credential = await self._service.gate.perform(ask, work)
        reply = {"token": secret, **_token_entry(credential, identity)}
        return JSONReply(reply, status_code=201, headers=SECRET)

    async def revoke_token(self, request: Request) -> Response:
        """End a token, or a session."""
        identity, wanted = identity_of(request), str(request.path_params["id"])
        principal, shown = identity.principal, identity.credential_id
        ask = _ask(principal, "revoke_token", target=wanted, cost=Cost.WRITE)
        await self._perform(ask, lambda: self._control.credentials.revoke(principal, wanted, shown=shown))
        return Response(status_code=204, headers=SECRET)

    async def _perform(self, ask: CallContext, work: Callable[[], ResultT]) -> ResultT:
        return await self._service.gate.perform(ask, lambda _gate: work())

    def _find_refusal(self, name: str, request: Request) -> RateLimitedError | None:
        """Count an attempt to show a password; return why it is one too many."""
        try:
            self._control.login_limiter.require(name, request.client.host if request.client else "")
        except RateLimitedError as error:
            return error
        return None

    def _enter(self, wanted: LoginParams, refusal: ExpectedError | None) -> tuple[str, Credential, User]:
        if refusal:
            raise refusal
        user = self._control.accounts.check_login(wanted.name, wanted.password)
        if user is None:
            raise UnauthenticatedError(WRONG_PAIR)
        return (*self._control.credentials.issue_session(user), user)

    def _leave(self, secret: str) -> None:
        if _kind(secret) != "session":
            raise ConflictError("this is no session but a token: DELETE /v1/tokens/ID revokes it")
        self._control.credentials.revoke_secret(secret)

    def _describe(self, identity: Identity, kind: str) -> dict[str, Any]:
        principal = identity.principal
        user = self._control.accounts.get_user(principal.name)
        held = self._control.credentials.list_of(principal.name)
        name = next((one.name for one in held if one.id == identity.credential_id), "")
        credential = {
            "id": identity.credential_id,
            "kind": kind,
            **({"name": name} if name else {}),
            "scopes": None if identity.scopes is None else sorted(identity.scopes),
            "catalogues": None if principal.visibility.only is None else sorted(principal.visibility.only),
            "expires_at": identity.expires_at,
        }
        must_change = kind == "session" and _has_no_password(user)
        return _me(principal, roles=list(user.roles), credential=credential, must_change_password=must_change)

    def _put_password(
        self, request: Request, principal: Principal, wanted: PasswordParams
    ) -> tuple[str, Credential, User]:
        user = self._control.accounts.get_user(principal.name)
        if user.has_password:
            self._require_known(request, user.name, wanted.current_password)
        self._control.accounts.set_password(principal, user.name, wanted.password)
        changed = self._control.accounts.get_user(user.name)
        return (*self._control.credentials.issue_session(changed), changed)

    def _require_known(self, request: Request, name: str, password: str | None) -> None:
        if password is None:
            raise InputError("'current_password' is missing: the password until now")
        refusal = self._find_refusal(name, request)
        if refusal:
            raise refusal
        if self._control.accounts.check_login(name, password) is None:
            raise ForbiddenError("'current_password' is not right")

    def _issue(self, identity: Identity, kind: str, wanted: TokenParams) -> tuple[str, Credential]:
        lasts = None if wanted.expires_in_days is None else timedelta(days=wanted.expires_in_days)
        _require_no_longer(identity, kind, lasts)
        return self._control.credentials.issue_token(
            identity.principal,
            identity.principal.name,
            name=wanted.name,
            scopes=wanted.scopes,
            catalogues=wanted.catalogues,
            expires_in=lasts,
        )

    def _session_reply(self, request: Request, secret: str, credential: Credential, user: User) -> Response:
        body = {
            "token": secret,
            "expires_at": credential.expires_at,
            "user": user.name,
            "must_change_password": _has_no_password(user),
        }
        reply = JSONReply(body, headers=SECRET)
        reply.set_cookie(
            COOKIE,
            secret,
            expires=credential.expires_at,
            path="/",
            httponly=True,
            samesite="strict",
            secure=self._is_https(request),
        )
        return reply

    def _is_https(self, request: Request) -> bool:
        return base_url(self._service.settings, request.scope).startswith("https:")


class LocalEndpoints:
    """What is left of accounts where there are none."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def show_me(self, request: Request) -> Response:
        """Answer that the caller is the local user."""
        principal = asking(request).principal
        me = await self._service.gate.perform(
            _ask(principal, "me"),
            lambda _gate: _me(principal, roles=[], credential=None, must_change_password=False),
        )
        return JSONReply(me, headers=PRIVATE)

    async def refuse(self, _request: Request) -> Response:
        """Say that there are no accounts."""
        raise NotFoundError("this server has no accounts: whoever reaches it is the local user, and needs no token")


def _ask(
    principal: Principal,
    operation: str,
    *,
    target: str = "",
    parameters: dict[str, Any] | None = None,
    cost: Cost = Cost.READ,
) -> CallContext:
    return CallContext(
        principal=principal,
        via="rest",
        operation=f"account/{operation}",
        target=target or principal.name,
        parameters=parameters or {},
        cost=cost,
    )


def _me(
    principal: Principal, *, roles: list[str], credential: dict[str, Any] | None, must_change_password: bool
) -> dict[str, Any]:
    return {
        "name": principal.name,
        "roles": roles,
        "permissions": sorted(principal.actions),
        "credential": credential,
        "expires_at": credential["expires_at"] if credential else None,
        "quotas": _quotas(principal.quotas),
        "must_change_password": must_change_password,
    }


def _quotas(quotas: Quotas | None) -> dict[str, int] | None:
    return None if quotas is None else {str(cost): quotas.of(cost) for cost in Cost}


def _token_entry(credential: Credential, identity: Identity) -> dict[str, Any]:
    return {
        "id": credential.id,
        "name": credential.name,
        "scopes": None if credential.scopes is None else sorted(credential.scopes),
        "catalogues": None if credential.catalogues is None else sorted(credential.catalogues),
        "created_at": credential.created_at,
        "expires_at": credential.expires_at,
        "last_used_at": credential.last_used_at,
        "is_this": credential.id == identity.credential_id,
    }


def _kind(secret: str | None) -> str:
    """Return what kind of credential a secret is, by its form; one of another form is an external issuer's."""
    return next((kind for kind, prefix in PREFIXES.items() if (secret or "").startswith(prefix)), "external")


def _has_no_password(user: User) -> bool:
    return not user.has_password and not user.external


def _require_no_longer(identity: Identity, kind: str, lasts: timedelta | None) -> None:
    """Refuse a token that would outlive the one it is made with; only who has logged in decides how long it lasts."""
    if kind == "session" or identity.expires_at is None:
        return
    left = identity.expires_at - datetime.now(UTC)
    if lasts is not None and lasts <= left:
        return
    ends = identity.expires_at.isoformat(timespec="seconds")
    most = f"give 'expires_in_days', at most {left.days}, or log in first" if left.days else "log in first"
    raise ForbiddenError(f"what you show ends at {ends}, and cannot make a token that lasts longer: {most}")
