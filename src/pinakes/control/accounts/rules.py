"""Permission to change accounts: decisions about values, without a database.

An actor can only give permissions they have, so that managing others does not lead to more rights. A token that is
confined to catalogues cannot change accounts: a user it created could see the others.
"""

from collections.abc import Iterable

from pinakes.control.accounts.users import User
from pinakes.errors import ForbiddenError
from pinakes.model.principal import Action, Principal

EVERYTHING = frozenset(Action)


def require_manager(actor: Principal) -> None:
    """Refuse an actor who may not manage accounts."""
    if Action.MANAGE_PERMISSIONS not in actor.actions:
        raise ForbiddenError(f"this needs the permission {Action.MANAGE_PERMISSIONS}, which you do not have")
    _require_unconfined(actor)


def require_may_give(actor: Principal, actions: Iterable[Action]) -> None:
    """Refuse to grant permissions that the actor does not have."""
    lacking = _named(frozenset(actions) - actor.actions)
    if lacking:
        raise ForbiddenError(f"you cannot grant permissions that you do not have: {lacking}")


def require_may_change(actor: Principal, user: User) -> None:
    """Refuse to change a user who has more permissions than the actor."""
    require_manager(actor)
    lacking = _named(user.actions - actor.actions)
    if lacking:
        raise ForbiddenError(
            f"user '{user.name}' has permissions that you do not have ({lacking}): ask a user who has them"
        )


def require_may_enter(actor: Principal, user: User) -> None:
    """Refuse to set the password of a user who has more permissions than the actor; users may set their own."""
    if actor.name != user.name:
        require_may_change(actor, user)
        return
    _require_unconfined(actor)
    lacking = _named(user.actions - actor.actions)
    if lacking:
        raise ForbiddenError(f"your password gives more permissions than this token ({lacking}): log in to change it")


def require_may_end(
    actor: Principal, user: User, *, scopes: frozenset[Action] | None, catalogues: frozenset[str] | None
) -> None:
    """Refuse to revoke a credential of the same user that is wider than the actor's own."""
    lacking = _named((user.actions if scopes is None else user.actions & scopes) - actor.actions)
    if lacking:
        raise ForbiddenError(f"it has permissions that your token does not have ({lacking}): log in to revoke it")
    only = actor.visibility.only
    if only is not None and (catalogues is None or not catalogues <= only):
        named = ", ".join(sorted(only))
        raise ForbiddenError(f"it is for more catalogues than your token ({named}): log in to revoke it")


def has_everything(user: User) -> bool:
    """Tell whether a user is enabled and has every permission."""
    return not user.disabled and user.actions >= EVERYTHING


def _require_unconfined(actor: Principal) -> None:
    if actor.visibility.only is not None:
        raise ForbiddenError(
            "a token that is confined to catalogues cannot change accounts: use one for all catalogues"
        )


def _named(actions: Iterable[Action]) -> str:
    return ", ".join(sorted(actions))
