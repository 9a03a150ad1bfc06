"""Clients that take their time, all of them at once: 200 that never finish a head, and some of every other kind.

None is waited for longer than half a minute, and nobody else notices.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

import pytest

pytestmark = [pytest.mark.row("T6"), pytest.mark.timeout(90), pytest.mark.alone]

LONGEST_S = 30.0
EVERY_S = 3.0
MORE_MEMORY_MIB = 40
SOME_FILES = 2
"""How many connections the server itself may have opened meanwhile."""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "slow", "version": "1"}}
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /mcp HTTP/1.1\r\nHost: %s\r\n%sContent-Length: 1000\r\n\r\n"
OPENING = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}).encode()
READY = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}'
ASKED = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'


@dataclass(kw_only=True)
class Slow:
    """A client that says a little now and then, or nothing, and when it was let go."""

    kind: str
    wire: Any
    now_and_then: bytes = b""
    lasted_s: float | None = None
    status: int | None = None


@dataclass(kw_only=True)
class Siege:
    """What came of it all."""

    slow: list[Slow] = field(default_factory=list)
    calls_before_s: list[float] = field(default_factory=list)
    calls_during_s: list[float] = field(default_factory=list)
    streams: list[int] = field(default_factory=list)
    """How many were open before, at the height of it, and afterwards."""
    files: list[int] = field(default_factory=list)

    def of(self, kind: str) -> list[Slow]:
        """Return the clients of a kind."""
        return [one for one in self.slow if one.kind == kind]


def slow_head(besieged: Any) -> Slow:
    wire = besieged.wire()
    wire.send(HEALTH[:-2] + b"X-")
    return Slow(kind="head", wire=wire, now_and_then=b"a")


def silent(besieged: Any) -> Slow:
    return Slow(kind="silent", wire=besieged.wire())


def empty_lines(besieged: Any) -> Slow:
    wire = besieged.wire()
    wire.send(HEALTH)
    assert wire.read_reply().status == 200
    wire.send(b"\r\n")
    return Slow(kind="empty lines", wire=wire, now_and_then=b"\r\n")


def slow_body(besieged: Any) -> Slow:
    wire = besieged.wire()
    wire.send(POST % (b"localhost", b"Authorization: %s\r\n" % besieged.bearer()["Authorization"].encode()) + b"x")
    return Slow(kind="body", wire=wire, now_and_then=b"x")


def body_of_a_stranger(besieged: Any) -> Slow:
    wire = besieged.wire()
    wire.send(POST % (b"localhost", b"") + b"x")
    assert wire.read_reply().status == 401
    wire.send(b"x")
    return Slow(kind="body of a stranger", wire=wire, now_and_then=b"x")


def refused_body(besieged: Any) -> Slow:
    wire = besieged.wire()
    wire.send(POST % (b"evil.com", b"") + b"x")
    assert wire.read_reply().status == 421
    wire.send(b"x")
    return Slow(kind="refused body", wire=wire, now_and_then=b"x")


def unread_answers(besieged: Any) -> Slow:
    wire = besieged.wire(receive_buffer=4096)
    wire.send(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500)
    return Slow(kind="unread answers", wire=wire)


def unread_websocket(besieged: Any) -> Slow:
    client = besieged.websocket(receive_buffer=4096)
    for message in (OPENING, READY, *[ASKED] * 1_500):
        client.send(message)
    return Slow(kind="unread websocket", wire=client.wire)


def unread_events(besieged: Any) -> Slow:
    channel = besieged.channel("sse", receive_buffer=4096)
    for _ in range(400):
        channel.send(ASKED)
    channel.posts.close()
    return Slow(kind="unread events", wire=channel.events)


UNREAD = {"unread answers", "unread websocket", "unread events"}
KINDS: list[tuple[int, Callable[[Any], Slow]]] = [
    (200, slow_head),
    (10, silent),
    (10, empty_lines),
    (10, slow_body),
    (10, body_of_a_stranger),
    (10, refused_body),
    (2, unread_answers),
    (2, unread_websocket),
    (1, unread_events),
]


@pytest.fixture(scope="module")
def alone(besiege: Any) -> Any:
    """A server that nobody else has connections to."""
    return besiege()


@pytest.fixture(scope="module")
def siege(alone: Any) -> Iterator[Siege]:
    """Let them all come, and wait until they are gone, or have been there for too long."""
    found = Siege()
    with ExitStack() as stack:
        well = stack.enter_context(closing(alone.channel("websocket")))
        found.calls_before_s = [alone.timed(lambda: well.ask("tools/list"))[1] for _ in range(100)]
        note_open(found, alone)
        for count, make in KINDS:
            for _ in range(count):
                found.slow.append(make(alone))
                stack.enter_context(found.slow[-1].wire)
        note_open(found, alone)
        began = last_word = time.monotonic()
        while time.monotonic() - began < LONGEST_S and has_company(found, alone):
            found.calls_during_s += [alone.timed(lambda: well.ask("tools/list"))[1] for _ in range(3)]
            if time.monotonic() - last_word > EVERY_S:
                last_word = time.monotonic()
                for one in found.slow:
                    one.wire.send(one.now_and_then)
            note_gone(found, began)
            time.sleep(0.1)
        note_open(found, alone)
        note_gone(found, began)
        yield found


def test_answers_that_nobody_reads_do_not_fill_the_memory(besieged: Any) -> None:
    before = besieged.memory_mib()
    with closing(besieged.channel("sse", receive_buffer=4096)) as channel:
        for _ in range(2_000):
            channel.send(ASKED)
        time.sleep(1)
        assert besieged.memory_mib() - before < MORE_MEMORY_MIB
    besieged.require_well()


def has_company(siege: Siege, alone: Any) -> bool:
    return bool(alone.open_connections() > siege.files[0] or alone.health()["streams"] > siege.streams[0])


def note_open(siege: Siege, besieged: Any) -> None:
    siege.streams.append(besieged.health()["streams"])
    siege.files.append(besieged.open_connections())


def note_gone(siege: Siege, began: float) -> None:
    """Note who has been let go; of those who read nothing, the server's open files tell."""
    for one in siege.slow:
        if one.lasted_s is None and one.kind not in UNREAD and one.wire.has_news:
            reply = one.wire.read_reply()
            one.status = reply.status if reply else None
            if one.wire.is_ended():
                one.lasted_s = time.monotonic() - began


@pytest.mark.parametrize("kind", ["head", "silent", "empty lines", "body", "body of a stranger", "refused body"])
def test_whoever_does_not_come_to_the_end_is_let_go_in_time(siege: Siege, kind: str) -> None:
    lasted = [one.lasted_s for one in siege.of(kind)]
    assert lasted
    assert all(seconds is not None and seconds < LONGEST_S for seconds in lasted)
    assert {one.status for one in siege.of(kind)} == {408}


@pytest.mark.row("Z1")
@pytest.mark.parametrize("kind", sorted(UNREAD))
def test_whoever_reads_nothing_is_let_go_too(siege: Siege, kind: str) -> None:
    assert siege.of(kind)
    assert all(one.wire.is_ended(5.0) for one in siege.of(kind))


def test_nothing_of_them_is_kept(siege: Siege) -> None:
    before, height, after = siege.files
    assert height - before > 200  # they were all there
    assert after - before <= SOME_FILES
    assert [streams - siege.streams[0] for streams in siege.streams] == [0, 3, 0]


def test_nobody_else_noticed(siege: Siege) -> None:
    assert len(siege.calls_during_s) > 50
    assert statistics.median(siege.calls_during_s) < 3 * statistics.median(siege.calls_before_s) + 0.01
    assert statistics.quantiles(siege.calls_during_s, n=20)[-1] < 0.5


def test_the_server_is_as_it_was(siege: Siege, alone: Any) -> None:
    alone.require_well()
    assert alone.server.stop(timeout_s=10) == 0
    assert "Traceback" not in "".join(alone.server.log)
