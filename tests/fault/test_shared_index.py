"""An index that one server has built and others fetch: shared whole or not at all, checked, and
followed from there.
"""

from collections import Counter
from pathlib import Path

import psycopg
import pytest

from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.shelf.embedded import shelf_index
from stackroom.shelf.embedded.index_files import BaseFolder
from stackroom.shelf.embedded.segment import Segment
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.postgres import followed_store
from stackroom.shelf.postgres.sending import copying
from stackroom.shelf.postgres.store_database import StoreDatabase
from stackroom.shelf.store_place import StorePlace, save_place
from support.dying import share_and_die
from support.kills import KILLED, run_child
from support.postgres import PostgresServer
from support.stock import OpenServer, Stock

pytestmark = pytest.mark.row("N16")

SPEC = PACKAGES.get("anime").spec
FILMS = {"heat": "a robbery", "ronin": "a briefcase", "alien": "a spaceship"}


@pytest.fixture
def place(postgresql: PostgresServer) -> StorePlace:
    return postgresql.new_place()


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the base segments that are built in each server's folder; every catalogue is large
    enough to be shared.
    """
    counted: Counter[str] = Counter()
    real = BaseFolder.swap

    def counting(self: BaseFolder, segment: Segment) -> None:
        counted[self.folder.parents[1].name] += 1
        real(self, segment)

    monkeypatch.setattr(BaseFolder, "swap", counting)
    monkeypatch.setattr(followed_store, "LEAST_SHARED", 0)
    return counted


def fill(stock: Stock) -> None:
    stock.put(*(stock.record(name, body=body) for name, body in FILMS.items()))


def has_films(stock: Stock) -> bool:
    found = [
        (stock.lexical(body.split()[1]), stock.nearest(name)[:1]) for name, body in FILMS.items()
    ]
    return found == [([name], [name]) for name in FILMS]


def test_a_second_server_takes_the_index_of_the_first_and_follows_from_there(
    server_of: OpenServer, builds: Counter[str]
) -> None:
    first = server_of("first")
    fill(first)
    first.put(first.record("heat", body="a chase"))
    second = server_of("second")
    assert second.lexical("chase") == ["heat"]
    assert second.lexical("robbery") == []
    assert second.nearest("ronin") == first.nearest("ronin")
    first.delete("ronin")
    second.put(second.record("brazil", body="a dream"))
    assert first.lexical("dream") == ["brazil"]
    assert second.lexical("briefcase") == []
    assert list(second.shelf.check()) == []
    assert builds == {"first": 1}


def test_a_server_that_is_far_behind_takes_the_new_index_of_another(
    server_of: OpenServer, builds: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = server_of("first"), server_of("second")
    fill(first)
    assert has_films(second)
    monkeypatch.setattr(shelf_index, "TAIL_ROWS", 1)
    monkeypatch.setattr(shelf_index, "TAIL_SHARE", 0)
    first.put(first.record("brazil", body="a dream"), first.record("dune", body="a desert"))
    assert second.lexical("desert") == ["dune"]
    assert has_films(second)
    assert builds == {"first": 2}


def test_an_index_with_a_flipped_byte_is_refused_and_replaced(
    server_of: OpenServer, builds: Counter[str], postgresql: PostgresServer, place: StorePlace
) -> None:
    fill(server_of("first"))
    flip = (
        f"UPDATE {place.schema}.shared_files SET data = set_byte(data, 200, get_byte(data, 200)"
        " # 1)"
    )
    assert postgresql.execute(f"{flip} WHERE path LIKE %s RETURNING piece", "%/vectors.npy") == [
        (0,)
    ]
    assert has_films(server_of("second"))
    assert builds == {"first": 1, "second": 1}
    assert has_films(server_of("third"))
    assert builds["third"] == 0, "the damaged one was replaced"


@pytest.mark.parametrize("column", ["version = 'another'", "reached = 99", "base = '../first'"])
def test_an_index_of_another_version_or_state_is_not_used(
    column: str,
    server_of: OpenServer,
    builds: Counter[str],
    postgresql: PostgresServer,
    place: StorePlace,
) -> None:
    fill(server_of("first"))
    postgresql.execute(f"UPDATE {place.schema}.shared_index SET {column}")
    assert has_films(server_of("second"))
    assert builds == {"first": 1, "second": 1}


def test_a_server_that_is_killed_when_it_has_sent_its_index_leaves_nothing_half(
    server_of: OpenServer,
    builds: Counter[str],
    postgresql: PostgresServer,
    place: StorePlace,
    tmp_path: Path,
) -> None:
    (tmp_path / "killed").mkdir()
    save_place(tmp_path / "killed", place)
    assert run_child(share_and_die, tmp_path / "killed", list(FILMS.items())).code == KILLED
    counts = [
        f"(SELECT count(*) FROM {place.schema}.{table})"
        for table in ("records", "shared_index", "shared_files")
    ]
    assert postgresql.execute(f"SELECT {', '.join(counts)}") == [(3, 0, 0)]
    server_of("killed")  # which has its index
    assert has_films(server_of("second"))
    assert has_films(server_of("third"))
    assert builds == {"second": 1}


def test_a_server_without_an_index_waits_for_the_one_that_builds_and_one_with_an_index_does_not(
    server_of: OpenServer, builds: Counter[str], place: StorePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = server_of("first"), server_of("second")
    fill(first)
    assert has_films(second)
    monkeypatch.setattr(shelf_index, "TAIL_ROWS", 0)
    monkeypatch.setattr(shelf_index, "TAIL_SHARE", 0)
    monkeypatch.setattr(shelf_index, "BUILD_WAIT_S", 0.1)
    builder = StoreDatabase(place.url, place.schema, catalogue="films")
    with builder.sole_builder(wait_s=0):
        second.put(second.record("brazil", body="a dream"))
        assert second.lexical("dream") == ["brazil"]
        assert builds == {"first": 1}
        assert server_of("third").shelf.reader().count(WHOLE) == 4, (
            "it has waited, and builds its own"
        )
        assert builds == {"first": 1, "third": 1}
    builder.close()
    assert has_films(second)


def test_an_index_that_is_too_large_and_one_that_is_built_anew_are_not_fetched(
    server_of: OpenServer,
    builds: Counter[str],
    postgresql: PostgresServer,
    place: StorePlace,
    tmp_path: Path,
) -> None:
    first = server_of("first")
    folder = tmp_path / "small"
    folder.mkdir()
    save_place(folder, StorePlace(url=place.url, schema=place.schema, shared_index_mb=0))
    fill(first)
    small = open_shelf(folder, SPEC)
    assert has_films(Stock(shelf=small, spec=SPEC))
    small.close()
    assert builds == {"first": 1, "small": 1}
    second = server_of("second")
    assert second.shelf.writer().rebuild() == 3
    assert builds["second"] == 1


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
