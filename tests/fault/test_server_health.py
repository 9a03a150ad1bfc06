"""Health by taking each part away: the control database, the disk, the embedder, a catalogue; and
back by itself.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.server_health import ServerHealth
from stackroom.background.machine_limits import check_disk
from stackroom.background.threads import BoundedCheck
from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import ControlSettings, Settings
from support.libraries import add_rows
from support.loopback import EmbeddingServer
from support.postgres import PostgresServer, open_server
from support.processes import wait_until

pytestmark = [pytest.mark.row("T6"), pytest.mark.row("N24")]

PATIENCE_S = 120.0
FILMS = """
name = "films"
title = "Films"
summary = "Films."

[fields.title]
type = "text"
role = "title"
search = true

[embed]
template = "{title}"
"""
FULL_DISK = """
import resource, sys
from pathlib import Path
from stackroom.background.machine_limits import check_disk

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
print(check_disk(Path(sys.argv[1])))
"""


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with open_server() as server:
        yield server


def add_films(app: App, folder: Path, *, embed: bool = False) -> None:
    rows = folder / "films.jsonl"
    rows.write_text('{"title": "Heat"}\n{"title": "Ronin"}\n')
    add_rows(app, rows, FILMS, embed=embed)


def test_while_the_control_database_is_away_nobody_is_served_and_all_is_well_when_it_is_back(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    app = App(Settings(home=tmp_path / "home", control=ControlSettings(url=postgres.new_url())))
    add_films(app, tmp_path)
    app.build_gate()
    with closing(Control.open(app.settings)) as control:
        health = ServerHealth(app, control, fresh_s=0.0)
        assert (health.find_unready(), health.problems()) == (None, {})
        assert health.states()["control database"] == "ok"
        postgres.stop()
        try:
            assert "control database" in str(health.find_unready())
            assert health.problems().keys() == {"control database", "jobs"}
        finally:
            postgres.start()
        wait_until(
            lambda: health.find_unready() is None and health.problems() == {}, timeout_s=PATIENCE_S
        )
    app.close()


def test_a_disk_that_takes_no_more_is_degraded_and_one_that_is_nearly_full_too(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "writing fails: File too large" in done.stdout
    assert check_disk(tmp_path) is None
    assert "are free" in str(check_disk(tmp_path, least_free_bytes=2**60))
    assert "folder is missing" in str(check_disk(tmp_path / "away"))
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_an_embedder_that_does_not_answer_is_named_and_is_well_again_by_itself(
    tmp_path: Path, embedding_server: EmbeddingServer
) -> None:
    app = App(Settings(home=tmp_path / "home", embedding=embedding_server.settings()))
    add_films(app, tmp_path, embed=True)
    gate, health = app.build_gate(), ServerHealth(app, None, fresh_s=0.0)
    assert gate.call(LOCAL_USER, "search", {"query": "bank robbers"}).structured
    assert health.problems() == {}
    embedding_server.mood = "500"
    assert "status 503" in health.problems()["embedding"], "before a query meets it"
    assert gate.call(LOCAL_USER, "search", {"query": "robots"}).structured
    assert "status 500" in health.problems()["embedding"]
    assert health.find_unready() is None, "search goes on by words"
    embedding_server.mood = "well"
    assert health.problems() == {}
    app.close()


def test_a_catalogue_that_is_gone_is_named_and_while_none_can_be_read_nobody_is_served(
    tmp_path: Path,
) -> None:
    app = App(Settings(home=tmp_path / "home"))
    add_films(app, tmp_path)
    gate, health = app.build_gate(), ServerHealth(app, None)
    assert (health.find_unready(), health.states()["catalogue films"]) == (None, "ok")
    away = (app.library.folder / "films").rename(tmp_path / "away")
    gate.refresh()
    assert health.problems().keys() == {"catalogue films"}
    assert health.find_unready() == "no catalogue can be read"
    away.rename(app.library.folder / "films")
    wait_until(lambda: not gate.refresh() and health.problems() == {}, timeout_s=PATIENCE_S)
    assert health.find_unready() is None
    app.close()


def test_a_check_that_hangs_is_told_in_time_and_not_started_again() -> None:
    release, begun = threading.Event(), []

    def hang() -> None:
        begun.append(1)
        release.wait(PATIENCE_S)

    check = BoundedCheck(hang, name="disk", wait_s=0.01)
    assert "the disk has not answered" in str(check.find_problem())
    assert "the disk has not answered" in str(check.find_problem())
    assert len(begun) == 1
    release.set()
    wait_until(lambda: check.find_problem() is None, timeout_s=PATIENCE_S)


def test_a_result_is_kept_for_a_while() -> None:
    begun: list[int] = []
    check = BoundedCheck(lambda: begun.append(1), name="disk", fresh_s=60.0)  # type: ignore[func-returns-value]
    assert [check.find_problem() for _ in range(5)] == [None] * 5
    assert len(begun) == 1
