"""Who may change whose rights: decisions about values, without a database.

Nobody gives what they do not have, so that permission to manage others does not lead to more. A token that is confined
to some catalogues manages nobody: whoever it made could see the others.
"""

from collections.abc import Iterable

from pinakes.control.accounts.users import User
from pinakes.errors import ForbiddenError
from pinakes.model.principal import Action, Principal

EVERYTHING = frozenset(Action)


def require_manager(actor: Principal) -> None:
    """Refuse whoever may not manage others."""
    if Action.MANAGE_PERMISSIONS not in actor.actions:
        raise ForbiddenError(f"this needs the permission {Action.MANAGE_PERMISSIONS}, which you do not have")
    _require_unconfined(actor)


def require_may_give(actor: Principal, actions: Iterable[Action]) -> None:
    """Refuse to give what the actor does not have."""
    lacking = _named(frozenset(actions) - actor.actions)
    if lacking:
        raise ForbiddenError(f"nobody gives what they do not have: you do not have {lacking}")


def require_may_change(actor: Principal, user: User) -> None:
    """Refuse to change the account of somebody who may do more than the actor."""
    require_manager(actor)
    lacking = _named(user.actions - actor.actions)
    if lacking:
        raise ForbiddenError(f"user '{user.name}' may do what you may not ({lacking}): ask somebody who may do it too")


def require_may_enter(actor: Principal, user: User) -> None:
    """Refuse to set a password that would open more than the actor has; one's own is theirs to set."""
    if actor.name != user.name:
        require_may_change(actor, user)
        return
    _require_unconfined(actor)
    lacking = _named(user.actions - actor.actions)
    if lacking:
        raise ForbiddenError(f"your password opens more than this token ({lacking}): log in to change it")


def require_may_end(
    actor: Principal, user: User, *, scopes: frozenset[Action] | None, catalogues: frozenset[str] | None
) -> None:
    """Refuse to end a session or token of the actor's own that is wider than what they show."""
    lacking = _named((user.actions if scopes is None else user.actions & scopes) - actor.actions)
    if lacking:
        raise ForbiddenError(f"it may do what your token may not ({lacking}): log in to revoke it")
    only = actor.visibility.only
    if only is not None and (catalogues is None or not catalogues <= only):
        named = ", ".join(sorted(only))
        raise ForbiddenError(f"it is for more catalogues than your token ({named}): log in to revoke it")


def has_everything(user: User) -> bool:
    """Tell whether somebody may do everything, and is not disabled."""
    return not user.disabled and user.actions >= EVERYTHING


def _require_unconfined(actor: Principal) -> None:
    if actor.visibility.only is not None:
        raise ForbiddenError("a token for some catalogues only cannot change accounts: use one for all of them")


def _named(actions: Iterable[Action]) -> str:
    return ", ".join(sorted(actions))
