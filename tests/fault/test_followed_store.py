"""Several servers over one store in PostgreSQL, each with a folder of its own; the database is
killed and replaced.
"""

import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from stackroom.errors import BusyError, ConflictError, StorageError
from stackroom.gate.answer import AnswerCache
from stackroom.gate.gate import Gate
from stackroom.generic.tools import generic_tools
from stackroom.library import INSTALLED_FILE
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.serve.http.rest import NOTES_HEADER, content_reply
from stackroom.serve.mcp_server import resource_contents
from stackroom.shelf import opening
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.embedded.checks import check_store
from stackroom.shelf.lock import EmbeddingElsewhereError
from stackroom.shelf.opening import create_shelf
from stackroom.shelf.port import Embedding, Put, never_stop
from stackroom.shelf.postgres import store_database
from stackroom.shelf.postgres.store_database import DatabaseLostError, StoreDatabase, copying
from stackroom.shelf.store_place import StorePlace, find_place, save_place
from stackroom.tools.resources import generic_resources
from stackroom.tools.toolbox import Toolbox
from support.postgres import DEBIAN, PostgresServer, SilentProxy, open_server
from support.processes import wait_until
from support.served import Served, open_shelf
from support.stock import MODEL, OpenServer, Stock, require_followed_back

pytestmark = pytest.mark.row("N16")

SPEC = PACKAGES.get("anime").spec


@pytest.fixture(
    scope="module",
    params=[
        None,
        pytest.param(
            DEBIAN,
            marks=pytest.mark.skipif(
                not DEBIAN.is_dir(), reason="Debian's PostgreSQL 15 is not installed"
            ),
        ),
    ],
    ids=["newest", "oldest"],
)
def database(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    with open_server(programs=request.param) as server:
        yield server


@pytest.fixture
def place(database: PostgresServer) -> StorePlace:
    return database.new_place()


def shelf_of(stock: Stock) -> CatalogueShelf:
    assert isinstance(stock.shelf, CatalogueShelf)
    return stock.shelf


def test_an_acknowledged_edit_is_in_the_next_answer_of_every_server(server_of: OpenServer) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("heat", body="a robbery"), first.record("ronin", body="a briefcase"))
    assert second.lexical("robbery") == ["heat"]
    second.put(second.record("heat", body="a chase"))
    assert first.lexical("robbery") == []
    assert first.lexical("chase") == ["heat"]
    first.delete("ronin")
    assert second.lexical("briefcase") == []
    third = server_of("third")
    assert [stock.nearest("heat") for stock in (first, second, third)] == [["heat"]] * 3
    assert third.shelf.history().list_changes(limit=9) == first.shelf.history().list_changes(
        limit=9
    )
    assert [change.change_no for change in third.shelf.history().list_changes(limit=9)] == [
        4,
        3,
        2,
        1,
    ]


def test_vectors_that_come_later_are_published_on_every_server(server_of: OpenServer) -> None:
    first, second = server_of("first"), server_of("second")
    first.apply(Put(record=first.record("heat"), embedding=Embedding(digest=b"heat")))
    assert second.nearest("heat") == []
    writer = first.shelf.writer()
    with writer.sole_embedder(wait_s=0):
        with pytest.raises(EmbeddingElsewhereError), second.shelf.writer().sole_embedder(wait_s=0):
            pass
        assert writer.add_vectors({RecordId("heat"): b"heat"}, {b"heat": first.vector("heat")}) == 1
        writer.publish_vectors()
    assert second.nearest("heat") == ["heat"]


def test_a_server_that_writes_in_several_steps_keeps_the_others_from_writing(
    server_of: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = server_of("first"), server_of("second")
    monkeypatch.setattr(store_database, "LOCK_WAIT_S", 0.1)
    second.put(second.record("before"))
    with first.shelf.writer().exclusive():
        first.put(first.record("a"))
        second_writer = second.shelf.writer()
        with pytest.raises(BusyError), second_writer.exclusive():
            pass
        first.put(first.record("b"))
    second.put(second.record("after"))
    assert first.shelf.reader().count(WHOLE) == 4


def test_an_update_that_is_being_judged_is_withheld_from_other_servers(
    server_of: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("heat", body="a robbery"))
    assert second.lexical("robbery") == ["heat"]
    writer = shelf_of(first)
    with writer.exclusive(), writer.withheld():
        first.put(first.record("heat", body="a chase"))
        assert second.lexical("robbery") == ["heat"]
        assert "another server is writing" in str(second.shelf.reader().stale)
        follower = shelf_of(second).store.database
        assert follower is not None
        with monkeypatch.context() as patched:  # the mark is set after the look-up
            seen = follower.find_state()._replace(is_withheld=False)
            patched.setattr(follower, "find_state", lambda wait=True: seen)
            assert second.lexical("robbery") == ["heat"]
    assert second.lexical("chase") == ["heat"]


def test_while_the_database_is_away_reads_go_on_and_say_so_and_writes_are_refused(
    server_of: OpenServer, database: PostgresServer
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("heat", body="a robbery"))
    assert second.lexical("robbery") == ["heat"]
    assert told_ages(second) == dict.fromkeys((*READS, RESOURCE), 0)
    database.kill()
    assert told_ages(second) == dict.fromkeys((*READS, RESOURCE), 1)
    assert second.lexical("robbery") == ["heat"]
    view = second.shelf.reader()
    assert "seconds ago" in str(view.stale)
    assert view.fetch(view.scan(scope=WHOLE, limit=1), scope=WHOLE)
    assert second.shelf.find_reader() is None
    with pytest.raises(DatabaseLostError, match="does not answer") as refused:
        first.put(first.record("ronin"))
    assert refused.value.retry_after_s
    database.start()
    wait_until(lambda: second.shelf.reader().stale is None, timeout_s=30)
    first.put(first.record("ronin", body="a briefcase"))
    assert second.lexical("briefcase") == ["ronin"]


READS = {
    "search": {"query": "robbery"},
    "browse": {"catalogue": "anime"},
    "fetch": {"id": "anime/heat"},
    "similar": {"id": "anime/heat"},
}
RESOURCE = "stackroom://anime/heat"


def told_ages(stock: Stock) -> dict[str, int]:
    """Return how many notes of each tool's answer, with and without a cache, say how old it is."""
    catalogue = open_shelf(stock.shelf)
    told = dict[str, int]()
    for cache in (None, AnswerCache(9)):
        gate = Gate(Toolbox(generic_tools([catalogue]), catalogues=[catalogue]), cache=cache)
        for tool, arguments in READS.items():
            notes = (Served(gate=gate).call(tool, **arguments).structured or {}).get("notes", ())
            assert told.get(tool) in (None, sum("seconds ago" in note for note in notes))
            told[tool] = sum("seconds ago" in note for note in notes)
    gate = Gate(Toolbox((), generic_resources([catalogue]), catalogues=[catalogue]))
    read = gate.read(LOCAL_USER, RESOURCE)
    notes = (resource_contents(RESOURCE, read).meta or {}).get("io.stackroom/notes", [])
    assert json.loads(content_reply(read).headers.get(NOTES_HEADER, "[]")) == notes
    told[RESOURCE] = sum("seconds ago" in note for note in notes)
    return told


def test_a_server_that_starts_while_the_database_is_away_says_the_age_of_its_copy(
    server_of: OpenServer, database: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = server_of("first")
    stock.put(stock.record("heat", body="a robbery"))
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1000)
    database.kill()
    with closing(opening.open_shelf(shelf_of(stock).folder, stock.shelf.spec)) as started:
        assert int(str(started.reader().stale).split()[-3]) >= 999
    database.start()


def test_a_database_that_hangs_keeps_no_reader_waiting(
    server_of: OpenServer, database: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock = server_of("first")
    stock.put(stock.record("heat", body="a robbery"))
    monkeypatch.setattr(store_database, "LOOK_UP_S", 0.2)
    main = psutil.Process(database.pid)
    stopped = [main, *main.children()]
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    try:
        assert stock.shelf.find_reader() is None
        assert stock.lexical("robbery") == ["heat"]
        assert "does not answer" in str(stock.shelf.reader().stale)
    finally:
        for process in reversed(stopped):
            process.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_write_whose_connection_is_lost_at_its_commit_is_acknowledged_only_if_it_was_stored(
    server_of: OpenServer, monkeypatch: pytest.MonkeyPatch, is_stored: bool
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("a"))
    execute = psycopg.Connection.execute

    def lose(self: psycopg.Connection[Any], query: Any, *values: Any, **options: Any) -> Any:
        if query == "COMMIT":
            monkeypatch.undo()
            if is_stored:
                execute(self, query)
            self.close()
            raise psycopg.OperationalError("lost")
        return execute(self, query, *values, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", lose)
    if is_stored:
        assert first.put(first.record("b")) == 2
    else:
        with pytest.raises(DatabaseLostError):
            first.put(first.record("b"))
    known = ["a", "b"] if is_stored else ["a"]
    for stock in (first, second):
        view = stock.shelf.reader()
        assert view.ids(view.scan(scope=WHOLE, limit=9)) == known


def test_a_database_put_back_to_an_earlier_state_is_followed_to_it(
    server_of: OpenServer, place: StorePlace, database: PostgresServer
) -> None:
    require_followed_back(server_of, lambda: database.undo_change(2, place.schema))


def test_reads_follow_while_a_write_of_the_same_server_waits_for_another_server(
    server_of: OpenServer, place: StorePlace, database: PostgresServer
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("a"))
    assert second.shelf.reader().count(WHOLE) == 1
    first.put(first.record("b"))
    with (
        ThreadPoolExecutor() as pool,
        closing(StoreDatabase(place.url, place.schema, catalogue="other")) as other,
    ):
        with other.writing():
            writing = pool.submit(second.put, second.record("c"))
            time.sleep(0.3)
            view = pool.submit(second.shelf.reader).result(5)
            assert (view.count(WHOLE), bool(view.stale)) == (1, True)
            assert not writing.done()
        assert writing.result() == 3


def test_tables_that_are_gone_empty_no_copy_and_are_not_made_anew_by_an_update(
    server_of: OpenServer, place: StorePlace, database: PostgresServer, tmp_path: Path
) -> None:
    first, second = server_of("first"), server_of("second")
    first.put(first.record("heat", body="a robbery"))
    assert second.lexical("robbery") == ["heat"]
    (tmp_path / "first" / INSTALLED_FILE).write_text("{}")
    database.execute(f"DROP SCHEMA {place.schema} CASCADE")
    with pytest.raises(StorageError, match="has no tables of catalogue"):
        create_shelf(tmp_path / "first", SPEC, model=MODEL)
    assert [stock.lexical("robbery") for stock in (first, second)] == [["heat"]] * 2
    assert second.shelf.reader().stale


def test_a_schema_with_other_things_in_it_is_not_taken(
    place: StorePlace, database: PostgresServer
) -> None:
    database.execute("CREATE SCHEMA bookkeeping")
    with (
        closing(StoreDatabase(place.url, "bookkeeping", catalogue="films")) as other,
        pytest.raises(ConflictError, match="choose another by --schema"),
    ):
        other.create()


def test_after_a_host_has_vanished_reads_and_writes_go_on_at_its_successor(
    database: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_database, "LOOK_UP_S", 0.5)
    with SilentProxy(f"{database.folder}/.s.PGSQL.5432") as proxy:
        address = f"127.0.0.1:{proxy.port}/postgres?sslmode=disable&gssencmode=disable"
        save_place(
            tmp_path, StorePlace(url=f"postgresql://stackroom@{address}", schema="vanishing")
        )
        with (
            closing(create_shelf(tmp_path, SPEC, model=MODEL)) as shelf,
            ThreadPoolExecutor() as pool,
        ):
            stock = Stock(shelf=shelf, spec=SPEC)
            stock.put(stock.record("heat", body="a robbery"))
            proxy.fall_silent()
            assert pool.submit(stock.lexical, "robbery").result(20) == ["heat"]
            wait_until(lambda: pool.submit(shelf.reader).result(20).stale is None)
            assert pool.submit(stock.put, stock.record("ronin")).result(20) == 2


def test_a_row_that_the_database_refuses_is_no_lost_database(
    place: StorePlace, server_of: OpenServer
) -> None:
    stock = server_of("first")
    with pytest.raises(StorageError, match="index row") as refused:
        stock.put(stock.record("".join(map(chr, range(0x4E00, 0x4E00 + 6_000)))))
    assert not isinstance(refused.value, BusyError)
    assert stock.shelf.reader().stale is None


def test_a_damaged_copy_gets_its_vectors_from_the_database_again(server_of: OpenServer) -> None:
    stock = server_of("first")
    stock.put(stock.record("heat"))
    store = shelf_of(stock).store
    with closing(store.connect()) as db:
        db.execute("UPDATE embeddings SET vector = zeroblob(64)")
    assert [
        problem.message
        for problem in check_store(store, never_stop)
        if "vectors" in problem.message
    ]
    shelf_of(stock).mend()
    assert list(check_store(store, never_stop)) == []
    assert next(store.iter_rows()).vector is not None


def test_the_file_that_names_the_database_is_for_its_owner_alone_and_no_message_has_the_password(
    tmp_path: Path,
) -> None:
    place = StorePlace(
        url="postgresql://ann:secret@host/db?sslmode=require&password=secret", schema="films"
    )
    save_place(tmp_path, place)
    assert (tmp_path / "store.toml").stat().st_mode & 0o077 == 0
    assert "ret" not in replace(place, url="postgresql://ann:sec?ret@host/db").shown
    save_place(tmp_path, replace(place, schema="films_🎬"))
    assert find_place(tmp_path) == replace(place, schema="films_🎬")
    save_place(tmp_path, place)
    assert find_place(tmp_path) == place
    assert "secret" not in f"{place} {place!r} {place.shown}"
    assert "secret" not in replace(place, url="postgresql://host/db?sslpassword=secret").shown
    assert place.shown == "postgresql://ann@host/db?sslmode=require&password=***"


def test_nothing_gathers_in_memory_for_a_database_that_reads_slowly(
    postgresql: PostgresServer,
) -> None:
    with psycopg.connect(postgresql.new_url().replace("+psycopg", "")) as db:
        db.execute("CREATE TABLE slow (data bytea)")
        db.execute(
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM"
            " pg_sleep(.1); RETURN NEW; END'"
        )
        db.execute("CREATE TRIGGER slow BEFORE INSERT ON slow FOR EACH ROW EXECUTE FUNCTION wait()")
        with copying(db, "COPY slow FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(("bytea",))
            for _ in range(4):
                copy.write_row((bytes(1 << 20),))
                assert db.pgconn.flush() == 0, "libpq keeps a part"
        assert db.execute("SELECT count(*), sum(length(data)) FROM slow").fetchone() == (4, 4 << 20)
