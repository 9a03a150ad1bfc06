"""Edits over every shelf: what they leave is what a build of the same records makes; of rivals one
wins.
"""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stackroom.catalogue.codec import digest_of
from stackroom.errors import ConflictError
from stackroom.ingest.edits.apply import Applied, Edits
from stackroom.ingest.edits.draft import EditAction, EditRequest
from stackroom.model.record import RecordId
from stackroom.model.scope import KIND_FIELD, WHOLE
from stackroom.model.vectors import ModelId, Vector
from stackroom.packages import PACKAGES
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Author, Put, Shelf
from stackroom.text.analyser import analyse_query

pytestmark = [pytest.mark.row("Z5"), pytest.mark.row("N5")]

SPEC = PACKAGES.get("music").spec
MODEL = ModelId(name="test-model", dimension=16)
QUERIES = ["clara", "bach", "lieder suite", "telemann sonata", "air", "nothing like it"]


def vector_of(text: str) -> Vector:
    row = np.random.default_rng(int.from_bytes(digest_of(text)[:8], "big")).normal(
        size=MODEL.dimension
    )
    return (row / np.linalg.norm(row)).astype(np.float32)


class Hashing:
    """Implements `Embedder` by hashing whole texts."""

    model = MODEL

    def embed_documents(self, texts: Any) -> Vector:
        return np.array([vector_of(text) for text in texts]).reshape(len(texts), MODEL.dimension)

    def embed_query(self, text: str) -> Vector:
        return vector_of(text)

    def check(self) -> str | None:
        return None


class Editor:
    """Short ways to edit a shelf."""

    def __init__(self, shelf: Shelf, name: str = "ed") -> None:
        self.shelf = shelf
        self.name = name
        self.calls: list[str] = []
        self._edits = Edits(shelf=shelf, embedder=Hashing())

    def plan(self, action: str, **request: Any) -> Any:
        return self._edits.plan(EditRequest(action=EditAction(action), **request))

    def do(self, action: str, *, token: str | None = None, **request: Any) -> Applied:
        author = Author(principal=self.name, call_id=f"{self.name}-{len(self.calls)}")
        applied = self._edits.apply(
            EditRequest(action=EditAction(action), **request), author=author, token=token
        )
        self.calls.append(author.call_id)
        return applied

    def create(self, kind: str, **fields: Any) -> str:
        return self.do("create", kind=kind, fields=fields).plan.changes[0].id

    def update(self, record_id: str, **fields: Any) -> Applied:
        return self.do("update", id=record_id, fields=fields)


def answers(shelf: Shelf) -> dict[str, Any]:
    """Return what a shelf answers, by ids: keys depend on the order of writes, and scores on what
    was deleted.
    """
    view = shelf.reader()
    keys = view.scan(scope=WHOLE, limit=1_000)
    found: dict[str, Any] = {
        "stale": view.stale,
        "records": {record.id: record for record in view.fetch(keys, scope=WHOLE).values()},
        "count": view.count(WHOLE),
        "kinds": view.facets(KIND_FIELD, scope=WHOLE),
        "artists": view.facets("artists", scope=WHOLE),
        "genres": view.facets("genres", scope=WHOLE),
    }
    for text in QUERIES:
        words = view.lexical(analyse_query(text, synonyms={}), scope=WHOLE, limit=1_000)
        (near,) = view.nearest(vector_of(text)[None, :], scope=WHOLE, limit=1_000)
        found[text] = (sorted(view.ids([hit.key for hit in words.best])), words.total)
        found[f"near {text}"] = {view.ids([hit.key])[0]: round(hit.score, 4) for hit in near.best}
        found[f"like {text}"] = sorted(
            round(one.likeness, 4) for one in view.titles_like(text, scope=WHOLE, limit=3)
        )
    return found


@pytest.fixture
def editor(music_shelf: Shelf) -> Editor:
    """An editor of a shelf with two artists, three albums and two tracks."""
    editor = Editor(music_shelf)
    clara = editor.create("artist", name="Clara Schumann", genres=["romantic"])
    bach = editor.create("artist", name="Bach", genres=["baroque"])
    lieder = editor.create("album", name="Lieder", artist_ids=[clara], year=1843)
    suites = editor.create("album", name="Suites", artist_ids=[bach])
    editor.create("album", name="Airs", artist_ids=[bach, clara])
    editor.create("track", name="Er ist gekommen", album_id=lieder, artist_ids=[clara], position=1)
    editor.create("track", name="Air", album_id=suites, artist_ids=[bach], position=2)
    return editor


def test_of_rivals_with_the_same_plan_exactly_one_wins_and_nothing_is_lost(editor: Editor) -> None:
    rename = {"id": "artist-bach", "fields": {"name": "J. S. Bach"}}
    token = editor.plan("update", **rename).token
    start = threading.Barrier(4)
    refused: list[str] = []

    def edit(number: int) -> None:
        start.wait()
        try:
            Editor(editor.shelf, f"rival{number}").do("update", **rename, token=token)
        except ConflictError as error:
            refused.append(error.message)

    run_all([threading.Thread(target=edit, args=(number,)) for number in range(4)])
    assert len(refused) == 3
    assert (
        len(
            [
                one
                for one in editor.shelf.history().list_changes(limit=50)
                if "rival" in one.author.principal
            ]
        )
        == 4
    )


def test_of_rivals_without_plans_each_wins_or_is_refused_and_what_was_acknowledged_is_there(
    editor: Editor,
) -> None:
    """Every rival sets a field of its own, so whatever was acknowledged must be there in the
    end.
    """
    names = ["year", "seconds", "about", "cover"]
    values: list[Any] = [1722, 61.5, "Six of them", "c.jpg"]
    start = threading.Barrier(len(names))
    acknowledged: list[int] = []

    def edit(number: int) -> None:
        start.wait()
        try:
            Editor(editor.shelf, f"rival{number}").update(
                "album-suites", **{names[number]: values[number]}
            )
        except ConflictError:
            return
        acknowledged.append(number)

    run_all([threading.Thread(target=edit, args=(number,)) for number in range(len(names))])
    assert acknowledged
    reader = editor.shelf.reader()
    key = reader.find([RecordId("album-suites")], scope=WHOLE)[RecordId("album-suites")]
    fields = reader.fetch([key], scope=WHOLE)[key].fields
    assert {names[number]: values[number] for number in acknowledged}.items() <= dict(
        fields
    ).items()


def test_records_that_are_created_at_once_under_one_name_get_ids_of_their_own(
    editor: Editor,
) -> None:
    start = threading.Barrier(3)
    made: list[str] = []

    def create(number: int) -> None:
        start.wait()
        made.append(Editor(editor.shelf, f"rival{number}").create("artist", name="Telemann"))

    run_all([threading.Thread(target=create, args=(number,)) for number in range(3)])
    assert sorted(made) == ["artist-telemann", "artist-telemann-2", "artist-telemann-3"]


def run_all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Two shelves over one folder


def found(shelf: Shelf, text: str) -> list[str]:
    view = shelf.reader()
    ranking = view.lexical(analyse_query(text, synonyms={}), scope=WHOLE, limit=10)
    return [str(one) for one in view.ids([hit.key for hit in ranking.best])]


def test_what_was_acknowledged_is_seen_while_another_process_is_in_the_middle_of_the_next_edit(
    shelf_folder: Path,
) -> None:
    shelf, other = (create_shelf(shelf_folder, SPEC, model=MODEL) for _ in range(2))
    editor = Editor(other)
    clara, bach = (
        editor.create("artist", name="Clara Schumann"),
        editor.create("artist", name="Bach"),
    )
    assert found(shelf, "clara") == [clara]
    lieder = editor.create("album", name="Lieder", artist_ids=[clara])
    acknowledged = answers(other)
    rename = editor.plan("update", id=bach, fields={"name": "Telemann"})
    with other.exclusive():
        # and not published yet
        other.apply([Put(record=change.after) for change in rename.changes])
        seen = answers(shelf)
        assert seen.pop("stale") == "another process is writing"
        for name in [name for name in seen if name.startswith("near ")]:
            acknowledged[name].pop(bach)  # its vector of before is not known any more
            assert seen[name].keys() == {clara, lieder}
        assert seen == {name: acknowledged[name] for name in seen}
    other.publish()
    assert found(shelf, "telemann") == [bach]
    for one in (shelf, other):
        one.close()
