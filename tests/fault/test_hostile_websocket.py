"""WebSockets of hostile clients: who is refused before there is one, and what ends one, with which
code.
"""

import json
import socket
import struct
import zlib
from contextlib import ExitStack, closing
from typing import Any

import pytest

pytestmark = pytest.mark.row("Z1")

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GOING, PROTOCOL_ERROR, NO_TEXT, NO_UTF8, POLICY, TOO_BIG, LATER = (
    1001,
    1002,
    1003,
    1007,
    1008,
    1009,
    1013,
)
MOST_BYTES = 4 * 1024 * 1024
MORE_MEMORY_MIB = 40
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "unread", "version": "1"},
}
PINGED = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


def refusal(besieged: Any, headers: dict[str, str], **options: Any) -> tuple[int | None, str]:
    """Ask for a WebSocket, and return the status and the code of the refusal; afterwards the
    connection is closed.
    """
    with besieged.websocket(headers, **options) as refused:
        body = refused.reply.body
        assert refused.wire.is_ended()
        return refused.status, json.loads(body)["error"]["code"] if body.startswith(b"{") else ""


@pytest.mark.row("Z2")
def test_strangers_are_refused_before_there_is_a_websocket(besieged: Any) -> None:
    token = besieged.tokens["alice"]
    stranger = (401, "unauthenticated")
    assert refusal(besieged, {}) == stranger
    assert refusal(besieged, {}, path=f"/v1/mcp?access_token={token}") == stranger
    assert refusal(besieged, {"Sec-WebSocket-Protocol": f"mcp, {token}"}) == stranger
    assert refusal(besieged, {"Cookie": "stackroom_session=x"}) == stranger
    assert refusal(besieged, {**besieged.bearer(), "authorization": "Bearer x"}) == stranger
    for wrong in (
        "",
        "Bearer x",
        f"Bearer {token}x",
        f"Basic {token}",
        "Bearer \xff",
        "Bearer " + "x" * 7_000,
    ):
        assert refusal(besieged, {"Authorization": wrong}) == stranger
    with besieged.websocket() as known:
        assert known.status == 101


@pytest.mark.parametrize(
    "origin", ["http://evil.com", "null", "", "http://localhost:1", "https://localhost.evil.com"]
)
def test_a_page_of_somebody_else_is_refused_before_there_is_a_websocket(
    besieged: Any, origin: str
) -> None:
    assert refusal(besieged, {**besieged.bearer(), "Origin": origin}) == (403, "foreign_origin")
    with besieged.websocket({**besieged.bearer(), "Origin": "http://localhost"}) as own:
        assert own.status == 101


def test_a_websocket_for_somebody_else_is_refused_before_there_is_one(besieged: Any) -> None:
    for host in ("evil.com", "127.0.0.1.evil.com", "localhost:99999", ""):
        assert refusal(besieged, {**besieged.bearer(), "Host": host}) == (421, "misdirected")
    assert refusal(besieged, {**besieged.bearer(), "Host": "localhost", "host": "evil.com"}) == (
        400,
        "no_host",
    )
    assert refusal(besieged, besieged.bearer(), path="http://evil.com/v1/mcp")[0] in (403, 421)


@pytest.mark.parametrize(
    "path", ["/", "/mcp", "/sse", "/health", "/v1/mcp/", "/v1/mcp%00", "//v1/mcp", "/nothing"]
)
def test_there_is_a_websocket_at_one_path_only(besieged: Any, path: str) -> None:
    assert refusal(besieged, besieged.bearer(), path=path) == (404, "not_found")


NO_OPENINGS: dict[str, tuple[dict[str, str], int]] = {
    "no key": ({"Sec-WebSocket-Key": ""}, 400),
    "a key that is none": ({"Sec-WebSocket-Key": "x"}, 400),
    "a long key": ({"Sec-WebSocket-Key": "x" * 7_000}, 400),
    "an old version": ({"Sec-WebSocket-Version": "8"}, 400),
    "two versions": ({"Sec-WebSocket-Version": "13, 8"}, 400),
    "two origins": ({"Origin": "http://localhost", "origin": "http://evil.com"}, 400),
    "a protocol that is none": ({"Sec-WebSocket-Protocol": ",,,"}, 400),
    "a packed body": ({"Content-Encoding": "gzip"}, 415),
    "a header that is too long": ({"X": "x" * 9_000}, 431),
    "too many headers": ({f"X{number}": "y" for number in range(200)}, 431),
    "far too many headers": ({f"X{number}": "y" for number in range(3_000)}, 431),
}


@pytest.mark.parametrize("name", NO_OPENINGS)
def test_an_opening_that_is_none_is_refused_at_once(besieged: Any, name: str) -> None:
    headers, status = NO_OPENINGS[name]
    assert refusal(besieged, {**besieged.bearer(), **headers})[0] == status


def framed(payload: bytes, opcode: int = TEXT, **flags: Any) -> tuple[bytes, int, dict[str, Any]]:
    return payload, opcode, flags


ENDINGS: dict[str, tuple[list[tuple[bytes, int, dict[str, Any]]], int]] = {
    "binary": ([framed(b"{}", BINARY)], NO_TEXT),
    "binary in parts": ([framed(b"{", BINARY, fin=False), framed(b"}", CONT)], NO_TEXT),
    "no UTF-8": ([framed(b"\xff")], NO_UTF8),
    "no UTF-8 in a text": ([framed(b'{"a": "\xc3("}')], NO_UTF8),
    "half a character at the end": ([framed("é".encode()[:1])], NO_UTF8),
    "a surrogate": ([framed(b"\xed\xa0\x80")], NO_UTF8),
    "one byte too long": ([framed(b"x" * (MOST_BYTES + 1))], TOO_BIG),
    "far too long": ([framed(b"x" * 5_300_000)], TOO_BIG),
    "too long in parts": (
        [framed(b"x" * 1_000_000, TEXT if n == 0 else CONT, fin=False) for n in range(5)],
        TOO_BIG,
    ),
    "reserved bit 1": ([framed(b"{}", reserved=4)], PROTOCOL_ERROR),
    "reserved bit 2": ([framed(b"{}", reserved=2)], PROTOCOL_ERROR),
    "reserved bit 3": ([framed(b"{}", reserved=1)], PROTOCOL_ERROR),
    "an opcode that is none": ([framed(b"{}", 3)], PROTOCOL_ERROR),
    "a control code that is none": ([framed(b"", 11)], PROTOCOL_ERROR),
    "the rest of nothing": ([framed(b"{}", CONT)], PROTOCOL_ERROR),
    "a text in a text": ([framed(b"{", fin=False), framed(b"}")], PROTOCOL_ERROR),
    "a ping in parts": ([framed(b"x", PING, fin=False)], PROTOCOL_ERROR),
    "a long ping": ([framed(b"x" * 126, PING)], PROTOCOL_ERROR),
    "a close of one byte": ([framed(b"x", CLOSE)], PROTOCOL_ERROR),
    "a close without a sense": ([framed(struct.pack("!H", 999), CLOSE)], PROTOCOL_ERROR),
    "a close that must not be said": ([framed(struct.pack("!H", 1005), CLOSE)], PROTOCOL_ERROR),
    "a close for no reason": ([framed(struct.pack("!H", 1000) + b"\xff", CLOSE)], NO_UTF8),
    "a close": ([framed(struct.pack("!H", 1000), CLOSE)], 1000),
    "a close within a message": (
        [framed(b"{", fin=False), framed(struct.pack("!H", 1000), CLOSE)],
        PROTOCOL_ERROR,
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_frame_that_must_not_be_ends_the_websocket_with_its_code(
    besieged: Any, name: str
) -> None:
    frames, code = ENDINGS[name]
    with besieged.websocket() as culprit, besieged.websocket() as peer:
        culprit.send(PINGED)
        assert culprit.receive_text()
        for payload, opcode, flags in frames:
            culprit.send(payload, opcode, **flags)
        assert culprit.next_close() == code
        peer.send(PINGED)
        assert json.loads(peer.receive_text())["result"] == {}


RAW_ENDINGS = {
    "a length of half of everything": (b"\x81\xff" + struct.pack("!Q", 2**62) + bytes(4), TOO_BIG),
    "a length below zero": (b"\x81\xff" + struct.pack("!Q", 2**63) + bytes(4), TOO_BIG),
    "no mask": (b"\x81\x02{}", PROTOCOL_ERROR),
    "HTTP again": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", PROTOCOL_ERROR),
}


@pytest.mark.parametrize("name", RAW_ENDINGS)
def test_bytes_that_are_no_frame_end_the_websocket_with_their_code(
    besieged: Any, name: str
) -> None:
    data, code = RAW_ENDINGS[name]
    with besieged.websocket() as culprit:
        culprit.wire.send(data)
        assert culprit.next_close() == code
        assert culprit.wire.is_ended()


def test_the_longest_message_that_is_allowed_is_read(besieged: Any) -> None:
    with besieged.websocket() as client:
        client.send(PINGED + b" " * (MOST_BYTES - len(PINGED)))
        assert json.loads(client.receive_text())["result"] == {}


OFFERS = [
    "permessage-deflate",
    "permessage-deflate; client_max_window_bits",
    "x-webkit-deflate-frame, " * 100 + "x",
]


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer[:30])
def test_nothing_is_packed_and_a_bomb_is_not_unpacked(besieged: Any, offer: str) -> None:
    """Three megabytes that would become three gigabytes; the first bit says that they are
    packed.
    """
    bomb = zlib.compress(bytes(16 * 1024 * 1024), wbits=-15) * 190
    before = besieged.memory_mib()
    with besieged.websocket({**besieged.bearer(), "Sec-WebSocket-Extensions": offer}) as client:
        assert client.status == 101
        assert "sec-websocket-extensions" not in client.reply.headers
        client.send(bomb, reserved=4)
        assert client.next_close() == PROTOCOL_ERROR
    assert besieged.memory_mib() - before < MORE_MEMORY_MIB
    besieged.require_well()


@pytest.mark.parametrize("other", ["http", "sse", "websocket"])
def test_who_reads_nothing_on_one_connection_is_answered_on_another(
    besieged: Any, other: str
) -> None:
    asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    with (
        besieged.websocket(receive_buffer=4096) as unread,
        closing(besieged.channel(other)) as channel,
    ):
        unread.send(
            json.dumps(
                {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
            ).encode()
        )
        unread.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        for _ in range(3_000):
            unread.send(asked)
        for _ in range(200):  # soon its answers fill what there is between us
            assert channel.ask("tools/list")["result"]["tools"]


@pytest.mark.parametrize("way", ["leaves", "leaves at once", "says nothing more"])
def test_a_client_that_is_gone_while_it_is_answered_leaves_nothing_behind(
    besieged: Any, way: str
) -> None:
    before = besieged.health()["streams"]
    asked = {"name": "search_anime", "arguments": {"query": f"robots {way}"}}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}).encode()
    with ExitStack() as stack:
        clients = [stack.enter_context(besieged.websocket()) for _ in range(10)]
        for client in clients:
            for _ in range(20):
                client.send(call)
            if way == "leaves at once":
                client.wire.socket.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
            if way == "says nothing more":
                client.wire.socket.shutdown(socket.SHUT_WR)
                assert client.wire.is_ended()
    assert any(besieged.health()["streams"] <= before for _ in range(500))
    besieged.require_well()
