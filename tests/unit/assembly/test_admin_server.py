"""The server over a real library: albums that came are taken in where they belong, and it ends in time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pinakes.api.registry import get_package
from pinakes.assembly.admin_server import AdminServer, RuntimeStatus
from pinakes.assembly.app import App
from pinakes.assembly.build import add_catalogue, open_rows, package_recipe
from pinakes.control.control import Control
from pinakes.errors import InputError
from pinakes.jobs.context import JobContext
from pinakes.model.principal import LOCAL_USER
from pinakes.settings import Settings

pytestmark = pytest.mark.row("Z8")

PASSWORD = "correct horse battery"
RUNTIME = RuntimeStatus(identities=list, counters=dict)


@pytest.fixture
def music(tmp_path: Path, tagged_wav: Callable[..., bytes]) -> Path:
    """A music folder with one piece."""
    folder = tmp_path / "My Music"
    folder.mkdir()
    (folder / "hornpipe.wav").write_bytes(tagged_wav(title="Hornpipe", album="Water Music", artist="Handel"))
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path, tagged_wav: Callable[..., bytes]) -> Path:
    """Another folder with a piece."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "a.wav").write_bytes(tagged_wav(title="A", album="B", artist="C"))
    return folder


@pytest.fixture
def app(tmp_path: Path, music: Path) -> Iterator[App]:
    """An empty library without a model, and with downloads into that folder."""
    app = App(Settings(home=tmp_path / "home", offline=True, sections={"downloads": {"folder": str(music)}}))
    yield app
    app.close()


@pytest.fixture
def server(app: App) -> Iterator[AdminServer]:
    with closing(Control.open(app.settings)) as control:
        server = AdminServer(app, control, RUNTIME)
        yield server
        server.stop()


def add_music(app: App, location: Path, name: str) -> None:
    rows = open_rows(get_package("music"), str(location))
    recipe = package_recipe(get_package("music"))
    add_catalogue(app, rows, recipe=recipe, name=name, progress=lambda _report: None, embed=False)


def test_downloads_are_offered_where_there_is_music_or_the_settings_say_where_to(tmp_path: Path, music: Path) -> None:
    def names(app: App) -> set[str]:
        with closing(Control.open(app.settings)) as control:
            server = AdminServer(app, control, RUNTIME)
            found = {tool.name for tool in server.tools.tools}
            server.stop()
        app.close()
        return found

    downloads = {"downloads.action", "downloads.query"}
    bare, filled = Settings(home=tmp_path / "bare"), App(Settings(home=tmp_path / "filled"))
    assert not downloads & names(App(bare))
    assert downloads <= names(App(bare.model_copy(update={"sections": {"downloads": {"folder": str(music)}}})))
    add_music(filled, music, "songs")
    assert downloads <= names(filled)


def test_a_house_that_was_told_to_end_before_it_began_does_not_begin(server: AdminServer) -> None:
    server.stop()
    server.start()
    names = {thread.name for thread in threading.enumerate()}
    assert not names & {"scheduler", "downloads 1", "downloads 2"}


@pytest.mark.alone
def test_the_house_ends_in_time_whatever_is_being_done(app: App, music: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_music(app, music, "music")
    lets_go = threading.Event()
    begun = threading.Semaphore(0)

    def is_deaf(*_arguments: Any, **_named: Any) -> bool:
        begun.release()
        return bool(lets_go.wait(60))

    def indexes(_duties: Any, _context: JobContext) -> None:
        is_deaf()

    monkeypatch.setattr("pinakes.jobs.builtin_jobs.rebuild_indexes", indexes)
    monkeypatch.setattr("pinakes_catalogues.music.downloads.worker.DownloadWorker.work_once", is_deaf)
    with closing(Control.open(app.settings)) as control:
        server = AdminServer(App(Settings(home=app.settings.home)), control, RUNTIME)
        server.start()
        server._scheduler.board.trigger("rebuild_indexes", by="ada")
        for _ in range(3):  # two workers and a job
            assert begun.acquire(timeout=10)
        started = time.monotonic()
        server.stop()
        assert time.monotonic() - started < 5
        lets_go.set()


def test_the_events_that_were_dropped_are_told(server: AdminServer) -> None:
    server.stop()
    for _ in range(7):
        server.recorder.record_play("ada", "track", 1.0)
    (query,) = (tool for tool in server.tools.tools if tool.name == "server.query")
    answer = query.run(LOCAL_USER, query.params(query_type="info"))
    assert answer.values["events_dropped"] == 7


@pytest.mark.parametrize("wrong", [{"allowed_ports": ("99999",)}, {"allowed_networks": ("10.0.0.1/8",)}])
def test_where_the_settings_of_downloads_are_wrong_the_section_is_named(tmp_path: Path, wrong: dict[str, Any]) -> None:
    app = App(Settings(home=tmp_path / "home", sections={"downloads": wrong}))
    with closing(Control.open(app.settings)) as control, pytest.raises(InputError, match="the section 'downloads': "):
        AdminServer(app, control, RUNTIME)
    app.close()
