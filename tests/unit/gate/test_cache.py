"""Answers that are kept: the same question is not worked on twice, and nothing is told that is no
longer so.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_sample
from stackroom.embed.adapters import GuardedEmbedder
from stackroom.embed.remote import RemoteEmbedder
from stackroom.gate.answer import AnswerCache
from stackroom.gate.gate import Gate, tool_params
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER, Action, Cost, Principal
from stackroom.model.scope import Visibility
from stackroom.settings import ServerSettings, Settings
from stackroom.shelf.port import Put
from stackroom.tools.operation import AnyOperation, origin_of
from stackroom.tools.spec import ToolParams, ToolResult
from stackroom.tools.toolbox import Toolbox
from support.plain_tools import make_tool
from support.served import open_shelf

READER = Principal(name="reader", actions=frozenset({Action.ACCESS_CATALOG}))
AT_DESK = origin_of(READER, via="http")


class Filters(ToolParams):
    year: int | None = None


class Params(ToolParams):
    query: str
    limit: int = 10
    filters: Filters | None = None


class Result(ToolResult):
    found: str


class Counted:
    """A tool that counts its runs; `during` is called in each."""

    def __init__(self) -> None:
        self.runs: Counter[str] = Counter()
        self.during: Callable[[], None] = lambda: None

    def run(self, _principal: Principal, params: Params) -> Result:
        self.runs[params.query] += 1
        self.during()
        return Result(found=f"{params.query}, run {self.runs[params.query]}")

    def spec(self, **changes: Any) -> AnyOperation:
        values = {
            "action": Action.ACCESS_CATALOG,
            "is_kept": True,
            "name": "search",
            "run": self.run,
            **changes,
        }
        values.setdefault("cost", Cost.READ)
        return make_tool(
            description="", params=Params, result=Result, text=lambda one: one.found, **values
        )

    def gate(self, size: int = 100, **named: Any) -> Gate:
        return Gate(Toolbox([self.spec()]), cache=AnswerCache(size), **named)


@pytest.fixture
def counted() -> Counted:
    return Counted()


def ask(gate: Gate, query: str = "sea", *, principal: Principal = READER, **more: Any) -> str:
    found = gate.call(principal, "search", {"query": query, **more})
    assert not found.is_error, found.text
    return found.text


def test_a_call_that_is_noted_durably_is_not_answered_as_it_begins(counted: Counted) -> None:
    gate = Gate(Toolbox([counted.spec(cost=Cost.SQL)]), cache=AnswerCache(5))
    ask(gate)
    assert gate.begin("search", AT_DESK, tool_params({"query": "sea"})).answer is None
    assert ask(gate) == "sea, run 1"


def test_a_question_is_the_same_however_its_defaults_are_spelt(counted: Counted) -> None:
    gate = counted.gate()
    ask(gate)
    ask(gate, limit=10)
    ask(gate, filters=None)
    gate.call(READER, "search", {"limit": 10, "query": "sea"})
    assert counted.runs == {"sea": 1}


@pytest.mark.parametrize(
    "more", [{"limit": 11}, {"filters": {}}, {"filters": {"year": 2000}}, {"query": "sea "}]
)
def test_another_question_is_worked_on(counted: Counted, more: dict[str, Any]) -> None:
    gate = counted.gate()
    ask(gate)
    gate.call(READER, "search", {"query": "sea", **more})
    assert counted.runs.total() == 2


@pytest.mark.row("T5")
@pytest.mark.parametrize("size", [1, 3])
def test_no_more_answers_are_kept_than_the_size(counted: Counted, size: int) -> None:
    gate = counted.gate(size)
    for number in range(10):
        ask(gate, f"q{number}")
    assert gate.cache is not None
    assert gate.cache.statistics().entries == size
    ask(gate, "q9")
    ask(gate, "q0")
    assert (counted.runs["q9"], counted.runs["q0"]) == (1, 2)


@pytest.mark.row("T5")
@pytest.mark.parametrize(("size", "runs"), [(0, 0), (1, 1), (100, 100)])
def test_the_size_is_the_one_that_is_configured_and_none_is_no_cache(
    plain_home: Path, size: int, runs: int
) -> None:
    app = App(Settings(home=plain_home, server=ServerSettings(cache_size=size)))
    gate = app.build_gate()
    assert (gate.cache.statistics().size if gate.cache else 0) == runs
    for _ in range(2):
        assert not gate.call(LOCAL_USER, "search_anime", {"query": "sea"}).is_error
    assert (gate.cache.statistics().hits if gate.cache else 0) == (1 if size else 0)
    app.close()


@pytest.fixture
def generic(shelved: Any, anime: Any) -> tuple[Any, Gate]:
    """A catalogue in memory, and the generic tools over it behind a gate with a cache."""
    shelved.put(anime("Sea Story"), anime("Land Story"))
    catalogue = open_shelf(shelved.shelf, shelved.embedder)
    return shelved, Gate(
        Toolbox(generic_tools([catalogue]), catalogues=[catalogue]), cache=AnswerCache(100)
    )


@pytest.mark.row("T5")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"query": "story"}),
        ("browse", {}),
        ("fetch", {"id": "anime/Sea Story"}),
        ("similar", {"id": "anime/Sea Story"}),
    ],
)
def test_after_a_change_the_same_question_is_answered_anew(
    generic: tuple[Any, Gate], anime: Any, tool: str, arguments: dict[str, Any]
) -> None:
    shelved, gate = generic
    before = gate.call(READER, tool, arguments).structured
    assert gate.call(READER, tool, arguments).structured == before
    shelved.put(anime("Sea Story", synopsis="now it has one"), anime("Another Story"))
    after = gate.call(READER, tool, arguments).structured
    assert after != before
    assert gate.cache is not None
    assert gate.cache.statistics().hits == 1


@pytest.mark.row("T5")
@pytest.mark.row("Z3")
def test_callers_share_answers_until_some_record_is_not_for_everybody(
    generic: tuple[Any, Gate], anime: Any
) -> None:
    shelved, gate = generic
    staff, guest = (
        replace(READER, name=name, visibility=Visibility(frozenset({name})))
        for name in ("staff", "guest")
    )

    def total(principal: Principal) -> int:
        found = gate.call(principal, "search", {"query": "story"}).structured
        assert found is not None
        return int(found["total"])

    assert (total(staff), total(guest)) == (2, 2)
    assert gate.cache is not None
    assert gate.cache.statistics().hits == 1
    shelved.put(replace(anime("Secret Story"), audiences=("staff",)))
    assert [total(one) for one in (staff, guest, staff, guest)] == [3, 2, 3, 2]
    assert gate.cache.statistics().hits == 3


@pytest.mark.row("T5")
def test_an_answer_that_was_made_while_something_changed_is_not_kept(
    shelved: Any, anime: Any, counted: Counted
) -> None:
    shelved.put(anime("Sea Story"))
    catalogue = open_shelf(shelved.shelf)
    gate = Gate(Toolbox([counted.spec()], catalogues=[catalogue]), cache=AnswerCache(10))
    counted.during = lambda: shelved.shelf.apply([Put(record=anime("Land Story"))]) and None
    ask(gate)
    counted.during = lambda: None
    assert [ask(gate), ask(gate)] == ["sea, run 2", "sea, run 2"]


@pytest.mark.row("T5")
@pytest.mark.row("A12")
def test_an_answer_by_words_alone_is_not_kept_until_the_embedder_is_well_again(
    embedding_server: Any, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path, embedding=embedding_server.settings())
    app, remote = App(settings), RemoteEmbedder(settings.embedding)
    app.embedder = GuardedEmbedder(remote)
    add_sample(app, "anime", progress=lambda _report: None)
    gate = app.build_gate()
    asked = {"query": "a journey over the sea", "limit": 3}

    def mode() -> str:
        found = gate.call(LOCAL_USER, "search_anime", asked).structured
        assert found is not None
        return str(found["searchMode"])

    embedding_server.mood = "500"
    before = embedding_server.requests
    assert [mode(), mode()] == ["fts_only", "fts_only"]
    assert embedding_server.requests > before + 1  # asked each time
    embedding_server.mood = "well"
    assert mode() == "hybrid"
    before = embedding_server.requests
    embedding_server.mood = "500"
    assert mode() == "hybrid"  # the good answer was kept
    assert embedding_server.requests == before
    app.close()
    remote.close()
