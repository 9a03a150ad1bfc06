"""Reads of the page: safe to show, tried again where storage fails, and without adult records that nobody asked for."""

from dataclasses import replace
from typing import Any

import pytest

from pinakes.errors import StorageError
from pinakes.gate.explore import explore, list_catalogues
from pinakes.gate.gate import CallContext, Gate
from pinakes.gate.page import read_record, read_similar, read_taste
from pinakes.model.principal import LOCAL_USER
from pinakes.tools.explore.request import parse_address
from pinakes.tools.page.taste import TasteQuestion
from pinakes.tools.toolbox import Toolbox
from support.libraries import Shelved
from support.stories import SPEC, make_story, open_stories

SNOW = "a long road through snow and ice"
CONTEXT = CallContext(principal=LOCAL_USER, via="rest", operation="page", target="stories", parameters={})
ADULT = replace(SPEC, adult={"moods": ("lewd",)})


@pytest.fixture
def shelved() -> Shelved:
    """Stories of which two are for adults, and one has a text that reorders what is around it."""
    shelved = Shelved(spec=ADULT)
    shelved.put(*(make_story(f"Lewd {one}", SNOW, moods=("lewd",)) for one in (1, 2)))
    shelved.put(make_story("Road", SNOW, moods=("cold",)), make_story("Ice", f"{SNOW}\u202egnihton", moods=("cold",)))
    return shelved


@pytest.fixture
def gate(shelved: Shelved) -> Gate:
    """A gate over these stories."""
    catalogue = replace(open_stories(), spec=ADULT, shelf=shelved.shelf)
    return Gate(Toolbox([], catalogues=[catalogue]))


def test_adult_records_are_in_no_queries_to_begin_with_and_similar_only_to_one_of_them(gate: Gate) -> None:
    (card,) = list_catalogues(gate, CONTEXT)
    assert "Road" in card["samples"]
    assert "lewd" not in str(card["samples"]).lower()
    assert [hit["id"] for hit in read_similar(gate, CONTEXT, "stories", "Road")["hits"]] == ["Ice"]
    assert "Lewd 2" in [hit["id"] for hit in read_similar(gate, CONTEXT, "stories", "Lewd 1")["hits"]]


def test_whatever_the_page_reads_is_safe_to_show(gate: Gate) -> None:
    reads: list[Any] = [
        explore(gate, CONTEXT, "stories", parse_address([("q", "ice")])),
        read_record(gate, CONTEXT, "stories", "Ice"),
        read_similar(gate, CONTEXT, "stories", "Road"),
        read_taste(gate, CONTEXT, "stories", TasteQuestion(likes=["Road"])),
    ]
    for one in reads:
        assert "gnihton" in str(one)
        assert "\u202e" not in str(one)


def test_a_read_that_fails_in_storage_once_is_answered(
    gate: Gate, shelved: Shelved, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures, reader = [StorageError("the disk is busy")], shelved.shelf.reader

    def read() -> Any:
        if failures:
            raise failures.pop()
        return reader()

    monkeypatch.setattr(shelved.shelf, "reader", read)
    assert read_record(gate, CONTEXT, "stories", "Road")["hit"]["id"] == "Road"
    assert not failures
