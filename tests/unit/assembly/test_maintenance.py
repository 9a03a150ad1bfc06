"""The duties of jobs, over a real library."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from stackroom.analytics.events import Event, EventKind, EventLog
from stackroom.assembly import builtin_jobs
from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe
from stackroom.assembly.builtin_jobs import (
    MaintainedLibrary,
    Source,
    build_server_parts,
    check_installed,
    list_builtin_jobs,
    list_sources,
    refresh_from_source,
)
from stackroom.assembly.serving import ToolChoice
from stackroom.background.background import TaskStopped
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.control.control import Control
from stackroom.errors import InputError, ModelError, StorageError, UnavailableError
from stackroom.jobs.backup import check_backup, list_backups, plan_backup
from stackroom.jobs.board import JobBoard, parse_schedule
from stackroom.jobs.job import JobContext, RunState
from stackroom.jobs.scheduler import Scheduler
from stackroom.library import LEDGER_FILE
from stackroom.model.principal import LOCAL_USER, AuditEntry, Outcome
from stackroom.packs.update import ReleaseReport
from stackroom.settings import EmbeddingSettings, Settings
from stackroom.shelf.port import never_stop
from stackroom.sources.location import ReadOptions
from stackroom_catalogues.music.downloads.manifest import DownloadRequest
from stackroom_catalogues.music.downloads.queue import DownloadQueue, DownloadState, QueueRules
from support.libraries import add_package, add_rows
from support.packs import install_pack
from support.processes import wait_until

pytestmark = pytest.mark.row("Z9")

SPEC = """
name = "films"
title = "Films"
summary = "Films."
id = "title"

[fields.title]
type = "text"
role = "title"
search = true

[embed]
template = "{title}"
"""


@pytest.fixture
def films(tmp_path: Path) -> Path:
    path = tmp_path / "films.csv"
    path.write_text("title\nHeat\nThe Third Man\n")
    return path


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "bread.md").write_text("# Bread\n\nFlour, water, salt.\n")
    return folder


@pytest.fixture
def app(tmp_path: Path, films: Path, notes: Path) -> Iterator[App]:
    """A library with a catalogue of films from a table, and one of notes from a folder, without
    vectors.
    """
    app = App(Settings(home=tmp_path / "home", offline=True))
    add_rows(app, films, SPEC)
    add_package(app, "documents", notes, name="notes")
    yield app
    app.close()


@pytest.fixture
def maintained(app: App, control: Control) -> MaintainedLibrary:
    parts = build_server_parts(app, control, EventLog(control.database))
    return MaintainedLibrary(
        app=app, control=control, parts=parts, now=lambda: datetime(2026, 11, 15, 3, tzinfo=UTC)
    )


def run(name: str, maintained: MaintainedLibrary, context: JobContext | None = None) -> str:
    context = context or JobContext()
    (spec,) = (one for one in list_builtin_jobs(maintained) if one.name == name)
    spec.body(context)
    return context.report().output


def search(app: App, catalogue: str = "films") -> Callable[[str], list[str]]:
    """Search a catalogue by a gate that stays open."""
    gate = app.build_gate([catalogue], tools=ToolChoice.GENERIC)

    def find(query: str) -> list[str]:
        answer = gate.call(LOCAL_USER, "search", {"query": query})
        assert answer.structured is not None, answer.text
        return [hit["title"] for hit in answer.structured["results"]]

    return find


def test_a_rescan_takes_in_what_has_changed_in_folders_and_a_refresh_what_has_in_files(
    app: App, maintained: MaintainedLibrary, films: Path, notes: Path
) -> None:
    find = search(app)
    assert find("heat") == ["Heat"]
    (notes / "soup.md").write_text("# Soup\n\nLeeks and potatoes.\n")
    films.write_text("title\nThe Third Man\nBrief Encounter\n")
    said = run("rescan_folders", maintained)
    assert said.startswith(f"notes from {notes.resolve()}: 2 rows, ")
    assert find("brief encounter") == []
    said = run("refresh_sources", maintained)
    assert said == f"films from {films.resolve()}: 2 rows, 1 written, 1 unchanged, 1 removed\n"
    assert find("brief encounter") == ["Brief Encounter"]
    assert find("heat") == []


def test_sources_are_told_apart_and_opened_by_their_names(
    app: App, maintained: MaintainedLibrary, tmp_path: Path
) -> None:
    database = tmp_path / "more#films.sqlite"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE films (title TEXT)")
        connection.execute("CREATE TABLE others (title TEXT)")
        connection.execute("INSERT INTO films VALUES ('Alien')")
        connection.execute("INSERT INTO others VALUES ('Gravity')")
    loaded = LoadedSpec(spec=compile_text(SPEC, origin="films"), declaration=SPEC)
    for choice in ({"table": "films"}, {"query": "SELECT title FROM others"}):
        rows = open_rows(None, str(database), options=ReadOptions(**choice))
        add_catalogue(
            app,
            rows,
            recipe=own_recipe(loaded),
            name="films",
            progress=lambda _report: None,
            embed=False,
        )
    sources = {source.location.rpartition("/")[2]: source.is_folder for source in list_sources(app)}
    assert sources == {
        "films.csv": False,
        "more#films.sqlite#films": False,
        "more#films.sqlite#SELECT title FROM others": False,
        "notes": True,
    }
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO others VALUES ('Sunshine')")
    said = run("refresh_sources", maintained).splitlines()
    assert said[1].endswith("#films: 1 rows, 0 written, 1 unchanged")
    assert said[2].endswith("others: 2 rows, 1 written, 1 unchanged")


def test_a_provider_is_asked_for_as_many_as_are_known_and_not_where_that_is_not_allowed(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    source = Source(catalogue="notes", location="arxiv:all:bread", is_folder=False)

    def refuse(_spec_name: str | None, location: str, **_others: Any) -> Any:
        asked.append(location)
        raise InputError("offline")

    monkeypatch.setattr("stackroom.assembly.builtin_jobs.open_rows", refuse)
    with pytest.raises(InputError):
        refresh_from_source(app, source, lambda _rows: None)
    folder = app.library.get_installed("notes").folder
    with closing(apsw.Connection(str(folder / LEDGER_FILE))) as ledger:
        ledger.executemany(
            "INSERT INTO origins VALUES ('arxiv:all:bread', ?, '', '', '')", [("a",), ("b",)]
        )
    with pytest.raises(InputError):
        refresh_from_source(app, source, lambda _rows: None)
    assert asked == ["arxiv:all:bread", "arxiv:all:bread?limit=2"]


def test_a_refresh_ends_between_rows_and_leaves_the_catalogue_whole(app: App, films: Path) -> None:
    films.write_text("title\n" + "".join(f"Film {number}\n" for number in range(2000)))
    (source,) = (one for one in list_sources(app) if not one.is_folder)

    def stop(count: int) -> None:
        if count > 500:
            raise TaskStopped

    with pytest.raises(TaskStopped):
        refresh_from_source(app, source, stop)
    assert check_installed(app, "films", never_stop) == []
    assert search(app)("heat") == ["Heat"]


def test_indexes_that_are_well_are_verified_and_built_anew_while_they_are_served(
    app: App, maintained: MaintainedLibrary, films: Path
) -> None:
    find = search(app)
    assert find("third") == ["The Third Man"]
    assert run("verify_indexes", maintained).count("its indexes have exactly its records") == 2
    assert "films: 2 records indexed" in run("rebuild_indexes", maintained)
    assert find("third") == ["The Third Man"]
    films.write_text("title\nHeat\nThe Third Man\nRonin\n")
    run("refresh_sources", maintained)
    assert find("ronin") == ["Ronin"]
    assert run("verify_indexes", maintained).count("its indexes have exactly its records") == 2


def test_the_integrity_check_finds_what_is_damaged(
    app: App, maintained: MaintainedLibrary, control: Control
) -> None:
    assert run("integrity_check", maintained).splitlines()[-1].startswith("audit: ")
    folder = app.library.get_installed("films").folder
    install_pack(app, "films")
    assert check_installed(app, "films", never_stop) == []
    next((folder / "pack" / "files").iterdir()).write_bytes(b"x")
    (problem,) = check_installed(app, "films", never_stop)
    assert "damaged" in problem.message
    (app.library.get_installed("notes").folder / LEDGER_FILE).write_bytes(b"not a database" * 1000)
    assert "file is not a database" in check_installed(app, "notes", never_stop)[0].message
    with control.database.begin() as connection:
        connection.exec_driver_sql("UPDATE audit_head SET number = 7")
    with pytest.raises(StorageError, match="the audit is not whole: row 1 is missing"):
        run("integrity_check", maintained)


@pytest.mark.parametrize("name", ["integrity_check", "verify_indexes", "rebuild_indexes"])
def test_a_catalogue_that_cannot_be_read_is_told_and_the_others_are_looked_after(
    app: App, maintained: MaintainedLibrary, name: str
) -> None:
    app.close()
    store = app.library.get_installed("films").folder / "records.sqlite"
    content = store.read_bytes()
    store.write_bytes(content[:4096] + b"\xff" * 4096 + content[8192:])
    context = JobContext()
    with pytest.raises(
        StorageError,
        match=(
            r"1 of \d failed: (catalogue )?films: films/records.sqlite.* malformed.*; .*from a"
            r" back-up"
        ),
    ):
        run(name, maintained, context)
    assert "notes: " in context.report().output


def test_a_library_that_is_put_back_takes_nothing_for_running_that_runs_elsewhere(
    app: App,
    maintained: MaintainedLibrary,
    control: Control,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = DownloadQueue(control.database, QueueRules())
    download, _ = queue.request("ada", DownloadRequest(provider="archive", album="Water Music"))
    assert queue.take_next() is not None
    serving = Scheduler(JobBoard(control.database, list_builtin_jobs(maintained)))
    serving.board.trigger("backup", by="ada")

    def is_over() -> bool:
        serving.step()
        return not serving.board.list_runs()[0][0].is_live

    wait_until(is_over, timeout_s=120)
    assert serving.board.find_runner() is not None
    (made,) = list_backups(app.settings.home / "backups")
    assert check_backup(made) == []
    restored = tmp_path / "restored"
    shutil.copytree(made, restored)
    assert not list(restored.glob("control.sqlite-*"))

    with (
        closing(App(Settings(home=restored, offline=True))) as again,
        closing(Control.open(again.settings)) as other,
    ):
        board = JobBoard(
            other.database, list_builtin_jobs(MaintainedLibrary(app=again, control=other))
        )
        assert board.find_runner() is None
        ran = Scheduler(board).run_now("integrity_check", by="ada", show=lambda _run, _report: None)
        assert (ran.state, ran.error) == (RunState.DONE, None)
        runs, _ = board.list_runs()
        assert [(run.job, run.state) for run in runs] == [
            ("integrity_check", RunState.DONE),
            ("backup", RunState.DONE),
        ]
        taken = DownloadQueue(other.database, QueueRules()).take_next()
        assert taken is not None
        assert taken.id == download.id
        assert other.audit.verify().first_problem is None
    assert "interrupted" not in caplog.text
    assert queue.get(download.id).state is DownloadState.RUNNING


def test_a_control_database_of_postgresql_is_left_to_its_own_tools(
    maintained: MaintainedLibrary, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control.database, "dialect", "postgresql")
    plan = plan_backup(maintained.app, maintained.control)
    assert "control.sqlite" not in [item.name for item in plan.items]
    assert "PostgreSQL" in plan.notes[0]
    assert "pg_dump" in plan.notes[0]


def test_the_audit_is_pruned_and_verified(maintained: MaintainedLibrary, control: Control) -> None:
    entry = AuditEntry(
        at=datetime(2026, 11, 15, tzinfo=UTC) - timedelta(days=400),
        call_id="old",
        principal="ada",
        via="http",
        operation="tools/call",
        target="search",
        parameters={},
        outcome=Outcome.OK,
    )
    control.audit.write(entry, durable=True)
    assert run("prune_audit", maintained).startswith(
        "1 rows from before 2025-11-15 removed; the audit's 1 rows"
    )
    assert control.audit.verify().first_problem is None


def test_events_and_downloads_are_pruned(maintained: MaintainedLibrary, control: Control) -> None:
    long_ago = datetime(2026, 11, 15, tzinfo=UTC) - timedelta(days=200)
    queue = DownloadQueue(control.database, QueueRules(), now=lambda: long_ago)
    for album in ("Messiah", "Saul"):
        download, _is_new = queue.request("ada", DownloadRequest(provider="archive", album=album))
    queue.cancel(download.id, user="ada")
    with closing(EventLog(control.database)) as events:
        events.note(Event(kind=EventKind.DOWNLOAD, user="ada", subject="1", at=long_ago))
        events.flush()
        assert run("prune_logs", maintained).splitlines() == [
            "downloads: 1 from before 2026-05-19 removed",
            "events: 1 from before 2026-05-19 removed",
        ]
    assert [download.album for download in queue.list_downloads()[0]] == ["Messiah"]


@pytest.fixture
def embedded(tmp_path: Path, films: Path, embedding_server: Any) -> Iterator[App]:
    """A library whose films have vectors by a real endpoint."""
    app = App(Settings(home=tmp_path / "home", embedding=embedding_server.settings()))
    add_rows(app, films, SPEC, embed=True)
    yield app
    app.close()


def test_a_catalogue_of_another_model_is_not_refreshed(embedded: App) -> None:
    other = App(Settings(home=embedded.settings.home, embedding=EmbeddingSettings()))
    (source,) = list_sources(other)
    with pytest.raises(ModelError, match="its vectors are by"):
        refresh_from_source(other, source, lambda _rows: None)
    other.close()


@pytest.mark.parametrize("damaged", ["installed.json", "store.toml"])
def test_a_catalogue_whose_marker_or_place_is_damaged_is_told_and_the_others_are_backed_up(
    app: App, maintained: MaintainedLibrary, damaged: str
) -> None:
    (app.library.get_installed("films").folder / damaged).write_text("{")
    assert maintained.list_catalogues() == ["films", "notes"]
    with pytest.raises(StorageError, match=damaged):
        check_installed(app, "films", never_stop)
    plan = plan_backup(maintained.app, maintained.control)
    (note,) = plan.notes
    assert (note.startswith("'films' is not in it: "), damaged in note) == (True, True)
    assert {
        item.name.split("/")[1] for item in plan.items if item.name.startswith("catalogues/")
    } == {"notes"}


def test_every_job_has_a_valid_schedule_and_nothing_outside_is_asked_unless_somebody_enables_it(
    maintained: MaintainedLibrary,
) -> None:
    jobs = list_builtin_jobs(maintained)
    assert [job.name for job in jobs] == sorted({job.name for job in jobs})
    for job in jobs:
        parse_schedule(job.schedule)
        assert job.description.endswith(".")
    assert {job.name for job in jobs if not job.enabled} == {"refresh_sources", "update_releases"}


def test_every_catalogue_from_a_place_is_updated_and_a_failure_is_named(
    app: App, maintained: MaintainedLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def update(_app: App, name: str) -> ReleaseReport:
        if name == "films":
            raise UnavailableError("its place does not answer")
        return ReleaseReport(catalogue=name, version="2", former="1")

    monkeypatch.setattr(builtin_jobs, "list_released", lambda app: app.library.list_installed())
    monkeypatch.setattr(builtin_jobs, "update_catalogue", update)
    context = JobContext()
    with pytest.raises(StorageError, match="1 of 2 failed: films: its place does not answer"):
        run("update_releases", maintained, context)
    assert context.report().output.splitlines() == [
        "films: failed: its place does not answer",
        "notes: 1 → 2, 0 bytes fetched",
    ]
    assert (context.report().done, context.report().total) == (2, 2)
