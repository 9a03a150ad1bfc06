"""The identity cache on SQLite and PostgreSQL: quick from memory, and not behind the database.

A change by any process holds at the next call of every other.
"""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from stackroom.control.accounts import identity_cache as directory_module
from stackroom.errors import StorageError
from stackroom.model.principal import LOCAL_USER, Action, Quotas
from support.control import Place, _people
from support.postgres import open_server
from support.processes import wait_until
from support.work import count_calls

pytestmark = [pytest.mark.row("Z2"), pytest.mark.row("Z3")]

REVOKE = {
    "session": lambda people, secret: people.credentials.revoke_secret(secret),
    "user disabled": lambda people, secret: people.accounts.set_disabled(
        LOCAL_USER, "ada", disabled=True
    ),
    "user deleted": lambda people, secret: people.accounts.delete_user(LOCAL_USER, "ada"),
    "password": lambda people, secret: people.accounts.set_password(
        LOCAL_USER, "ada", "correct horse"
    ),
}
CHANGE = {
    "grant": lambda people: people.accounts.grant(LOCAL_USER, "ada", Action.EDIT_CATALOG),
    "revoke": lambda people: people.accounts.revoke(LOCAL_USER, "ada", Action.ACCESS_CATALOG),
    "role": lambda people: people.accounts.set_roles(LOCAL_USER, "ada", ["agent"]),
    "restriction": lambda people: people.access.restrict(LOCAL_USER, "letters"),
}


def still_hold(directory: Any, identities: list[Any]) -> list[bool]:
    """Tell for each identity whether it is still valid with the same rights."""
    return [
        now == before for now, before in zip(directory.current(identities), identities, strict=True)
    ]


def resolve(directory: Any, secret: str) -> Any:
    """Return an identity as a server does: from memory, or by the database."""
    return directory.recall(secret) or directory.identify(secret)


@pytest.fixture
def directory(people: Any) -> Any:
    people.add("ada", Action.ACCESS_CATALOG)
    return people.new_identity_cache()


def test_somebody_is_recalled_once_they_were_identified(people: Any, directory: Any) -> None:
    secret = people.session("ada")
    assert directory.recall(secret) is None
    identity = directory.identify(secret)
    assert resolve(directory, secret) is identity
    assert identity.principal == people.principal("ada")
    assert identity.expires_at == people.clock.now() + timedelta(hours=12)
    assert identity.credential_id == people.credentials.list_of("ada")[0].id


def test_a_session_that_is_over_is_not_recalled(people: Any, directory: Any) -> None:
    secret, _ = people.credentials.issue_session(people.user("ada"), lasts=timedelta(seconds=0.5))
    identity = directory.identify(secret)
    people.clock.advance(0.4)
    assert resolve(directory, secret) is identity
    assert still_hold(directory, [identity]) == [True]
    people.clock.advance(0.1)
    assert directory.recall(secret) is None
    assert directory.identify(secret) is None
    assert still_hold(directory, [identity]) == [False]


@pytest.mark.parametrize("change", [*REVOKE, *CHANGE])
@pytest.mark.parametrize("by", ["this process", "another process"])
def test_a_change_of_rights_holds_at_the_next_call_whichever_process_made_it(
    people: Any, elsewhere: Any, directory: Any, change: str, by: str
) -> None:
    secret = people.session("ada")
    identity = directory.identify(secret)
    assert directory.refresh() is False
    assert still_hold(directory, [identity]) == [True]
    where = people if by == "this process" else elsewhere
    if change in REVOKE:
        REVOKE[change](where, secret)
    else:
        CHANGE[change](where)
    assert directory.recall(secret) is None
    now = directory.identify(secret)
    assert [directory.refresh(), directory.refresh()] == [True, False]
    assert still_hold(directory, [identity]) == [False]
    if change in REVOKE:
        assert now is None
    else:
        assert now.principal == people.principal("ada") != identity.principal


def test_a_look_that_is_answered_late_does_not_make_memory_believe_what_was(
    people: Any, elsewhere: Any, directory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = people.session("ada")
    real = people.database.version

    def late() -> int:
        before = real()
        monkeypatch.undo()
        elsewhere.accounts.set_disabled(LOCAL_USER, "ada", disabled=True)
        people.clock.advance(0.1)
        directory.refresh()
        return before

    directory.identify(secret)
    monkeypatch.setattr(people.database, "version", late)
    assert directory.identify(secret) is None
    assert directory.recall(secret) is None
    assert directory.refresh() is False


def test_a_change_that_somebody_else_was_identified_after_is_told_all_the_same(
    people: Any, elsewhere: Any, directory: Any
) -> None:
    people.add("bob")
    identity, others = directory.identify(people.session("ada")), people.session("bob")
    directory.refresh()
    elsewhere.accounts.set_disabled(LOCAL_USER, "ada", disabled=True)
    directory.identify(others)
    assert directory.refresh() is True
    assert still_hold(directory, [identity]) == [False]


def test_those_who_did_not_change_still_hold(people: Any, elsewhere: Any, directory: Any) -> None:
    people.add("bob")
    ada, bob = (directory.identify(people.session(name)) for name in ("ada", "bob"))
    elsewhere.accounts.reset_password(LOCAL_USER, "ada")
    directory.refresh()
    assert still_hold(directory, [ada, bob, ada]) == [False, True, False]


def test_those_who_hold_are_asked_for_once(
    people: Any, directory: Any, execute: Callable[..., list[Any]]
) -> None:
    identities = [directory.identify(people.session("ada")) for _ in range(3)]
    people.add("bob")
    directory.refresh()
    assert still_hold(directory, identities) == [True] * 3
    execute("ALTER TABLE credentials RENAME TO gone")
    assert still_hold(directory, identities) == [True] * 3
    execute("ALTER TABLE gone RENAME TO credentials")


def test_nothing_is_believed_for_more_than_a_second_without_a_look(
    people: Any, elsewhere: Any, directory: Any
) -> None:
    secret = people.session("ada")
    identity = directory.identify(secret)
    people.clock.advance(1.0)
    assert resolve(directory, secret) is identity
    people.clock.advance(1.1)
    assert directory.recall(secret) is None
    elsewhere.credentials.revoke_secret(secret)
    assert still_hold(directory, [identity]) == [False]
    assert directory.identify(secret) is None


def test_without_the_database_everybody_is_forgotten_within_a_second(
    people: Any, directory: Any, execute: Callable[..., list[Any]], caplog: pytest.LogCaptureFixture
) -> None:
    secret = people.session("ada")
    identity = directory.identify(secret)
    execute("ALTER TABLE control_version RENAME TO gone")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert directory.refresh() is False
    assert len([one for one in caplog.records if one.name.endswith("identity_cache")]) == 1
    people.clock.advance(1.1)
    directory.refresh()
    assert directory.recall(secret) is None
    assert still_hold(directory, [identity]) == [False]
    with pytest.raises(StorageError):
        directory.identify(secret)
    execute("ALTER TABLE gone RENAME TO control_version")
    directory.refresh()
    assert resolve(directory, secret) is identity
    assert still_hold(directory, [identity]) == [True]


def test_while_postgresql_is_away_only_known_callers_are_believed_for_five_minutes() -> None:
    with open_server() as server:
        place = Place(url=server.new_url())
        people = _people(place.open(), place.clock)
        for name in ("ada", "bob", "cleo"):
            people.add(name, Action.ACCESS_CATALOG)
        directory = people.new_identity_cache()
        ada, bob, unseen = people.token("ada"), people.token("bob"), people.token("cleo")
        brief, _ = people.credentials.issue_session(people.user("ada"), lasts=timedelta(seconds=60))
        identity, revoked = directory.identify(ada), directory.identify(bob)
        directory.identify(brief)
        people.accounts.set_disabled(LOCAL_USER, "bob", disabled=True)  # ends every entry
        assert directory.refresh() is True  # and reads those of the others again
        server.kill()
        assert directory.refresh() is False
        assert directory.may_do_without
        assert [directory.identify(ada), directory.identify(brief).principal] == [
            identity,
            identity.principal,
        ]
        assert still_hold(directory, [identity, revoked]) == [True, False]
        for secret in (bob, unseen):
            with pytest.raises(StorageError):
                directory.identify(secret)
        people.clock.advance(299)
        assert directory.identify(ada) == identity
        with pytest.raises(StorageError):
            directory.identify(brief)  # its session is over
        people.clock.advance(2)
        with pytest.raises(StorageError):
            directory.identify(ada)
        assert not directory.may_do_without
        server.start()
        wait_until(lambda: directory.refresh() or not directory._is_down, timeout_s=60)
        assert directory.identify(ada) == identity
        assert directory.identify(bob) is None
        place.close()


def test_rights_that_change_while_somebody_is_identified_are_not_kept(
    people: Any, elsewhere: Any, directory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = people.session("ada")
    real = directory_module.find_by_secret

    def overtaken(*arguments: Any, **others: Any) -> Any:
        found = real(*arguments, **others)
        elsewhere.accounts.grant(LOCAL_USER, "ada", Action.EDIT_CATALOG)
        directory.refresh()
        return found

    monkeypatch.setattr(directory_module, "find_by_secret", overtaken)
    assert directory.identify(secret).principal.actions == {Action.ACCESS_CATALOG}
    assert directory.recall(secret) is None
    monkeypatch.undo()
    assert directory.identify(secret).principal.actions == {
        Action.ACCESS_CATALOG,
        Action.EDIT_CATALOG,
    }


def test_memory_is_bounded_and_keeps_those_who_came_last(
    people: Any, directory: Any, monkeypatch: pytest.MonkeyPatch, execute: Callable[..., list[Any]]
) -> None:
    monkeypatch.setattr(directory_module, "MOST_KEPT", 2)
    secrets = [people.session("ada") for _ in range(3)]
    directory.identify(secrets[0])
    directory.identify(secrets[1])
    resolve(directory, secrets[0])
    directory.identify(secrets[2])
    execute("ALTER TABLE credentials RENAME TO gone")
    for secret, is_kept in zip(secrets, (True, False, True), strict=True):
        with nullcontext() if is_kept else pytest.raises(StorageError):
            assert resolve(directory, secret) is not None
    execute("ALTER TABLE gone RENAME TO credentials")


def test_memory_does_not_hold_secrets(people: Any, directory: Any) -> None:
    secret = people.session("ada")
    directory.identify(secret)
    assert secret not in repr(vars(directory))
    assert secret[6:] not in repr(vars(directory))


def test_the_use_of_a_token_that_is_recalled_is_noted_once_a_minute(
    people: Any, directory: Any
) -> None:
    secret = people.token("ada")
    directory.identify(secret)
    start = people.clock.now()
    for _ in range(100):
        people.clock.advance(0.9)
        directory.refresh()
        assert resolve(directory, secret) is not None
    (credential,) = people.credentials.list_of("ada")
    assert timedelta(seconds=55) < credential.last_used_at - start < timedelta(seconds=65)


def test_what_a_principal_sees_and_how_often_they_may_call(people: Any, directory: Any) -> None:
    people.accounts.create_role(LOCAL_USER, "heavy", [], Quotas(read=1000, write=0, sql=0))
    people.add("bob", roles=["agent"])
    people.add("cleo", roles=["agent", "heavy"])
    people.add("dora", roles=["agent", "editor"])
    people.add("root", roles=["admin"])
    people.access.restrict(LOCAL_USER, "letters", roles=["editor"])
    usual = Quotas(read=120, write=30, sql=10)
    wanted = {
        "ada": (frozenset({"user:ada"}), {"letters"}, usual),
        "bob": (frozenset({"user:bob", "agent"}), {"letters"}, Quotas(read=120, write=30, sql=0)),
        "cleo": (
            frozenset({"user:cleo", "agent", "heavy"}),
            {"letters"},
            Quotas(read=1000, write=30, sql=0),
        ),
        "dora": (frozenset({"user:dora", "agent", "editor"}), frozenset(), usual),
        "root": (None, frozenset(), usual),
    }
    for name, (audiences, hidden, quotas) in wanted.items():
        principal = directory.principal_of(people.user(name))
        assert (principal.visibility.audiences, principal.visibility.hidden, principal.quotas) == (
            audiences,
            hidden,
            quotas,
        )
        assert principal.visibility.only is None


def test_an_admins_narrowed_token_sees_what_others_see(people: Any, directory: Any) -> None:
    people.add("root", roles=["admin"])
    people.access.restrict(LOCAL_USER, "letters")
    secret = people.token("root", scopes=[Action.ACCESS_CATALOG])
    visibility = directory.identify(secret).principal.visibility
    assert (visibility.audiences, visibility.hidden) == ({"admin", "user:root"}, {"letters"})


def test_a_recall_costs_next_to_nothing(people: Any, directory: Any) -> None:
    secret = people.session("ada")
    directory.identify(secret)
    assert count_calls(lambda: directory.recall(secret)) < 40
