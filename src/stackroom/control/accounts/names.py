"""Names of users and roles: their form, and how they are stored."""

import re
from collections.abc import Iterable

from stackroom.errors import InputError

NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
RESERVED = frozenset({"local", "anonymous"})
"""Names of callers without an account."""
NO_ROLE = "none"
"""The word for no role, where roles are named; so no role can be called that."""
EXTERNAL_PREFIX = "ext:"
"""Prefix of the names of an external issuer's users; the rest is the issuer's."""
FORM = "1 to 64 of a-z 0-9 . _ @ -, beginning with a letter or digit"


def fold_name(name: str) -> str:
    """Return a name as it is stored: in lower case, except those of an external issuer."""
    return name if name.startswith(EXTERNAL_PREFIX) else name.lower()


def is_storable(name: str) -> bool:
    """Tell whether a user can have this name; others need not be looked up, and may break a database."""
    return bool(NAME.fullmatch(name)) or (name.startswith(EXTERNAL_PREFIX) and name.isprintable())


def require_user_name(name: str) -> str:
    """Return a user's name as it is stored; raise InputError if it is not allowed."""
    folded = _require_form(name, of="user")
    if folded in RESERVED:
        raise InputError(f"'name': '{folded}' is kept for callers without an account; choose another")
    return folded


def require_role_name(name: str) -> str:
    """Return a role's name as it is stored; raise InputError if it is not allowed."""
    folded = _require_form(name, of="role")
    if folded == NO_ROLE:
        raise InputError(f"'name': '{NO_ROLE}' stands for no role; choose another")
    return folded


def named_roles(names: Iterable[str]) -> list[str]:
    """Return the names of roles, without the word for no role; raise InputError where it is beside others."""
    given = list(names)
    if any(name.lower() == NO_ROLE for name in given):
        if len(given) > 1:
            raise InputError(f"'{NO_ROLE}' stands for no role: give it alone")
        return []
    return given


def _require_form(name: str, *, of: str) -> str:
    folded = name.lower()
    if not NAME.fullmatch(folded):
        raise InputError(f"'name': {name[:80]!r} cannot be the name of a {of}: {FORM}")
    return folded
