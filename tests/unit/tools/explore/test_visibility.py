"""Result sets show nobody what they may not see: no record, no value, no count, no catalogue."""

from collections.abc import Callable
from typing import Any

import pytest

from pinakes.errors import NotFoundError
from pinakes.gate.explore import explore, explore_all, list_catalogues
from pinakes.gate.gate import CallContext, Gate
from pinakes.model.principal import LOCAL_USER, Principal
from pinakes.model.record import Record, RecordId
from pinakes.model.scope import Visibility
from pinakes.tools.explore.request import parse_address
from pinakes.tools.toolbox import Toolbox, ToolboxesByVisibility

OUTSIDER = Principal(name="eve", actions=LOCAL_USER.actions, visibility=Visibility(audiences=frozenset()))
SHUT_OUT = Principal(name="mallory", actions=LOCAL_USER.actions, visibility=Visibility(hidden=frozenset({"songs"})))


def record(name: str, year: int, mood: str, *, audiences: tuple[str, ...] = ()) -> Record:
    fields = {"title": name, "words": "A song about snow", "year": year, "moods": (mood,)}
    return Record(id=RecordId(name), kind="track", fields=fields, audiences=audiences)


@pytest.fixture
def gate(open_songs: Callable[..., Any]) -> Gate:
    """A gate over songs of which one is for the board alone."""
    songs = open_songs()
    songs.put(record("Open", 1998, "calm"), record("Secret", 2020, "hushed", audiences=("board",)))
    return Gate(ToolboxesByVisibility(["songs"], lambda names: Toolbox([], catalogues=[songs.opened] if names else [])))


def ask(gate: Gate, principal: Principal, **parameters: str) -> dict[str, Any]:
    context = CallContext(principal=principal, via="rest", operation="explore", target="songs", parameters={})
    return explore(
        gate, context, "songs", parse_address([("parts", "catalogue,hits,facets,keys"), *parameters.items()])
    )


@pytest.mark.row("N5")
@pytest.mark.parametrize("query", ["", "snow"])
def test_a_hidden_record_is_in_no_count_no_value_and_no_range(gate: Gate, query: str) -> None:
    found = ask(gate, OUTSIDER, q=query)
    assert (found["catalogue"]["records"], found["listed"], found["counted"]) == (1, 1, 1)
    assert found["keys"] == ["songs/Open"]
    facets = {one["field"]: one for one in found["facets"]}
    assert (facets["year"]["min"], facets["year"]["max"]) == (1998, 1998)
    assert [value["value"] for value in facets["moods"]["values"]] == ["calm"]
    assert "hushed" not in str(found)
    assert "Secret" not in str(found)
    seen = ask(gate, LOCAL_USER, q=query)
    assert seen["listed"] == 2, "the control: those who may see it do"
    assert "hushed" in str(seen)


@pytest.mark.row("N5")
def test_a_hidden_catalogue_is_in_no_list_and_unknown(gate: Gate) -> None:
    context = CallContext(principal=SHUT_OUT, via="rest", operation="explore", target="", parameters={})
    assert list_catalogues(gate, context) == []
    assert explore_all(gate, context, parse_address([("q", "snow")]))["hits"] == []
    with pytest.raises(NotFoundError):
        ask(gate, SHUT_OUT)
    open_to_all = CallContext(principal=LOCAL_USER, via="rest", operation="explore", target="", parameters={})
    assert [card["name"] for card in list_catalogues(gate, open_to_all)] == ["songs"]
