"""Sessions and tokens on SQLite and PostgreSQL: shown once, valid for what they say, gone when they
are revoked.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from stackroom.control.database.tables import METADATA
from stackroom.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    StorageError,
    UnauthenticatedError,
)
from stackroom.model.principal import LOCAL_USER, Action

pytestmark = pytest.mark.row("Z2")

HOUR = timedelta(hours=1)
FULL_DISK = {
    "sqlite": ["PRAGMA query_only = ON"],
    "postgresql": [
        """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
           AS $$ BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = '53100'; END $$""",
        (
            "CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON credentials FOR EACH ROW EXECUTE"
            " FUNCTION refuse()"
        ),
    ],
}
"""What makes every further write of a credential fail."""


def test_secrets_have_256_bits_and_are_stored_as_hashes_only(
    people: Any, execute: Callable[..., list[Any]]
) -> None:
    people.add("ada", password="correct horse")
    secrets = [
        people.session("ada"),
        people.token("ada"),
        people.accounts.reset_password(LOCAL_USER, "ada"),
    ]
    assert re.fullmatch(r"stk_s_[A-Za-z0-9_-]{43}", secrets[0])
    assert re.fullmatch(r"stk_t_[A-Za-z0-9_-]{43}", secrets[1])
    cells = {
        str(cell)
        for table in METADATA.sorted_tables
        for row in execute(f"SELECT * FROM {table.name}")
        for cell in row
    }
    for secret in [*secrets, *(secret[6:] for secret in secrets), "correct horse"]:
        assert not any(secret in cell for cell in cells)


def test_a_session_lasts_for_its_time(people: Any) -> None:
    people.add("ada", Action.ACCESS_CATALOG)
    secret, issued = people.credentials.issue_session(people.user("ada"))
    assert (issued.kind, issued.user, issued.expires_at) == (
        "session",
        "ada",
        people.clock.now() + 12 * HOUR,
    )
    assert people.credentials.find(secret) == (issued, people.user("ada"))
    people.clock.advance(12 * 3600 - 1)
    assert people.credentials.find(secret) is not None
    people.clock.advance(1)
    assert people.credentials.find(secret) is None


def test_somebody_who_is_gone_or_disabled_since_they_logged_in_has_no_session(people: Any) -> None:
    people.add("ada")
    user = people.user("ada")
    people.accounts.set_disabled(LOCAL_USER, "ada", disabled=True)
    with pytest.raises(UnauthenticatedError):
        people.credentials.issue_session(user)
    people.accounts.delete_user(LOCAL_USER, "ada")
    with pytest.raises(UnauthenticatedError):
        people.credentials.issue_session(user)
    people.add("ada")
    with pytest.raises(UnauthenticatedError):
        people.credentials.issue_session(user)


def test_a_token_without_a_date_lasts_and_one_with_a_date_ends(people: Any) -> None:
    people.add("ada")
    lasting, ending = people.token("ada"), people.token("ada", expires_in=HOUR)
    people.clock.advance(3600)
    assert people.credentials.find(lasting) is not None
    assert people.credentials.find(ending) is None
    people.clock.advance(10 * 365 * 86400)
    assert people.credentials.find(lasting) is not None


def test_what_is_no_secret_is_nobodys(people: Any) -> None:
    odd = (
        "",
        "x",
        "stk_s_",
        "stk_t_" + "A" * 43,
        "stk_t_" + "x" * 10_000,
        "stk_s_\0",
        "stk_s_\ud800",
        "Stk_S_",
    )
    for secret in odd:
        assert people.credentials.find(secret) is None
        assert people.credentials.revoke_secret(secret) is False
    assert people.new_identity_cache().recall(odd[3]) is None


def test_sessions_that_are_long_over_are_forgotten(people: Any) -> None:
    people.add("ada")
    for _ in range(3):
        people.session("ada")
    token = people.token("ada", expires_in=HOUR)
    people.clock.advance(86400 * 31)
    people.session("ada")
    newest_first = [one.kind for one in people.credentials.list_of("ada")]
    assert newest_first == ["session", "token"]
    assert people.credentials.find(token) is None


def test_a_token_ends_itself_though_it_may_do_nothing_any_more(people: Any) -> None:
    people.add("ada", Action.ACCESS_CATALOG, Action.EDIT_CATALOG)
    secret = people.token("ada", catalogues=["anime"], scopes=[Action.EDIT_CATALOG])
    people.accounts.revoke(LOCAL_USER, "ada", Action.EDIT_CATALOG)
    identity = people.new_identity_cache().identify(secret)
    people.credentials.revoke(
        identity.principal, identity.credential_id, shown=identity.credential_id
    )
    assert people.credentials.find(secret) is None


def test_the_names_of_somebodys_valid_tokens_differ(people: Any) -> None:
    ada = people.add("ada")
    people.add("bob")
    _, first = people.credentials.issue_token(ada, "ada", name="laptop", expires_in=HOUR)
    with pytest.raises(ConflictError, match="has a token called 'laptop'"):
        people.credentials.issue_token(ada, "ada", name="laptop")
    people.credentials.issue_token(LOCAL_USER, "bob", name="laptop")
    people.clock.advance(3600)
    _, second = people.credentials.issue_token(ada, "ada", name="laptop")
    people.credentials.revoke(ada, second.id)
    assert [one.id for one in people.credentials.list_of("ada") if one.revoked] == [second.id]
    people.credentials.issue_token(ada, "ada", name="laptop")
    assert first.name == second.name


def test_somebody_has_at_most_fifty_valid_tokens(people: Any) -> None:
    ada = people.add("ada")
    for number in range(50):
        _, last = people.credentials.issue_token(ada, "ada", name=str(number))
    with pytest.raises(ConflictError, match="50 tokens, which is the most"):
        people.credentials.issue_token(ada, "ada", name="one more")
    people.credentials.revoke(ada, last.id)
    people.credentials.issue_token(ada, "ada", name="one more")


def test_a_token_has_a_name_that_can_be_read_and_a_time_that_makes_sense(people: Any) -> None:
    ada = people.add("ada")
    for name in ("", " ", "x" * 65, "a\nb", "\0", "\ud800"):
        with pytest.raises(InputError, match="'name' of a token"):
            people.credentials.issue_token(ada, "ada", name=name)
    for lasts in (timedelta(0), timedelta(days=-1), timedelta(days=3651)):
        with pytest.raises(InputError, match="'expires_in'"):
            people.credentials.issue_token(ada, "ada", name="laptop", expires_in=lasts)
    with pytest.raises(InputError, match="cannot name a catalogue"):
        people.credentials.issue_token(ada, "ada", name="laptop", catalogues=["no such name"])
    assert people.credentials.list_of("ada") == []


@pytest.mark.row("Z3")
@pytest.mark.parametrize(
    ("actor", "user", "wanted", "says"),
    [
        ("reader", "other", {}, "for another user needs the permission ManagePermissions"),
        ("reader", "nobody", {}, "for another user needs the permission ManagePermissions"),
        ("manager", "admin", {"scopes": [Action.ACCESS_CATALOG]}, "permissions that you do not"),
        ("manager", "hidden", {"catalogues": ["anime"]}, "sees catalogues that you do not see"),
        ("manager", "reader", {}, "must name its 'catalogues'"),
    ],
)
def test_a_token_for_another_is_refused_with_the_reason(
    people: Any, actor: str, user: str, wanted: dict[str, Any], says: str
) -> None:
    """Which tokens there may be in all is compared with a model by the random walk."""
    for name in ("reader", "other", "hidden"):
        people.add(name, Action.ACCESS_CATALOG)
    people.add("admin", *Action)
    people.add("manager", Action.MANAGE_PERMISSIONS, Action.ACCESS_CATALOG)
    people.access.restrict(LOCAL_USER, "letters", users=["hidden"])
    with pytest.raises(ForbiddenError, match=says):
        people.credentials.issue_token(people.principal(actor), user, name="laptop", **wanted)


def test_when_a_token_was_used_is_noted_once_a_minute(people: Any) -> None:
    people.add("ada")
    secret = people.token("ada")
    noted = []
    for seconds in (0, 59, 1, 200):
        people.clock.advance(seconds)
        people.credentials.find(secret)
        (listed,) = people.credentials.list_of("ada")
        noted.append(listed.last_used_at)
    start = people.clock.now() - timedelta(seconds=260)
    assert [(at - start).total_seconds() for at in noted] == [0, 0, 60, 260]


def test_somebody_is_known_where_nothing_can_be_written(people: Any, place: Any) -> None:
    people.add("ada")
    secret = people.token("ada")
    place.is_spoilt = True
    with people.database.begin() as connection:
        for statement in FULL_DISK["sqlite" if place.is_sqlite else "postgresql"]:
            connection.exec_driver_sql(statement)
    with pytest.raises(StorageError) as refused:
        people.session("ada")
    assert "readonly" in refused.value.detail or "disk full" in refused.value.detail
    assert people.credentials.find(secret) is not None
    (listed,) = people.credentials.list_of("ada")
    assert listed.last_used_at is None


def test_live_sessions_and_tokens_in_use_are_listed(people: Any) -> None:
    people.add("ann", roles=["user"])
    people.add("bob", roles=["user"])
    session, ended, used = people.session("ann"), people.session("ann"), people.token("bob")
    people.token("bob")
    people.credentials.revoke_secret(ended)
    people.credentials.find(used)
    day_before = people.clock.now() - timedelta(days=1)
    live = people.credentials.list_all(used_since=day_before)
    assert [(one.user, one.kind, one.id) for one in live] == [
        ("ann", "session", people.credentials.find(session)[0].id),
        ("bob", "token", people.credentials.find(used)[0].id),
    ]
    people.clock.advance(13 * 3600)
    live = people.credentials.list_all(used_since=people.clock.now() - timedelta(days=1))
    assert [one.user for one in live] == ["bob"]
    people.accounts.set_disabled(LOCAL_USER, "bob", disabled=True)
    assert people.credentials.list_all(used_since=day_before) == []
