"""The tools `users.query` and `users.mutate`; `control.accounts` decides which actor may change which user."""

from collections.abc import Callable
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, ClassVar

from pydantic import Field

from pinakes.control.accounts.accounts import USUAL_ROLES, Accounts, User
from pinakes.control.accounts.names import fold_name
from pinakes.errors import InputError
from pinakes.model.principal import Action, Cost, Principal
from pinakes.tools.admin.row_text import more_text
from pinakes.tools.budget import OffsetParams, PricedResult
from pinakes.tools.spec import (
    BARE_LIST,
    BARE_OBJECT_OR_NULL,
    GenericParams,
    GenericResult,
    ToolSpec,
    one_of,
    require_argument,
)


class UsersQuery(StrEnum):
    """The kinds of query."""

    LIST = "list"
    GET = "get"


class UserAction(StrEnum):
    """The actions of `users.mutate`."""

    CREATE = "create"
    DELETE = "delete"
    SET_ROLE = "set_role"
    GRANT = "grant"
    REVOKE = "revoke"
    DISABLE = "disable"
    ENABLE = "enable"
    RESET_PASSWORD = "reset_password"


class UsersQueryParams(OffsetParams, GenericParams):
    """The arguments of `users.query`."""

    query_type: Annotated[UsersQuery, one_of(UsersQuery)]
    name: str | None = Field(default=None, description="For 'get'")
    limit: int = Field(default=20, ge=1, le=200)


class UsersMutateParams(GenericParams):
    """The arguments of `users.mutate`."""

    action: Annotated[UserAction, one_of(UserAction)]
    name: str = Field(description="Of the user")
    role: str | None = Field(default=None, description="For 'create' and 'set_role'")
    permission: Action | None = Field(default=None, description="For 'grant' and 'revoke'")
    password: str | None = Field(default=None, description="For 'create'; else a one-time one is made")


class UserRow(GenericResult):
    """A user, without secrets."""

    name: str
    roles: list[str]
    permissions: list[str]
    granted: list[str]
    """Permissions besides those of their roles."""
    disabled: bool
    external: bool
    has_password: bool
    created_at: str


class UsersResult(PricedResult, GenericResult):
    """The answer of `users.query`."""

    paged: ClassVar[str] = "users"

    users: Annotated[list[UserRow], BARE_LIST]
    total: int
    has_more: bool


class UserChanged(GenericResult):
    """The answer of `users.mutate`."""

    action: str
    name: str
    user: Annotated[UserRow | None, BARE_OBJECT_OR_NULL]
    """null after 'delete'."""
    one_time_password: str | None
    """Logs the user in once; it is shown only here."""


class UserTools:
    """Reads and changes accounts with the rights of the caller."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._changes: dict[UserAction, Callable[[Principal, UsersMutateParams], UserChanged]] = {
            UserAction.CREATE: self._create,
            UserAction.DELETE: self._delete,
            UserAction.SET_ROLE: self._set_role,
            UserAction.GRANT: self._grant,
            UserAction.REVOKE: self._revoke,
            UserAction.DISABLE: lambda actor, params: self._set_disabled(actor, params, disabled=True),
            UserAction.ENABLE: lambda actor, params: self._set_disabled(actor, params, disabled=False),
            UserAction.RESET_PASSWORD: self._reset_password,
        }

    def query(self, _principal: Principal, params: UsersQueryParams) -> UsersResult:
        """Return a page of users, or one user."""
        if params.query_type is UsersQuery.GET:
            user = self._accounts.get_user(require_argument("name", params.name, params.query_type))
            return UsersResult(users=[_row(user)], total=1, has_more=False)
        if params.name is not None:
            raise InputError("'name' is for 'get'; 'list' has everybody")
        users, total = self._accounts.list_users(offset=params.offset, limit=params.limit)
        has_more = params.offset + len(users) < total
        return UsersResult(users=[_row(user) for user in users], total=total, has_more=has_more)

    def mutate(self, principal: Principal, params: UsersMutateParams) -> UserChanged:
        """Change an account."""
        _require_no_more_than_used(params)
        return self._changes[params.action](principal, params)

    def _create(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        roles = USUAL_ROLES if params.role is None else (params.role,)
        user = self._accounts.create_user(actor, params.name, password=params.password, roles=roles)
        secret = None if params.password is not None else self._accounts.reset_password(actor, user.name)
        return _changed(params, user, secret=secret)

    def _delete(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        self._accounts.delete_user(actor, params.name)
        return UserChanged(action=params.action, name=fold_name(params.name), user=None, one_time_password=None)

    def _set_role(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        role = require_argument("role", params.role, params.action)
        return _changed(params, self._accounts.set_roles(actor, params.name, [role]))

    def _grant(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        permission = require_argument("permission", params.permission, params.action)
        return _changed(params, self._accounts.grant(actor, params.name, permission))

    def _revoke(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        permission = require_argument("permission", params.permission, params.action)
        return _changed(params, self._accounts.revoke(actor, params.name, permission))

    def _set_disabled(self, actor: Principal, params: UsersMutateParams, *, disabled: bool) -> UserChanged:
        return _changed(params, self._accounts.set_disabled(actor, params.name, disabled=disabled))

    def _reset_password(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        secret = self._accounts.reset_password(actor, params.name)
        return _changed(params, self._accounts.get_user(params.name), secret=secret)


def users_tools(accounts: Accounts) -> list[ToolSpec]:
    """Declare `users.query` and `users.mutate`."""
    tools = UserTools(accounts)
    return [
        ToolSpec(
            name="users.query",
            description="Users with their roles and permissions.",
            params=UsersQueryParams,
            result=UsersResult,
            action=Action.MANAGE_PERMISSIONS,
            cost=Cost.READ,
            run=tools.query,
            text=_users_text,
            count_of=attrgetter("total"),
        ),
        ToolSpec(
            name="users.mutate",
            description="Create or delete a user, or change their role, permissions or password.",
            params=UsersMutateParams,
            result=UserChanged,
            action=Action.MANAGE_PERMISSIONS,
            cost=Cost.WRITE,
            read_only=False,
            run=tools.mutate,
            text=_changed_text,
        ),
    ]


USED = {
    UserAction.CREATE: {"role", "password"},
    UserAction.SET_ROLE: {"role"},
    UserAction.GRANT: {"permission"},
    UserAction.REVOKE: {"permission"},
}
"""Action → the optional arguments it uses."""


def _require_no_more_than_used(params: UsersMutateParams) -> None:
    """Refuse an argument that the action would ignore."""
    given = {name for name in ("role", "permission", "password") if getattr(params, name) is not None}
    unused = sorted(given - USED.get(params.action, set()))
    if unused:
        raise InputError(f"'{unused[0]}' is not for '{params.action}'")


def _row(user: User) -> UserRow:
    return UserRow(
        name=user.name,
        roles=list(user.roles),
        permissions=sorted(user.actions),
        granted=sorted(user.granted),
        disabled=user.disabled,
        external=user.external,
        has_password=user.has_password,
        created_at=user.created_at.isoformat(timespec="seconds"),
    )


def _changed(params: UsersMutateParams, user: User, *, secret: str | None = None) -> UserChanged:
    return UserChanged(action=params.action, name=user.name, user=_row(user), one_time_password=secret)


def _line(user: UserRow) -> str:
    marks = [name for name in ("disabled", "external", "has_password") if getattr(user, name)]
    values = {"roles": user.roles, "permissions": user.permissions, "granted": user.granted}
    lists = [f"{name}: {', '.join(some)}" for name, some in values.items() if some]
    return f"{user.name}: {'; '.join([*(lists or ['no role']), *marks, f'created {user.created_at}'])}"


def _users_text(result: UsersResult) -> str:
    more = more_text(len(result.users), result.total, has_more=result.has_more)
    return "\n".join([f"{result.total} users", *(_line(user) for user in result.users), *more, *result.notes])


def _changed_text(result: UserChanged) -> str:
    """Return what was done, with the one-time secret: some clients read the text only."""
    secret = result.one_time_password
    user = [_line(result.user)] if result.user else []
    told = [f"the one-time password, which is not shown again: {secret}"] if secret else []
    return "\n".join([f"{result.action} {result.name}: done", *user, *told])
