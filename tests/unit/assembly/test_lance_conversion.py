"""Catalogues that an earlier version kept in LanceDB: converted to the embedded shelf when they are first opened."""

import importlib
import importlib.util
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinakes.assembly.app import App
from pinakes.assembly.build import add_catalogue, own_recipe
from pinakes.assembly.lance_conversion import on_embedded_shelf
from pinakes.catalogue.codec import encode_record
from pinakes.catalogue.embedded_text import digest_of
from pinakes.catalogue.loader import LoadedSpec, compile_text
from pinakes.errors import ExpectedError, StorageError
from pinakes.ingest.edits.apply import Edits
from pinakes.ingest.edits.draft import EditAction, EditRequest
from pinakes.ingest.pipeline import IngestReport
from pinakes.library import Installed, Library
from pinakes.model.record import Record, RecordId
from pinakes.model.scope import WHOLE
from pinakes.settings import Settings
from pinakes.shelf.port import Author, PastChange, Shelf
from pinakes.sources.json_rows import JsonRows
from pinakes.text.query import analyse_query

lancedb = pytest.importorskip("lancedb", reason="LanceDB is not installed: pip install 'pinakes[lance]'")
pa = importlib.import_module("pyarrow")

SPEC = """
name = "films"
title = "Films"
summary = "Films."
editable = true
id = "id"

[fields.title]
type = "text"
role = "title"
search = true

[embed]
template = "{title}"
"""
LOG_SCHEMA = pa.schema(
    [
        ("change_no", pa.int64()),
        ("id", pa.string()),
        ("op", pa.string()),
        ("before", pa.binary()),
        ("principal", pa.string()),
        ("call_id", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
    ]
)


def encoded(record: Record | None) -> bytes | None:
    return None if record is None else encode_record(record)


def write_old_tables(shelf: Shelf, folder: Path, name: str, *, with_log: bool = True) -> None:
    """Write what a shelf keeps as the tables of the LanceDB shelf of version 0.1."""
    reader = shelf.reader()
    assert reader.model is not None
    keys = reader.scan(scope=WHOLE, limit=1000)
    records = reader.fetch(keys, scope=WHOLE)
    versions = shelf.history().versions(reader.ids(keys))
    database = lancedb.connect(folder)
    documents = pa.table(
        {
            "key": pa.array(keys, pa.int64()),
            "change_no": pa.array([versions[records[key].id] for key in keys], pa.int64()),
            "id": [records[key].id for key in keys],
            "kind": [records[key].kind for key in keys],
            "body": pa.array([encode_record(records[key]) for key in keys], pa.binary()),
            "digest": pa.array([digest_of(str(records[key].get("title"))) for key in keys], pa.binary()),
            "vector": pa.array(reader.vectors(keys).tolist(), pa.list_(pa.float32(), reader.model.dimension)),
        }
    )
    table = database.create_table(f"{name}_documents", data=documents)
    pointer = {
        "layout": 1,
        "spec_digest": shelf.spec.digest,
        "model": reader.model.name,
        "dimension": reader.model.dimension,
        "generation": 0,
        "change_no": reader.change_no,
        "last_key": max(keys),
        "documents_version": table.version,
        "compacted_version": 1,
    }
    database.create_table(f"{name}_pointer", data=pa.Table.from_pylist([pointer]))
    changes = [
        {
            "change_no": change.change_no,
            "id": change.id,
            "op": str(change.op),
            "before": encoded(change.before),
            "principal": change.author.principal,
            "call_id": change.author.call_id,
            "at": change.at,
        }
        for change in shelf.history().list_changes(limit=1000)
    ]
    if with_log:
        database.create_table(f"{name}_changes", data=pa.Table.from_pylist(changes, schema=LOG_SCHEMA))
    table.delete("key > 0")  # by a writer that was stopped before the pointer named it


class OldLibrary:
    """A library whose catalogue of films was built, edited by hand, and kept in LanceDB."""

    def __init__(self, home: Path, embedding: Any, *, with_log: bool = True) -> None:
        self.settings = Settings(home=home / "home", embedding=embedding)
        self.rows = home / "films.jsonl"
        titles = ("Heat", "Alien", "Brazil")
        self.rows.write_text("".join(f'{{"id": "{n}", "title": "{title}"}}\n' for n, title in enumerate(titles)))
        with closing(App(self.settings)) as app:
            self.add(app)
            shelf = app.open_catalogue("films").shelf
            self.edit(app, EditAction.UPDATE, id="1", fields={"title": "Aliens"})
            self.edit(app, EditAction.DELETE, id="2")
            self.history = shelf.history().list_changes(limit=100)
            self.vectors = self.vectors_of(shelf)
            self.change_no = shelf.reader().change_no
            self.folder = app.library.get_installed("films").folder
            write_old_tables(shelf, self.folder / "lance", "films", with_log=with_log)
        (self.folder / "records.sqlite").unlink()
        shutil.rmtree(self.folder / "index")
        marker = self.folder / "installed.json"
        marker.write_text(json.dumps({**json.loads(marker.read_text()), "shelf": "lance"}))

    def add(self, app: App) -> IngestReport:
        recipe = own_recipe(LoadedSpec(spec=compile_text(SPEC, origin="films"), declaration=SPEC))
        return add_catalogue(app, JsonRows(self.rows), recipe=recipe, name="films", progress=lambda _report: None)

    def edit(self, app: App, action: EditAction, **asked: Any) -> None:
        author = Author(principal="clara", call_id=f"call-{action}")
        edits = Edits(shelf=app.open_catalogue("films").shelf, embedder=app.embedder)
        edits.apply(EditRequest(action=action, **asked), author=author)

    def vectors_of(self, shelf: Shelf) -> dict[str, list[float]]:
        reader = shelf.reader()
        keys = reader.scan(scope=WHOLE, limit=100)
        return dict(zip(reader.ids(keys), reader.vectors(keys).tolist(), strict=True))

    @property
    def marker(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "installed.json").read_text())
        return found


@pytest.fixture
def old(tmp_path: Path, embedding_server: Any) -> OldLibrary:
    """A library with a catalogue in LanceDB."""
    return OldLibrary(tmp_path, embedding_server.settings(timeout_s=5))


@pytest.fixture
def opened(old: OldLibrary) -> Iterator[App]:
    """That library, opened."""
    with closing(App(old.settings)) as app:
        yield app


def facts(changes: list[PastChange]) -> list[tuple[Any, ...]]:
    return [(one.change_no, one.id, one.op, one.author, one.at, one.before, one.after) for one in changes]


def test_a_catalogue_kept_in_lancedb_opens_with_its_records_vectors_and_history(old: OldLibrary, opened: App) -> None:
    shelf = opened.open_catalogue("films").shelf
    reader = shelf.reader()
    assert (reader.change_no, reader.count(WHOLE)) == (old.change_no, 2)
    assert reader.model == opened.embedder.model
    assert old.vectors_of(shelf) == old.vectors
    assert facts(shelf.history().list_changes(limit=100)) == facts(old.history)
    assert old.marker["shelf"] == "embedded"
    found = reader.lexical(analyse_query("aliens", synonyms={}), scope=WHOLE, limit=5)
    assert reader.ids([hit.key for hit in found.best]) == ["1"]


def test_a_converted_catalogue_is_updated_without_embedding_its_texts_again(old: OldLibrary, opened: App) -> None:
    old.rows.write_text(old.rows.read_text() + '{"id": "3", "title": "Tron"}\n')
    report = old.add(opened)
    assert (report.written, report.embedded, report.edited) == (1, 1, 2)
    shelf = opened.open_catalogue("films").shelf
    assert shelf.reader().change_no == old.change_no + 1
    assert set(old.vectors_of(shelf)) == {"0", "1", "3"}


def test_an_edit_from_before_the_conversion_can_be_undone(old: OldLibrary, opened: App) -> None:
    shelf = opened.open_catalogue("films").shelf
    old.edit(opened, EditAction.UNDO, id="call-update")
    record = shelf.writer().current_or_deleted([RecordId("1")])[RecordId("1")]
    assert record is not None
    assert record.get("title") == "Alien"


def test_a_catalogue_from_before_changes_were_logged_keeps_its_change_numbers(
    tmp_path: Path, embedding_server: Any
) -> None:
    old = OldLibrary(tmp_path, embedding_server.settings(timeout_s=5), with_log=False)
    with closing(App(old.settings)) as app:
        shelf = app.open_catalogue("films").shelf
        assert set(old.vectors_of(shelf)) == {"0", "1"}
        assert shelf.history().versions([RecordId("1")]) == {"1": old.change_no - 1}
        old.edit(app, EditAction.UPDATE, id="0", fields={"title": "Heat 2"})
        assert shelf.reader().change_no == old.change_no + 1


def test_a_conversion_that_was_stopped_is_begun_again(
    old: OldLibrary, opened: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Library, "change_shelf", lambda *_args: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            opened.open_catalogue("films")
    assert (old.folder / "records.sqlite").is_file()
    assert old.marker["shelf"] == "lance"
    assert old.vectors_of(opened.open_catalogue("films").shelf) == old.vectors


def test_tables_that_cannot_be_read_leave_the_catalogue_as_it_was(old: OldLibrary, opened: App) -> None:
    shutil.rmtree(old.folder / "lance" / "films_documents.lance")
    with pytest.raises(StorageError, match="has no table 'films_documents'; tables in it: films_changes, films_poi"):
        opened.open_catalogue("films")
    assert old.marker["shelf"] == "lance"


def test_without_lancedb_the_message_names_the_catalogue_and_the_extra(
    opened: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "lancedb" else known(name))
    for module in [name for name in sys.modules if name.startswith("pinakes.sources.lance")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(ExpectedError, match=r"'films' was built in LanceDB.*pip install 'pinakes\[lance\]'"):
        opened.open_catalogue("films")


def test_a_build_in_lancedb_that_was_stopped_before_its_tables_were_made_begins_anew(tmp_path: Path) -> None:
    library = Library(tmp_path)
    place = library.reserve("films", "films", declaration=SPEC)
    begun = library.change_shelf(place, "lance")
    assert on_embedded_shelf(library, begun, compile_text(SPEC, origin="films")) == place
    assert library.reserve("films", "films", declaration=SPEC) == place


def test_a_shelf_converted_by_another_process_is_taken_as_it_is(tmp_path: Path) -> None:
    library = Library(tmp_path)
    place = library.reserve("films", "films", declaration=SPEC)
    library.complete(place, source="x")
    stale = Installed(name="films", spec_name="films", folder=place.folder, shelf="lance")
    assert on_embedded_shelf(library, stale, compile_text(SPEC, origin="films")).shelf == "embedded"


def test_the_vectors_of_a_converted_catalogue_find_their_records(old: OldLibrary, opened: App) -> None:
    reader = opened.open_catalogue("films").shelf.reader()
    (ranking,) = reader.nearest(np.array([old.vectors["1"]], dtype=np.float32), scope=WHOLE, limit=1)
    assert reader.ids([hit.key for hit in ranking.best]) == ["1"]
