"""Health: live and ready told apart, and what may be told to whom."""

from typing import Any

import pytest
from sqlalchemy import text

from stackroom import __version__
from stackroom.assembly.server_health import Reading
from stackroom.background.background import Background, Task
from stackroom.errors import StorageError

REASON = "/home/x/secret.sqlite: file is not a database"


@pytest.fixture
def loading(make_site: Any) -> Any:
    """A server whose catalogues are still loading; whoever waits for them waits for ever."""
    return make_site(is_loaded=False)


@pytest.mark.row("T6")
def test_a_server_that_is_well_says_so(site: Any) -> None:
    reply = site.by_token().get("/health")
    assert reply.status_code == 200
    report = reply.json()
    assert (report["status"], report["live"], report["ready"], report["degraded"]) == (
        "ok",
        True,
        True,
        [],
    )
    assert report["uptime_s"] >= 0
    assert (report["streams"], report["calls_in_flight"]) == (0, 0)
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.row("T6")
def test_while_the_catalogues_load_it_is_live_and_not_ready(loading: Any) -> None:
    statuses = {
        path: loading.client.get(path).status_code
        for path in ("/health", "/health/live", "/health/ready")
    }
    assert statuses == {"/health": 503, "/health/live": 200, "/health/ready": 503}
    assert loading.client.get("/health").json() == {
        "status": "starting",
        "live": True,
        "ready": False,
    }
    loading.add_user()
    assert loading.by_token().get("/health").json()["cache"]["size"] == 100


@pytest.mark.row("T6")
def test_a_server_that_ends_is_live_and_takes_no_more(site: Any) -> None:
    site.service.is_ending = True
    reply = site.client.get("/health")
    assert (reply.status_code, reply.json()["status"], reply.json()["live"]) == (
        503,
        "ending",
        True,
    )
    assert site.client.get("/health/live").status_code == 200
    assert site.client.get("/health/ready").json() == {"ready": False, "status": "ending"}


def test_catalogues_that_could_not_be_loaded_are_told_without_why_to_strangers(
    loading: Any,
) -> None:
    loading.service.opened_gate.set_exception(StorageError(REASON))
    loading.add_user()
    stranger = loading.client.get("/health")
    assert (stranger.status_code, stranger.json()["status"]) == (503, "degraded")
    assert "secret" not in stranger.text
    assert "secret.sqlite: file is not a database" in loading.by_token().get("/health").text


def test_what_is_degraded_is_told_in_full_only_to_who_may_see_it(site: Any) -> None:
    site.problems |= {"embedding": REASON, "catalogue hidden": REASON, "catalogue anime": REASON}
    stranger = site.client.get("/health")
    assert (stranger.status_code, stranger.json()) == (
        200,
        {"status": "degraded", "live": True, "ready": True},
    )
    reader = site.by_token(catalogues=["anime"]).get("/health").json()["degraded"]
    assert [one["part"] for one in reader] == ["catalogue anime", "catalogue", "embedding"]
    without_path = "secret.sqlite: file is not a database"
    assert [one["reason"] == without_path for one in reader] == [True, False, True]
    site.add_user("root", "admin")
    assert REASON in site.by_token("root").get("/health").text


@pytest.mark.row("T6")
def test_every_part_is_named_with_its_state(site: Any) -> None:
    site.health.others |= {
        "disk": "ok",
        "catalogue anime": "40 % of the records can be found by meaning so far",
    }
    site.problems["control database"] = REASON
    parts = site.by_token(catalogues=["anime"]).get("/health").json()["parts"]
    assert [(one["part"], one["state"]) for one in parts] == [
        ("catalogue anime", "ok"),
        ("control database", "degraded"),
        ("disk", "ok"),
    ]
    assert parts[0]["detail"].startswith("40 %")


@pytest.mark.row("T6")
def test_a_server_that_can_serve_nobody_is_live_and_not_ready(site: Any) -> None:
    site.health.unready = "control database: /home/x/secret.sqlite failed"
    site.problems["control database"] = REASON
    reply = site.client.get("/health/ready")
    assert (reply.status_code, reply.json()) == (503, {"ready": False, "status": "degraded"})
    assert reply.headers["retry-after"] == "1"
    assert site.client.get("/health").status_code == 503
    assert site.client.get("/health/live").status_code == 200
    site.health.unready = None
    assert site.client.get("/health/ready").status_code == 200


def test_measures_are_told_of_catalogues_that_are_seen_and_of_the_whole_server(site: Any) -> None:
    site.health.measured += [
        Reading(name="disk_free_bytes", value=7.0),
        Reading(name="waiting_vectors", value=3.0, labels={"catalogue": "anime"}),
        Reading(name="waiting_vectors", value=4.0, labels={"catalogue": "hidden"}),
        Reading(
            name="token_expiry_timestamp_seconds",
            value=1e9,
            labels={"user": "anna", "token": "one"},
        ),
    ]
    site.add_user("root", "admin")
    whole = site.by_token("root").get("/metrics").text
    part = (
        site.by_token("root", catalogues=["anime"], scopes=["ViewAnalytics"]).get("/metrics").text
    )
    assert "stackroom_disk_free_bytes 7.0" in part
    assert 'stackroom_waiting_vectors{catalogue="anime"} 3.0' in part
    assert "hidden" in whole
    assert "hidden" not in part
    assert 'stackroom_token_expiry_timestamp_seconds{token="one",user="anna"} 1e+09' in whole
    assert "anna" in part
    layouts = 'accounts_layout="10",records_layout="2"'
    assert f'stackroom_build_info{{{layouts},version="{__version__}"}} 1.0' in whole


def test_a_token_that_is_not_valid_sees_what_strangers_see(site: Any) -> None:
    site.problems["catalogue anime"] = REASON
    reply = site.bearer("stk_t_wrong").get("/health")
    assert reply.status_code == 200
    assert "anime" not in reply.text


@pytest.mark.row("T5")
def test_the_hit_rate_of_the_cache_is_told(local: Any) -> None:
    for query in ("a", "b", "a", "a"):
        local.client.post("/v1/tools/search", json={"query": query})
    cache = local.client.get("/health").json()["cache"]
    assert cache == {"entries": 2, "size": 100, "hits": 2, "misses": 2, "hit_rate": 0.5}


@pytest.mark.row("T8")
def test_while_the_control_database_fails_every_account_path_is_503_and_tells_not_where_it_is(
    site: Any,
) -> None:
    reader, place = site.by_token(), site.control.database.name
    with site.control.database.begin() as connection:
        connection.execute(text("ALTER TABLE users RENAME TO gone"))
    site.control.identities.refresh()
    asked = [
        site.client.post("/v1/login", json={"name": "reader", "password": "a wrong password"}),
        reader.get("/v1/me"),
        reader.post("/v1/tokens", json={"name": "one"}),
        reader.get("/health"),
    ]
    assert [(one.status_code, one.headers["retry-after"]) for one in asked[:3]] == [(503, "5")] * 3
    for reply in asked:
        assert place not in reply.text
        assert place.rpartition("/")[2] not in reply.text


def test_the_tasks_of_the_server_are_listed_for_those_who_run_it(site: Any) -> None:
    background = Background()
    background.add(
        Task(name="look", description="Looks.", run=lambda _context: None, period_s=60.0)
    )
    site.health.in_background = background.list_tasks()
    site.add_user("root", "admin")
    site.add_user("ada")
    report = site.by_token("root").get("/status").json()
    (task,) = report["tasks"]
    assert (task["name"], task["state"], task["runs"], task["last_error"]) == (
        "look",
        "waiting",
        0,
        "",
    )
    assert "MainThread" in report["threads"]
    assert site.by_token("ada").get("/status").status_code == 403
    assert site.client.get("/status").status_code == 401
