"""Collections of a place, synced into the library: which table becomes which catalogue, and what is
said of others.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import filelock
import pytest

from stackroom.assembly.app import App
from stackroom.assembly.server_health import ServerHealth
from stackroom.assembly.sync import publish_catalogue, sync_place
from stackroom.errors import BusyError, StorageError
from stackroom.ingest import pipeline
from stackroom.ingest.ledger import Ledger
from stackroom.model.scope import WHOLE
from stackroom.settings import CollectionSettings, Settings
from stackroom.sources.collections import PlaceState
from support.games import GAMES_SPEC
from support.late import LateModule, require_lance
from support.libraries import add_package, add_rows

require_lance()
lancedb = LateModule("lancedb")
pa = LateModule("pyarrow")
lance_rows = LateModule("stackroom.sources.lance.rows")


class Site:
    """A library that publishes games and notes, a database, and a library that syncs from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = str(folder / "vector_dbs")
        self.here = App(Settings(home=folder / "here"))
        self.there = self.library()

    def library(self, *names: str) -> App:
        """Open the library that syncs, expecting these collections."""
        collections = CollectionSettings(base_db_path=self.place, names=names)
        return App(Settings(home=self.folder / "there", collections=collections))

    def publish_games(self, **titles: str) -> None:
        path = self.folder / "games.jsonl"
        path.write_text(
            "".join(json.dumps({"id": one, "title": title}) + "\n" for one, title in titles.items())
        )
        add_rows(self.here, path, GAMES_SPEC, "games")
        self.publish("games")

    def publish_notes(self, name: str = "notes") -> None:
        (self.folder / "notes").mkdir(exist_ok=True)
        (self.folder / "notes" / "bread.md").write_text("# Bread\n\nFlour and water.\n")
        add_package(self.here, "documents", self.folder / "notes", name=name)
        self.publish(name)

    def publish(self, name: str) -> None:
        publish_catalogue(self.here, name, self.place, progress=lambda _rows: None)

    def sync(self) -> PlaceState:
        return sync_place(self.there, self.place)

    def titles(self, name: str = "games") -> dict[str, Any]:
        with closing(App(self.there.settings)) as app:
            reader = app.open_catalogue(name).shelf.reader()
            records = reader.fetch(reader.scan(scope=WHOLE, limit=100), scope=WHOLE).values()
            return {record.id: record.get("title") for record in records}

    def problems(self) -> dict[str, str]:
        return ServerHealth(self.there, None).problems()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """Two collections in a database, and a library that has synced none yet."""
    site = Site(tmp_path)
    with closing(site.here), closing(site.there):
        site.publish_games(g1="Catan", g2="Azul")
        yield site


@pytest.mark.row("T4")
def test_each_table_of_a_place_becomes_a_catalogue_by_the_spec_it_was_published_with(
    site: Site,
) -> None:
    site.publish_notes()
    state = site.sync()
    assert {one.name: (one.outcome, one.version, one.rows) for one in state.collections} == {
        "games": ("synced", 1, 2),
        "notes": ("synced", 1, 2),
    }
    assert site.titles() == {"g1": "Catan", "g2": "Azul"}
    installed = {
        one.name: one.own_declaration is not None for one in site.there.library.list_installed()
    }
    assert installed == {"games": True, "notes": False}
    assert not site.problems()


@pytest.mark.row("T4")
def test_an_expected_collection_without_a_table_is_skipped_and_said_to_be(site: Site) -> None:
    site.there = site.library("games", "handbook")
    state = site.sync()
    assert {one.name: one.outcome for one in state.collections} == {
        "games": "synced",
        "handbook": "skipped",
    }
    reason = site.problems()["catalogue handbook"]
    assert "skipped:" in reason
    assert "has no table handbook_documents; collections there: games" in reason


def test_a_catalogue_that_is_not_from_the_table_is_left_alone(site: Site) -> None:
    path = site.folder / "mine.jsonl"
    path.write_text('{"id": "m", "title": "Mine"}\n')
    add_rows(site.there, path, GAMES_SPEC, "games")
    (state,) = site.sync().collections
    assert (state.outcome, site.titles(), site.problems()) == ("own", {"m": "Mine"}, {})
    assert "mine.jsonl, which is kept" in state.reason


def test_a_table_of_others_becomes_a_collection_of_passages(site: Site) -> None:
    rows = pa.table(
        {"text": ["Leave is thirty days."], "metadata": ['{"source": "people/leave.md"}']}
    )
    lancedb.connect(site.place).create_table("theirs_documents", data=rows)
    assert [one.outcome for one in site.sync().collections] == ["synced", "synced"]
    assert site.titles("theirs") != {}


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        (
            {"layout": 2, "catalogue": "chess", "digest": "x-y"},
            "follow the catalogue package 'chess', which is not",
        ),
        (
            {"layout": 99, "catalogue": "games"},
            r"written by a newer version \(layout 99\); update Stackroom",
        ),
        (
            {"layout": 2, "catalogue": "g", "declaration": "name = 1", "digest": "x"},
            "games_documents",
        ),
        (
            {"layout": 2, "digest": "x-y"},
            "its description has no valid 'catalogue'; publish the catalogue again",
        ),
    ],
)
def test_a_table_that_cannot_be_taken_in_is_skipped_with_the_reason(
    site: Site, description: dict[str, Any], reason: str
) -> None:
    site.publish_notes()
    database = lancedb.connect(site.place)
    rows = database.open_table("games_documents").to_arrow()
    changed = rows.replace_schema_metadata({b"stackroom": json.dumps(description).encode()})
    database.create_table("games_documents", data=changed, mode="overwrite")
    games, notes = site.sync().collections
    assert notes.outcome == "synced"
    assert games.outcome in ("skipped", "failed")
    assert games.reason
    assert re.search(reason, games.reason)


def test_a_published_table_that_lost_a_column_is_skipped_and_the_others_go_on(site: Site) -> None:
    site.publish_notes()
    site.sync()
    lancedb.connect(site.place).open_table("games_documents").drop_columns(["metadata"])
    games, notes = site.sync().collections
    assert (games.outcome, notes.outcome) == ("skipped", "synced")
    assert games.reason
    assert re.search(
        "games_documents: it has no column 'metadata'; publish the catalogue again", games.reason
    )
    assert site.titles() == {"g1": "Catan", "g2": "Azul"}
    site.publish("games")
    assert [one.outcome for one in site.sync().collections] == ["synced", "synced"]


@pytest.mark.row("T7")
def test_a_place_that_is_gone_is_an_error_and_its_copies_stay(site: Site) -> None:
    site.sync()
    shutil.rmtree(site.place)
    with pytest.raises(StorageError, match="no such folder"):
        site.sync()
    assert site.titles() == {"g1": "Catan", "g2": "Azul"}
    assert site.problems()["collections"].endswith("the copy in the library is served")
    site.publish_games(g1="Catan", g2="Azul")
    site.sync()
    assert not site.problems()


def test_two_processes_do_not_sync_one_library_at_once(site: Site) -> None:
    (site.folder / "there").mkdir(exist_ok=True)
    with (
        filelock.FileLock(site.folder / "there" / "collections.lock"),
        pytest.raises(BusyError, match="is syncing"),
    ):
        site.sync()


class EndedError(BaseException):
    """The process ends here."""


@pytest.mark.row("T7")
@pytest.mark.parametrize(("is_one_step", "is_whole"), [(True, True), (False, False)])
def test_a_sync_that_ends_after_its_first_write_leaves_one_version_whole(
    site: Site, monkeypatch: pytest.MonkeyPatch, is_one_step: bool, is_whole: bool
) -> None:
    """The control writes record by record, as other sources do: there the end leaves a mixture."""

    def end(*_arguments: object) -> None:
        raise EndedError

    site.sync()
    site.publish_games(g1="Catan: Seafarers", g3="Go")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "note_origins", end)
        patched.setattr(lance_rows.LanceRows, "is_one_step", is_one_step)
        patched.setattr(pipeline, "WHOLE_BATCH_RECORDS", 1)
        with pytest.raises(EndedError):
            site.sync()
    new = {"g1": "Catan: Seafarers", "g3": "Go"}
    assert (site.titles() == new) is is_whole
    assert [one.outcome for one in site.sync().collections] == ["synced"]
    assert site.titles() == new
