"""The PostgreSQL servers of the tests: killed, followed by a replica, and promoted."""

from collections.abc import Iterator

import pytest

from support.postgres import DEBIAN, PostgresServer, open_server, runs_pgvector


@pytest.fixture
def primary() -> Iterator[PostgresServer]:
    with open_server() as server:
        yield server


def test_a_killed_server_has_what_it_acknowledged(primary: PostgresServer) -> None:
    primary.execute("CREATE TABLE numbers AS SELECT 1 AS number")
    primary.kill()
    primary.start()
    assert primary.execute("SELECT number FROM numbers") == [(1,)]


def test_a_replica_follows_its_primary_and_takes_writes_once_it_is_promoted(
    primary: PostgresServer,
) -> None:
    with open_server(primary=primary) as replica:
        primary.execute("CREATE TABLE numbers AS SELECT 1 AS number")
        replica.wait_until_replayed(primary)
        assert replica.execute("SELECT number FROM numbers") == [(1,)]
        primary.kill()
        replica.promote()
        replica.execute("INSERT INTO numbers VALUES (2)")
        assert replica.execute("SELECT count(*) FROM numbers") == [(2,)]
        primary.start()


def test_the_server_has_pgvector_where_the_processor_runs_it(primary: PostgresServer) -> None:
    if not runs_pgvector():
        pytest.skip("pgvector of this wheel needs a processor with SVE")
    primary.execute("CREATE EXTENSION vector")
    assert primary.execute("SELECT '[1,2]'::vector <#> '[1,2]'") == [(-5.0,)]


@pytest.mark.skipif(not DEBIAN.is_dir(), reason="Debian's PostgreSQL 15 is not installed")
def test_the_oldest_supported_server_runs_too() -> None:
    with open_server(programs=DEBIAN) as server:
        ((version,),) = server.execute("SHOW server_version")
        assert version.startswith("15.")
