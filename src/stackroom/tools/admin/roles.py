"""Roles: the operations on named sets of permissions and rate limits."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field, WithJsonSchema

from stackroom.control.accounts.accounts import BUILTIN_ROLES, MOST_A_MINUTE, Role
from stackroom.errors import InputError
from stackroom.model.principal import Cost, Quotas
from stackroom.tools.admin.users import (
    Permissions,
    RoleRow,
    UserChanged,
    UsersResult,
    declare_change,
    declare_query,
)
from stackroom.tools.operation import CommandOption, ListParams, OperationCall
from stackroom.tools.spec import GenericParams

RoleName = Annotated[str, Field(max_length=256, description="the role's name")]
CallsAMinute = Annotated[
    dict[Cost, Annotated[int, Field(ge=0, le=MOST_A_MINUTE)]],
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "integer"}}),
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


class UpdateRole(NamedRole):
    """What changes of a role."""

    permissions: Annotated[Permissions | None, CommandOption("--allow")] = Field(
        default=None, description="what those who have it may do; replaces what they may do now"
    )
    quotas: CallsAMinute | None = Field(
        default=None, description="calls a minute; those left out stay, and {} is as configured"
    )


def _list_roles(call: OperationCall, params: ListParams) -> UsersResult:
    roles = call.control.accounts.list_roles()
    shown, has_more = params.page_of(roles)
    return UsersResult(users=[], roles=[_role_row(role) for role in shown], total=len(roles), has_more=has_more)


def _create_role(call: OperationCall, params: CreateRole) -> UserChanged:
    quotas = _completed(params.quotas, call.control.usual_quotas)
    role = call.control.accounts.create_role(call.principal, params.name, params.permissions, quotas)
    return _role_changed("create_role", role)


def _update_role(call: OperationCall, params: UpdateRole) -> UserChanged:
    permissions, quotas = params.permissions, params.quotas
    if permissions is None and quotas is None:
        raise InputError("nothing to change: 'update_role' needs 'permissions', 'quotas' or both")

    def change(role: Role) -> Role:
        completed = _completed(quotas, role.quotas or call.control.usual_quotas)
        return replace(
            role,
            actions=role.actions if permissions is None else frozenset(permissions),
            quotas=role.quotas if quotas is None else completed,
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
    )


def _role_changed(action: str, role: Role) -> UserChanged:
    return UserChanged(action=action, name=role.name, user=None, role=_role_row(role), one_time_password=None)


LIST_ROLES = declare_query(
    "list_roles",
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
    "create_role",
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
    "change_role",
    summary="Change the permissions or limits of the role NAME, for all who have it.",
    params=UpdateRole,
    run=_update_role,
    rest="POST /v1/roles/{name}",
    command="role change",
    example="agent --write-per-minute 60",
    details="What is not given stays as it is.",
)
DELETE_ROLE = declare_change(
    "delete_role",
    summary="Delete the role NAME.",
    params=NamedRole,
    run=_delete_role,
    rest="DELETE /v1/roles/{name}",
    command="role delete",
    example="reader",
    details="No user may have it. Built-in roles cannot be deleted.",
)
ROLE_OPERATIONS = (LIST_ROLES, CREATE_ROLE, UPDATE_ROLE, DELETE_ROLE)
