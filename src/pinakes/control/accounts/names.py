"""What accounts may be called."""

import re

from pinakes.errors import InputError

NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")
RESERVED = frozenset({"local", "anonymous"})
"""Callers without an account are called so."""
EXTERNAL_PREFIX = "ext:"
"""What the names of users of an external issuer begin with; the rest is the issuer's."""
FORM = "1 to 64 of a-z 0-9 . _ @ -, beginning with a letter or digit"


def fold_name(name: str) -> str:
    """Return a name as it is stored: in lower case, but for what an issuer calls its users."""
    return name if name.startswith(EXTERNAL_PREFIX) else name.lower()


def is_storable(name: str) -> bool:
    """Tell whether somebody can have this name at all; what no database takes is not asked for."""
    return bool(NAME.fullmatch(name)) or (name.startswith(EXTERNAL_PREFIX) and name.isprintable())


def require_user_name(name: str) -> str:
    """Return the name as it is stored; refuse one that nobody can be given."""
    folded = _require_form(name, of="user")
    if folded in RESERVED:
        raise InputError(f"'name': '{folded}' is kept for callers without an account; choose another")
    return folded


def require_role_name(name: str) -> str:
    """Return the role's name as it is stored; refuse one that no role can have."""
    return _require_form(name, of="role")


def _require_form(name: str, *, of: str) -> str:
    folded = name.lower()
    if not NAME.fullmatch(folded):
        raise InputError(f"'name': {name[:80]!r} cannot be the name of a {of}: {FORM}")
    return folded
