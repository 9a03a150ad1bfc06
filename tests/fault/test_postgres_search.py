"""A catalogue that is searched inside PostgreSQL while its database is away, is put back, or its
update is judged.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stackroom.errors import BusyError
from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.store_place import IN_DATABASE, StorePlace
from support.postgres import PostgresServer, open_server
from support.stock import MODEL, OpenServer, require_followed_back

SPEC = PACKAGES.get("anime").spec


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with open_server() as server:
        yield server


@pytest.fixture
def place(database: PostgresServer) -> StorePlace:
    return replace(database.new_place(), search=IN_DATABASE)


def test_while_the_database_is_away_reads_are_refused_and_go_on_when_it_is_back(
    server_of: OpenServer, database: PostgresServer
) -> None:
    stock = server_of("only")
    stock.put(stock.record("one", body="robot"))
    view = stock.shelf.reader()
    database.kill()
    with pytest.raises(BusyError, match="does not answer"):
        view.scan(scope=WHOLE, limit=1)
    database.start()
    assert stock.lexical("robot") == ["one"]
    assert stock.nearest("one") == ["one"]


def test_an_index_of_later_changes_than_a_store_that_was_put_back_is_built_anew(
    server_of: OpenServer, place: StorePlace, database: PostgresServer
) -> None:
    require_followed_back(server_of, lambda: database.undo_change(2, place.schema))


def test_a_database_that_was_put_back_with_its_index_gives_new_terms_their_own_numbers(
    server_of: OpenServer, database: PostgresServer
) -> None:
    stock = server_of("only")
    stock.put(stock.record("heat", body="a robbery"))
    database.save_data()
    stock.put(stock.record("lost", body="a briefcase"))
    assert stock.lexical("briefcase") == ["lost"]
    database.put_data_back()
    stock.put(stock.record("new", body="a chase"))
    stock.put(stock.record("again", body="a briefcase"))
    found = [stock.lexical(word) for word in ("robbery", "chase", "briefcase")]
    assert found == [["heat"], ["new"], ["again"]]


def test_an_update_that_is_being_judged_is_withheld_from_other_servers(
    server_of: OpenServer,
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("heat", body="a robbery"))
    assert second.lexical("robbery") == ["heat"]
    shelf = first.shelf
    assert isinstance(shelf, CatalogueShelf)
    with shelf.exclusive(), shelf.withheld():
        first.put(first.record("ronin", body="a briefcase"))
        assert first.lexical("briefcase") == ["ronin"]
        assert second.shelf.reader().stale
        assert second.lexical("briefcase") == []
        with pytest.raises(BusyError, match="another server is writing"):
            server_of("third")
    assert second.lexical("briefcase") == ["ronin"]


def test_pgvector_may_be_in_a_schema_of_its_own(
    server_of: OpenServer, database: PostgresServer
) -> None:
    database.execute("CREATE SCHEMA IF NOT EXISTS extensions")
    database.execute("CREATE EXTENSION IF NOT EXISTS vector")
    database.execute("ALTER EXTENSION vector SET SCHEMA extensions")
    stock = server_of("only")
    stock.put(stock.record("heat", body="a robbery"))
    assert (stock.lexical("robbery"), stock.nearest("heat")) == (["heat"], ["heat"])
    database.execute("ALTER EXTENSION vector SET SCHEMA public")


def test_a_snapshot_that_was_idle_while_another_server_rebuilt_the_index_answers_nothing_more(
    server_of: OpenServer, database: PostgresServer
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("a", body="robot"))
    view = second.shelf.reader()
    assert view.count(WHOLE) == 1
    writer = first.shelf.writer()
    assert isinstance(writer, CatalogueShelf)
    writer.rebuild()
    idle = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'"
    )
    assert database.execute(idle)
    for _ in range(2):
        with pytest.raises(BusyError, match="has changed since"):
            view.scan(scope=WHOLE, limit=1)
    assert second.lexical("robot") == ["a"]


def test_no_server_keeps_a_copy_of_the_records_or_of_their_index(
    server_of: OpenServer, tmp_path: Path
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(*(first.record(f"r{number}", body="robot " * 200) for number in range(120)))
    second.put(second.record("r7", body="a chase"))
    second.delete("r8")
    assert second.lexical("chase") == first.lexical("chase") == ["r7"]
    view = first.shelf.reader()
    assert len(view.fetch(view.scan(scope=WHOLE, limit=200), scope=WHOLE)) == 119
    assert [change.change_no for change in first.shelf.history().list_changes(limit=2)] == [
        122,
        121,
    ]
    for folder in (tmp_path / "first", tmp_path / "second"):
        kept = {path.name: path.stat().st_size for path in folder.rglob("*")}
        assert sum(kept.values()) < 1_000, kept


def test_numbers_have_no_gaps_and_keys_are_never_given_twice(server_of: OpenServer) -> None:
    first, second = server_of("first"), server_of("second")
    assert first.put(first.record("a"), first.record("b")) == 2
    assert first.delete("b") == 3
    assert second.put(second.record("a")) == 3, "nothing has changed"
    assert second.put(second.record("c")) == 4
    assert second.shelf.reader().find([RecordId("c")], scope=WHOLE) == {"c": 3}


def test_another_model_is_followed_by_every_server_and_logs_no_change(
    server_of: OpenServer,
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("a", body="robot"), first.record("b", body="garden"))
    shelf, other = first.shelf, replace(MODEL, name="another")
    assert isinstance(shelf, CatalogueShelf)
    digests = {row.key: row.digest for row in shelf.store.iter_rows() if row.digest}
    shelf.keep_vectors(other, {one: first.vector(f"new {key}") for key, one in digests.items()})
    shelf.switch_model(other)
    shelf.publish()
    assert shelf.missing_embeddings(digests.values()) == set()
    assert second.shelf.reader().model == other
    assert second.nearest("new 2", limit=1) == ["b"]
    assert len(second.shelf.history().list_changes(limit=9)) == 2


def test_a_damaged_record_is_left_out_and_named(
    server_of: OpenServer, place: StorePlace, database: PostgresServer
) -> None:
    stock = server_of("only")
    stock.put(stock.record("heat", body="a robbery"), stock.record("ronin", body="a briefcase"))
    database.execute(
        f"UPDATE {place.schema}.records SET body = body || '\\x20'::bytea WHERE id = 'heat'"
    )
    view = stock.shelf.reader()
    assert [
        str(one.id) for one in view.fetch(view.scan(scope=WHOLE, limit=9), scope=WHOLE).values()
    ] == ["ronin"]
    problems = [problem.message for problem in stock.shelf.check()]
    assert (
        "only in PostgreSQL has 1 damaged records: heat; they are left out of answers" in problems
    )


def test_a_server_that_is_killed_while_it_builds_leaves_an_index_that_the_next_reader_builds(
    server_of: OpenServer, database: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = server_of("only")
    stock.put(stock.record("one", body="robot"))
    shelf = stock.shelf
    search = shelf.index.search  # type: ignore[attr-defined]
    monkeypatch.setattr(search, "_create_indexes", lambda *_: database.end_connections())
    with pytest.raises(BusyError):
        shelf.rebuild()
    monkeypatch.undo()
    assert stock.lexical("robot") == ["one"]
    stock.put(stock.record("two", body="robot"))
    assert shelf.rebuild() == 2
    assert stock.lexical("robot") == ["one", "two"]
    assert list(shelf.check()) == []
