"""Accounts on SQLite and PostgreSQL: who there is, who may change whom, and what holds when several
try at once.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stackroom.control.accounts import passwords
from stackroom.control.accounts.accounts import Accounts
from stackroom.errors import ConflictError, ForbiddenError, InputError
from stackroom.model.principal import ANONYMOUS, LOCAL_USER, Action, Principal, Quotas

pytestmark = [pytest.mark.row("Z2"), pytest.mark.row("Z3")]

GOOD, OTHER = "correct horse battery", "a ladder in the orchard"
EVERYTHING = frozenset(Action)


def only_success(results: list[Any]) -> Any:
    """Return the one result that is not an error."""
    (success,) = [one for one in results if not isinstance(one, Exception)]
    return success


def test_the_first_admin_logs_in_once_with_what_is_printed(people: Any) -> None:
    assert people.accounts.is_empty()
    secret = people.accounts.create_first_admin()
    assert people.accounts.create_first_admin() is None
    admin = people.accounts.check_login("admin", secret)
    assert admin is not None
    assert (admin.name, admin.roles, admin.actions) == ("admin", ("admin",), EVERYTHING)
    assert not admin.has_password
    assert people.accounts.check_login("admin", secret) is None


def test_of_processes_that_start_at_once_one_makes_the_first_admin(
    people: Any, elsewhere: Any, at_once: Callable[..., list[Any]]
) -> None:
    made = at_once([one.accounts.create_first_admin for one in (people, elsewhere) * 2])
    (secret,) = [one for one in made if one is not None]
    assert people.accounts.list_users()[1] == 1
    assert people.accounts.check_login("admin", secret) is not None


def test_a_password_logs_in_whatever_the_case_of_the_name(people: Any) -> None:
    people.add("Ada.Lovelace@Example.org", password=GOOD)
    user = people.accounts.check_login("ADA.lovelace@example.ORG", GOOD)
    assert user is not None
    assert (user.name, user.has_password, user.created_at) == (
        "ada.lovelace@example.org",
        True,
        people.clock.now(),
    )


def test_any_other_password_or_name_does_not(people: Any) -> None:
    people.add("ada", password=GOOD)
    for password in ("", "wrong", GOOD.upper(), f"{GOOD} ", "x" * 5000, "\ud800" * 9, "\0" * 9):
        assert people.accounts.check_login("ada", password) is None, password
    for name in (
        "",
        "nobody",
        "a\0b",
        "\ud800",
        "x" * 100_000,
        "ext:",
        "ext:\0",
        "'; DROP TABLE users",
    ):
        assert people.accounts.check_login(name, GOOD) is None, name


def test_unknown_wrong_and_disabled_look_the_same_and_are_as_much_work(
    people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.add("known", password=GOOD)
    people.add("disabled", password=GOOD)
    people.add("robot")
    people.accounts.set_disabled(LOCAL_USER, "disabled", disabled=True)
    attempts = {
        "unknown": ("unknown", GOOD),
        "wrong": ("known", "wrong password"),
        "disabled": ("disabled", GOOD),
        "without a password": ("robot", GOOD),
        "impossible": ("\0", GOOD),
    }
    real = passwords.HASHER
    compared: list[str] = []

    class Noting:
        def verify(self, stored: str, text: bytes) -> bool:
            compared.append(stored)
            return real.verify(stored, text)

    monkeypatch.setattr(passwords, "HASHER", Noting())
    for number, (name, password) in enumerate(attempts.values(), start=1):
        assert people.accounts.check_login(name, password) is None
        assert len(compared) == number, name


def test_a_one_time_secret_works_once_however_many_use_it_at_once(
    people: Any, elsewhere: Any, at_once: Callable[..., list[Any]]
) -> None:
    people.add("ada", password=GOOD)
    secret = people.accounts.reset_password(LOCAL_USER, "ada")
    works = [
        lambda accounts=accounts: accounts.check_login("ada", secret)
        for accounts in (people.accounts, elsewhere.accounts) * 4
    ]
    results = at_once(works)
    assert [one for one in results if one is not None] == [people.user("ada")]


LEAVES: dict[str, tuple[Callable[[Any], object], tuple[bool, bool, bool]]] = {
    "a reset takes sessions": (
        lambda people: people.accounts.reset_password(LOCAL_USER, "ada"),
        (False, False, True),
    ),
    "a reset takes tokens too where that is asked for": (
        lambda people: people.accounts.reset_password(LOCAL_USER, "ada", revoke_tokens=True),
        (False, False, False),
    ),
    "a password of their own takes sessions and the former one": (
        lambda people: people.accounts.set_password(people.principal("ada"), "Ada", OTHER),
        (False, False, True),
    ),
    "a disabled user is out at once": (
        lambda people: people.accounts.set_disabled(LOCAL_USER, "ada", disabled=True),
        (False, False, False),
    ),
    "old sessions do not come back with the user": (
        lambda people: [
            people.accounts.set_disabled(LOCAL_USER, "ada", disabled=disabled)
            for disabled in (True, False)
        ],
        (True, False, True),
    ),
    "somebody of the same name has nothing of a deleted user": (
        lambda people: [people.accounts.delete_user(LOCAL_USER, "ada"), people.add("ada")],
        (False, False, False),
    ),
}


@pytest.mark.parametrize("change", LEAVES)
def test_a_change_leaves_valid_the_password_session_and_token_that_it_should(
    people: Any, change: str
) -> None:
    people.add("ada", Action.ACCESS_CATALOG, password=GOOD)
    session, token = people.session("ada"), people.token("ada")
    act, valid = LEAVES[change]
    act(people)
    has_password = people.accounts.check_login("ada", GOOD) is not None
    found = [people.credentials.find(secret) is not None for secret in (session, token)]
    assert (has_password, *found) == valid


def test_the_one_time_password_is_refused_as_the_lasting_one_also_once_it_was_used(
    people: Any,
) -> None:
    ada = people.add("ada")
    secret = people.accounts.reset_password(LOCAL_USER, "ada")
    with pytest.raises(InputError, match="is the one-time password"):
        people.accounts.set_password(ada, "ada", secret)
    assert people.accounts.check_login("ada", secret) is not None
    assert not people.user("ada").has_one_time_password
    with pytest.raises(InputError, match="is the one-time password"):
        people.accounts.choose_password("ada", secret)
    assert people.accounts.check_login("ada", secret) is None
    people.accounts.choose_password("ada", GOOD)
    assert people.accounts.check_login("ada", GOOD) is not None


def test_a_password_of_ones_own_ends_the_one_time_password(people: Any) -> None:
    ada = people.add("ada", Action.ACCESS_CATALOG)
    secret = people.accounts.reset_password(LOCAL_USER, "ada")
    people.accounts.set_password(ada, "Ada", GOOD)
    assert people.accounts.check_login("ada", secret) is None
    assert people.accounts.check_login("ada", GOOD) is not None


def test_a_password_that_is_too_short_too_long_or_blank_is_refused(people: Any) -> None:
    ada = people.add("ada")
    for password in ("", "short", " " * 20, "x" * 1025):
        with pytest.raises(InputError, match="'password' must have 8 to 1,024 characters"):
            people.accounts.create_user(LOCAL_USER, "bob", password=password)
        with pytest.raises(InputError, match="'password'"):
            people.accounts.set_password(ada, "ada", password)


def test_names_that_nobody_can_be_given_are_refused(people: Any) -> None:
    odd = (
        "",
        "-a",
        ".a",
        "a b",
        "a/b",
        "ä",
        "a\n",
        "x" * 65,
        "ext:somebody",
        "local",
        "Anonymous",
        "a\0",
        "\ud800",
    )
    for name in odd:
        with pytest.raises(InputError, match="'name'"):
            people.accounts.create_user(LOCAL_USER, name, password=None)
    assert people.accounts.is_empty()


def test_a_name_is_given_once_however_many_ask_at_once(
    people: Any, elsewhere: Any, at_once: Callable[..., list[Any]]
) -> None:
    both = (people.accounts, elsewhere.accounts) * 3
    results = at_once(
        [lambda one=one: one.create_user(LOCAL_USER, "ada", password=None) for one in both]
    )
    assert only_success(results) == people.user("ada")
    assert {type(one) for one in results} == {type(people.user("ada")), ConflictError}


def test_users_are_listed_by_name_a_page_at_a_time(people: Any) -> None:
    for name in ("cleo", "ada", "bob"):
        people.add(name, roles=["user", "editor"])
    page, total = people.accounts.list_users(offset=1, limit=2)
    assert ([user.name for user in page], total) == (["bob", "cleo"], 3)
    assert page[0].roles == ("editor", "user")
    assert page[0].actions == {Action.ACCESS_CATALOG, Action.EDIT_CATALOG, Action.REQUEST_CONTENT}


def test_a_role_is_changed_for_all_who_have_it(people: Any) -> None:
    people.accounts.create_role(LOCAL_USER, "auditor", [Action.VIEW_ANALYTICS], None)
    people.add("ada", roles=["auditor"])
    quotas = Quotas(read=5, write=1, sql=0)
    wanted = frozenset({Action.ACCESS_CATALOG})
    role = people.accounts.change_role(
        LOCAL_USER, "Auditor", lambda one: replace(one, actions=wanted, quotas=quotas)
    )
    assert (role.name, role.actions, role.quotas) == ("auditor", wanted, quotas)
    assert people.user("ada").actions == wanted
    assert people.principal("ada").quotas == quotas
    assert (
        people.accounts.change_role(
            LOCAL_USER, "auditor", lambda one: replace(one, quotas=None)
        ).actions
        == wanted
    )
    with pytest.raises(InputError, match="'none' stands for no role"):
        people.accounts.create_role(LOCAL_USER, "None", [], None)


def test_the_roles_that_are_built_in_are_these(people: Any) -> None:
    roles = {role.name: (role.actions, role.quotas) for role in people.accounts.list_roles()}
    assert roles == {
        "admin": (EVERYTHING, None),
        "agent": (
            {Action.ACCESS_CATALOG, Action.EDIT_CATALOG, Action.REQUEST_CONTENT},
            Quotas(read=120, write=30, sql=0),
        ),
        "editor": ({Action.ACCESS_CATALOG, Action.EDIT_CATALOG, Action.REQUEST_CONTENT}, None),
        "user": ({Action.ACCESS_CATALOG}, None),
    }
    for name in roles:
        with pytest.raises(ConflictError, match="built in"):
            people.accounts.delete_role(LOCAL_USER, name)


REFUSALS: dict[str, tuple[Callable[[Accounts, Principal], object], str]] = {
    "without the permission": (
        lambda accounts, _manager: accounts.grant(ANONYMOUS, "reader", Action.ACCESS_CATALOG),
        "needs the permission ManagePermissions",
    ),
    "what the manager does not have": (
        lambda accounts, manager: accounts.grant(manager, "reader", Action.SERVER_ADMIN),
        "cannot grant permissions that you do not have: ServerAdmin",
    ),
    "to somebody who may do more": (
        lambda accounts, manager: accounts.set_password(manager, "boss", GOOD),
        "'boss' has permissions that you do not have",
    ),
    "a role that may do more": (
        lambda accounts, manager: accounts.change_role(manager, "editor", without_any),
        "role 'editor' has permissions that you do not have",
    ),
    "a role of somebody who may do more": (
        lambda accounts, manager: accounts.change_role(manager, "user", without_any),
        "'boss' has permissions that you do not have",
    ),
    "more calls": (
        lambda accounts, manager: accounts.change_role(
            manager, "staff", lambda one: replace(one, quotas=Quotas(read=121, write=0, sql=0))
        ),
        "more calls a minute than you have",
    ),
    "the whole account by a narrowed token": (
        lambda accounts, _manager: accounts.set_password(NARROWED, "boss", GOOD),
        "your password gives more permissions than this token",
    ),
}
NARROWED = Principal(name="boss", actions=frozenset({Action.ACCESS_CATALOG}))


def without_any(role: Any) -> Any:
    return replace(role, actions=frozenset())


@pytest.mark.parametrize("what", REFUSALS)
def test_nobody_is_given_or_takes(people: Any, what: str) -> None:
    """Who may change whom in all is compared with a model by the random walk."""
    people.accounts.create_role(LOCAL_USER, "staff", [Action.ACCESS_CATALOG], None)
    people.add("reader", roles=["staff"])
    people.add("boss", *Action, roles=["user"])
    manager = people.add("manager", Action.MANAGE_PERMISSIONS, Action.ACCESS_CATALOG)
    before = people.accounts.list_users(), people.accounts.list_roles()
    act, says = REFUSALS[what]
    with pytest.raises(ForbiddenError, match=says):
        act(people.accounts, manager)
    assert (people.accounts.list_users(), people.accounts.list_roles()) == before


LOSSES: dict[str, Callable[[Accounts, Principal, str], object]] = {
    "disable": lambda accounts, actor, name: accounts.set_disabled(actor, name, disabled=True),
    "delete": lambda accounts, actor, name: accounts.delete_user(actor, name),
    "no roles": lambda accounts, actor, name: accounts.set_roles(actor, name, []),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_two_admins_who_remove_each_other_at_once_leave_one(
    people: Any, elsewhere: Any, at_once: Callable[..., list[Any]], loss: str
) -> None:
    one, other = people.add("one", roles=["admin"]), people.add("other", roles=["admin"])
    results = at_once(
        [
            lambda: LOSSES[loss](people.accounts, one, "other"),
            lambda: LOSSES[loss](elsewhere.accounts, other, "one"),
        ]
    )
    assert [type(result) for result in results].count(ConflictError) == 1
    only_success(results)
    left = [
        user
        for user in people.accounts.list_users()[0]
        if user.actions == EVERYTHING and not user.disabled
    ]
    assert len(left) == 1


def test_a_restriction_that_named_a_deleted_user_is_not_opened_by_a_new_one(people: Any) -> None:
    people.add("ada", *Action)
    first = people.user("ada")
    people.add("second", roles=["admin"])
    people.access.restrict(LOCAL_USER, "anime", users=["ada"])
    people.accounts.delete_user(LOCAL_USER, "ada")
    people.add("ada")
    assert people.user("ada").id != first.id
    assert people.user("ada").actions == frozenset()
    assert people.access.hidden_from(people.user("ada")) == {"anime"}
