"""The tools `users.query` and `users.mutate`; `control.accounts` decides which actor may change which user."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, ClassVar, Self

from pydantic import Field, WithJsonSchema

from pinakes.control.accounts.accounts import BUILTIN_ROLES, MOST_A_MINUTE, USUAL_ROLES, Accounts, Role, User
from pinakes.control.accounts.names import NO_ROLE, fold_name, named_roles
from pinakes.control.accounts.users import UserFilter
from pinakes.errors import InputError
from pinakes.model.principal import Action, Cost, Principal, Quotas
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
    ROLES = "roles"


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
    END_SESSIONS = "end_sessions"
    CREATE_ROLE = "create_role"
    UPDATE_ROLE = "update_role"
    DELETE_ROLE = "delete_role"


Permissions = Annotated[list[Action], WithJsonSchema({"type": "array", "items": {"enum": [*map(str, Action)]}})]
CallsAMinute = Annotated[
    dict[Cost, Annotated[int, Field(ge=0, le=MOST_A_MINUTE)]],
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "integer"}}),
]


class UsersQueryParams(OffsetParams, GenericParams):
    """The arguments of `users.query`."""

    query_type: Annotated[UsersQuery, one_of(UsersQuery)]
    name: str | None = Field(default=None, description="For 'get'")
    role: str | None = Field(default=None, description="Filters 'list', as the next three do")
    permission: Action | None = Field(default=None, description="Filters 'list'")
    disabled: bool | None = None
    never_logged_in: bool | None = None
    limit: int = Field(default=20, ge=1, le=200)


class UsersMutateParams(GenericParams):
    """The arguments of `users.mutate`."""

    action: Annotated[UserAction, one_of(UserAction)]
    name: str = Field(description="Of the user, or of the role")
    role: str | list[str] | None = Field(
        default=None, description=f"For 'create' and 'set_role': one, several, or '{NO_ROLE}'"
    )
    permission: Action | None = Field(default=None, description="For 'grant' and 'revoke'")
    permissions: Permissions | None = Field(
        default=None, description="Of a role; for 'create', those granted besides the role"
    )
    quotas: CallsAMinute | None = Field(
        default=None, description="Of a role, calls a minute: read, write, sql; {} as configured"
    )
    password: str | None = Field(default=None, description="For 'create'; else a one-time one is made")
    session: str | None = Field(default=None, description="For 'end_sessions': only the session or token of this id")


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
    has_one_time_password: bool
    """Whether a one-time password waits to be used."""
    created_at: str


class RoleRow(GenericResult):
    """A role."""

    name: str
    permissions: list[str]
    quotas: dict[str, int] | None
    """Calls a minute; null: as configured."""
    builtin: bool
    """Whether it comes with every server, and cannot be deleted."""


class UsersResult(PricedResult, GenericResult):
    """The answer of `users.query`."""

    paged: ClassVar[str] = "users"

    users: Annotated[list[UserRow], BARE_LIST]
    roles: Annotated[list[RoleRow], BARE_LIST] = Field(default_factory=list, exclude_if=lambda roles: not roles)
    """For the query 'roles', in place of users."""
    total: int
    has_more: bool

    @property
    def item_count(self) -> int:
        """The number of users or roles."""
        return len(self.users) + len(self.roles)

    def first(self, count: int) -> Self:
        """Return the answer with its first users or roles only."""
        return self.model_copy(update={"users": self.users[:count], "roles": self.roles[:count], "has_more": True})


class UserChanged(GenericResult):
    """The answer of `users.mutate`."""

    action: str
    name: str
    user: Annotated[UserRow | None, BARE_OBJECT_OR_NULL]
    """null after 'delete', and for a role."""
    role: Annotated[RoleRow | None, BARE_OBJECT_OR_NULL] = Field(default=None, exclude_if=lambda role: role is None)
    """The role that was made or changed."""
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
            UserAction.END_SESSIONS: self._end_sessions,
            UserAction.CREATE_ROLE: self._create_role,
            UserAction.UPDATE_ROLE: self._update_role,
            UserAction.DELETE_ROLE: self._delete_role,
        }

    def query(self, _principal: Principal, params: UsersQueryParams) -> UsersResult:
        """Return a page of users or roles, or one user."""
        _require_asked_for(params)
        if params.query_type is UsersQuery.GET:
            user = self._accounts.get_user(require_argument("name", params.name, params.query_type))
            return UsersResult(users=[_row(user)], total=1, has_more=False)
        return self._list_roles(params) if params.query_type is UsersQuery.ROLES else self._list_users(params)

    def _list_users(self, params: UsersQueryParams) -> UsersResult:
        wanted = UserFilter(
            role=params.role,
            action=params.permission,
            disabled=params.disabled,
            never_logged_in=params.never_logged_in,
        )
        users, total = self._accounts.list_users(offset=params.offset, limit=params.limit, matching=wanted)
        has_more = params.offset + len(users) < total
        return UsersResult(users=[_row(user) for user in users], total=total, has_more=has_more)

    def _list_roles(self, params: UsersQueryParams) -> UsersResult:
        roles = self._accounts.list_roles()
        shown = roles[params.offset : params.offset + params.limit]
        has_more = params.offset + len(shown) < len(roles)
        return UsersResult(users=[], roles=[_role_row(role) for role in shown], total=len(roles), has_more=has_more)

    def mutate(self, principal: Principal, params: UsersMutateParams) -> UserChanged:
        """Change an account."""
        _require_no_more_than_used(params)
        return self._changes[params.action](principal, params)

    def _create(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        roles = USUAL_ROLES if params.role is None else _roles(params.role)
        grants = params.permissions or ()
        user = self._accounts.create_user(actor, params.name, password=params.password, roles=roles, grants=grants)
        if params.password is not None:
            return _changed(params, user)
        secret = self._accounts.reset_password(actor, user.name)
        return _changed(params, self._accounts.get_user(user.name), secret=secret)

    def _delete(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        self._accounts.delete_user(actor, params.name)
        return UserChanged(action=params.action, name=fold_name(params.name), user=None, one_time_password=None)

    def _set_role(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        roles = require_argument("role", None if params.role is None else _roles(params.role), params.action)
        return _changed(params, self._accounts.set_roles(actor, params.name, roles))

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

    def _end_sessions(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        return _changed(params, self._accounts.end_sessions(actor, params.name, credential_id=params.session))

    def _create_role(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        permissions = require_argument("permissions", params.permissions, params.action)
        role = self._accounts.create_role(actor, params.name, permissions, _quotas(params.quotas))
        return _role_changed(params, role)

    def _update_role(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        permissions, quotas = params.permissions, params.quotas
        if permissions is None and quotas is None:
            raise InputError("'update_role' needs 'permissions', 'quotas' or both; what is left out stays")

        def change(role: Role) -> Role:
            return replace(
                role,
                actions=role.actions if permissions is None else frozenset(permissions),
                quotas=role.quotas if quotas is None else _quotas(quotas),
            )

        return _role_changed(params, self._accounts.change_role(actor, params.name, change))

    def _delete_role(self, actor: Principal, params: UsersMutateParams) -> UserChanged:
        self._accounts.delete_role(actor, params.name)
        return UserChanged(action=params.action, name=params.name.lower(), user=None, one_time_password=None)


def users_tools(accounts: Accounts) -> list[ToolSpec]:
    """Declare `users.query` and `users.mutate`."""
    tools = UserTools(accounts)
    return [
        ToolSpec(
            name="users.query",
            description="Users with their roles and permissions, or the roles.",
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
            description="Create, change or delete a user or a role. Nobody gives more than they have.",
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
    UserAction.CREATE: {"role", "permissions", "password"},
    UserAction.SET_ROLE: {"role"},
    UserAction.GRANT: {"permission"},
    UserAction.REVOKE: {"permission"},
    UserAction.END_SESSIONS: {"session"},
    UserAction.CREATE_ROLE: {"permissions", "quotas"},
    UserAction.UPDATE_ROLE: {"permissions", "quotas"},
}
"""Action → the optional arguments it uses."""
OPTIONAL = ("role", "permission", "permissions", "quotas", "password", "session")
ASKED_FOR = {
    UsersQuery.LIST: {"role", "permission", "disabled", "never_logged_in"},
    UsersQuery.GET: {"name"},
    UsersQuery.ROLES: set[str](),
}
"""Kind of query → the optional arguments it uses."""


def _require_no_more_than_used(params: UsersMutateParams) -> None:
    """Refuse an argument that the action would ignore."""
    given = {name for name in OPTIONAL if getattr(params, name) is not None}
    unused = sorted(given - USED.get(params.action, set()))
    if unused:
        raise InputError(f"'{unused[0]}' is not for '{params.action}'")


def _require_asked_for(params: UsersQueryParams) -> None:
    """Refuse an argument that the query would ignore."""
    given = {name for names in ASKED_FOR.values() for name in names if getattr(params, name) is not None}
    unused = sorted(given - ASKED_FOR[params.query_type])
    if unused:
        right = next(one for one, names in ASKED_FOR.items() if unused[0] in names)
        raise InputError(f"'{unused[0]}' is for '{right}', not for '{params.query_type}'")


def _roles(given: str | list[str]) -> list[str]:
    return named_roles([given] if isinstance(given, str) else given)


def _quotas(given: dict[Cost, int] | None) -> Quotas | None:
    """Return the quotas of a role; None, the configured ones, where no number is given."""
    if not given:
        return None
    missing = [f"'{cost}'" for cost in Cost if cost not in given]
    if missing:
        raise InputError(f"'quotas' needs {', '.join(missing)} too: give read, write and sql, or {{}} as configured")
    return Quotas(read=given[Cost.READ], write=given[Cost.WRITE], sql=given[Cost.SQL])


def _row(user: User) -> UserRow:
    return UserRow(
        name=user.name,
        roles=list(user.roles),
        permissions=sorted(user.actions),
        granted=sorted(user.granted),
        disabled=user.disabled,
        external=user.external,
        has_password=user.has_password,
        has_one_time_password=user.has_one_time_password,
        created_at=user.created_at.isoformat(timespec="seconds"),
    )


def _role_row(role: Role) -> RoleRow:
    quotas = role.quotas
    return RoleRow(
        name=role.name,
        permissions=sorted(role.actions),
        quotas=None if quotas is None else {str(cost): quotas.of(cost) for cost in Cost},
        builtin=role.name in BUILTIN_ROLES,
    )


def _role_changed(params: UsersMutateParams, role: Role) -> UserChanged:
    return UserChanged(action=params.action, name=role.name, user=None, role=_role_row(role), one_time_password=None)


def _changed(params: UsersMutateParams, user: User, *, secret: str | None = None) -> UserChanged:
    return UserChanged(action=params.action, name=user.name, user=_row(user), one_time_password=secret)


MARKS = ("disabled", "external", "has_password", "has_one_time_password")


def _line(user: UserRow) -> str:
    marks = [name for name in MARKS if getattr(user, name)]
    values = {"roles": user.roles, "permissions": user.permissions, "granted": user.granted}
    lists = [f"{name}: {', '.join(some)}" for name, some in values.items() if some]
    return f"{user.name}: {'; '.join([*(lists or ['no role']), *marks, f'created {user.created_at}'])}"


def _users_text(result: UsersResult) -> str:
    more = more_text(result.item_count, result.total, has_more=result.has_more)
    what = "roles" if result.roles else "users"
    lines = [*(_line(user) for user in result.users), *(_role_line(role) for role in result.roles)]
    return "\n".join([f"{result.total} {what}", *lines, *more, *result.notes])


def _role_line(role: RoleRow) -> str:
    calls = "" if role.quotas is None else ", ".join(f"{cost} {number}" for cost, number in role.quotas.items())
    parts = [", ".join(role.permissions) or "no permission", *([f"calls a minute: {calls}"] if calls else [])]
    return f"{role.name}: {'; '.join([*parts, *(['builtin'] if role.builtin else [])])}"


def _changed_text(result: UserChanged) -> str:
    """Return what was done, with the one-time secret: some clients read the text only."""
    secret = result.one_time_password
    user = [_line(result.user)] if result.user else [_role_line(result.role)] if result.role else []
    told = [f"the one-time password, which is not shown again: {secret}"] if secret else []
    return "\n".join([f"{result.action} {result.name}: done", *user, *told])
