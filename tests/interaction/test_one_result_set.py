"""One query through every surface: the same records in the same order, with the same score, label
and counts.

The chat calls tools over the WebSocket, and the view inside an assistant draws the answer of the
tool as it is. The page asks over REST, with the parts that it draws.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from stackroom.model.principal import Action
from support import launching
from support.clients import Request
from support.hosting import Hosted

pytestmark = pytest.mark.row("N20")

ASSISTANT, CHAT, REST = "http 2026-07-28", "websocket 2026-07-28", "rest"
PARTS = ["tiles", "counts", "facets"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A search as an assistant asks it, as the page does, and by options of a command."""

    tool: dict[str, Any]
    page: dict[str, Any]
    options: list[str] | None = field(default_factory=list)
    """None: the terminal cannot ask it."""


MOOD = {"filters": {"type": ["MOVIE"], "year": {"min": 2011}}, "exclude": {"tags": ["horror"]}}
CASES = {
    "words": Case(tool={"query": "space adventure"}, page={"query": "space adventure"}),
    "a name": Case(tool={"query": "fulmetal alchemst"}, page={"query": "fulmetal alchemst"}),
    "sorted by a column": Case(
        tool={"query": "space adventure", "sort": "-year"},
        page={"query": "space adventure", "sort": "-year"},
        options=None,
    ),
    "filters only": Case(
        tool={"query": "*", "filters": {"type": ["MOVIE"]}},
        page={"query": "*", "filters": {"type": ["MOVIE"]}},
        options=["--type", "MOVIE"],
    ),
    "a mood with conditions": Case(
        tool={"query": "melancholy", **MOOD},
        page={"query": "melancholy films after 2010, not horror"},
        options=["--type", "MOVIE", "--year", "2011..", "--not-tags", "horror"],
    ),
    "nothing found": Case(tool={"query": "qwxzv blorp"}, page={"query": "qwxzv blorp"}),
}


@pytest.fixture(scope="module")
def askers(hosted: Hosted, connect: Any) -> Iterator[dict[str, Any]]:
    """A client of each kind, for the same person."""
    secret = hosted.accounts.token(hosted.accounts.user(Action.ACCESS_CATALOG, name="one-truth"))
    with ExitStack() as stack:
        yield {
            way: stack.enter_context(connect(way, hosted, secret))
            for way in (ASSISTANT, CHAT, REST)
        }


def ask(asker: Any, given: dict[str, Any]) -> dict[str, Any]:
    arguments = {"catalogue": "anime", "limit": 20, **given}
    reply = asker.ask(Request(operation="tools/call", target="search", arguments=arguments))
    assert reply.error is None, reply.message
    value: dict[str, Any] = reply.value
    return value


def ask_terminal(hosted: Hosted, query: str, options: list[str]) -> dict[str, Any]:
    environment = {**os.environ, "STACKROOM_HOME": str(hosted.server.home), "LOG_LEVEL": "ERROR"}
    ran = launching.run(
        "search", "anime", query, *options, "--limit", "20", "--json", environment=environment
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def shown(found: dict[str, Any]) -> Any:
    """Return what every surface must agree on."""
    records = [
        (one["id"], one["title"], one["score"], one["relevance"]) for one in found["results"]
    ]
    return records, found["total"], found["evidence"], found["has_more"]


@pytest.mark.parametrize("name", CASES)
def test_every_surface_has_the_same_order_score_label_and_counts(
    name: str, askers: dict[str, Any], hosted: Hosted
) -> None:
    case = CASES[name]
    expected = ask(askers[ASSISTANT], case.tool)
    assert expected["results"] or name == "nothing found"
    answers = {way: ask(askers[way], case.tool) for way in (CHAT, REST)}
    page = ask(askers[REST], {**case.page, "read_conditions": True, "include": PARTS})
    if case.options is not None:
        answers["terminal"] = ask_terminal(hosted, case.tool["query"], case.options)
        assert answers["terminal"]["listed"] == page["listed"]
    for surface, answer in {**answers, "page": page}.items():
        assert shown(answer) == shown(expected), surface
    assert all(one["tile"] for one in page["results"])
    scores = [one["score"] for one in page["results"]]
    assert "sort" in case.tool or scores == sorted(scores, reverse=True)


def test_a_sorted_search_begins_with_what_answers(askers: dict[str, Any]) -> None:
    found = ask(askers[ASSISTANT], {**CASES["sorted by a column"].tool, "limit": 50})
    answers = [one["relevance"] is not None for one in found["results"]]
    assert answers == sorted(answers, reverse=True)
