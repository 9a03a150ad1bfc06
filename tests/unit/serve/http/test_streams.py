"""What is open, and who looks whether it may still be."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

from stackroom.serve.http import app
from stackroom.serve.http.app import build_app
from stackroom.serve.http.guard import Authenticator
from stackroom.serve.http.streams import Streams
from stackroom.serve.list_changes import ListChanges
from stackroom.settings import Settings
from stackroom.tools.operation import LOCAL


def test_a_look_at_the_rights_that_fails_is_followed_by_another(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looks: list[int] = []
    streams = Streams(10)

    class Control:
        @property
        def identities(self) -> "Control":
            return self

        def refresh(self) -> None:
            looks.append(len(looks))
            if len(looks) == 1:
                raise RuntimeError("a bug")

        def current(self, identities: list[Any]) -> list[None]:
            return [None for _ in identities]

    async def watch() -> None:
        with streams.opened(LOCAL.identity) as stream, anyio.move_on_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(app._watch_rights, Control(), streams, ListChanges())
                await anyio.sleep_forever()
        assert "no longer valid" in stream.reason

    monkeypatch.setattr(app, "LOOK_AGAIN_S", 0.01)
    anyio.run(watch)
    assert len(looks) >= 2
    assert "changed rights could not be checked" in caplog.text


def test_a_task_that_fails_does_not_take_the_server_along(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    async def fail() -> None:
        raise RuntimeError("a bug")

    authenticator = Authenticator(None, base_url=lambda _scope: "")
    app = build_app(
        None, Settings(home=tmp_path), authenticator=authenticator, streams=Streams(1), tasks=[fail]
    )
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/nothing").status_code == 404
    assert "a background task of the server failed" in caplog.text
