"""Any edits and undos leave what a build of the same records makes; undone in reverse they leave
what there was.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackroom.catalogue.codec import digest_of
from stackroom.catalogue.spec import embedding_text, texts_of
from stackroom.errors import ConflictError, InputError
from stackroom.ingest.edits.apply import Edits
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.ingest.edits.relations import ids_in
from stackroom.model.record import Record, RecordId, Tag
from stackroom.model.scope import KIND_FIELD, WHOLE, AnyOf, Range, Scope
from stackroom.model.vectors import ModelId, Vector
from stackroom.packages import PACKAGES
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.embedded import shelf_index
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Author, Embedding, Put, Shelf
from stackroom.text.analyser import analyse_query
from support.embedders import WordEmbedder, word_vector
from support.memory_shelf import MemoryShelf

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("N5")]

SPEC = PACKAGES.get("music").spec
MODEL = ModelId(name="m", dimension=8)
NAMES = ["Bach", "Clara Schumann", "Clara", "Air", "C++", "巨人", "Été"]
QUERIES = ["bach", "clara air", "巨", "c++", "nothing like it"]
SCOPES = [
    WHOLE,
    Scope(conditions=(AnyOf(KIND_FIELD, ("track", "album")),)),
    Scope(conditions=(AnyOf("genres", ("Baroque",)), Range("year", at_least=1750))),
    Scope(conditions=(AnyOf("artist_ids", ("a0", "a1")),)),
]

names = st.sampled_from(NAMES)
picks = st.integers(0, 11)
common = st.fixed_dictionaries(
    {},
    optional={
        "year": st.none() | st.sampled_from([1685, 1750, 1896]),
        "genres": st.none()
        | st.lists(st.sampled_from(["Baroque", "romantic", "BAROQUE"]), max_size=2),
        "about": st.none() | st.sampled_from(NAMES),
    },
)
steps = st.one_of(
    st.tuples(st.just("artist"), names, common),
    st.tuples(st.just("album"), names, common, st.lists(picks, max_size=3)),
    st.tuples(st.just("track"), names, common, st.lists(picks, max_size=2), st.none() | picks),
    st.tuples(st.just("rename"), picks, names),
    st.tuples(st.just("set"), picks, common),
    st.tuples(st.just("credit"), picks, st.lists(picks, max_size=3)),
    st.tuples(st.just("delete"), picks, st.booleans()),
    st.tuples(st.just("undo"), picks, st.booleans()),
)

START = [
    Record(
        id=RecordId("a0"), kind="artist", fields={"name": "Bach", "genres": (Tag("g", "Baroque"),)}
    ),
    Record(id=RecordId("a1"), kind="artist", fields={"name": "Clara"}),
    Record(
        id=RecordId("b0"),
        kind="album",
        fields={"name": "Air", "artist_ids": ("a0", "a1"), "artists": ("J. S. Bach", "Clara W.")},
    ),
    Record(
        id=RecordId("t0"),
        kind="track",
        fields={
            "name": "Air",
            "artist_ids": ("a0",),
            "artists": ("Bach",),
            "album_id": "b0",
            "album": "Air",
        },
    ),
]
"""Two of the names are written otherwise than the artists are called, as files may have them."""


def vector_of(text: str) -> Vector:
    return word_vector(text, MODEL.dimension)


@contextmanager
def embedded_shelf() -> Iterator[CatalogueShelf]:
    with tempfile.TemporaryDirectory() as folder:
        shelf = create_shelf(Path(folder) / "shelf", SPEC, model=MODEL)
        yield shelf
        shelf.close()


def fill(shelf: Shelf, records: list[Record]) -> None:
    assert SPEC.embed is not None
    texts = [embedding_text(SPEC.embed, record) for record in records]
    puts = [
        Put(record=record, embedding=Embedding(digest=digest_of(text), vector=vector_of(text)))
        for record, text in zip(records, texts, strict=True)
    ]
    shelf.writer().apply(puts)
    shelf.writer().publish()


def records_of(shelf: Shelf) -> dict[str, Record]:
    view = shelf.reader()
    return {
        record.id: record
        for record in view.fetch(view.scan(scope=WHOLE, limit=1_000), scope=WHOLE).values()
    }


def answers(shelf: Shelf) -> dict[str, Any]:
    """Return what a shelf answers to sample queries, by ids."""
    view = shelf.reader()
    found: dict[str, Any] = {"records": records_of(shelf)}
    for number, scope in enumerate(SCOPES):
        found[f"{number} ids"] = sorted(view.ids(view.scan(scope=scope, limit=1_000)))
        found[f"{number} counts"] = (view.count(scope), view.facets(KIND_FIELD, scope=scope))
        found[f"{number} facets"] = (
            view.facets("artists", scope=scope),
            view.facets("genres", scope=scope),
        )
        for text in QUERIES:
            words = view.lexical(analyse_query(text, synonyms={}), scope=scope, limit=1_000)
            (near,) = view.nearest(vector_of(text)[None, :], scope=scope, limit=1_000)
            found[f"{number} words {text}"] = (
                sorted(view.ids([hit.key for hit in words.best])),
                words.total,
            )
            found[f"{number} near {text}"] = {
                view.ids([hit.key])[0]: round(hit.score, 4) for hit in near.best
            }
    return found


class Editor:
    """Takes steps, refused ones too, and remembers the calls that changed something."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.calls: list[str] = []
        self._edits = Edits(shelf=shelf, embedder=WordEmbedder(MODEL))

    def take(self, step: tuple[Any, ...]) -> None:
        request = self._request(step)
        if request is None:
            return
        try:
            self.do(request)
        except (ConflictError, InputError):
            return

    def do(self, request: EditRequest) -> None:
        author = Author(principal="ed", call_id=f"c-{self.shelf.reader().change_no}")
        plan = self._edits.plan(request)
        applied = self._edits.apply(request, author=author, token=plan.token)
        assert applied.plan.changes == plan.changes
        if applied.plan.changes:
            self.calls.append(author.call_id)

    def undo_all(self) -> None:
        for call_id in reversed(list(self.calls)):
            self.do(EditRequest(action=EditAction.UNDO, id=call_id))

    def _request(self, step: tuple[Any, ...]) -> EditRequest | None:
        match step:
            case ("artist", name, fields):
                return _create("artist", name=name, **fields)
            case ("album", name, fields, artists):
                return _create(
                    "album", name=name, artist_ids=self._some("artist", artists), **fields
                )
            case ("track", name, fields, artists, album):
                albums = self._some("album", [] if album is None else [album])
                named = {
                    "artist_ids": self._some("artist", artists),
                    "album_id": albums[0] if albums else None,
                }
                return _create("track", name=name, **named, **fields)
            case ("rename", pick, name):
                return self._update(pick, {"name": name})
            case ("set", pick, fields):
                return self._update(pick, fields)
            case ("credit", pick, artists):
                return self._update(pick, {"artist_ids": self._some("artist", artists)})
            case ("delete", pick, cascade):
                (target,) = self._some(None, [pick]) or [None]
                return (
                    EditRequest(action=EditAction.DELETE, id=target, cascade=cascade)
                    if target
                    else None
                )
            case ("undo", pick, cascade) if self.calls:
                call_id = self.calls[pick % len(self.calls)]
                return EditRequest(action=EditAction.UNDO, id=call_id, cascade=cascade)
        return None

    def _update(self, pick: int, fields: dict[str, Any]) -> EditRequest | None:
        (target,) = self._some(None, [pick]) or [None]
        return EditRequest(action=EditAction.UPDATE, id=target, fields=fields) if target else None

    def _some(self, kind: str | None, chosen: list[int]) -> list[str]:
        known = sorted(
            one.id for one in records_of(self.shelf).values() if kind in (None, one.kind)
        )
        return [known[pick % len(known)] for pick in chosen] if known else []


def _create(kind: str, **fields: Any) -> EditRequest:
    return EditRequest(action=EditAction.CREATE, kind=kind, fields=fields)


def require_whole(records: dict[str, Record]) -> None:
    """Every relation names records that are there, and as many copied titles as ids."""
    for record in records.values():
        for relation in SPEC.relations:
            if relation.kind == record.kind:
                ids = ids_in(record, relation)
                assert all(one in records and records[one].kind == relation.to for one in ids)
                assert len(texts_of(record.get(relation.copies))) == len(ids)


@given(st.lists(steps, min_size=1, max_size=14), st.integers(0, 8))
@settings(max_examples=30, deadline=None)
def test_after_any_edits_and_undos_a_catalogue_answers_as_one_built_from_what_is_left(
    taken: list[tuple[Any, ...]], tail_rows: int
) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        embedded_shelf() as edited,
        embedded_shelf() as fresh,
    ):
        patch.setattr(shelf_index, "TAIL_ROWS", tail_rows)
        fill(edited, START)
        start = answers(edited)
        editor = Editor(edited)
        for step in taken:
            editor.take(step)
        require_whole(records_of(edited))
        fill(fresh, list(records_of(edited).values()))
        assert answers(edited) == answers(fresh)
        editor.undo_all()
        assert answers(edited) == start


@given(st.lists(steps, min_size=1, max_size=14))
@settings(max_examples=20, deadline=None)
def test_every_shelf_makes_the_same_of_the_same_edits(taken: list[tuple[Any, ...]]) -> None:
    memory = MemoryShelf(SPEC, model=MODEL)
    with embedded_shelf() as embedded:
        editors = [Editor(memory), Editor(embedded)]
        for editor in editors:
            fill(editor.shelf, START)
            for step in taken:
                editor.take(step)
        one, other = editors
        assert one.calls == other.calls
        assert answers(memory) == answers(embedded)
        assert past(memory) == past(embedded)


def past(shelf: Shelf) -> list[tuple[Any, ...]]:
    """Return all that was changed, without when."""
    changes = shelf.history().list_changes(limit=1_000)
    return [(one.change_no, one.id, one.op, one.author, one.before, one.after) for one in changes]
