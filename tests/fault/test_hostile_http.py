"""Every hostile HTTP request there is a list of, and more of the kind, as bytes on a socket.

Requests differ in one thing from one that is answered with 200, so that it is that one thing that
is refused.
"""

import gzip
import io
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.row("T6")

MODERN = "2026-07-28"
LISTED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "http_requests.json").read_text(encoding="utf-8")
)
OURS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "our_requests.json").read_text(encoding="utf-8")
)
REQUESTS = [one for one in LISTED["requests"] if "behaviour" not in one]
BEHAVIOURS = {one["behaviour"]["kind"] for one in LISTED["requests"] if "behaviour" in one}
EXACTLY = {
    "host": 421,
    "orig": 403,
    "ct": 415,
    "acc": 406,
    "auth": 401,
    "sid": 404,
    "path": 404,
    "ver": 400,
    "hdr": 400,
}
"""What of the permitted answers we give, by what the id of a request begins with."""
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
GOOD_BODY = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
).encode()
GOOD = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": "tools/list",
}
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
MOST_BYTES = 4 * 1024 * 1024
MORE_MEMORY_MIB = 40


def code_of(reply: Any) -> str:
    """Return the code of a refusal in the form that all of ours have."""
    code: str = json.loads(reply.body)["error"]["code"]
    return code


def raw(head: str, *headers: str, body: str = "") -> bytes:
    """Return a request as it stands."""
    return "\r\n".join([head, *headers, "", body]).encode("latin-1")


def post(*headers: str, body: str = "") -> bytes:
    return raw("POST /mcp HTTP/1.1", "Host: localhost", *headers, body=body)


def get(*headers: str, path: str = "/health", version: str = "1.1") -> bytes:
    return raw(f"GET {path} HTTP/{version}", "Host: localhost", *headers)


def answer_to(besieged: Any, data: bytes) -> Any:
    """Send bytes on a connection of their own, and return the answer."""
    with besieged.wire() as wire:
        wire.send(data)
        return wire.read_reply()


def good(besieged: Any, path: str = "/mcp", /, **changes: str) -> Any:
    """Make the good request with changed headers, and return the answer."""
    headers = {
        **GOOD,
        **besieged.bearer(),
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    return besieged.request("POST", path, headers, GOOD_BODY)


def twice(besieged: Any, name: str, first: str, second: str) -> Any:
    """Make the good request with a header twice, and return the answer."""
    headers = {key: value for key, value in {**GOOD, **besieged.bearer()}.items() if key != name}
    return besieged.request(
        "POST", "/mcp", {**headers, name: first, name.upper(): second}, GOOD_BODY
    )


def test_the_list_of_hostile_requests_is_whole_and_every_behaviour_has_its_test() -> None:
    assert len(LISTED["requests"]) == 49
    here = {"gzip_bomb", "slow_headers"}  # the latter in test_hostile_slowness.py
    # in test_hostile_websocket.py
    elsewhere = {"ws_big", "ws_binary", "ws_noauth", "ws_deflate_bomb"}
    assert here | elsewhere == BEHAVIOURS


def test_what_all_others_are_compared_to_is_answered(besieged: Any) -> None:
    assert good(besieged).status == 200
    assert answer_to(besieged, HEALTH).status == 200


@pytest.mark.row("Z2")
@pytest.mark.parametrize("one", REQUESTS, ids=lambda one: one["id"])
def test_a_listed_request_gets_its_refusal(besieged: Any, one: dict[str, Any]) -> None:
    with closing(besieged.channel("http")) as channel:
        values = {
            "SESSION_OF_A": channel.session,
            "TOKEN_B": besieged.tokens["bob"],
            "VALID": besieged.tokens["alice"],
        }
        reply = answer_to(besieged, bytes_of(one, values))
        assert channel.ask("tools/list")["result"]["tools"]
    exact = EXACTLY.get(re.split(r"[0-9_]", one["id"])[0])
    assert reply.status in one["expect"]
    assert exact in (None, reply.status)
    besieged.require_well()


def bytes_of(one: dict[str, Any], values: dict[str, str]) -> bytes:
    """Return a listed request as bytes; those that are not about who is asking are alice's."""
    text: str = one.get("raw", "")
    if not text:
        own = {} if one["id"].startswith("auth") else {"Authorization": "Bearer VALID"}
        headers = {
            "Host": "localhost",
            **own,
            **one["headers"],
            "Content-Length": len(one.get("body", "")),
        }
        lines = [f"{name}: {value}" for name, value in headers.items()]
        text = "\r\n".join(
            [f"{one['method']} {one['path']} HTTP/1.1", *lines, "", one.get("body", "")]
        )
    for mark, value in values.items():
        text = text.replace(f"{{{mark}}}", value).replace("VALID", values["VALID"])
    return text.encode("latin-1")


@pytest.mark.parametrize(
    ("wrong", "value"),
    [(wrong, value) for wrong in OURS["headers"] for value in wrong["values"]],
    ids=lambda part: part["header"] if isinstance(part, dict) else repr(part[:30]),
)
def test_a_request_with_one_wrong_header_gets_the_refusal_of_that(
    besieged: Any, wrong: dict[str, Any], value: str
) -> None:
    given = value.replace("{alice}", besieged.tokens["alice"])
    reply = good(besieged, **{wrong["header"].replace("-", "_"): given})
    assert reply.status == wrong["status"]
    if "code" in wrong:
        assert code_of(reply) == wrong["code"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"


def test_a_request_has_exactly_one_host(besieged: Any) -> None:
    for hosts in (
        [],
        ["Host: localhost", "Host: evil.com"],
        ["Host: localhost", "host: localhost"],
    ):
        reply = answer_to(besieged, raw("GET /health HTTP/1.1", *hosts))
        assert (reply.status, code_of(reply)) == (400, "no_host")


def test_one_foreign_origin_is_enough_wherever_it_stands(besieged: Any) -> None:
    assert good(besieged, Origin="http://localhost").status == 200
    for first, second in (
        ("http://localhost", "http://evil.com"),
        ("http://evil.com", "http://localhost"),
    ):
        reply = twice(besieged, "Origin", first, second)
        assert (reply.status, code_of(reply)) == (403, "foreign_origin")


def test_a_body_has_one_kind(besieged: Any) -> None:
    reply = twice(besieged, "Content-Type", "application/json", "text/plain")
    assert (reply.status, code_of(reply)) == (415, "not_json")
    without = {name: value for name, value in GOOD.items() if name != "Content-Type"}
    assert (
        besieged.request("POST", "/mcp", {**without, **besieged.bearer()}, GOOD_BODY).status == 415
    )


@pytest.mark.row("Z2")
def test_a_bad_credential_gets_the_one_answer_that_all_get(besieged: Any) -> None:
    reply = good(besieged, Authorization="Bearer x")
    assert reply.headers["www-authenticate"].startswith(
        'Bearer error="invalid_token", resource_metadata="http://'
    )
    assert reply.body == besieged.request("POST", "/mcp", GOOD, GOOD_BODY).body


@pytest.mark.row("Z2")
def test_a_credential_counts_only_where_it_belongs(besieged: Any) -> None:
    token = besieged.tokens["alice"]
    for path in (
        f"/mcp?access_token={token}",
        f"/mcp?token={token}",
        f"/mcp?Authorization=Bearer%20{token}",
    ):
        assert besieged.request("POST", path, GOOD, GOOD_BODY).status == 401
    assert twice(besieged, "Authorization", f"Bearer {token}", "Bearer x").status == 401
    assert twice(besieged, "Authorization", f"Bearer {token}", f"Bearer {token}").status == 401
    for cookie in ("stackroom_session=x", "stackroom_session=\xff", ';;==;"\\' + "a=b;" * 5_000):
        assert besieged.request("POST", "/mcp", {**GOOD, "Cookie": cookie}, GOOD_BODY).status == 401
    in_two_lines = answer_to(
        besieged, post(f"Authorization: Bearer {token[:9]}\n {token[9:]}", "Content-Length: 0")
    )
    assert in_two_lines.status == 400


@pytest.mark.row("Z2")
def test_a_credential_behind_the_body_is_none(besieged: Any) -> None:
    """What follows a body in parts is not among the headers: a gateway before us has not seen
    it.
    """
    chunk = f"{len(GOOD_BODY):x}\r\n{GOOD_BODY.decode()}\r\n0\r\n"
    head = [f"{name}: {value}" for name, value in GOOD.items()]
    token = f"Authorization: Bearer {besieged.tokens['alice']}"
    before = answer_to(
        besieged, post(*head, token, "Transfer-Encoding: chunked", body=f"{chunk}\r\n")
    )
    behind = answer_to(
        besieged, post(*head, "Transfer-Encoding: chunked", body=f"{chunk}{token}\r\n\r\n")
    )
    assert (before.status, behind.status) == (200, 401)


@pytest.mark.row("Z2")
def test_the_session_of_one_user_is_nothing_to_another(besieged: Any) -> None:
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    kind = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with closing(besieged.channel("http")) as channel, closing(besieged.channel("sse")) as stream:
        headers = {**kind, "Mcp-Session-Id": channel.session, **besieged.bearer("bob")}
        for method in ("POST", "GET", "DELETE"):
            assert (
                besieged.request(method, "/mcp", headers, body if method == "POST" else b"").status
                == 404
            )
        assert (
            besieged.request("POST", stream.path, {**kind, **besieged.bearer("bob")}, body).status
            == 404
        )
        for own in (channel, stream):
            assert own.ask("tools/list")["result"]["tools"]


@pytest.mark.parametrize(
    "method", ["OPTIONS", "TRACE", "PUT", "PATCH", "PROPFIND", "M-SEARCH", "QUERY", "LINK"]
)
@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages", "/health"])
def test_a_method_that_is_not_for_a_path_is_refused(besieged: Any, method: str, path: str) -> None:
    reply = besieged.request(method, path, besieged.bearer())
    assert (reply.status, code_of(reply)) == (405, "method_not_allowed")
    assert reply.headers["allow"]


@pytest.mark.parametrize("path", OURS["paths"])
def test_there_is_nothing_at_a_path_that_is_none_of_ours(besieged: Any, path: str) -> None:
    reply = besieged.request("GET", path, besieged.bearer())
    assert (reply.status, code_of(reply)) == (404, "not_found")


NO_HTTP = {
    "garbage": bytes(range(256)) * 2,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "bare line feeds": get().replace(b"\r\n", b"\n"),
    "a folded header": get("X: a", " b"),
    "a blank before the colon": raw("GET /health HTTP/1.1", "Host : localhost"),
    "a header with a NUL": get("X: a\0b"),
    "another's address": raw("CONNECT evil.com:443 HTTP/1.1", "Host: evil.com:443"),
    "a length below zero": post("Content-Length: -1"),
    "two lengths": post("Content-Length: 5", "Content-Length: 6", body="hello!"),
    "a length and parts": post("Content-Length: 5", "Transfer-Encoding: chunked", body="0\r\n\r\n"),
    "an encoding that is none": post("Transfer-Encoding: xchunked", body="0\r\n\r\n"),
    "a part of no size": post("Transfer-Encoding: chunked", body="zz\r\n\r\n"),
    "a second request that is none": HEALTH + b"GARBAGE\r\n\r\n",
}


@pytest.mark.parametrize("name", NO_HTTP)
def test_what_is_no_http_is_refused_and_the_connection_closed(besieged: Any, name: str) -> None:
    with besieged.wire() as wire:
        wire.send(NO_HTTP[name])
        while (reply := wire.read_reply()) and reply.status == 200:
            pass
        assert reply.status == 400
        assert wire.is_ended()


TOO_MUCH = {
    "a long header": get("X: " + "x" * 100_000),
    "a long name": get("x" * 100_000 + ": y"),
    "ten thousand headers": get(*(f"X{number}: y" for number in range(10_000))),
    "a request behind it": get("X: " + "x" * 70_000) + HEALTH,
    "what follows the body": post(
        "Transfer-Encoding: chunked", body="0\r\n" + "X: y\r\n" * 20_000 + "\r\n"
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_head_that_is_too_long_is_refused_and_what_follows_is_not_answered(
    besieged: Any, name: str
) -> None:
    with besieged.wire() as wire:
        wire.send(TOO_MUCH[name])
        assert wire.read_reply().status == 431
        assert wire.read_reply() is None


HARMLESS = {
    "HTTP/1.0": get(version="1.0"),
    "a thousand headers": get(*(f"X{number}: y" for number in range(1_000))),
    "a header that is no ASCII": get("X: \xff\xfe"),
    "another protocol": get(
        "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"
    ),
    "what a proxy says": get(
        "X-Forwarded-Host: evil.com", "X-Forwarded-Proto: https", "Forwarded: host=evil.com"
    ),
    "another method by a header": get("X-HTTP-Method-Override: DELETE"),
    "a body": get("Content-Length: 5") + b"hello",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_unusual_but_http_is_answered(besieged: Any, name: str) -> None:
    reply = answer_to(besieged, HARMLESS[name])
    assert reply.status == 200
    assert "evil.com" not in str(reply)


def test_a_length_that_is_too_small_leaves_a_rest_that_is_no_request(besieged: Any) -> None:
    with besieged.wire() as wire:
        headers = {**GOOD, **besieged.bearer(), "Content-Length": str(len(GOOD_BODY) - 1)}
        assert wire.request("POST", "/mcp", headers, GOOD_BODY).status == 400
        assert wire.is_ended()


def test_whoever_asks_first_hears_at_once_whether_a_body_is_wanted(besieged: Any) -> None:
    bearer = f"Authorization: {besieged.bearer()['Authorization']}"
    with besieged.wire() as wire:
        wire.send(
            post(
                "Expect: 100-continue",
                "Content-Length: 2",
                bearer,
                "Content-Type: application/json",
            )
        )
        assert wire.read_head().startswith(b"HTTP/1.1 100 ")
        wire.send(b"{}")
        assert wire.read_reply().status == 400
    too_long = f"Content-Length: {MOST_BYTES + 1}"
    for headers, status in (([too_long, bearer], 413), ([too_long], 401), (["Origin: null"], 403)):
        with besieged.wire() as wire:
            wire.send(post("Expect: 100-continue", *headers))
            assert wire.read_head().startswith(b"HTTP/1.1 %d " % status)


def test_half_a_character_as_a_key_twice_breaks_nothing(besiege: Any) -> None:
    alone = besiege()  # what it breaks is in the log, where the others want nothing broken
    for path in ("/v1/tools/search_anime", "/v1/login"):
        body = rb'{"\ud800": 1, "\ud800": 2}'
        assert alone.request("POST", path, {**GOOD, **alone.bearer()}, body).status == 400


@pytest.mark.parametrize("declared", [True, False], ids=["with its length", "in parts"])
def test_a_body_that_is_too_long_is_refused_whether_it_says_so_or_not(
    besieged: Any, declared: bool
) -> None:
    body = b"x" * (MOST_BYTES + 1)
    headers = {**GOOD, **besieged.bearer()}
    if not declared:
        headers["Transfer-Encoding"] = "chunked"
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    reply = besieged.request("POST", "/mcp", headers, body)
    assert (reply.status, reply.messages[0]["error"]["code"]) == (413, -32600)
    reply = besieged.request("POST", "/v1/tools/search_anime", headers, body)
    assert (reply.status, code_of(reply)) == (413, "too_large")
    just_right = GOOD_BODY + b" " * (MOST_BYTES - len(GOOD_BODY))
    assert besieged.request("POST", "/mcp", {**GOOD, **besieged.bearer()}, just_right).status == 200


def test_parts_without_end_are_refused_before_they_fill_the_memory(besieged: Any) -> None:
    before = besieged.memory_mib()
    with besieged.wire() as wire:
        wire.send(
            post(
                "Transfer-Encoding: chunked", f"Authorization: {besieged.bearer()['Authorization']}"
            )
        )
        part = b"%x\r\n%s\r\n" % (65_536, b"x" * 65_536)
        for _ in range(1_000):
            wire.send(part)
        assert wire.read_reply().status == 413
    assert besieged.memory_mib() - before < MORE_MEMORY_MIB


def test_a_bomb_is_not_even_unpacked(besieged: Any) -> None:
    """A megabyte that would become a gigabyte."""
    packed = gzip.compress(bytes(16 * 1024 * 1024)) * 64
    assert (
        sum(len(gzip.GzipFile(fileobj=io.BytesIO(packed)).read(1_000_000)) for _ in range(2))
        == 2_000_000
    )
    before = besieged.memory_mib()
    for encoding in ("gzip", "GZIP", "br", "deflate", "zstd", "gzip, identity", "x"):
        reply = besieged.request(
            "POST", "/mcp", {**GOOD, **besieged.bearer(), "Content-Encoding": encoding}, packed
        )
        assert (reply.status, code_of(reply)) == (415, "encoded_body")
    assert besieged.memory_mib() - before < MORE_MEMORY_MIB
    besieged.require_well()


PATHS_OF_STRANGERS = [
    "/mcp",
    "/v1/tools/search_anime",
    "/v1/login",
    "/messages?session_id=00000000000000000000000000000000",
]


@pytest.mark.row("Z2")
@pytest.mark.parametrize("path", [path for path in PATHS_OF_STRANGERS if path != "/v1/login"])
def test_a_stranger_is_refused_before_the_body_comes(besieged: Any, path: str) -> None:
    with besieged.wire() as wire:
        wire.send(raw(f"POST {path} HTTP/1.1", "Host: localhost", "Content-Length: 4000000"))
        assert wire.read_reply().status == 401
