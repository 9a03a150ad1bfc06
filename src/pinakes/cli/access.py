"""`access list|restrict|open`: catalogues that only selected users may see."""

from functools import partial
from typing import Any

import click

from pinakes.cli.control import change, find_control, listed, open_control, perform, print_list, print_result
from pinakes.cli.json_output import json_option
from pinakes.cli.opening import open_app
from pinakes.control.accounts.restrictions import Restriction
from pinakes.control.control import Control
from pinakes.model.principal import LOCAL_USER


@click.group("access")
def access_command() -> None:
    """Restrict catalogues to selected users and roles.

    Every user sees a catalogue until it is restricted; to all others a restricted catalogue does not exist. Users with
    the permission ServerAdmin see every catalogue.
    """


@access_command.command("list")
@json_option
def list_access_command(as_json: bool) -> None:
    """List the catalogues, and the users and roles of each.

    Example: pinakes access list
    """
    with find_control() as control:
        restrictions = control.access.list_restrictions() if control else {}
    installed = {one.name for one in open_app().library.list_installed()}
    rows = [_fields(name, restrictions.get(name), name in installed) for name in sorted(installed | set(restrictions))]
    empty = "the library is empty; run: pinakes init"
    print_list(rows, dict, ("catalogue", "users", "roles", ""), _row, empty=empty, as_json=as_json)


@access_command.command("restrict")
@click.argument("catalogue")
@click.option("--user", "users", multiple=True, metavar="NAME", help="A user who may see it; can be repeated.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role whose users may see it; can be repeated.")
@json_option
def restrict_command(catalogue: str, users: tuple[str, ...], roles: tuple[str, ...], as_json: bool) -> None:
    """Restrict CATALOGUE to selected users and roles.

    They replace an earlier selection. Without any, only users with ServerAdmin see it.

    Example: pinakes access restrict diary --user ada --role editor
    """
    open_app().library.get_installed(catalogue)

    def restrict(control: Control) -> Restriction:
        return control.access.restrict(LOCAL_USER, catalogue, users=users, roles=roles)

    noted = {"users": list(users), "roles": list(roles)}
    restriction = change("restrict_catalogue", catalogue, noted, restrict, creates=True)
    done = f"'{catalogue}' is for {_whom(restriction) or 'nobody'}, and for those with ServerAdmin"
    print_result(_fields(catalogue, restriction, True), done, as_json=as_json)


@access_command.command("open")
@click.argument("catalogue")
@json_option
def open_command(catalogue: str, as_json: bool) -> None:
    """Remove the restriction of CATALOGUE.

    Example: pinakes access open diary
    """
    with open_control() as control:
        if catalogue not in control.access.list_restrictions():  # a catalogue that was removed can still be restricted
            open_app().library.get_installed(catalogue)
        work = partial(control.access.open_to_all, LOCAL_USER, catalogue)
        perform(control, "open_catalogue", catalogue, {}, work)
    print_result({"opened": catalogue}, f"'{catalogue}' is everybody's", as_json=as_json)


def _fields(name: str, restriction: Restriction | None, is_installed: bool) -> dict[str, Any]:
    return {
        "catalogue": name,
        "restricted": restriction is not None,
        "users": sorted(restriction.users) if restriction else [],
        "roles": sorted(restriction.roles) if restriction else [],
        "installed": is_installed,
    }


def _row(fields: dict[str, Any]) -> tuple[str, ...]:
    note = "" if fields["installed"] else "not in the library"
    if not fields["restricted"]:
        return fields["catalogue"], "everybody", "", note
    return fields["catalogue"], listed(fields["users"]), listed(fields["roles"]), note


def _whom(restriction: Restriction) -> str:
    users = [f"user '{name}'" for name in sorted(restriction.users)]
    return ", ".join([*users, *(f"role '{name}'" for name in sorted(restriction.roles))])
