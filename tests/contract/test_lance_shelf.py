"""What the LanceDB shelf owes beyond the port: its tables, the version pointer, other processes, exact scores."""

import importlib
import importlib.util
import random
import shutil
import signal
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pinakes.api.registry import get_package
from pinakes.catalogue.loader import compile_text
from pinakes.errors import BusyError, ExpectedError, StorageError
from pinakes.model.record import RecordId
from pinakes.model.scope import WHOLE
from pinakes.model.vectors import ModelId
from pinakes.shelf.embedded.shelf import EmbeddedShelf
from pinakes.shelf.port import Delete, Embedding, Put
from pinakes.text.query import TextQuery, analyse_query
from support.memory_shelf import MemoryShelf

lancedb = pytest.importorskip("lancedb", reason="LanceDB is not installed: pip install 'pinakes[lance]'")
shelf_module = importlib.import_module("pinakes.shelf.lance.shelf")
tables_module = importlib.import_module("pinakes.shelf.lance.tables")
LanceShelf = shelf_module.LanceShelf

READING_PROCESS = """
import json, pathlib, sys
from pinakes.model.scope import WHOLE
from pinakes.shelf.lance.shelf import LanceShelf
from pinakes.text.query import analyse_query

shelf = LanceShelf.open(pathlib.Path(sys.argv[1]), get_package("anime").spec)
for line in sys.stdin:
    view = shelf.reader()
    ranking = view.lexical(analyse_query(line, synonyms={}), scope=WHOLE, limit=10)
    print(json.dumps([view.ids([hit.key for hit in ranking.best]), view.count(WHOLE), view.stale]), flush=True)
"""

KILLED_BEFORE_THE_POINTER = """
import os, pathlib, signal, sys
from pinakes.model.record import Record, RecordId
from pinakes.shelf.lance.shelf import LanceShelf
from pinakes.shelf.lance.tables import Tables
from pinakes.shelf.port import Delete, Put

Tables.commit = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
shelf = LanceShelf.open(pathlib.Path(sys.argv[1]), get_package("anime").spec)
lost = Record(id=RecordId("lost"), fields={"title": "A robot", "synopsis": "a robot story"})
shelf.apply([Put(record=lost), Delete(RecordId("r0"))])
"""

QUESTIONS = [
    "how many days of holiday do I have",
    "who approves travel expenses",
    "grappling a monster",
    "spell slots of a wizard",
    "working from home",
    "sick leave and doctor's note",
    "armour and shields",
    "notes about the garden",
    "password and security rules",
    "rolling for initiative",
]


class StoppedError(Exception):
    """A writer was stopped here."""


def query(text: str) -> TextQuery:
    return analyse_query(text, synonyms={})


def fill(stock: Any, count: int = 6) -> None:
    groups = ["Mecha", "Drama", "Comedy"]
    stock.put(
        *(
            stock.record(f"r{number}", body="a robot story", group=[groups[number % 3]], number=2000 + number)
            for number in range(count)
        )
    )


def documents(stock: Any) -> Any:
    return lancedb.connect(stock.shelf.folder / "lance").open_table("shelf_documents")


# The folder


def test_a_catalogue_is_one_table_with_a_row_a_record_named_after_its_folder(lance_stock: Any) -> None:
    fill(lance_stock, 3)
    lance_stock.put(lance_stock.record("r1", body="a samurai story", audiences=("staff",)))
    lance_stock.delete("r2")
    assert sorted(path.name for path in lance_stock.shelf.folder.iterdir()) == ["lance", "lock"]
    rows = {row["id"]: row for row in documents(lance_stock).to_arrow().to_pylist()}
    assert sorted(rows) == ["r0", "r1"]
    assert rows["r0"]["key"] == 1
    assert rows["r0"]["vector"] == pytest.approx(lance_stock.vector("r0").tolist())
    assert rows["r0"][f"term_{lance_stock.group_field}"] == ["mecha"]
    assert rows["r0"][f"number_{lance_stock.number_field}"] == lance_stock.number(2000)
    assert rows["r1"]["tokens"].split()[-3:] == ["a", "samurai", "stori"]
    assert rows["r1"]["audiences"] == ["staff"]


def test_opening_a_folder_without_a_catalogue_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no catalogue here"):
        LanceShelf.open(tmp_path, get_package("anime").spec)
    assert list(tmp_path.iterdir()) == []


def test_reopening_gives_the_same_answers(lance_stock: Any) -> None:
    fill(lance_stock)
    lance_stock.put(lance_stock.record("r1", body="a robot story, again"))
    lance_stock.delete("r2")
    reopened = LanceShelf.open(lance_stock.shelf.folder, lance_stock.spec)
    assert lance_stock.answers(reopened.reader()) == lance_stock.answers(lance_stock.shelf.reader())
    assert not reopened.is_empty()


def test_tables_of_a_newer_layout_are_refused_with_the_way_out(
    lance_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables_module, "LAYOUT_VERSION", 0)
    with pytest.raises(StorageError, match="newer Pinakes"):
        LanceShelf.open(lance_stock.shelf.folder, lance_stock.spec)


def test_tables_that_are_damaged_are_refused_by_name(lance_stock: Any) -> None:
    fill(lance_stock, 2)
    shutil.rmtree(lance_stock.shelf.folder / "lance" / "shelf_documents.lance")
    reopened = LanceShelf.open(lance_stock.shelf.folder, lance_stock.spec)
    with pytest.raises(StorageError, match="lance"):
        reopened.reader()


def test_without_lancedb_the_way_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "lancedb" else known(name))
    monkeypatch.delitem(importlib.sys.modules, "pinakes.shelf.lance")  # type: ignore[attr-defined]
    with pytest.raises(ExpectedError, match=r"pip install 'pinakes\[lance\]'"):
        importlib.import_module("pinakes.shelf.lance")


# The pointer


def test_a_writer_killed_before_the_pointer_leaves_the_old_state_and_the_next_one_takes_it_back(
    lance_stock: Any, other_process: Any
) -> None:
    fill(lance_stock, 2)
    before = lance_stock.answers(lance_stock.shelf.reader())
    with other_process(KILLED_BEFORE_THE_POINTER, lance_stock.shelf.folder) as other:
        assert other.wait() == -signal.SIGKILL
    assert {row["id"] for row in documents(lance_stock).to_arrow().to_pylist()} == {"lost", "r1"}
    reopened = LanceShelf.open(lance_stock.shelf.folder, lance_stock.spec)
    assert lance_stock.answers(reopened.reader()) == lance_stock.answers(lance_stock.shelf.reader()) == before
    lance_stock.put(lance_stock.record("new", body="a robot story"))
    assert sorted(lance_stock.lexical("robot")) == ["new", "r0", "r1"]
    assert {row["id"] for row in documents(lance_stock).to_arrow().to_pylist()} == {"r0", "r1", "new"}


def test_what_a_killed_writer_left_is_not_made_current_by_compaction(
    lance_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lance_stock, 2)
    shelf = lance_stock.shelf
    with monkeypatch.context() as patch:
        patch.setattr(tables_module.Tables, "commit", _stop)
        with pytest.raises(StoppedError):
            shelf.apply([Put(record=lance_stock.record("lost"))])
    monkeypatch.setattr(shelf_module, "LOOSE_WRITES", 0)
    shelf.publish()
    assert shelf.reader().find([RecordId("lost")], scope=WHOLE) == {}
    assert shelf.reader().count(WHOLE) == 2


def test_changes_logged_by_a_stopped_writer_were_never_made_and_the_next_ones_take_their_numbers(
    lance_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lance_stock, 2)
    shelf = lance_stock.shelf
    with monkeypatch.context() as patch:
        patch.setattr(tables_module.Tables, "commit", _stop)
        with pytest.raises(StoppedError):
            shelf.apply([Put(record=lance_stock.record("lost")), Delete(RecordId("r0"))])
    reopened = LanceShelf.open(shelf.folder, lance_stock.spec)
    for one in (shelf, reopened):
        assert [change.id for change in one.list_changes(limit=9)] == ["r1", "r0"]
        assert one.versions([RecordId("lost"), RecordId("r0")]) == {"r0": 1}
    for writer, name in ((shelf, "new"), (reopened, "newer"), (shelf, "newest")):
        writer.apply([Put(record=lance_stock.record(name))])
    found = [(change.change_no, change.id) for change in reopened.list_changes(limit=9)]
    assert found == [(5, "newest"), (4, "newer"), (3, "new"), (2, "r1"), (1, "r0")]


def test_a_catalogue_of_before_changes_were_kept_has_no_past_and_begins_one(lance_stock: Any) -> None:
    fill(lance_stock, 2)
    shutil.rmtree(lance_stock.shelf.folder / "lance" / "shelf_changes.lance")
    shelf = LanceShelf.open(lance_stock.shelf.folder, lance_stock.spec)
    assert shelf.list_changes(limit=9) == []
    assert shelf.versions([RecordId("r0"), RecordId("r1")]) == {"r0": 1, "r1": 2}
    shelf.apply([Delete(RecordId("r0"))], expected={RecordId("r0"): 1})
    (change,) = shelf.list_changes(limit=9)
    assert (change.change_no, change.before, change.after) == (
        3,
        lance_stock.record("r0", body="a robot story", group=["Mecha"], number=2000),
        None,
    )


def test_a_shelf_whose_making_was_interrupted_is_none_and_can_be_made_again(
    shelf_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = get_package("anime").spec
    with monkeypatch.context() as patch:
        patch.setattr(tables_module, "_pointer_row", _stop)
        with pytest.raises(StoppedError):
            LanceShelf.create(shelf_folder, spec, model=None)
    with pytest.raises(StorageError, match="no catalogue here"):
        LanceShelf.open(shelf_folder, spec)
    assert LanceShelf.create(shelf_folder, spec, model=None).is_empty()


def test_a_view_outlives_compaction_and_the_answers_stay(lance_stock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(lance_stock)
    lance_stock.put(lance_stock.record("r1", body="a robot story, again"))
    lance_stock.delete("r2")
    view = lance_stock.shelf.reader()
    before = lance_stock.answers(view)
    monkeypatch.setattr(shelf_module, "LOOSE_WRITES", 0)
    lance_stock.shelf.publish()
    assert documents(lance_stock).stats()["fragment_stats"]["num_fragments"] == 1
    assert lance_stock.answers(view) == before
    renewed = lance_stock.shelf.reader()
    assert renewed is not view
    assert lance_stock.answers(renewed) == before


def test_versions_that_ceased_to_be_current_long_ago_are_removed(
    lance_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        lance_stock.put(lance_stock.record(f"r{number}", body="a robot story"))
    monkeypatch.setattr(shelf_module, "LOOSE_WRITES", 0)
    lance_stock.shelf.publish()
    assert len(documents(lance_stock).list_versions()) > 5
    monkeypatch.setattr(tables_module, "KEEP_VERSIONS_FOR", timedelta(0))
    monkeypatch.setattr(tables_module, "PRUNING_TAKES", timedelta(milliseconds=1))
    lance_stock.put(lance_stock.record("r4", body="a robot story"))
    assert len(documents(lance_stock).list_versions()) == 1
    assert len(lance_stock.lexical("robot")) == 5


def test_a_compaction_stopped_before_the_pointer_leaves_what_the_pointer_names(
    lance_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lance_stock)
    before = lance_stock.answers(lance_stock.shelf.reader())
    monkeypatch.setattr(shelf_module, "LOOSE_WRITES", 0)
    monkeypatch.setattr(tables_module, "KEEP_VERSIONS_FOR", timedelta(0))
    monkeypatch.setattr(tables_module.Tables, "commit", _stop)
    with pytest.raises(StoppedError):
        lance_stock.shelf.publish()
    reopened = LanceShelf.open(lance_stock.shelf.folder, lance_stock.spec)
    assert lance_stock.answers(reopened.reader()) == before


# Another spec, another model


def test_another_spec_writes_the_columns_anew_and_keeps_keys_and_vectors(lance_stock: Any) -> None:
    record = lance_stock.record("one")
    lance_stock.put(
        lance_stock.record("zero"), type(record)(id=record.id, fields={**record.fields, "sources": ("lighthouse",)})
    )
    keys = lance_stock.keys("zero", "one")
    declaration = get_package("anime").loaded.declaration
    changed = compile_text(declaration.replace("[fields.sources]", "[fields.sources]\nsearch = true"), origin="test")
    view = LanceShelf.open(lance_stock.shelf.folder, changed).reader()
    assert view.lexical(query("lighthouse"), scope=WHOLE, limit=5).keys.tolist() == keys[1:]
    assert view.vectors(keys)[1] == pytest.approx(lance_stock.vector("one"))
    assert lance_stock.lexical("lighthouse") == []


def test_vectors_of_another_model_are_never_mixed_with_those_before(lance_stock: Any) -> None:
    fill(lance_stock, 2)
    keys = lance_stock.keys("r0", "r1")
    shelf = LanceShelf.create(lance_stock.shelf.folder, lance_stock.spec, model=ModelId(name="other", dimension=3))
    assert shelf.reader().model == ModelId(name="other", dimension=3)
    assert shelf.missing_embeddings([b"r0"]) == {b"r0"}
    assert shelf.unchanged([lance_stock.embedded(lance_stock.record("r0"))]) == set()
    record = shelf.reader().fetch(keys, scope=WHOLE)[keys[0]]
    vector = np.array([1, 0, 0], np.float32)
    shelf.apply([Put(record=record, embedding=Embedding(digest=b"r0", vector=vector))])
    (ranking,) = shelf.reader().nearest(vector[None], scope=WHOLE, limit=5)
    assert ranking.keys.tolist() == keys[:1]
    assert lance_stock.shelf.reader().model == ModelId(name="other", dimension=3)


def test_a_shelf_without_a_model_has_words_and_no_vectors(shelf_folder: Path, lance_stock: Any) -> None:
    shelf = LanceShelf.create(shelf_folder / "plain", lance_stock.spec, model=None)
    shelf.apply([lance_stock.embedded(lance_stock.record("one", body="robot")), Delete(RecordId("none"))])
    view = shelf.reader()
    assert view.lexical(query("robot"), scope=WHOLE, limit=5).total == 1
    assert view.nearest(lance_stock.vector("one")[None], scope=WHOLE, limit=5)[0].total == 0
    assert view.vectors(view.scan(scope=WHOLE, limit=5)).shape == (1, 0)
    assert shelf.missing_embeddings([b"one"]) == {b"one"}
    assert shelf.apply([]) == view.change_no


# Other processes and threads


def test_an_open_process_sees_a_put_and_a_delete_of_another_at_its_next_call(
    lance_stock: Any, other_process: Any
) -> None:
    fill(lance_stock, 2)
    with other_process(READING_PROCESS, lance_stock.shelf.folder) as other:
        assert other.ask("robot") == [["r0", "r1"], 2, None]
        lance_stock.put(lance_stock.record("new", body="a samurai"))
        assert other.ask("samurai") == [["new"], 3, None]
        lance_stock.delete("r0")
        assert other.ask("robot") == [["r1"], 2, None]


def test_a_second_writer_is_told_which_catalogue_is_busy_and_by_which_lock(
    lance_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf_module, "WRITER_LOCK_TIMEOUT_S", 0.1)
    second = LanceShelf.open(lance_stock.shelf.folder, lance_stock.spec)
    with lance_stock.shelf.exclusive():
        lance_stock.put(lance_stock.record("one"))
        with pytest.raises(BusyError) as refused:
            second.apply([Put(record=lance_stock.record("two"))])
    assert "'anime'" in refused.value.message
    assert str(lance_stock.shelf.folder / "lock") in refused.value.message
    assert second.reader().count(WHOLE) == 1


def test_threads_that_read_while_one_writes_see_whole_changes(lance_stock: Any) -> None:
    fill(lance_stock, 2)
    problems: list[str] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            view = lance_stock.shelf.reader()
            keys = view.scan(scope=WHOLE, limit=100)
            if len(keys) % 2 or view.lexical(query("robot"), scope=WHOLE, limit=1).total != len(keys):
                problems.append(f"{len(keys)} records at change {view.change_no}")
            if sorted(view.fetch(keys, scope=WHOLE)) != keys:
                problems.append(f"records are missing at change {view.change_no}")

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(10):
        lance_stock.put(*(lance_stock.record(f"n{number}{side}", body="a robot story") for side in "ab"))
    ended.set()
    for thread in threads:
        thread.join()
    assert problems == []
    assert lance_stock.shelf.reader().count(WHOLE) == 22


# Answers


def test_a_new_base_is_loaded_when_the_tail_outgrows_it_and_the_answers_stay(
    lance_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(lance_stock)
    first = lance_stock.shelf.reader().base
    lance_stock.put(lance_stock.record("r1", body="a robot story, again"))
    lance_stock.delete("r2")
    view = lance_stock.shelf.reader()
    assert view.base is first
    monkeypatch.setattr(shelf_module, "TAIL_ROWS", 0)
    lance_stock.put(lance_stock.record("r3", body="a robot story, too"))
    before = lance_stock.shelf.reader()
    assert before.base is not first
    assert before.tail.columns.size == 0
    monkeypatch.setattr(shelf_module, "TAIL_ROWS", 10)
    lance_stock.put(lance_stock.record("r3", body="a robot story"))
    reopened = LanceShelf.open(lance_stock.shelf.folder, lance_stock.spec)
    assert lance_stock.answers(lance_stock.shelf.reader()) == lance_stock.answers(reopened.reader())


def test_after_many_edits_the_scores_are_those_of_the_reference(lance_stock: Any) -> None:
    reference = MemoryShelf(lance_stock.spec, model=lance_stock.shelf.reader().model)
    chance = random.Random(7)
    words = ["robot", "samurai", "garden", "story", "moon", "tea", "dragon"]
    for step in range(6):
        lance_stock.shelf.reader()
        some = [
            lance_stock.record(f"r{chance.randrange(30)}", body=" ".join(chance.choices(words, k=chance.randrange(9))))
            for _ in range(12)
        ]
        changes = [*map(lance_stock.embedded, some), Delete(RecordId(f"r{chance.randrange(30)}"))]
        assert lance_stock.shelf.apply(changes) == reference.apply(changes), step
    view, expected = lance_stock.shelf.reader(), reference.reader()
    for asked in ("robot", "samurai garden moon", "title of tea"):
        found = view.lexical(query(asked), scope=WHOLE, limit=50)
        wanted = expected.lexical(query(asked), scope=WHOLE, limit=50)
        assert dict(found.best) == pytest.approx(dict(wanted.best))
        assert (found.total, found.keys[:3].tolist()) == (wanted.total, wanted.keys[:3].tolist())


def test_the_same_passages_have_the_same_best_ten_as_on_the_embedded_shelf(lance_stock: Any, tmp_path: Path) -> None:
    sample = importlib.resources.files("pinakes_catalogues") / "documents" / "sample"
    files = sorted(Path(str(sample)).rglob("*.md"))
    chunks = [
        (f"{path.stem}-{place}", chunk)
        for path in files
        for place, chunk in enumerate(path.read_text(encoding="utf-8").split("\n\n"))
        if len(chunk) > 40
    ]
    assert len(chunks) > 100
    model = lance_stock.shelf.reader().model
    embedded = type(lance_stock)(
        shelf=EmbeddedShelf.create(tmp_path / "embedded", lance_stock.spec, model=model), spec=lance_stock.spec
    )
    for stock in (embedded, lance_stock):
        stock.put(*(stock.record(name, title=name, body=chunk) for name, chunk in chunks))
    for question in QUESTIONS:
        assert _overlap(lance_stock.lexical(question, limit=10), embedded.lexical(question, limit=10)) >= 0.9, question
        assert _overlap(lance_stock.nearest(question, limit=10), embedded.nearest(question, limit=10)) >= 0.9, question
    embedded.shelf.close()


def _overlap(found: list[str], expected: list[str]) -> float:
    return len(set(found) & set(expected)) / max(len(expected), 1)


def _stop(*_: Any) -> None:
    raise StoppedError
