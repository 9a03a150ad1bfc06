"""What is taken away is gone at the next call; open lines end within a second, and those of others
stay open.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State
from websockets.sync.client import connect as open_websocket

from stackroom.model.principal import LOCAL_USER, Action
from support.channels import EventStream, open_channel
from support.hosting import WHEREVER_KEPT
from support.processes import PATIENCE_S
from support.wire import ENVELOPE, HELLO, MODERN, POSTED, request_bytes

pytestmark = [pytest.mark.row("Z2"), WHEREVER_KEPT]

WITHIN_S = 60.0
"""It comes within a second; a machine that does much else needs more."""
TOOLS_CHANGED = "notifications/tools/list_changed"
FETCH = {"id": "judoka/1"}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "fetch", "arguments": FETCH},
}
MODERN_CALL = {**CALL, "params": {"name": "fetch", "arguments": FETCH, "_meta": ENVELOPE}}
WANTED = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
LISTEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "subscriptions/listen",
    "params": {"notifications": WANTED, "_meta": ENVELOPE},
}


def is_good(answer: dict[str, Any] | None) -> bool:
    return answer is not None and answer.get("result", {}).get("isError") is False


def as_bytes(message: Any) -> bytes:
    return json.dumps(message).encode()


class Line:
    """A connection of somebody that stays open, and the notifications that came on it, by
    method.
    """

    def __init__(self) -> None:
        self.told: list[str] = []

    def call(self) -> bool:
        """Call a tool; tell whether it was answered."""
        raise NotImplementedError

    def hear(self) -> list[str]:
        """Return the notifications that came so far."""
        return self.told

    def is_over(self) -> bool:
        """Tell whether the server has ended the stream."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class WebSocketLine(Line):
    """A WebSocket of a client that answers pings, as one that is open for long must."""

    def __init__(self, hosted: Any, secret: str) -> None:
        super().__init__()
        headers = {"Authorization": f"Bearer {secret}"}
        self._stack = ExitStack()
        opening = open_websocket(hosted.websocket_url, additional_headers=headers, close_timeout=1)
        self.socket = self._stack.enter_context(opening)
        self._ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        self.socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self.socket.send(json.dumps(message))
        while True:
            answer: dict[str, Any] = json.loads(self.socket.recv(timeout=PATIENCE_S))
            if "id" in answer:
                return answer
            self.told.append(answer["method"])

    def hear(self) -> list[str]:
        with suppress(TimeoutError):
            while True:
                self.told.append(json.loads(self.socket.recv(timeout=0.05))["method"])
        return self.told

    def call(self) -> bool:
        try:
            return is_good(self._ask(CALL))
        except ConnectionClosed:
            return False

    def is_over(self) -> bool:
        return self.socket.protocol.state is State.CLOSED

    def close(self) -> None:
        self._stack.close()


class EventsLine(Line):
    """A connection on which server-sent events come."""

    events: EventStream

    def hear(self) -> list[str]:
        while (event := self.events.next_event(waits=False)) is not None:
            self.told.append(json.loads(event)["method"])
        return self.told

    def is_over(self) -> bool:
        self.hear()
        return self.events.is_over

    def close(self) -> None:
        self.events.wire.close()


class SseLine(EventsLine):
    def __init__(self, hosted: Any, secret: str) -> None:
        super().__init__()
        self._channel = open_channel("sse", hosted.server.port, secret)
        self.events = self._channel.events

    def call(self) -> bool:
        if self.is_over() or self._channel.send(as_bytes(CALL)) is not None:
            return False
        while (answer := self._channel.receive()) is not None and "id" not in answer:
            self.told.append(answer["method"])
        return is_good(answer)

    def close(self) -> None:
        self._channel.close()


class HttpLine(EventsLine):
    """A session of Streamable HTTP, with the stream that the server may speak on."""

    def __init__(self, hosted: Any, secret: str) -> None:
        super().__init__()
        port = hosted.server.port
        self._channel = open_channel("http", port, secret)
        headers = {**self._channel.headers, "Accept": "text/event-stream"}
        self.events = EventStream(port, request_bytes("GET", "/mcp", headers))

    def call(self) -> bool:
        return any(is_good(message) for message in self._channel.put(as_bytes(CALL)).messages)

    def close(self) -> None:
        super().close()
        self._channel.close()


class ListeningLine(EventsLine):
    """A request of 2026-07-28 whose answer is the stream of changes that it asks for."""

    def __init__(self, hosted: Any, secret: str) -> None:
        super().__init__()
        known = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
        headers = {**POSTED, **known, "Authorization": f"Bearer {secret}"}
        self.events = EventStream(
            hosted.server.port, request_bytes("POST", "/mcp", headers, as_bytes(LISTEN))
        )
        self.honoured = json.loads(self.events.next_event() or "")["params"]["notifications"]

    def call(self) -> bool:
        return not self.is_over()


class StatelessLine(Line):
    """Streamable HTTP of 2026-07-28, and REST: every request stands for itself, so nothing is
    open.
    """

    def __init__(self, hosted: Any, secret: str) -> None:
        super().__init__()
        self._channel = open_channel("http", hosted.server.port, secret, MODERN)
        self._client = hosted.rest(secret)

    def call(self) -> bool:
        over_mcp = any(
            is_good(message) for message in self._channel.put(as_bytes(MODERN_CALL)).messages
        )
        return self._client.post("/v1/tools/fetch", json=FETCH).status_code == 200 or over_mcp

    def is_over(self) -> bool:
        return True

    def close(self) -> None:
        self._channel.close()
        self._client.close()


LINES: dict[str, Callable[[Any, str], Line]] = {
    "websocket": WebSocketLine,
    "sse": SseLine,
    "http": HttpLine,
    "stateless": StatelessLine,
}


def open_lines(stack: ExitStack, hosted: Any, secret: str) -> dict[str, Line]:
    """Open a line of each kind, on which calls are answered."""
    lines = {}
    for kind, make in LINES.items():
        lines[kind] = make(hosted, secret)
        stack.callback(lines[kind].close)
        assert lines[kind].call(), kind
    return lines


@pytest.fixture(scope="module")
def bystanders(hosted: Any) -> Iterator[dict[str, Line]]:
    """The lines of somebody else, whose rights stay as they are; opened before everything and used
    after all.
    """
    with ExitStack() as stack:
        yield open_lines(
            stack, hosted, hosted.accounts.token(hosted.accounts.user(*Action, name="bystander"))
        )


@pytest.fixture
def victim(hosted: Any) -> str:
    """Somebody whose rights are about to change."""
    return str(hosted.accounts.user(Action.ACCESS_CATALOG, name="victim"))


def token_id(hosted: Any, user: str) -> str:
    (credential,) = hosted.accounts.control.credentials.list_of(user)
    return str(credential.id)


CAUSES: dict[str, Callable[[Any, str], list[str]]] = {
    "revoked token": lambda hosted, user: ["token", "revoke", token_id(hosted, user)],
    "disabled user": lambda _hosted, user: ["user", "disable", user],
    "deleted user": lambda _hosted, user: ["user", "delete", user, "--yes"],
}
"""What ends a credential."""
CHANGES: dict[str, Callable[[Any, str], list[str]]] = {
    "revoked permission": lambda _hosted, user: [
        "user",
        "revoke",
        user,
        str(Action.ACCESS_CATALOG),
    ],
    "hidden catalogue": lambda _hosted, _user: ["access", "restrict", "judoka"],
}
"""What changes the rights of a credential that goes on."""


@pytest.mark.parametrize("cause", CAUSES)
def test_soon_after_the_command_calls_fail_and_streams_end_and_others_go_on(
    hosted: Any, bystanders: dict[str, Line], victim: str, cause: str, soon: Any
) -> None:
    with ExitStack() as stack:
        secret = hosted.accounts.token(victim)
        lines = open_lines(stack, hosted, secret)
        lines["listening"] = ListeningLine(hosted, secret)
        stack.callback(lines["listening"].close)
        hosted.server.run(*CAUSES[cause](hosted, victim))
        for line in lines.values():
            soon(lambda line=line: not line.call() and line.is_over(), timeout_s=WITHIN_S)
        assert_told(lines)
    assert {
        kind: (line.call(), kind != "stateless" and line.is_over())
        for kind, line in bystanders.items()
    } == dict.fromkeys(LINES, (True, False))


def give_back(control: Any, change: str, user: str) -> None:
    """Undo a change of rights."""
    if change == "hidden catalogue":
        control.access.open_to_all(LOCAL_USER, "judoka")
    else:
        control.accounts.grant(LOCAL_USER, user, Action.ACCESS_CATALOG)


@pytest.mark.row("Z14")
@pytest.mark.parametrize("change", CHANGES)
def test_when_rights_change_calls_follow_at_once_and_open_lines_are_told_and_go_on(
    hosted: Any, bystanders: dict[str, Line], victim: str, change: str, soon: Any
) -> None:
    secret = hosted.accounts.token(victim)
    with ExitStack() as stack:
        lines = open_lines(stack, hosted, secret)
        listening = ListeningLine(hosted, secret)
        stack.callback(listening.close)
        assert listening.honoured == {"toolsListChanged": True}
        open_ones = [line for line in lines.values() if not isinstance(line, StatelessLine)]
        open_ones.append(listening)
        try:
            hosted.server.run(*CHANGES[change](hosted, victim))
            assert {kind: line.call() for kind, line in lines.items()} == dict.fromkeys(
                LINES, False
            )
            for line in open_ones:
                soon(lambda line=line: TOOLS_CHANGED in line.hear(), timeout_s=WITHIN_S)
        finally:
            give_back(hosted.accounts.control, change, victim)
        assert {kind: line.call() for kind, line in lines.items()} == dict.fromkeys(LINES, True)
        for line in open_ones:
            soon(lambda line=line: line.hear().count(TOOLS_CHANGED) >= 2, timeout_s=WITHIN_S)
            assert not line.is_over()
    others = [line for kind, line in bystanders.items() if kind != "stateless"]
    if change == "revoked permission":
        assert [line.hear() for line in others] == [[]] * len(others)


def assert_told(lines: dict[str, Line]) -> None:
    """See that streams were ended properly, and not cut off."""
    websocket, sse, http = lines["websocket"], lines["sse"], lines["http"]
    assert isinstance(websocket, WebSocketLine)
    assert websocket.socket.close_code == 1008
    assert isinstance(sse, SseLine)
    assert isinstance(http, HttpLine)
    assert (sse.events.is_whole, http.events.is_whole) == (True, True)


def test_a_token_ends_by_itself_when_its_time_is_over(
    hosted: Any, bystanders: dict[str, Line], victim: str, soon: Any
) -> None:
    # the lines open sooner, unless the machine does much else: then they end sooner, too
    lasts_s = 3.0
    ends_at = datetime.now(UTC) + timedelta(seconds=lasts_s)
    secret = hosted.accounts.token(victim, expires_in=timedelta(seconds=lasts_s))
    with ExitStack() as stack:
        lines = open_lines(stack, hosted, secret)
        for line in lines.values():
            soon(lambda line=line: not line.call() and line.is_over(), timeout_s=lasts_s + WITHIN_S)
        assert datetime.now(UTC) >= ends_at
        assert_told(lines)
    assert all(line.call() for line in bystanders.values())
