"""Rate limits over several servers of one PostgreSQL: exact, whoever counts, and kept while it is
away.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stackroom.control.accounts.limits import MovingWindow, open_window
from stackroom.control.database import DatabaseAwayError
from stackroom.control.database.engine import ControlDatabase
from support.control import Clock, Place
from support.postgres import PostgresServer, open_server
from support.processes import wait_until
from support.work import count_calls

pytestmark = pytest.mark.row("Z12")


@pytest.fixture
def several(postgresql: PostgresServer) -> Any:
    """Three servers' databases at one address."""
    place = Place(url=postgresql.new_url())
    yield [place.open() for _ in range(3)]
    place.close()


def test_a_library_of_its_own_counts_in_memory(place: Place) -> None:
    window = open_window(place.open())
    assert window.waits is not place.is_sqlite
    assert window.waits is not place.is_sqlite


def test_exactly_as_many_calls_are_accepted_over_all_servers_as_one_would_accept(
    several: list[ControlDatabase],
) -> None:
    windows = [open_window(database) for database in several]
    keys = {"read ada": 25, "read bob": 7, "write ada": 0}
    asked = [(window, key) for key in keys for window in windows for _ in range(20)]
    random.Random(1).shuffle(asked)
    with ThreadPoolExecutor(12) as pool:
        waits = list(pool.map(lambda one: one[0].take(one[1], keys[one[1]]), asked))
    for key, limit in keys.items():
        of_key = [wait for (_, known), wait in zip(asked, waits, strict=True) if known == key]
        assert of_key.count(None) == limit
        assert all(wait is None or 0 < wait <= 60 for wait in of_key)


def test_the_shared_window_accepts_what_the_one_in_memory_does(
    several: list[ControlDatabase],
) -> None:
    """Limits that are raised and lowered, and pauses of whole seconds, which the rows are aged
    by.
    """
    clock, chance = Clock(), random.Random(7)
    plain = MovingWindow(monotonic=clock.monotonic)
    windows = [open_window(database) for database in several]
    for _ in range(150):
        seconds, limit = chance.choice((0, 0, 0, 1, 9, 30)), chance.choice((1, 3, 3, 6))
        clock.advance(seconds)
        with several[0].begin() as connection:
            connection.exec_driver_sql(f"UPDATE rate_calls SET at = at - {seconds * 1_000_000}")
        here, there = plain.take("ada", limit), chance.choice(windows).take("ada", limit)
        assert (here is None) == (there is None)
        assert here is None or there is None or abs(here - there) < 5


def test_calls_that_wait_together_share_a_round_trip(
    several: list[ControlDatabase], monkeypatch: Any
) -> None:
    trips = several[0].round_trips
    trips.version()
    served: list[int] = []
    real = trips._travel

    def count(requests: Any) -> None:
        served.append(len(requests))
        real(requests)

    monkeypatch.setattr(trips, "_travel", count)
    with ThreadPoolExecutor(40) as pool:
        list(pool.map(lambda _number: trips.version(), range(400)))
    assert sum(served) == 400
    assert len(served) < 400


def test_the_rows_of_a_key_are_bounded_by_its_limit_and_old_ones_go(
    several: list[ControlDatabase],
) -> None:
    window = open_window(several[0])
    for _ in range(9):
        window.take("ada", 3)
        with several[0].begin() as connection:
            connection.exec_driver_sql("UPDATE rate_calls SET at = at - 30000000")
            assert connection.exec_driver_sql("SELECT count(*) FROM rate_calls").scalar_one() <= 3
    with several[0].begin() as connection:
        connection.exec_driver_sql("UPDATE rate_calls SET at = at - 60000000")
    open_window(several[1]).take("bob", 3)  # a server that has not pruned yet
    with several[0].read() as connection:
        keys = connection.exec_driver_sql("SELECT key FROM rate_calls").scalars().all()
    assert keys == ["bob"]


def _answers(database: ControlDatabase) -> bool:
    try:
        return database.version() > 0
    except DatabaseAwayError:
        return False


def test_while_the_database_is_away_each_server_counts_for_itself_and_then_together_again() -> None:
    with open_server() as server:
        place = Place(url=server.new_url())
        databases = [place.open() for _ in range(2)]
        windows = [open_window(database) for database in databases]
        assert [window.take("ada", 1) is None for window in windows] == [True, False]
        server.kill()
        assert [window.take("ada", 1) is None for window in (*windows, *windows)] == [
            True,
            True,
            False,
            False,
        ]
        server.start()
        for database in databases:
            wait_until(lambda database=database: _answers(database), timeout_s=60)
        # the kill emptied the table
        assert [window.take("ada", 1) is None for window in windows] == [True, False]
        place.close()


def test_a_call_costs_a_bounded_amount_of_work_however_high_its_limit_is(
    several: list[ControlDatabase],
) -> None:
    window = open_window(several[0])
    for _ in range(300):
        window.take("ada", 100_000)
    looked_up = "EXPLAIN (COSTS OFF) SELECT max(number) FROM rate_calls WHERE key = 'ada'"
    with several[0].read() as connection:
        plan = "\n".join(connection.exec_driver_sql(looked_up).scalars())
    assert "Index Only Scan Backward" in plan
    assert count_calls(lambda: window.take("ada", 100_000)) < 1000
