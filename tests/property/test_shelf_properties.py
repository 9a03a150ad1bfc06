"""The embedded shelf against the obvious one: any records, any filters, any edits."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stackroom.catalogue.compiler import compile_text
from stackroom.model.record import Key, Record, RecordId, Tag
from stackroom.model.scope import (
    KIND_FIELD,
    WORDS_FIELD,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Scope,
    Visibility,
)
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.embedded import shelf_index
from stackroom.shelf.embedded.vectors import build_vector_table
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Author, Change, Delete, Embedding, Put, Shelf, ShelfReader
from stackroom.shelf.store_place import IN_DATABASE, StorePlace, save_place
from stackroom.text.analyser import analyse_query, index_tokens
from support.memory_shelf import MemoryShelf
from support.stock import occurrences_of

SPEC = compile_text(Path(__file__).with_name("things.toml").read_text("utf-8"), origin="test")
MODEL = ModelId(name="m", dimension=8)
SHELF_EXAMPLES, IN_DATABASE_EXAMPLES = 40, 10

WORDS = ["robot", "robots", "Story", "the", "sea", "été", "C++", "巨人", "巨", "진격", "sea's", ""]
TOKENS = tuple(index_tokens(" ".join(WORDS)))
IDS = [RecordId(f"r{number}") for number in range(12)]
VALUES = ["Mecha", "mecha", "MÉCHA", "Drama", "two words", "巨人", " ", "*"]
AUDIENCES = ["staff", "Staff", "*"]
DATES = ["1999-12-31", "2000-01-01", "2020-06-15", "not a date"]

COUNTED = ("tags", "colour", "crew", KIND_FIELD)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)

texts = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
values = st.lists(st.sampled_from(VALUES), max_size=3).map(tuple)
numbers = st.none() | st.sampled_from([-1.5, 0.0, 1.0, 2.0, 3.0, 1e12])


@st.composite
def records(draw: st.DrawFn) -> Record:
    fields = {
        "title": draw(texts),
        "body": draw(st.none() | texts),
        "tags": tuple(Tag(draw(st.sampled_from(["", "genre"])), value) for value in draw(values)),
        "colour": draw(st.none() | st.sampled_from(VALUES)),
        "size": draw(numbers),
        "made": draw(st.none() | st.sampled_from(DATES)),
        "era": draw(st.none() | st.integers(1, 4)),
        "crew": draw(values),
    }
    return Record(
        id=RecordId(f"r{draw(st.integers(0, 11))}"),
        fields={name: value for name, value in fields.items() if value not in (None, ())},
        kind=draw(st.sampled_from(["a", "b"])),
        audiences=tuple(draw(st.lists(st.sampled_from(AUDIENCES), max_size=2))),
    )


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    if draw(st.booleans()):
        field = draw(st.sampled_from(["tags", "colour", "crew", KIND_FIELD, WORDS_FIELD]))
        chosen = {KIND_FIELD: ("a", "B"), WORDS_FIELD: TOKENS}.get(field, VALUES)
        form = draw(st.sampled_from([AnyOf, AllOf, NoneOf]))
        return form(field, tuple(draw(st.lists(st.sampled_from(chosen), max_size=3))))
    if draw(st.booleans()):
        return Range(draw(st.sampled_from(["size", "era"])), draw(numbers), draw(numbers))
    days = st.none() | st.integers(729_000, 738_000)
    return Range("made", draw(days), draw(days))


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    audiences = draw(st.none() | st.frozensets(st.sampled_from(AUDIENCES)))
    return Scope(
        conditions=tuple(draw(st.lists(conditions(), max_size=3))), visibility=Visibility(audiences)
    )


@st.composite
def puts(draw: st.DrawFn) -> Put:
    seed = draw(st.none() | st.integers(1, 10_000))
    embedding = None if seed is None else Embedding(digest=b"%d" % seed, vector=unit(seed))
    return Put(record=draw(records()), embedding=embedding)


deletes = st.integers(0, 11).map(lambda number: Delete(RecordId(f"r{number}")))
batches = st.lists(
    st.tuples(st.lists(puts() | deletes, max_size=12), st.booleans()), min_size=1, max_size=6
)
queries = st.tuples(texts, scopes(), st.integers(1, 10_000))


def unit(seed: int, dimension: int = MODEL.dimension) -> Vector:
    row = np.random.default_rng(seed).normal(size=dimension)
    return (row / np.linalg.norm(row)).astype(np.float32)


@contextmanager
def open_empty(place: StorePlace | None) -> Iterator[CatalogueShelf]:
    with tempfile.TemporaryDirectory() as folder:
        save_place(Path(folder), place)
        shelf = create_shelf(Path(folder), SPEC, model=MODEL)
        yield shelf
        shelf.close()


def answers(view: ShelfReader, text: str, scope: Scope, seed: int) -> dict[str, Any]:
    """Return one of every read, by id; the order of words is left out, as shelves count dead
    records differently.
    """
    words = view.lexical(analyse_query(text, synonyms={}), scope=scope, limit=100)
    two = np.stack([unit(seed), unit(seed + 1)])
    near = [ranking.best for ranking in view.nearest(two, scope=scope, limit=100)]
    keys = view.scan(scope=scope, limit=100)
    fetched = view.fetch([*keys[::-1], Key(10_000)], scope=scope)
    alike = view.titles_like(text, scope=scope, limit=100)
    named = [match.key for match in alike if match.likeness == 1.0]
    columns = [
        view.titles(keys),
        view.terms("tags", keys),
        [str(number) for number in view.numbers("made", keys).tolist()],
        view.count_terms("crew", ["mecha", "drama"], keys).tolist(),
    ]
    return {
        "lexical": (sorted(view.ids([hit.key for hit in words.best])), words.total),
        "limited": [cut(view, text, scope, seed, limit=limit) for limit in (0, 1)],
        "named": ([view.has_name(word, scope=scope) for word in WORDS], sorted(view.ids(named))),
        "alike": {match.key for match in alike} <= set(keys),
        "found": sorted(view.find([*IDS, RecordId("\ud800")], scope=scope)),
        "cosines": {
            f"{number} {view.ids([hit.key])[0]}": hit.score
            for number, best in enumerate(near)
            for hit in best
        },
        "vectors": dict(zip(view.ids(keys), (view.vectors(keys) @ two[0]).tolist(), strict=True)),
        "in order": keys == sorted(keys) == list(fetched)
        and all(a.score >= b.score for best in near for a, b in pairwise(best)),
        "fetch": {record.id: record.audiences for record in fetched.values()},
        "columns": dict(zip(view.ids(keys), zip(*columns, strict=True), strict=True)),
        "facets": [view.facets(field, scope=scope) for field in COUNTED],
        "occurrences": [
            [
                (value, sorted(view.ids(keys)))
                for value, keys in occurrences_of(view, field, scope=scope)
            ]
            for field in COUNTED
        ],
        "count": view.count(scope),
    }


def cut(view: ShelfReader, text: str, scope: Scope, seed: int, *, limit: int) -> tuple[int, ...]:
    """Return how many records a limit leaves of both rankings, and the total by words."""
    words = view.lexical(analyse_query(text, synonyms={}), scope=scope, limit=limit)
    (near,) = view.nearest(unit(seed)[None, :], scope=scope, limit=limit)
    return len(words.keys), words.total, len(near.keys)


def past(shelf: Shelf) -> list[Any]:
    """Return pages of what was changed, without when, and what there is under each id."""
    history, some = shelf.history(), [*IDS[:5], RecordId("\ud800")]
    pages = [
        history.list_changes(limit=99),
        history.list_changes(limit=3, before=9),
        history.list_changes(limit=2, call_id="call 1"),
        history.list_changes(limit=9, ids=some, call_id="call 0"),
        history.list_changes(limit=9, ids=some),
        history.list_changes(limit=9, ids=[]),
    ]
    versions = [history.versions(ids, as_of=6) for ids in (IDS, some, [])]
    pages_alone = [[replace(one, at=LONG_AGO) for one in page] for page in pages]
    return [pages_alone, versions, history.versions(IDS), shelf.writer().current_or_deleted(some)]


def require_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compare answers; cosines may differ by what 32 bits round off."""
    for name in ("cosines", "vectors"):
        assert found.pop(name) == pytest.approx(wanted.pop(name), abs=1e-5)
    assert found == wanted


@pytest.mark.parametrize("search", ["", IN_DATABASE])
def test_after_any_edits_every_read_under_any_filter_answers_as_brute_force_does(
    request: pytest.FixtureRequest, search: str
) -> None:
    @given(batches, st.lists(queries, min_size=1, max_size=12), st.integers(0, 8))
    @settings(
        max_examples=IN_DATABASE_EXAMPLES if search else SHELF_EXAMPLES,
        deadline=None,
        phases=set(Phase) - {Phase.shrink},  # to make an example smaller takes minutes
    )
    def compare(
        edits: list[tuple[list[Change], bool]], asked: list[tuple[str, Scope, int]], tail_rows: int
    ) -> None:
        reference, place = MemoryShelf(SPEC, model=MODEL), None
        if search:
            place = replace(request.getfixturevalue("postgresql").new_place(), search=search)
        with pytest.MonkeyPatch.context() as patch, open_empty(place) as shelf:
            # several tails
            for name, value in {"TAIL_ROWS": tail_rows, "SMALL_TAIL": 0, "TAIL_RATIO": 1}.items():
                patch.setattr(shelf_index, name, value)
            for number, (changes, is_published) in enumerate(edits):
                author = Author(call_id=f"call {number}")
                reference.apply(changes, author=author)
                shelf.apply(changes, author=author)
                if is_published:
                    shelf.publish()
                shelf.reader()
            sees = asked[0][1].visibility
            require_same(
                answers(shelf.reader().seen_by(sees), *asked[0]),
                answers(reference.reader().seen_by(sees), *asked[0]),
            )
            assert past(shelf) == past(reference)
            for one in asked:
                require_same(answers(shelf.reader(), *one), answers(reference.reader(), *one))

    compare()


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 3_000),
    st.integers(1, 20),
    st.sampled_from([0.02, 0.2, 0.9, 1.0]),
    st.sampled_from([0.0, 2.0]),
)
@settings(max_examples=30, deadline=None)
def test_the_nearest_by_codes_are_the_nearest_by_exact_cosine(
    seed: int, rows: int, limit: int, share: float, crowding: float
) -> None:
    generator = np.random.default_rng(seed)
    # crowded: all in one corner, as real embeddings are
    exact = generator.normal(size=(rows, 48)) + crowding
    exact = (exact / np.linalg.norm(exact, axis=1, keepdims=True)).astype(np.float32)
    query = exact[generator.integers(rows)]
    mask = None if share == 1.0 else generator.random(rows) < share
    ((found, cosines),) = build_vector_table(exact).nearest_each(
        query[None, :], mask=mask, limit=limit
    )
    in_scope = np.arange(rows) if mask is None else np.flatnonzero(mask)
    best = np.sort(exact[in_scope] @ query)[::-1][:limit]
    assert np.allclose(cosines, best, atol=1e-6)
    assert np.allclose(exact[found] @ query, cosines, atol=1e-6)
    assert np.isin(found, in_scope).all()
    assert len(set(found.tolist())) == len(found)
