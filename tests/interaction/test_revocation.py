"""What is taken away is gone at the next call; open lines end within a second, and those of others stay open."""

import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State
from websockets.sync.client import connect as open_websocket

from stackroom.model.principal import LOCAL_USER, Action

pytestmark = pytest.mark.row("Z2")

WITHIN_S = 60.0
"""It comes within a second; a machine that does much else needs more."""
TIMEOUT = httpx.Timeout(10, read=60)
ABOUT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
ACCEPTED = {"Accept": "application/json, text/event-stream"}
MODERN = {"MCP-Protocol-Version": "2026-07-28"}
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOOLS_CHANGED = "notifications/tools/list_changed"
CALL = {"name": "fetch", "arguments": {"id": "judoka/1"}}


def message(method: str, params: Any = None, number: int | None = None) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "method": method, **({"id": number} if number is not None else {})}
    return body if params is None else {**body, "params": params}


def is_good(answer: dict[str, Any]) -> bool:
    return answer.get("result", {}).get("isError") is False


class Events:
    """The events of a stream of server-sent events, read in a thread until it ends."""

    def __init__(self, client: httpx.Client, path: str, headers: dict[str, str], *, body: Any = None) -> None:
        self.data: queue.Queue[str] = queue.Queue()
        self.has_ended = threading.Event()
        self._stream = client.stream("POST" if body else "GET", path, headers=headers, json=body)
        self._response = self._stream.__enter__()
        assert self._response.status_code == 200
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(httpx.TransportError, httpx.StreamError):
            for line in self._response.iter_lines():
                if line.startswith("data: "):
                    self.data.put(line.removeprefix("data: "))
            self.ended_well = True
        self.has_ended.set()

    ended_well = False
    """Whether the stream came to its end, and was not cut off."""

    def close(self) -> None:
        """Let go of the stream; a thread that waits for more of it is woken."""
        with suppress(OSError):
            self._response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        self._thread.join(120)
        self._stream.__exit__(None, None, None)


def heard(events: Events) -> list[str]:
    """Return the methods of the notifications that a stream had since the last look."""
    found = []
    with suppress(queue.Empty):
        while True:
            found.append(json.loads(events.data.get_nowait())["method"])
    return found


class Line:
    """A connection of somebody that stays open."""

    told: list[str]
    """The notifications that came, by method."""

    def hear(self) -> list[str]:
        """Return the notifications that came so far."""
        return self.told

    def call(self) -> bool:
        """Call a tool; tell whether it was answered."""
        raise NotImplementedError

    def is_over(self) -> bool:
        """Tell whether the server has ended the stream."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class WebSocketLine(Line):
    def __init__(self, hosted: Any, secret: str) -> None:
        self._stack = ExitStack()
        self.told = []
        headers = {"Authorization": f"Bearer {secret}"}
        opening = open_websocket(hosted.websocket_url, additional_headers=headers, close_timeout=1)
        self.socket = self._stack.enter_context(opening)
        self._ask("initialize", ABOUT)
        self.socket.send(json.dumps(message("notifications/initialized")))

    def _ask(self, method: str, params: Any) -> dict[str, Any]:
        self.socket.send(json.dumps(message(method, params, 1)))
        while True:
            answer: dict[str, Any] = json.loads(self.socket.recv(timeout=120))
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
            return is_good(self._ask("tools/call", CALL))
        except ConnectionClosed:
            return False

    def is_over(self) -> bool:
        return self.socket.protocol.state is State.CLOSED

    def close(self) -> None:
        self._stack.close()


class EventsLine(Line):
    """A connection on which server-sent events come."""

    events: Events
    _client: httpx.Client

    def hear(self) -> list[str]:
        self.told += heard(self.events)
        return self.told

    def is_over(self) -> bool:
        return self.events.has_ended.is_set()

    def close(self) -> None:
        self.events.close()
        self._client.close()


class SseLine(EventsLine):
    def __init__(self, hosted: Any, secret: str) -> None:
        self._client = httpx.Client(
            base_url=hosted.url, headers={"Authorization": f"Bearer {secret}"}, timeout=TIMEOUT, verify=False
        )
        self.told = []
        self.events = Events(self._client, "/sse", {})
        self._place = self.events.data.get(timeout=120)
        self._post(message("initialize", ABOUT, 0))
        self.events.data.get(timeout=120)
        self._post(message("notifications/initialized"))

    def _post(self, body: Any) -> int:
        return self._client.post(self._place, json=body).status_code

    def call(self) -> bool:
        if self._post(message("tools/call", CALL, 1)) != 202:
            return False
        with suppress(queue.Empty):
            while True:
                answer = json.loads(self.events.data.get(timeout=2))
                if "id" in answer:
                    return is_good(answer)
                self.told.append(answer["method"])
        return False


class HttpLine(EventsLine):
    """A session of Streamable HTTP, with the stream that the server may speak on."""

    def __init__(self, hosted: Any, secret: str) -> None:
        headers = {"Authorization": f"Bearer {secret}", **ACCEPTED}
        self._client = httpx.Client(base_url=hosted.url, headers=headers, timeout=TIMEOUT, verify=False)
        opened = self._client.post("/mcp", json=message("initialize", ABOUT, 0))
        known = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        self._client.headers.update(known)
        self._client.post("/mcp", json=message("notifications/initialized"))
        self.told = []
        self.events = Events(self._client, "/mcp", {"Accept": "text/event-stream"})

    def call(self) -> bool:
        reply = self._client.post("/mcp", json=message("tools/call", CALL, 1))
        if reply.status_code != 200:
            return False
        found = [line for line in reply.text.splitlines() if line.startswith("data: {")]
        return is_good(json.loads(found[-1].removeprefix("data: ")))


class ListeningLine(EventsLine):
    """A request of 2026-07-28 whose answer is the stream of changes that it asks for."""

    def __init__(self, hosted: Any, secret: str) -> None:
        self.told = []
        headers = {"Authorization": f"Bearer {secret}", **ACCEPTED, **MODERN, "Mcp-Method": "subscriptions/listen"}
        self._client = httpx.Client(base_url=hosted.url, headers=headers, timeout=TIMEOUT, verify=False)
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
        asked = message("subscriptions/listen", {"notifications": wanted, "_meta": MODERN_META}, 1)
        self.events = Events(self._client, "/mcp", {}, body=asked)
        acknowledged = json.loads(self.events.data.get(timeout=120))
        self.honoured = acknowledged["params"]["notifications"]

    def call(self) -> bool:
        return not self.is_over()


class ListeningSocketLine(WebSocketLine):
    """The same request on a WebSocket."""

    def __init__(self, hosted: Any, secret: str) -> None:
        self._stack = ExitStack()
        self.told = []
        opening = open_websocket(
            hosted.websocket_url, additional_headers={"Authorization": f"Bearer {secret}"}, close_timeout=1
        )
        self.socket = self._stack.enter_context(opening)
        wanted = {"toolsListChanged": True}
        asked = message("subscriptions/listen", {"notifications": wanted, "_meta": MODERN_META}, 1)
        self.socket.send(json.dumps(asked))
        assert json.loads(self.socket.recv(timeout=120))["params"]["notifications"] == wanted


class StatelessLine(Line):
    """Streamable HTTP of 2026-07-28, and REST: every request stands for itself, so nothing is open."""

    def __init__(self, hosted: Any, secret: str) -> None:
        self._client = httpx.Client(
            base_url=hosted.url, headers={"Authorization": f"Bearer {secret}", **ACCEPTED}, verify=False
        )

    def call(self) -> bool:
        headers = {**MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "fetch"}
        asked = message("tools/call", {**CALL, "_meta": MODERN_META}, 1)
        over_mcp = self._client.post("/mcp", json=asked, headers=headers)
        over_rest = self._client.post("/v1/tools/fetch", json=CALL["arguments"])
        works = over_mcp.status_code == 200 and '"isError":false' in over_mcp.text.replace(" ", "")
        return works or over_rest.status_code == 200

    def is_over(self) -> bool:
        return True

    def close(self) -> None:
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
    """The lines of somebody else, whose rights stay as they are; opened before everything and used after all."""
    with ExitStack() as stack:
        yield open_lines(stack, hosted, hosted.accounts.token(hosted.accounts.user(*Action, name="bystander")))


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
    "revoked permission": lambda _hosted, user: ["user", "revoke", user, str(Action.ACCESS_CATALOG)],
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
        kind: (line.call(), kind != "stateless" and line.is_over()) for kind, line in bystanders.items()
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
        listening, on_socket = ListeningLine(hosted, secret), ListeningSocketLine(hosted, secret)
        stack.callback(listening.close)
        stack.callback(on_socket.close)
        assert listening.honoured == {"toolsListChanged": True}
        open_ones = [line for line in lines.values() if not isinstance(line, StatelessLine)]
        open_ones += [listening, on_socket]
        try:
            hosted.server.run(*CHANGES[change](hosted, victim))
            assert {kind: line.call() for kind, line in lines.items()} == dict.fromkeys(LINES, False)
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


MUTATIONS: dict[str, dict[str, str]] = {
    "revoke": {"permission": str(Action.ACCESS_CATALOG)},
    "disable": {},
    "delete": {},
}


@pytest.mark.parametrize("action", MUTATIONS)
def test_what_the_server_itself_takes_away_is_gone_at_the_next_call(hosted: Any, victim: str, action: str) -> None:
    manager = hosted.accounts.token(hosted.accounts.user(*Action, name="manager"))
    with ExitStack() as stack:
        admin = stack.enter_context(hosted.rest(manager))
        lines = open_lines(stack, hosted, hosted.accounts.token(victim))
        wanted = {"action": action, "name": victim, **MUTATIONS[action]}
        assert all(line.call() for line in lines.values())
        assert admin.post("/v1/tools/users.mutate", json=wanted).status_code == 200
        assert {kind: line.call() for kind, line in lines.items()} == dict.fromkeys(LINES, False)


def assert_told(lines: dict[str, Line]) -> None:
    """See that streams were ended properly, and not cut off."""
    websocket, sse, http = lines["websocket"], lines["sse"], lines["http"]
    assert isinstance(websocket, WebSocketLine)
    assert websocket.socket.close_code == 1008
    assert isinstance(sse, SseLine)
    assert isinstance(http, HttpLine)
    assert (sse.events.ended_well, http.events.ended_well) == (True, True)


def test_a_token_ends_by_itself_when_its_time_is_over(
    hosted: Any, bystanders: dict[str, Line], victim: str, soon: Any
) -> None:
    lasts_s = 3.0  # the lines open sooner, unless the machine does much else: then they end sooner, too
    ends_at = datetime.now(UTC) + timedelta(seconds=lasts_s)
    secret = hosted.accounts.token(victim, expires_in=timedelta(seconds=lasts_s))
    with ExitStack() as stack:
        lines = open_lines(stack, hosted, secret)
        for line in lines.values():
            soon(lambda line=line: not line.call() and line.is_over(), timeout_s=lasts_s + WITHIN_S)
        assert datetime.now(UTC) >= ends_at
        assert_told(lines)
    assert all(line.call() for line in bystanders.values())


def test_a_session_ends_with_the_logout_and_with_a_new_password(hosted: Any, soon: Any) -> None:
    control = hosted.accounts.control
    user = hosted.accounts.user(Action.ACCESS_CATALOG, name="session")
    control.accounts.set_password(LOCAL_USER, user, "correct horse")
    for way in ("logout", "password"):
        with hosted.rest() as client, ExitStack() as stack:
            secret = client.post("/v1/login", json={"name": user, "password": "correct horse"}).json()["token"]
            lines = open_lines(stack, hosted, secret)
            if way == "logout":
                headers = {"Authorization": f"Bearer {secret}"}
                assert client.post("/v1/logout", headers=headers).status_code == 204
            else:
                control.accounts.set_password(LOCAL_USER, user, "another horse")
            for line in lines.values():
                soon(lambda line=line: not line.call() and line.is_over(), timeout_s=WITHIN_S)
