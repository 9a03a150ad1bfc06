"""Logging in and out, the caller's account, password and tokens.

Every operation goes through the gate, so that it is limited and audited like any call. Passwords and secrets are in no
audit entry and in no message.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field, StrictInt, StringConstraints
from starlette.responses import Response

from pinakes.control.accounts.credentials import PREFIXES, Credential
from pinakes.control.accounts.users import User
from pinakes.control.control import Control
from pinakes.errors import (
    ConflictError,
    ExpectedError,
    ForbiddenError,
    InputError,
    RateLimitedError,
    UnauthenticatedError,
)
from pinakes.gate.gate import CallContext, Gate
from pinakes.model.principal import ANONYMOUS, Cost, Identity, Principal, Quotas
from pinakes.model.principal import Action as Permission
from pinakes.serve.http.authenticate import COOKIE, find_secret
from pinakes.serve.http.bodies import SMALL_BODY
from pinakes.serve.http.endpoints import ServerRequest, base_url
from pinakes.serve.http.replies import NO_STORE, is_none, model_reply
from pinakes.serve.http.service import Service
from pinakes.tools.endpoint import BodyParams, EndpointResult, EndpointSpec

LONGEST_PASSWORD = 1024
LONGEST_NAME = 256
WRONG_PAIR = "the name or the password is not right"

ResultT = TypeVar("ResultT")
Password = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PASSWORD)]
CatalogueName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


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


class TokenParams(BodyParams):
    """A token to be made."""

    name: str = Field(description="a name to recognise the token by, 1 to 64 characters")
    scopes: list[Permission] | None = Field(
        default=None,
        min_length=1,
        max_length=len(Permission),
        description="the permissions it is limited to; default: all of yours",
    )
    catalogues: list[CatalogueName] | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="the catalogues it is limited to; default: all that you see",
    )
    expires_in_days: StrictInt | None = Field(
        default=None,
        ge=1,
        le=3650,
        description="its lifetime; default: until it is revoked, for which the caller's own credential must not expire",
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


class TokenResult(EndpointResult):
    """A token of the caller's."""

    id: str
    name: str
    scopes: list[str] | None
    catalogues: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    is_this: bool


class CreatedTokenResult(TokenResult):
    """A new token, with its secret."""

    token: str


class TokensResult(EndpointResult):
    """The caller's tokens."""

    tokens: list[TokenResult]


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
    token_id = {"id": "as the list of tokens gives it"}
    return [
        session(
            "POST",
            "/v1/login",
            account.log_in,
            body=LoginParams,
            refusals=(401, 429, 503),
            is_public=True,
            operation="account/login",
        ),
        session("POST", "/v1/me/password", account.set_password, body=PasswordParams, refusals=(403, 409)),
        declare("POST", "/v1/logout", account.log_out, status=204, refusals=(409,), before_password=True),
        EndpointSpec("GET", "/v1/me", account.show_me, tag="account", result=MeResult, before_password=True),
        declare("GET", "/v1/tokens", account.list_tokens, result=TokensResult),
        declare(
            "POST",
            "/v1/tokens",
            account.create_token,
            body=TokenParams,
            status=201,
            result=CreatedTokenResult,
            refusals=(403, 409),
        ),
        declare(
            "DELETE",
            "/v1/tokens/{id}",
            account.revoke_token,
            path_parameters=token_id,
            status=204,
            refusals=(403, 404),
        ),
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
        wanted: LoginParams = request.body
        refusal = self._find_refusal(wanted.name, request)
        context = CallContext(
            principal=ANONYMOUS,
            via="rest",
            operation="account/login",
            target=wanted.name,
            parameters={"name": wanted.name},
            cost=Cost.READ if refusal else Cost.WRITE,  # a throttled guess must not cost a write to the disk
        )
        session = await self._perform(context, lambda: self._enter(wanted, refusal))
        self._control.login_limiter.note_success(session.user.name, _address_of(request))
        return self._session_reply(request, session)

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
        context = _context(identity.principal, "me")
        return model_reply(await self._perform(context, lambda: self._describe(identity, kind)))

    async def set_password(self, request: ServerRequest) -> Response:
        """Set the caller's password; every session of theirs ends, and a new one begins."""
        principal = request.caller.principal
        if request.identity.must_choose_password:
            principal = replace(principal, quotas=None)  # it is all that they may do
        context = _context(principal, "set_password", cost=Cost.WRITE)
        return self._session_reply(
            request, await self._perform(context, lambda: self._put_password(request, request.identity, request.body))
        )

    async def list_tokens(self, request: ServerRequest) -> Response:
        """List the caller's tokens that are not revoked, the newest first."""
        identity = request.identity
        found = await self._perform(
            _context(identity.principal, "list_tokens"),
            lambda: self._control.credentials.list_of(identity.principal.name),
        )
        tokens = [one for one in found if one.kind == "token" and not one.revoked]
        return model_reply(TokensResult(tokens=[TokenResult(**_token_fields(one, identity)) for one in tokens]))

    async def create_token(self, request: ServerRequest) -> Response:
        """Make a token; its secret is in this answer and in no other."""
        wanted: TokenParams = request.body
        identity, kind = request.identity, _kind(find_secret(request.http.headers))
        context = _context(
            identity.principal,
            "create_token",
            target=wanted.name,
            parameters=wanted.model_dump(mode="json", exclude={"name"}, exclude_none=True),
            cost=Cost.WRITE,
        )

        def work(gate: Gate) -> tuple[str, Credential]:
            gate.require_catalogues(identity.principal, wanted.catalogues or (), field="catalogues")
            return self._issue(identity, kind, wanted)

        secret, credential = await self._service.gate.perform(context, work)
        created = CreatedTokenResult(token=secret, **_token_fields(credential, identity))
        return model_reply(created, status=201, headers=NO_STORE)

    async def revoke_token(self, request: ServerRequest) -> Response:
        """Revoke a token, or a session."""
        identity, wanted = request.identity, str(request.http.path_params["id"])
        principal, shown = identity.principal, identity.credential_id
        context = _context(principal, "revoke_token", target=wanted, cost=Cost.WRITE)
        await self._perform(context, lambda: self._control.credentials.revoke(principal, wanted, shown=shown))
        return Response(status_code=204, headers=NO_STORE)

    async def _perform(self, context: CallContext, work: Callable[[], ResultT]) -> ResultT:
        return await self._service.gate.perform(context, lambda _gate: work())

    def _find_refusal(self, name: str, request: ServerRequest) -> RateLimitedError | None:
        """Count an attempt to send a password; return the error where it is one too many."""
        try:
            self._control.login_limiter.require(name, _address_of(request))
        except RateLimitedError as error:
            return error
        return None

    def _enter(self, wanted: LoginParams, refusal: ExpectedError | None) -> NewSession:
        if refusal:
            raise refusal
        user = self._control.accounts.check_login(wanted.name, wanted.password)
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
            return _me(principal, roles=[], credential=None, must_change_password=False)
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
        return _me(principal, roles=list(user.roles), credential=credential, must_change_password=must_change)

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


def _context(
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
    principal: Principal, *, roles: list[str], credential: CredentialResult | None, must_change_password: bool
) -> MeResult:
    return MeResult(
        name=principal.name,
        roles=roles,
        permissions=sorted(principal.actions),
        credential=credential,
        expires_at=credential.expires_at if credential else None,
        quotas=_quotas(principal.quotas),
        must_change_password=must_change_password,
    )


def _quotas(quotas: Quotas | None) -> dict[str, int] | None:
    return None if quotas is None else {str(cost): quotas.of(cost) for cost in Cost}


def _token_fields(credential: Credential, identity: Identity) -> dict[str, Any]:
    return {
        "id": credential.id,
        "name": credential.name,
        "scopes": _sorted(credential.scopes),
        "catalogues": _sorted(credential.catalogues),
        "created_at": credential.created_at,
        "expires_at": credential.expires_at,
        "last_used_at": credential.last_used_at,
        "is_this": credential.id == identity.credential_id,
    }


def _sorted(names: Iterable[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _kind(secret: str | None) -> str:
    """Return the kind of credential that a secret is, by its prefix; others are an external issuer's."""
    return next((kind for kind, prefix in PREFIXES.items() if (secret or "").startswith(prefix)), "external")


def _has_no_password(user: User) -> bool:
    return not user.has_password and not user.external


def _require_no_longer(identity: Identity, kind: str, lasts: timedelta | None) -> None:
    """Refuse a token that would outlive the one it is made with; a session may make one that lasts longer."""
    if kind == "session" or identity.expires_at is None:
        return
    left = identity.expires_at - datetime.now(UTC)
    if lasts is not None and lasts <= left:
        return
    ends = identity.expires_at.isoformat(timespec="seconds")
    most = f"give 'expires_in_days', at most {left.days}, or log in first" if left.days else "log in first"
    raise ForbiddenError(f"your token expires at {ends}, and cannot make a token that lasts longer: {most}")
