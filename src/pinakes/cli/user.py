"""`user list|show|add|passwd|role|grant|revoke|disable|enable|delete`: accounts and their permissions."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import click

from pinakes.cli.control import (
    NO_ACCOUNTS,
    change,
    find_control,
    listed,
    moment,
    open_control,
    perform,
    permission,
    print_list,
    print_result,
    print_rows,
)
from pinakes.cli.json_output import json_option, print_json
from pinakes.control.accounts.accounts import USUAL_ROLES, Accounts, User
from pinakes.control.accounts.names import fold_name, named_roles
from pinakes.control.control import Control
from pinakes.errors import InputError, InterruptedByUser
from pinakes.model.principal import LOCAL_USER, Action, Principal

PAGE = 1000
LOGIN_BY_PASSWORD = "password"
LOGIN_ONCE = "one-time secret"

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def secret_options(command: CommandT) -> CommandT:
    """Add the password options to a command."""
    stdin_help = "Read the password from standard input, as one line."
    once_help = "Print a secret that works for one login. The default without a terminal."
    command = click.option("--one-time", is_flag=True, help=once_help)(command)
    return click.option("--password-stdin", "from_stdin", is_flag=True, help=stdin_help)(command)


@click.group("user")
def user_command() -> None:
    """Add, change and list accounts.

    A user has the permissions of their roles, and those granted besides. There are six permissions: AccessCatalog,
    EditCatalog, ManagePermissions, ViewAnalytics, RequestContent and ServerAdmin; and the roles user, agent, editor
    and admin, besides your own (pinakes role). A running server applies every change at its next call (within a
    second if the control database is PostgreSQL).
    """


@user_command.command("list")
@json_option
def list_users_command(as_json: bool) -> None:
    """List the accounts.

    Example: pinakes user list --json
    """
    with find_control() as control:
        users = list(iter_users(control.accounts)) if control else []
    headings = ("name", "roles", "permissions", "state", "login")
    print_list(users, _fields, headings, _cells, empty=NO_ACCOUNTS, as_json=as_json)


@user_command.command("show")
@click.argument("name")
@json_option
def show_user_command(name: str, as_json: bool) -> None:
    """Show the account NAME.

    Its roles, permissions and grants, and the catalogues that are hidden from it.

    Example: pinakes user show ada
    """
    with open_control() as control:
        user = control.accounts.get_user(name)
        hidden = control.access.hidden_from(user)
    if as_json:
        print_json({**_fields(user), "hidden_catalogues": sorted(hidden)})
        return
    rows = [
        ("name", user.name),
        ("roles", listed(user.roles)),
        ("granted besides", listed(user.granted)),
        ("may do", listed(user.actions)),
        ("kept from them", listed(hidden)),
        ("state", _state(user)),
        ("login", _login(user)),
        ("created", moment(user.created_at)),
    ]
    print_rows(("field", "value"), rows)


@user_command.command("add")
@click.argument("name")
@click.option("--role", "roles", multiple=True, help="A role, or none; can be repeated. Default: user.")
@click.option("--grant", "grants", multiple=True, type=permission, help="A further permission; can be repeated.")
@secret_options
@json_option
def add_user_command(
    name: str, roles: tuple[str, ...], grants: tuple[Action, ...], from_stdin: bool, one_time: bool, as_json: bool
) -> None:
    """Create the account NAME.

    At a terminal, you are asked for the password. A one-time secret is alone on standard output, everything else on
    standard error.

    Example: pinakes user add ada --role editor --grant ViewAnalytics
    """
    password = _find_password(name, from_stdin=from_stdin, one_time=one_time)
    given = named_roles(roles) if roles else list(USUAL_ROLES)

    def create(control: Control) -> tuple[User, str | None]:
        user = control.accounts.create_user(LOCAL_USER, name, password=password, roles=given, grants=grants)
        return user, control.accounts.reset_password(LOCAL_USER, name) if password is None else None

    noted = {"roles": given, "grants": list(grants), "login": _way(password)}
    user, secret = change("create_user", fold_name(name), noted, create, creates=True)
    _report_login(user, secret, f"added; {_rights(user)}", as_json=as_json)


@user_command.command("passwd")
@click.argument("name")
@secret_options
@json_option
def passwd_command(name: str, from_stdin: bool, one_time: bool, as_json: bool) -> None:
    """Set the password of NAME.

    With --one-time, print a secret that replaces it and works once. Their sessions end; their tokens stay valid.

    Example: pinakes user passwd ada --one-time
    """
    with open_control() as control:
        user = control.accounts.get_user(name)  # before a password is typed
        password = _find_password(user.name, from_stdin=from_stdin, one_time=one_time)

        def work() -> str | None:
            if password is None:
                return control.accounts.reset_password(LOCAL_USER, name)
            control.accounts.set_password(LOCAL_USER, name, password)
            return None

        secret = perform(control, "set_password", fold_name(name), {"login": _way(password)}, work)
        user = control.accounts.get_user(name)
    _report_login(user, secret, "has a new password" if secret is None else "has no password any more", as_json=as_json)


@user_command.command("role")
@click.argument("name")
@click.argument("roles", nargs=-1, required=True)
@json_option
def role_of_user_command(name: str, roles: tuple[str, ...], as_json: bool) -> None:
    """Replace the roles of NAME with ROLES; "none" takes all of them away.

    Example: pinakes user role ada user editor
    """
    given = named_roles(roles)
    noted = {"roles": given}
    user = change("set_roles", fold_name(name), noted, lambda to: to.accounts.set_roles(LOCAL_USER, name, given))
    _report(user, f"changed; {_rights(user)}", as_json=as_json)


@user_command.command("grant")
@click.argument("name")
@click.argument("permissions", nargs=-1, required=True, type=permission)
@json_option
def grant_command(name: str, permissions: tuple[Action, ...], as_json: bool) -> None:
    """Grant NAME PERMISSIONS besides those of their roles.

    Example: pinakes user grant ada ViewAnalytics
    """
    _change_each("grant", Accounts.grant, name, permissions, as_json=as_json)


@user_command.command("revoke")
@click.argument("name")
@click.argument("permissions", nargs=-1, required=True, type=permission)
@json_option
def revoke_command(name: str, permissions: tuple[Action, ...], as_json: bool) -> None:
    """Revoke PERMISSIONS that NAME was granted.

    To take away a permission of a role, change their roles, then grant what they should keep.

    Example: pinakes user revoke ada ViewAnalytics
    """
    _change_each("revoke", Accounts.revoke, name, permissions, as_json=as_json)


@user_command.command("disable")
@click.argument("name")
@json_option
def disable_command(name: str, as_json: bool) -> None:
    """Disable the account NAME.

    Their sessions end, and their tokens do not work until the account is enabled again.

    Example: pinakes user disable ada
    """
    _set_disabled("disable_user", name, disabled=True, as_json=as_json)


@user_command.command("enable")
@click.argument("name")
@json_option
def enable_command(name: str, as_json: bool) -> None:
    """Enable the account NAME again.

    Example: pinakes user enable ada
    """
    _set_disabled("enable_user", name, disabled=False, as_json=as_json)


@user_command.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@json_option
def delete_user_command(name: str, yes: bool, as_json: bool) -> None:
    """Delete the account NAME.

    Its sessions and tokens end with it. Its calls stay in the audit.

    Example: pinakes user delete ada --yes
    """
    with open_control() as control:
        user = control.accounts.get_user(name)
        if not yes:
            _require_agreement(user)
        perform(control, "delete_user", fold_name(name), {}, partial(control.accounts.delete_user, LOCAL_USER, name))
    print_result({"deleted": user.name}, f"user '{user.name}' deleted", as_json=as_json)


def iter_users(accounts: Accounts) -> Iterator[User]:
    """Yield every user, ordered by name."""
    seen = 0
    while True:
        page, total = accounts.list_users(offset=seen, limit=PAGE)
        yield from page
        seen += len(page)
        if not page or seen >= total:
            return


def _find_password(name: str, *, from_stdin: bool, one_time: bool) -> str | None:
    """Return the password from standard input or the terminal; None for a one-time secret."""
    if from_stdin and one_time:
        raise InputError("a password (--password-stdin) or a one-time secret (--one-time), not both")
    if _is_at_terminal() and not one_time:
        return str(click.prompt(f"password of {name}", hide_input=True, confirmation_prompt=True, err=True))
    return _read_password() if from_stdin else None


def _read_password() -> str:
    """Return the only line of standard input."""
    try:
        text = "" if sys.stdin is None else sys.stdin.read()
        text.encode()  # invalid UTF-8 may arrive as lone surrogates
    except UnicodeError:
        raise InputError("the password on standard input is not text (UTF-8)") from None
    line = text.removesuffix("\n").removesuffix("\r")
    if not line or "\n" in line:
        raise InputError("the password must be the only line on standard input")
    return line


def _is_at_terminal() -> bool:
    """Tell whether standard input is a terminal; it may also be closed."""
    return sys.stdin is not None and sys.stdin.isatty()


def _way(password: str | None) -> str:
    """Return the kind of login, as it is audited."""
    return LOGIN_ONCE if password is None else LOGIN_BY_PASSWORD


def _change_each(
    operation: str,
    method: Callable[[Accounts, Principal, str, Action], User],
    name: str,
    permissions: tuple[Action, ...],
    *,
    as_json: bool,
) -> None:
    """Make one change after the other, each audited by itself."""
    with open_control() as control:
        user = control.accounts.get_user(name)
        for action in dict.fromkeys(permissions):
            work = partial(method, control.accounts, LOCAL_USER, name, action)
            user = perform(control, operation, fold_name(name), {"permission": str(action)}, work)
    _report(user, f"changed; {_rights(user)}", as_json=as_json)


def _set_disabled(operation: str, name: str, *, disabled: bool, as_json: bool) -> None:
    def work(control: Control) -> User:
        return control.accounts.set_disabled(LOCAL_USER, name, disabled=disabled)

    user = change(operation, fold_name(name), {}, work)
    _report(user, _state(user), as_json=as_json)


def _require_agreement(user: User) -> None:
    if not _is_at_terminal():
        raise InputError(f"not at a terminal, so deleting user '{user.name}' cannot be confirmed; give --yes to delete")
    if not click.confirm(f"delete user '{user.name}', with their sessions and tokens?", default=False, err=True):
        raise InterruptedByUser(f"user '{user.name}' was not deleted")


def _report(user: User, done: str, *, as_json: bool) -> None:
    print_result(_fields(user), f"user '{user.name}' {done}", as_json=as_json)


def _report_login(user: User, secret: str | None, done: str, *, as_json: bool) -> None:
    """Print what was done; a one-time secret is alone on standard output."""
    if as_json:
        print_json({**_fields(user), "one_time_secret": secret})
        return
    click.echo(f"user '{user.name}' {done}", err=secret is not None)
    if secret is not None:
        click.echo("this secret logs them in once, to set a password; it is not shown again:", err=True)
        click.echo(secret)


def _fields(user: User) -> dict[str, Any]:
    return {
        "name": user.name,
        "roles": sorted(user.roles),
        "granted": sorted(user.granted),
        "permissions": sorted(user.actions),
        "disabled": user.disabled,
        "external": user.external,
        "has_password": user.has_password,
        "has_one_time_password": user.has_one_time_password,
        "created_at": user.created_at,
    }


def _cells(user: User) -> tuple[str, ...]:
    return user.name, listed(user.roles), listed(user.actions), _state(user), _login(user)


def _rights(user: User) -> str:
    return f"roles: {listed(user.roles, none='none')}; may do: {listed(user.actions, none='nothing')}"


def _state(user: User) -> str:
    return "disabled" if user.disabled else "enabled"


def _login(user: User) -> str:
    if user.external:
        return "external issuer"
    if user.has_one_time_password:
        return "one-time password, not used yet"
    return "password" if user.has_password else "none: tokens only"
