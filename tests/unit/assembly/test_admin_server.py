"""The house over a real library: albums that came are taken in where they belong, and it ends in time."""

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
from pinakes.ingest.edits.apply import Edits
from pinakes.ingest.edits.draft import EditAction, EditRequest
from pinakes.jobs.context import JobContext
from pinakes.jobs.downloads.items import Download, DownloadRequest, DownloadState
from pinakes.model.principal import LOCAL_USER
from pinakes.model.scope import WHOLE
from pinakes.settings import DownloadsSettings, Settings

pytestmark = pytest.mark.row("Z8")

PASSWORD = "correct horse battery"
SURROUNDINGS = RuntimeStatus(identities=list, counters=dict)


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
    app = App(Settings(home=tmp_path / "home", offline=True, downloads=DownloadsSettings(folder=str(music))))
    yield app
    app.close()


@pytest.fixture
def house(app: App) -> Iterator[AdminServer]:
    with closing(Control.open(app.settings)) as control:
        house = AdminServer(app, control, SURROUNDINGS)
        yield house
        house.stop()


def add_music(app: App, location: Path, name: str) -> None:
    rows = open_rows(get_package("music"), str(location))
    add_catalogue(
        app, rows, recipe=package_recipe(get_package("music")), name=name, progress=lambda _report: None, embed=False
    )


def take_in(house: AdminServer, music: Path, content: bytes) -> str | None:
    """Let an album land, as a worker does."""
    album = music / "Handel" / "Fireworks"
    album.mkdir(parents=True)
    (album / "01.wav").write_bytes(content)
    return house._take_in(album, asked_for(house))


def asked_for(house: AdminServer) -> Download:
    """Return a download that ann asked for."""
    wish = DownloadRequest(provider="url", url="https://music.example.org/a.json")
    return house._desk.queue.request("ann", wish, call_id="c-1")[0]


def test_an_album_is_taken_in_by_the_catalogue_of_its_folder_as_that_was_built(
    app: App, house: AdminServer, music: Path, elsewhere: Path, tagged_wav: Callable[..., bytes]
) -> None:
    add_music(app, elsewhere, "music")
    add_music(app, music, "songs")
    before = app.open_catalogue("music").shelf.reader().count(WHOLE)
    assert take_in(house, music, tagged_wav(title="Overture", album="Fireworks", artist="Handel")) is None
    reader = app.open_catalogue("songs").shelf.reader()
    titles = {
        str(record.get("name")) for record in reader.fetch(reader.scan(scope=WHOLE, limit=20), scope=WHOLE).values()
    }
    assert {"Hornpipe", "Overture", "Fireworks", "Handel"} <= titles
    assert app.open_catalogue("music").shelf.reader().count(WHOLE) == before
    assert [one.name for one in app.library.list_installed()] == ["music", "songs"]


def test_an_album_that_was_deleted_by_hand_comes_back_when_it_is_asked_for_and_is_the_askers_change(
    app: App, house: AdminServer, music: Path, tagged_wav: Callable[..., bytes]
) -> None:
    def names() -> set[str]:
        reader = app.open_catalogue("music").shelf.reader()
        found = reader.fetch(reader.scan(scope=WHOLE, limit=20), scope=WHOLE).values()
        return {str(record.get("name")) for record in found}

    add_music(app, music, "music")
    take_in(house, music, tagged_wav(title="Overture", album="Fireworks", artist="Zed"))
    before = names()
    assert {"Overture", "Fireworks", "Zed", "Hornpipe"} < before
    shelf = app.open_catalogue("music").shelf
    history = shelf.history()
    (zed,) = (one for one in history.list_changes(limit=20) if one.after and one.after.get("name") == "Zed")
    assert {(one.author.principal, one.author.call_id) for one in history.list_changes(limit=3)} == {("ann", "c-1")}
    Edits(shelf=shelf).apply(EditRequest(action=EditAction.DELETE, id=zed.id, cascade=True))
    assert not {"Overture", "Fireworks", "Zed"} & names()

    assert house._take_in(music / "Handel" / "Fireworks", asked_for(house)) is None

    assert names() == before


def test_a_file_that_is_no_music_is_told(app: App, house: AdminServer, music: Path) -> None:
    add_music(app, music, "music")
    (music / "other.mp3").write_bytes(b"<html>")
    album = music / "Handel" / "Fireworks"
    album.mkdir(parents=True)
    (album / "01.mp3").write_bytes(b"<html>please log in</html>")
    told = house._take_in(album, asked_for(house))
    assert told is not None
    assert told.startswith("not in the catalogue: 1 of its files, such as '01.mp3': it cannot be read")


def test_an_album_is_taken_in_by_a_catalogue_of_music_where_none_has_its_folder(
    app: App, house: AdminServer, music: Path, elsewhere: Path, tagged_wav: Callable[..., bytes]
) -> None:
    add_music(app, elsewhere, "songs")
    take_in(house, music, tagged_wav(title="Overture", album="Fireworks", artist="Handel"))
    (songs,) = app.library.list_installed()
    assert songs.sources == (str(elsewhere.resolve()), str(music.resolve()))


def test_downloads_are_for_those_who_could_ask_for_them_today(app: App) -> None:
    def user(name: str) -> None:
        control.accounts.create_user(LOCAL_USER, name, password=PASSWORD, roles=["agent"], grants=())

    def refusal(name: str) -> str | None:
        wish = DownloadRequest(provider="url", url="https://music.example.org/a.json")
        return house._find_refusal(house._desk.queue.request(name, wish)[0])

    with closing(Control.open(app.settings)) as control:
        house = AdminServer(app, control, SURROUNDINGS)
        for name in ("ann", "bob", "cat", "dan", "eve"):
            user(name)
            assert refusal(name) is None
        control.accounts.set_roles(LOCAL_USER, "bob", ["user"])
        control.accounts.delete_user(LOCAL_USER, "cat")
        control.accounts.set_disabled(LOCAL_USER, "dan", disabled=True)
        told = {name: refusal(name) or "" for name in ("ann", "bob", "cat", "dan", "local")}
        control.access.restrict(LOCAL_USER, "music", roles=[], users=["ann"])
        assert (refusal("ann"), refusal("local")) == (None, None)
        assert "may not see the catalogue" in (refusal("eve") or "")
        house.stop()
    assert told["ann"] == told["local"] == ""
    assert "'bob', who asked for it, has the permission RequestContent no more" in told["bob"]
    assert "'cat', who asked for it, is there no more" in told["cat"]
    assert "'dan', who asked for it, is disabled" in told["dan"]


def test_a_download_whose_user_has_no_account_fails_before_anything_is_asked_for(
    house: AdminServer, music: Path
) -> None:
    before = sorted(music.iterdir())
    download = asked_for(house)
    assert house._desk.worker.work_once()
    failed = house._desk.queue.get(download.id)
    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "forbidden")
    assert sorted(path for path in music.iterdir() if path.name != ".downloads") == before


def test_downloads_are_offered_where_there_is_music_or_the_settings_say_where_to(tmp_path: Path, music: Path) -> None:
    def names(app: App) -> set[str]:
        with closing(Control.open(app.settings)) as control:
            house = AdminServer(app, control, SURROUNDINGS)
            found = {tool.name for tool in house.tools.tools}
            house.stop()
        app.close()
        return found

    downloads = {"downloads.action", "downloads.query"}
    bare, filled = Settings(home=tmp_path / "bare"), App(Settings(home=tmp_path / "filled"))
    assert not downloads & names(App(bare))
    assert downloads <= names(App(bare.model_copy(update={"downloads": DownloadsSettings(folder=str(music))})))
    add_music(filled, music, "songs")
    assert downloads <= names(filled)


def test_a_house_that_was_told_to_end_before_it_began_does_not_begin(house: AdminServer) -> None:
    house.stop()
    house.start()
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
    monkeypatch.setattr("pinakes.jobs.downloads.worker.DownloadWorker.work_once", is_deaf)
    with closing(Control.open(app.settings)) as control:
        house = AdminServer(App(Settings(home=app.settings.home)), control, SURROUNDINGS)
        house.start()
        house._scheduler.board.trigger("rebuild_indexes", by="ada")
        for _ in range(3):  # two workers and a job
            assert begun.acquire(timeout=10)
        started = time.monotonic()
        house.stop()
        assert time.monotonic() - started < 5
        lets_go.set()


def test_the_events_that_were_dropped_are_told(house: AdminServer) -> None:
    house._events.dropped = 7
    (query,) = (tool for tool in house.tools.tools if tool.name == "server.query")
    answer = query.run(LOCAL_USER, query.params(query_type="info"))
    assert answer.values["events_dropped"] == 7


@pytest.mark.parametrize("wrong", [{"allowed_ports": ("99999",)}, {"allowed_networks": ("10.0.0.1/8",)}])
def test_where_the_settings_of_downloads_are_wrong_the_section_is_named(tmp_path: Path, wrong: dict[str, Any]) -> None:
    app = App(Settings(home=tmp_path / "home", downloads=DownloadsSettings(**wrong)))
    with closing(Control.open(app.settings)) as control, pytest.raises(InputError, match="the section 'downloads': "):
        AdminServer(app, control, SURROUNDINGS)
    app.close()
