"""An index that several servers build together inside PostgreSQL; workers fail and are cut off."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from stackroom.errors import BusyError, StorageError
from stackroom.model.record import Key
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.postgres_search import database, index, postings
from stackroom.shelf.postgres_search import view as view_module
from stackroom.shelf.postgres_search.index import SearchIndex
from stackroom.shelf.store_place import IN_DATABASE, StorePlace
from stackroom.text.analyser import analyse_query
from support.postgres import PostgresServer
from support.stock import OpenServer, Stock

pytestmark = pytest.mark.row("N16")

SPEC = PACKAGES.get("anime").spec
RECORDS, RANGE_KEYS, PARTS = 100, 16, 3
RANGES = RECORDS // RANGE_KEYS + 1


@pytest.fixture
def place(postgresql: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> StorePlace:
    monkeypatch.setattr(postings, "BLOCK_BITS", RANGE_KEYS.bit_length() - 1)
    monkeypatch.setattr(database, "BLOCK_KEYS", RANGE_KEYS)
    monkeypatch.setattr(index, "BLOCK_KEYS", RANGE_KEYS)
    return replace(postgresql.new_place(), search=IN_DATABASE, parts=PARTS)


@pytest.fixture
def shelves(server_of: OpenServer) -> list[Any]:
    """The shelves of two servers; the first one has filled the store. None builds the index yet."""
    first = server_of("first")
    stories = [first.record(f"r{one}", body=f"story {one % 7}") for one in range(RECORDS)]
    first.shelf.writer().apply([first.embedded(story) for story in stories])
    return [first.shelf, server_of("second").shelf]


class Watched:
    """Counts the ranges that each server indexes; `before` is called with that number before
    each.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, before: Callable[[str, int], object]
    ) -> None:
        self.ranges = Counter[str]()
        write = SearchIndex._write

        def watched(
            search: SearchIndex, db: Any, dictionary: Any, keys: Sequence[Key], *, is_new: bool
        ) -> int:
            name = search._store.path.parent.name
            self.ranges[name] += 1
            before(name, self.ranges[name])
            return write(search, db, dictionary, keys, is_new=is_new)

        monkeypatch.setattr(SearchIndex, "_write", watched)


def rankings(shelf: CatalogueShelf) -> list[Any]:
    """Return what searches find, with exact scores, and the counts that they are made of."""
    view = shelf.reader()
    found = [
        view.lexical(analyse_query(text, synonyms={}), scope=WHOLE, limit=RECORDS)
        for text in ("story 3", "r7")
    ]
    counts = view.snapshot.rows(
        "SELECT hash, class, sum(records)::int FROM counts JOIN entries ON id = entry GROUP BY 1, 2"
        " ORDER BY 1, 2"
    )
    return [[(one.key, one.score) for one in ranking.best] for ranking in found] + [
        counts,
        view.count(WHOLE),
    ]


def test_servers_share_the_ranges_and_each_is_indexed_once(
    shelves: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = shelves
    has_begun, meeting = threading.Event(), threading.Barrier(2, timeout=60)

    def meet(_name: str, number: int) -> None:
        has_begun.set()
        if number == 1:
            meeting.wait()  # each takes a range before the other goes on

    watched = Watched(monkeypatch, meet)
    builder = threading.Thread(target=first.publish)
    builder.start()
    assert has_begun.wait(60)
    second.join_build()
    builder.join(60)
    assert sum(watched.ranges.values()) == RANGES
    assert min(watched.ranges.values()) >= 1
    progress = second.find_progress()
    assert [progress["indexing"][name] for name in ("ranges", "done", "items")] == [
        RANGES,
        RANGES,
        RECORDS,
    ]
    assert progress["indexes of parts"]["done"] == PARTS
    together = rankings(second)
    assert first.reader().snapshot.generation == 1
    monkeypatch.undo()
    first.index.search._parts = 1  # type: ignore[attr-defined]
    assert first.rebuild() == RECORDS
    assert rankings(first) == together


def test_the_ranges_of_a_server_that_is_cut_off_are_indexed_by_the_next(
    shelves: list[Any], postgresql: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = shelves
    watched = Watched(
        monkeypatch,
        lambda name, number: (name, number) == ("first", 3) and postgresql.end_connections(),
    )
    with pytest.raises(BusyError):
        first.publish()
    assert first.find_progress()["indexing"]["done"] == 2
    assert len(second.reader().scan(scope=WHOLE, limit=RECORDS)) == RECORDS
    assert watched.ranges["second"] == RANGES - 2, "those that were done are kept"
    assert rankings(first) == rankings(second)


def test_a_range_that_failed_is_noted_and_tried_again(
    shelves: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf, _ = shelves

    def fail(_name: str, number: int) -> None:
        if number == 2:
            raise StorageError("a record is damaged")

    Watched(monkeypatch, fail)
    with pytest.raises(StorageError, match="damaged"):
        shelf.publish()
    progress = shelf.find_progress()["indexing"]
    assert (progress["done"], progress["failures"], progress["error"]) == (
        1,
        1,
        "a record is damaged",
    )
    shelf.publish()
    assert shelf.find_progress()["indexing"]["done"] == RANGES
    assert shelf.reader().count(WHOLE) == RECORDS


def test_changes_that_come_while_an_index_is_built_are_in_it_when_it_is_published(
    shelves: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = shelves
    stock = Stock(shelf=second, spec=SPEC)

    def edit(name: str, number: int) -> None:
        if (name, number) == ("first", 3):
            second.apply(
                [
                    stock.embedded(stock.record("r5", body="dragon")),
                    stock.embedded(stock.record("new", body="dragon")),
                ]
            )

    Watched(monkeypatch, edit)
    first.publish()
    view = first.reader()
    found = view.lexical(analyse_query("dragon", synonyms={}), scope=WHOLE, limit=9).keys
    assert sorted(view.ids(found.tolist())) == ["new", "r5"]
    assert view.count(WHOLE) == RECORDS + 1


def tables(shelf: CatalogueShelf) -> list[Any]:
    """Return the postings and the counts of all terms that records have, by their hashes."""
    queries = (
        "SELECT hash, block, data FROM postings JOIN entries ON id = entry ORDER BY 1, 2",
        "SELECT hash, class, sum(records)::int FROM counts JOIN entries ON id = entry GROUP BY 1, 2"
        " HAVING sum(records) > 0 ORDER BY 1, 2",
        "SELECT records, lengths FROM classes ORDER BY 1",
    )
    return [shelf.reader().snapshot.rows(query) for query in queries]


def test_an_index_that_followed_edits_is_the_one_that_is_built_anew(shelves: list[Any]) -> None:
    shelf, _ = shelves
    stock = Stock(shelf=shelf, spec=SPEC)
    assert shelf.reader().count(WHOLE) == RECORDS
    stock.put(
        stock.record("r5", body="dragon dragon"),
        stock.record("r6", body="story 6"),
        stock.record("new"),
    )
    stock.delete("r7", "r8")
    stock.put(stock.record("r8", body="dragon " * 300))
    followed = tables(shelf)
    assert shelf.rebuild() == RECORDS
    assert tables(shelf) == followed


def test_names_with_the_same_number_are_told_apart(
    shelves: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (index, view_module):
        monkeypatch.setattr(module, "name_number", lambda _name: -7)
    view = shelves[0].reader()
    title = SPEC.title_of(next(iter(view.fetch([Key(1)], scope=WHOLE).values())))
    assert view.has_name(title, scope=WHOLE)
    assert not view.has_name(title[:-1], scope=WHOLE)
    assert not view.has_name("another name", scope=WHOLE)
