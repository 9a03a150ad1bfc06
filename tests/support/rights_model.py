"""A plain model of who may do and see what, written from the documentation not from the code that it is held against.

Everything is a set of words in memory; an action either happens or is refused, and nothing tells why.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

PERMISSIONS = frozenset(
    {"AccessCatalog", "EditCatalog", "ManagePermissions", "ViewAnalytics", "RequestContent", "ServerAdmin"}
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
    has_password: bool = False
    has_one_time: bool = True


@dataclass
class Pass:
    """A session or token."""

    owner: str
    is_session: bool
    scopes: frozenset[str] | None = None
    only: frozenset[str] | None = None
    is_over: bool = False


@dataclass(frozen=True)
class Can:
    """What somebody may do, and which catalogues they see."""

    does: frozenset[str]
    sees: frozenset[str]
    is_confined: bool = False

    def has(self, other: "Can") -> bool:
        return other.does <= self.does and other.sees <= self.sees

    @property
    def manages(self) -> bool:
        return "ManagePermissions" in self.does and not self.is_confined


OPERATOR = Can(PERMISSIONS, frozenset(CATALOGUES))


@dataclass
class RightsModel:
    accounts: dict[str, Account] = field(default_factory=dict)
    roles: dict[str, frozenset[str]] = field(default_factory=lambda: dict(BUILT_IN))
    restricted: dict[str, tuple[set[str], set[str]]] = field(default_factory=dict)
    passes: dict[str, Pass] = field(default_factory=dict)

    def copy(self) -> "RightsModel":
        return RightsModel(
            {name: replace(one, roles={*one.roles}, granted={*one.granted}) for name, one in self.accounts.items()},
            dict(self.roles),
            {name: ({*users}, {*roles}) for name, (users, roles) in self.restricted.items()},
            {key: replace(one) for key, one in self.passes.items()},
        )

    def does(self, name: str) -> frozenset[str]:
        account = self.accounts[name]
        return frozenset(account.granted).union(*(self.roles[role] for role in account.roles))

    def can(self, name: str, scopes: frozenset[str] | None = None, only: frozenset[str] | None = None) -> Can:
        """Return what a user may do and see, by a pass that is narrowed like this."""
        does = self.does(name) if scopes is None else self.does(name) & scopes
        sees = frozenset(one for one in CATALOGUES if self._is_open(one, name, does) and (only is None or one in only))
        return Can(does, sees, only is not None)

    def can_by(self, key: str) -> Can | None:
        """Return what the holder of a pass may do and see; None where it is not valid."""
        one = self.passes[key]
        owner = self.accounts.get(one.owner)
        if one.is_over or owner is None or owner.disabled:
            return None
        return self.can(one.owner, one.scopes, one.only)

    def opened_by(self, roles: Iterable[str]) -> frozenset[str]:
        return frozenset(one for one, (_, allowed) in self.restricted.items() if allowed & set(roles))

    def gives(self, roles: Iterable[str], besides: Iterable[str] = ()) -> Can | None:
        """Return what roles give, None where one of them does not exist; open catalogues are everybody's anyway."""
        names = set(roles)
        if not names <= self.roles.keys():
            return None
        return Can(frozenset(besides).union(*(self.roles[name] for name in names)), self.opened_by(names))

    def may_change(self, actor: Can, name: str) -> bool:
        return actor.manages and name in self.accounts and actor.has(self.can(name))

    def has_admin(self) -> bool:
        return any(self.does(name) == PERMISSIONS and not one.disabled for name, one in self.accounts.items())

    def end_sessions(self, name: str) -> None:
        for one in self.passes.values():
            one.is_over = one.is_over or (one.owner == name and one.is_session)

    def remove(self, name: str) -> None:
        del self.accounts[name]
        self.passes = {key: one for key, one in self.passes.items() if one.owner != name}
        for users, _ in self.restricted.values():
            users.discard(name)

    def remove_role(self, name: str) -> None:
        del self.roles[name]
        for _, roles in self.restricted.values():
            roles.discard(name)

    def _is_open(self, catalogue: str, name: str, does: frozenset[str]) -> bool:
        if catalogue not in self.restricted or "ServerAdmin" in does:
            return True
        users, roles = self.restricted[catalogue]
        return name in users or bool(roles & self.accounts[name].roles)
