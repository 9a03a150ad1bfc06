"""A plain model of who may do and see what, written from the documentation not from the code that
it is held against.

Everything is a set of words in memory; an action either happens or is refused, and nothing tells
why.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

PERMISSIONS = frozenset(
    {
        "AccessCatalog",
        "EditCatalog",
        "ManagePermissions",
        "ViewAnalytics",
        "RequestContent",
        "ServerAdmin",
    }
)
CATALOGUES = ("anime", "diary", "handbook", "letters", "music")
BUILT_IN = {
    "admin": PERMISSIONS,
    "agent": frozenset({"AccessCatalog", "EditCatalog", "RequestContent"}),
    "editor": frozenset({"AccessCatalog", "EditCatalog", "RequestContent"}),
    "user": frozenset({"AccessCatalog"}),
}


@dataclass
class Account:
    roles: set[str]
    granted: set[str]
    disabled: bool = False
    only: frozenset[str] | None = None
    """The list of catalogues of their own."""


@dataclass
class Pass:
    """A token."""

    owner: str
    scopes: frozenset[str] | None = None
    only: frozenset[str] | None = None
    is_over: bool = False


@dataclass(frozen=True)
class Can:
    """What somebody may do, and which catalogues they see."""

    does: frozenset[str]
    sees: frozenset[str]
    only: frozenset[str] | None = None
    """The catalogues that they are confined to, by their pass, their list and those of their
    roles.
    """

    def has(self, other: "Can") -> bool:
        return other.does <= self.does and other.sees <= self.sees

    @property
    def manages(self) -> bool:
        return "ManagePermissions" in self.does and self.only is None


OPERATOR = Can(PERMISSIONS, frozenset(CATALOGUES))


@dataclass
class RightsModel:
    accounts: dict[str, Account] = field(default_factory=dict)
    roles: dict[str, frozenset[str]] = field(default_factory=lambda: dict(BUILT_IN))
    lists: dict[str, frozenset[str]] = field(default_factory=dict)
    """Role → the only catalogues that it shows, where it has a list."""
    restricted: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)
    passes: dict[str, Pass] = field(default_factory=dict)

    def copy(self) -> "RightsModel":
        return RightsModel(
            {
                name: replace(one, roles={*one.roles}, granted={*one.granted})
                for name, one in self.accounts.items()
            },
            dict(self.roles),
            dict(self.lists),
            {name: ({*users}, {*roles}) for name, (users, roles) in self.restricted.items()},
            {key: replace(one) for key, one in self.passes.items()},
        )

    def does(self, name: str) -> frozenset[str]:
        account = self.accounts[name]
        return frozenset(account.granted).union(*(self.roles[role] for role in account.roles))

    def can(
        self, name: str, scopes: frozenset[str] | None = None, only: frozenset[str] | None = None
    ) -> Can:
        """Return what a user may do and see, by a pass that is narrowed like this."""
        does = self.does(name) if scopes is None else self.does(name) & scopes
        listed = self.only(name)
        both = only if listed is None else listed if only is None else only & listed
        sees = frozenset(
            one
            for one in CATALOGUES
            if self._is_open(one, name, does) and (both is None or one in both)
        )
        return Can(does, sees, both)

    def only(self, name: str) -> frozenset[str] | None:
        """Return the catalogues of a user's lists: those of the roles add up, where each has one,
        and the own narrows.

        A role without a list has no limit.
        """
        account = self.accounts[name]
        of_roles = [self.lists.get(role) for role in account.roles]
        if not of_roles or None in of_roles:
            return account.only
        shown = frozenset(one for listed in of_roles if listed is not None for one in listed)
        return shown if account.only is None else shown & account.only

    def reach(self, name: str) -> Can:
        """Return what a user may have without any list, which can be taken away."""
        does = self.does(name)
        return Can(does, frozenset(one for one in CATALOGUES if self._is_open(one, name, does)))

    def can_by(self, key: str) -> Can | None:
        """Return what the holder of a pass may do and see; None where it is not valid."""
        one = self.passes[key]
        owner = self.accounts.get(one.owner)
        if one.is_over or owner is None or owner.disabled:
            return None
        return self.can(one.owner, one.scopes, one.only)

    def opened_by(self, roles: Iterable[str]) -> frozenset[str]:
        return frozenset(
            one for one, (_, allowed) in self.restricted.items() if allowed & set(roles)
        )

    def gives(self, roles: Iterable[str], besides: Iterable[str] = ()) -> Can | None:
        """Return what roles give, None where one of them does not exist; open catalogues are
        everybody's anyway.
        """
        names = set(roles)
        if not names <= self.roles.keys():
            return None
        return Can(
            frozenset(besides).union(*(self.roles[name] for name in names)), self.opened_by(names)
        )

    def may_change(self, actor: Can, name: str) -> bool:
        return actor.manages and name in self.accounts and actor.has(self.reach(name))

    def has_admin(self) -> bool:
        """Tell whether somebody enabled may do everything, and is not confined: others manage
        nobody.
        """
        return any(
            self.does(name) == PERMISSIONS and not one.disabled and self.only(name) is None
            for name, one in self.accounts.items()
        )

    def remove(self, name: str) -> None:
        del self.accounts[name]
        self.passes = {key: one for key, one in self.passes.items() if one.owner != name}
        for users, _ in self.restricted.values():
            users.discard(name)

    def remove_role(self, name: str) -> None:
        del self.roles[name]
        self.lists.pop(name, None)
        for _, roles in self.restricted.values():
            roles.discard(name)

    def _is_open(self, catalogue: str, name: str, does: frozenset[str]) -> bool:
        if catalogue not in self.restricted or "ServerAdmin" in does:
            return True
        users, roles = self.restricted[catalogue]
        return name in users or bool(roles & self.accounts[name].roles)
