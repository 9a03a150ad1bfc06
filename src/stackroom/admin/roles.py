"""Roles: the operations on them, and the tools `users.query` and `users.mutate`, which choose among all of these."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from stackroom.admin import users
from stackroom.admin.users import (
    ALL,
    Catalogues,
    Permissions,
    RoleRow,
    UserChanged,
    UsersResult,
    changed_text,
    declare_change,
    declare_query,
    listed,
)
from stackroom.control.accounts.accounts import BUILTIN_ROLES, Role
from stackroom.control.accounts.users import NO_ROLE
from stackroom.control.control import Control
from stackroom.errors import InputError
from stackroom.model.principal import Action, Cost, Principal, Quotas
from stackroom.tools.budget import OffsetParams
from stackroom.tools.operation import CommandOption, ListParams, OperationCall, OperationChoice, identity_of
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import GenericParams, ToolSpec

RoleName = Annotated[str, Field(max_length=256, description="the role's name")]
CallsAMinute = Annotated[
    dict[Cost, Annotated[int, Field(ge=0, le=1_000_000)]],
    WithJsonSchema({"type": "object", "properties": {str(cost): {"type": "integer"} for cost in Cost}}),
    CommandOption("--{}-per-minute", "N"),
]


class NamedRole(GenericParams):
    """A role by name."""

    name: RoleName


class CreateRole(NamedRole):
    """A role to be created."""

    permissions: Annotated[Permissions, CommandOption("--allow")] = Field(description="what those who have it may do")
    quotas: CallsAMinute | None = Field(
        default=None, description="calls a minute; those left out, and {}, are as configured"
    )
    catalogues: Annotated[Catalogues | None, CommandOption("--catalogue")] = Field(
        default=None, description=f"the only catalogues that it shows; '{ALL}', the default: all"
    )


class UpdateRole(NamedRole):
    """The changes of a role."""

    permissions: Annotated[Permissions | None, CommandOption("--allow")] = Field(
        default=None, description="what those who have it may do; replaces what they may do now"
    )
    quotas: CallsAMinute | None = Field(
        default=None, description="calls a minute; those left out stay, and {} is as configured"
    )
    catalogues: Annotated[Catalogues | None, CommandOption("--catalogue")] = Field(
        default=None, description=f"the only catalogues that it shows, or '{ALL}'"
    )


def _list_roles(call: OperationCall, params: ListParams) -> UsersResult:
    roles = call.control.accounts.list_roles()
    shown, has_more = params.page_of(roles)
    return UsersResult(users=[], roles=[_role_row(role) for role in shown], total=len(roles), has_more=has_more)


def _create_role(call: OperationCall, params: CreateRole) -> UserChanged:
    quotas = _completed(params.quotas, call.control.usual_quotas)
    only = None if params.catalogues is None else listed(call, params.catalogues)
    role = call.control.accounts.create_role(call.principal, params.name, params.permissions, quotas, only)
    return _role_changed("create_role", role)


def _update_role(call: OperationCall, params: UpdateRole) -> UserChanged:
    permissions, quotas = params.permissions, params.quotas
    if permissions is None and quotas is None and params.catalogues is None:
        raise InputError("nothing to change: 'update_role' needs 'permissions', 'quotas' or 'catalogues'")
    only = None if params.catalogues is None else listed(call, params.catalogues)

    def change(role: Role) -> Role:
        completed = _completed(quotas, role.quotas or call.control.usual_quotas)
        return replace(
            role,
            actions=role.actions if permissions is None else frozenset(permissions),
            quotas=role.quotas if quotas is None else completed,
            catalogues=role.catalogues if params.catalogues is None else only,
        )

    return _role_changed("update_role", call.control.accounts.change_role(call.principal, params.name, change))


def _delete_role(call: OperationCall, params: NamedRole) -> UserChanged:
    call.control.accounts.delete_role(call.principal, params.name)
    return UserChanged(action="delete_role", name=params.name.lower(), user=None, one_time_password=None)


def _completed(given: dict[Cost, int] | None, present: Quotas) -> Quotas | None:
    """Return the quotas of a role, completed from the present ones; None, the configured ones, if none is given."""
    if not given:
        return None
    return Quotas(**{cost: given.get(cost, present.of(cost)) for cost in Cost})


def _role_row(role: Role) -> RoleRow:
    quotas = role.quotas
    return RoleRow(
        name=role.name,
        permissions=sorted(role.actions),
        quotas=None if quotas is None else {str(cost): quotas.of(cost) for cost in Cost},
        builtin=role.name in BUILTIN_ROLES,
        catalogues=None if role.catalogues is None else sorted(role.catalogues),
    )


def _role_changed(action: str, role: Role) -> UserChanged:
    return UserChanged(action=action, name=role.name, user=None, role=_role_row(role), one_time_password=None)


LIST_ROLES = declare_query(
    name="account/list_roles",
    summary="List the roles, with their permissions and calls a minute.",
    params=ListParams,
    run=_list_roles,
    rest="GET /v1/roles",
    command="role list",
    example="--json",
    table="roles",
    columns=("name", "permissions", "quotas", "builtin"),
)
CREATE_ROLE = declare_change(
    name="account/create_role",
    summary="Create the role NAME.",
    params=CreateRole,
    run=_create_role,
    rest="POST /v1/roles",
    status=201,
    command="role add",
    example="reader --allow AccessCatalog",
    details="Without limits of its own, those of the settings apply, also when they change. When some are given, the "
    "others are copied from the settings now. 0 refuses every such call.",
    makes_accounts=True,
)
UPDATE_ROLE = declare_change(
    name="account/change_role",
    summary="Change the permissions or limits of the role NAME, for all who have it.",
    params=UpdateRole,
    run=_update_role,
    rest="POST /v1/roles/{name}",
    command="role change",
    example="agent --write-per-minute 60",
    details="What is not given stays as it is.",
)
DELETE_ROLE = declare_change(
    name="account/delete_role",
    summary="Delete the role NAME.",
    params=NamedRole,
    run=_delete_role,
    rest="DELETE /v1/roles/{name}",
    command="role delete",
    example="reader",
    details="No user may have it. Built-in roles cannot be deleted.",
)
ROLE_OPERATIONS = (LIST_ROLES, CREATE_ROLE, UPDATE_ROLE, DELETE_ROLE)


class UsersQueryParams(OffsetParams, GenericParams):
    """The arguments of `users.query`."""

    query_type: Literal["list", "get", "roles"]
    name: str | None = Field(default=None, description="User to get")
    limit: int = Field(default=20, ge=1, le=200)


class UsersMutateParams(GenericParams):
    """The arguments of `users.mutate`."""

    action: Literal[
        "create",
        "delete",
        "set_role",
        "set_catalogues",
        "grant",
        "revoke",
        "disable",
        "enable",
        "reset_password",
        "end_sessions",
        "create_role",
        "update_role",
        "delete_role",
    ]
    name: str = Field(description="Name of the user or role")
    role: str | list[str] | None = Field(
        default=None, description=f"For 'create' and 'set_role': one, several, or '{NO_ROLE}'"
    )
    permission: Action | None = Field(default=None, description="Permission to grant or revoke")
    permissions: Permissions | None = Field(
        default=None, description="Permissions of a role; for 'create', of a user besides the role"
    )
    quotas: CallsAMinute | None = Field(
        default=None, description="Calls a minute of a role: read, write, sql; {} as configured"
    )
    password: str | None = Field(default=None, description="For 'create'; else a one-time one is made")
    revoke_tokens: bool | None = Field(default=None, description="For 'reset_password': their tokens end as well")
    catalogues: list[str] | None = Field(
        default=None, description=f"The only catalogues that a user or role sees; ['{ALL}']: no list"
    )


QUERIES = OperationChoice(
    "query_type",
    {
        "list": users.LIST_USERS,
        "get": users.GET_USER,
        "roles": LIST_ROLES,
    },
)
CHANGES = OperationChoice(
    "action",
    {
        "create": users.CREATE_USER,
        "delete": users.DELETE_USER,
        "set_role": users.SET_ROLE,
        "set_catalogues": users.SET_CATALOGUES,
        "grant": users.GRANT,
        "revoke": users.REVOKE,
        "disable": users.DISABLE,
        "enable": users.ENABLE,
        "reset_password": users.RESET_PASSWORD,
        "end_sessions": users.END_SESSIONS,
        "create_role": CREATE_ROLE,
        "update_role": UPDATE_ROLE,
        "delete_role": DELETE_ROLE,
    },
)


def users_tools(control: Control, catalogues: Callable[[], Iterable[str]] = tuple) -> list[ToolSpec]:
    """Declare `users.query` and `users.mutate`; `catalogues` returns the names of those that are served."""

    def call_of(principal: Principal) -> OperationCall:
        sees = principal.visibility.sees_catalogue
        return OperationCall(
            identity=identity_of(principal),
            opened_control=control,
            catalogues=lambda: [name for name in catalogues() if sees(name)],
        )

    return [
        ToolSpec(
            name="users.query",
            description="Users with their roles and permissions, or the roles.",
            params=UsersQueryParams,
            result=UsersResult,
            action=Action.MANAGE_PERMISSIONS,
            cost=Cost.READ,
            run=lambda principal, params: QUERIES.perform(call_of(principal), params),
            text=result_text,
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
            run=lambda principal, params: CHANGES.perform(call_of(principal), params),
            text=changed_text,
        ),
    ]
