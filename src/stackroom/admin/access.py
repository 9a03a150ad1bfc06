"""Access: the operations on tokens, by which programs authenticate, and on catalogues that only
some may see.
"""

import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from stackroom.admin.declare import declare, optional
from stackroom.admin.users import Permissions, Sorted
from stackroom.control.accounts.credentials import Credential, is_issued_here
from stackroom.control.accounts.users import Restriction, fold_name
from stackroom.errors import ForbiddenError, InputError, NotFoundError
from stackroom.model.principal import LOCAL_USER, Action, Cost
from stackroom.tools.operation import CommandOption, ListParams, OperationCall, SeveralOf
from stackroom.tools.spec import GenericParams, GenericResult

MANAGES_ACCESS = (Action.MANAGE_PERMISSIONS, Action.SERVER_ADMIN)
FOREVER = "never"
UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1)}
LIFETIME = re.compile(r"([0-9]{1,6})([dh])")
MOST_NAMES = 1000

Name = Annotated[str, Field(min_length=1, max_length=256)]


class TokenRow(GenericResult):
    """A session or token, without its secret."""

    id: str
    kind: Literal["session", "token"]
    user: str
    name: str
    scopes: Sorted | None
    """null: every permission of its user."""
    catalogues: list[str] | None
    """null: every catalogue that its user sees; else those of them that the caller sees."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    state: Literal["valid", "revoked", "over"]
    is_this: bool
    """Whether the caller authenticated with it."""


class TokensResult(GenericResult):
    """A page of tokens."""

    tokens: list[TokenRow]
    total: int
    has_more: bool


class CreatedToken(TokenRow):
    """A new token, with its secret."""

    token: str | None


class RevokedToken(GenericResult):
    """The id of a session or token that was revoked."""

    revoked: str


class AccessRow(GenericResult):
    """A catalogue, and who may see it besides administrators of the server."""

    catalogue: str
    restricted: bool
    users: list[str]
    roles: list[str]
    installed: bool
    """Whether it is in the library; a restriction can outlive its catalogue."""


class AccessResult(GenericResult):
    """The catalogues that the caller sees, and who may see each."""

    catalogues: list[AccessRow]


class ListTokens(ListParams):
    """Which tokens are listed."""

    user: str | None = Field(
        default=None, description="only those of this user; default: all that you may see"
    )
    sessions: bool = Field(default=False, description="sessions of people who logged in too")


class CreateToken(GenericParams):
    """A token to be made."""

    name: str = Field(description="a name to recognise the token by, 1 to 64 characters")
    user: str | None = Field(
        default=None, max_length=256, description="whose token it is; default: yours"
    )
    scopes: Annotated[Permissions | None, CommandOption("--scope")] = optional(
        "the permissions it is limited to; default: all of its user's",
        min_length=1,
        max_length=len(Action),
    )
    catalogues: Annotated[SeveralOf[Name] | None, CommandOption("--catalogue")] = optional(
        "the catalogues it is limited to; default: all that its user sees",
        min_length=1,
        max_length=100,
    )
    expires: Annotated[str, CommandOption("--expires", "90d|12h|never")] = Field(
        default="90d",
        max_length=50,
        description="how long it lasts: days, hours, or until it is revoked",
    )


class NamedToken(GenericParams):
    """A session or token by its id."""

    id: str = Field(
        max_length=200, description="as the list of tokens gives it, or a leaked secret itself"
    )


class NamedCatalogue(GenericParams):
    """A catalogue by name."""

    catalogue: str = Field(max_length=200, description="the catalogue's name")


class RestrictCatalogue(NamedCatalogue):
    """The users and roles that may see a catalogue, besides those who administer the server."""

    users: Annotated[SeveralOf[Name], CommandOption("--user", "NAME")] = Field(
        default_factory=list, max_length=MOST_NAMES, description="users who may see it"
    )
    roles: Annotated[SeveralOf[Name], CommandOption("--role", "NAME")] = Field(
        default_factory=list, max_length=MOST_NAMES, description="roles whose users may see it"
    )


def _list_tokens(call: OperationCall, params: ListTokens) -> TokensResult:
    manages = not call.principal.actions.isdisjoint(MANAGES_ACCESS)
    user = params.user or (None if manages else call.principal.name)
    if user is not None and fold_name(user) != call.principal.name and not manages:
        raise ForbiddenError(
            f"tokens of others need the permission {' or '.join(MANAGES_ACCESS)}; leave out 'user'"
        )
    known = call.control.credentials
    rows = [_token_row(call, one) for one in (known.list_of(user) if user else known.list_all())]
    rows = [
        row for row in rows if row.state == "valid" and (row.kind == "token" or params.sessions)
    ]
    shown, has_more = params.page_of(rows)
    return TokensResult(tokens=shown, total=len(rows), has_more=has_more)


def _create_token(call: OperationCall, params: CreateToken) -> CreatedToken:
    _require_catalogues(call, params)
    owner = params.user or call.principal.name
    if owner == LOCAL_USER.name:
        raise InputError("'user' is missing: whose token it is, as --user NAME")
    lasts = parse_lifetime(params.expires)
    _require_no_longer(call, lasts)
    given = params.model_dump(include={"name", "scopes", "catalogues"})
    issued = call.control.credentials.issue_token(call.principal, owner, **given, expires_in=lasts)
    return CreatedToken(**dict(_token_row(call, issued.credential)), token=issued.secret)


def _require_catalogues(call: OperationCall, params: CreateToken) -> None:
    for name in params.catalogues or ():
        call.require_catalogue(name)


def _revoke_token(call: OperationCall, params: NamedToken) -> RevokedToken:
    credential_id = params.id
    if is_issued_here(credential_id):
        found = call.control.credentials.find(credential_id)
        if found is None:
            raise NotFoundError(
                "no session or token with this secret is valid: it was revoked, has expired, or is"
                " from another server"
            )
        credential_id = found[0].id
    call.control.credentials.revoke(
        call.principal, credential_id, shown=call.identity.credential_id
    )
    return RevokedToken(revoked=credential_id)


def parse_lifetime(text: str) -> timedelta | None:
    """Parse a lifetime such as 90d or 12h; None for 'never'."""
    folded = text.strip().lower()
    if folded == FOREVER:
        return None
    form = LIFETIME.fullmatch(folded)
    if form is None:
        raise InputError(f"'expires': {text[:80]!r} is not a lifetime: write 90d, 12h or {FOREVER}")
    return int(form[1]) * UNITS[form[2]]


def _require_no_longer(call: OperationCall, lasts: timedelta | None) -> None:
    """Refuse a token that would outlive the one it is made with; a session may make one that lasts
    longer.
    """
    ends_at = call.identity.expires_at
    held = call.control.credentials.list_of(call.principal.name) if ends_at else []
    is_session = any(
        one.id == call.identity.credential_id and one.kind == "session" for one in held
    )
    if ends_at is None or is_session:
        return
    left = ends_at - datetime.now(UTC)
    if lasts is not None and lasts <= left:
        return
    ends = ends_at.isoformat(timespec="seconds")
    most = (
        f"give 'expires', at most '{left.days}d', or log in first" if left.days else "log in first"
    )
    raise ForbiddenError(
        f"your token expires at {ends}, and cannot make a token that lasts longer: {most}"
    )


def _token_row(call: OperationCall, credential: Credential) -> TokenRow:
    """Return a credential as the caller may see it: without the names of catalogues that are hidden
    from them.
    """
    values = asdict(credential)
    is_over = credential.expires_at is not None and credential.expires_at <= datetime.now(UTC)
    values["state"] = "revoked" if values.pop("revoked") else "over" if is_over else "valid"
    if credential.catalogues is not None:
        values["catalogues"] = sorted(
            filter(call.principal.visibility.sees_catalogue, credential.catalogues)
        )
    return TokenRow(**values, is_this=credential.id == call.identity.credential_id)


def _list_access(call: OperationCall, _params: GenericParams) -> AccessResult:
    restricted, installed = call.control.access.list_restrictions(), set(call.catalogues())
    names = sorted(
        name
        for name in installed | set(restricted)
        if call.principal.visibility.sees_catalogue(name)
    )
    return AccessResult(
        catalogues=[_access_row(call, name, restricted.get(name)) for name in names]
    )


def _require_seen(call: OperationCall, params: NamedCatalogue) -> None:
    call.require_catalogue(params.catalogue)


def _restrict(call: OperationCall, params: RestrictCatalogue) -> AccessRow:
    _require_seen(call, params)
    restriction = call.control.access.restrict(
        call.principal, params.catalogue, users=params.users, roles=params.roles
    )
    return _access_row(call, params.catalogue, restriction)


def _require_known(call: OperationCall, params: NamedCatalogue) -> None:
    """Refuse a name that neither a catalogue nor a restriction has: a restriction can outlive its
    catalogue.
    """
    if params.catalogue not in call.control.access.list_restrictions():
        call.require_catalogue(params.catalogue)


def _open(call: OperationCall, params: NamedCatalogue) -> AccessRow:
    call.control.access.open_to_all(call.principal, params.catalogue)
    return _access_row(call, params.catalogue, None)


def _access_row(call: OperationCall, name: str, restriction: Restriction | None) -> AccessRow:
    users, roles = (
        (sorted(restriction.users), sorted(restriction.roles)) if restriction else ([], [])
    )
    is_restricted, is_there = restriction is not None, name in call.catalogues()
    return AccessRow(
        catalogue=name, restricted=is_restricted, users=users, roles=roles, installed=is_there
    )


def _access_text(row: AccessRow) -> str:
    if not row.restricted:
        return f"'{row.catalogue}' is visible to everybody"
    names = [*(f"user '{name}'" for name in row.users), *(f"role '{name}'" for name in row.roles)]
    return (
        f"'{row.catalogue}' is for {', '.join(names) or 'nobody'}, and for those with ServerAdmin"
    )


_access = partial(
    declare, result=AccessRow, actions=MANAGES_ACCESS, cost=Cost.WRITE, text=_access_text
)
_declare_of_all = partial(declare, actions=(), cost=Cost.WRITE)
LIST_TOKENS = _declare_of_all(
    "account/list_tokens", ListTokens, _list_tokens, result=TokensResult, cost=Cost.READ
)
CREATE_TOKEN = _declare_of_all(
    "account/create_token",
    CreateToken,
    _create_token,
    result=CreatedToken,
    secret="token",
    check=_require_catalogues,
)
REVOKE_TOKEN = _declare_of_all(
    "account/revoke_token",
    NamedToken,
    _revoke_token,
    result=RevokedToken,
    text="'{0.revoked}' is revoked".format,
)
ACCESS_READ = {"actions": MANAGES_ACCESS, "cost": Cost.READ, "needs_accounts": False}
LIST_ACCESS = declare(
    "account/list_access", GenericParams, _list_access, result=AccessResult, **ACCESS_READ
)
RESTRICT = _access(
    "account/restrict_catalogue",
    RestrictCatalogue,
    _restrict,
    check=_require_seen,
    makes_accounts=True,
)
OPEN = _access("account/open_catalogue", NamedCatalogue, _open, check=_require_known)
TOKEN_OPERATIONS = (LIST_TOKENS, CREATE_TOKEN, REVOKE_TOKEN)
ACCESS_OPERATIONS = (LIST_ACCESS, RESTRICT, OPEN)
