"""Open connections: who is told of changed rights, who looks, and what a failure leaves alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

from stackroom.model.principal import LOCAL_USER, Action, Identity
from stackroom.serve.connections import ListChanges, Streams
from stackroom.serve.http import app
from stackroom.serve.http.app import build_app
from stackroom.serve.http.guard import Authenticator
from stackroom.settings import Settings

ADA = Identity(principal=replace(LOCAL_USER, name="ada"), credential_id="a", expires_at=None)
BOB = Identity(principal=replace(LOCAL_USER, name="bob"), credential_id="b", expires_at=None)
LESS = replace(ADA, principal=replace(ADA.principal, actions=frozenset({Action.ACCESS_CATALOG})))


def told_by(lists: ListChanges, changes: dict[Identity, Identity | None]) -> None:
    async def run() -> None:
        async with anyio.create_task_group() as group:
            for tell in lists.note_changed(changes):
                group.start_soon(tell)

    anyio.run(run)


def test_only_those_whose_rights_changed_are_told_and_only_once() -> None:
    lists, told = ListChanges(), []

    def teller(name: str) -> Any:
        async def tell() -> None:
            told.append(name)

        return tell

    with lists.subscribed(ADA, teller("ada")), lists.subscribed(BOB, teller("bob")):
        told_by(lists, {ADA: LESS})
        told_by(lists, {ADA: LESS})
        assert told == ["ada"]
        assert set(lists.identities()) == {LESS, BOB}


def test_a_connection_that_has_ended_or_whose_credential_has_is_forgotten() -> None:
    lists = ListChanges()

    async def tell() -> None:
        raise AssertionError("it was told")

    with lists.subscribed(BOB, tell):
        with lists.subscribed(ADA, tell):
            pass
        told_by(lists, {ADA: LESS, BOB: None})
        assert lists.identities() == []


def test_a_connection_that_fails_while_it_is_told_disturbs_no_other() -> None:
    lists, told = ListChanges(), []

    async def fail() -> None:
        raise anyio.BrokenResourceError

    async def tell() -> None:
        told.append("ada")

    with lists.subscribed(ADA, fail), lists.subscribed(ADA, tell):
        told_by(lists, {ADA: LESS})
    assert told == ["ada"]


class Changing:
    """Accounts in which Ada loses a right at the first look, the second look fails, and Bob loses
    his credential at the third.
    """

    def __init__(self) -> None:
        self.looks = 0

    @property
    def identities(self) -> "Changing":
        return self

    def refresh(self) -> None:
        self.looks += 1
        if self.looks == 2:
            raise RuntimeError("a bug")

    def current(self, identities: list[Identity]) -> list[Identity | None]:
        now: dict[Identity, Identity | None] = {ADA: LESS, BOB: None if self.looks > 2 else BOB}
        return [now.get(one, one) for one in identities]


def test_neither_a_look_that_fails_nor_a_client_that_does_not_read_keeps_a_stream_open(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    streams, lists, accounts = Streams(10), ListChanges(), Changing()

    async def watch() -> str:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(app._watch_rights, accounts, streams, lists)
                with lists.subscribed(ADA, anyio.sleep_forever), streams.opened(BOB) as stream:
                    await anyio.sleep_forever()
                tasks.cancel_scope.cancel()
        return stream.reason

    monkeypatch.setattr(app, "LOOK_AGAIN_S", 0.01)
    assert "no longer valid" in anyio.run(watch)
    assert "changed rights could not be checked" in caplog.text


def test_a_task_that_fails_does_not_take_the_server_along(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    async def fail() -> None:
        raise RuntimeError("a bug")

    authenticator = Authenticator(None, base_url=lambda _scope: "")
    failing = build_app(
        None, Settings(home=tmp_path), authenticator=authenticator, streams=Streams(1), tasks=[fail]
    )
    with TestClient(failing, base_url="http://localhost") as client:
        assert client.get("/nothing").status_code == 404
    assert "a background task of the server failed" in caplog.text
