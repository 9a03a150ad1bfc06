"""SIGTERM: calls that were begun are answered, every stream is told, and the process ends well and
soon.
"""

import json
import signal
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from stackroom.model.principal import Action, Outcome
from support.channels import EventStream, open_channel
from support.control import audit_rows
from support.processes import PATIENCE_S, wait_until
from support.wire import ENVELOPE, MODERN, POSTED, Wire, request_bytes

pytestmark = [pytest.mark.row("Z1"), pytest.mark.row("T6")]

WAIT_S = 600.0
MODERN_HEADERS = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "wait"}


def waiting(text: str, **more: Any) -> bytes:
    """Return a call that takes a while."""
    params = {"name": "wait", "arguments": {"seconds": WAIT_S, "text": text}, **more}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    ).encode()


def answer_in(message: dict[str, Any]) -> str:
    return str(message["result"]["structuredContent"]["done"])


class Crowd:
    """Many open streams of one user, and slow calls on some of them, which nobody reads until the
    end.
    """

    def __init__(self, stack: ExitStack, hosted: Any, secret: str) -> None:
        self._stack = stack
        self._port = hosted.server.port
        self._secret = secret
        self._streams: list[tuple[str, Any]] = []
        self._posted: list[Wire] = []

    def open(self, transport: str, slow: str = "") -> None:
        """Open a stream; `slow` is the text of a call on it."""
        channel = self._stack.enter_context(
            closing(open_channel(transport, self._port, self._secret))
        )
        if transport == "http":
            headers = {**channel.headers, "Accept": "text/event-stream"}
            stream = EventStream(self._port, request_bytes("GET", "/mcp", headers))
            self._stack.enter_context(stream.wire)
            self._streams.append((transport, stream))
            if slow:
                self._posted.append(self._send("POST", "/mcp", channel.headers, waiting(slow)))
            return
        self._streams.append((transport, channel))
        if slow:
            assert channel.send(waiting(slow)) is None

    def post(self, path: str, body: bytes, **headers: str) -> None:
        """Send a call that stands for itself."""
        known = {"Authorization": f"Bearer {self._secret}", **POSTED, **headers}
        self._posted.append(self._send("POST", path, known, body))

    def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Wire:
        wire = self._stack.enter_context(Wire(self._port))
        wire.send(request_bytes(method, path, headers, body))
        return wire

    def read(self) -> tuple[list[str], list[str]]:
        """Return the answers to the slow calls, and how each stream ended."""
        answers: list[str] = []
        ends: list[str] = []
        for wire in self._posted:
            reply = wire.read_reply()
            found = [answer_in(message) for message in reply.messages] if reply else []
            answers += found or [str(json.loads(reply.body)["done"]) if reply else "never"]
        for transport, stream in self._streams:
            if transport == "websocket":
                texts = list(iter(stream.socket.receive_text, None))
                ends.append(f"websocket {stream.socket.close_code}")
            else:
                events = stream if transport == "http" else stream.events
                texts = list(iter(events.next_event, None))
                ends.append(f"{transport} {'ended' if events.is_whole else 'cut off'}")
            answers += [answer_in(json.loads(text)) for text in texts]
        return answers, ends


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a busy server ended."""

    code: int
    answers: list[str]
    """What became of the slow calls."""
    ends: list[str]
    """How each stream ended."""
    seen: list[tuple[int, str]]
    """What readiness said after the signal."""
    log: list[str]
    rows: list[Any]
    """The audit's."""
    chain_problem: str | None


def end_while_busy(hosted: Any, secret: str, release: Path) -> dict[str, Any]:
    """Open a hundred streams, begin ten slow calls, end the server, and let the calls end; return
    how it went.
    """
    with ExitStack() as stack:
        crowd = Crowd(stack, hosted, secret)
        known = {"Authorization": f"Bearer {secret}"}
        watcher = stack.enter_context(
            httpx.Client(base_url=hosted.url, headers=known, timeout=PATIENCE_S)
        )
        for transport, count in (("websocket", 38), ("sse", 28), ("http", 28)):
            for _ in range(count):
                crowd.open(transport)
        for number in range(2):
            for transport in ("websocket", "sse", "http"):
                crowd.open(transport, f"{transport} {number}")
            crowd.post("/mcp", waiting(f"modern {number}", _meta=ENVELOPE), **MODERN_HEADERS)
            crowd.post(
                "/v1/tools/wait", json.dumps({"seconds": WAIT_S, "text": f"rest {number}"}).encode()
            )

        def has_begun() -> bool:
            health = watcher.get("/health").json()
            return bool(health["calls_in_flight"] == 10 and health["streams"] == 100)

        wait_until(has_begun)
        hosted.server.process.send_signal(signal.SIGTERM)
        seen: list[tuple[int, str]] = []

        def is_not_ready() -> bool:
            reply = watcher.get("/health/ready")
            seen.append((reply.status_code, reply.json()["status"]))
            return reply.status_code != 200

        wait_until(is_not_ready)
        release.touch()
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{hosted.url}/health/live")
        answers, ends = crowd.read()
    return {
        "code": hosted.server.process.wait(PATIENCE_S),
        "answers": answers,
        "ends": ends,
        "seen": seen,
    }


@pytest.fixture(scope="module")
def ended(start_fixture_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """A server that was ended while it had a hundred streams and ten calls."""
    home = tmp_path_factory.mktemp("busy")
    hosted = start_fixture_server(home, STACKROOM_SHUTDOWN_S="100")
    user = hosted.accounts.user(*Action)
    found = end_while_busy(hosted, hosted.accounts.token(user), home / "release")
    hosted.server.stop()
    audit = hosted.accounts.control.audit
    return Ended(
        **found,
        log=hosted.server.log,
        rows=audit_rows(audit, principal=user),
        chain_problem=audit.verify().first_problem,
    )


def test_calls_that_were_begun_are_answered_streams_are_told_and_the_server_ends_well(
    ended: Ended,
) -> None:
    kinds = ("websocket", "modern", "rest", "sse", "http")
    assert Counter(ended.answers) == Counter(
        f"waited for {kind} {n}" for kind in kinds for n in (0, 1)
    )
    assert Counter(ended.ends) == {"websocket 1001": 40, "sse ended": 30, "http ended": 30}
    assert (ended.seen[-1], ended.code) == ((503, "ending"), 0)
    assert not [line for line in ended.log if "ERROR" in line or "Traceback" in line]


@pytest.mark.row("Z13")
def test_what_was_answered_at_the_end_is_in_the_audit(ended: Ended) -> None:
    answered = {
        answer.removeprefix("waited for ")
        for answer in ended.answers
        if answer.startswith("waited for ")
    }
    assert answered <= {row.parameters["text"] for row in ended.rows if row.outcome is Outcome.OK}
    assert len(ended.rows) == len({row.parameters["text"] for row in ended.rows}) <= 10
    assert ended.chain_problem is None


def test_a_server_ends_in_time_though_a_call_does_not(
    start_fixture_server: Any, tmp_path: Path
) -> None:
    hosted = start_fixture_server(tmp_path, STACKROOM_SHUTDOWN_S="0.2")
    secret = hosted.accounts.token(hosted.accounts.user(*Action))

    with (
        httpx.Client(base_url=hosted.url, timeout=PATIENCE_S) as client,
        Wire(hosted.server.port) as wire,
    ):
        headers = {"Authorization": f"Bearer {secret}", **POSTED}
        wire.send(request_bytes("POST", "/v1/tools/wait", headers, b'{"seconds": 600}'))
        wait_until(lambda: client.get("/health", headers=headers).json()["calls_in_flight"] == 1)
        assert hosted.server.stop() == 0
