"""Questions about a small table: what is read as a condition, an order or a number, and what is
left as words.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import gate_over
from stackroom.catalogue.compiler import compile_text
from stackroom.generic import tools
from stackroom.generic.shapes import SearchParams
from stackroom.model.record import Record, RecordId, Tag
from stackroom.shelf.port import Put
from support.memory_shelf import MemoryShelf
from support.served import open_shelf

pytestmark = pytest.mark.row("N2", "N8", "N18", "P1", "J2")

GAMES = """
name = "games"
title = "Games"
summary = "Games to play."
[fields]
name = { type = "text", role = "title", search = { boost = 0.25, fuzzy = true } }
form = { type = "text", filter = "equals", facet = true, search = true }
country = { type = "text", filter = "equals", facet = true, search = true, role = "place" }
makers = { type = "text[]", filter = "any-of", facet = true, search = true, role = "people" }
moods = { type = "tag[]", filter = "all-of", facet = true, search = true }
minutes = { type = "int", filter = "range" }
players_min = { type = "int", filter = "range" }
players_max = { type = "int", filter = "range" }
price_eur = { type = "float", filter = "range" }
average_rating = { type = "float", filter = "range" }
year = { type = "int", role = "time", filter = "range" }
about = { type = "text", role = "body", search = true }
weight_class = { type = "text", filter = "equals", facet = true }
casing = { type = "text", filter = "equals", facet = true }
min_age = { type = "int", filter = "range" }
users_rated = { type = "int", filter = "range" }
tricky = { type = "int", filter = "range" }
"""
ROWS = (
    (
        "Harbour",
        "board",
        "Germany",
        "Klaus Teuber",
        "calm",
        45,
        2,
        4,
        18.5,
        7.1,
        2015,
        "Ships and cranes by the sea.",
    ),
    (
        "Night Mail",
        "card",
        "France",
        "Bruno A. Cathala",
        "tense",
        20,
        2,
        6,
        9.9,
        6.4,
        1994,
        "Letters on a train.",
    ),
    (
        "Salt",
        "board",
        "Germany",
        "Klaus Teuber",
        "tense",
        180,
        3,
        5,
        64.0,
        8.2,
        2019,
        "Empires trade salt by the sea.",
    ),
    (
        "Doors",
        "card",
        "Japan",
        "Hisashi Hayashi",
        "calm",
        15,
        1,
        1,
        7.5,
        5.9,
        1928,
        "A puzzle of doors and a dragon.",
    ),
    (
        "Orchard",
        "dice",
        "Japan",
        "Hisashi Hayashi",
        "funny",
        30,
        2,
        8,
        14.0,
        7.7,
        2004,
        "Apples, ladders and rain.",
    ),
)
NAMES = (
    "name",
    "form",
    "country",
    "makers",
    "moods",
    "minutes",
    "players_min",
    "players_max",
    "price_eur",
)
MORE = {
    "Harbour": ("-60", "boxed", 8, 100, 2),
    "Night Mail": ("+60", "boxed", 10, 200, 3),
    "Salt": ("+60", "boxed", 14, 300, 5),
    "Doors": ("+60", "boxless", 12, 900, 1),
    "Orchard": ("+60", "boxed", 6, 50, 4),
}
CASES = tomllib.loads(Path(__file__).with_name("questions.toml").read_text())


def record(row: tuple[Any, ...]) -> Record:
    fields = dict(zip((*NAMES, "average_rating", "year", "about"), row, strict=True))
    fields |= dict(
        zip(
            ("weight_class", "casing", "min_age", "users_rated", "tricky"),
            MORE[row[0]],
            strict=True,
        )
    )
    return Record(
        id=RecordId(row[0]),
        fields={**fields, "makers": [fields["makers"]], "moods": (Tag("", fields["moods"]),)},
    )


@pytest.fixture(scope="module")
def ask() -> Any:
    shelf = MemoryShelf(compile_text(GAMES, origin="games.toml"))
    shelf.apply([Put(record=record(row)) for row in ROWS])
    gate = gate_over(open_shelf(shelf))
    return lambda query, **more: gate.ask(
        tools.search, SearchParams(query=query, include=["counts"], **more)
    )


@pytest.mark.parametrize(("question", "expected"), CASES["answers"].items())
def test_all_records_that_meet_what_a_question_states_answer_it(
    ask: Any, question: str, expected: list[str]
) -> None:
    found = ask(question)
    assert {one.title for one in found.results} == set(expected)
    assert (found.total, found.evidence) == (len(expected), "strong")
    assert any("is read as" in note for note in found.notes)


@pytest.mark.parametrize(("question", "first"), CASES["orders"].items())
def test_a_superlative_asks_for_an_order(ask: Any, question: str, first: str) -> None:
    found = ask(question)
    assert found.results[0].title == first
    assert any("sorted by" in note for note in found.notes)


@pytest.mark.parametrize(("question", "note"), CASES["notes"].items())
def test_what_is_counted_or_cannot_be_checked_is_said(ask: Any, question: str, note: str) -> None:
    found = ask(question)
    assert note in found.notes
    assert found.evidence != "strong" or question.startswith("how many")


@pytest.mark.parametrize(
    ("question", "phrase", "last"),
    [
        ("games without salt empires", "without salt empires", "Salt"),
        ("games, except ships and cranes", "except ships and cranes", "Harbour"),
        ("cheapest games, no apples", "no apples", "Orchard"),
    ],
)
def test_a_record_with_words_that_are_refused_is_no_strong_answer(
    ask: Any, question: str, phrase: str, last: str
) -> None:
    found = ask(question)
    assert (found.results[-1].title, found.results[-1].relevance) == (last, "RELEVANT")
    assert {one.relevance for one in found.results[:-1]} == {"HIGHLY_SIMILAR"}
    assert (
        f"'{phrase}' cannot be checked here but by its words: records that have them come last"
        in found.notes
    )


@pytest.mark.parametrize(
    "query", ['"games under €10"', "harbour", "ships by the sea", "letters on a train"]
)
def test_quoted_queries_names_and_plain_words_state_nothing(ask: Any, query: str) -> None:
    assert ask(query).understood.phrases == []


def test_filters_go_before_words_and_reading_can_be_turned_off(ask: Any) -> None:
    found = ask("card games", filters={"form": ["board"]})
    assert {one.title for one in found.results} == {"Harbour", "Salt"}
    assert "'card' was left aside: it does not go with what you chose under Form" in found.notes
    assert ask("games under €10", read_conditions=False).understood.phrases == []
