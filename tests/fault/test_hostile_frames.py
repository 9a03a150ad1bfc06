"""Every hostile JSON-RPC frame there is a list of, and more of the kind: on every transport, in
both eras of MCP.

Each gets the refusal that is right for it, at once, and the next good call on the same connection
is answered.
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

from support.wire import ENVELOPE, LEGACY, MODERN, POSTED

pytestmark = pytest.mark.row("T8")

KINDS = [
    (transport, era)
    for transport in ("http", "sse", "websocket", "stdio")
    for era in (LEGACY, MODERN)
]
BASE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
FOLDER = Path(__file__).parent
LISTED: list[dict[str, Any]] = json.loads(
    (FOLDER / "jsonrpc_frames.json").read_text(encoding="utf-8")
)
OURS: dict[str, list[dict[str, Any]]] = json.loads(
    (FOLDER / "our_frames.json").read_text(encoding="utf-8")
)
"""More of the kind, by family; `modern` is what may come of a frame in 2026, where that is
something else.
"""

LONGEST_FRAME = 4 * 1024 * 1024
MORE_MEMORY_MIB = 40
PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
NEVER = {-32603, 0}
"""What would say that something broke within."""

Verdicts = frozenset[int | str]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame, what may come of it, and what may come of it in 2026 where that is something
    else.
    """

    name: str
    raw: bytes
    expect: Verdicts
    modern: Verdicts | None = None


def raw_of(case: dict[str, Any]) -> bytes:
    """Return the bytes of a case; long ones are written as the expression that makes them."""
    if "raw_b64" in case:
        return base64.b64decode(case["raw_b64"])
    builtins = {"dict": dict, "range": range, "str": str}
    text: str = (
        eval(case["gen"], {"__builtins__": builtins, "json": json, "B": BASE})
        if "gen" in case
        else case["raw"]
    )
    return text.encode()


OTHERWISE: dict[str, Verdicts] = {"g05": frozenset({REQUEST})}
"""An id of a megabyte may be echoed or refused, says its note: it is refused."""
IN_2026: dict[str, list[int | str]] = {"s02": [METHOD, UNSUPPORTED_VERSION]}
"""There is no `initialize` any more."""


def frame_of(case: dict[str, Any]) -> Frame:
    name = case["id"]
    expect = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
    modern = case.get("modern", IN_2026.get(name))
    return Frame(
        name=name,
        raw=raw_of(case),
        expect=OTHERWISE.get(name, frozenset(expect)),
        modern=None if modern is None else frozenset(modern),
    )


def request(method: str, /, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def call(tool: str, /, **arguments: Any) -> bytes:
    return request("tools/call", name=tool, arguments=arguments)


FAMILIES = {
    name: [frame_of(case) for case in cases] for name, cases in {"listed": LISTED, **OURS}.items()
}
FRAMES = [one for family in FAMILIES.values() for one in family]


def in_era(raw: bytes, era: str) -> bytes:
    """Return a frame as it is said in an era: in 2026, a request that can be read tells its
    version.
    """
    if era == LEGACY:
        return raw
    try:
        found = json.loads(raw.decode(), object_pairs_hook=once_each)
        if (
            "id" not in found
            or not isinstance(found["method"], str)
            or "_meta" in found.setdefault("params", {})
        ):
            return raw
        return json.dumps(
            {**found, "params": {**found["params"], "_meta": ENVELOPE}}, allow_nan=False
        ).encode()
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
        isinstance(text, str)
        and text.isascii()
        and text.isprintable()
        and text == text.strip()
        and len(text) < 20_000
        for text in said
    )


def id_of(raw: bytes) -> Any:
    try:
        return json.loads(raw).get("id")
    except (ValueError, AttributeError, RecursionError):
        return None


def test_the_list_of_hostile_frames_is_whole() -> None:
    assert len(LISTED) == 67
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
            problems += [
                f"{one.name}: {problem}" for problem in problems_of(outcome, wanted, id_of(raw))
            ]
            assert channel.ask("tools/list")["result"]["tools"], one.name
    assert problems == []


def problems_of(outcome: Any, wanted: Verdicts, own_id: Any) -> list[str]:
    """Return what is not as it should be about what came of a frame."""
    as_should_be = {
        f"came to {outcome.verdicts}, not {set(wanted)}": bool(outcome.verdicts & wanted),
        f"broke something: {outcome.verdicts}": not outcome.verdicts & NEVER,
        f"got a status of {outcome.status}": outcome.status is None or outcome.status < 500,
        "got the answer of another": all(
            answer["id"] in (None, own_id) for answer in outcome.messages
        ),
    }
    return [problem for problem, is_so in as_should_be.items() if not is_so]


@pytest.mark.row("Z2")
@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_frames_of_a_stranger_are_not_even_looked_at(
    besieged: Any, channels: Any, family: str
) -> None:
    with channels.use("sse", LEGACY) as channel:
        refused = {
            (one.name, path): refusal_of(besieged.request("POST", path, posted(one.raw), one.raw))
            for one in FAMILIES[family]
            for path in ("/mcp", channel.path)
        }
        assert channel.ask("tools/list")["result"]["tools"]
    assert refused == dict.fromkeys(refused, (401, "unauthenticated"))


def posted(body: bytes, **headers: str) -> dict[str, str]:
    return {**POSTED, **headers, "Content-Length": str(len(body))}


def refusal_of(reply: Any) -> tuple[int, str]:
    return reply.status, json.loads(reply.body)["error"]["code"]


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_frames_without_a_session_are_refused(besieged: Any, family: str) -> None:
    for one in FAMILIES[family]:
        reply = besieged.request("POST", "/mcp", posted(one.raw, **besieged.bearer()), one.raw)
        if b'"initialize"' in one.raw:
            assert [reply.status, len(reply.messages)] == [200, 1], one.name
        elif "an answer" in one.name or "an error" in one.name:
            # nobody waits for it, with a session or without
            assert reply.status in (202, 400), one.name
        else:
            assert 400 <= reply.status < 500, one.name
            assert reply.messages[0]["error"]["code"] in {*one.expect, REQUEST}, one.name


ENDING = {
    "no text": b"\xff\xfe",
    "too long": json.dumps({**BASE, "params": {"pad": "x" * 5_300_000}}).encode(),
}


@pytest.mark.row("Z1")
@pytest.mark.parametrize("name", ENDING)
def test_a_frame_that_ends_its_connection_ends_no_other_of_the_same_user(
    besieged: Any, name: str
) -> None:
    with ExitStack() as stack:
        kinds = [kind for kind in KINDS if kind[0] != "stdio"]
        peers = [stack.enter_context(closing(besieged.channel(*kind))) for kind in kinds]
        culprit = stack.enter_context(closing(besieged.channel("websocket")))
        assert culprit.put(ENDING[name]).is_closed
        for peer in peers:
            assert peer.ask("tools/list")["result"]["tools"]


@pytest.mark.parametrize("form", [int, str])
def test_a_connection_whose_requests_are_all_cancelled_still_answers(
    besieged: Any, form: Callable[[int], Any]
) -> None:
    """The SDK takes "7" for 7; and whatever it gives up must not be waited for."""
    with closing(besieged.channel("websocket")) as channel:
        for number in range(150):
            asked = json.loads(call("search_anime", query=f"{form} {number}"))
            channel.send(json.dumps({**asked, "id": number}).encode())
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": form(number)}}
            channel.send(json.dumps({"jsonrpc": "2.0", **cancelled}).encode())
        channel.send(json.dumps({**BASE, "id": "at last"}).encode())
        while channel.receive()["id"] != "at last":
            pass


@pytest.mark.row("T6")
@pytest.mark.row("Z1")
def test_after_rounds_of_everything_the_server_has_not_grown_answers_and_ends_in_time(
    besiege: Any,
) -> None:
    """The first round fills caches and pools; what the second and third add would go on for
    ever.
    """
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
        (
            request("tools/call", name="search_anime", arguments="x"),
            "'arguments' must be an object",
        ),
        (request("no/such"), "there is no method 'no/such' here"),
    ],
)
def test_a_refusal_says_which_parameter_is_wrong(channels: Any, raw: bytes, told: str) -> None:
    for kind in (("websocket", LEGACY), ("http", LEGACY)):
        with channels.use(*kind) as channel:
            message = channel.put(raw).messages[0]["error"]["message"]
        assert told in message
        assert "Input should" not in message
