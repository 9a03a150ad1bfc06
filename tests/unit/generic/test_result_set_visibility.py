"""Result sets show nobody what they may not see: no record, no value, no count, no catalogue."""

from collections.abc import Callable
from typing import Any

import pytest

from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER, Principal
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Visibility
from stackroom.tools.toolbox import Toolbox, ToolboxesByVisibility

OUTSIDER = Principal(
    name="eve", actions=LOCAL_USER.actions, visibility=Visibility(audiences=frozenset())
)
SHUT_OUT = Principal(
    name="mallory", actions=LOCAL_USER.actions, visibility=Visibility(hidden=frozenset({"songs"}))
)


def record(name: str, year: int, mood: str, *, audiences: tuple[str, ...] = ()) -> Record:
    fields = {"title": name, "words": "A song about snow", "year": year, "moods": (mood,)}
    return Record(id=RecordId(name), kind="track", fields=fields, audiences=audiences)


@pytest.fixture
def gate(open_songs: Callable[..., Any]) -> Gate:
    """A gate over songs of which one is for the board alone."""
    songs = open_songs()
    songs.put(record("Open", 1998, "calm"), record("Secret", 2020, "hushed", audiences=("board",)))

    def make(names: tuple[str, ...]) -> Toolbox:
        catalogues = [songs.opened] if names else []
        return Toolbox(generic_tools(catalogues) if names else [], catalogues=catalogues)

    return Gate(ToolboxesByVisibility(["songs"], make))


def ask(gate: Gate, principal: Principal, query: str) -> dict[str, Any]:
    given = {"query": query, "catalogue": "songs", "include": ["tiles", "counts", "facets", "keys"]}
    answer = gate.call(principal, "search", given)
    assert answer.structured is not None, answer.text
    return answer.structured


@pytest.mark.row("N5")
@pytest.mark.parametrize("query", ["*", "snow"])
def test_a_hidden_record_is_in_no_count_no_value_and_no_range(gate: Gate, query: str) -> None:
    found = ask(gate, OUTSIDER, query)
    assert (found["listed"], found["left_out"]) == (1, {"adult": 0, "hidden": 0, "filtered": 0})
    assert found["keys"] == ["songs/Open"]
    facets = {one["field"]: one for one in found["facets"]}
    assert (facets["year"]["min"], facets["year"]["max"]) == (1998, 1998)
    assert [value["value"] for value in facets["moods"]["values"]] == ["calm"]
    assert "hushed" not in str(found)
    assert "Secret" not in str(found)
    overview = gate.call(OUTSIDER, "browse", {"include": ["fields"]}).structured
    assert overview is not None
    assert overview["catalogues"][0]["records"] == 1
    seen = ask(gate, LOCAL_USER, query)
    assert seen["listed"] == 2, "the control: those who may see it do"
    assert "hushed" in str(seen)


@pytest.mark.row("N5")
def test_a_hidden_catalogue_has_no_tools(gate: Gate) -> None:
    assert gate.list_tools(SHUT_OUT) == []
    assert "search" in [tool.name for tool in gate.list_tools(LOCAL_USER)]
