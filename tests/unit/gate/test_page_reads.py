"""Reads of the page: safe to show, and without adult records that nobody asked for."""

from dataclasses import replace
from typing import Any

import pytest

from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER
from stackroom.tools.toolbox import Toolbox
from support.libraries import Shelved
from support.stories import SPEC, make_story, open_stories

SNOW = "a long road through snow and ice"
ADULT = replace(SPEC, adult={"moods": ("lewd",)})


@pytest.fixture
def shelved() -> Shelved:
    """Stories of which two are for adults, and one has a text that reorders what is around it."""
    shelved = Shelved(spec=ADULT)
    shelved.put(*(make_story(f"Lewd {one}", SNOW, moods=("lewd",)) for one in (1, 2)))
    shelved.put(
        make_story("Road", SNOW, moods=("cold",)),
        make_story("Ice", f"{SNOW}\u202egnihton", moods=("cold",)),
    )
    return shelved


@pytest.fixture
def gate(shelved: Shelved) -> Gate:
    """A gate over these stories."""
    catalogue = replace(open_stories(), spec=ADULT, shelf=shelved.shelf)
    return Gate(Toolbox(generic_tools([catalogue]), catalogues=[catalogue]))


def call(gate: Gate, tool: str, **given: Any) -> Any:
    answer = gate.call(LOCAL_USER, tool, given)
    assert answer.structured is not None, answer.text
    return answer.structured


def test_adult_records_are_in_no_queries_to_begin_with_and_similar_only_to_one_of_them(
    gate: Gate,
) -> None:
    (catalogue,) = call(gate, "browse", include=["fields"])["catalogues"]
    overview = catalogue["overview"]
    assert "Road" in overview["samples"]
    assert "lewd" not in str(overview["samples"]).lower()
    assert (catalogue["records"], overview["listed"], overview["left_out"]["adult"]) == (4, 2, 2)
    assert [one["title"] for one in call(gate, "similar", id="stories/Road")["results"]] == ["Ice"]
    assert "Lewd 2" in [
        one["title"] for one in call(gate, "similar", id="stories/Lewd 1")["results"]
    ]
