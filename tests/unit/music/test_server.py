"""Music in a shared server, over a real library: albums are added to the right catalogue, for those
who may.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from stackroom.analytics.events import EventLog
from stackroom.assembly.app import App
from stackroom.assembly.builtin_jobs import build_context
from stackroom.control.control import Control
from stackroom.model.principal import LOCAL_USER
from stackroom.model.scope import WHOLE
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom_catalogues.music.downloads.albums import AlbumCatalogue
from stackroom_catalogues.music.downloads.downloads import Downloads
from stackroom_catalogues.music.downloads.manifest import DownloadRequest
from stackroom_catalogues.music.downloads.queue import Download
from stackroom_catalogues.music.downloads.settings import DownloadsSettings
from stackroom_catalogues.music.downloads.tools import download_settings
from stackroom_catalogues.music.tables import METADATA
from support.libraries import add_package

pytestmark = pytest.mark.row("Z8")

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class MusicServer:
    """The music of a server: its downloads, and the catalogue that they come to."""

    control: Control
    albums: AlbumCatalogue
    downloads: Downloads


@pytest.fixture
def app(tmp_path: Path, music: Path) -> Iterator[App]:
    """An empty library without a model, and with downloads into that folder."""
    app = App(
        Settings(
            home=tmp_path / "home", offline=True, sections={"downloads": {"folder": str(music)}}
        )
    )
    yield app
    app.close()


@pytest.fixture
def music_server(app: App, music: Path) -> Iterator[MusicServer]:
    with closing(Control.open(app.settings)) as control, closing(EventLog(control.database)) as log:
        control.database.create_missing(METADATA)
        context = build_context(app, control, log, PACKAGES.get("music"))
        section = context.read_settings("downloads", DownloadsSettings)
        settings = download_settings(context, section)
        albums = AlbumCatalogue(context, settings.folder)
        downloads = Downloads(settings, context.database, albums, now=context.now)
        yield MusicServer(control=control, albums=albums, downloads=downloads)


def asked_for(music_server: MusicServer) -> Download:
    """Return a download that ann asked for."""
    request = DownloadRequest(provider="url", url="https://music.example.org/a.json")
    return music_server.downloads.queue.request("ann", request, call_id="c-1")[0]


def take_in(music_server: MusicServer, music: Path, content: bytes) -> str | None:
    """Let an album land, as a worker does."""
    album = music / "Handel" / "Fireworks"
    album.mkdir(parents=True)
    (album / "01.wav").write_bytes(content)
    return music_server.albums.add_album(album, asked_for(music_server))


def test_an_album_is_taken_in_by_the_catalogue_of_its_folder_as_that_was_built(
    app: App,
    music_server: MusicServer,
    music: Path,
    elsewhere: Path,
    tagged_wav: Callable[..., bytes],
) -> None:
    add_package(app, "music", elsewhere, name="other")
    assert music_server.albums.find_name() == "other", "where none has the folder"
    add_package(app, "music", elsewhere, name="music")
    assert music_server.albums.find_name() == "music"
    add_package(app, "music", music, name="songs")
    before = app.open_catalogue("music").shelf.reader().count(WHOLE)
    content = tagged_wav(title="Overture", album="Fireworks", artist="Handel")
    assert take_in(music_server, music, content) is None
    (made, *_) = app.open_catalogue("songs").shelf.history().list_changes(limit=1)
    assert (made.author.principal, made.author.call_id) == ("ann", "c-1")
    reader = app.open_catalogue("songs").shelf.reader()
    titles = {
        str(record.get("name"))
        for record in reader.fetch(reader.scan(scope=WHOLE, limit=20), scope=WHOLE).values()
    }
    assert {"Hornpipe", "Overture", "Fireworks", "Handel"} <= titles
    assert app.open_catalogue("music").shelf.reader().count(WHOLE) == before
    assert [one.name for one in app.library.list_installed()] == ["music", "other", "songs"]


def test_a_file_that_is_no_music_is_told(app: App, music_server: MusicServer, music: Path) -> None:
    add_package(app, "music", music, name="music")
    (music / "other.mp3").write_bytes(b"<html>")
    album = music / "Handel" / "Fireworks"
    album.mkdir(parents=True)
    (album / "01.mp3").write_bytes(b"<html>please log in</html>")
    told = music_server.albums.add_album(album, asked_for(music_server))
    assert told is not None
    assert told.startswith(
        "not in the catalogue: 1 of its files, such as '01.mp3': it cannot be read"
    )


def test_downloads_are_for_those_who_could_request_them_today(music_server: MusicServer) -> None:
    control = music_server.control

    def refusal(name: str) -> str | None:
        request = DownloadRequest(provider="url", url="https://music.example.org/a.json")
        return music_server.albums.find_refusal(
            music_server.downloads.queue.request(name, request)[0]
        )

    for name in ("ann", "bob", "cat", "dan", "eve"):
        control.accounts.create_user(
            LOCAL_USER, name, password=PASSWORD, roles=["agent"], grants=()
        )
        assert refusal(name) is None
    control.accounts.set_roles(LOCAL_USER, "bob", ["user"])
    control.accounts.delete_user(LOCAL_USER, "cat")
    control.accounts.set_disabled(LOCAL_USER, "dan", disabled=True)
    told = {name: refusal(name) or "" for name in ("ann", "bob", "cat", "dan", "local")}
    control.access.restrict(LOCAL_USER, "music", roles=[], users=["ann"])
    assert (refusal("ann"), refusal("local")) == (None, None)
    assert "may no longer see the catalogue" in (refusal("eve") or "")
    assert told["ann"] == told["local"] == ""
    assert "'bob', who requested it, no longer has the permission RequestContent" in told["bob"]
    assert "no user 'cat'" in told["cat"]
    assert "user 'dan' is disabled" in told["dan"]
