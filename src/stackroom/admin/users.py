"""Users: the operations on accounts. `control.accounts` decides which actor may change which user."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from stackroom.control.accounts.accounts import USUAL_ROLES, User
from stackroom.control.accounts.users import NO_ROLE, fold_name, named_roles
from stackroom.model.principal import Action, Cost
from stackroom.tools.budget import PricedResult
from stackroom.tools.operation import CommandOption, ListParams, Operation, OperationCall, SecretInput, SeveralOf
from stackroom.tools.result_text import result_text
from stackroom.tools.schema import is_empty, is_none
from stackroom.tools.spec import BARE_LIST, BARE_OBJECT_OR_NULL, GenericParams, GenericResult

NO_ACCOUNTS = "there are no accounts here yet; make the first: stackroom user add NAME --role admin"
COLUMNS = ("name", "roles", "granted", "permissions", "disabled", "has_password", "has_one_time_password")

UserName = Annotated[str, Field(max_length=256, description="the user's name")]
Permission = Annotated[Action, WithJsonSchema({"type": "string", "enum": [*map(str, Action)]})]
Permissions = Annotated[list[Action], WithJsonSchema({"type": "array", "items": {"enum": [*map(str, Action)]}})]
Password = Annotated[str, SecretInput()]
ALL = "all"
Catalogues = SeveralOf[Annotated[str, Field(min_length=1, max_length=200)]]


class UserRow(GenericResult):
    """A user, without secrets."""

    name: str
    roles: list[str]
    permissions: list[str]
    granted: list[str]
    """Permissions besides those of their roles."""
    disabled: bool
    has_password: bool
    has_one_time_password: bool
    """Whether a one-time password waits to be used."""
    created_at: str
    hidden_catalogues: list[str] | None = Field(default=None, exclude_if=is_none)
    """The catalogues that they do not see; only for a user who is asked for by name."""
    catalogues: list[str] | None = Field(default=None, exclude_if=is_none)
    """The only catalogues that they see, by a list of their own; null: no such list."""


class RoleRow(GenericResult):
    """A role."""

    name: str
    permissions: list[str]
    quotas: dict[str, int] | None
    """Calls a minute; null: as configured."""
    builtin: bool
    """Whether it comes with every server, and cannot be deleted."""
    catalogues: list[str] | None = Field(default=None, exclude_if=is_none)
    """The only catalogues that it shows; null: no limit."""


class UsersResult(PricedResult, GenericResult):
    """A page of users, or of roles."""

    paged: ClassVar[tuple[str, ...]] = ("users", "roles")

    users: Annotated[list[UserRow], BARE_LIST]
    roles: Annotated[list[RoleRow], BARE_LIST] = Field(default_factory=list, exclude_if=is_empty)
    """For the query 'roles', in place of users."""
    total: int
    has_more: bool


class UserChanged(GenericResult):
    """A user or a role after a change."""

    action: str
    name: str
    user: Annotated[UserRow | None, BARE_OBJECT_OR_NULL]
    """null after 'delete', and for a role."""
    role: Annotated[RoleRow | None, BARE_OBJECT_OR_NULL] = Field(default=None, exclude_if=is_none)
    """The role that was made or changed."""
    one_time_password: str | None
    """Logs the user in once; it is shown only here."""
    valid_tokens: int | None = Field(default=None, exclude_if=is_none)
    """After a reset: how many tokens of theirs are still valid."""


class NamedUser(GenericParams):
    """A user by name."""

    name: UserName


class CreateUser(NamedUser):
    """A user to be created."""

    role: Annotated[SeveralOf[str] | None, CommandOption("--role")] = Field(
        default=None, description=f"a role, several, or '{NO_ROLE}'; default: user"
    )
    permissions: Annotated[Permissions, CommandOption("--grant")] = Field(
        default_factory=list, description="permissions besides those of the roles"
    )
    password: Password | None = Field(default=None, description="else one that works once is made")
    catalogues: Annotated[Catalogues | None, CommandOption("--catalogue")] = Field(
        default=None, description=f"the only catalogues that they see; '{ALL}', the default: all"
    )


class SetCatalogues(NamedUser):
    """The only catalogues that a user sees."""

    catalogues: Catalogues = Field(min_length=1, description=f"catalogues, or '{ALL}'")


class ResetPassword(NamedUser):
    """A user who gets a password that works once."""

    revoke_tokens: Annotated[bool, CommandOption("--revoke-tokens")] = Field(
        default=False, description="with a password that works once: their tokens end as well"
    )


class SetPassword(ResetPassword):
    """A new password of a user."""

    password: Password | None = Field(default=None, description="else one that works once is made")


class SetRole(NamedUser):
    """The roles that replace those of a user."""

    role: SeveralOf[str] = Field(min_length=1, description=f"a role, several, or '{NO_ROLE}' for none")


class GrantPermission(NamedUser):
    """A permission of a user besides those of their roles."""

    permission: SeveralOf[Action] = Field(min_length=1, description="a permission, or several")


def _list_users(call: OperationCall, params: ListParams) -> UsersResult:
    users, total = call.control.accounts.list_users(offset=params.offset, limit=params.limit)
    has_more = params.offset + len(users) < total
    return UsersResult(users=[_user_row(user) for user in users], total=total, has_more=has_more)


def _get_user(call: OperationCall, params: NamedUser) -> UsersResult:
    user = call.control.accounts.get_user(params.name)
    hidden = call.control.access.hidden_from(user)
    seen = sorted(name for name in hidden if call.principal.visibility.sees_catalogue(name))
    row = _user_row(user).model_copy(update={"hidden_catalogues": seen})
    return UsersResult(users=[row], total=1, has_more=False)


def _create_user(call: OperationCall, params: CreateUser) -> UserChanged:
    accounts, actor = call.control.accounts, call.principal
    roles = USUAL_ROLES if params.role is None else named_roles(params.role)
    user = accounts.create_user(
        actor,
        params.name,
        password=params.password,
        roles=roles,
        grants=params.permissions,
        catalogues=None if params.catalogues is None else listed(call, params.catalogues),
    )
    if params.password is not None:
        return _changed("create", user)
    secret = accounts.reset_password(actor, user.name)
    return _changed("create", accounts.get_user(user.name), secret=secret)


def listed(call: OperationCall, names: Sequence[str]) -> frozenset[str] | None:
    """Return a list of catalogues that the caller sees; None for all, those that come later too."""
    if list(names) == [ALL]:
        return None
    for name in names:
        call.require_catalogue(name)
    return frozenset(names)


def _set_catalogues(call: OperationCall, params: SetCatalogues) -> UserChanged:
    only = listed(call, params.catalogues)
    return _changed("set_catalogues", call.control.accounts.set_catalogues(call.principal, params.name, only))


def _set_password(call: OperationCall, params: SetPassword) -> UserChanged:
    if params.password is None:
        return _reset_password(call, params)
    call.control.accounts.set_password(call.principal, params.name, params.password)
    return _changed("set_password", call.control.accounts.get_user(params.name))


def _reset_password(call: OperationCall, params: ResetPassword) -> UserChanged:
    control = call.control
    secret = control.accounts.reset_password(call.principal, params.name, revoke_tokens=params.revoke_tokens)
    user = control.accounts.get_user(params.name)
    valid = sum(one.user == user.name and one.kind == "token" for one in control.credentials.list_all())
    return _changed("reset_password", user, secret=secret).model_copy(update={"valid_tokens": valid or None})


def _set_role(call: OperationCall, params: SetRole) -> UserChanged:
    return _changed("set_role", call.control.accounts.set_roles(call.principal, params.name, named_roles(params.role)))


def _grant_or_revoke(change: Literal["grant", "revoke"], call: OperationCall, params: GrantPermission) -> UserChanged:
    accounts = call.control.accounts
    for permission in dict.fromkeys(params.permission):
        user = (accounts.grant if change == "grant" else accounts.revoke)(call.principal, params.name, permission)
    return _changed(change, user)


def _disable_or_enable(change: Literal["disable", "enable"], call: OperationCall, params: NamedUser) -> UserChanged:
    accounts = call.control.accounts
    return _changed(change, accounts.set_disabled(call.principal, params.name, disabled=change == "disable"))


def _end_sessions(call: OperationCall, params: NamedUser) -> UserChanged:
    return _changed("end_sessions", call.control.accounts.end_sessions(call.principal, params.name))


def _delete_user(call: OperationCall, params: NamedUser) -> UserChanged:
    call.control.accounts.delete_user(call.principal, params.name)
    return UserChanged(action="delete", name=fold_name(params.name), user=None, one_time_password=None)


def _require_user(call: OperationCall, params: NamedUser) -> None:
    call.control.accounts.get_user(params.name)


def _user_row(user: User) -> UserRow:
    return UserRow(
        name=user.name,
        roles=list(user.roles),
        permissions=sorted(user.actions),
        granted=sorted(user.granted),
        disabled=user.disabled,
        has_password=user.has_password,
        has_one_time_password=user.has_one_time_password,
        created_at=user.created_at.isoformat(timespec="seconds"),
        catalogues=None if user.catalogues is None else sorted(user.catalogues),
    )


def _changed(action: str, user: User, *, secret: str | None = None) -> UserChanged:
    return UserChanged(action=action, name=user.name, user=_user_row(user), one_time_password=secret)


def changed_text(result: UserChanged) -> str:
    """Return what was done, and after a reset how to end the tokens that are still valid."""
    offer = ["to end their tokens too, reset with revoke_tokens"] if result.valid_tokens else []
    return "\n".join([result_text(result), *offer])


_declare = partial(Operation, actions=(Action.MANAGE_PERMISSIONS,))
declare_query = partial(_declare, result=UsersResult, cost=Cost.READ, empty=NO_ACCOUNTS)
declare_change = partial(
    _declare, result=UserChanged, cost=Cost.WRITE, text=changed_text, target="name", arguments=("name",)
)
LIST_USERS = declare_query(
    name="account/list_users",
    summary="List the accounts.",
    params=ListParams,
    run=_list_users,
    rest="GET /v1/users",
    command="user list",
    example="--json",
    table="users",
    columns=COLUMNS,
)
GET_USER = declare_query(
    name="account/get_user",
    summary="Show the account NAME, and the catalogues that are hidden from it.",
    params=NamedUser,
    run=_get_user,
    rest="GET /v1/users/{name}",
    command="user show",
    arguments=("name",),
    example="ada",
    table="users",
    columns=(*COLUMNS, "hidden_catalogues", "catalogues", "created_at"),
    is_single=True,
)
CREATE_USER = declare_change(
    name="account/create_user",
    summary="Create the account NAME.",
    params=CreateUser,
    run=_create_user,
    rest="POST /v1/users",
    status=201,
    command="user add",
    example="ada --role editor --grant ViewAnalytics",
    details="At a terminal, you are asked for the password. A one-time password is alone on standard output, "
    "everything else on standard error.",
    secret="one_time_password",
    makes_accounts=True,
)
SET_PASSWORD = declare_change(
    name="account/set_password",
    summary="Set the password of NAME.",
    params=SetPassword,
    run=_set_password,
    rest="PUT /v1/users/{name}/password",
    command="user passwd",
    example="ada --one-time",
    details="With --one-time, print a password that replaces it and works once. Their sessions end; their tokens "
    "stay valid, unless --revoke-tokens is given too.",
    secret="one_time_password",
    check=_require_user,
)
RESET_PASSWORD = declare_change(
    name="account/reset_password",
    summary="Replace the password of a user with one that works once.",
    params=ResetPassword,
    run=_reset_password,
    secret="one_time_password",
)
SET_ROLE = declare_change(
    name="account/set_roles",
    summary='Replace the roles of NAME with ROLE; "none" takes all of them away.',
    params=SetRole,
    run=_set_role,
    rest="PUT /v1/users/{name}/roles",
    command="user role",
    arguments=("name", "role"),
    example="ada user editor",
)
SET_CATALOGUES = declare_change(
    name="account/set_catalogues",
    summary="Let NAME see each CATALOGUE, and nothing else that is there or comes later.",
    params=SetCatalogues,
    run=_set_catalogues,
    rest="PUT /v1/users/{name}/catalogues",
    command="user catalogues",
    arguments=("name", "catalogues"),
    example="ada films",
    details='"all" takes the list away. What is restricted stays hidden all the same.',
)
GRANT = declare_change(
    name="account/grant",
    summary="Grant NAME each PERMISSION besides those of their roles.",
    params=GrantPermission,
    run=partial(_grant_or_revoke, "grant"),
    rest="POST /v1/users/{name}/grants",
    command="user grant",
    arguments=("name", "permission"),
    example="ada ViewAnalytics",
)
REVOKE = declare_change(
    name="account/revoke",
    summary="Revoke each PERMISSION that NAME was granted.",
    params=GrantPermission,
    run=partial(_grant_or_revoke, "revoke"),
    rest="POST /v1/users/{name}/revocations",
    command="user revoke",
    arguments=("name", "permission"),
    example="ada ViewAnalytics",
    details="To take away a permission of a role, change their roles, then grant what they should keep.",
)
DISABLE = declare_change(
    name="account/disable_user",
    summary="Disable the account NAME.",
    params=NamedUser,
    run=partial(_disable_or_enable, "disable"),
    rest="POST /v1/users/{name}/disable",
    command="user disable",
    example="ada",
    details="Their sessions end, and their tokens do not work until the account is enabled again.",
)
ENABLE = declare_change(
    name="account/enable_user",
    summary="Enable the account NAME again.",
    params=NamedUser,
    run=partial(_disable_or_enable, "enable"),
    rest="POST /v1/users/{name}/enable",
    command="user enable",
    example="ada",
)
END_SESSIONS = declare_change(
    name="account/end_sessions",
    summary="End the sessions of a user.",
    params=NamedUser,
    run=_end_sessions,
)
DELETE_USER = declare_change(
    name="account/delete_user",
    summary="Delete the account NAME.",
    params=NamedUser,
    run=_delete_user,
    rest="DELETE /v1/users/{name}",
    command="user delete",
    example="ada --yes",
    details="Its sessions and tokens end with it. Its calls stay in the audit.",
    question="delete user '{name}', with their sessions and tokens?",
    check=_require_user,
)
USER_OPERATIONS = (
    LIST_USERS,
    GET_USER,
    CREATE_USER,
    SET_PASSWORD,
    RESET_PASSWORD,
    SET_ROLE,
    SET_CATALOGUES,
    GRANT,
    REVOKE,
    DISABLE,
    ENABLE,
    END_SESSIONS,
    DELETE_USER,
)
