"""What the embedded shelf owes beyond the port: derived indexes, other processes, one writer at a
time.
"""

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
import tantivy

from stackroom.catalogue.compiler import compile_text
from stackroom.errors import BusyError, StorageError
from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE, Visibility
from stackroom.model.vectors import Vector
from stackroom.packages import PACKAGES
from stackroom.shelf import catalogue_folder
from stackroom.shelf.embedded import folder_index, index_process, shelf_index
from stackroom.shelf.embedded.index_files import BaseFolder
from stackroom.shelf.embedded.segment import Segment
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import LOCAL, Delete, Embedding, Put
from stackroom.text.analyser import TextQuery, analyse_query
from support.processes import wait_until

READING_PROCESS = """
import json, pathlib, sys
from stackroom.packages import PACKAGES
from stackroom.model.scope import WHOLE
from stackroom.shelf.opening import open_shelf
from stackroom.text.analyser import analyse_query

shelf = open_shelf(pathlib.Path(sys.argv[1]), PACKAGES.get("anime").spec)
for line in sys.stdin:
    view = shelf.reader()
    ranking = view.lexical(analyse_query(line, synonyms={}), scope=WHOLE, limit=10)
    ids = view.ids([hit.key for hit in ranking.best])
    print(json.dumps([ids, view.count(WHOLE), view.stale]), flush=True)
"""

LOCKING_PROCESS = """
import filelock, pathlib, sys
with filelock.FileLock(pathlib.Path(sys.argv[1]) / "lock"):
    print("held", flush=True)
    sys.stdin.readline()
"""

WRITING_PROCESS = """
import pathlib, sys
from stackroom.packages import PACKAGES
from stackroom.model.record import Record, RecordId
from stackroom.shelf.embedded import shelf_index
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import Delete, Put

shelf_index.TAIL_ROWS = 2
shelf_index.TAIL_SHARE = 0
shelf = open_shelf(pathlib.Path(sys.argv[1]), PACKAGES.get("anime").spec)
for number in range(40):
    fields = {"title": f"Robot {number}", "synopsis": "a robot story"}
    put = Put(record=Record(id=RecordId(f"n{number}"), fields=fields))
    shelf.apply([put, Delete(RecordId(f"n{number - 5}"))])
    shelf.publish()
print("done", flush=True)
"""


def query(text: str) -> TextQuery:
    return analyse_query(text, synonyms={})


def fill(stock: Any, count: int = 6) -> None:
    groups = ["Mecha", "Drama", "Comedy"]
    stock.put(
        *(
            stock.record(
                f"r{number}", body="a robot story", group=[groups[number % 3]], number=2000 + number
            )
            for number in range(count)
        )
    )


def base_name(stock: Any) -> str:
    (pointer,) = Path(stock.shelf.folder).glob("index/*/CURRENT")
    return pointer.read_text(encoding="utf-8")


# Derived indexes


def test_deleting_the_index_under_an_open_shelf_loses_nothing(embedded_stock: Any) -> None:
    fill(embedded_stock)
    embedded_stock.shelf.reader()
    shutil.rmtree(embedded_stock.shelf.folder / "index")
    embedded_stock.put(embedded_stock.record("new", body="a robot story"))
    assert embedded_stock.shelf.reader().count(WHOLE) == 7
    assert len(embedded_stock.lexical("robot")) == 7


def test_another_spec_builds_its_own_index_and_the_old_one_goes(embedded_stock: Any) -> None:
    record = embedded_stock.record("one")
    shelf = embedded_stock.shelf
    embedded_stock.put(
        type(record)(id=record.id, fields={**record.fields, "sources": ("lighthouse",)})
    )
    assert embedded_stock.lexical("lighthouse") == []
    shelf.close()
    declaration = PACKAGES.get("anime").loaded.declaration
    changed = compile_text(
        declaration.replace("[fields.sources]", "[fields.sources]\nsearch = true"), origin="test"
    )
    reopened = open_shelf(shelf.folder, changed)
    assert reopened.reader().lexical(query("lighthouse"), scope=WHOLE, limit=5).total == 1
    assert len(list((shelf.folder / "index").iterdir())) == 1
    reopened.close()


def test_a_new_base_is_built_when_the_tail_outgrows_it_and_the_answers_stay(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(embedded_stock)
    first = base_name(embedded_stock)
    embedded_stock.put(embedded_stock.record("r1", body="a robot story, again"))
    embedded_stock.delete("r2")
    assert base_name(embedded_stock) == first
    before = embedded_stock.answers(embedded_stock.shelf.reader())
    monkeypatch.setattr(shelf_index, "TAIL_ROWS", 1)
    embedded_stock.shelf.publish()
    assert base_name(embedded_stock) != first
    assert [path.name for path in Path(embedded_stock.shelf.folder).glob("index/*/base-*")] == [
        base_name(embedded_stock)
    ]
    reopened = open_shelf(embedded_stock.shelf.folder, embedded_stock.spec)
    assert reopened.reader().counters()["tail_rows"] == 0
    assert embedded_stock.answers(reopened.reader()) == before
    reopened.close()


def test_a_view_after_an_edit_reads_few_of_the_changed_records_and_is_that_of_a_new_process(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(embedded_stock, 60)
    shelf, read = embedded_stock.shelf, list[int]()
    embedded_stock.put(
        *(embedded_stock.record(f"r{number}", body="a tale of robots") for number in range(40))
    )
    shelf.reader()
    iter_rows = shelf.store.iter_rows
    monkeypatch.setattr(
        shelf.store, "iter_rows", lambda keys: read.append(len(keys)) or iter_rows(keys)
    )
    for number in range(4):
        embedded_stock.put(embedded_stock.record(f"r{number % 2}", body=f"another story {number}"))
        read.clear()  # of its words, the last few are written again
        shelf.reader()
        assert max(read) <= 2
    embedded_stock.delete("r30")
    assert [segment.columns.size for segment in shelf.reader().segments] == [60, 40, 2]
    with closing(open_shelf(shelf.folder, embedded_stock.spec)) as other:
        assert embedded_stock.answers(shelf.reader()) == embedded_stock.answers(other.reader())


def test_single_edits_do_not_write_the_text_of_all_records_again(embedded_stock: Any) -> None:
    fill(embedded_stock, 100)
    (text,) = Path(embedded_stock.shelf.folder).glob("index/*/text")
    first = set(text.glob("*.idx"))
    for number in range(60):
        embedded_stock.put(embedded_stock.record(f"r{number % 10}", body=f"another story {number}"))
    assert first < set(text.glob("*.idx"))
    assert embedded_stock.shelf.reader().counters()["text_segments"] <= 7
    assert len(embedded_stock.lexical("another")) == 10


def test_a_record_whose_new_text_awaits_its_vector_has_none_of_the_former_text(
    embedded_stock: Any,
) -> None:
    fill(embedded_stock, 60)
    embedded_stock.put(
        *(embedded_stock.record(f"r{number}", body="a tale of robots") for number in range(40))
    )
    view, (key,) = embedded_stock.shelf.reader(), embedded_stock.keys("r7")
    assert view.vectors([key]).any()
    embedded_stock.apply(
        Put(record=embedded_stock.record("r7", body="new"), embedding=Embedding(digest=b"new"))
    )
    assert not embedded_stock.shelf.reader().vectors([key]).any()


def test_a_change_that_is_stored_while_the_first_index_is_built_is_indexed_next(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = embedded_stock.shelf
    shelf.apply(
        [embedded_stock.embedded(embedded_stock.record(f"r{number}")) for number in range(6)]
    )
    iter_rows = shelf.store.iter_rows

    def rows() -> Any:
        for row in iter_rows():
            if row.key == 3:  # as a copy does in another process, when another server has written
                with closing(Store(shelf.store.path, embedded_stock.spec)) as store:
                    store.apply(
                        [embedded_stock.embedded(embedded_stock.record("r0", body="gattaca"))],
                        LOCAL,
                    )
            yield row

    with monkeypatch.context() as patched:
        patched.setattr(
            shelf.store, "iter_rows", lambda *keys: iter_rows(*keys) if keys and keys[0] else rows()
        )
        shelf.publish()
    assert embedded_stock.lexical("gattaca") == ["r0"]


def test_a_snapshot_for_a_caller_says_what_the_whole_one_says_of_its_age(
    embedded_stock: Any,
) -> None:
    embedded_stock.put(
        embedded_stock.record("r0"), embedded_stock.record("r1", audiences=("staff",))
    )
    view, visibility = embedded_stock.shelf.reader(), Visibility(frozenset())
    assert view.seen_by(visibility).stale is None
    assert view.as_stale("5 seconds old").seen_by(visibility).stale == "5 seconds old"


def test_a_view_outlives_the_base_it_was_taken_from(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(embedded_stock)
    view = embedded_stock.shelf.reader()
    before = embedded_stock.answers(view)
    monkeypatch.setattr(shelf_index, "TAIL_ROWS", 0)
    embedded_stock.delete("r0", "r1", "r2")
    assert not list(
        Path(embedded_stock.shelf.folder).glob(f"index/*/base-{view.segments[0].change_no}")
    )
    assert embedded_stock.answers(view) == before


def test_an_index_that_is_ahead_of_the_store_is_built_anew(
    embedded_stock: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fill(embedded_stock, 3)
    embedded_stock.shelf.close()
    shutil.copy(embedded_stock.shelf.folder / "records.sqlite", tmp_path / "backup.sqlite")
    fill(embedded_stock, 6)
    embedded_stock.shelf.close()
    for leftover in embedded_stock.shelf.folder.glob("records.sqlite*"):
        leftover.unlink()
    shutil.copy(tmp_path / "backup.sqlite", embedded_stock.shelf.folder / "records.sqlite")
    with caplog.at_level(logging.WARNING):
        assert sorted(embedded_stock.lexical("robot")) == ["r0", "r1", "r2"]
    assert "is rebuilt" in caplog.text


def test_opening_a_folder_without_a_catalogue_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        StorageError, match=r"records\.sqlite is missing; put it back from a back-up"
    ):
        open_shelf(tmp_path, PACKAGES.get("anime").spec)


# Other processes


def test_an_open_process_sees_a_put_and_a_delete_of_another_at_its_next_call(
    embedded_stock: Any, other_process: Any
) -> None:
    fill(embedded_stock, 2)
    with other_process(READING_PROCESS, embedded_stock.shelf.folder) as other:
        assert other.ask("robot") == [["r0", "r1"], 2, None]
        embedded_stock.put(embedded_stock.record("new", body="a samurai"))
        assert other.ask("samurai") == [["new"], 3, None]
        embedded_stock.delete("r0")
        assert other.ask("robot") == [["r1"], 2, None]


def test_a_second_writer_is_told_in_time_which_catalogue_is_busy_and_by_which_lock(
    embedded_stock: Any, other_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_folder, "WRITER_LOCK_TIMEOUT_S", 0.2)
    folder = embedded_stock.shelf.folder
    with other_process(LOCKING_PROCESS, folder) as other:
        assert other.read() == "held"
        with pytest.raises(BusyError) as refused:
            embedded_stock.shelf.apply([Put(record=embedded_stock.record("one"))])
    assert f"'{folder.name}'" in refused.value.message
    assert str(folder / "lock") in refused.value.message
    embedded_stock.put(embedded_stock.record("one"))
    assert embedded_stock.shelf.reader().count(WHOLE) == 1


def test_a_reader_that_cannot_catch_up_while_another_process_writes_says_it_is_stale(
    embedded_stock: Any, other_process: Any
) -> None:
    fill(embedded_stock, 2)
    assert embedded_stock.shelf.reader().stale is None
    embedded_stock.shelf.apply([Put(record=embedded_stock.record("new"))])
    with other_process(LOCKING_PROCESS, embedded_stock.shelf.folder) as other:
        assert other.read() == "held"
        view = embedded_stock.shelf.reader()
        assert (view.stale, view.count(WHOLE)) == ("another process is writing", 2)
        assert view.find([RecordId("new")], scope=WHOLE) == {}
    view = embedded_stock.shelf.reader()
    assert (view.stale, view.count(WHOLE)) == (None, 3)


def test_an_index_that_cannot_be_written_is_read_as_far_as_it_goes_and_says_so_without_a_path(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_index, "UNWRITABLE_PAUSE_S", 0.0)
    fill(embedded_stock)
    shelf = embedded_stock.shelf
    before = shelf.reader().count(WHOLE)
    (text,) = (shelf.folder / "index").glob("*/text")
    occupied = tantivy.Index.open(str(text)).writer(15_000_000, num_threads=1)
    shelf.apply([Put(record=embedded_stock.record("new"))])

    with pytest.raises(StorageError) as refused:
        shelf.publish()
    view = shelf.reader()
    assert (view.count(WHOLE), view.stale) == (
        before,
        "the text index cannot be written: another process is writing it",
    )
    assert refused.value.message == view.stale
    with closing(open_shelf(shelf.folder, shelf.spec)) as other:
        assert other.reader().count(WHOLE) == before

    del occupied
    assert (shelf.reader().count(WHOLE), shelf.reader().stale) == (before + 1, None)


def test_a_reader_catches_up_with_whatever_a_dead_writer_left_unpublished(
    embedded_stock: Any,
) -> None:
    fill(embedded_stock, 2)
    embedded_stock.shelf.reader()
    embedded_stock.shelf.apply(
        [Put(record=embedded_stock.record(f"new{number}")) for number in range(2_500)]
    )
    view = embedded_stock.shelf.reader()
    assert (view.stale, view.count(WHOLE)) == (None, 2_502)


def test_every_view_taken_while_another_process_writes_is_of_one_moment(
    embedded_stock: Any, other_process: Any
) -> None:
    fill(embedded_stock, 2)
    seen = set()
    with other_process(WRITING_PROCESS, embedded_stock.shelf.folder) as other:
        while not other.has_spoken():
            view = embedded_stock.shelf.reader()
            keys = view.scan(scope=WHOLE, limit=100)
            found = view.lexical(query("robot"), scope=WHOLE, limit=100)
            assert sorted(hit.key for hit in found.best) == keys
            assert sorted(view.fetch(keys, scope=WHOLE)) == keys
            assert len(view.find(view.ids(keys), scope=WHOLE)) == len(keys) == view.count(WHOLE)
            seen.add(view.change_no)
    assert len(seen) > 1
    assert embedded_stock.shelf.reader().count(WHOLE) == 2 + 5


def test_a_first_reader_and_whoever_publishes_do_not_wait_for_each_other(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_folder, "WRITER_LOCK_TIMEOUT_S", 600)
    fill(embedded_stock, 2)
    shelf = open_shelf(embedded_stock.shelf.folder, embedded_stock.spec)
    shelf.apply([Put(record=embedded_stock.record("new", body="a robot story"))])
    counts: list[int] = []
    reading = threading.Thread(target=lambda: counts.append(shelf.reader().count(WHOLE)))
    with shelf.exclusive():
        reading.start()
        time.sleep(0.3)
        shelf.publish()
    reading.join()
    assert counts == [2], "it gets the state that the index had reached"
    assert shelf.reader().count(WHOLE) == 3
    shelf.close()


# The store


def test_a_store_of_a_newer_layout_is_refused_with_the_way_out(embedded_stock: Any) -> None:
    embedded_stock.shelf.store._db().pragma("user_version", 99)
    embedded_stock.shelf.close()
    with pytest.raises(StorageError, match="newer Stackroom"):
        embedded_stock.shelf.reader()


def test_a_file_that_is_no_database_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "records.sqlite").write_bytes(
        b"not a database, but long enough to look like one" * 100
    )
    with pytest.raises(StorageError, match=r"records\.sqlite"):
        open_shelf(tmp_path, PACKAGES.get("anime").spec)


# What is known at once


def test_the_view_that_is_here_is_found_until_anybody_changes_a_record(embedded_stock: Any) -> None:
    shelf = embedded_stock.shelf
    fill(embedded_stock)
    assert shelf.find_reader() is None, "there is no view yet"
    assert shelf.find_reader() is not shelf.reader()
    assert shelf.find_reader() is shelf.reader()
    other = open_shelf(shelf.folder, embedded_stock.spec)
    other.apply([Put(record=embedded_stock.record("new"))])
    assert shelf.find_reader() is None
    assert shelf.reader().count(WHOLE) == 7
    assert shelf.find_reader() is shelf.reader()
    other.apply([Delete(RecordId("new"))])
    assert shelf.find_reader() is None
    other.close()


def test_a_view_is_found_or_not_without_waiting_for_whoever_catches_up(embedded_stock: Any) -> None:
    shelf = embedded_stock.shelf
    fill(embedded_stock)
    view = shelf.reader()
    found: list[Any] = []
    with shelf._place.guard, shelf.store._watch_guard:
        thread = threading.Thread(target=lambda: found.append(shelf.find_reader()))
        thread.start()
        thread.join(timeout=120)
        assert found == [None]
    with shelf._place.guard:
        thread = threading.Thread(target=lambda: found.append(shelf.find_reader()))
        thread.start()
        thread.join(timeout=120)
    assert found == [None, view]


def test_an_index_that_lacks_a_record_is_a_problem_until_it_is_rebuilt(embedded_stock: Any) -> None:
    embedded_stock.put(*(embedded_stock.record(f"r{number}") for number in range(5)))
    view = embedded_stock.shelf.reader()
    view.text.update(view.scan(scope=WHOLE, limit=1), [], change_no=view.change_no)
    with closing(open_shelf(embedded_stock.shelf.folder, embedded_stock.spec)) as shelf:
        problems = list(shelf.check())
        assert {problem.part for problem in problems} == {"index"}
        assert {problem.advice for problem in problems} == {
            "run: stackroom job run rebuild_indexes"
        }
        assert any("the text index has 4 records" in problem.message for problem in problems)
        shelf.rebuild()
        assert list(shelf.check()) == []


def test_damage_to_the_file_of_the_records_is_a_problem_with_advice(embedded_stock: Any) -> None:
    embedded_stock.put(
        *(embedded_stock.record(f"r{number}", body="words " * 300) for number in range(50))
    )
    embedded_stock.shelf.close()
    store = embedded_stock.shelf.folder / "records.sqlite"
    content = bytearray(store.read_bytes())
    content[5 * 4096 + 8 : 6 * 4096] = b"\xff" * (4096 - 8)
    store.write_bytes(content)
    problems = list(embedded_stock.shelf.check())
    assert {problem.part for problem in problems} == {"records"}
    assert "records.sqlite is damaged" in problems[0].message
    assert problems[0].advice.startswith("put it back from a back-up")


# Vectors that come later than their records


def fill_by_words(stock: Any, count: int = 6) -> dict[RecordId, bytes]:
    records = [
        stock.record(f"r{number}", body="a robot story", number=2000 + number)
        for number in range(count)
    ]
    digests = {record.id: record.id.encode() for record in records}
    stock.apply(*(Put(record=one, embedding=Embedding(digest=digests[one.id])) for one in records))
    return digests


def vectors_of(stock: Any, names: Iterable[str]) -> dict[bytes, Vector]:
    return {name.encode(): stock.vector(name) for name in names}


@pytest.mark.row("N12")
def test_a_base_with_late_vectors_is_the_one_that_would_have_been_built_with_them_at_once(
    embedded_stock: Any,
) -> None:
    stock = embedded_stock
    digests = fill_by_words(stock)
    for name in digests:
        stock.shelf.add_vectors({name: digests[name]}, vectors_of(stock, [name]))
        stock.shelf.publish_vectors()
    late, named = stock.shelf.reader().segments[0], base_name(stock)
    stock.shelf.rebuild()
    whole = stock.shelf.reader().segments[0]
    assert named == base_name(stock) == f"base-{len(digests)}-{len(digests)}"
    for field in ("exact", "codes", "scales"):
        np.testing.assert_array_equal(getattr(late.vectors, field), getattr(whole.vectors, field))
    assert late.awaiting is whole.awaiting is None
    assert list(stock.shelf.check()) == []


@pytest.mark.row("N12")
def test_vectors_that_a_killed_process_stored_are_published_by_whoever_opens_the_shelf_next(
    embedded_stock: Any,
) -> None:
    stock = embedded_stock
    digests = fill_by_words(stock)
    assert stock.nearest("r1") == []
    stock.shelf.add_vectors(digests, vectors_of(stock, digests))
    assert stock.nearest("r1") == [], "a shelf that is open goes on with what is published"
    other = open_shelf(stock.shelf.folder, stock.spec)
    with other.sole_embedder(wait_s=1.0):
        busy = open_shelf(stock.shelf.folder, stock.spec)
        assert busy.reader().awaiting_vectors == len(digests), (
            "another process is embedding, and will publish"
        )
        busy.close()
    opened = open_shelf(stock.shelf.folder, stock.spec)
    assert opened.reader().awaiting_vectors == 0
    assert stock.nearest("r1")[0] == "r1"
    opened.close()


@pytest.mark.row("N12")
def test_vectors_are_published_beside_edits_that_replace_the_base(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = embedded_stock
    digests = fill_by_words(stock)
    write_late = BaseFolder.write_late
    edits = iter(["new"])

    def meddle(bases: BaseFolder, segment: Segment, *, like: str) -> Path | None:
        if (name := next(edits, None)) is not None:
            stock.shelf.rebuild()
            stock.put(stock.record(name))
        return write_late(bases, segment, like=like)

    monkeypatch.setattr(BaseFolder, "write_late", meddle)
    stock.shelf.add_vectors(digests, vectors_of(stock, digests))
    stock.shelf.publish_vectors()
    reader = stock.shelf.reader()
    assert reader.awaiting_vectors == 0
    assert reader.count(WHOLE) == len(digests) + 1
    assert not list(Path(stock.shelf.folder).glob("index/*/late-*")), "nothing is left behind"


# The first index, built by a process of its own


@pytest.fixture
def many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few records be many."""
    monkeypatch.setattr(index_process, "WORTHWHILE_RECORDS", 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


def write_in_two_parts(
    stock: Any, *, between: Callable[[], object] = lambda: None, has_vectors: bool = True
) -> None:
    written = [stock.record(f"r{n}", body="a robot story", number=2000 + n) for n in range(8)]
    records = [stock.embedded(record) if has_vectors else Put(record=record) for record in written]
    with stock.shelf.exclusive():
        stock.shelf.apply(records[:4])
        between()
        stock.shelf.apply(records[4:])
        stock.shelf.publish()


@pytest.mark.row("N12")
@pytest.mark.parametrize("has_vectors", [True, False])
@pytest.mark.usefixtures("many_at_once")
def test_an_index_built_while_records_are_written_is_the_one_that_is_built_afterwards(
    embedded_stock: Any, caplog: pytest.LogCaptureFixture, has_vectors: bool
) -> None:
    stock = embedded_stock
    write_in_two_parts(stock, has_vectors=has_vectors)
    assert caplog.text == "", "it was built by the process"
    before = stock.answers(stock.shelf.reader())
    assert list(stock.shelf.check()) == []
    stock.shelf.rebuild()
    assert stock.answers(stock.shelf.reader()) == before


@pytest.mark.row("N12")
@pytest.mark.usefixtures("many_at_once")
def test_records_of_an_interrupted_build_are_indexed_with_those_that_follow(
    embedded_stock: Any,
) -> None:
    stock = embedded_stock
    stock.shelf.apply([Put(record=stock.record("first", body="a lighthouse"))])
    index_process.prepare_indexing()
    write_in_two_parts(stock, has_vectors=False)
    assert stock.lexical("lighthouse") == ["first"]
    assert len(stock.lexical("robot")) == 8
    assert list(stock.shelf.check()) == []


@pytest.mark.row("N12")
@pytest.mark.usefixtures("many_at_once")
def test_a_record_that_is_changed_while_others_are_written_is_indexed_as_it_is(
    embedded_stock: Any,
) -> None:
    stock = embedded_stock
    changed = stock.record("r1", body="a lighthouse")
    write_in_two_parts(stock, between=lambda: stock.shelf.apply([stock.embedded(changed)]))
    assert stock.lexical("lighthouse") == ["r1"]
    assert list(stock.shelf.check()) == []


@pytest.mark.row("N12")
@pytest.mark.usefixtures("many_at_once")
def test_where_the_process_fails_the_index_is_built_all_the_same(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(index_process, "WORKER_MODULE", "stackroom.no_such_module")
    write_in_two_parts(embedded_stock)
    assert len(embedded_stock.lexical("robot")) == 8
    assert "its process failed" in caplog.text


WRITER_THAT_IS_KILLED = """
import os, pathlib, signal, sys
from stackroom.packages import PACKAGES
from stackroom.model.record import Record, RecordId
from stackroom.shelf.embedded import index_process
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import Put

index_process.WORTHWHILE_RECORDS = 1
os.cpu_count = lambda: 2
shelf = open_shelf(pathlib.Path(sys.argv[1]), PACKAGES.get("anime").spec)
with shelf.exclusive():
    fields = {"title": "Robot", "synopsis": "a robot story"}
    shelf.apply([Put(record=Record(id=RecordId("one"), fields=fields))])
    print(shelf.index._indexing._process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.row("N12")
def test_the_process_that_indexes_ends_with_the_one_that_writes_and_leaves_nothing(
    embedded_stock: Any,
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", WRITER_THAT_IS_KILLED, str(embedded_stock.shelf.folder)],
        stdout=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL
    worker = Path("/proc") / killed.stdout.decode().strip()
    wait_until(
        lambda: not worker.exists() or "Z" in (worker / "stat").read_text().split()[2],
        timeout_s=120,
    )
    embedded_stock.shelf.publish()
    assert embedded_stock.lexical("robot") == ["one"]
    assert list(embedded_stock.shelf.check()) == []


def test_a_shelf_whose_file_another_process_reads_is_closed_without_a_seal(
    embedded_stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = embedded_stock.shelf.store
    connect = store.connect
    monkeypatch.setattr(store, "connect", lambda **_asked: connect(busy_timeout_ms=0))
    embedded_stock.put(embedded_stock.record("one"))
    with closing(apsw.Connection(str(store.path))) as other:
        other.execute("BEGIN")
        assert other.execute("SELECT count(*) FROM records").get == 1
        embedded_stock.put(embedded_stock.record("two"))
        embedded_stock.shelf.close()
    assert embedded_stock.shelf.reader().count(WHOLE) == 2
