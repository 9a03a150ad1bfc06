"""A random walk of admin actions through the real accounts, beside the plain model of
`rights_model`.

Random actors, each with a token of theirs, or the operator at the machine, do random
things to users, roles, permissions, tokens and restrictions. Each must be taken or
refused as in the model; nobody may end up with more than the actor had; and every few actions
everybody's rights over every catalogue are compared. Run it longer:

    PYTHONPATH=tests .venv/bin/python -m support.rights_walk 10000 1 2 3
"""

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from typing import Any

from stackroom.admin.users import USERS_TOOLS
from stackroom.control.accounts.accounts import Accounts, CatalogueAccess
from stackroom.control.accounts.credentials import Credentials
from stackroom.control.accounts.identity_cache import IdentityCache, load_rights
from stackroom.control.control import Control
from stackroom.control.database.engine import ControlDatabase
from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.model.principal import ANONYMOUS, LOCAL_USER, Action, Identity, Principal, Quotas
from stackroom.tools.operation import Office
from stackroom.tools.toolbox import Toolbox
from support.rights_model import CATALOGUES, OPERATOR, PERMISSIONS, Account, Can, Pass, RightsModel

NAMES = ("ada", "bob", "cleo", "dora", "eve", "fay", "gus", "hal")
OWN_ROLES = ("board", "curator", "manager", "staff")
MOST_TOKENS = 50
USUAL = Quotas(read=120, write=30, sql=10)
COMPARED_EVERY = 10


class RightsWalk:
    """Takes steps in the real accounts and in the model, and raises AssertionError where they
    differ.
    """

    def __init__(self, database: ControlDatabase, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._database = database
        self._accounts = Accounts(database)
        self._credentials = Credentials(database)
        self._access = CatalogueAccess(database)
        self._identities = IdentityCache(database, default_quotas=USUAL)
        office = Office(control=Control.over(database, quotas=USUAL), list_names=lambda: CATALOGUES)
        self._gate = Gate(Toolbox(USERS_TOOLS), office=office)
        self._model = RightsModel()
        self._secrets: dict[str, str] = {}
        """Credential id → secret."""
        self._held: dict[str, Identity] = {}
        """Credential id → an identity of before, as an open stream has it."""
        self._actor_name = ""
        self._actor_pass = ""
        self._actor = LOCAL_USER
        self._can = OPERATOR
        self._prepare()

    def take_step(self) -> None:
        """Choose an actor and an action, do it on both sides, and compare the outcome."""
        self._choose_actor()
        step = self._chance.choice(STEPS)
        before, can = self._model.copy(), self._can
        is_expected, is_done = step(self)
        told = (
            f"{step.__name__} by {self._actor_name or 'the operator'}: expected {is_expected}, done"
            f" {is_done}"
        )
        assert is_expected == is_done, told
        self.counts["taken" if is_done else "refused"] += 1
        if not is_done:
            self._model = before
        elif self._actor_name and can.manages:
            self._require_no_gain(before, can)

    def compare(self) -> None:
        """Compare every user, role, restriction and pass of both sides."""
        model = self._model
        users, _ = self._accounts.list_users(limit=1000)
        real = {
            one.name: (
                set(one.roles),
                set(one.granted),
                one.disabled,
                one.catalogues,
            )
            for one in users
        }
        assert real == {
            name: (one.roles, one.granted, one.disabled, one.only)
            for name, one in model.accounts.items()
        }
        roles = self._accounts.list_roles()
        assert {role.name: role.actions for role in roles} == model.roles
        assert {
            role.name: role.catalogues for role in roles if role.catalogues is not None
        } == model.lists
        restrictions = self._access.list_restrictions()
        assert {
            name: (set(one.users), set(one.roles)) for name, one in restrictions.items()
        } == model.restricted
        with self._database.read() as connection:
            rights = load_rights(connection, USUAL)
        for user in users:
            assert _can_of(rights.principal(user)) == model.can(user.name), user.name
        self._compare_passes()
        self.counts["comparisons"] += 1

    def _compare_passes(self) -> None:
        """Compare what every pass allows, as an open stream asks for it; and of a few, as a new
        request does.
        """
        held = list(self._held.values())
        found = dict(zip(self._held, self._identities.current(held), strict=True))
        for key in self._chance.sample(sorted(found), min(3, len(found))):
            assert self._identities.identify(self._secrets[key]) == found[key]
        for key, identity in found.items():
            can = None if identity is None else _can_of(identity.principal)
            one = self._model.passes.get(key)
            assert can == (None if one is None else self._model.can_by(key)), f"a pass of {one}"
            if one is None or (one.is_over and self._chance.random() < 0.3):
                del self._held[key], self._secrets[key]
                self._model.passes.pop(key, None)

    def _prepare(self) -> None:
        """Begin with managers from whom catalogues are hidden that a role and a user of theirs to
        manage would open.
        """
        for role, does in (
            ("manager", {"AccessCatalog", "ManagePermissions"}),
            ("staff", {"AccessCatalog"}),
        ):
            self._accounts.create_role(LOCAL_USER, role, [Action(one) for one in does], None)
            self._model.roles[role] = frozenset(does)
        for name, roles, grants in (
            ("ada", ["admin"], []),
            ("bob", ["manager"], []),
            ("cleo", ["user"], ["ManagePermissions", "EditCatalog"]),
            ("dora", ["staff"], []),
            ("eve", ["user"], []),
        ):
            granted = [Action(one) for one in grants]
            self._accounts.create_user(LOCAL_USER, name, password=None, roles=roles, grants=granted)
            self._model.accounts[name] = Account(set(roles), set(grants))
            self._issue_first(name)
        for catalogue, users, roles in (("handbook", [], ["staff"]), ("letters", ["eve"], [])):
            self._access.restrict(LOCAL_USER, catalogue, users=users, roles=roles)
            self._model.restricted[catalogue] = (set(users), set(roles))

    def _issue_first(self, name: str) -> None:
        issued = self._credentials.issue_token(LOCAL_USER, name, name="first")
        self._keep(issued.credential.id, issued.secret, Pass(name))

    def _choose_actor(self) -> None:
        valid = [key for key in self._model.passes if self._model.can_by(key) is not None]
        if not valid or self._chance.random() < 0.25:
            self._actor_name, self._actor_pass, self._actor, self._can = (
                "",
                "",
                LOCAL_USER,
                OPERATOR,
            )
            return
        bounded = [key for key in valid if _is_bounded_manager(self._model.can_by(key))]
        key = self._chance.choice(bounded if bounded and self._chance.random() < 0.6 else valid)
        identity = self._identities.recall(self._secrets[key]) or self._identities.identify(
            self._secrets[key]
        )
        assert identity is not None
        can = self._model.can_by(key)
        assert can is not None
        self._actor_name, self._actor_pass = self._model.passes[key].owner, key
        self._actor, self._can = identity.principal, can

    def _require_no_gain(self, before: RightsModel, actor: Can) -> None:
        """No user but one within the actor's reach was changed, and what they have now is within it
        too.
        """
        for name, account in self._model.accounts.items():
            if before.accounts.get(name) != account:
                assert actor.has(self._open_to_all(self._model.can(name))), (
                    f"{name} has more than who changed them"
                )
                assert name not in before.accounts or actor.has(before.can(name)), (
                    f"{name} was changed"
                )
        for key, one in self._model.passes.items():
            if key not in before.passes and one.owner != self._actor_name:
                made = self._model.can_by(key)
                assert made is None or actor.has(self._open_to_all(made)), (
                    f"a pass of {one.owner} has more"
                )

    def _open_to_all(self, can: Can) -> Can:
        return Can(can.does, can.sees & self._model.restricted.keys())

    def _keep(self, key: str, secret: str, one: Pass) -> None:
        self._secrets[key] = secret
        self._held[key] = Identity(principal=ANONYMOUS, credential_id=key, expires_at=None)
        self._model.passes[key] = one

    def _mutate(self, action: str, name: str, **more: Any) -> dict[str, Any] | None:
        """Call the tool as the actor; None where it is refused."""
        try:
            answer = self._gate.call(
                self._actor, "users.mutate", {"action": action, "name": name, **more}
            )
        except ExpectedError:
            return None
        return None if answer.structured is None else dict(answer.structured)

    def _succeeds(self, work: Callable[[], Any]) -> bool:
        try:
            work()
        except ExpectedError:
            return False
        return True

    def _name(self, *, is_new: bool = False) -> str:
        """Return a name, mostly one that somebody has, or that nobody has yet."""
        fitting = [one for one in NAMES if (one in self._model.accounts) is not is_new]
        return self._chance.choice(fitting if fitting and self._chance.random() < 0.9 else NAMES)

    def _some(self, choices: Any, most: int = 3) -> list[str]:
        return self._chance.sample(
            sorted(choices), self._chance.randint(0, min(most, len(choices)))
        )

    def _some_roles(self) -> list[str]:
        """Return names of roles, seldom one that opens everything, or that does not exist."""
        common = [name for name, does in self._model.roles.items() if "ServerAdmin" not in does]
        return self._some(
            common if self._chance.random() < 0.9 else [*self._model.roles, *OWN_ROLES], 2
        )

    def _some_permissions(self, most: int = 3) -> list[str]:
        return self._some(
            PERMISSIONS if self._chance.random() < 0.2 else PERMISSIONS - {"ServerAdmin"}, most
        )

    def _some_list(self) -> tuple[dict[str, Any], frozenset[str] | None]:
        """Return the argument of a list of catalogues, mostly none, and what it stands for."""
        chance = self._chance.random()
        if chance < 0.6:
            return {}, None
        if chance < 0.7:
            return {"catalogues": ["all"]}, None
        names = self._chance.sample(CATALOGUES, self._chance.randint(1, 3))
        return {"catalogues": names}, frozenset(names)

    def _may_list(self, listed: frozenset[str] | None) -> bool:
        return listed is None or listed <= self._can.sees

    def create_user(self) -> tuple[bool, bool]:
        name, roles, granted = (
            self._name(is_new=True),
            self._some_roles(),
            self._some_permissions(2),
        )
        more, listed = self._some_list()
        gift = self._model.gives(roles, granted)
        expected = (
            self._can.manages
            and name not in self._model.accounts
            and gift is not None
            and self._can.has(gift)
        )
        made = self._mutate("create", name, role=roles or "none", permissions=granted, **more)
        if made is not None:
            self._model.accounts[name] = Account(set(roles), set(granted), only=listed)
        return expected and self._may_list(listed), made is not None

    def set_catalogues(self) -> tuple[bool, bool]:
        name, (more, listed) = self._name(), self._some_list()
        return self._change(
            "set_catalogues",
            name,
            lambda: setattr(self._model.accounts[name], "only", listed),
            is_allowed=self._may_list(listed),
            **(more or {"catalogues": ["all"]}),
        )

    def delete_user(self) -> tuple[bool, bool]:
        name = self._name()
        return self._change("delete", name, lambda: self._model.remove(name))

    def set_roles(self) -> tuple[bool, bool]:
        name, roles = self._name(), self._some_roles()
        gift = self._model.gives(roles)
        return self._change(
            "set_role",
            name,
            lambda: setattr(self._model.accounts[name], "roles", set(roles)),
            is_allowed=gift is not None and self._can.has(gift),
            role=roles or "none",
        )

    def grant(self) -> tuple[bool, bool]:
        name, permission = self._name(), self._chance.choice(sorted(PERMISSIONS))
        return self._change(
            "grant",
            name,
            lambda: self._model.accounts[name].granted.add(permission),
            is_allowed=permission in self._can.does,
            permission=permission,
        )

    def revoke(self) -> tuple[bool, bool]:
        name, permission = self._name(), self._chance.choice(sorted(PERMISSIONS))
        account = self._model.accounts.get(name)
        return self._change(
            "revoke",
            name,
            lambda: self._model.accounts[name].granted.discard(permission),
            is_allowed=account is not None
            and permission in account.granted
            and not any(permission in self._model.roles[role] for role in account.roles),
            permission=permission,
        )

    def disable_or_enable(self) -> tuple[bool, bool]:
        name, disabled = self._name(), self._chance.random() < 0.4

        return self._change(
            "disable" if disabled else "enable",
            name,
            lambda: setattr(self._model.accounts[name], "disabled", disabled),
        )

    def _change(
        self,
        action: str,
        name: str,
        change: Callable[[], Any],
        *,
        is_allowed: bool = True,
        **more: Any,
    ) -> tuple[bool, bool]:
        """Change a user on both sides; in the model where it must succeed."""
        expected = (
            is_allowed and self._model.may_change(self._can, name) and self._keeps_an_admin(change)
        )
        return expected, self._mutate(action, name, **more) is not None

    def create_role(self) -> tuple[bool, bool]:
        name, permissions = self._chance.choice(OWN_ROLES), self._some_permissions()
        more, listed = self._some_list()
        expected = (
            self._can.manages
            and name not in self._model.roles
            and set(permissions) <= self._can.does
        )
        expected = expected and self._may_list(listed)
        if expected:
            self._model.roles[name] = frozenset(permissions)
            self._put_list(name, listed)
        return expected, self._mutate(
            "create_role", name, permissions=permissions, **more
        ) is not None

    def _put_list(self, role: str, listed: frozenset[str] | None) -> None:
        self._model.lists.pop(role, None)
        if listed is not None:
            self._model.lists[role] = listed

    def update_role(self) -> tuple[bool, bool]:
        permissions = frozenset(self._some_permissions())
        name = self._chance.choice([*OWN_ROLES, "user", "editor", "admin"])
        more, listed = self._some_list()
        expected = (
            self._may_change_role(name)
            and name != "admin"
            and permissions <= self._can.does
            and self._may_list(listed)
            and self._keeps_an_admin(
                lambda: self._replace_role(name, permissions, listed if more else ...)
            )
        )
        return expected, self._mutate(
            "update_role", name, permissions=sorted(permissions), **more
        ) is not None

    def _may_change_role(self, name: str) -> bool:
        """Tell whether the actor has what a role gives, and may change everybody who has it."""
        gift = self._model.gives([name])
        holders = [one for one, own in self._model.accounts.items() if name in own.roles]
        return (
            self._can.manages
            and gift is not None
            and self._can.has(gift)
            and all(self._model.may_change(self._can, one) for one in holders)
        )

    def _replace_role(self, name: str, permissions: frozenset[str], listed: Any) -> None:
        self._model.roles[name] = permissions
        if listed is not ...:
            self._put_list(name, listed)

    def confine_role(self) -> tuple[bool, bool]:
        """Give a role another list, and nothing else; the role of administrators too."""
        name, (more, listed) = self._chance.choice([*OWN_ROLES, "user", "admin"]), self._some_list()
        expected = (
            self._may_change_role(name)
            and self._may_list(listed)
            and self._keeps_an_admin(lambda: self._put_list(name, listed))
        )
        return expected, self._mutate(
            "update_role", name, **(more or {"catalogues": ["all"]})
        ) is not None

    def delete_role(self) -> tuple[bool, bool]:
        name = self._chance.choice([*OWN_ROLES, "user"])
        is_free = not any(name in account.roles for account in self._model.accounts.values())
        expected = self._may_change_role(name) and is_free and name in OWN_ROLES
        if expected:
            self._model.remove_role(name)
        return expected, self._mutate("delete_role", name) is not None

    def restrict(self) -> tuple[bool, bool]:
        catalogue, users, roles = (
            self._chance.choice(CATALOGUES),
            self._some(NAMES),
            self._some_roles(),
        )
        is_known = (
            set(users) <= self._model.accounts.keys() and set(roles) <= self._model.roles.keys()
        )
        expected = self._may_restrict(catalogue) and is_known
        if expected:
            self._model.restricted[catalogue] = (set(users), set(roles))
        return expected, self._succeeds(
            lambda: self._access.restrict(self._actor, catalogue, users=users, roles=roles)
        )

    def open_to_all(self) -> tuple[bool, bool]:
        catalogue = self._chance.choice(CATALOGUES)
        expected = self._may_restrict(catalogue) and catalogue in self._model.restricted
        if expected:
            del self._model.restricted[catalogue]
        return expected, self._succeeds(lambda: self._access.open_to_all(self._actor, catalogue))

    def issue_token(self) -> tuple[bool, bool]:
        name = (
            self._actor_name if self._actor_name and self._chance.random() < 0.5 else self._name()
        )
        scopes = None if self._chance.random() < 0.5 else frozenset(self._some(PERMISSIONS))
        only = None if self._chance.random() < 0.4 else frozenset(self._some(CATALOGUES))
        expected = self._may_issue(name, scopes, only)
        try:
            issued = self._credentials.issue_token(
                self._actor,
                name,
                name=f"t{self.counts['taken']}",
                scopes=None if scopes is None else [Action(one) for one in scopes],
                catalogues=only,
            )
        except ExpectedError:
            return expected, False
        if scopes is None and name != self._actor_name and self._can.does != PERMISSIONS:
            scopes = self._model.does(name)  # it does not grow with its user
        self._keep(
            issued.credential.id,
            issued.secret,
            Pass(name, scopes=scopes, only=only),
        )
        return expected, True

    def revoke_pass(self) -> tuple[bool, bool]:
        key = self._chance.choice([*self._model.passes, "0123456789ab"])
        one = self._model.passes.get(key)
        expected = one is not None and self._may_end(key, one)
        if expected and one is not None:
            one.is_over = True
        shown = self._actor_pass
        return expected, self._succeeds(
            lambda: self._credentials.revoke(self._actor, key, shown=shown)
        )

    def _keeps_an_admin(self, change: Callable[[], Any]) -> bool:
        had_one = self._model.has_admin()
        change()
        return self._model.has_admin() or not had_one

    def _may_restrict(self, catalogue: str) -> bool:
        is_allowed = (
            bool(self._can.does & {"ServerAdmin", "ManagePermissions"}) and self._can.only is None
        )
        return is_allowed and catalogue in self._can.sees

    def _may_issue(
        self, name: str, scopes: frozenset[str] | None, only: frozenset[str] | None
    ) -> bool:
        if name not in self._model.accounts:
            return False
        theirs, can = self._model.does(name), self._can
        asked = theirs if scopes is None else scopes
        is_full = (
            sum(one.owner == name and not one.is_over for one in self._passes()) >= MOST_TOKENS
        )
        if is_full or not asked <= theirs or not asked <= can.does:
            return False
        given = self._model.only(name) if only is None else only
        if can.only is not None and (given is None or not given <= can.only):
            return False
        if name == self._actor_name:
            return True
        if not self._model.may_change(can, name):
            return False
        return "ServerAdmin" in can.does or (only is not None and only <= can.sees)

    def _may_end(self, key: str, one: Pass) -> bool:
        if one.owner != self._actor_name:
            return self._model.may_change(self._can, one.owner)
        if key == self._actor_pass:
            return True
        given = self._model.only(one.owner) if one.only is None else one.only
        theirs = (
            self._model.does(one.owner)
            if one.scopes is None
            else self._model.does(one.owner) & one.scopes
        )
        mine = self._can.only
        return theirs <= self._can.does and (mine is None or (given is not None and given <= mine))

    def _passes(self) -> list[Pass]:
        return list(self._model.passes.values())


STEPS: tuple[Callable[[RightsWalk], tuple[bool, bool]], ...] = (
    RightsWalk.create_user,
    RightsWalk.create_user,
    RightsWalk.delete_user,
    RightsWalk.set_roles,
    RightsWalk.set_roles,
    RightsWalk.grant,
    RightsWalk.grant,
    RightsWalk.revoke,
    RightsWalk.disable_or_enable,
    RightsWalk.set_catalogues,
    RightsWalk.set_catalogues,
    RightsWalk.confine_role,
    RightsWalk.create_role,
    RightsWalk.update_role,
    RightsWalk.delete_role,
    RightsWalk.restrict,
    RightsWalk.restrict,
    RightsWalk.open_to_all,
    RightsWalk.issue_token,
    RightsWalk.issue_token,
    RightsWalk.revoke_pass,
    RightsWalk.revoke_pass,
)


def walk(database: ControlDatabase, *, steps: int, seed: int) -> Counter[str]:
    """Take steps in a new database; return how many were taken and refused. Raise AssertionError at
    a difference.
    """
    taken = RightsWalk(database, seed)
    for number in range(1, steps + 1):
        try:
            taken.take_step()
            if number % COMPARED_EVERY == 0 or number == steps:
                taken.compare()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, step {number}: {error}") from error
    return taken.counts


def _is_bounded_manager(can: Can | None) -> bool:
    """Tell whether somebody manages accounts and does not see everything: for them the rules
    are.
    """
    return can is not None and can.manages and can.sees < frozenset(CATALOGUES)


def _can_of(principal: Principal) -> Can:
    """Return what the real code says that somebody may do and see."""
    sees = frozenset(one for one in CATALOGUES if principal.visibility.sees_catalogue(one))
    return Can(frozenset(map(str, principal.actions)), sees, principal.visibility.only)


def main() -> None:
    steps, seeds = int(sys.argv[1]), [int(one) for one in sys.argv[2:]] or [1]
    for seed in seeds:
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(ControlDatabase.open(f"sqlite:///{folder}/walk.sqlite")) as database,
        ):
            counts = walk(database, steps=steps, seed=seed)
            print(f"seed {seed}: {steps} actions, {dict(counts)}, no difference")


if __name__ == "__main__":
    main()
