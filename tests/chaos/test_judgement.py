"""The chaos run notices what it is there for: it is run on a server that tells the truth, and on
ones that do not.
"""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chaos.actors import Damage, Editor, Searcher
from chaos.client import Caller
from chaos.record import FaultEntry, Record
from chaos.verdict import find_losses
from support.loopback import LoopbackServer

SECRET_PATH = "/srv/library"


class SmallServer(LoopbackServer):
    """Keeps artists in memory, and answers as the real tools do. `lie` changes an answer before it
    is sent.
    """

    def __init__(self) -> None:
        self.records: dict[str, str] = {}
        self.log: dict[str, tuple[str, str | None]] = {}
        self.lie: Callable[[str, dict[str, Any], int, Any], tuple[int, Any]] = (
            lambda _tool, _asked, *told: told
        )
        self._guard = threading.Lock()
        super().__init__()

    def answer(self, path: str, body: Any) -> tuple[int, bytes]:
        """Answer a call of a tool."""
        tool = path.rpartition("/")[2]
        with self._guard:
            status, value = self.lie(
                tool, body, *getattr(self, f"_{tool.partition('.')[2] or tool}")(body)
            )
        return status, json.dumps(value).encode()

    def _mutate(self, asked: dict[str, Any]) -> tuple[int, Any]:
        record_id = asked.get("id") or f"artist-{len(self.log)}"
        if asked["action"] == "undo":
            record_id, about = self.log[asked["id"]]
        else:
            about = None if asked["action"] == "delete" else asked["fields"]["about"]
        call_id = f"call-{len(self.log)}"
        self.log[call_id] = (record_id, self.records.get(record_id))
        self._set(record_id, about)
        return 200, {"call_id": call_id, "notes": [], "changes": [{"id": record_id}]}

    def _set(self, record_id: str, about: str | None) -> None:
        if about is None:
            self.records.pop(record_id, None)
        else:
            self.records[record_id] = about

    def _get(self, asked: dict[str, Any]) -> tuple[int, Any]:
        if asked["id"] not in self.records:
            return 404, {"error": {"code": "not_found", "message": "no such artist"}}
        return 200, {"item": {"id": asked["id"], "about": self.records[asked["id"]]}}

    def _search(self, _asked: dict[str, Any]) -> tuple[int, Any]:
        return 200, {"notes": [], "results": [{"id": "a"}, {"id": "b"}]}


@pytest.fixture
def server() -> Iterator[SmallServer]:
    """A server that tells the truth."""
    started = SmallServer()
    yield started
    started.die()


@pytest.fixture
def caller(server: SmallServer) -> Iterator[Caller]:
    """A caller of it, with a record of its own."""
    made = Caller("editor", "token", lambda: server.url, Record(), SECRET_PATH)
    yield made
    made.close()


def edit(caller: Caller, times: int = 60) -> Editor:
    """Let an editor work for a while, in this thread."""
    editor = Editor(caller, caller._record, seed=1)
    for _ in range(times):
        editor.act()
    return editor


def test_a_server_that_tells_the_truth_is_not_blamed(caller: Caller) -> None:
    editor = edit(caller)
    assert caller._record.problems() == []
    assert find_losses([editor], caller) == []
    assert len(editor.acknowledged) > 40


def test_a_refused_edit_that_was_made_is_noticed(server: SmallServer, caller: Caller) -> None:
    def refuse(tool: str, asked: dict[str, Any], status: int, value: Any) -> tuple[int, Any]:
        is_refused = tool == "catalog.mutate" and asked["action"] == "update"
        return (
            (429, {"error": {"code": "rate_limited", "message": "no"}})
            if is_refused
            else (status, value)
        )

    server.lie = refuse
    assert find_losses([edit(caller)], caller) != []
    assert any("should be one of" in problem for problem in caller._record.problems())


def test_an_acknowledged_edit_that_is_lost_is_noticed(server: SmallServer, caller: Caller) -> None:
    editor = edit(caller)
    kept = next(one for one, entry in editor.entries.items() if entry.states != {None})
    server.records[kept] = "another text"
    assert len(find_losses([editor], caller)) == 1


@pytest.mark.parametrize(
    "told",
    [
        (500, {"error": {"code": "internal", "message": "a bug"}}),
        (
            404,
            {"error": {"code": "not_found", "message": f"no file {SECRET_PATH}/catalogues/music"}},
        ),
        (503, {"error": {"code": "storage", "message": "no Retry-After"}}),
        (418, {"error": {"code": "teapot", "message": "of no known kind"}}),
    ],
    ids=["a bug", "a path of the server", "no time to come back", "an unknown status"],
)
def test_an_answer_that_no_server_may_give_is_noticed(
    server: SmallServer, caller: Caller, told: tuple[int, Any]
) -> None:
    server.lie = lambda *_asked: told
    caller.call("catalog.get", id="a")
    assert len(caller._record.problems()) == 1


def test_another_answer_than_at_the_beginning_is_noticed_unless_its_catalogue_waits_for_a_check(
    caller: Caller,
) -> None:
    damage = Damage()
    searcher = Searcher(
        caller, caller._record, 1, expected={("dnd", "dragon"): ["a", "c"]}, damage=damage
    )
    damage.catalogues.add("dnd")
    for _ in range(20):
        searcher.act()
    assert caller._record.problems() == []
    assert caller._record.before_check["dnd"] > 0
    damage.catalogues.clear()
    for _ in range(20):
        searcher.act()
    assert any("without a note" in problem for problem in caller._record.problems())


def test_a_fault_that_health_did_not_tell_of_or_did_not_get_over_is_a_problem() -> None:
    record = Record()
    record.faults = [
        FaultEntry("told and over", 0, told_after_s=1, well_after_s=1),
        FaultEntry("not told", 0, well_after_s=1),
        FaultEntry("not over", 0, told_after_s=1),
        FaultEntry("nothing to tell", 0, well_after_s=1, needs_telling=False),
    ]
    assert [problem.partition(":")[0] for problem in record.problems()] == ["not told", "not over"]
