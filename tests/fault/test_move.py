"""Moving a catalogue into a database and back: while it is served and edited, and killed at every
step.
"""

import os
import shutil
import subprocess
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import own_recipe
from stackroom.assembly.update_plan import plan_update
from stackroom.assembly.workshop import Workshop
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.cli.main import main
from stackroom.errors import BusyError, ConflictError, InputError, StorageError
from stackroom.gate.gate import Gate
from stackroom.library import DECLARATION_FILE, INSTALLED_FILE, KEPT_S, PLACE_FILE
from stackroom.model.principal import LOCAL_USER
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.settings import Settings
from stackroom.shelf.opening import open_shelf
from stackroom.shelf.port import Delete, Put, never_stop
from stackroom.shelf.postgres import move
from stackroom.shelf.postgres.move import drop_former, move_to_database, move_to_folder
from stackroom.shelf.store_place import FORMER_FILE, IN_DATABASE, StorePlace, find_place, save_place
from stackroom.sources.json_rows import JsonRows
from support.launching import SCRIPT, launch
from support.libraries import add_rows
from support.postgres import PostgresServer

pytestmark = pytest.mark.row("N16")

SPEC = """
name = "films"
title = "Films"
summary = "Films."
editable = true

[fields.title]
type = "text"
role = "title"
search = true
"""
RECIPE = own_recipe(LoadedSpec(spec=compile_text(SPEC, origin="films"), declaration=SPEC))
KILLED = """
import os, sys
from pathlib import Path
from stackroom.shelf.postgres import move
from stackroom.assembly.workshop import Workshop
from stackroom.settings import Settings
from stackroom.shelf.postgres import followed_store
from stackroom.shelf.store_place import StorePlace

home, url, schema, steps = sys.argv[1:]
left = int(steps)
followed_store.ROWS_AT_ONCE = move.ROWS_AT_ONCE = 4

def advance(step, count):
    global left
    left -= 1
    if left < 0:
        os._exit(9)

workshop = Workshop(Settings(home=Path(home)))
if url == "here":
    move.move_to_folder(workshop, "films", advance=advance)
else:
    move.move_to_database(workshop, "films", StorePlace(url=url, schema=schema), advance=advance)
"""


def build(home: Path, *titles: str) -> Path:
    rows = home.parent / "films.jsonl"
    rows.write_text("".join(f'{{"title": "{title}"}}\n' for title in titles))
    with closing(App(Settings(home=home))) as app:
        add_rows(app, rows, SPEC)
    return rows


@pytest.fixture
def home(tmp_path: Path) -> Path:
    build(tmp_path / "home", "Heat", "Ronin", "Alien", "Brazil", "Casablanca", "Dune", "Fargo")
    return tmp_path / "home"


@pytest.fixture
def place(postgresql: PostgresServer) -> StorePlace:
    return postgresql.new_place()


def ignore(_step: str, _count: int) -> None:
    pass


def find(gate: Gate, query: str) -> list[str]:
    answer = gate.call(LOCAL_USER, "search", {"query": query, "catalogue": "films"})
    assert answer.structured is not None, answer.text
    return [hit["title"] for hit in answer.structured["results"]]


def put(app: App, title: str) -> None:
    writer = app.open_catalogue("films").shelf.writer()
    writer.apply([Put(record=Record(id=RecordId(title), kind="film", fields={"title": title}))])
    writer.publish()


def test_a_catalogue_is_served_and_edited_while_it_is_moved_there_and_back(
    home: Path, tmp_path: Path, place: StorePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move, "ROWS_AT_ONCE", 3)
    workshop = Workshop(Settings(home=home))
    with closing(App(Settings(home=home))) as app:
        gate = app.build_gate()
        edits = iter(["Gattaca", "Her", "Insomnia"])

        def edit(step: str, _count: int) -> None:
            if step != "switched" and (title := next(edits, None)) is not None:
                put(app, title)
                assert find(gate, title) == [title]

        report = move_to_database(workshop, "films", place, advance=edit)
        assert report.rows["records"] == 10
        put(app, "Jaws")
        gate.refresh()
        assert [find(gate, title) for title in ("Heat", "Insomnia", "Jaws")] == [
            ["Heat"],
            ["Insomnia"],
            ["Jaws"],
        ]
        with closing(App(Settings(home=follower(home, tmp_path / "second")))) as second:
            assert find(second.build_gate(), "Jaws") == ["Jaws"]
            put(second, "Kes")
            assert find(gate, "Kes") == ["Kes"]
            assert move_to_folder(workshop, "films", advance=ignore).rows["records"] == 12
            gate.refresh()
            put(app, "Leon")
            assert find(gate, "Leon") == ["Leon"]
            with pytest.raises(StorageError, match="moved out"):
                put(second, "Memento")
            shelf = second.open_catalogue("films").shelf
            assert "moved out" in (shelf.reader().stale or "")
            assert shelf.find_reader() is None, "the note is in no quick answer"
            assert find(second.build_gate(), "Kes") == ["Kes"]
    assert find_place(home / "catalogues" / "films") is None


def follower(home: Path, other: Path) -> Path:
    """Give another server the entry of the catalogue, and nothing else."""
    folder = other / "catalogues" / "films"
    folder.mkdir(parents=True)
    for name in (INSTALLED_FILE, DECLARATION_FILE, PLACE_FILE):
        shutil.copy2(home / "catalogues" / "films" / name, folder / name)
    return other


def run_killed(home: Path, url: str, schema: str, *, at_first: int) -> int:
    """Run a move, killed at its first step so often, then one step later each time; return how
    often it was killed.
    """
    kills = 0
    while True:
        command = [*SCRIPT, KILLED, str(home), url, schema, str(max(0, kills - at_first))]
        process = launch(
            command, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        _output, errors = process.communicate(timeout=300)
        if process.returncode == 0:
            return kills
        assert process.returncode == 9, errors
        kills += 1
        assert kills < 40, "the move does not advance"


def test_a_move_that_is_killed_at_any_step_is_continued_and_loses_nothing(
    home: Path, place: StorePlace
) -> None:
    folder = home / "catalogues" / "films"
    with closing(
        Workshop(Settings(home=home)).open_shelf(
            App(Settings(home=home)).library.get_installed("films")
        )
    ) as shelf:
        before = shelf.history().list_changes(limit=99)
    assert run_killed(home, place.url, place.schema, at_first=4) == 5
    assert find_place(folder) == place
    assert [path.name for path in folder.parent.iterdir()] == ["films"], "nothing is left behind"
    assert run_killed(home, "here", "", at_first=0) == 1
    assert find_place(folder) is None
    assert run_killed(home, "here", "", at_first=0) == 0, (
        "one that is stopped after its switch is done"
    )
    with closing(App(Settings(home=home))) as app:
        assert app.open_catalogue("films").shelf.history().list_changes(limit=99) == before
        put(app, "Gattaca")
        assert list(app.open_catalogue("films").shelf.check(checkpoint=never_stop)) == []


def test_a_catalogue_that_is_searched_in_the_database_has_no_copy_until_it_is_moved_back(
    home: Path, place: StorePlace, postgresql: PostgresServer
) -> None:
    workshop, folder = Workshop(Settings(home=home)), home / "catalogues" / "films"
    move_to_database(workshop, "films", place, advance=ignore)
    save_place(folder, replace(place, search=IN_DATABASE))
    for path in folder.glob("records.sqlite*"):
        path.unlink()
    with closing(App(Settings(home=home))) as app:
        put(app, "Gattaca")
        assert find(app.build_gate(), "Gattaca") == ["Gattaca"]
        assert not list(folder.glob("records.sqlite*"))
        assert move_to_folder(workshop, "films", advance=ignore).rows["records"] == 8
    with closing(App(Settings(home=home))) as app:
        assert app.open_catalogue("films").shelf.describe().kind == "embedded"
        assert find(app.build_gate(), "Gattaca") == ["Gattaca"]
    schemas = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s || '_')"
    assert postgresql.execute(schemas, place.schema), "the index is in the database"
    drop_former(workshop, now=(folder / FORMER_FILE).stat().st_mtime + KEPT_S)
    assert postgresql.execute(schemas, place.schema) == []


def test_a_writer_that_was_open_before_the_switch_is_refused_after_it(
    home: Path, place: StorePlace
) -> None:
    workshop = Workshop(Settings(home=home))
    installed = workshop.library.get_installed("films")
    with closing(open_shelf(installed.folder, workshop.spec_of(installed).spec)) as shelf:
        shelf.reader()
        move_to_database(workshop, "films", place, advance=ignore)
        with pytest.raises(BusyError, match="moved to a database"):
            shelf.apply(
                [Put(record=Record(id=RecordId("x"), kind="film", fields={"title": "Lost"}))]
            )
        assert shelf.reader().count(WHOLE) == 7


def test_a_schema_that_has_a_catalogue_is_refused_and_so_is_a_second_move(
    home: Path, place: StorePlace
) -> None:
    workshop = Workshop(Settings(home=home))
    move_to_database(workshop, "films", place, advance=ignore)
    # it is there, and nothing is to be done
    move_to_database(workshop, "films", place, advance=ignore)
    with pytest.raises(InputError, match="already"):
        move_to_database(
            workshop, "films", StorePlace(url=place.url, schema="other"), advance=ignore
        )
    other = home.parent / "second" / "home"
    other.parent.mkdir()
    build(other, "Vertigo")
    with pytest.raises(ConflictError, match="has a catalogue already"):
        move_to_database(Workshop(Settings(home=other)), "films", place, advance=ignore)


def test_damage_on_the_way_is_noticed_before_the_switch(
    home: Path, place: StorePlace, postgresql: PostgresServer
) -> None:
    def damage(step: str, _count: int) -> None:
        if step == "changes":
            postgresql.execute(f"UPDATE {place.schema}.records SET body = 'x'::bytea WHERE key = 3")

    with pytest.raises(StorageError, match="1 damaged there"):
        move_to_database(Workshop(Settings(home=home)), "films", place, advance=damage)
    assert find_place(home / "catalogues" / "films") is None


def test_the_tables_are_dropped_a_day_after_the_catalogue_was_moved_out(
    home: Path, place: StorePlace, postgresql: PostgresServer
) -> None:
    workshop = Workshop(Settings(home=home))
    move_to_database(workshop, "films", place, advance=ignore)
    move_to_folder(workshop, "films", advance=ignore)
    former = home / "catalogues" / "films" / FORMER_FILE
    moved_at = former.stat().st_mtime
    assert drop_former(workshop, now=moved_at + KEPT_S - 1) == []
    assert postgresql.execute(f"SELECT count(*) FROM {place.schema}.records") == [(7,)]
    assert drop_former(workshop, now=moved_at + KEPT_S) == ["films"]
    assert postgresql.execute("SELECT to_regclass(%s)", f"{place.schema}.records") == [(None,)]
    assert not former.exists()


def test_tables_that_a_catalogue_was_moved_to_again_are_not_dropped(
    home: Path, place: StorePlace, postgresql: PostgresServer
) -> None:
    workshop, folder = Workshop(Settings(home=home)), home / "catalogues" / "films"
    move_to_database(workshop, "films", place, advance=ignore)
    move_to_folder(workshop, "films", advance=ignore)
    former = (folder / FORMER_FILE).read_text()
    move_to_database(workshop, "films", place, advance=ignore)
    assert not (folder / FORMER_FILE).exists()
    (folder / FORMER_FILE).write_text(former)  # as a move that was stopped leaves it
    save_place(folder, replace(place, parts=2))
    assert drop_former(workshop, now=time.time() + 2 * KEPT_S) == []
    assert postgresql.execute(f"SELECT count(*) FROM {place.schema}.records") == [(7,)]


@pytest.mark.parametrize("search", ["", IN_DATABASE])
def test_the_plan_of_an_update_knows_what_another_server_wrote(
    home: Path, place: StorePlace, search: str
) -> None:
    move_to_database(Workshop(Settings(home=home)), "films", place, advance=ignore)
    save_place(home / "catalogues" / "films", replace(place, search=search))
    with closing(App(Settings(home=follower(home, home.parent / "second")))) as second:
        shelf = second.open_catalogue("films").shelf
        records = (
            shelf.reader().fetch(shelf.reader().scan(scope=WHOLE, limit=9), scope=WHOLE).values()
        )
        shelf.writer().apply(
            [Delete(id=one.id) for one in records if one.fields["title"] == "Alien"]
        )
    (rows := home.parent / "films.jsonl").write_text(
        '{"title": "Heat"}\n{"title": "Ronin"}\n{"title": "Her"}\n'
    )
    with closing(App(Settings(home=home))) as app:
        planned = plan_update(app, JsonRows(rows), recipe=RECIPE, name="films", replaces=False)
    assert [planned[what] for what in ("added", "removed", "unchanged")] == [1, 4, 2]


def test_a_backup_has_what_another_server_wrote_and_says_what_it_has_not(
    home: Path,
    place: StorePlace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def restored(second: Path) -> str:
        """Back up the library of a server, and return how many records it has, or what it does not
        have.
        """
        copies, third = second.parent / "copies", second.parent / "third"
        monkeypatch.setenv("STACKROOM_HOME", str(second))
        assert not main(["backup", "--to", str(copies)])
        noted = capsys.readouterr().out
        monkeypatch.setenv("STACKROOM_HOME", str(third))
        assert not main(["restore", str(copies)])
        if "films" in noted:
            return noted
        with closing(App(Settings(home=third))) as app:
            count = app.open_catalogue("films").shelf.reader().count(WHOLE)
        shutil.rmtree(copies)
        shutil.rmtree(third)
        return str(count)

    second = follower_of_moved(home, place)
    assert restored(second) == "7", "it had no copy yet"
    with closing(App(Settings(home=home))) as app:
        put(app, "Gattaca")
    assert restored(second) == "8"
    save_place(second / "catalogues" / "films", replace(place, search=IN_DATABASE))
    assert "the records of 'films' are in postgresql" in restored(second)


def follower_of_moved(home: Path, place: StorePlace) -> Path:
    """Move the catalogue to a database, and return another server's library with it."""
    move_to_database(Workshop(Settings(home=home)), "films", place, advance=ignore)
    return follower(home, home.parent / "second")


def test_the_command_moves_a_catalogue_and_shows_no_password(
    home: Path,
    place: StorePlace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    url = place.url.replace("stackroom@", "stackroom:secret@")
    assert not main(["move", "films", "--to", url, "--schema", place.schema])
    assert not main(["move", "films", "--to", "here"])
    told = capsys.readouterr()
    there, here = told.out.splitlines()
    assert there.startswith(f"films: the records are in {place.url} now (7 records, ")
    assert here.startswith(f"films: the records are in {home}/catalogues/films now (7 records, ")
    assert "secret" not in told.out + told.err
    with pytest.raises(SystemExit):
        main(["move", "films", "--to", "mysql://host/db"])
    assert "begins with postgresql://" in capsys.readouterr().err


def add_to(place: StorePlace, home: Path, *titles: str, options: tuple[str, ...] = ()) -> int:
    """Run `stackroom add` on a table of these titles, for a catalogue in a database."""
    home.mkdir(parents=True, exist_ok=True)
    (spec := home.parent / "films.toml").write_text(SPEC)
    (rows := home.parent / "films.jsonl").write_text(
        "".join(f'{{"title": "{title}"}}\n' for title in titles)
    )
    there = ("--to", place.url, "--schema", place.schema) if place.schema else ()
    return main(["add", str(rows), "--spec", str(spec), *there, *options])


def tables_of(postgresql: PostgresServer, place: StorePlace) -> list[tuple[Any, ...]]:
    return postgresql.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", place.schema)


@pytest.mark.parametrize("options", [(), ("--search-there",)])
def test_a_new_catalogue_is_added_to_a_database_and_no_server_holds_one_that_is_searched_there(
    tmp_path: Path, place: StorePlace, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    assert not add_to(place, home, "Heat", "Ronin", options=options)
    assert not add_to(place, home, "Heat", "Gattaca", options=options)
    folder = home / "catalogues" / "films"
    assert (known := find_place(folder)) is not None
    assert (known.schema, known.search) == (place.schema, IN_DATABASE if options else "")
    assert list(folder.glob("records.sqlite*")) == [] or not options
    with closing(App(Settings(home=home))) as app:
        gate = app.build_gate()
        assert (find(gate, "Gattaca"), find(gate, "Ronin")) == (["Gattaca"], [])


def test_a_catalogue_that_cannot_be_added_to_a_database_leaves_nothing(
    home: Path,
    place: StorePlace,
    postgresql: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    def refused(
        library: Path, *titles: str, to: StorePlace = place, options: tuple[str, ...] = ()
    ) -> str:
        monkeypatch.setenv("STACKROOM_HOME", str(library))
        with pytest.raises(SystemExit):
            add_to(to, library, *titles, options=options)
        return str(capsys.readouterr().err)

    second = home.parent / "second" / "home"
    assert "stackroom move films --to" in refused(home, "Heat")
    assert "none of its 1 rows makes a record" in refused(second, "")
    assert "give its address by --to" in refused(
        second, "Heat", to=replace(place, schema=""), options=("--schema", "x")
    )
    assert tables_of(postgresql, place) == []
    move_to_database(Workshop(Settings(home=home)), "films", place, advance=ignore)
    assert "has a catalogue already" in refused(second, "Vertigo")
    assert not (second / "catalogues" / "films").exists()
    assert tables_of(postgresql, place)
    assert f"'{place.schema}'" in refused(home, "Heat", to=replace(place, schema="other"))


@pytest.mark.parametrize("options", [(), ("--search-there",)])
def test_an_address_that_does_not_work_is_told_by_its_reason_and_without_its_password(
    home: Path,
    place: StorePlace,
    options: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    def told(url: str) -> str:
        with pytest.raises(SystemExit):
            add_to(
                replace(place, url=url), home.parent / "second" / "home", "Heat", options=options
            )
        return str(capsys.readouterr().err)

    monkeypatch.setenv("STACKROOM_HOME", str(home.parent / "second" / "home"))
    assert "write %25 for %" in (broken := told("postgresql://ann:50%secret@host/films"))
    assert "Name or service" in (split := told("postgresql://ann:50@secret@host.invalid/films"))
    assert "secret" not in broken + split
    assert 'database "films" does not exist' in told(place.url.replace("/postgres?", "/films?"))


def test_nothing_is_moved_to_a_database_that_cannot_search_it(
    home: Path, place: StorePlace, postgresql: PostgresServer
) -> None:
    for query in (
        "CREATE ROLE plain LOGIN CONNECTION LIMIT 1",
        "CREATE DATABASE plain OWNER plain",
    ):
        postgresql.execute(query)
    plain = replace(place, url=place.url.replace("//stackroom@/postgres?", "//plain@/plain?"))
    workshop = Workshop(Settings(home=home))
    with pytest.raises(InputError, match="needs the extension pgvector"):
        move_to_database(workshop, "films", replace(plain, search=IN_DATABASE), advance=ignore)
    with pytest.raises(BusyError, match="does not answer"):
        # it takes one connection, and a server needs more
        move_to_database(workshop, "films", plain, advance=ignore)
    assert find_place(home / "catalogues" / "films") is None


def test_the_command_has_a_catalogue_searched_in_its_database_and_its_removal_says_what_stays(
    home: Path,
    place: StorePlace,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("STACKROOM_HOME", str(home))
    command = ["move", "films", "--to", place.url, "--schema", place.schema]
    assert not main(command)
    assert not main([*command, "--search-there"])
    with closing(App(Settings(home=home))) as app:
        assert app.open_catalogue("films").shelf.describe().kind == "postgresql"
        assert find(app.build_gate(), "Heat") == ["Heat"]
    assert not main(["remove", "films"])
    assert f"schemas {place.schema}* stay in {place.shown}" in capsys.readouterr().out
