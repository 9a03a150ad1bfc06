"""`downloads.query` and `downloads.action` through the gate, as callers with different rights."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.control.database.engine import ControlDatabase
from stackroom.errors import UnavailableError
from stackroom.gate.answer import Answer
from stackroom.gate.gate import Gate
from stackroom.model.principal import Action, Cost, Principal
from stackroom.model.scope import Visibility
from stackroom.tools.toolbox import Toolbox
from stackroom_catalogues.music.downloads.downloads import Downloads, DownloadSettings
from stackroom_catalogues.music.downloads.tools import downloads_tools
from support.texts import require_fitting, values_missing_from_text

pytestmark = pytest.mark.row("Z8")

ANN = Principal(name="ann", actions=frozenset({Action.REQUEST_CONTENT, Action.VIEW_ANALYTICS}))
BOB = Principal(name="bob", actions=frozenset({Action.REQUEST_CONTENT}))
VIEWER = Principal(name="vera", actions=frozenset({Action.VIEW_ANALYTICS}))
ADMIN = Principal(name="admin", actions=frozenset(Action))


class Desk:
    """A downloads without workers, behind the gate."""

    def __init__(self, folder: Path) -> None:
        template = "https://music.example.org/{artist}/{album}.json"
        settings = DownloadSettings(folder=folder, providers={"archive": template})
        self.database = ControlDatabase.open(f"sqlite:///{folder / 'control.sqlite'}")
        nothing: Any = None  # no worker runs, so no album comes
        self.downloads = Downloads(
            settings, self.database, nothing, resolve=lambda *_: ["93.184.215.14"]
        )
        toolbox = Toolbox(downloads_tools(self.downloads, lambda: "music"))
        self.specs, self.gate = toolbox.tools, Gate(toolbox)

    def call(self, principal: Principal, tool: str, **arguments: Any) -> Answer:
        return self.gate.call(principal, f"downloads.{tool}", arguments)

    def answer(self, principal: Principal, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.call(principal, tool, **arguments)
        assert answer.structured is not None, answer.text
        require_fitting(answer.structured, self.specs[f"downloads.{tool}"].output_schema)
        assert values_missing_from_text(answer.structured, answer.text) == []
        return answer.structured

    def request(self, principal: Principal, **request: Any) -> dict[str, Any]:
        arguments = {"action": "request", "artist": "Handel", "album": "Water Music", **request}
        return self.answer(principal, "action", **arguments)["download"]


@pytest.fixture
def downloads(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.database.close()


def test_a_request_is_queued_and_the_same_again_is_the_same(downloads):
    wish = {"action": "request", "artist": "Handel"}
    first = downloads.answer(BOB, "action", **wish, album="Water Music")
    again = downloads.answer(BOB, "action", **wish, album="water music", provider="archive")

    assert (first["created"], again["created"]) == (True, False)
    assert first["download"]["id"] == again["download"]["id"]
    assert (first["download"]["state"], first["download"]["user"]) == ("queued", "bob")
    assert first["download"]["provider"] == "archive"


def test_what_follows_the_question_mark_of_an_address_is_not_shown(downloads):
    shown = downloads.request(BOB, url="https://music.example.org/a.mp3?key=secret")

    assert shown["url"] == "https://music.example.org/a.mp3"
    assert shown["provider"] == "url"


def test_the_queue_is_paged(downloads):
    for number in range(3):
        downloads.request(ANN, album=f"Album {number}")

    for offset, albums in ((0, ["Album 0", "Album 1"]), (2, ["Album 2"])):
        page = downloads.answer(VIEWER, "query", query_type="queue", limit=2, offset=offset)
        assert [one["album"] for one in page["downloads"]] == albums
        assert (page["total"], page["has_more"]) == (3, not offset)
    assert downloads.answer(VIEWER, "query", query_type="queue", state="failed")["total"] == 0


@pytest.mark.parametrize(
    "visibility", [Visibility(only=frozenset({"anime"})), Visibility(hidden=frozenset({"music"}))]
)
def test_who_does_not_see_the_catalogue_that_albums_come_to_neither_asks_for_any_nor_sees_the_queue(
    downloads, visibility
):
    shown = downloads.request(ANN)
    elsewhere = replace(ADMIN, visibility=visibility)

    calls = [
        *({"action": "request", "artist": "a", "album": album} for album in ("b", "Water Music")),
        *({"action": action, "id": shown["id"]} for action in ("retry", "cancel")),
    ]
    refused = [downloads.call(elsewhere, "action", **one) for one in calls]
    refused += [
        downloads.call(elsewhere, "query", query_type=one, id=shown["id"])
        for one in ("stats", "queue", "item")
    ]

    assert {answer.error_code for answer in refused} == {"forbidden"}
    assert "music" not in refused[0].text
    assert downloads.answer(VIEWER, "query", query_type="queue")["total"] == 1
    seeing = replace(ADMIN, visibility=Visibility(only=frozenset({"music"})))
    assert downloads.answer(seeing, "query", query_type="queue")["total"] == 1


@pytest.mark.parametrize("action", ["retry", "cancel"])
def test_somebody_elses_download_is_not_found_but_for_an_administrator(downloads, action):
    shown = downloads.request(ANN)
    if action == "retry":
        running = downloads.downloads.queue.take_next()
        assert running is not None
        downloads.downloads.queue.fail(running, UnavailableError("gone"))

    refused = downloads.call(BOB, "action", action=action, id=shown["id"])
    unknown = downloads.call(BOB, "action", action=action, id=shown["id"] + 1)

    assert refused.error_code == unknown.error_code == "not_found"
    assert refused.text == unknown.text.replace(str(shown["id"] + 1), str(shown["id"]))
    done = downloads.answer(ADMIN, "action", action=action, id=shown["id"])
    assert done["download"]["id"] == shown["id"]


@pytest.mark.row("Z15")
def test_who_may_request_sees_what_became_of_their_own_downloads_and_of_no_others(downloads):
    failed, others = downloads.request(BOB), downloads.request(ANN, album="Messiah")
    running = downloads.downloads.queue.take_next()
    downloads.downloads.queue.fail(running, UnavailableError("the server is gone"))

    one = downloads.answer(BOB, "action", action="status", id=failed["id"])
    assert (one["download"]["state"], one["download"]["error"]) == ("failed", "the server is gone")
    assert downloads.call(BOB, "action", action="status", id=others["id"]).error_code == "not_found"
    seen = downloads.answer(ADMIN, "action", action="status", id=others["id"])["download"]
    assert seen["user"] == "ann"
    cost_of = downloads.specs["downloads.action"].operation.cost_of
    assert cost_of({"action": "status"}) is Cost.READ
    assert cost_of({"action": "request"}) is Cost.WRITE
