"""Users and roles: the operations on them, and the tools `users.query` and `users.mutate`, which
choose among all.

`control.accounts` decides which actor may change which user or role.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from stackroom.admin.declare import declare, declare_change_tool, declare_query_tool, optional
from stackroom.control.accounts.accounts import BUILTIN_ROLES, USUAL_ROLES, Role, User
from stackroom.control.accounts.users import NO_ROLE, fold_name, named_roles
from stackroom.control.control import Control
from stackroom.errors import InputError
from stackroom.model.principal import Action, Cost, Principal, Quotas
from stackroom.tools.budget import OffsetParams, PricedResult
from stackroom.tools.operation import (
    CommandOption,
    ListParams,
    OperationCall,
    OperationChoice,
    SecretInput,
    SeveralOf,
    identity_of,
)
from stackroom.tools.result_text import result_text
from stackroom.tools.schema import is_empty, is_none
from stackroom.tools.spec import (
    BARE_LIST,
    BARE_OBJECT_OR_NULL,
    GenericParams,
    GenericResult,
    ToolSpec,
)

NO_ACCOUNTS = "there are no accounts here yet; make the first: stackroom user add NAME --role admin"

UserName = Annotated[str, Field(max_length=256, description="the user's name")]
Permission = Annotated[Action, WithJsonSchema({"type": "string", "enum": [*map(str, Action)]})]
Permissions = Annotated[
    list[Action], WithJsonSchema({"type": "array", "items": {"enum": [*map(str, Action)]}})
]
Password = Annotated[str, SecretInput()]
Sorted = Annotated[list[str], BeforeValidator(sorted)]
ALL = "all"
Catalogues = SeveralOf[Annotated[str, Field(min_length=1, max_length=200)]]
OnlyCatalogues = Annotated[Catalogues | None, CommandOption("--catalogue")]
RoleName = Annotated[str, Field(max_length=256, description="the role's name")]
CallsAMinute = Annotated[
    dict[Cost, Annotated[int, Field(ge=0, le=1_000_000)]],
    WithJsonSchema(
        {"type": "object", "properties": {str(cost): {"type": "integer"} for cost in Cost}}
    ),
    CommandOption("--{}-per-minute", "N"),
]


class UserRow(GenericResult):
    """A user, without secrets."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    roles: list[str]
    permissions: Sorted = Field(validation_alias="actions")
    granted: Sorted
    """Permissions besides those of their roles."""
    disabled: bool
    has_password: bool
    has_one_time_password: bool
    """Whether a one-time password waits to be used."""
    created_at: Annotated[str, BeforeValidator(lambda at: at.isoformat(timespec="seconds"))]
    hidden_catalogues: list[str] | None = Field(default=None, exclude_if=is_none)
    """The catalogues that they do not see; only for a user who is asked for by name."""
    catalogues: Sorted | None = Field(default=None, exclude_if=is_none)
    """The only catalogues that they see, by a list of their own; null: no such list."""


class RoleRow(GenericResult):
    """A role."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    permissions: Sorted = Field(validation_alias="actions")
    quotas: Annotated[
        dict[str, int] | None, BeforeValidator(lambda quotas: quotas and asdict(quotas))
    ]
    """Calls a minute; null: as configured."""
    builtin: Annotated[bool, BeforeValidator(BUILTIN_ROLES.__contains__)] = Field(
        validation_alias="name"
    )
    """Whether it comes with every server, and cannot be deleted."""
    catalogues: Sorted | None = Field(default=None, exclude_if=is_none)
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

    role: Annotated[SeveralOf[str] | None, CommandOption("--role")] = optional(
        f"a role, several, or '{NO_ROLE}'; default: user"
    )
    permissions: Annotated[Permissions, CommandOption("--grant")] = Field(
        default_factory=list, description="permissions besides those of the roles"
    )
    password: Password | None = Field(default=None, description="else one that works once is made")
    catalogues: OnlyCatalogues = optional(
        f"the only catalogues that they see; '{ALL}', the default: all"
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

    role: SeveralOf[str] = Field(
        min_length=1, description=f"a role, several, or '{NO_ROLE}' for none"
    )


class GrantPermission(NamedUser):
    """A permission of a user besides those of their roles."""

    permission: SeveralOf[Action] = Field(min_length=1, description="a permission, or several")


_user_row = UserRow.model_validate


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
    user = accounts.create_user(
        actor,
        params.name,
        password=params.password,
        roles=USUAL_ROLES if params.role is None else named_roles(params.role),
        grants=params.permissions,
        catalogues=listed(call, params.catalogues),
    )
    if params.password is not None:
        return _changed("create", user)
    secret = accounts.reset_password(actor, user.name)
    return _changed("create", accounts.get_user(user.name), secret=secret)


def listed(call: OperationCall, names: Sequence[str] | None) -> frozenset[str] | None:
    """Return a list of catalogues that the caller sees; None for all, those that come later too."""
    if names is None or list(names) == [ALL]:
        return None
    for name in names:
        call.require_catalogue(name)
    return frozenset(names)


def _set_catalogues(call: OperationCall, params: SetCatalogues) -> UserChanged:
    only = listed(call, params.catalogues)
    return _changed(
        "set_catalogues", call.control.accounts.set_catalogues(call.principal, params.name, only)
    )


def _set_password(call: OperationCall, params: SetPassword) -> UserChanged:
    if params.password is None:
        return _reset_password(call, params)
    call.control.accounts.set_password(call.principal, params.name, params.password)
    return _changed("set_password", call.control.accounts.get_user(params.name))


def _reset_password(call: OperationCall, params: ResetPassword) -> UserChanged:
    control = call.control
    secret = control.accounts.reset_password(
        call.principal, params.name, revoke_tokens=params.revoke_tokens
    )
    user = control.accounts.get_user(params.name)
    valid = sum(
        one.user == user.name and one.kind == "token" for one in control.credentials.list_all()
    )
    return _changed("reset_password", user, secret=secret).model_copy(
        update={"valid_tokens": valid or None}
    )


def _set_role(call: OperationCall, params: SetRole) -> UserChanged:
    return _changed(
        "set_role",
        call.control.accounts.set_roles(call.principal, params.name, named_roles(params.role)),
    )


def _grant_or_revoke(
    change: Literal["grant", "revoke"], call: OperationCall, params: GrantPermission
) -> UserChanged:
    accounts = call.control.accounts
    for permission in dict.fromkeys(params.permission):
        user = (accounts.grant if change == "grant" else accounts.revoke)(
            call.principal, params.name, permission
        )
    return _changed(change, user)


def _disable_or_enable(
    change: Literal["disable", "enable"], call: OperationCall, params: NamedUser
) -> UserChanged:
    accounts = call.control.accounts
    return _changed(
        change, accounts.set_disabled(call.principal, params.name, disabled=change == "disable")
    )


def _end_sessions(call: OperationCall, params: NamedUser) -> UserChanged:
    return _changed("end_sessions", call.control.accounts.end_sessions(call.principal, params.name))


def _delete_user(call: OperationCall, params: NamedUser) -> UserChanged:
    call.control.accounts.delete_user(call.principal, params.name)
    return UserChanged(
        action="delete", name=fold_name(params.name), user=None, one_time_password=None
    )


def _require_user(call: OperationCall, params: NamedUser) -> None:
    call.control.accounts.get_user(params.name)


def _changed(action: str, user: User, *, secret: str | None = None) -> UserChanged:
    return UserChanged(
        action=action, name=user.name, user=_user_row(user), one_time_password=secret
    )


def changed_text(result: UserChanged) -> str:
    """Return what was done, and after a reset how to end the tokens that are still valid."""
    offer = ["to end their tokens too, reset with revoke_tokens"] if result.valid_tokens else []
    return "\n".join([result_text(result), *offer])


class NamedRole(GenericParams):
    """A role by name."""

    name: RoleName


class CreateRole(NamedRole):
    """A role to be created."""

    permissions: Annotated[Permissions, CommandOption("--allow")] = Field(
        description="what those who have it may do"
    )
    quotas: CallsAMinute | None = optional(
        "calls a minute; those left out, and {}, are as configured"
    )
    catalogues: OnlyCatalogues = optional(
        f"the only catalogues that it shows; '{ALL}', the default: all"
    )


class UpdateRole(NamedRole):
    """The changes of a role."""

    permissions: Annotated[Permissions | None, CommandOption("--allow")] = optional(
        "what those who have it may do; replaces what they may do now"
    )
    quotas: CallsAMinute | None = optional(
        "calls a minute; those left out stay, and {} is as configured"
    )
    catalogues: OnlyCatalogues = optional(f"the only catalogues that it shows, or '{ALL}'")


_role_row = RoleRow.model_validate


def _list_roles(call: OperationCall, params: ListParams) -> UsersResult:
    roles = call.control.accounts.list_roles()
    shown, has_more = params.page_of(roles)
    return UsersResult(
        users=[], roles=[_role_row(role) for role in shown], total=len(roles), has_more=has_more
    )


def _create_role(call: OperationCall, params: CreateRole) -> UserChanged:
    quotas = _completed(params.quotas, call.control.usual_quotas)
    only = listed(call, params.catalogues)
    role = call.control.accounts.create_role(
        call.principal, params.name, params.permissions, quotas, only
    )
    return _role_changed("create_role", role)


def _update_role(call: OperationCall, params: UpdateRole) -> UserChanged:
    permissions, quotas = params.permissions, params.quotas
    if permissions is None and quotas is None and params.catalogues is None:
        raise InputError(
            "nothing to change: 'update_role' needs 'permissions', 'quotas' or 'catalogues'"
        )
    only = listed(call, params.catalogues)

    def change(role: Role) -> Role:
        completed = _completed(quotas, role.quotas or call.control.usual_quotas)
        return replace(
            role,
            actions=role.actions if permissions is None else frozenset(permissions),
            quotas=role.quotas if quotas is None else completed,
            catalogues=role.catalogues if params.catalogues is None else only,
        )

    return _role_changed(
        "update_role", call.control.accounts.change_role(call.principal, params.name, change)
    )


def _delete_role(call: OperationCall, params: NamedRole) -> UserChanged:
    call.control.accounts.delete_role(call.principal, params.name)
    return UserChanged(
        action="delete_role", name=params.name.lower(), user=None, one_time_password=None
    )


def _completed(given: dict[Cost, int] | None, present: Quotas) -> Quotas | None:
    """Return the quotas of a role, completed from the present ones; None, the configured ones, if
    none is given.
    """
    if not given:
        return None
    return Quotas(**{cost: given.get(cost, present.of(cost)) for cost in Cost})


def _role_changed(action: str, role: Role) -> UserChanged:
    return UserChanged(
        action=action, name=role.name, user=None, role=_role_row(role), one_time_password=None
    )


_declare = partial(declare, actions=(Action.MANAGE_PERMISSIONS,))
_declare_query = partial(_declare, result=UsersResult, cost=Cost.READ, empty=NO_ACCOUNTS)
_change = partial(
    _declare,
    result=UserChanged,
    cost=Cost.WRITE,
    text=changed_text,
    target="name",
    arguments=("name",),
)
LIST_USERS = _declare_query("account/list_users", ListParams, _list_users)
GET_USER = _declare_query("account/get_user", NamedUser, _get_user)
CREATE_USER = _change(
    "account/create_user", CreateUser, _create_user, secret="one_time_password", makes_accounts=True
)
SET_PASSWORD = _change(
    "account/set_password",
    SetPassword,
    _set_password,
    secret="one_time_password",
    check=_require_user,
)
RESET_PASSWORD = _change(
    "account/reset_password", ResetPassword, _reset_password, secret="one_time_password"
)
SET_ROLE = _change("account/set_roles", SetRole, _set_role)
SET_CATALOGUES = _change("account/set_catalogues", SetCatalogues, _set_catalogues)
GRANT = _change("account/grant", GrantPermission, partial(_grant_or_revoke, "grant"))
REVOKE = _change("account/revoke", GrantPermission, partial(_grant_or_revoke, "revoke"))
DISABLE = _change("account/disable_user", NamedUser, partial(_disable_or_enable, "disable"))
ENABLE = _change("account/enable_user", NamedUser, partial(_disable_or_enable, "enable"))
END_SESSIONS = _change("account/end_sessions", NamedUser, _end_sessions)
DELETE_USER = _change("account/delete_user", NamedUser, _delete_user, check=_require_user)
USER_OPERATIONS = (
    *(LIST_USERS, GET_USER, CREATE_USER, SET_PASSWORD, RESET_PASSWORD, SET_ROLE, SET_CATALOGUES),
    *(GRANT, REVOKE, DISABLE, ENABLE, END_SESSIONS, DELETE_USER),
)
LIST_ROLES = _declare_query("account/list_roles", ListParams, _list_roles)
CREATE_ROLE = _change("account/create_role", CreateRole, _create_role, makes_accounts=True)
UPDATE_ROLE = _change("account/change_role", UpdateRole, _update_role)
DELETE_ROLE = _change("account/delete_role", NamedRole, _delete_role)
ROLE_OPERATIONS = (LIST_ROLES, CREATE_ROLE, UPDATE_ROLE, DELETE_ROLE)
QUERIES = OperationChoice("query_type", {"list": LIST_USERS, "get": GET_USER, "roles": LIST_ROLES})
_OF_USERS = {
    "create": CREATE_USER,
    "delete": DELETE_USER,
    "set_role": SET_ROLE,
    "set_catalogues": SET_CATALOGUES,
}
_OF_RIGHTS = {"grant": GRANT, "revoke": REVOKE, "disable": DISABLE, "enable": ENABLE}
_OF_SESSIONS = {"reset_password": RESET_PASSWORD, "end_sessions": END_SESSIONS}
_OF_ROLES = {"create_role": CREATE_ROLE, "update_role": UPDATE_ROLE, "delete_role": DELETE_ROLE}
CHANGES = OperationChoice("action", {**_OF_USERS, **_OF_RIGHTS, **_OF_SESSIONS, **_OF_ROLES})


class UsersQueryParams(OffsetParams, GenericParams):
    """The arguments of `users.query`."""

    query_type: Literal["list", "get", "roles"]
    name: str | None = Field(default=None, description="User to get")
    limit: int = Field(default=20, ge=1, le=200)


class UsersMutateParams(GenericParams):
    """The arguments of `users.mutate`."""

    action: Literal[*CHANGES.operations]  # type: ignore[valid-type]
    name: str = Field(description="Name of the user or role")
    role: str | list[str] | None = optional(
        f"For 'create' and 'set_role': one, several, or '{NO_ROLE}'"
    )
    permission: Action | None = Field(default=None, description="Permission to grant or revoke")
    permissions: Permissions | None = optional(
        "Permissions of a role; for 'create', of a user besides the role"
    )
    quotas: CallsAMinute | None = optional(
        "Calls a minute of a role: read, write, sql; {} as configured"
    )
    password: str | None = Field(
        default=None, description="For 'create'; else a one-time one is made"
    )
    revoke_tokens: bool | None = Field(
        default=None, description="For 'reset_password': their tokens end as well"
    )
    catalogues: list[str] | None = optional(
        f"The only catalogues that a user or role sees; ['{ALL}']: no list"
    )


def users_tools(
    control: Control, catalogues: Callable[[], Iterable[str]] = tuple
) -> list[ToolSpec]:
    """Declare `users.query` and `users.mutate`; `catalogues` returns the names of those that are
    served.
    """

    def perform(choice: OperationChoice, principal: Principal, params: GenericParams) -> Any:
        sees = principal.visibility.sees_catalogue
        identity, names = (
            identity_of(principal),
            lambda: [name for name in catalogues() if sees(name)],
        )
        return choice.perform(
            OperationCall(identity=identity, opened_control=control, catalogues=names), params
        )

    query, change, action = (
        partial(perform, QUERIES),
        partial(perform, CHANGES),
        Action.MANAGE_PERMISSIONS,
    )
    return [
        declare_query_tool(
            "users.query",
            UsersQueryParams,
            query,
            result=UsersResult,
            action=action,
            text=result_text,
        ),
        declare_change_tool(
            "users.mutate",
            UsersMutateParams,
            change,
            result=UserChanged,
            action=action,
            text=changed_text,
        ),
    ]
