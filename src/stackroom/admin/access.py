"""Access: the operations on tokens, by which programs authenticate, and on catalogues that only
some may see.
"""

import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from stackroom.admin.declare import admin_operation
from stackroom.admin.users import Permissions, Sorted
from stackroom.control.accounts.credentials import Credential, is_issued_here
from stackroom.control.accounts.users import Restriction, fold_name
from stackroom.errors import ForbiddenError, InputError, NotFoundError
from stackroom.model.principal import LOCAL_USER, Action
from stackroom.tools.operation import (
    Call,
    Command,
    CommandOption,
    ListParams,
    Needs,
    SeveralOf,
)
from stackroom.tools.spec import GenericParams, GenericResult, optional

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
    users: Sorted
    roles: Sorted
    installed: bool
    """Whether it is in the library; a restriction can outlive its catalogue."""


class AccessResult(GenericResult):
    """The catalogues that the caller sees, and who may see each."""

    catalogues: list[AccessRow]


class ListTokens(ListParams):
    """Which tokens are listed."""

    user: str | None = optional("only those of this user; default: all that you may see")
    sessions: bool = Field(default=False, description="sessions of people who logged in too")


class CreateToken(GenericParams):
    """A token to be made."""

    name: str = Field(description="a name to recognise the token by, 1 to 64 characters")
    user: str | None = optional("whose token it is; default: yours", max_length=256)
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


KNOWN = Needs(accounts=True)
MANAGES = Needs(any_of=MANAGES_ACCESS, accounts=True)


@admin_operation(
    "account/list_tokens",
    "GET /v1/tokens",
    Command(
        "token list",
        example="--user ada",
        table="tokens",
        columns=(
            *("id", "user", "kind", "name", "scopes", "catalogues"),
            *("state", "expires_at", "last_used_at"),
        ),
        empty="there are no tokens",
    ),
    needs=KNOWN,
)
def list_tokens(call: Call, params: ListTokens) -> TokensResult:
    """List the valid tokens."""
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


def _require_catalogues(call: Call, params: CreateToken) -> None:
    for name in params.catalogues or ():
        call.require_catalogue(name)


@admin_operation(
    "account/create_token",
    "POST /v1/tokens",
    Command(
        "token add",
        example="laptop --user ada --scope AccessCatalog",
        check=_require_catalogues,
    ),
    secret="token",
    needs=KNOWN,
)
def create_token(call: Call, params: CreateToken) -> CreatedToken:
    """Create a token called NAME, and print its secret.

    The secret is alone on standard output, everything else on standard error; it is not shown
    again. Without --scope the token has all permissions of its user, now and later; without
    --catalogue it sees all catalogues of its user.
    """
    _require_catalogues(call, params)
    owner = params.user or call.principal.name
    if owner == LOCAL_USER.name:
        raise InputError("'user' is missing: whose token it is, as --user NAME")
    lasts = parse_lifetime(params.expires)
    _require_no_longer(call, lasts)
    given = params.model_dump(include={"name", "scopes", "catalogues"})
    issued = call.control.credentials.issue_token(call.principal, owner, **given, expires_in=lasts)
    return CreatedToken(**dict(_token_row(call, issued.credential)), token=issued.secret)


@admin_operation(
    "account/revoke_token",
    "DELETE /v1/tokens/{id}",
    Command("token revoke", example="3f9c2a7be410"),
    text="'{0.revoked}' is revoked".format,
    needs=KNOWN,
)
def revoke_token(call: Call, params: NamedToken) -> RevokedToken:
    """Revoke the token or session ID.

    A leaked secret can be given in place of the id.
    """
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


def _require_no_longer(call: Call, lasts: timedelta | None) -> None:
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


def _token_row(call: Call, credential: Credential) -> TokenRow:
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


@admin_operation(
    "account/list_access",
    "GET /v1/access",
    Command(
        "access list",
        example="--json",
        table="catalogues",
        columns=("catalogue", "restricted", "users", "roles", "installed"),
        empty="the library is empty; run: stackroom init",
        without_accounts=True,
    ),
    needs=MANAGES,
)
def list_access(call: Call, _params: GenericParams) -> AccessResult:
    """List the catalogues, and the users and roles of each."""
    restricted, installed = call.control.access.list_restrictions(), set(call.list_names())
    names = sorted(
        name
        for name in installed | set(restricted)
        if call.principal.visibility.sees_catalogue(name)
    )
    return AccessResult(
        catalogues=[_access_row(call, name, restricted.get(name)) for name in names]
    )


def _require_seen(call: Call, params: NamedCatalogue) -> None:
    call.require_catalogue(params.catalogue)


def _require_known(call: Call, params: NamedCatalogue) -> None:
    """Refuse a name that neither a catalogue nor a restriction has: a restriction can outlive its
    catalogue.
    """
    if params.catalogue not in call.control.access.list_restrictions():
        call.require_catalogue(params.catalogue)


def _access_row(call: Call, name: str, restriction: Restriction | None) -> AccessRow:
    return AccessRow(
        catalogue=name,
        restricted=restriction is not None,
        users=list(restriction.users) if restriction else [],
        roles=list(restriction.roles) if restriction else [],
        installed=name in call.list_names(),
    )


def _access_text(row: AccessRow) -> str:
    if not row.restricted:
        return f"'{row.catalogue}' is visible to everybody"
    names = [*(f"user '{name}'" for name in row.users), *(f"role '{name}'" for name in row.roles)]
    return (
        f"'{row.catalogue}' is for {', '.join(names) or 'nobody'}, and for those with ServerAdmin"
    )


@admin_operation(
    "account/restrict_catalogue",
    "PUT /v1/access/{catalogue}",
    Command(
        "access restrict",
        example="diary --user ada --role editor",
        check=_require_seen,
        makes_accounts=True,
    ),
    text=_access_text,
    needs=MANAGES,
)
def restrict(call: Call, params: RestrictCatalogue) -> AccessRow:
    """Restrict CATALOGUE to selected users and roles.

    They replace an earlier selection. Without any, only users with ServerAdmin see it.
    """
    _require_seen(call, params)
    restriction = call.control.access.restrict(
        call.principal, params.catalogue, users=params.users, roles=params.roles
    )
    return _access_row(call, params.catalogue, restriction)


@admin_operation(
    "account/open_catalogue",
    "DELETE /v1/access/{catalogue}",
    Command(
        "access open",
        example="diary",
        check=_require_known,
    ),
    text=_access_text,
    needs=MANAGES,
)
def open_to_all(call: Call, params: NamedCatalogue) -> AccessRow:
    """Remove the restriction of CATALOGUE."""
    call.control.access.open_to_all(call.principal, params.catalogue)
    return _access_row(call, params.catalogue, None)


TOKEN_OPERATIONS = (list_tokens, create_token, revoke_token)
ACCESS_OPERATIONS = (list_access, restrict, open_to_all)
