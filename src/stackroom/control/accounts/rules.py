"""Permission to change accounts: decisions about values, without a database.

One rule: nobody gives, takes over or opens what they do not have. What somebody has is their
`Reach`: their permissions, and the restricted catalogues that they see. An actor changes only
users, roles and restrictions within their own reach, and gives only what is within it, so that
managing others does not lead to more rights. Who is confined to catalogues, by a token or a list,
cannot change accounts: a user they created could see the others.
"""

from collections.abc import Iterable, Sequence

from stackroom.control.accounts.users import Restrictions, Role, User, hidden_among, opened_by_roles
from stackroom.errors import ForbiddenError, NotFoundError
from stackroom.frozen import frozen
from stackroom.model.principal import Action, Principal, Quotas

EVERYTHING = frozenset(Action)
NOTHING: frozenset[str] = frozenset()


@frozen
class Reach:
    """Permissions, and the restricted catalogues that they can see; all users see the others."""

    actions: frozenset[Action]
    catalogues: frozenset[str] = NOTHING


def reach_of_user(user: User, restrictions: Restrictions) -> Reach:
    """Return the reach of a user."""
    hidden = hidden_among(restrictions, user, user.actions)
    return Reach(actions=user.actions, catalogues=frozenset(restrictions) - hidden)


def reach_of_roles(
    roles: Sequence[Role], restrictions: Restrictions, *, besides: Iterable[Action] = ()
) -> Reach:
    """Return the reach that roles give to a user, together with the permissions granted to the
    user.
    """
    actions = frozenset(besides).union(*(role.actions for role in roles))
    return Reach(
        actions=actions, catalogues=opened_by_roles(restrictions, (role.name for role in roles))
    )


def require_manager(actor: Principal) -> None:
    """Refuse an actor who may not manage accounts."""
    if Action.MANAGE_PERMISSIONS not in actor.actions:
        raise ForbiddenError(
            f"this needs the permission {Action.MANAGE_PERMISSIONS}, which you do not have"
        )
    _require_unconfined(actor)


def require_may_give(actor: Principal, given: Reach) -> None:
    """Refuse to give permissions that the actor does not have, or catalogues that they do not
    see.
    """
    lacking = _named(given.actions - actor.actions)
    if lacking:
        raise ForbiddenError(
            f"you cannot grant permissions that you do not have: {lacking}; ask a user who has them"
        )
    if _hidden(actor, given):
        raise ForbiddenError(
            "you cannot give a role that opens catalogues which you do not see: ask a user who does"
        )


def require_may_change(actor: Principal, changed: User | Role, theirs: Reach) -> None:
    """Refuse to change a user or a role that has more permissions than the actor, or opens more
    catalogues.
    """
    require_manager(actor)
    named = f"{'user' if isinstance(changed, User) else 'role'} '{changed.name}'"
    lacking = _named(theirs.actions - actor.actions)
    if lacking:
        raise ForbiddenError(
            f"{named} has permissions that you do not have ({lacking}): ask a user who has them"
        )
    if _hidden(actor, theirs):
        verb = "sees" if isinstance(changed, User) else "opens"
        raise ForbiddenError(f"{named} {verb} catalogues that you do not see: ask a user who does")


def require_may_set_quotas(actor: Principal, quotas: Quotas | None) -> None:
    """Refuse rate limits above the actor's own; those who operate the server set any."""
    own = actor.quotas
    if quotas is None or own is None or Action.SERVER_ADMIN in actor.actions:
        return
    if quotas.read > own.read or quotas.write > own.write or quotas.sql > own.sql:
        most = f"read {own.read}, write {own.write}, sql {own.sql}"
        raise ForbiddenError(f"you cannot give more calls a minute than you have: {most}")


def require_may_enter(actor: Principal, user: User, theirs: Reach) -> None:
    """Refuse to set the password of a user who has more rights than the actor; users may set their
    own.
    """
    if actor.name != user.name:
        require_may_change(actor, user, theirs)
        return
    _require_unconfined(actor)
    lacking = _named(theirs.actions - actor.actions)
    if lacking:
        raise ForbiddenError(
            f"your password gives more permissions than this token ({lacking}): log in to change it"
        )


def require_may_restrict(actor: Principal, catalogue: str) -> None:
    """Refuse to restrict or open a catalogue that the actor does not see, as if it did
    not exist.
    """
    if Action.SERVER_ADMIN not in actor.actions or actor.visibility.only is not None:
        require_manager(actor)
    if not actor.visibility.sees_catalogue(catalogue):
        raise NotFoundError(
            f"no catalogue {catalogue[:80]!r}; list the catalogues for those you see"
        )


def require_may_issue(actor: Principal, user: User, catalogues: frozenset[str] | None) -> None:
    """Refuse a token whose secret would show the actor catalogues that they do not see, now or
    later.
    """
    allowed, given = actor.visibility.only, user.only if catalogues is None else catalogues
    if allowed is not None and (given is None or not given <= allowed):
        raise ForbiddenError(
            f"you have these catalogues to give: {', '.join(sorted(allowed)) or 'none'}"
        )
    if actor.name == user.name or Action.SERVER_ADMIN in actor.actions:
        return
    if catalogues is None or not all(actor.visibility.sees_catalogue(name) for name in catalogues):
        raise ForbiddenError(
            "a token for another user must name its 'catalogues', of those that you see"
        )


def require_may_end(
    actor: Principal,
    user: User,
    *,
    scopes: frozenset[Action] | None,
    catalogues: frozenset[str] | None,
) -> None:
    """Refuse to revoke a credential of the same user that is wider than the actor's own."""
    lacking = _named((user.actions if scopes is None else user.actions & scopes) - actor.actions)
    if lacking:
        raise ForbiddenError(
            f"it has permissions that your token does not have ({lacking}): log in to revoke it"
        )
    only, theirs = actor.visibility.only, user.only if catalogues is None else catalogues
    if only is not None and (theirs is None or not theirs <= only):
        named = ", ".join(sorted(only))
        raise ForbiddenError(
            f"it is for more catalogues than your token ({named}): log in to revoke it"
        )


def _require_unconfined(actor: Principal) -> None:
    if actor.visibility.only is not None:
        problem = (
            "who is confined to catalogues, by a token or a list, cannot change accounts: ask a"
            " user who sees all"
        )
        raise ForbiddenError(problem)


def _hidden(actor: Principal, reach: Reach) -> bool:
    """Tell whether a reach has a catalogue that the actor does not see; no message names it."""
    return not all(actor.visibility.sees_catalogue(name) for name in reach.catalogues)


def _named(actions: Iterable[Action]) -> str:
    return ", ".join(sorted(actions))
