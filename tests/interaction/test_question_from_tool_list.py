"""Questions about tables of one's own, each answered by one call that is built from the published
tool list alone.

The reader of the tool list below knows JSON schema, the form of the published descriptions and a
few words that mean the same; it knows nothing of the tables, their specs or their fields.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio.from_thread
import pytest
from mcp import Client

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, own_recipe
from stackroom.ingest.proposal import profile_table
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom.sources.opener import open_source
from support.clients import McpAsker, Request, always, build_server

pytestmark = [pytest.mark.row("N1"), pytest.mark.row("N8")]

Row = Mapping[str, str]

FILES = sorted((Path(__file__).parent / "own_tables").glob("*.csv"))
TABLES = {file.stem: file.read_text(encoding="utf-8") for file in FILES}


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A part of a question: the words for what is limited, and the limit."""

    words: tuple[str, ...]
    least: Any = None
    most: Any = None
    value: str | None = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about a table, its parts, and which rows answer it."""

    text: str
    about: str
    wishes: tuple[Wish, ...]
    is_answer: Callable[[Row], bool]


PRICE, SCORE = ("price", "cost"), ("points", "score", "rating", "vote")
YEAR, LENGTH = ("year", "date", "published", "released"), ("runtime", "minutes", "time", "duration")
QUESTIONS = [
    Question(
        text="Which of my wines under $20 scored 90 or more?",
        about="wines",
        wishes=(Wish(words=PRICE, most=20), Wish(words=SCORE, least=90)),
        is_answer=lambda row: int(row["price"]) <= 20 and int(row["points"]) >= 90,
    ),
    Question(
        text="Which books by Haruki Murakami after 2000 are rated above 4?",
        about="books",
        wishes=(
            Wish(words=("author", "writer"), value="Haruki Murakami"),
            Wish(words=YEAR, least=2001),
            Wish(words=SCORE, least=4),
        ),
        is_answer=lambda row: (
            row["authors"] == "Haruki Murakami"
            and int(row["publication_year"]) > 2000
            and float(row["average_rating"]) > 4
        ),
    ),
    Question(
        text="Which of the films since 2010 are thrillers of less than 100 minutes?",
        about="films",
        wishes=(
            Wish(words=YEAR, least="2010"),
            Wish(words=("genre", "kind", "tag"), value="Thriller"),
            Wish(words=LENGTH, most=100),
        ),
        is_answer=lambda row: (
            row["release_date"] >= "2010"
            and "Thriller" in row["genres"]
            and int(row["runtime"].split()[0]) < 100
        ),
    ),
    Question(
        text="Which games rated 7.5 or more take at most 45 minutes?",
        about="games",
        wishes=(Wish(words=SCORE, least=7.5), Wish(words=LENGTH, most=45)),
        is_answer=lambda row: float(row["rating_average"]) >= 7.5 and int(row["play_time"]) <= 45,
    ),
    Question(
        text="Which cheeses of goat's milk have at most 30 % fat?",
        about="cheeses",
        wishes=(Wish(words=("milk",), value="goat"), Wish(words=("fat",), most=30)),
        is_answer=lambda row: row["milk"] == "goat" and int(row["fat_content"].split()[0]) <= 30,
    ),
]


@dataclass(frozen=True, kw_only=True)
class OfferedFilter:
    """A filter that the tool list offers, and whether it takes a range."""

    name: str
    is_range: bool


def offered_filters(schema: Mapping[str, Any], catalogue: str) -> list[OfferedFilter]:
    """Read the filters of a catalogue from the schema of a tool, or else from the words of its
    description.
    """
    filters = schema["properties"]["filters"]
    if "properties" in filters:
        forms = {name: _resolved(form, schema) for name, form in filters["properties"].items()}
        return [
            OfferedFilter(name=name, is_range="min" in form.get("properties", {}))
            for name, form in forms.items()
        ]
    entries = dict(
        entry.split(": ", 1) for entry in filters["description"].split("; ") if ": " in entry
    )
    stated = next(fields for names, fields in entries.items() if catalogue in names.split(", "))
    first_words = [field.split()[0] for field in stated.split(", ")]
    return [
        OfferedFilter(name=word.removesuffix("*"), is_range=word.endswith("*"))
        for word in first_words
    ]


def _resolved(form: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (
        schema["$defs"][form["$ref"].rsplit("/", 1)[1]] if "$ref" in form else form
    )
    return found


def build_call(tool: Mapping[str, Any], question: Question) -> dict[str, Any]:
    """Build the call that answers a question from what the tool list says."""
    schema = tool["inputSchema"]
    assert re.search(r"\* lists", tool["description"]), (
        "the description says how to ask for all that fits"
    )
    names = schema["properties"]["catalogue"]["enum"]
    (catalogue,) = [name for name in names if name in question.text]
    offered = offered_filters(schema, catalogue)
    filters = dict(_filter_for(wish, offered) for wish in question.wishes)
    return {"query": "*", "catalogue": catalogue, "filters": filters}


def _filter_for(wish: Wish, offered: Sequence[OfferedFilter]) -> tuple[str, Any]:
    wanted = [one for one in offered if one.is_range is (wish.value is None)]
    name = next(one.name for word in wish.words for one in wanted if word in one.name)
    if wish.value is not None:
        return name, [wish.value]
    bounds = {"min": wish.least, "max": wish.most}
    return name, {bound: value for bound, value in bounds.items() if value is not None}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Ten tables, each added as it is proposed, without vectors."""
    home = tmp_path_factory.mktemp("own")
    app = App(Settings(home=home / "library"))
    for file in FILES:
        source = open_source(str(file))
        recipe = own_recipe(profile_table(source).propose(name=file.stem).loaded)
        add_catalogue(
            app, source, recipe=recipe, name=file.stem, progress=lambda _report: None, embed=False
        )
    yield app
    app.close()


@contextmanager
def client_of(app: App, names: Sequence[str]) -> Iterator[McpAsker]:
    """A client of a server of these catalogues."""
    gate = app.build_gate(names)
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            Client(build_server(lambda: gate, always(LOCAL_USER)))
        ) as client,
    ):
        yield McpAsker(client, portal)


def answering_titles(question: Question) -> list[str]:
    rows = list(csv.DictReader(TABLES[question.about].splitlines()))
    title = next(name for name in ("title", "name", "cheese") if name in rows[0])
    return sorted(row[title] for row in rows if question.is_answer(row))


@pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "among ten"])
@pytest.mark.parametrize("question", QUESTIONS, ids=[question.about for question in QUESTIONS])
def test_a_question_with_limits_is_answered_by_one_call_that_the_tool_list_alone_suffices_to_build(
    library: App, question: Question, is_alone: bool
) -> None:
    with client_of(library, [question.about] if is_alone else list(TABLES)) as asker:
        tools = {tool["name"]: tool for tool in asker.ask(Request(operation="tools/list")).value}
        call = build_call(tools["search"], question)
        reply = asker.ask(Request(operation="tools/call", target="search", arguments=call))
    assert reply.error is None, reply.message
    assert sorted(one["title"] for one in reply.value["results"]) == answering_titles(question), (
        json.dumps(call)
    )
    assert reply.value["total"] == len(answering_titles(question)) > 0
    limited = set(call["filters"])
    assert all(limited <= set(one["fields"]) for one in reply.value["results"]), (
        "each result shows what was asked for"
    )


def test_the_tool_list_of_ten_tables_stays_small(library: App) -> None:
    with client_of(library, list(TABLES)) as asker:
        tools = asker.ask(Request(operation="tools/list")).value
    assert len(json.dumps(tools, ensure_ascii=False).encode()) <= 6_144


def test_instructions_say_of_each_table_how_many_records_it_has_and_what_tells_most_about_them(
    library: App,
) -> None:
    told = library.build_gate(list(TABLES)).instructions(LOCAL_USER)
    assert "wines (8) = Wines: with winery, variety, country, points, price" in told
    assert "towns (2) = Towns: with country, population, elevation" in told
