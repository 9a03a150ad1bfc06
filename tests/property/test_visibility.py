"""Whatever is kept from a caller, they get what they would get if it had never been there.

Catalogues that are hidden leave no trace at all, and neither do records that are for others: not in
a ranking, a count or a score, which goes by how rare words are among what the caller sees.
"""

import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.catalogue.codec import digest_of
from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec, embedding_text
from stackroom.control.control import Control
from stackroom.errors import ExpectedError
from stackroom.gate.answer import Answer, AnswerCache
from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.model.principal import LOCAL_USER, Action, Principal
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import SEES_EVERYTHING, Visibility
from stackroom.model.vectors import ModelId
from stackroom.settings import Settings
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Embedding, Put
from stackroom.tools.catalogue import OpenCatalogue
from stackroom.tools.resources import generic_resources
from stackroom.tools.toolbox import Toolbox, ToolboxesByVisibility
from support.embedders import WordEmbedder
from support.memory_shelf import MemoryShelf
from support.served import open_shelf

SPEC = """
name = "things"
title = "Things"
summary = "For tests."
[fields]
title = { type = "text", role = "title", search = { boost = 0.25, fuzzy = true } }
body = { type = "text", role = "body", search = true }
tags = { type = "tag[]", search = true, filter = true, facet = true }
colour = { type = "text", filter = true, facet = true }
[embed]
template = "{title}. {body}"
"""
MODEL = ModelId(name="m", dimension=16)
NAMES = ("birds", "bards", "boats", "books")
WORDS = ("robot", "story", "sea", "winter", "song", "king", "river")
VALUES = ("Mecha", "Drama", "two words")
AUDIENCES = ("staff", "press", "user:ada")
ROLES = ("user", "editor", "agent")
USERS = ("ada", "bob")
DRAWN = ["tiles", "cells", "counts", "facets", "keys", "fields"]
"""Everything that only pages are given."""

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
names = st.frozensets(st.sampled_from(NAMES))


@st.composite
def records(draw: st.DrawFn) -> Record:
    fields = {
        "title": draw(texts),
        "body": draw(texts),
        "tags": tuple(
            Tag("", one) for one in draw(st.lists(st.sampled_from(VALUES), max_size=2, unique=True))
        ),
        "colour": draw(st.sampled_from(VALUES)),
    }
    return Record(
        id=RecordId(f"r{draw(st.integers(0, 9))}"),
        fields=fields,
        audiences=tuple(draw(st.lists(st.sampled_from(AUDIENCES), max_size=2, unique=True))),
    )


libraries = st.fixed_dictionaries(
    {name: st.lists(records(), max_size=8, unique_by=lambda one: one.id) for name in NAMES}
)
"""The records of each catalogue."""
sights = st.builds(
    Visibility,
    audiences=st.none() | st.frozensets(st.sampled_from(AUDIENCES)),
    only=st.none() | names,
    hidden=names,
)
restrictions = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(st.frozensets(st.sampled_from(USERS)), st.frozensets(st.sampled_from(ROLES))),
)


USUAL = settings.get_profile("fixed").max_examples
EMBEDDER = WordEmbedder(MODEL)


def spec_of(name: str) -> CatalogueSpec:
    """Return a catalogue's declaration; each has a field that only it has, so that schemas
    differ.
    """
    more = f'[fields.only_{name}]\ntype = "text"\nfilter = true\nfacet = true\n[embed]'
    return compile_text(SPEC.replace("things", name).replace("[embed]", more), origin="test")


SPECS = {name: spec_of(name) for name in NAMES}


def opened(name: str, records: Sequence[Record], folder: Path | None = None) -> OpenCatalogue:
    spec = SPECS[name]
    shelf = (
        create_shelf(folder / name, spec, model=MODEL) if folder else MemoryShelf(spec, model=MODEL)
    )
    assert spec.embed is not None
    for record in records:
        text = embedding_text(spec.embed, record)
        vector = EMBEDDER.embed_query(text)
        shelf.apply(
            [Put(record=record, embedding=Embedding(digest=digest_of(text), vector=vector))]
        )
    return open_shelf(shelf, EMBEDDER, name=name)


def toolbox(catalogues: Sequence[OpenCatalogue]) -> Toolbox:
    if not catalogues:
        return Toolbox([])
    return Toolbox(generic_tools(catalogues), generic_resources(catalogues), catalogues=catalogues)


def shared_gate(library: Mapping[str, Sequence[Record]], folder: Path | None = None) -> Gate:
    """Return the gate of a server, at which callers see different things; with a cache."""
    catalogues = {name: opened(name, records, folder) for name, records in library.items()}
    sighted = ToolboxesByVisibility(
        NAMES, lambda visible: toolbox([catalogues[name] for name in visible])
    )
    return Gate(sighted, cache=AnswerCache(1000))


def own_gate(library: Mapping[str, Sequence[Record]], folder: Path | None = None) -> Gate:
    """Return the gate of a library that has nothing else."""
    return Gate(toolbox([opened(name, library[name], folder) for name in NAMES if name in library]))


@dataclass(frozen=True)
class Asked:
    """One thing to ask, and how its answer is made comparable."""

    what: str
    arguments: dict[str, Any]

    def of(self, gate: Gate, principal: Principal) -> Any:
        """Return the answer; of an error its text, which has its code and message."""
        try:
            return self._answer(gate, principal)
        except ExpectedError as error:
            return replace(Answer.of_error(error), error=None)

    def _answer(self, gate: Gate, principal: Principal) -> Any:
        if self.what == "tools":
            return [
                (tool.name, tool.input_schema, tool.output_schema)
                for tool in gate.list_tools(principal)
            ]
        if self.what == "templates":
            return [one.template for one in gate.list_templates(principal)]
        if self.what == "resources":
            return gate.list_resources(principal)
        if self.what == "read":
            return gate.read(principal, self.arguments["uri"])
        answer = gate.call(principal, self.what, self.arguments)
        if (
            self.arguments == {"include": DRAWN} and answer.structured
        ):  # when a catalogue changed is another time in each library
            return [
                {**one, "overview": _without_time(one["overview"])}
                for one in answer.structured["catalogues"]
            ]
        return replace(answer, error=None)


def _without_time(overview: dict[str, Any]) -> dict[str, Any]:
    return {**overview, "changed_at": overview["changed_at"] is not None}


def asks() -> Iterator[Asked]:
    """Yield everything by which something hidden could show."""
    for what in ("tools", "templates", "resources"):
        yield Asked(what, {})
    yield Asked("search", {"query": "robot story", "limit": 50})
    yield Asked("search", {"query": "king king winter", "limit": 50})
    yield Asked("search", {"query": "sea", "limit": 2})
    yield Asked("search", {"query": "sea", "limit": 2, "cursor": "2"})
    yield Asked("search", {"query": "sea", "filters": {"colour": ["Drama"]}, "limit": 50})
    yield Asked("browse", {})
    yield Asked("browse", {"field": "tags"})
    yield Asked("browse", {"query": "sea"})
    yield Asked("search", {"query": "*", "limit": 50})
    yield Asked("search", {"query": "* sea song", "limit": 2})
    yield Asked("search", {"query": "robbot storry", "explain": True})
    yield Asked("search", {"query": "drama robot", "include": DRAWN, "sort": "-title"})
    yield Asked("search", {"query": "sea", "include": DRAWN, "facet": "tags", "like": "d"})
    yield Asked("search", {"query": "*", "include": DRAWN, "ids": [f"{name}/r3" for name in NAMES]})
    yield Asked("browse", {"include": DRAWN})
    yield Asked("browse", {"field": "tags", "search": "mech"})
    for name in (*NAMES, "boots"):
        yield Asked("search", {"query": "sea song", "catalogue": name})
        yield Asked("search", {"query": "sea", "filters": {f"only_{name}": ["x"]}})
        yield Asked("browse", {"catalogue": name, "field": "colour"})
        yield Asked("browse", {"catalogue": name, "by": ["tags", "colour"], "query": "king"})
        yield Asked("browse", {"by": [f"only_{name}"]})
        yield Asked(
            "search", {"query": "sea king", "catalogue": name, "include": DRAWN, "sort": "colour"}
        )
        for number in (0, 3):
            yield Asked("fetch", {"id": f"{name}/r{number}", "include": DRAWN})
            yield Asked("fetch", {"id": f"{name}/r{number}"})
            yield Asked("similar", {"id": f"{name}/r{number}"})
            yield Asked("similar", {"id": f"{name}/r{number}", "catalogue": NAMES[number % 4]})
            yield Asked(
                "explain",
                {"id": f"{name}/r{number}", "arguments": {"query": "sea king", "catalogue": name}},
            )
            yield Asked(
                "recommend",
                {"catalogue": name, "likes": [f"{name}/r{number}"], "wishes": "drama, not king"},
            )
            yield Asked("read", {"uri": f"stackroom://{name}/r{number}"})


ASKS = tuple(asks())


def drawn(few: int) -> settings:
    """Draw a few examples, or as many as a profile asks for that draws more than the usual one."""
    asked = settings().max_examples
    return settings(max_examples=asked if asked > USUAL else few, deadline=None)


def caller(visibility: Visibility) -> Principal:
    return Principal(name="ada", actions=frozenset({Action.ACCESS_CATALOG}), visibility=visibility)


@given(libraries, st.lists(sights, min_size=1, max_size=2))
@drawn(10)
def test_a_hidden_catalogue_is_as_if_it_had_never_been_there(
    library: dict[str, list[Record]], sights: list[Visibility]
) -> None:
    gate = shared_gate(library)
    callers = [caller(SEES_EVERYTHING), *(caller(visibility) for visibility in sights)]
    alone = {
        one: own_gate(
            {name: library[name] for name in NAMES if one.visibility.sees_catalogue(name)}
        )
        for one in callers
    }
    for asked in ASKS:
        # The same caller at the other gate: what they see of the records that are left is the same.
        expected = [
            asked.of(alone[one], replace(one, visibility=Visibility(one.visibility.audiences)))
            for one in callers
        ]
        assert [asked.of(gate, one) for one in callers] == expected, asked
        # now all of them are in the cache
        assert [asked.of(gate, one) for one in callers] == expected, asked


def visible(
    library: Mapping[str, Sequence[Record]], visibility: Visibility
) -> dict[str, list[Record]]:
    """Return, by the plainest rule, what a caller may see."""
    return {
        name: [
            one
            for one in library[name]
            if not one.audiences or _has_any(visibility.audiences, one.audiences)
        ]
        for name in NAMES
        if name not in visibility.hidden and (visibility.only is None or name in visibility.only)
    }


def _has_any(held: frozenset[str] | None, wanted: Sequence[str]) -> bool:
    return held is None or any(one in held for one in wanted)


@pytest.mark.row("N21")
@pytest.mark.parametrize("is_embedded", [False, True])
def test_a_hidden_record_is_as_if_it_had_never_been_there(
    is_embedded: bool, tmp_path: Path
) -> None:
    numbers = itertools.count()

    @given(libraries, st.lists(sights, min_size=1, max_size=2))
    @drawn(6 if is_embedded else 10)
    def hides(library: dict[str, list[Record]], sights: list[Visibility]) -> None:
        folder = tmp_path / str(next(numbers)) if is_embedded else None
        gate = shared_gate(library, folder and folder / "all")
        for number, visibility in enumerate(sights):
            alone = own_gate(visible(library, visibility), folder and folder / str(number))
            for asked in ASKS:
                expected = asked.of(alone, caller(Visibility(visibility.audiences)))
                assert asked.of(gate, caller(visibility)) == expected, asked

    hides()


@given(
    restrictions,
    st.fixed_dictionaries({user: st.lists(st.sampled_from(ROLES), unique=True) for user in USERS}),
)
@drawn(8)
def test_a_restriction_hides_a_catalogue_from_exactly_those_it_is_not_for(
    restricted: dict[str, tuple[frozenset[str], frozenset[str]]], roles: dict[str, list[str]]
) -> None:
    with (
        tempfile.TemporaryDirectory() as home,
        closing(Control.open(Settings(home=Path(home)))) as control,
    ):
        for user in USERS:
            control.accounts.create_user(LOCAL_USER, user, password=None, roles=roles[user])
        for name, (users, for_roles) in restricted.items():
            control.access.restrict(LOCAL_USER, name, users=users, roles=for_roles)
        for user in USERS:
            visibility = control.identities.principal_of(control.accounts.get_user(user)).visibility
            for name in NAMES:
                users, for_roles = restricted.get(name, (frozenset(USERS), frozenset()))
                assert visibility.sees_catalogue(name) is (
                    user in users or bool(for_roles & set(roles[user]))
                )
            assert visibility.audiences == {*roles[user], f"user:{user}"}
