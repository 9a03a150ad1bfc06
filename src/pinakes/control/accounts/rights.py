"""The rights of a user as a caller, derived from their roles and from restricted catalogues."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from pinakes.control.accounts.restrictions import Restrictions, hidden_among, load_restrictions
from pinakes.control.accounts.users import User, load_roles
from pinakes.model.principal import Action, Principal, Quotas
from pinakes.model.scope import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """A snapshot of role quotas and catalogue restrictions."""

    quotas: Mapping[str, Quotas]
    """Role → its quotas; a role without its own has the usual ones."""
    usual_quotas: Quotas
    restrictions: Restrictions

    def principal(
        self, user: User, *, scopes: frozenset[Action] | None = None, catalogues: frozenset[str] | None = None
    ) -> Principal:
        """Return the user as a caller, narrowed to these permissions and catalogues.

        A caller who is narrowed to less than ServerAdmin sees what a user without it sees.
        """
        actions = user.actions if scopes is None else user.actions & scopes
        audiences = None if Action.SERVER_ADMIN in actions else frozenset({*user.roles, f"user:{user.name}"})
        hidden = hidden_among(self.restrictions, user, actions)
        return Principal(
            name=user.name,
            actions=actions,
            visibility=Visibility(audiences=audiences, only=catalogues, hidden=hidden),
            quotas=self._most_generous([self.quotas[role] for role in user.roles]),
        )

    def _most_generous(self, quotas: Sequence[Quotas]) -> Quotas:
        if not quotas:
            return self.usual_quotas
        return Quotas(
            read=max(one.read for one in quotas),
            write=max(one.write for one in quotas),
            sql=max(one.sql for one in quotas),
        )


def load_rights(connection: Connection, usual_quotas: Quotas) -> Rights:
    """Read the present role quotas and catalogue restrictions."""
    return Rights(
        quotas={role.name: role.quotas or usual_quotas for role in load_roles(connection)},
        usual_quotas=usual_quotas,
        restrictions=load_restrictions(connection),
    )
