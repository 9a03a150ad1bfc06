"""Every hostile JSON-RPC frame there is a list of, and more of the kind: on every transport, in both eras of MCP.

Each gets the refusal that is right for it, at once, and the next good call on the same connection is answered.
"""

import base64
import json
import signal
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import types

pytestmark = pytest.mark.row("T8")

LEGACY, MODERN = "2025-11-25", "2026-07-28"
KINDS = [
    ("http", LEGACY),
    ("http", MODERN),
    ("sse", LEGACY),
    ("sse", MODERN),
    ("websocket", LEGACY),
    ("websocket", MODERN),
    ("stdio", LEGACY),
    ("stdio", MODERN),
]
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "hostile", "version": "1"},
}
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "hostile", "version": "1"}}
BASE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "jsonrpc_frames.json").read_text(encoding="utf-8"))

LONGEST_FRAME = 4 * 1024 * 1024
MORE_MEMORY_MIB = 40
PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
NEVER = {-32603, 0}
"""What would say that something broke within."""

Verdicts = frozenset[int | str]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame, what may come of it, and what may come of it in 2026 where that is something else."""

    name: str
    raw: bytes
    expect: Verdicts
    modern: Verdicts | None = None

    def __repr__(self) -> str:
        return f"Frame({self.name})"


def raw_of(case: dict[str, Any]) -> bytes:
    """Return the bytes of a case; long ones are written as the expression that makes them."""
    if "raw_b64" in case:
        return base64.b64decode(case["raw_b64"])
    builtins = {"dict": dict, "range": range, "str": str}
    text: str = eval(case["gen"], {"__builtins__": builtins, "json": json, "B": BASE}) if "gen" in case else case["raw"]
    return text.encode()


OTHERWISE: dict[str, Verdicts] = {"g05": frozenset({REQUEST})}
"""An id of a megabyte may be echoed or refused, says its note: it is refused."""
IN_2026: dict[str, Verdicts] = {"s02": frozenset({METHOD, UNSUPPORTED_VERSION})}
"""There is no `initialize` any more."""


def listed(case: dict[str, Any]) -> Frame:
    """Return a case of the list as a frame."""
    expect = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    name = case["id"]
    return Frame(name=name, raw=raw_of(case), expect=OTHERWISE.get(name, frozenset(expect)), modern=IN_2026.get(name))


def frame(name: str, raw: bytes, *expect: int | str, modern: list[int | str] | None = None) -> Frame:
    return Frame(name=name, raw=raw, expect=frozenset(expect), modern=None if modern is None else frozenset(modern))


def message(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **fields}).encode()


def request(method: str, /, **params: Any) -> bytes:
    return message(method=method, params=params)


def call(tool: str, /, **arguments: Any) -> bytes:
    return request("tools/call", name=tool, arguments=arguments)


def notification(method: str, /, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


def nested(depth: int, begin: str = "[", end: str = "]", inmost: str = "") -> str:
    return begin * depth + inmost + end * depth


def with_id(raw_id: str) -> bytes:
    return b'{"jsonrpc": "2.0", "id": ' + raw_id.encode() + b', "method": "tools/list"}'


def with_argument(raw_value: str) -> bytes:
    arguments = '{"query": "a", "limit": ' + raw_value + "}"
    params = '{"name": "search_anime", "arguments": ' + arguments + "}"
    return b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ' + params.encode() + b"}"


def with_params(raw_params: str) -> bytes:
    return b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": ' + raw_params.encode() + b"}"


PLAIN = json.dumps(BASE).encode()
GONE: list[int | str] = [METHOD, UNSUPPORTED_VERSION]
"""What 2026 says to a handshake."""

UNREADABLE = [
    frame("not a number", with_argument("NaN"), PARSE),
    frame("minus infinity", with_params('{"a": -Infinity}'), PARSE),
    frame("a number of 5,000 digits", with_params('{"a": ' + "9" * 5_000 + "}"), PARSE),
    frame("a leading zero", with_params('{"a": 01}'), PARSE),
    frame("a plus sign", with_params('{"a": +1}'), PARSE),
    frame("a hexadecimal number", with_params('{"a": 0x1}'), PARSE),
    frame("a comment", b"/* x */" + PLAIN, PARSE),
    frame("a raw line end in a text", with_params('{"a": "x\ry"}'), PARSE),
    frame("a raw NUL in a text", with_params('{"a": "x\0y"}'), PARSE),
    frame("half an escape", with_params(r'{"a": "\u12"}'), PARSE),
    frame("a byte order mark", b"\xef\xbb\xbf" + PLAIN, PARSE),
    frame("a NUL behind", PLAIN + b"\0", PARSE),
    frame("a NUL before", b"\0" + PLAIN, PARSE),
    frame("UTF-16", json.dumps(BASE).encode("utf-16-le"), PARSE, "close"),
    frame("UTF-16 with its mark", json.dumps(BASE).encode("utf-16"), PARSE, "close", "4xx"),
    frame("Latin-1", '{"jsonrpc": "2.0", "id": 1, "method": "caf\xe9"}'.encode("latin-1"), PARSE, "close", "4xx"),
    frame("an id twice", b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "tools/list"}', PARSE),
    frame("a version twice", b'{"jsonrpc": "2.0", "jsonrpc": "1.0", "id": 1, "method": "tools/list"}', PARSE),
    frame(
        "a key twice, once escaped", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "m\\u0065thod": "x"}', PARSE
    ),
    frame(
        "a name twice, within",
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "name": "b"}}',
        PARSE,
    ),
    frame("half a character as a key twice", rb'{"jsonrpc": "2.0", "id": 1, "\ud800": 1, "\ud800": 2}', PARSE),
    frame("a long key twice", b'{"' + b"k" * 100_000 + b'": 1, "' + b"k" * 100_000 + b'": 2}', PARSE),
    frame("brackets without end", b"[" * 100_000, PARSE),
    frame("braces without end", b'{"a":' * 50_000, PARSE),
    frame("a megabyte of nothing", b"x" * 1_000_000, PARSE),
    frame("random bytes", bytes(range(128, 256)) * 8, PARSE, "close", "4xx"),
]
NO_MESSAGES = [
    frame("a batch", json.dumps([BASE]).encode(), REQUEST),
    frame("an empty batch", b"[]", REQUEST),
    frame("a batch of 6.7 MB", json.dumps([BASE] * 100_000).encode(), REQUEST, "close"),
    frame("a batch in a batch", b"[[]]", REQUEST),
    frame("a batch with rubbish", b'[1, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]', REQUEST),
    frame("a number", b"1", REQUEST),
    frame("true", b"true", REQUEST),
    frame("a number beyond all", b"1e999", REQUEST, PARSE),
    frame("no version", b'{"id": 1, "method": "tools/list"}', REQUEST),
    frame("version null", message(jsonrpc=None, method="tools/list"), REQUEST),
    frame("version with a blank", message(jsonrpc="2.0 ", method="tools/list"), REQUEST),
    frame("method a number", message(method=1), REQUEST),
    frame("method an object", message(method={}), REQUEST),
    frame("method true", message(method=True), REQUEST),
    frame("method and result", message(method="tools/list", result={}), REQUEST),
    frame("params null", message(method="tools/list", params=None), REQUEST),
    frame("params a text", message(method="tools/list", params="x"), REQUEST),
    frame("params zero", message(method="tools/list", params=0), REQUEST),
    frame("params false", message(method="tools/list", params=False), REQUEST),
    frame("id true", with_id("true"), REQUEST),
    frame("id false", with_id("false"), REQUEST),
    frame("id an object", with_id("{}"), REQUEST),
    frame("id 1.0", with_id("1.0"), REQUEST),
    frame("id 1e2", with_id("1e2"), REQUEST),
    frame("id minus infinity", with_id("-1e400"), REQUEST, PARSE),
    frame("id half a character", with_id(r'"\ud800"'), REQUEST),
    frame("id too long", with_id('"' + "i" * 1_001 + '"'), REQUEST),
    frame("an answer without an id", b'{"jsonrpc": "2.0", "result": {}}', REQUEST),
    frame("an error to nobody", b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "x"}}', REQUEST),
    *(frame(f"params {depth} deep", with_params('{"a": ' + nested(depth) + "}"), REQUEST) for depth in (100, 300, 900)),
    frame("params 1,000 deep", with_params('{"a": ' + nested(1_000) + "}"), PARSE, REQUEST),
    frame("objects 500 deep", with_argument(nested(500, '{"a":', "}", "1")), REQUEST),
    frame(
        "deep, with a character in two halves", with_params(r'{"b": "\ud83d\ude00", "a": ' + nested(900) + "}"), REQUEST
    ),
]
UNKNOWN = [
    *(frame(f"method {name}", request(name), METHOD) for name in ("no/such", "tools", "tools/list/", "tools/List")),
    *(frame(f"method {name}", request(name), METHOD) for name in ("roots/list", "prompts/gett", "tasks/get", "..")),
    frame("sampling, which we would ask for", request("sampling/createMessage"), METHOD),
    frame("a subscription", request("resources/subscribe", uri="x"), METHOD),
    frame("a log level", request("logging/setLevel", level="debug"), METHOD),
    frame("a stream of 2026 of nothing", request("subscriptions/listen"), METHOD, modern=[PARAMS]),
    frame("a notification with an id", message(method="notifications/initialized"), METHOD),
    frame("an unknown notification with an id", message(method="notifications/nonsense"), METHOD),
    frame("a cancellation with an id", request("notifications/cancelled", requestId=1), METHOD),
    frame("discovery", request("server/discover"), METHOD, modern=["ok"]),
    frame("ping", request("ping"), "ok", modern=[METHOD]),
    frame("ping with params", request("ping", x=[1]), "ok", modern=[METHOD]),
]
WRONG_PARAMS = [
    frame(
        "initialize, a version from nowhere",
        request("initialize", **{**HELLO, "protocolVersion": "9999-99-99"}),
        "ok",
        modern=GONE,
    ),
    frame("initialize again", request("initialize", **HELLO), "ok", modern=GONE),
    frame(
        "initialize, version a number", request("initialize", **{**HELLO, "protocolVersion": 1}), PARAMS, modern=GONE
    ),
    frame(
        "initialize, capabilities a list", request("initialize", **{**HELLO, "capabilities": []}), PARAMS, modern=GONE
    ),
    frame("initialize, client a text", request("initialize", **{**HELLO, "clientInfo": "x"}), PARAMS, modern=GONE),
    frame("initialize with nothing", message(method="initialize"), PARAMS, modern=GONE),
    frame("_meta a text", request("tools/list", _meta="x"), PARAMS),
    frame("_meta a list", request("tools/list", _meta=[1]), PARAMS),
    frame("progress token an object", request("tools/list", _meta={**ENVELOPE, "progressToken": {}}), PARAMS, REQUEST),
    frame(
        "progress token a fraction", request("tools/list", _meta={**ENVELOPE, "progressToken": 1.5}), PARAMS, REQUEST
    ),
    frame(
        "a version of tomorrow",
        request("tools/list", _meta={**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "9999-01-01"}),
        UNSUPPORTED_VERSION,
        modern=[HEADER_MISMATCH, UNSUPPORTED_VERSION],
    ),
    frame(
        "a version of long ago",
        request("tools/list", _meta={**ENVELOPE, "io.modelcontextprotocol/protocolVersion": "1999-01-01"}),
        UNSUPPORTED_VERSION,
        modern=[HEADER_MISMATCH, UNSUPPORTED_VERSION],
    ),
    frame(
        "a version that is a number",
        request("tools/list", _meta={**ENVELOPE, "io.modelcontextprotocol/protocolVersion": 5}),
        REQUEST,
        "ok",
        modern=[HEADER_MISMATCH, PARAMS],
    ),
    frame(
        "capabilities a text",
        request("tools/list", _meta={**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": "x"}),
        REQUEST,
        "ok",
        modern=[PARAMS],
    ),
    frame("cursor a number", request("tools/list", cursor=5), PARAMS),
    *(
        frame(f"cursor {cursor[:9]!r}", request("resources/list", cursor=cursor), PARAMS)
        for cursor in ("nonsense", "\0", "-1", "9" * 5_000, "A" * 1_000_000)
    ),
    frame("cursor an object", request("resources/list", cursor={}), PARAMS),
    frame("no tool named", request("tools/call"), PARAMS),
    frame("tool a number", request("tools/call", name=7), PARAMS),
    frame("tool without a name", call(""), PARAMS),
    frame("tool with a NUL", call("search_anime\0", query="x"), PARAMS),
    frame("tool in capitals", call("SEARCH_ANIME", query="x"), PARAMS),
    frame("tool with a newline", call("x\nERROR all is lost"), PARAMS),
    frame("tool of a megabyte", call("x" * 1_000_000), PARAMS),
    frame("arguments a text", request("tools/call", name="search_anime", arguments="x"), PARAMS),
    frame("arguments a list", request("tools/call", name="search_anime", arguments=[1]), PARAMS),
    frame(
        "half a character",
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\udc00"}}',
        PARAMS,
    ),
    frame("no resource named", request("resources/read"), PARAMS),
    frame("resource a number", request("resources/read", uri=5), PARAMS),
    *(
        frame(f"resource {uri!r}", request("resources/read", uri=uri), PARAMS)
        for uri in (
            "",
            "anime://\0",
            "anime://../../etc/passwd",
            "anime://%2e%2e%2fetc%2fpasswd",
            "x\nERROR all is lost",
            "http://[::1]/",
        )
    ),
]
WRONG_ARGUMENTS = [
    frame("no arguments", request("tools/call", name="search_anime"), "error result"),
    frame("arguments null", request("tools/call", name="search_anime", arguments=None), "error result"),
    frame("limit beyond all", with_argument("1e400"), "error result", PARSE, modern=[PARAMS, PARSE]),
    frame("limit of 4,000 digits", with_argument("9" * 4_000), "error result"),
    frame("limit zero", with_argument("0"), "error result"),
    frame("limit less than zero", with_argument("-1"), "error result"),
    frame("limit a fraction", with_argument("1.5"), "error result"),
    frame("limit a list", with_argument("[]"), "error result"),
    frame("limit 90 deep", with_argument(nested(90)), "error result"),
    frame("an unknown argument", call("search_anime", query="a", unknown=1), "error result"),
    frame("an operator", call("search_anime", query="a", filters={"yearMin": {"$gt": ""}}), "error result"),
    frame("a prototype", call("search_anime", query="a", __proto__={"x": 1}), "error result"),
    frame("100,000 titles", call("recommend_similar", titles=["x"] * 100_000), "error result"),
    frame("a query with a NUL", call("search_anime", query="\0"), "ok"),
    frame("a query of 3 MB", call("search_anime", query="x y " * 750_000), "ok"),
]
UNUSUAL = [
    *(
        frame(f"id {text[:12]}", with_id(text), "ok")
        for text in (
            "-1",
            str(2**64),
            str(-(2**63)),
            "1" + "0" * 400,
            '""',
            r'"\u0000"',
            '"\u2028\u0085"',
            '"_GET_stream"',
            r'"\r\n\r\nevent: x\r\ndata: y"',
        )
    ),
    frame("blanks behind", PLAIN + b" \t \r", "ok"),
    frame("unknown keys beside", message(method="tools/list", params={}, extra={"a": [1]}), "ok"),
    frame(
        "a cursor where there are no pages", request("tools/list", cursor="nonsense"), PARAMS, modern=[PARAMS, "4xx"]
    ),
    frame(
        "a progress token that is long",
        request("tools/list", _meta={"progressToken": "x" * 100_000}),
        "ok",
        modern=["ok", PARAMS],
    ),
    frame("params 90 deep", with_params('{"a": ' + nested(90) + "}"), "ok"),
]
SILENT = [
    *(
        frame(f"cancelled {wrong!r:.20}", notification("notifications/cancelled", requestId=wrong), "no_response")
        for wrong in (999, "x", True, None, 1.5, 10**400)
    ),
    frame("cancelled, nothing", notification("notifications/cancelled"), "no_response"),
    frame(
        "cancelled, for a long reason",
        notification("notifications/cancelled", requestId=1, reason="x" * 1_000_000),
        "no_response",
    ),
    frame("progress of nothing", notification("notifications/progress", progressToken=1, progress=1), "no_response"),
    frame(
        "progress of the wrong kind",
        notification("notifications/progress", progressToken={}, progress="x"),
        "no_response",
    ),
    frame("initialized again", notification("notifications/initialized", x=1), "no_response"),
    frame("initialized, _meta a number", notification("notifications/initialized", _meta=5), "no_response"),
    frame("a request without an id", notification("tools/list"), "no_response"),
    frame(
        "a call without an id", notification("tools/call", name="search_anime", arguments={"query": "x"}), "no_response"
    ),
    frame("a notification without a name", notification(""), "no_response"),
    frame("a notification with a long name", notification("x" * 1_000_000), "no_response"),
    frame("an answer nobody asked for", message(id=77, result={}), "no_response"),
    frame("an error nobody asked for", message(id=77, error={"code": 1, "message": "x"}), "no_response"),
    *(frame(f"an answer that is {value!r:.9}", message(id=77, result=value), "no_response") for value in (5, None, [])),
    frame("an answer under the id of a text", message(id="77", result="x"), "no_response"),
    frame("an error that is a text", message(id=77, error="x"), "no_response"),
    frame("an error without a code", message(id=77, error={}), "no_response"),
    frame("an error with a code of text", message(id=77, error={"code": "x", "message": 1}), "no_response"),
]
FAMILIES = {
    "listed": [listed(case) for case in CASES],
    "unreadable": UNREADABLE,
    "no messages": NO_MESSAGES,
    "unknown": UNKNOWN,
    "wrong params": WRONG_PARAMS,
    "wrong arguments": WRONG_ARGUMENTS,
    "unusual": UNUSUAL,
    "silent": SILENT,
}
FRAMES = [one for family in FAMILIES.values() for one in family]


def in_era(raw: bytes, era: str) -> bytes:
    """Return a frame as it is said in an era: in 2026, a request that can be read tells its version."""
    if era == LEGACY:
        return raw
    try:
        found = json.loads(raw.decode(), object_pairs_hook=once_each)
        if "id" not in found or not isinstance(found["method"], str) or "_meta" in found.setdefault("params", {}):
            return raw
        return json.dumps({**found, "params": {**found["params"], "_meta": ENVELOPE}}, allow_nan=False).encode()
    except (ValueError, TypeError, KeyError, RecursionError):
        return raw


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def expected(one: Frame, transport: str, era: str) -> Verdicts:
    """Return what may come of a frame on this transport."""
    found = one.modern if one.modern is not None and era == MODERN else one.expect
    if transport == "stdio":
        if not one.raw.strip():
            return frozenset({"no_response"})  # between two lines there is nothing
        if len(one.raw) > LONGEST_FRAME:
            return frozenset({REQUEST})
        return found | {PARSE} if found & {"4xx", "close"} else found
    if transport == "http" and era == MODERN and not can_be_said_by_headers(one.raw):
        return found | {HEADER_MISMATCH}
    return found


def can_be_said_by_headers(raw: bytes) -> bool:
    """Tell whether the headers that 2026 wants beside a message can say its method and its name."""
    try:
        found = json.loads(raw)
        said = [found["method"], *(found["params"].get(key, "") for key in ("name", "uri"))]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return True
    return all(
        isinstance(text, str) and text.isascii() and text.isprintable() and text == text.strip() and len(text) < 20_000
        for text in said
    )


def id_of(raw: bytes) -> Any:
    try:
        return json.loads(raw).get("id")
    except (ValueError, AttributeError, RecursionError):
        return None


def test_the_list_of_hostile_frames_is_whole() -> None:
    assert len(CASES) == 67
    names = [one.name for one in FRAMES]
    assert len(set(names)) == len(names) > 200


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_frames_get_what_they_deserve_and_the_next_good_call_is_answered(
    channels: Any, family: str, kind: tuple[str, str]
) -> None:
    problems = []
    with channels.use(*kind) as channel:
        for one in FAMILIES[family]:
            raw, wanted = in_era(one.raw, kind[1]), expected(one, *kind)
            outcome = channel.put(raw, wants_answer="no_response" not in wanted)
            problems += [f"{one.name}: {problem}" for problem in problems_of(outcome, wanted, id_of(raw))]
            assert channel.ask("tools/list")["result"]["tools"], one.name
    assert problems == []


def problems_of(outcome: Any, wanted: Verdicts, own_id: Any) -> list[str]:
    """Return what is not as it should be about what came of a frame."""
    as_should_be = {
        f"came to {outcome.verdicts}, not {set(wanted)}": bool(outcome.verdicts & wanted),
        f"broke something: {outcome.verdicts}": not outcome.verdicts & NEVER,
        f"got a status of {outcome.status}": outcome.status is None or outcome.status < 500,
        "got the answer of another": all(answer["id"] in (None, own_id) for answer in outcome.messages),
    }
    return [problem for problem, is_so in as_should_be.items() if not is_so]


@pytest.mark.row("Z2")
@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_frames_of_a_stranger_are_not_even_looked_at(besieged: Any, channels: Any, family: str) -> None:
    with channels.use("sse", LEGACY) as channel:
        refused = {
            (one.name, path): refusal_of(besieged.request("POST", path, posted(one.raw), one.raw))
            for one in FAMILIES[family]
            for path in ("/mcp", channel.path)
        }
        assert channel.ask("tools/list")["result"]["tools"]
    assert refused == dict.fromkeys(refused, (401, "unauthenticated"))


def posted(body: bytes, **headers: str) -> dict[str, str]:
    told = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return {**told, **headers, "Content-Length": str(len(body))}


def refusal_of(reply: Any) -> tuple[int, str]:
    return reply.status, json.loads(reply.body)["error"]["code"]


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_frames_that_come_before_the_handshake_are_refused_too(besieged: Any, family: str) -> None:
    for one in FAMILIES[family]:
        with besieged.websocket() as socket:
            socket.send(one.raw)
            socket.send(request("ping"))
            texts = [socket.receive_text(), socket.receive_text() if "no_response" not in one.expect else ""]
            codes = {json.loads(text).get("error", {}).get("code", "ok") for text in texts if text}
            assert not codes & NEVER, one.name
            assert codes & {*one.expect, PARAMS, "ok"} or "close" in one.expect, one.name


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_frames_without_a_session_are_refused(besieged: Any, family: str) -> None:
    for one in FAMILIES[family]:
        reply = besieged.request("POST", "/mcp", posted(one.raw, **besieged.bearer()), one.raw)
        if b'"initialize"' in one.raw:
            assert [reply.status, len(reply.messages)] == [200, 1], one.name
        elif "an answer" in one.name or "an error" in one.name:
            assert reply.status in (202, 400), one.name  # nobody waits for it, with a session or without
        else:
            assert 400 <= reply.status < 500, one.name
            assert reply.messages[0]["error"]["code"] in {*one.expect, REQUEST}, one.name


AMBIGUOUS = ["x04", "an id twice", "a version twice", "a key twice, once escaped", "a name twice, within"]


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_what_can_be_understood_in_two_ways_is_refused_by_us_and_would_not_be_by_the_sdk(name: str) -> None:
    raw = next(one.raw for one in FRAMES if one.name == name)
    try:
        types.jsonrpc_message_adapter.validate_json(raw, by_name=False)
    except ValueError:
        assert name == "a version twice"  # the last one wins, and is wrong


@pytest.mark.parametrize("transport", ["websocket", "sse"])
def test_a_bad_frame_among_good_calls_ends_none_of_them(besieged: Any, transport: str) -> None:
    with closing(besieged.channel(transport)) as channel:
        for number in range(20):
            channel.send(json.dumps({**BASE, "id": f"call-{number}"}).encode())
            channel.send(UNREADABLE[number % 5].raw)
        answers = [channel.receive() for _ in range(40 if transport == "websocket" else 20)]
    good = {answer["id"] for answer in answers if "result" in answer}
    assert good == {f"call-{number}" for number in range(20)}


ENDING = {"no text": b"\xff\xfe", "too long": json.dumps({**BASE, "params": {"pad": "x" * 5_300_000}}).encode()}


@pytest.mark.row("Z1")
@pytest.mark.parametrize("name", ENDING)
def test_a_frame_that_ends_its_connection_ends_no_other_of_the_same_user(besieged: Any, name: str) -> None:
    with ExitStack() as stack:
        kinds = [kind for kind in KINDS if kind[0] != "stdio"]
        peers = [stack.enter_context(closing(besieged.channel(*kind))) for kind in kinds]
        culprit = stack.enter_context(closing(besieged.channel("websocket")))
        assert culprit.put(ENDING[name]).is_closed
        for peer in peers:
            assert peer.ask("tools/list")["result"]["tools"]


@pytest.mark.parametrize("form", [int, str])
def test_a_connection_whose_requests_are_all_cancelled_still_answers(besieged: Any, form: Callable[[int], Any]) -> None:
    """The SDK takes "7" for 7; and whatever it gives up must not be waited for."""
    with closing(besieged.channel("websocket")) as channel:
        for number in range(150):
            asked = json.loads(call("search_anime", query=f"{form} {number}"))
            channel.send(json.dumps({**asked, "id": number}).encode())
            channel.send(notification("notifications/cancelled", requestId=form(number)))
        channel.send(json.dumps({**BASE, "id": "at last"}).encode())
        while channel.receive()["id"] != "at last":
            pass


def test_a_thousand_requests_with_one_id_are_all_answered(besieged: Any) -> None:
    with closing(besieged.channel("websocket")) as channel:
        for _ in range(1_000):
            channel.send(PLAIN)
        assert [channel.receive()["id"] for _ in range(1_000)] == [1] * 1_000


@pytest.mark.row("T6")
@pytest.mark.row("Z1")
def test_after_rounds_of_everything_the_server_has_not_grown_answers_and_ends_in_time(besiege: Any) -> None:
    """The first round fills caches and pools; what the second and third add would go on for ever."""
    besieged = besiege()
    sizes = []
    for _ in range(3):
        for transport, era in [("http", LEGACY), ("sse", LEGACY), ("websocket", MODERN)]:
            with closing(besieged.channel(transport, era)) as channel:
                for one in FRAMES:
                    silent = "no_response" in expected(one, transport, era)
                    if channel.put(in_era(one.raw, era), wants_answer=not silent).is_closed:
                        channel.ask("tools/list")
        sizes.append(besieged.memory_mib())
    besieged.require_well()
    assert sizes[-1] - sizes[0] < MORE_MEMORY_MIB
    with ExitStack() as stack:
        for kind in KINDS[:6]:
            stack.enter_context(closing(besieged.channel(*kind)))
        half_a_request = stack.enter_context(besieged.wire())
        half_a_request.send(b"GET / HT")
        assert besieged.server.stop(signal.SIGTERM, timeout_s=120) == 0
    assert "Traceback" not in "".join(besieged.server.log)


def test_a_call_with_very_many_wrong_arguments_gets_a_short_answer(channels: Any) -> None:
    raw = call("search_anime", **{str(number): number for number in range(100_000)})
    with channels.use("websocket", LEGACY) as channel:
        outcome = channel.put(raw)
    assert "error result" in outcome.verdicts
    assert len(outcome.messages[0]["result"]["content"][0]["text"]) < 20_000


def test_what_a_client_says_does_not_become_a_line_of_the_log(besieged: Any, channels: Any) -> None:
    forged = "2026-11-15 00:00:00,000 ERROR all is lost"
    with channels.use("websocket", LEGACY) as channel:
        channel.put(call(f"x\n{forged}"))
        channel.put(request("resources/read", uri=f"x\r\n{forged}"))
        assert channel.ask("tools/list")["result"]["tools"]
    log = "".join(besieged.server.log).splitlines()
    assert not any(line.startswith(forged) for line in log)


def test_a_call_before_the_handshake_is_told_what_comes_first(besieged: Any) -> None:
    with besieged.websocket() as socket:
        socket.send(call("search_anime", query="x"))
        error = json.loads(socket.receive_text())["error"]
    assert (error["code"], error.get("data")) == (PARAMS, None)
    assert error["message"].startswith("the session has not begun: send 'initialize' first")


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (request("tools/call"), "'name' is missing"),
        (request("resources/read", uri=5), "'uri' must be a text"),
        (request("tools/call", name="search_anime", arguments="x"), "'arguments' must be an object"),
        (request("no/such"), "there is no method 'no/such' here"),
    ],
)
def test_a_refusal_says_which_parameter_is_wrong(channels: Any, raw: bytes, told: str) -> None:
    for kind in (("websocket", LEGACY), ("http", LEGACY)):
        with channels.use(*kind) as channel:
            message = channel.put(raw).messages[0]["error"]["message"]
        assert told in message
        assert "Input should" not in message


@pytest.mark.row("T6")
@pytest.mark.parametrize("query", ["", "?session_id=x", "?session_id=", "?session_id=" + "0" * 32])
def test_a_message_to_no_stream_is_refused_in_the_form_of_every_error(besieged: Any, query: str) -> None:
    reply = besieged.request("POST", f"/messages{query}", posted(PLAIN, **besieged.bearer()), PLAIN)
    assert reply.headers["content-type"] == "application/json"
    assert refusal_of(reply) == ((404, "not_found") if query.endswith("00") else (400, "invalid_input"))
