"""Clients that never finish a head or a body, and one that reads nothing: each is let go, and
nobody else notices.
"""

import select
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

pytestmark = [pytest.mark.row("T6"), pytest.mark.timeout(180)]

SLOW_HEADS = 200
MORE_MEMORY_MIB = 40
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: 1000\r\n\r\n"
LISTING = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'


def send_slowly(wires: list[Any], besieged: Any) -> Iterator[Any]:
    """Send a byte on each connection now and then, ask for something meanwhile, and yield each
    answer that ends one.
    """
    waiting = list(wires)
    for _ in range(120):
        if not waiting:
            return
        for wire in [wire for wire in waiting if wire.has_news]:
            waiting.remove(wire)
            yield wire.read_reply()
        for wire in waiting:
            wire.send(b"x")
        assert besieged.health()["status"] == "ok"
        select.select([wire.socket for wire in waiting], [], [], 1)
    raise AssertionError(f"{len(waiting)} connections are still open")


def begin_heads(besieged: Any, stack: ExitStack) -> list[Any]:
    wires = [stack.enter_context(besieged.wire()) for _ in range(SLOW_HEADS)]
    for wire in wires:
        wire.send(HEALTH[:-2] + b"X-")
    return wires


def begin_bodies(besieged: Any, stack: ExitStack) -> list[Any]:
    wires = [stack.enter_context(besieged.wire()) for _ in range(5)]
    token = (
        b"Authorization: "
        + besieged.bearer()["Authorization"].encode()
        + b"\r\nContent-Type: application/json\r\n"
    )
    for wire in wires:
        wire.send(POST % token + b"{")
    return wires


@pytest.mark.parametrize("begin", [begin_heads, begin_bodies], ids=["heads", "bodies"])
def test_requests_that_never_end_are_refused_and_others_are_answered_meanwhile(
    besieged: Any, begin: Callable[[Any, ExitStack], list[Any]]
) -> None:
    with ExitStack() as stack:
        replies = list(send_slowly(begin(besieged, stack), besieged))
    assert {reply.status for reply in replies} == {408}
    besieged.require_well()


def test_answers_that_nobody_reads_do_not_fill_the_memory(besieged: Any) -> None:
    before = besieged.memory_mib()
    with closing(besieged.channel("sse", receive_buffer=4096)) as channel:
        for _ in range(2_000):
            channel.send(LISTING)
        besieged.require_well()
        assert besieged.memory_mib() - before < MORE_MEMORY_MIB
    besieged.require_well()
