"""Who asks too often is told apart more slowly, and what they may is looked at after the wait."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient, WebSocketDenialResponse
from starlette.websockets import WebSocketDisconnect

from stackroom.errors import StorageError
from stackroom.gate.gate import Gate
from stackroom.model.principal import LOCAL_USER, Identity
from stackroom.serve.async_gate import RefusalThrottle, caller_of
from stackroom.serve.connections import Streams
from stackroom.serve.http.app import build_app
from stackroom.serve.http.guard import Authenticated, Authenticator
from stackroom.serve.http.mcp_http import WebSocketEndpoint
from stackroom.serve.http.replies import JSONReply
from stackroom.settings import Settings
from stackroom.tools.toolbox import Toolbox
from support.clients import build_server

IDENTITY = Identity(principal=LOCAL_USER, credential_id="1", expires_at=None)
ENDLESS_S = 60.0


class Secrets:
    """Stands in for an `IdentityCache`."""

    def __init__(self) -> None:
        self.known = {"secret": IDENTITY}
        self.is_out = False

    def recall(self, secret: str) -> Identity | None:
        return None if self.is_out else self.known.get(secret)

    def identify(self, secret: str) -> Identity | None:
        if self.is_out:
            raise StorageError("/var/lib/control.sqlite: the control database failed")
        return self.known.get(secret)


def test_whoever_was_refused_waits_before_anything_is_done_for_them() -> None:
    throttle = RefusalThrottle(pause_s=ENDLESS_S, longest_s=ENDLESS_S)
    authenticator = Authenticator(Secrets(), base_url=lambda _headers: "", throttle=throttle)

    async def talk() -> None:
        with anyio.fail_after(5):
            assert await authenticator.identify_secret("secret") == IDENTITY
        throttle.note(LOCAL_USER.name, is_refused=True)
        with anyio.move_on_after(0.05) as waiting:
            await authenticator.identify_secret("secret")
        assert waiting.cancelled_caught

    anyio.run(talk)


def test_a_secret_that_is_revoked_during_the_wait_is_no_longer_known() -> None:
    throttle, secrets = RefusalThrottle(pause_s=ENDLESS_S, longest_s=0.05), Secrets()
    authenticator = Authenticator(secrets, base_url=lambda _headers: "", throttle=throttle)
    throttle.note(LOCAL_USER.name, is_refused=True)
    found: list[Identity | None] = []

    async def identify() -> None:
        found.append(await authenticator.identify_secret("secret"))

    async def talk() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(identify)
            await anyio.wait_all_tasks_blocked()
            secrets.known.clear()

    anyio.run(talk)
    assert found == [None]


@pytest.fixture
def secrets() -> Secrets:
    return Secrets()


@pytest.fixture
def client(secrets: Secrets, tmp_path: Path) -> TestClient:
    """A server with one path, and MCP over WebSockets."""
    authenticator = Authenticator(secrets, base_url=lambda _scope: "")
    server = build_server(lambda: Gate(Toolbox([])), caller_of)
    routes = [
        Route("/known", Authenticated(JSONReply({}), authenticator, via="rest")),
        WebSocketRoute("/v1/mcp", WebSocketEndpoint(server, authenticator, Streams(10))),
    ]
    app = build_app(
        None,
        Settings(home=tmp_path),
        authenticator=authenticator,
        streams=Streams(10),
        routes=routes,
    )
    return TestClient(app, base_url="http://localhost", headers={"Authorization": "Bearer secret"})


def error_of(reply: Any) -> tuple[int, str]:
    assert "control.sqlite" not in reply.text
    return reply.status_code, reply.json()["error"]["code"]


def test_while_accounts_cannot_be_read_callers_are_told_to_come_back(
    client: TestClient, secrets: Secrets
) -> None:
    assert client.get("/known").status_code == 200
    secrets.is_out = True
    assert error_of(client.get("/known")) == (503, "storage")
    with (
        pytest.raises(WebSocketDenialResponse) as refused,
        client.websocket_connect("ws://localhost/v1/mcp"),
    ):
        pass
    assert error_of(refused.value) == (503, "storage")


def test_a_websocket_ends_with_a_reason_when_accounts_cannot_be_read_any_more(
    client: TestClient, secrets: Secrets
) -> None:
    with client.websocket_connect("ws://localhost/v1/mcp") as socket:
        secrets.is_out = True
        socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_json()
    assert (ended.value.code, "try again" in ended.value.reason) == (1013, True)
