"""Questions in plain words, asked of every surface that searches, and held against what the records
say.

A TOML file of a folder names its catalogue; each of its `[[questions]]` says what a right answer
has.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from stackroom.assembly.app import App, gate_over
from stackroom.assembly.serving import ToolChoice
from stackroom.cli.ask import search_params
from stackroom.errors import InputError
from stackroom.gate.gate import Gate
from stackroom.generic import tools
from stackroom.generic.shapes import SearchParams
from stackroom.model.hits import STRONG_AT, Evidence
from stackroom.model.principal import LOCAL_USER
from stackroom.toml_text import parse_toml
from stackroom.tools.spec import FoundResult

DEPTH = 5  # the first hits, among which a record that is expected has to be
NOT_UNDERSTOOD = re.compile(r"not understood|not applied|cannot be checked|left aside")
"""The words of a note which says that a part of the question has no effect."""
IN_ALL = re.compile(r"([\d,]+) records? in all")
TOTALS = ("total", "totalMatches")

# asks a question in one way; returns the structured answer
Surface = Callable[[str], Mapping[str, Any]]


class PlainQuestion(BaseModel):
    """`[[questions]]` of a file: a query, and all that a right answer has; `kind` groups the
    figures.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query: str = Field(min_length=1)
    kind: str = ""
    expect: list[str] = []
    """Ids, titles or paths of documents, one of which is among the first five hits."""
    first: list[str] = []
    """Those of which one is the first hit."""
    filters: dict[str, Any] = {}
    """What the first hit and every strong one meet, as in the tool `search`."""
    exclude: dict[str, Any] = {}
    count: int | None = None
    """How many records there are, as the answer's total or in a note."""
    none: bool = False
    """Whether no record answers."""

    @model_validator(mode="after")
    def _expects_something(self) -> Self:
        if self.none == any(
            (self.expect, self.first, self.filters, self.exclude, self.count is not None)
        ):
            raise ValueError(f"'{self.query}' states either none = true or what a right answer has")
        return self


class PlainQuestions(BaseModel):
    """A whole file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    catalogue: str
    surfaces: list[str] = []
    """The tools to ask, and `terminal`; all of them where none is named."""
    questions: list[PlainQuestion] = Field(min_length=1)


class Verdict(StrEnum):
    """How an answer turned out."""

    RIGHT = "right"
    # not right, and a note says that a part of the question was not understood
    NOT_UNDERSTOOD = "not understood"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How one surface answered a question."""

    catalogue: str
    surface: str
    query: str
    kind: str
    verdict: Verdict
    contradictions: list[str]  # the titles of strong hits that do not meet what the question states
    evidence: str
    notes: list[str]
    shown: list[str]  # the titles of the first hits


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHit:
    """A record as an answer lists it."""

    id: str
    title: str
    is_strong: bool

    def is_one_of(self, named: Sequence[str]) -> bool:
        """Tell whether it is named by its id, its title or the document that it is a passage of."""
        return any(name in (self.id, self.title, self.id.partition("#")[0]) for name in named)


def load_plain_questions(folder: Path) -> list[PlainQuestions]:
    """Read every file of a folder, in the order of their names."""
    return [
        PlainQuestions.model_validate(parse_toml(path.read_text(encoding="utf-8")))
        for path in sorted(folder.glob("*.toml"))
    ]


def build_surfaces(app: App, catalogue: str) -> dict[str, Surface]:
    """Return the tools that search, `search` and those of the catalogue's own, and the terminal."""
    gate = app.build_gate((catalogue,), tools=ToolChoice.ALL)
    tools = [
        tool.name
        for tool in gate.list_tools(LOCAL_USER)
        if issubclass(tool.operation.result, FoundResult)
    ]
    called = {name: partial(_call, gate, name) for name in tools}
    return {**called, "terminal": partial(_search_at_terminal, app, catalogue)}


def _call(gate: Gate, tool: str, query: str) -> Mapping[str, Any]:
    answer = gate.call(LOCAL_USER, tool, {"query": query})
    if answer.structured is None:
        raise InputError(f"{tool} does not answer '{query}': {answer.text}")
    return answer.structured


def _search_at_terminal(app: App, catalogue: str, query: str) -> Mapping[str, Any]:
    opened = app.open_catalogue(catalogue)
    params = search_params(query, (), [opened.spec], with_adult=False)
    return gate_over(opened).ask(tools.search, params).model_dump(mode="json")


def ask_plain_questions(
    app: App, asked: PlainQuestions, surfaces: Mapping[str, Surface]
) -> Iterator[Judgement]:
    """Ask each question of each surface, and judge the answers."""
    for question in asked.questions:
        matching = _find_matching(app, asked.catalogue, question)
        for name in asked.surfaces or surfaces:
            answer = surfaces[name](question.query)
            hits, notes, verdict = (
                list_hits(answer, asked.catalogue),
                _notes_of(answer),
                Verdict.WRONG,
            )
            against = [
                hit.title
                for hit in hits
                if hit.is_strong and matching is not None and hit.id not in matching
            ]
            if not against and _is_right(question, answer, hits, matching):
                verdict = Verdict.RIGHT
            elif not against and any(NOT_UNDERSTOOD.search(note) for note in notes):
                verdict = Verdict.NOT_UNDERSTOOD
            yield Judgement(
                catalogue=asked.catalogue,
                surface=name,
                query=question.query,
                kind=question.kind,
                verdict=verdict,
                contradictions=against,
                evidence=answer["evidence"],
                notes=notes,
                shown=[hit.title for hit in hits[:DEPTH]],
            )


def _find_matching(app: App, catalogue: str, question: PlainQuestion) -> frozenset[str] | None:
    """Return the ids of all records that meet what a question states; None where it states no
    conditions.
    """
    if not (question.filters or question.exclude):
        return None
    listing = SearchParams(
        query="*", filters=question.filters, exclude=question.exclude, include=["keys"]
    )
    found = gate_over(app.open_catalogue(catalogue)).ask(tools.search, listing)
    return frozenset(key.removeprefix(f"{catalogue}/") for key in found.keys or ())


def list_hits(answer: Mapping[str, Any], catalogue: str) -> list[ListedHit]:
    """Return the records of an answer in their order; those of several lists, as by kind, by their
    score.
    """
    lists = list(_iter_lists(answer))
    listed = [hit for hits in lists for hit in hits]
    if len(lists) > 1:
        listed.sort(key=lambda hit: -hit["score"])
    return [
        ListedHit(
            id=str(hit["id"]).removeprefix(f"{catalogue}/"),
            title=hit.get("title") or hit.get("name") or "",
            is_strong=hit["score"] >= STRONG_AT and hit.get("relevance", "") is not None,
        )
        for hit in listed
    ]


def _iter_lists(value: Any) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the lists of scored records anywhere in an answer; a passage has its id and score in
    its metadata.
    """
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _iter_lists(inner)
    elif isinstance(value, list):
        records = [item.get("metadata", item) for item in value if isinstance(item, Mapping)]
        scored = [record for record in records if "score" in record and "id" in record]
        if scored:
            yield scored


def _is_right(
    question: PlainQuestion,
    answer: Mapping[str, Any],
    hits: Sequence[ListedHit],
    matching: frozenset[str] | None,
) -> bool:
    is_empty = not hits or answer["evidence"] == Evidence.NONE
    if question.none:
        return is_empty
    if question.count is not None and question.count not in _figures_of(answer):
        return False
    if is_empty:
        return question.count is not None and not (question.expect or question.first)
    return (
        (not question.expect or any(hit.is_one_of(question.expect) for hit in hits[:DEPTH]))
        and (not question.first or hits[0].is_one_of(question.first))
        and (matching is None or hits[0].id in matching)
    )


def _figures_of(answer: Mapping[str, Any]) -> set[int]:
    """Return the counts that an answer states: its totals, of each kind and in sum, and those of
    its notes.
    """
    parts = [part for part in (answer, *answer.values()) if isinstance(part, Mapping)]
    totals = [part[name] for part in parts for name in TOTALS if part.get(name) is not None]
    noted = [
        int(figure.replace(",", ""))
        for note in _notes_of(answer)
        for figure in IN_ALL.findall(note)
    ]
    return {*totals, sum(totals), *noted}


def _notes_of(answer: Mapping[str, Any]) -> list[str]:
    return [*(answer.get("notes") or ()), *filter(None, [answer.get("hint")])]
