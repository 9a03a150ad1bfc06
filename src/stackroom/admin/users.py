"""Users and roles: the operations on them, and the tools `users.query` and `users.mutate`, which
choose among all.

`control.accounts` decides which actor may change which user or role.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from stackroom.admin.declare import admin_operation
from stackroom.control.accounts.accounts import BUILTIN_ROLES, USUAL_ROLES, Role, User
from stackroom.control.accounts.users import NO_ROLE, fold_name, named_roles
from stackroom.errors import InputError
from stackroom.model.principal import Action, Cost, Principal, Quotas
from stackroom.tools.budget import OffsetParams, PricedResult
from stackroom.tools.operation import (
    OFF,
    AnyOperation,
    Audit,
    Call,
    Command,
    CommandOption,
    Faces,
    ListParams,
    Needs,
    Off,
    Operation,
    SecretInput,
    SeveralOf,
    choice,
)
from stackroom.tools.result_text import result_text
from stackroom.tools.spec import (
    BARE_LIST,
    BARE_OBJECT_OR_NULL,
    GenericParams,
    GenericResult,
    optional,
    when_any,
    when_known,
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
    hidden_catalogues: list[str] | None = when_known()
    """The catalogues that they do not see; only for a user who is asked for by name."""
    catalogues: Sorted | None = when_known()
    """The only catalogues that they see, by a list of their own; null: no such list."""


class RoleRow(GenericResult):
    """A role."""

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
    catalogues: Sorted | None = when_known()
    """The only catalogues that it shows; null: no limit."""


class UsersResult(PricedResult, GenericResult):
    """A page of users, or of roles."""

    paged: ClassVar[tuple[str, ...]] = ("users", "roles")

    users: Annotated[list[UserRow], BARE_LIST]
    roles: Annotated[list[RoleRow], BARE_LIST] = when_any()
    """For the query 'roles', in place of users."""
    total: int
    has_more: bool


class UserChanged(GenericResult):
    """A user or a role after a change."""

    action: str
    name: str
    user: Annotated[UserRow | None, BARE_OBJECT_OR_NULL]
    """null after 'delete', and for a role."""
    role: Annotated[RoleRow | None, BARE_OBJECT_OR_NULL] = when_known()
    """The role that was made or changed."""
    one_time_password: str | None
    """Logs the user in once; it is shown only here."""
    valid_tokens: int | None = when_known()
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
    password: Password | None = optional("else one that works once is made")
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

    password: Password | None = optional("else one that works once is made")


class SetRole(NamedUser):
    """The roles that replace those of a user."""

    role: SeveralOf[str] = Field(
        min_length=1, description=f"a role, several, or '{NO_ROLE}' for none"
    )


class GrantPermission(NamedUser):
    """A permission of a user besides those of their roles."""

    permission: SeveralOf[Action] = Field(min_length=1, description="a permission, or several")


_user_row = UserRow.model_validate
MANAGES = Needs(any_of=(Action.MANAGE_PERMISSIONS,), accounts=True)
COLUMNS = (
    *("name", "roles", "granted", "permissions", "disabled"),
    *("has_password", "has_one_time_password"),
)


def changed_text(result: UserChanged) -> str:
    """Return what was done, and after a reset how to end the tokens that are still valid."""
    offer = ["to end their tokens too, reset with revoke_tokens"] if result.valid_tokens else []
    return "\n".join([result_text(result), *offer])


def _change(
    name: str, address: str = "", command: Command | Off = OFF, **faces: Any
) -> Callable[[Callable[[Call, Any], UserChanged]], Operation[Any, UserChanged]]:
    """Declare a change of a user or a role."""
    return admin_operation(
        name, address, command, needs=MANAGES, cost=Cost.WRITE, text=changed_text, **faces
    )


@admin_operation(
    "account/list_users",
    "GET /v1/users",
    Command(
        "user list",
        example="--json",
        table="users",
        empty=NO_ACCOUNTS,
        columns=COLUMNS,
    ),
    needs=MANAGES,
)
def list_users(call: Call, params: ListParams) -> UsersResult:
    """List the accounts."""
    users, total = call.control.accounts.list_users(offset=params.offset, limit=params.limit)
    has_more = params.offset + len(users) < total
    return UsersResult(users=[_user_row(user) for user in users], total=total, has_more=has_more)


@admin_operation(
    "account/get_user",
    "GET /v1/users/{name}",
    Command(
        "user show",
        example="ada",
        table="users",
        empty=NO_ACCOUNTS,
        columns=(*COLUMNS, "hidden_catalogues", "catalogues", "created_at"),
        is_single=True,
    ),
    needs=MANAGES,
)
def get_user(call: Call, params: NamedUser) -> UsersResult:
    """Show the account NAME, and the catalogues that are hidden from it."""
    user = call.control.accounts.get_user(params.name)
    hidden = call.control.access.hidden_from(user)
    seen = sorted(name for name in hidden if call.principal.visibility.sees_catalogue(name))
    row = _user_row(user).model_copy(update={"hidden_catalogues": seen})
    return UsersResult(users=[row], total=1, has_more=False)


@_change(
    "account/create_user",
    "POST /v1/users",
    Command("user add", example="ada --role editor --grant ViewAnalytics", makes_accounts=True),
    secret="one_time_password",
)
def create_user(call: Call, params: CreateUser) -> UserChanged:
    """Create the account NAME.

    At a terminal, you are asked for the password. A one-time password is alone on standard output,
    everything else on standard error.
    """
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


def listed(call: Call, names: Sequence[str] | None) -> frozenset[str] | None:
    """Return a list of catalogues that the caller sees; None for all, those that come later too."""
    if names is None or list(names) == [ALL]:
        return None
    for name in names:
        call.require_catalogue(name)
    return frozenset(names)


@_change(
    "account/set_catalogues",
    "PUT /v1/users/{name}/catalogues",
    Command("user catalogues", example="ada films"),
)
def set_catalogues(call: Call, params: SetCatalogues) -> UserChanged:
    """Let NAME see each CATALOGUE, and nothing else that is there or comes later.

    "all" takes the list away. What is restricted stays hidden all the same.
    """
    only = listed(call, params.catalogues)
    return _changed(
        "set_catalogues", call.control.accounts.set_catalogues(call.principal, params.name, only)
    )


def _require_user(call: Call, params: NamedUser) -> None:
    call.control.accounts.get_user(params.name)


@_change("account/reset_password", secret="one_time_password")
def reset_password(call: Call, params: ResetPassword) -> UserChanged:
    """Replace the password of a user with one that works once."""
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


@_change(
    "account/set_password",
    "PUT /v1/users/{name}/password",
    Command("user passwd", example="ada --one-time", check=_require_user),
    secret="one_time_password",
)
def set_password(call: Call, params: SetPassword) -> UserChanged:
    """Set the password of NAME.

    With --one-time, print a password that replaces it and works once. Their sessions end; their
    tokens stay valid, unless --revoke-tokens is given too.
    """
    if params.password is None:
        return reset_password.run(call, params)
    call.control.accounts.set_password(call.principal, params.name, params.password)
    return _changed("set_password", call.control.accounts.get_user(params.name))


@_change(
    "account/set_roles",
    "PUT /v1/users/{name}/roles",
    Command("user role", example="ada user editor"),
)
def set_roles(call: Call, params: SetRole) -> UserChanged:
    """Replace the roles of NAME with ROLE; "none" takes all of them away."""
    return _changed(
        "set_role",
        call.control.accounts.set_roles(call.principal, params.name, named_roles(params.role)),
    )


@_change(
    "account/grant",
    "POST /v1/users/{name}/grants",
    Command("user grant", example="ada ViewAnalytics"),
)
def grant(call: Call, params: GrantPermission) -> UserChanged:
    """Grant NAME each PERMISSION besides those of their roles."""
    return _each("grant", call, params, call.control.accounts.grant)


@_change(
    "account/revoke",
    "POST /v1/users/{name}/revocations",
    Command("user revoke", example="ada ViewAnalytics"),
)
def revoke(call: Call, params: GrantPermission) -> UserChanged:
    """Revoke each PERMISSION that NAME was granted.

    To take away a permission of a role, change their roles, then grant what they should keep.
    """
    return _each("revoke", call, params, call.control.accounts.revoke)


def _each(
    change: str, call: Call, params: GrantPermission, work: Callable[[Principal, str, Action], User]
) -> UserChanged:
    for permission in dict.fromkeys(params.permission):
        user = work(call.principal, params.name, permission)
    return _changed(change, user)


@_change(
    "account/disable_user",
    "POST /v1/users/{name}/disable",
    Command("user disable", example="ada"),
)
def disable_user(call: Call, params: NamedUser) -> UserChanged:
    """Disable the account NAME.

    Their sessions end, and their tokens do not work until the account is enabled again.
    """
    accounts = call.control.accounts
    return _changed("disable", accounts.set_disabled(call.principal, params.name, disabled=True))


@_change(
    "account/enable_user",
    "POST /v1/users/{name}/enable",
    Command("user enable", example="ada"),
)
def enable_user(call: Call, params: NamedUser) -> UserChanged:
    """Enable the account NAME again."""
    accounts = call.control.accounts
    return _changed("enable", accounts.set_disabled(call.principal, params.name, disabled=False))


@_change("account/end_sessions")
def end_sessions(call: Call, params: NamedUser) -> UserChanged:
    """End the sessions of a user."""
    return _changed("end_sessions", call.control.accounts.end_sessions(call.principal, params.name))


@_change(
    "account/delete_user",
    "DELETE /v1/users/{name}",
    Command(
        "user delete",
        example="ada --yes",
        question="delete user '{name}', with their sessions and tokens?",
        check=_require_user,
    ),
)
def delete_user(call: Call, params: NamedUser) -> UserChanged:
    """Delete the account NAME.

    Its sessions and tokens end with it. Its calls stay in the audit.
    """
    call.control.accounts.delete_user(call.principal, params.name)
    return UserChanged(
        action="delete", name=fold_name(params.name), user=None, one_time_password=None
    )


def _changed(action: str, user: User, *, secret: str | None = None) -> UserChanged:
    return UserChanged(
        action=action, name=user.name, user=_user_row(user), one_time_password=secret
    )


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


@admin_operation(
    "account/list_roles",
    "GET /v1/roles",
    Command(
        "role list",
        example="--json",
        table="roles",
        empty=NO_ACCOUNTS,
        columns=("name", "permissions", "quotas", "builtin"),
    ),
    needs=MANAGES,
)
def list_roles(call: Call, params: ListParams) -> UsersResult:
    """List the roles, with their permissions and calls a minute."""
    roles = call.control.accounts.list_roles()
    shown, has_more = params.page_of(roles)
    return UsersResult(
        users=[], roles=[_role_row(role) for role in shown], total=len(roles), has_more=has_more
    )


@_change(
    "account/create_role",
    "POST /v1/roles",
    Command("role add", example="reader --allow AccessCatalog", makes_accounts=True),
)
def create_role(call: Call, params: CreateRole) -> UserChanged:
    """Create the role NAME.

    Without limits of its own, those of the settings apply, also when they change. When some are
    given, the others are copied from the settings now. 0 refuses every such call.
    """
    quotas = _completed(params.quotas, call.control.usual_quotas)
    only = listed(call, params.catalogues)
    role = call.control.accounts.create_role(
        call.principal, params.name, params.permissions, quotas, only
    )
    return _role_changed("create_role", role)


@_change(
    "account/change_role",
    "POST /v1/roles/{name}",
    Command("role change", example="agent --write-per-minute 60"),
)
def change_role(call: Call, params: UpdateRole) -> UserChanged:
    """Change the permissions or limits of the role NAME, for all who have it.

    What is not given stays as it is.
    """
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


@_change(
    "account/delete_role",
    "DELETE /v1/roles/{name}",
    Command("role delete", example="reader"),
)
def delete_role(call: Call, params: NamedRole) -> UserChanged:
    """Delete the role NAME.

    No user may have it. Built-in roles cannot be deleted.
    """
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


USER_OPERATIONS = (
    *(list_users, get_user, create_user, set_password, reset_password, set_roles, set_catalogues),
    *(grant, revoke, disable_user, enable_user, end_sessions, delete_user),
)
ROLE_OPERATIONS = (list_roles, create_role, change_role, delete_role)
QUERIES: Mapping[str, AnyOperation] = {"list": list_users, "get": get_user, "roles": list_roles}
CHANGES: Mapping[str, AnyOperation] = {
    **{"create": create_user, "delete": delete_user},
    **{"set_role": set_roles, "set_catalogues": set_catalogues},
    **{"grant": grant, "revoke": revoke, "disable": disable_user, "enable": enable_user},
    **{"reset_password": reset_password, "end_sessions": end_sessions},
    **{"create_role": create_role, "update_role": change_role, "delete_role": delete_role},
}


class UsersQueryParams(OffsetParams, GenericParams):
    """The arguments of `users.query`."""

    query_type: Literal["list", "get", "roles"]
    name: str | None = optional("User to get")
    limit: int = Field(default=20, ge=1, le=200)


class UsersMutateParams(GenericParams):
    """The arguments of `users.mutate`."""

    action: Literal[*CHANGES]  # type: ignore[valid-type]
    name: str = Field(description="Name of the user or role")
    role: str | list[str] | None = optional(
        f"For 'create' and 'set_role': one, several, or '{NO_ROLE}'"
    )
    permission: Action | None = optional("Permission to grant or revoke")
    permissions: Permissions | None = optional(
        "Permissions of a role; for 'create', of a user besides the role"
    )
    quotas: CallsAMinute | None = optional(
        "Calls a minute of a role: read, write, sql; {} as configured"
    )
    password: str | None = optional("For 'create'; else a one-time one is made")
    revoke_tokens: bool | None = optional("For 'reset_password': their tokens end as well")
    catalogues: list[str] | None = optional(
        f"The only catalogues that a user or role sees; ['{ALL}']: no list"
    )


USERS_TOOLS = (
    choice(
        "users.query",
        "query_type",
        QUERIES,
        UsersQueryParams,
        summary="Users with their roles and permissions, or the roles.",
        faces=Faces(audit=Audit(count_of=attrgetter("total"))),
    ),
    choice(
        "users.mutate",
        "action",
        CHANGES,
        UsersMutateParams,
        summary="Create, change or delete a user or a role. Nobody gives more than they have.",
        faces=Faces(text=changed_text),
    ),
)
