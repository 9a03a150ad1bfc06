"""`token add|list|revoke`: bearer tokens of programs."""

import re
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

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
    printable,
)
from pinakes.cli.json_output import json_option, print_json
from pinakes.cli.opening import open_app
from pinakes.cli.user import iter_users
from pinakes.control.accounts.credentials import Credential, IssuedCredential, is_issued_here
from pinakes.control.accounts.names import fold_name
from pinakes.control.control import Control
from pinakes.control.database.time_columns import utc_now
from pinakes.errors import InputError, NotFoundError
from pinakes.model.principal import LOCAL_USER, Action

UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1)}
LIFETIME_FORM = re.compile(r"([0-9]{1,6})([dh])")
FOREVER = "never"
VALID = "valid"


def lifetime(text: str) -> timedelta | None:
    """Parse a lifetime such as 90d or 12h; None for 'never'."""
    folded = text.strip().lower()
    if folded == FOREVER:
        return None
    form = LIFETIME_FORM.fullmatch(folded)
    if form is None:
        raise InputError(f"--expires {text[:80]!r} is not a lifetime: write 90d, 12h or {FOREVER}")
    return int(form[1]) * UNITS[form[2]]


@click.group("token")
def token_command() -> None:
    """Create, list and revoke tokens, by which programs authenticate as a user.

    A client sends a token as "Authorization: Bearer TOKEN".
    """


@token_command.command("add")
@click.argument("name")
@click.option("--user", "user_name", required=True, metavar="NAME", help="Whose token it is.")
@click.option(
    "--scope", "scopes", multiple=True, type=permission, help="Confine it to this permission; can be repeated."
)
@click.option("--catalogue", "catalogues", multiple=True, help="Confine it to this catalogue; can be repeated.")
@click.option(
    "--expires",
    "expires_in",
    type=lifetime,
    default="90d",
    show_default=True,
    metavar="90d|12h|never",
    help="How long it lasts: days, hours, or until it is revoked.",
)
@json_option
def add_token_command(
    name: str,
    user_name: str,
    scopes: tuple[Action, ...],
    catalogues: tuple[str, ...],
    expires_in: timedelta | None,
    as_json: bool,
) -> None:
    """Create a token called NAME, and print its secret.

    The secret is alone on standard output, everything else on standard error; it is not shown again. Without --scope
    the token has all permissions of its user, now and later; without --catalogue it sees all catalogues of its user.

    Example: pinakes token add laptop --user ada --scope AccessCatalog
    """
    _require_installed(catalogues)
    narrowed = {"scopes": list(scopes) or None, "catalogues": list(catalogues) or None}
    lasts = FOREVER if expires_in is None else f"{expires_in / UNITS['h']:g} h"
    noted: dict[str, Any] = {"user": fold_name(user_name), **narrowed, "lasts": lasts}

    def issue(control: Control) -> IssuedCredential:
        issued = control.credentials.issue_token(
            LOCAL_USER,
            user_name,
            name=name,
            scopes=scopes or None,
            catalogues=catalogues or None,
            expires_in=expires_in,
        )
        noted["id"] = issued.credential.id
        return issued

    issued = change("create_token", name, noted, issue)
    if as_json:
        print_json({**_fields(issued.credential), "secret": issued.secret})
        return
    click.echo(_described(issued.credential), err=True)
    click.echo("this is its secret; it is not shown again:", err=True)
    click.echo(issued.secret)


@token_command.command("list")
@click.option("--user", "user_name", metavar="NAME", help="Only tokens of this user.")
@click.option("--sessions", is_flag=True, help="Include login sessions.")
@json_option
def list_tokens_command(user_name: str | None, sessions: bool, as_json: bool) -> None:
    """List tokens, including expired and revoked ones.

    Example: pinakes token list --user ada
    """
    with find_control() as control:
        found = [] if control is None else _credentials(control, user_name)
    shown = [one for one in found if sessions or one.kind == "token"]
    headings = ("id", "user", "name", "permissions", "catalogues", "ends", "last used")
    empty = "there are no tokens" if control else NO_ACCOUNTS
    print_list(shown, _fields, headings, _row, empty=empty, as_json=as_json)


@token_command.command("revoke")
@click.argument("token_id", metavar="ID")
@json_option
def revoke_token_command(token_id: str, as_json: bool) -> None:
    """Revoke the token or session ID.

    A leaked secret can be given in place of the id.

    Example: pinakes token revoke 3f9c2a7be410
    """
    with open_control() as control:
        known_id = _id_of(control, token_id)
        work = partial(control.credentials.revoke, LOCAL_USER, known_id)
        perform(control, "revoke_token", known_id, {}, work)
    print_result({"revoked": known_id}, f"'{known_id}' is revoked", as_json=as_json)


def _id_of(control: Control, given: str) -> str:
    """Return the id of a token, also for a secret, so that no secret is printed or audited."""
    if not is_issued_here(given):
        return given
    found = control.credentials.find(given)
    if found is None:
        raise NotFoundError(
            "no session or token with this secret is valid: it was revoked, has expired, or is from another server"
        )
    return found[0].id


def _require_installed(catalogues: Sequence[str]) -> None:
    library = open_app().library
    for name in catalogues:
        library.get_installed(name)


def _credentials(control: Control, user_name: str | None) -> list[Credential]:
    """Return the sessions and tokens of one user, or of all users by name."""
    names = [user.name for user in iter_users(control.accounts)] if user_name is None else [user_name]
    return [one for name in names for one in control.credentials.list_of(name)]


def _state(credential: Credential) -> str:
    if credential.revoked:
        return "revoked"
    return VALID if credential.expires_at is None or credential.expires_at > utc_now() else "over"


def _fields(credential: Credential) -> dict[str, Any]:
    return {
        "id": credential.id,
        "kind": credential.kind,
        "user": credential.user,
        "name": credential.name,
        "scopes": None if credential.scopes is None else sorted(credential.scopes),
        "catalogues": None if credential.catalogues is None else sorted(credential.catalogues),
        "created_at": credential.created_at,
        "expires_at": credential.expires_at,
        "last_used_at": credential.last_used_at,
        "state": _state(credential),
    }


def _end(credential: Credential) -> str:
    """Return the day on which a token expires, or why it is no longer valid."""
    state = _state(credential)
    if state != VALID:
        return state
    return FOREVER if credential.expires_at is None else str(credential.expires_at.date())


def _row(credential: Credential) -> tuple[str, ...]:
    return (
        credential.id,
        credential.user,
        credential.name or f"({credential.kind})",
        "all" if credential.scopes is None else listed(credential.scopes),
        "all" if credential.catalogues is None else listed(credential.catalogues),
        _end(credential),
        "never" if credential.last_used_at is None else str(credential.last_used_at.date()),
    )


def _described(credential: Credential) -> str:
    """Return one line that describes a token."""
    may = f"what '{credential.user}' may" if credential.scopes is None else listed(credential.scopes)
    sees = "the catalogues they see" if credential.catalogues is None else listed(credential.catalogues)
    name = printable(credential.name)
    return f"token '{name}' ({credential.id}): may do {may}; for {sees}; ends {moment(credential.expires_at)}"
