"""`role list|add|change|delete`: named sets of permissions and rate limits."""

from dataclasses import replace
from typing import Any

import click

from pinakes.cli.control import NO_ACCOUNTS, change, find_control, listed, permission, print_list, print_result
from pinakes.cli.json_output import json_option
from pinakes.control.accounts.accounts import MOST_A_MINUTE, Role
from pinakes.control.control import Control
from pinakes.errors import InputError
from pinakes.model.principal import LOCAL_USER, Action, Quotas
from pinakes.settings import RateLimitSettings, load_settings

CALLS = click.IntRange(0, MOST_A_MINUTE)


@click.group("role")
def role_command() -> None:
    """Add, change, list and delete roles: named sets of permissions.

    The roles user, agent, editor and admin are built in. To give a user a role: pinakes user role NAME ROLE
    """


@role_command.command("list")
@json_option
def list_roles_command(as_json: bool) -> None:
    """List the roles.

    With their permissions and calls per minute.

    Example: pinakes role list
    """
    with find_control() as control:
        roles = control.accounts.list_roles() if control else []
    headings = ("name", "permissions", "reads a minute", "writes", "SQL")
    print_list(roles, _fields, headings, _cells, empty=NO_ACCOUNTS, as_json=as_json)


@role_command.command("add")
@click.argument("name")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    required=True,
    type=permission,
    help="A permission of the role; can be repeated.",
)
@click.option("--read-per-minute", "read", type=CALLS, metavar="N", help="Searches, look-ups, resources, plays.")
@click.option("--write-per-minute", "write", type=CALLS, metavar="N", help="Every other call that changes something.")
@click.option("--sql-per-minute", "sql", type=CALLS, metavar="N", help="debug.sql.")
@json_option
def add_role_command(
    name: str, allowed: tuple[Action, ...], read: int | None, write: int | None, sql: int | None, as_json: bool
) -> None:
    """Create the role NAME.

    Without limits of its own, those of the settings apply, also when they change. When some are given, the others are
    copied from the settings now. 0 refuses every such call.

    Example: pinakes role add reader --allow AccessCatalog
    """
    quotas = _quotas(read, write, sql, load_settings().rate_limit)

    def create(control: Control) -> Role:
        return control.accounts.create_role(LOCAL_USER, name, allowed, quotas)

    noted = {"allow": list(allowed), "quotas": _quota_fields(quotas)}
    role = change("create_role", name.lower(), noted, create, creates=True)
    done = f"role '{role.name}' added; it allows: {listed(role.actions)}"
    print_result(_fields(role), done, as_json=as_json)


@role_command.command("change")
@click.argument("name")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=permission,
    help="A permission of the role; can be repeated. Together they replace those it has.",
)
@click.option("--read-per-minute", "read", type=CALLS, metavar="N", help="Searches, look-ups, resources, plays.")
@click.option("--write-per-minute", "write", type=CALLS, metavar="N", help="Every other call that changes something.")
@click.option("--sql-per-minute", "sql", type=CALLS, metavar="N", help="debug.sql.")
@json_option
def change_role_command(
    name: str, allowed: tuple[Action, ...], read: int | None, write: int | None, sql: int | None, as_json: bool
) -> None:
    """Change the permissions or limits of the role NAME, for all who have it.

    What is not given stays as it is.

    Example: pinakes role change agent --write-per-minute 60
    """
    if not allowed and read is None and write is None and sql is None:
        raise InputError("nothing to change: give --allow, --read-per-minute, --write-per-minute or --sql-per-minute")
    usual = load_settings().rate_limit

    def changed(role: Role) -> Role:
        quotas = _changed_quotas(role.quotas, read, write, sql, usual)
        return replace(role, actions=frozenset(allowed) or role.actions, quotas=quotas)

    noted = {"allow": list(allowed), "read": read, "write": write, "sql": sql}
    role = change("change_role", name.lower(), noted, lambda to: to.accounts.change_role(LOCAL_USER, name, changed))
    print_result(_fields(role), f"role '{role.name}' changed; it allows: {listed(role.actions)}", as_json=as_json)


@role_command.command("delete")
@click.argument("name")
@json_option
def delete_role_command(name: str, as_json: bool) -> None:
    """Delete the role NAME.

    No user may have it. Built-in roles cannot be deleted.

    Example: pinakes role delete reader
    """
    folded = name.lower()
    change("delete_role", folded, {}, lambda control: control.accounts.delete_role(LOCAL_USER, name))
    print_result({"deleted": folded}, f"role '{folded}' deleted", as_json=as_json)


def _quotas(read: int | None, write: int | None, sql: int | None, usual: RateLimitSettings) -> Quotas | None:
    """Return the given limits, completed from the settings; None if none was given."""
    if read is None and write is None and sql is None:
        return None
    return Quotas(
        read=usual.read_per_minute if read is None else read,
        write=usual.write_per_minute if write is None else write,
        sql=usual.sql_per_minute if sql is None else sql,
    )


def _changed_quotas(
    present: Quotas | None, read: int | None, write: int | None, sql: int | None, usual: RateLimitSettings
) -> Quotas | None:
    """Return the given limits, completed from those that the role has, or from the settings."""
    if present is None:
        return _quotas(read, write, sql, usual)
    return Quotas(
        read=present.read if read is None else read,
        write=present.write if write is None else write,
        sql=present.sql if sql is None else sql,
    )


def _quota_fields(quotas: Quotas | None) -> dict[str, int] | None:
    return None if quotas is None else {"read": quotas.read, "write": quotas.write, "sql": quotas.sql}


def _fields(role: Role) -> dict[str, Any]:
    return {"name": role.name, "permissions": sorted(role.actions), "per_minute": _quota_fields(role.quotas)}


def _cells(role: Role) -> tuple[object, ...]:
    quotas = role.quotas
    limits = ("as configured",) * 3 if quotas is None else (quotas.read, quotas.write, quotas.sql)
    return role.name, listed(role.actions), *limits
