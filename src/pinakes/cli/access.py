"""`access list|restrict|open`: which catalogues are kept for whom."""

from functools import partial
from typing import Any

import click

from pinakes.assembly.app import App
from pinakes.cli.control import find_control, listed, make_control, open_control, perform, print_rows
from pinakes.cli.json_output import json_option, print_json
from pinakes.control.accounts.catalogue_access import Restriction
from pinakes.model.principal import LOCAL_USER
from pinakes.settings import load_settings


@click.group("access")
def access_command() -> None:
    """Say which catalogues are kept for whom.

    A catalogue is everybody's until it is restricted. Whom it is not for does not see that it is there. Users with
    the permission ServerAdmin see every catalogue.
    """


@access_command.command("list")
@json_option
def list_access_command(as_json: bool) -> None:
    """List the catalogues, and whom each is for.

    Example: pinakes access list
    """
    with find_control() as control:
        restrictions = control.access.list_restrictions() if control else {}
    installed = {one.name for one in App(load_settings()).library.list_installed()}
    rows = [_fields(name, restrictions.get(name), name in installed) for name in sorted(installed | set(restrictions))]
    if as_json:
        print_json(rows)
    elif rows:
        print_rows(("catalogue", "users", "roles", ""), [_row(row) for row in rows])
    else:
        click.echo("the library is empty; run: pinakes init")


@access_command.command("restrict")
@click.argument("catalogue")
@click.option("--user", "users", multiple=True, metavar="NAME", help="A user it is for; can be repeated.")
@click.option("--role", "roles", multiple=True, metavar="NAME", help="A role whose users it is for; can be repeated.")
@json_option
def restrict_command(catalogue: str, users: tuple[str, ...], roles: tuple[str, ...], as_json: bool) -> None:
    """Keep CATALOGUE for some users and roles.

    They take the place of those it was for. Without any it is for nobody but users with ServerAdmin.

    Example: pinakes access restrict personal --user ada --role editor
    """
    App(load_settings()).library.get_installed(catalogue)
    with make_control() as control:
        work = partial(control.access.restrict, LOCAL_USER, catalogue, users=users, roles=roles)
        noted = {"users": list(users), "roles": list(roles)}
        restriction = perform(control, "restrict_catalogue", catalogue, noted, work)
    if as_json:
        print_json(_fields(catalogue, restriction, True))
        return
    whom = "nobody" if not users and not roles else _whom(restriction)
    click.echo(f"'{catalogue}' is for {whom}, and for those with ServerAdmin")


@access_command.command("open")
@click.argument("catalogue")
@json_option
def open_command(catalogue: str, as_json: bool) -> None:
    """Make CATALOGUE everybody's again.

    Example: pinakes access open personal
    """
    with open_control() as control:
        if catalogue not in control.access.list_restrictions():  # one that is gone can still be restricted
            App(load_settings()).library.get_installed(catalogue)
        work = partial(control.access.open_to_all, LOCAL_USER, catalogue)
        perform(control, "open_catalogue", catalogue, {}, work)
    if as_json:
        print_json({"opened": catalogue})
    else:
        click.echo(f"'{catalogue}' is everybody's")


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
