"""Tables of real PostgreSQL and MariaDB servers: joined, typed, streamed, only read, and without the password."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.locations import open_provider
from stackroom.assembly.maintenance import refresh_from_source
from stackroom.errors import ExpectedError, InputError, UnavailableError
from stackroom.jobs.builtin_jobs import Source
from stackroom.settings import Settings
from stackroom.sources.database_rows import DatabaseRows, open_database
from stackroom.sources.location import ReadOptions

pytestmark = pytest.mark.row("N1")
Run = Callable[..., Any]
Site = Any
"""A database on a server, as the fixture `site` gives it."""

FILMS = """
CREATE TABLE country (id INTEGER PRIMARY KEY, name VARCHAR(40));
CREATE TABLE director (id INTEGER PRIMARY KEY, name VARCHAR(40), country_id INTEGER REFERENCES country (id));
CREATE TABLE film (film_id INTEGER PRIMARY KEY, title VARCHAR(200), director_id INTEGER REFERENCES director (id),
                   price NUMERIC(6, 2));
CREATE TABLE log (id INTEGER PRIMARY KEY, at TIMESTAMP);
CREATE TABLE film_director (film_id INTEGER REFERENCES film (film_id), director_id INTEGER REFERENCES director (id),
                            PRIMARY KEY (film_id, director_id));
INSERT INTO country VALUES (1, 'Japan');
INSERT INTO director VALUES (1, 'Akira Kurosawa', 1), (2, 'Nobody', NULL);
INSERT INTO film VALUES (2, 'Ran: 100 % :colour, three sons and a fool', 1, 12.50),
                        (1, 'Ikiru: a clerk builds a playground', 1, 10), (3, 'Lost: nobody has seen it', 2, NULL);
"""


def opened(site: Site, url: str = "", *, environment: dict[str, str] | None = None, **options: Any) -> DatabaseRows:
    settings = Settings(home=Path("/nowhere"), environment=environment or {})
    return open_database(url or site.url, ReadOptions(**options), settings)


def values(source: DatabaseRows) -> list[Any]:
    return [dict(row.values) for row in source.iter_rows()]


def test_the_main_table_is_read_with_the_names_at_the_end_of_its_chains_of_keys(site: Site) -> None:
    site.execute(FILMS)
    source = opened(site)
    assert (
        source.name == f"{site.url.partition('?')[0]}{'?' if '?' in site.url else ''}{site.url.partition('?')[2]}#film"
    )
    assert (source.id_column, source.count_rows(), source.is_whole) == ("film_id", 3, True)
    assert source.other_tables == ("country", "director", "film_director", "log")
    assert values(source) == [
        {
            "film_id": 1,
            "title": "Ikiru: a clerk builds a playground",
            "director_id": 1,
            "price": 10.0,
            "director": "Akira Kurosawa",
            "country": "Japan",
        },
        {
            "film_id": 2,
            "title": "Ran: 100 % :colour, three sons and a fool",
            "director_id": 1,
            "price": 12.5,
            "director": "Akira Kurosawa",
            "country": "Japan",
        },
        {
            "film_id": 3,
            "title": "Lost: nobody has seen it",
            "director_id": 2,
            "price": None,
            "director": "Nobody",
            "country": None,
        },
    ]
    assert [row.place for row in source.iter_rows(start=1)] == ["row 2", "row 3"]


def test_link_tables_give_lists_and_people_have_both_names(site: Site) -> None:
    site.execute(
        FILMS + "CREATE TABLE actor (id INTEGER PRIMARY KEY, first_name VARCHAR(20), last_name VARCHAR(20));\n"
        "CREATE TABLE film_actor (film_id INTEGER REFERENCES film (film_id), actor_id INTEGER REFERENCES actor (id),"
        " since TIMESTAMP, PRIMARY KEY (film_id, actor_id));\n"
        "INSERT INTO actor VALUES (1, 'Tatsuya', 'Nakadai'), (2, 'Mieko', 'Harada'), (3, 'Takashi', NULL);\n"
        "INSERT INTO film_actor (film_id, actor_id) VALUES (2, 1), (2, 2), (1, 3);\n"
    )
    assert [row["actor"] for row in values(opened(site, table="film"))] == [
        ["Takashi"],
        ["Mieko Harada", "Tatsuya Nakadai"],
        None,
    ]


def test_a_table_can_be_named_in_any_case_and_one_that_is_missing_is_refused_with_those_there_are(site: Site) -> None:
    site.execute(FILMS)
    assert opened(site, table="DIRECTOR").name.endswith("#director")
    with pytest.raises(InputError, match=r"no table 'flim' \(did you mean 'film'\?\); tables: country, director, film"):
        opened(site, table="flim")


def test_a_query_is_read_as_it_is_written(site: Site) -> None:
    site.execute(FILMS)
    query = "SELECT upper(title) AS loud, 1 AS loud, '%s :x' AS odd FROM film WHERE title LIKE '%:colour%'"
    source = opened(site, query=query)
    assert source.name.endswith(f"#{query}")
    assert (source.count_rows(), source.id_column, source.other_tables) == (None, None, ())
    assert values(source) == [{"loud": "RAN: 100 % :COLOUR, THREE SONS AND A FOOL", "loud_2": 1, "odd": "%s :x"}]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("DELETE FROM film", "must be one SELECT statement"),
        ("SELECT 1; DROP TABLE film", "must be one SELECT statement"),
        ("SELECT 1; COMMIT; DROP TABLE film", "must be one SELECT statement"),
        ("SELECT title INTO other FROM film", "'INTO' does more"),
        ("WITH gone AS (DELETE FROM film RETURNING 1) SELECT 1 FROM gone", "'DELETE' does more"),
        ("SELECT * FROM film FOR UPDATE", "'UPDATE' does more"),
        ("SELECT nope FROM film", "(?i)nope"),
        ("SELECT * FROM flim", "tables: country, director, film, film_director, log"),
        ("SELEC 1", "must be one SELECT statement"),
        ("", "must be one SELECT statement"),
    ],
)
def test_a_query_that_is_not_one_selection_or_cannot_be_run_is_refused(site: Site, query: str, says: str) -> None:
    site.execute(FILMS)
    with pytest.raises(InputError, match=says):
        opened(site, query=query)
    assert len(values(opened(site, table="film"))) == 3


def test_a_table_and_a_query_together_are_refused(site: Site) -> None:
    with pytest.raises(InputError, match="a table or a query, not both"):
        opened(site, table="film", query="SELECT 1")


def test_a_function_that_writes_is_refused_by_the_transaction(site: Site) -> None:
    site.execute(FILMS)
    if site.kind == "postgresql":
        site.execute("CREATE FUNCTION act() RETURNS int LANGUAGE sql AS 'DELETE FROM log; DELETE FROM film; SELECT 1'")
    else:
        site.execute("CREATE FUNCTION act() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM film; RETURN 1; END")
    with pytest.raises(InputError, match=r"(?i)read.only"):
        values(opened(site, query="SELECT act() AS acted"))
    assert len(values(opened(site, table="film"))) == 3


@pytest.mark.parametrize(
    "query", ["SELECT $$a$$; COMMIT; DROP TABLE film", "SELECT 'x\\'; COMMIT; DROP TABLE film; --'"]
)
def test_a_second_statement_is_refused_by_postgresql_itself(on_postgresql: Site, query: str) -> None:
    on_postgresql.execute(FILMS)
    with pytest.raises(InputError):
        opened(on_postgresql, query=query)
    assert len(values(opened(on_postgresql, table="film"))) == 3


def test_an_empty_database_is_refused(site: Site) -> None:
    with pytest.raises(InputError, match="no table in it"):
        opened(site)


def test_columns_whose_types_differ_are_not_joined_by_their_names(site: Site) -> None:
    site.execute(
        "CREATE TABLE author (id INTEGER PRIMARY KEY, name VARCHAR(20));\n"
        "CREATE TABLE book (id INTEGER PRIMARY KEY, title VARCHAR(20), author_id VARCHAR(20));\n"
        "INSERT INTO book VALUES (1, 'One', 'x')"
    )
    assert values(opened(site, table="book")) == [{"id": 1, "title": "One", "author_id": "x"}]


def test_the_types_of_postgresql_are_understood(on_postgresql: Site) -> None:
    on_postgresql.execute("""
    CREATE TYPE mood AS ENUM ('calm', 'wild');
    CREATE TABLE thing (id UUID PRIMARY KEY, tags TEXT[], facts JSONB, price NUMERIC(9, 2), big NUMERIC, made DATE,
        seen TIMESTAMPTZ, ends TIMESTAMP, note BYTEA, picture BYTEA, host INET, lasts INTERVAL, mood mood,
        pages INT4RANGE, real DOUBLE PRECISION, "odd ""name%" TEXT, place POINT);
    INSERT INTO thing VALUES ('9f0c1f8e-0b5a-4f0e-9d55-0c5b1f3a2b11', '{a,"b c",NULL}', '{"x": [1, {"y": null}]}', 9.50,
        12345678901234567890, '2020-02-29', '2020-02-29 12:00+02', 'infinity', 'text', '\\x89ff00', '10.0.0.1',
        '90 minutes', 'wild', '[1,5)', 'NaN', 'odd', '(1,2)');
    """)
    (row,) = values(opened(on_postgresql))
    assert row.pop("real") != 0
    assert row == {
        "id": "9f0c1f8e-0b5a-4f0e-9d55-0c5b1f3a2b11",
        "tags": ["a", "b c", None],
        "facts": {"x": [1, {"y": None}]},
        "price": 9.5,
        "big": 12345678901234567890,
        "made": date(2020, 2, 29),
        "seen": datetime(2020, 2, 29, 10, tzinfo=UTC),
        "ends": None,
        "note": "text",
        "picture": None,
        "host": "10.0.0.1",
        "lasts": "1:30:00",
        "mood": "wild",
        "pages": "[1, 5)",
        'odd "name%': "odd",
        "place": "(1,2)",
    }


def test_the_types_of_mariadb_are_understood(on_mariadb: Site) -> None:
    on_mariadb.execute("""
    CREATE TABLE thing (id BIGINT PRIMARY KEY, facts JSON, price DECIMAL(9, 2), made DATE, seen DATETIME, born YEAR,
        kinds SET('a', 'b'), note BLOB, picture BLOB, lasts TIME, `odd "name%` TEXT) CHARACTER SET latin1;
    SET SESSION sql_mode = '';
    INSERT INTO thing VALUES (9007199254740993, '{"x": [1]}', 9.50, '2020-02-29', '0000-00-00', 1999, 'a,b', 'text',
        x'89ff00', '01:30:00', 'ödd');
    """)
    (row,) = values(opened(on_mariadb))
    assert row == {
        "id": 9007199254740993,
        "facts": '{"x": [1]}',
        "price": 9.5,
        "made": date(2020, 2, 29),
        "seen": "0000-00-00 00:00:00",
        "born": 1999,
        "kinds": "a,b",
        "note": "text",
        "picture": None,
        "lasts": "1:30:00",
        'odd "name%': "ödd",
    }


def test_tables_of_other_schemas_are_read_by_their_full_names(on_postgresql: Site) -> None:
    on_postgresql.execute("""
    CREATE SCHEMA shop;
    CREATE TABLE shop.brand (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE item (id INTEGER PRIMARY KEY, label TEXT, brand INTEGER REFERENCES shop.brand);
    INSERT INTO shop.brand VALUES (1, 'Acme'); INSERT INTO item VALUES (1, 'anvil', 1);
    """)
    source = opened(on_postgresql, table="item")
    assert values(source) == [{"id": 1, "label": "anvil", "brand": 1, "brand_brand": "Acme"}]
    assert "shop.brand" in source.other_tables
    assert values(opened(on_postgresql, table="shop.brand")) == [{"id": 1, "name": "Acme"}]


def test_tables_that_the_user_may_not_read_are_left_out(on_postgresql: Site, password: str) -> None:
    on_postgresql.execute(FILMS)
    address = on_postgresql.guarded()
    on_postgresql.execute("REVOKE SELECT ON director FROM guarded")
    source = opened(on_postgresql, address, environment={"PGPASSWORD": password})
    assert source.name.endswith("#film")
    assert "director" not in source.other_tables
    assert "director" not in values(source)[0]


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_a_result_that_is_larger_than_memory_should_hold_is_streamed(site: Site) -> None:
    series = "generate_series(1, 3000)" if site.kind == "postgresql" else "seq_1_to_3000"
    source = opened(site, query=f"SELECT repeat('x', 100000) AS text FROM {series} AS s")
    before, most, rows = resident_bytes(), 0, 0
    for number, _row in enumerate(source.iter_rows(), start=1):
        rows = number
        most = max(most, resident_bytes()) if number % 50 == 0 else most
    assert rows == 3000
    assert most - before < 150_000_000


def test_a_reading_that_is_given_up_does_not_wait_for_the_rest(site: Site) -> None:
    series = (
        "generate_series(1, 100000) AS n(s)"
        if site.kind == "postgresql"
        else "(SELECT seq AS s FROM seq_1_to_100000) AS n"
    )
    wait = "pg_sleep" if site.kind == "postgresql" else "sleep"
    source = opened(site, query=f"SELECT s, CASE WHEN s > 50000 THEN {wait}(600) END AS w FROM {series}")
    with closing(source.iter_rows()) as rows:
        next(rows)


def with_password(address: str, password: str) -> str:
    return address.replace("guarded@", f"guarded:{quote(password, safe='')}@")


def test_the_password_of_the_address_is_used_and_shown_nowhere(site: Site, password: str) -> None:
    site.execute(FILMS)
    address = site.guarded()
    source = opened(site, with_password(address, password))
    assert len(values(source)) == 3
    assert password not in source.name
    assert quote(password, safe="") not in source.name
    assert source.name.startswith(address.partition("?")[0])


def test_the_password_is_found_in_the_files_of_the_servers_own_programs(
    site: Site, password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.execute(FILMS)
    address = site.guarded()
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".my.cnf").write_text(f'!includedir /etc\n[client]\nport\npassword = "{password}"\n[x]\npassword=no\n')
    (tmp_path / ".pgpass").write_text(f"*:*:*:guarded:{password}\n")
    (tmp_path / ".pgpass").chmod(0o600)
    if site.kind == "postgresql":  # its home is that of the user in the system's list
        address = f"{address}&passfile={quote(str(tmp_path / '.pgpass'), safe='')}"
    assert len(values(opened(site, address))) == 3


def test_a_login_that_is_refused_says_so_without_the_password(site: Site) -> None:
    address = site.guarded()
    with pytest.raises(InputError, match=r"the login is refused.*check the user and the password") as caught:
        opened(site, with_password(address, "wr0ng/pass"))
    assert "wr0ng" not in str(caught.value)
    assert caught.value.__cause__ is None
    variable = "PGPASSWORD" if site.kind == "postgresql" else "MYSQL_PWD"
    with pytest.raises(InputError, match=f"no password was given.*set {variable}"):
        opened(site, address)


def test_a_database_that_does_not_exist_is_refused(site: Site) -> None:
    address = site.url.replace("/database_", "/nowhere_").replace("/test_", "/nowhere_")
    with pytest.raises(InputError, match="no such database"):
        opened(site, address)


def test_a_server_that_does_not_answer_is_said_to_be_unreachable() -> None:
    settings = Settings(home=Path("/nowhere"), environment={})
    for scheme in ("postgresql", "mysql", "mariadb"):
        with pytest.raises(UnavailableError, match=f"{scheme}://me@127.0.0.1:1/db: .* cannot be reached") as caught:
            open_database(f"{scheme}://me:h1dden@127.0.0.1:1/db", ReadOptions(), settings)
        assert "h1dden" not in str(caught.value)


def files_with(folder: Path, *texts: str) -> list[Path]:
    wanted = [text.encode() for text in texts]
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    return [file for file in files if any(text in file.read_bytes() for text in wanted)]


def test_a_table_is_added_updated_by_its_name_and_the_password_is_in_no_file_and_no_output(
    site: Site, password: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    site.execute(FILMS)
    address = site.guarded()
    ran = run(["add", with_password(address, password), "--name", "films", "--yes", "--no-embed"])
    assert ran.code == 0, ran.err
    assert "3 rows: 3 written" in ran.out
    hits = run(["search", "films", "japan", "--json"]).json["results"]
    assert {hit["id"] for hit in hits} == {"films/1", "films/2"}
    secrets = (password, quote(password), quote(password, safe=""))
    assert files_with(home, *secrets) == []
    assert not any(secret in ran.out + ran.err for secret in secrets)

    site.execute("UPDATE film SET title = 'Dodesukaden' WHERE film_id = 3")
    variable = "PGPASSWORD" if site.kind == "postgresql" else "MYSQL_PWD"
    with closing(App(Settings(home=home, environment={variable: password}))) as app:
        (name,) = app.library.get_installed("films").sources
        source = Source(catalogue="films", location=name, is_folder=False)
        report = refresh_from_source(app, source, lambda _rows: None)
    assert (report.written, report.unchanged) == (1, 2)
    assert run(["get", "films", "3", "--json"]).json["title"] == "Dodesukaden"
    with (
        closing(App(Settings(home=home, environment={}))) as app,
        pytest.raises(ExpectedError, match=f"no password was given.*{variable}"),
    ):
        open_provider(app, name)


def test_a_proposal_names_the_other_tables(site: Site, tmp_path: Path, run: Run, monkeypatch: Any) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(tmp_path / "home"))
    site.execute(FILMS)
    ran = run(["add", site.url, "--table", "director", "--yes", "--no-embed"])
    assert ran.code == 0, ran.err
    assert "country, film, film_director, log; choose with --table" in ran.out
