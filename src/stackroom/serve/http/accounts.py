"""Logging in and out, and the caller's account and password.

Every operation goes through the gate, so that it is limited and audited like any call. Passwords
and secrets are in no audit entry and in no message.
"""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated, Any, NamedTuple

import anyio.to_thread
from pydantic import Field, StringConstraints
from starlette.responses import Response

from stackroom.control.accounts.credentials import PREFIXES, Credential
from stackroom.control.accounts.users import User
from stackroom.control.control import Control
from stackroom.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    RateLimitedError,
    UnauthenticatedError,
)
from stackroom.gate.auditing import CallContext
from stackroom.gate.gate import Gate
from stackroom.model.principal import Cost, Identity, Principal
from stackroom.serve.http.guard import COOKIE, SMALL_BODY, find_secret
from stackroom.serve.http.replies import NO_STORE, model_reply
from stackroom.serve.http.service import STRANGER, ServerRequest
from stackroom.tools.faces.rest import ANYBODY, Door
from stackroom.tools.operation import Needs, Rest, origin_of
from stackroom.tools.spec import GenericParams, GenericResult, when_known

LONGEST_PASSWORD = 1024
LONGEST_NAME = 256
WRONG_PAIR = "the name or the password is not right"

Password = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PASSWORD)]


class LoginParams(GenericParams):
    """A name and a password."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME, description="the user's name")
    password: Password = Field(description="the password, or the one-time secret")


class PasswordParams(GenericParams):
    """A new password."""

    password: Password = Field(description="the new password, 8 characters or more")
    current_password: Password | None = Field(
        default=None, description="the current password; needed unless there is none yet"
    )


class SessionResult(GenericResult):
    """A session that has begun."""

    token: str
    expires_at: datetime | None
    user: str
    must_change_password: bool


class CredentialResult(GenericResult):
    """The credential that the caller sent."""

    id: str
    kind: str
    name: str | None = when_known()
    scopes: list[str] | None
    catalogues: list[str] | None
    expires_at: datetime | None


class MeResult(GenericResult):
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


async def log_in(request: ServerRequest) -> Response:
    """Begin a session; its token is also set as a cookie."""
    return _session_reply(request, await begin_session(request, request.params))


async def begin_session(
    request: ServerRequest, wanted: LoginParams, *, takes_one_time: bool = True
) -> NewSession:
    """Check a name and a password, and begin a session; attempts are limited and audited."""
    control = request.control
    refusal = await anyio.to_thread.run_sync(_find_refusal, request, wanted.name)

    def enter(_gate: Gate) -> NewSession:
        if refusal:
            raise refusal
        user = control.accounts.check_login(
            wanted.name, wanted.password, takes_one_time=takes_one_time
        )
        if user is None:
            raise UnauthenticatedError(WRONG_PAIR)
        return NewSession(
            *control.credentials.issue_session(user, must_choose_password=not user.has_password),
            user,
        )

    # a throttled guess must not cost a write to the disk
    cost = Cost.READ if refusal else Cost.WRITE
    context = CallContext(
        origin=STRANGER,
        operation="account/login",
        target=wanted.name,
        parameters={"name": wanted.name},
        cost=cost,
    )
    session = await request.service.gate.perform(context, enter)
    control.login_limiter.note_success(session.user.name, _address_of(request))
    return session


async def log_out(request: ServerRequest) -> Response:
    """End the session."""
    secret = find_secret(request.http.headers) or ""

    def leave(_gate: Gate) -> None:
        if _kind(secret) != "session":
            raise ConflictError("this is no session but a token: DELETE /v1/tokens/ID revokes it")
        request.control.credentials.revoke_secret(secret)

    unlimited = replace(request.caller.principal, quotas=None)
    await request.service.gate.perform(_context(unlimited, "logout"), leave)
    reply = Response(status_code=204, headers=NO_STORE)
    reply.delete_cookie(COOKIE, **_cookie_rules(request))
    return reply


async def show_me(request: ServerRequest) -> Response:
    """Tell who the caller is and what they may do."""
    service, identity = request.service, request.caller.identity
    kind = _kind(find_secret(request.http.headers))
    # Not audited: every visit of the page begins with it.
    me = await request.look(lambda _gate, _who: _describe(service.control, identity, kind))
    return model_reply(me)


async def set_password(request: ServerRequest) -> Response:
    """Set the caller's password; every session of theirs ends, and a new one begins."""
    principal = request.caller.principal
    if request.caller.identity.must_choose_password:
        principal = replace(principal, quotas=None)  # it is all that they may do
    context = _context(principal, "set_password")
    return _session_reply(
        request, await request.service.gate.perform(context, lambda _gate: _put_password(request))
    )


def _find_refusal(request: ServerRequest, name: str) -> RateLimitedError | None:
    """Count an attempt to send a password; return the error where it is one too many."""
    try:
        request.control.login_limiter.require(name, _address_of(request))
    except RateLimitedError as error:
        return error
    return None


def _describe(control: Control | None, identity: Identity, kind: str) -> MeResult:
    principal, quotas = identity.principal, identity.principal.quotas
    user = control.accounts.get_user(principal.name) if control else None
    credential = None
    if control:
        held = control.credentials.list_of(principal.name)
        name = next((one.name for one in held if one.id == identity.credential_id), "")
        credential = CredentialResult(
            id=identity.credential_id,
            kind=kind,
            name=name or None,
            scopes=None if identity.scopes is None else sorted(identity.scopes),
            catalogues=None
            if principal.visibility.only is None
            else sorted(principal.visibility.only),
            expires_at=identity.expires_at,
        )
    return MeResult(
        name=principal.name,
        roles=list(user.roles) if user else [],
        permissions=sorted(principal.actions),
        credential=credential,
        expires_at=identity.expires_at,
        quotas=None if quotas is None else {str(cost): quotas.of(cost) for cost in Cost},
        must_change_password=user is not None and kind == "session" and not user.has_password,
    )


def _put_password(request: ServerRequest) -> NewSession:
    accounts, identity, wanted = request.control.accounts, request.caller.identity, request.params
    user = accounts.get_user(identity.principal.name)
    if identity.must_choose_password:
        accounts.choose_password(user.name, wanted.password)
    else:
        if user.has_password:
            if wanted.current_password is None:
                raise InputError("'current_password' is missing: give the current password")
            if refusal := _find_refusal(request, user.name):
                raise refusal
            if accounts.check_login(user.name, wanted.current_password) is None:
                raise ForbiddenError(
                    "'current_password' is not right; give the one you log in with"
                )
        accounts.set_password(identity.principal, user.name, wanted.password)
    changed = accounts.get_user(user.name)
    return NewSession(*request.control.credentials.issue_session(changed), changed)


def _session_reply(request: ServerRequest, session: NewSession) -> Response:
    body = SessionResult(
        token=session.secret,
        expires_at=session.credential.expires_at,
        user=session.user.name,
        must_change_password=not session.user.has_password,
    )
    reply = model_reply(body, headers=NO_STORE)
    reply.set_cookie(
        COOKIE, session.secret, expires=session.credential.expires_at, **_cookie_rules(request)
    )
    return reply


def _cookie_rules(request: ServerRequest) -> dict[str, Any]:
    return {
        "path": "/",
        "httponly": True,
        "samesite": "strict",
        "secure": request.base_url.startswith("https:"),
    }


def _address_of(request: ServerRequest) -> str:
    client = request.http.client
    return client.host if client else ""


def _context(principal: Principal, operation: str) -> CallContext:
    return CallContext(
        origin=origin_of(principal, via="rest"),
        operation=f"account/{operation}",
        target=principal.name,
        parameters={},
        cost=Cost.WRITE,
    )


def _kind(secret: str | None) -> str:
    """Return the kind of credential that a secret is, by its prefix."""
    return next(
        (kind for kind, prefix in PREFIXES.items() if (secret or "").startswith(prefix)), "none"
    )


_rest = partial(Rest, tag="account", max_body_bytes=SMALL_BODY)
_door = partial(Door, needs=Needs(accounts=True), before_password=True)
ACCOUNT_DOORS = (
    Door(
        _rest("POST /v1/login"),
        log_in,
        replace(ANYBODY, accounts=True),
        named="account/login",
        body=LoginParams,
        result=SessionResult,
    ),
    _door(_rest("POST /v1/me/password"), set_password, body=PasswordParams, result=SessionResult),
    _door(_rest("POST /v1/logout", 204), log_out),
    Door(Rest("GET /v1/me", tag="account"), show_me, result=MeResult, before_password=True),
)
