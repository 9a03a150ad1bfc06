"""Tools and resources over REST."""

from typing import Any

import pytest

from stackroom.model.principal import Outcome
from stackroom.settings import RateLimitSettings


def test_an_empty_body_is_no_arguments(local: Any) -> None:
    assert local.client.post("/v1/tools/ping").status_code == 200
    assert local.client.post("/v1/tools/ping", json={}).status_code == 200
    assert local.client.post("/v1/tools/search").json()["error"]["message"] == "'query' is missing"


@pytest.mark.row("T8")
def test_a_foreseen_failure_has_its_own_status_and_code(local: Any) -> None:
    reply = local.client.post("/v1/tools/away", json={"query": "x"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "storage")
    assert "the disk is away" in reply.json()["error"]["message"]


def test_a_bug_is_answered_without_its_details(local: Any) -> None:
    reply = local.client.post("/v1/tools/bug", json={"query": "x"})
    assert reply.status_code == 500
    assert reply.json()["error"]["code"] == "internal"
    assert "secret" not in reply.text
    assert local.last_note().outcome is Outcome.FAILED


@pytest.mark.row("T8")
def test_one_call_too_many_is_told_when_to_come_back(make_site: Any) -> None:
    site = make_site(rate_limit=RateLimitSettings(read_per_minute=2))
    site.add_user()
    reader = site.by_token()
    statuses = [reader.post("/v1/tools/ping").status_code for _ in range(2)]
    reply = reader.post("/v1/tools/ping")
    assert (*statuses, reply.status_code) == (200, 200, 429)
    assert 1 <= int(reply.headers["retry-after"]) <= 60
    assert reply.json()["error"]["retry_after_s"] == int(reply.headers["retry-after"])


@pytest.mark.row("T8")
def test_a_call_that_there_is_no_room_for_is_refused_at_once_and_noted(local: Any) -> None:
    local.service.workers.in_flight = 1_000_000
    reply = local.client.post("/v1/tools/ping")
    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "2"
    assert local.last_note().outcome is Outcome.OVERLOADED


def test_while_the_catalogues_load_a_call_without_room_is_refused_without_waiting_for_them(
    make_site: Any,
) -> None:
    loading = make_site(accounts=False, is_loaded=False)
    loading.service.workers.in_flight = 1_000_000
    assert loading.client.post("/v1/tools/ping").status_code == 503
    assert loading.notes.entries == []


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"Content-Type": "text/plain"}, b"{}"),
        ({"Content-Type": "application/json; charset=latin-1"}, b"{}"),
        ({}, b"{}"),
    ],
)
def test_a_body_that_is_not_said_to_be_json_is_refused(
    local: Any, headers: dict[str, str], body: bytes
) -> None:
    reply = local.client.post("/v1/tools/ping", content=body, headers=headers)
    assert reply.status_code == 415
    assert "Content-Type: application/json" in reply.json()["error"]["message"]


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON;charset=UTF-8"])
def test_json_may_say_that_it_is_utf_8(local: Any, content_type: str) -> None:
    reply = local.client.post(
        "/v1/tools/ping", content=b"{}", headers={"Content-Type": content_type}
    )
    assert reply.status_code == 200


@pytest.mark.row("T8")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"query": "a", "query": "b"}', "the key 'query' is there twice"),
        (b'{"limit": NaN}', "NaN"),
        (b'{"limit": 1e999}', "too large"),
        (b'{"limit": ' + b"9" * 5000 + b"}", "too long"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"query": "\xff"}', "UTF-8"),
        (b'{"query": "\\ud83d"}', "surrogate"),
    ],
)
def test_a_body_that_could_be_read_in_two_ways_or_in_none_is_refused(
    local: Any, body: bytes, says: str
) -> None:
    reply = local.client.post(
        "/v1/tools/search", content=body, headers={"Content-Type": "application/json"}
    )
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "invalid_input"
    assert says in reply.json()["error"]["message"]


def test_a_whole_surrogate_pair_is_a_character(local: Any) -> None:
    body = b'{"query": "\\ud83d\\ude00"}'
    reply = local.client.post(
        "/v1/tools/search", content=body, headers={"Content-Type": "application/json"}
    )
    assert reply.json()["results"][0]["title"] == "😀"


def test_a_large_body_is_read_as_a_small_one_is(local: Any) -> None:
    query = "x" * 100_000
    assert (
        local.client.post("/v1/tools/search", json={"query": query}).json()["results"][0]["title"]
        == query
    )
    doubled = b'{"query": "%s", "query": ""}' % query.encode()
    reply = local.client.post(
        "/v1/tools/search", content=doubled, headers={"Content-Type": "application/json"}
    )
    assert (reply.status_code, "twice" in reply.text) == (400, True)


def test_other_methods_are_not_for_tools(local: Any) -> None:
    reply = local.client.get("/v1/tools/search")
    assert reply.status_code == 405
    assert reply.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("name", "content_type", "is_downloaded"),
    [
        ("plain", "text/plain; charset=utf-8", False),
        ("picture", "image/png", False),
        ("page", "text/html; charset=utf-8", True),
        ("drawing", "image/svg+xml; charset=utf-8", True),
        ("strange", "application/octet-stream", True),
    ],
)
def test_a_resource_has_its_own_type_and_nothing_that_could_run_is_shown(
    local: Any, name: str, content_type: str, is_downloaded: bool
) -> None:
    reply = local.client.get("/v1/resources/read", params={"uri": f"notes://{name}"})
    assert reply.status_code == 200
    assert reply.headers["content-type"] == content_type
    assert (reply.headers.get("content-disposition") == "attachment") is is_downloaded
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in reply.headers["content-security-policy"]
    assert "set-cookie" not in reply.headers


@pytest.mark.row("N8")
def test_a_long_text_is_read_in_parts(local: Any) -> None:
    for query in ("?uri=notes://long&max_tokens=100", "?uri=notes://long%3Fmax_tokens%3D100"):
        reply = local.client.get(f"/v1/resources/read{query}")
        assert len(reply.content) <= 400
        assert reply.text.startswith("[stackroom: characters 1–")
    rest = local.client.get("/v1/resources/read?uri=notes://long&cursor=4990").text
    assert rest == "[stackroom: characters 4991–5000 of 5000 follow]\n\nline line "
    wrong = local.client.get("/v1/resources/read?uri=notes://long&max_tokens=1")
    assert wrong.status_code == 400
    assert "'max_tokens' must be a whole number from 100 to 100000 (given: '1')" in wrong.text


@pytest.mark.row("T6")
def test_a_long_list_is_sent_compressed_and_read_the_same(local: Any) -> None:
    plain = local.client.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    packed = local.client.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["vary"]
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) < len(plain.content) / 3


@pytest.mark.row("T6")
def test_short_answers_and_calls_are_sent_as_they_are(local: Any) -> None:
    takes = {"Accept-Encoding": "gzip"}
    assert "content-encoding" not in local.client.get("/health", headers=takes).headers
    called = local.client.post("/v1/tools/search", json={"query": "x" * 3000}, headers=takes)
    assert len(called.content) > 2000
    assert "content-encoding" not in called.headers
