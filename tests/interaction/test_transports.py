"""The same requests over every transport and in both eras of the protocol: the same answers, and
the same audit.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from stackroom.model.principal import Action, Outcome
from support.control import audit_rows


@pytest.mark.row("Z13")
def test_each_call_leaves_one_row_that_says_by_which_way_it_came(
    hosted: Any, connect: Any, way: str, request_of: Any, soon: Any
) -> None:
    audit, name = hosted.accounts.control.audit, hosted.accounts.user(*Action, name="audited")
    principal, via = (
        ("local", "stdio") if way.startswith("stdio") else (name, way.partition(" ")[0])
    )
    unknown = f"unknown-{name}"
    with connect(way, hosted, hosted.accounts.token(name)) as asker:
        asker.ask(request_of("tools/call", "fetch", id="anime/mal-1"))
        asker.ask(request_of("resources/read", "stackroom://anime/mal-1"))
        asker.ask(request_of("tools/call", unknown, password="hunter22-hunter22"))

    def rows() -> list[Any]:
        """Return the rows of this way; another process writes them, which may take a moment."""
        return [row for row in audit_rows(audit, principal=principal) if row.via == via]

    soon(lambda: unknown in [row.target for row in rows()], timeout_s=120)
    assert [(row.operation, row.target, row.outcome) for row in rows()[-3:]] == [
        ("tools/call", "fetch", Outcome.OK),
        ("resources/read", "stackroom://anime/mal-1", Outcome.OK),
        ("tools/call", unknown, Outcome.REFUSED),
    ]


@pytest.fixture
def secret(hosted: Any) -> str:
    """A token of somebody new, who may do everything."""
    return str(hosted.accounts.token(hosted.accounts.user(*Action, name="raw")))


@pytest.mark.row("Z2")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("GET", "/sse"),
        ("POST", "/messages?session_id=00000000000000000000000000000000"),
        ("GET", "/metrics"),
    ],
)
@pytest.mark.parametrize("given", ["", "Bearer stk_t_wrong", "Bearer a b", "stk_t_wrong"])
def test_somebody_unknown_gets_the_same_refusal_everywhere(
    hosted: Any, method: str, path: str, given: str
) -> None:
    headers = {"Authorization": given} if given else {}
    body = {"json": {"query": "sea"}} if method == "POST" else {}
    reply = httpx.request(method, hosted.url + path, headers=headers, **body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "unauthenticated")
    assert "resource_metadata=" in reply.headers["www-authenticate"]
    assert ('error="invalid_token"' in reply.headers["www-authenticate"]) is bool(given)


@pytest.mark.row("T6")
def test_sse_speaks_as_it_always_did(hosted: Any, secret: str) -> None:
    headers = {"Authorization": f"Bearer {secret}"}
    with (
        httpx.Client(base_url=hosted.url, headers=headers, timeout=120) as client,
        client.stream("GET", "/sse") as sse,
    ):
        assert sse.headers["content-type"].startswith("text/event-stream")
        lines = (line for line in sse.iter_lines() if line.startswith(("event:", "data:")))
        assert next(lines) == "event: endpoint"
        place = next(lines).removeprefix("data: ")
        assert place.startswith("/messages?session_id=")
        about = {
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "1"},
        }
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
        assert client.post(place, json=asked).status_code == 202
        assert next(lines) == "event: message"
        assert (
            json.loads(next(lines).removeprefix("data: "))["result"]["protocolVersion"]
            == "2024-11-05"
        )


@pytest.mark.row("Z13")
def test_no_secret_is_in_the_database_or_in_the_log(hosted: Any) -> None:
    control, password = hosted.accounts.control, "correct horse battery staple"
    name = hosted.accounts.user(*Action, name="secretive")
    once = control.accounts.reset_password(
        control.identities.principal_of(control.accounts.get_user(name)), name
    )
    jwt = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhZGEifQ.MEUCIQDxyz"
    with hosted.rest() as client:
        assert (
            client.post(
                "/v1/login", json={"name": name, "password": "wrong " + password}
            ).status_code
            == 401
        )
        session = client.post("/v1/login", json={"name": name, "password": once}).json()["token"]
        client.headers["Authorization"] = f"Bearer {session}"
        client.cookies.clear()
        second = client.post("/v1/me/password", json={"password": password}).json()["token"]
        client.headers["Authorization"] = f"Bearer {second}"
        client.cookies.clear()
        third = client.post("/v1/tokens", json={"name": "laptop"}).json()["token"]
        client.headers["Authorization"] = f"Bearer {third}"
        arguments = {"query": f"{third} {jwt} Authorization: Bearer {second}", "password": password}
        assert client.post("/v1/tools/search", json=arguments).status_code == 400
        assert (
            client.post("/v1/tools/search", json={"query": arguments["query"]}).status_code == 200
        )
        assert client.post(f"/v1/tools/{third}", json={}).status_code == 404
        assert (
            client.get("/v1/resources/read", params={"uri": f"stackroom://{third}/x"}).status_code
            == 404
        )
        client.get("/v1/tools", params={"token": third}, headers={"Authorization": f"Bearer {jwt}"})
    control.audit.flush()
    home = hosted.server.home
    written = (
        b"".join(path.read_bytes() for path in home.glob("control.sqlite*"))
        + "".join(hosted.server.log).encode()
    )
    assert b"secretive" in written
    for one in (password, once, session, second, third, jwt, jwt.split(".")[1]):
        assert one.encode() not in written


@pytest.mark.row("Z1")
def test_all_ways_at_once_over_one_port_keep_their_answers_apart(
    hosted: Any, connect: Any, request_of: Any
) -> None:
    ways = [
        "http legacy",
        "http 2026-07-28",
        "sse legacy",
        "websocket legacy",
        "websocket 2026-07-28",
        "rest",
    ]

    def ask(way: str) -> list[Any]:
        secret = hosted.accounts.token(hosted.accounts.user(*Action, name="many"))
        with connect(way, hosted, secret) as asker:
            ids = [f"anime/mal-{number}" for number in (1, 6, 160, 329, 392)]
            return [
                asker.ask(request_of("tools/call", "fetch", id=one)).value["id"] == one
                for one in ids
            ]

    with ThreadPoolExecutor(len(ways)) as pool:
        assert all(all(found) for found in pool.map(ask, ways))
