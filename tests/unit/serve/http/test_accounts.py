"""Logging in and out, passwords and tokens."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stackroom.model.principal import LOCAL_USER, Action, Outcome
from stackroom.settings import RateLimitSettings, ServerSettings

pytestmark = pytest.mark.row("Z2")

SECRET = re.compile(r"stk_[st]_[A-Za-z0-9_-]{43}")


def log_in(site: Any, name: str, password: str) -> Any:
    return site.client.post("/v1/login", json={"name": name, "password": password})


def test_a_login_gives_a_session_by_token_and_by_cookie(make_site: Any, password: str) -> None:
    site = make_site()
    site.add_user("ada", password=password)
    reply = log_in(site, "Ada", password)
    assert reply.status_code == 200
    assert reply.headers["cache-control"] == "no-store"
    body = reply.json()
    assert (body["user"], body["must_change_password"]) == ("ada", False)
    assert SECRET.fullmatch(body["token"])
    assert datetime.fromisoformat(body["expires_at"]) > datetime.now(UTC)
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"stackroom_session={body['token']}; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    by_cookie = site.client.get("/v1/me")
    site.client.cookies.clear()
    by_token = site.bearer(body["token"]).get("/v1/me")
    assert by_cookie.json() == by_token.json()
    assert by_token.json()["credential"]["kind"] == "session"


def test_behind_tls_the_cookie_is_for_tls_only(make_site: Any, password: str) -> None:
    site = make_site(server=ServerSettings(public_url="https://catalogue.example.org"))
    site.add_user("ada", password=password)
    assert "Secure" in log_in(site, "ada", password).headers["set-cookie"]


def test_every_wrong_pair_has_the_same_answer_and_is_noted_without_the_password(
    make_site: Any, password: str
) -> None:
    site = make_site()
    site.add_user("ada", password=password)
    site.add_user("bob", password=password)
    site.control.accounts.set_disabled(LOCAL_USER, "bob", disabled=True)
    pairs = [
        ("ada", "wrong"),
        ("nobody", password),
        ("bob", password),
        ("a\x00b", "x"),
        ("LOCAL", "x"),
    ]
    replies = [log_in(site, *pair) for pair in pairs]
    assert {reply.status_code for reply in replies} == {401}
    assert len({reply.text for reply in replies}) == 1
    assert not any("set-cookie" in reply.headers for reply in replies)
    assert {note.outcome for note in site.notes.entries} == {Outcome.REFUSED}
    assert [note.parameters["name"] for note in site.notes.entries][:2] == ["ada", "nobody"]
    assert {note.principal for note in site.notes.entries} == {"anonymous"}
    assert "wrong" not in repr(site.notes.entries)


def test_guessing_is_limited_by_name(make_site: Any) -> None:
    site = make_site()
    statuses = [log_in(site, "nobody", f"guess {number}").status_code for number in range(11)]
    assert statuses == [401] * 10 + [429]
    assert site.last_note().outcome is Outcome.LIMITED
    assert log_in(site, "somebody", "else").status_code == 401


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "'name' is missing: the user's name; 'password' is missing"),
        ({"name": "a", "pasword": "hunter2"}, "unknown field 'pasword' (did you mean 'password'?)"),
        ({"name": "a", "password": ["hunter2"]}, "'password': must be a text"),
        (
            {"name": "a", "password": "hunter2" * 200},
            "'password': must have 1024 or fewer characters",
        ),
    ],
)
def test_a_wrong_body_names_the_field_and_never_repeats_what_was_given(
    make_site: Any, body: dict[str, Any], says: str
) -> None:
    reply = make_site().client.post("/v1/login", json=body)
    assert reply.status_code == 400
    assert says in reply.json()["error"]["message"]
    assert "hunter2" not in reply.text


def test_a_secret_that_works_once_leads_to_a_password_of_one_s_own(
    make_site: Any, password: str
) -> None:
    site = make_site()
    secret = site.control.accounts.create_first_admin()
    first = log_in(site, "admin", secret).json()
    assert first["must_change_password"]
    assert site.client.get("/v1/me").json()["must_change_password"]
    assert log_in(site, "admin", secret).status_code == 401

    reply = site.client.post("/v1/me/password", json={"password": password})
    assert reply.status_code == 200
    assert not reply.json()["must_change_password"]
    assert not site.client.get("/v1/me").json()["must_change_password"]
    site.client.cookies.clear()
    assert site.bearer(first["token"]).get("/v1/me").status_code == 401
    assert log_in(site, "admin", password).status_code == 200
    assert password not in repr(site.notes.entries)


def test_a_one_time_password_allows_nothing_but_choosing_a_password(
    make_site: Any, password: str
) -> None:
    site = make_site(rate_limit=RateLimitSettings(write_per_minute=0))
    first = log_in(site, "admin", site.control.accounts.create_first_admin()).json()
    for method, path in (
        ("GET", "/v1/tools"),
        ("POST", "/v1/tools/search"),
        ("GET", "/v1/resources"),
        ("GET", "/v1/tokens"),
        ("POST", "/v1/tokens"),
        ("GET", "/metrics"),
    ):
        for client in (site.bearer(first["token"]), site.client):  # by its token, and by the cookie
            reply = client.request(method, path, json={} if method == "POST" else None)
            assert (reply.status_code, path) == (403, path)
            assert (
                "choose a password first: POST /v1/me/password" in reply.json()["error"]["message"]
            )
    assert site.control.credentials.list_of("admin")[0].scopes == frozenset()
    me = site.client.get("/v1/me").json()
    assert (me["must_change_password"], me["permissions"]) == (True, [])
    assert "/v1/tools/search" not in site.client.get("/openapi.json").json()["paths"]
    chosen = site.bearer(first["token"]).post("/v1/me/password", json={"password": password})
    assert chosen.status_code == 200
    assert site.bearer(chosen.json()["token"]).get("/v1/tools").status_code == 200
    assert site.bearer(first["token"]).get("/v1/me").status_code == 401


def test_a_session_of_a_one_time_password_can_be_ended(make_site: Any) -> None:
    site = make_site()
    log_in(site, "admin", site.control.accounts.create_first_admin())
    assert site.client.post("/v1/logout").status_code == 204
    assert site.client.get("/v1/me").status_code == 401


def test_who_has_a_password_must_know_it_to_change_it(make_site: Any, password: str) -> None:
    site = make_site()
    site.add_user("ada", password=password)
    session = site.by_session("ada")

    def change(**body: str) -> Any:
        return session.post("/v1/me/password", json=body)

    missing = change(password="another one")
    assert (missing.status_code, "'current_password' is missing" in missing.text) == (400, True)
    assert change(password="another one", current_password="wrong").status_code == 403
    short = change(password="short", current_password=password)
    assert (short.status_code, "'password'" in short.text) == (400, True)
    changed = change(password="another one", current_password=password)
    assert changed.status_code == 200
    assert site.bearer(changed.json()["token"]).get("/v1/me").status_code == 200


def test_guessing_the_current_password_is_limited_too(make_site: Any, password: str) -> None:
    site = make_site()
    site.add_user("ada", password=password)
    body = {"password": "another one", "current_password": "wrong"}
    session = site.by_session("ada")
    statuses = [session.post("/v1/me/password", json=body).status_code for _ in range(11)]
    assert statuses == [403] * 10 + [429]


def test_a_logout_ends_the_session_and_the_cookie(site: Any) -> None:
    session = site.by_session()
    reply = session.post("/v1/logout")
    assert reply.status_code == 204
    assert 'stackroom_session=""' in reply.headers["set-cookie"]
    assert session.get("/v1/me").status_code == 401
    assert site.last_note().operation == "account/logout"


def test_a_logout_is_never_one_call_too_many(make_site: Any) -> None:
    site = make_site(rate_limit=RateLimitSettings(write_per_minute=0))
    site.add_user()
    assert site.by_session().post("/v1/logout").status_code == 204


def test_a_token_is_not_ended_by_a_logout(site: Any) -> None:
    token = site.by_token()
    reply = token.post("/v1/logout")
    assert (reply.status_code, reply.json()["error"]["code"]) == (409, "conflict")
    assert token.get("/v1/me").status_code == 200


def test_me_tells_who_by_which_credential_and_with_which_quotas(site: Any) -> None:
    me = (
        site.by_token(
            scopes=[Action.ACCESS_CATALOG], catalogues=["anime"], expires_in=timedelta(days=1)
        )
        .get(
            "/v1/me",
        )
        .json()
    )
    assert (me["name"], me["roles"], me["permissions"]) == ("reader", ["user"], ["AccessCatalog"])
    assert me["quotas"] == {"read": 120, "write": 30, "sql": 10}
    assert me["credential"]["kind"] == "token"
    assert me["credential"]["scopes"] == ["AccessCatalog"]
    assert me["credential"]["catalogues"] == ["anime"]
    assert me["expires_at"] == me["credential"]["expires_at"]
    assert not me["must_change_password"]


def test_without_accounts_me_is_the_local_user_and_the_rest_is_not_there(local: Any) -> None:
    me = local.client.get("/v1/me").json()
    assert (me["name"], me["credential"], me["quotas"]) == ("local", None, None)
    assert me["permissions"] == sorted(Action)
    asked = [
        ("POST", "/v1/login"),
        ("POST", "/v1/logout"),
        ("POST", "/v1/me/password"),
        ("GET", "/v1/tokens"),
    ]
    for method, path in [
        *asked,
        ("POST", "/v1/tokens"),
        ("DELETE", "/v1/tokens/x"),
        ("GET", "/v1/access"),
    ]:
        reply = local.client.request(method, path)
        assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")


def test_a_token_is_made_shown_once_used_listed_and_revoked(site: Any) -> None:
    session = site.by_session()
    wanted = {"name": "laptop", "scopes": ["AccessCatalog"], "expires": "30d"}
    made = session.post("/v1/tokens", json=wanted)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    secret = made.json()["token"]
    assert SECRET.fullmatch(secret)
    assert site.last_note().parameters == {"scopes": ["AccessCatalog"], "expires": "30d"}
    assert site.last_note().target == "laptop"
    assert site.bearer(secret).post("/v1/tools/ping").status_code == 200

    (listed,) = session.get("/v1/tokens").json()["tokens"]
    assert (listed["name"], listed["scopes"], listed["is_this"]) == (
        "laptop",
        ["AccessCatalog"],
        False,
    )
    assert "token" not in listed
    assert site.bearer(secret).get("/v1/tokens").json()["tokens"][0]["is_this"]

    assert session.delete(f"/v1/tokens/{listed['id']}").json() == {"revoked": listed["id"]}
    assert site.bearer(secret).post("/v1/tools/ping").status_code == 401
    assert session.get("/v1/tokens").json()["tokens"] == []


def test_a_token_makes_none_that_lasts_longer_than_itself(site: Any) -> None:
    ending = site.by_token(expires_in=timedelta(days=10))
    for body in ({"name": "for ever", "expires": "never"}, {"name": "longer", "expires": "11d"}):
        reply = ending.post("/v1/tokens", json=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden")
        assert "give 'expires', at most '9d', or log in first" in reply.json()["error"]["message"]
    reply = site.by_token(expires_in=timedelta(hours=3)).post("/v1/tokens", json={"name": "x"})
    assert reply.json()["error"]["message"].endswith(
        "cannot make a token that lasts longer: log in first"
    )
    assert ending.post("/v1/tokens", json={"name": "shorter", "expires": "9d"}).status_code == 201
    assert site.by_session().post("/v1/tokens", json={"name": "by login"}).status_code == 201
