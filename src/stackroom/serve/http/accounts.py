"""Logging in and out, and the caller's account and password.

Every operation goes through the gate, so that it is limited and audited like any call. Passwords and secrets are in no
audit entry and in no message.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field, StringConstraints
from starlette.responses import Response

from stackroom.control.accounts.credentials import PREFIXES, Credential
from stackroom.control.accounts.users import User
from stackroom.control.control import Control
from stackroom.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    RateLimitedError,
    UnauthenticatedError,
)
from stackroom.gate.auditing import CallContext
from stackroom.model.principal import Cost, Identity, Principal
from stackroom.serve.async_gate import Caller
from stackroom.serve.http.endpoints import STRANGER, ServerRequest, base_url
from stackroom.serve.http.guard import COOKIE, SMALL_BODY, find_secret
from stackroom.serve.http.replies import NO_STORE, model_reply
from stackroom.serve.http.service import Service
from stackroom.tools.endpoint import BodyParams, EndpointResult, EndpointSpec
from stackroom.tools.schema import is_none

LONGEST_PASSWORD = 1024
LONGEST_NAME = 256
WRONG_PAIR = "the name or the password is not right"

ResultT = TypeVar("ResultT")
Password = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PASSWORD)]


class LoginParams(BodyParams):
    """A name and a password."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="the user's name")
    password: Password = Field(description="the password, or the one-time secret")


class PasswordParams(BodyParams):
    """A new password."""

    password: Password = Field(description="the new password, 8 characters or more")
    current_password: Password | None = Field(
        default=None, description="the current password; needed unless there is none yet"
    )


class SessionResult(EndpointResult):
    """A session that has begun."""

    token: str
    expires_at: datetime | None
    user: str
    must_change_password: bool


class CredentialResult(EndpointResult):
    """The credential that the caller sent."""

    id: str
    kind: str
    name: str | None = Field(default=None, exclude_if=is_none)
    scopes: list[str] | None
    catalogues: list[str] | None
    expires_at: datetime | None


class MeResult(EndpointResult):
    """The caller, and what they may do."""

    name: str
    roles: list[str]
    permissions: list[str]
    credential: CredentialResult | None
    expires_at: datetime | None
    quotas: dict[str, int] | None
    must_change_password: bool


class NewSession(NamedTuple):
    """A session that has begun, with its secret."""

    secret: str
    credential: Credential
    user: User


def account_endpoints(service: Service) -> list[EndpointSpec]:
    """Return the endpoints of the caller's own account."""
    account = AccountEndpoints(service)
    declare = partial(EndpointSpec, tag="account", needs_accounts=True, max_body_bytes=SMALL_BODY)
    session = partial(declare, result=SessionResult, before_password=True)
    return [
        session(
            "POST",
            "/v1/login",
            account.log_in,
            body=LoginParams,
            is_public=True,
            operation="account/login",
        ),
        session("POST", "/v1/me/password", account.set_password, body=PasswordParams),
        declare("POST", "/v1/logout", account.log_out, status=204, before_password=True),
        EndpointSpec("GET", "/v1/me", account.show_me, tag="account", result=MeResult, before_password=True),
    ]


class AccountEndpoints:
    """Operations of a caller on their own account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def _control(self) -> Control:
        assert self._service.control is not None, "endpoints that need accounts are refused without them"
        return self._service.control

    async def log_in(self, request: ServerRequest) -> Response:
        """Begin a session; its token is also set as a cookie."""
        return self._session_reply(request, await self.begin_session(request, request.body))

    async def begin_session(
        self, request: ServerRequest, wanted: LoginParams, *, takes_one_time: bool = True
    ) -> NewSession:
        """Check a name and a password, and begin a session; attempts are limited and audited."""
        refusal = await self._service.workers.run_aside(lambda: self._find_refusal(wanted.name, request))
        cost = Cost.READ if refusal else Cost.WRITE  # a throttled guess must not cost a write to the disk
        context = STRANGER.asking("account/login", wanted.name, {"name": wanted.name}, cost=cost)
        session = await self._perform(context, lambda: self._enter(wanted, refusal, takes_one_time=takes_one_time))
        self._control.login_limiter.note_success(session.user.name, _address_of(request))
        return session

    async def log_out(self, request: ServerRequest) -> Response:
        """End the session."""
        caller = request.caller.principal
        secret = find_secret(request.http.headers) or ""
        unlimited = replace(caller, quotas=None)
        context = _context(unlimited, "logout", cost=Cost.WRITE)
        await self._perform(context, lambda: self._leave(secret))
        reply = Response(status_code=204, headers=NO_STORE)
        reply.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=self._is_https(request))
        return reply

    async def show_me(self, request: ServerRequest) -> Response:
        """Tell who the caller is and what they may do."""
        identity, kind = request.identity, _kind(find_secret(request.http.headers))
        # Not audited: every visit of the page begins with it.
        found = await self._service.gate.run(identity.principal, lambda _gate: self._describe(identity, kind))
        return model_reply(found)

    async def set_password(self, request: ServerRequest) -> Response:
        """Set the caller's password; every session of theirs ends, and a new one begins."""
        principal = request.caller.principal
        if request.identity.must_choose_password:
            principal = replace(principal, quotas=None)  # it is all that they may do
        context = _context(principal, "set_password", cost=Cost.WRITE)
        return self._session_reply(
            request, await self._perform(context, lambda: self._put_password(request, request.identity, request.body))
        )

    async def _perform(self, context: CallContext, work: Callable[[], ResultT]) -> ResultT:
        return await self._service.gate.perform(context, lambda _gate: work())

    def _find_refusal(self, name: str, request: ServerRequest) -> RateLimitedError | None:
        """Count an attempt to send a password; return the error where it is one too many."""
        try:
            self._control.login_limiter.require(name, _address_of(request))
        except RateLimitedError as error:
            return error
        return None

    def _enter(self, wanted: LoginParams, refusal: ExpectedError | None, *, takes_one_time: bool) -> NewSession:
        if refusal:
            raise refusal
        accounts = self._control.accounts
        user = accounts.check_login(wanted.name, wanted.password, takes_one_time=takes_one_time)
        if user is None:
            raise UnauthenticatedError(WRONG_PAIR)
        issued = self._control.credentials.issue_session(user, must_choose_password=not user.has_password)
        return NewSession(*issued, user)

    def _leave(self, secret: str) -> None:
        if _kind(secret) != "session":
            raise ConflictError("this is no session but a token: DELETE /v1/tokens/ID revokes it")
        self._control.credentials.revoke_secret(secret)

    def _describe(self, identity: Identity, kind: str) -> MeResult:
        principal = identity.principal
        if self._service.control is None:
            return _me(principal)
        user = self._control.accounts.get_user(principal.name)
        held = self._control.credentials.list_of(principal.name)
        name = next((one.name for one in held if one.id == identity.credential_id), "")
        credential = CredentialResult(
            id=identity.credential_id,
            kind=kind,
            name=name or None,
            scopes=_sorted(identity.scopes),
            catalogues=_sorted(principal.visibility.only),
            expires_at=identity.expires_at,
        )
        must_change = kind == "session" and _has_no_password(user)
        return _me(principal, roles=user.roles, credential=credential, must_change_password=must_change)

    def _put_password(self, request: ServerRequest, identity: Identity, wanted: PasswordParams) -> NewSession:
        accounts = self._control.accounts
        user = accounts.get_user(identity.principal.name)
        if identity.must_choose_password:
            accounts.choose_password(user.name, wanted.password)
        else:
            if user.has_password:
                self._require_known(request, user.name, wanted.current_password)
            accounts.set_password(identity.principal, user.name, wanted.password)
        changed = accounts.get_user(user.name)
        return NewSession(*self._control.credentials.issue_session(changed), changed)

    def _require_known(self, request: ServerRequest, name: str, password: str | None) -> None:
        if password is None:
            raise InputError("'current_password' is missing: give the current password")
        refusal = self._find_refusal(name, request)
        if refusal:
            raise refusal
        if self._control.accounts.check_login(name, password) is None:
            raise ForbiddenError("'current_password' is not right; give the one you log in with")

    def _session_reply(self, request: ServerRequest, session: NewSession) -> Response:
        body = SessionResult(
            token=session.secret,
            expires_at=session.credential.expires_at,
            user=session.user.name,
            must_change_password=_has_no_password(session.user),
        )
        reply = model_reply(body, headers=NO_STORE)
        reply.set_cookie(
            COOKIE,
            session.secret,
            expires=session.credential.expires_at,
            path="/",
            httponly=True,
            samesite="strict",
            secure=self._is_https(request),
        )
        return reply

    def _is_https(self, request: ServerRequest) -> bool:
        return base_url(self._service.settings, request.http.scope).startswith("https:")


def _address_of(request: ServerRequest) -> str:
    client = request.http.client
    return client.host if client else ""


def _context(principal: Principal, operation: str, *, cost: Cost = Cost.READ) -> CallContext:
    return Caller(principal=principal, via="rest").asking(f"account/{operation}", principal.name, {}, cost=cost)


def _me(
    principal: Principal,
    *,
    roles: Iterable[str] = (),
    credential: CredentialResult | None = None,
    must_change_password: bool = False,
) -> MeResult:
    quotas = principal.quotas
    return MeResult(
        name=principal.name,
        roles=list(roles),
        permissions=sorted(principal.actions),
        credential=credential,
        expires_at=credential.expires_at if credential else None,
        quotas=None if quotas is None else {str(cost): quotas.of(cost) for cost in Cost},
        must_change_password=must_change_password,
    )


def _sorted(names: Iterable[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _kind(secret: str | None) -> str:
    """Return the kind of credential that a secret is, by its prefix."""
    return next((kind for kind, prefix in PREFIXES.items() if (secret or "").startswith(prefix)), "none")


def _has_no_password(user: User) -> bool:
    return not user.has_password
