"""The tools `users.query` and `users.mutate`, each of which chooses among operations on users and roles."""

from enum import StrEnum
from operator import attrgetter
from typing import Annotated

from pydantic import Field

from stackroom.control.accounts.users import NO_ROLE
from stackroom.control.control import Control
from stackroom.model.principal import Action, Cost, Principal
from stackroom.tools.admin import roles, users
from stackroom.tools.admin.roles import CallsAMinute
from stackroom.tools.admin.users import Permissions, UserChanged, UsersResult, changed_text, users_text
from stackroom.tools.budget import OffsetParams
from stackroom.tools.operation import OperationCall, OperationChoice, identity_of
from stackroom.tools.spec import GenericParams, ToolSpec, one_of


class UsersQuery(StrEnum):
    """The kinds of query of `users.query`."""

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


QUERIES = OperationChoice(
    "query_type",
    {
        UsersQuery.LIST: users.LIST_USERS,
        UsersQuery.GET: users.GET_USER,
        UsersQuery.ROLES: roles.LIST_ROLES,
    },
)
CHANGES = OperationChoice(
    "action",
    {
        UserAction.CREATE: users.CREATE_USER,
        UserAction.DELETE: users.DELETE_USER,
        UserAction.SET_ROLE: users.SET_ROLE,
        UserAction.GRANT: users.GRANT,
        UserAction.REVOKE: users.REVOKE,
        UserAction.DISABLE: users.DISABLE,
        UserAction.ENABLE: users.ENABLE,
        UserAction.RESET_PASSWORD: users.RESET_PASSWORD,
        UserAction.END_SESSIONS: users.END_SESSIONS,
        UserAction.CREATE_ROLE: roles.CREATE_ROLE,
        UserAction.UPDATE_ROLE: roles.UPDATE_ROLE,
        UserAction.DELETE_ROLE: roles.DELETE_ROLE,
    },
)


def users_tools(control: Control) -> list[ToolSpec]:
    """Declare `users.query` and `users.mutate`."""

    def call_of(principal: Principal) -> OperationCall:
        return OperationCall(identity=identity_of(principal), opened_control=control)

    return [
        ToolSpec(
            name="users.query",
            description="Users with their roles and permissions, or the roles.",
            params=UsersQueryParams,
            result=UsersResult,
            action=Action.MANAGE_PERMISSIONS,
            cost=Cost.READ,
            run=lambda principal, params: QUERIES.perform(call_of(principal), params),
            text=users_text,
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
