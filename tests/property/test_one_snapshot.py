"""An answer is of one moment, whatever is written between any two reads that it is made from."""

from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.catalogue.compiler import compile_text
from stackroom.errors import ExpectedError
from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record, RecordId, Tag
from stackroom.shelf.port import Change, Delete, Put, Shelf
from stackroom.tools.resources import generic_resources
from stackroom.tools.toolbox import Toolbox
from support.memory_shelf import MemoryShelf
from support.served import open_shelf

SPEC = compile_text(
    """
name = "things"
title = "Things"
summary = "For tests."
[fields]
title = { type = "text", role = "title", search = { boost = 0.25, fuzzy = true } }
body = { type = "text", role = "body", search = true }
tags = { type = "tag[]", search = true, filter = true, facet = true }
""",
    origin="test",
)
WORDS = ("robot", "story", "sea", "winter")
IDS = ("r1", "r2", "r3", "r4")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
records = st.builds(
    lambda name, title, body, tag: Record(
        id=RecordId(name), fields={"title": title, "body": body, "tags": (Tag("", tag),)}
    ),
    st.sampled_from(IDS),
    texts,
    texts,
    st.sampled_from(WORDS),
)
states = st.lists(
    st.lists(records, min_size=1, max_size=4, unique_by=lambda one: one.id),
    min_size=2,
    max_size=5,
    unique_by=repr,
)
"""The records of a catalogue, at one moment after the other."""


class Writer:
    """Takes a catalogue from each state to the next, over and over."""

    def __init__(self, shelf: MemoryShelf, states: Sequence[Sequence[Record]]) -> None:
        self._shelf = shelf
        self._states = states
        self._place = 0
        self._written: list[Record] = []

    def edit(self) -> None:
        """Make the next state the present one."""
        wanted = self._states[self._place % len(self._states)]
        self._place += 1
        gone = {one.id for one in self._written} - {one.id for one in wanted}
        changes: list[Change] = [Delete(record_id) for record_id in sorted(gone)]
        self._shelf.apply([*changes, *(Put(record=one) for one in wanted)])
        self._written = list(wanted)


class EditedBetweenReads:
    """A shelf of which something is edited before each view that it gives, and before each read of
    one.
    """

    spec = SPEC

    def __init__(self, shelf: MemoryShelf, writer: Writer) -> None:
        self._shelf = shelf
        self._writer = writer
        self.views: list[Any] = []

    def reader(self) -> Any:
        """Return a view of the present, of which every read has an edit before it."""
        self._writer.edit()
        self.views.append(self._shelf.reader())
        return _ReadAfterEdits(self.views[-1], self._writer)


class _ReadAfterEdits:
    def __init__(self, view: Any, writer: Writer) -> None:
        self._view = view
        self._writer = writer

    def __getattr__(self, name: str) -> Any:
        self._writer.edit()
        return getattr(self._view, name)


class Still:
    """A shelf that gives one view for ever."""

    spec = SPEC

    def __init__(self, view: Any) -> None:
        self._view = view

    def reader(self) -> Any:
        """Return the view."""
        return self._view


def gate_over(shelf: Any) -> Gate:
    served: Shelf = shelf
    catalogue = open_shelf(served)
    return Gate(Toolbox(generic_tools([catalogue]), generic_resources([catalogue])))


def ask(gate: Gate, question: tuple[str, str]) -> Any:
    """Return an answer, or the failure in its place."""
    tool, text = question
    try:
        match tool:
            case "search":
                return gate.call(LOCAL_USER, "search", {"query": text, "limit": 3}).structured
            case "browse":
                return gate.call(LOCAL_USER, "browse", {"search": text}).structured
            case "fetch":
                return gate.call(LOCAL_USER, "fetch", {"id": f"things/{text}"}).structured
        return gate.read(LOCAL_USER, f"stackroom://things/{text}").text
    except ExpectedError as error:
        return error.message


def questions() -> Iterator[Any]:
    yield st.tuples(st.sampled_from(("search", "browse", "read")), texts)
    yield st.tuples(st.sampled_from(("fetch", "read")), st.sampled_from(IDS))


@settings(max_examples=60, deadline=None)
@given(states=states, question=st.one_of(*questions()))
def test_an_answer_is_one_that_a_single_moment_gives(
    states: list[list[Record]], question: tuple[str, str]
) -> None:
    shelf = MemoryShelf(SPEC, model=None)
    busy = EditedBetweenReads(shelf, Writer(shelf, states))
    answer = ask(gate_over(busy), question)
    moments = [ask(gate_over(Still(view)), question) for view in busy.views]
    assert answer in moments
