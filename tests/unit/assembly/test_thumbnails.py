"""Thumbnails: made by a build of pictures in the source's folder, and of web addresses where the
owner wants that.
"""

import io
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly import thumbnails
from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.library import THUMBNAILS_FOLDER
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings, SourcesSettings
from stackroom.tools.media import CallerMedia, MediaFile, MediaKind, picture_media
from support.loopback import FileServer

pytestmark = pytest.mark.row("Z16")
image_module = pytest.importorskip("PIL.Image")

SPEC = """\
name = "plants"
title = "Plants"
summary = "Plants."
id = "title"
{}
[fields.title]
type = "text"
role = "title"
[fields.photo]
type = "text"
role = "picture"
"""


def picture(colour: str = "red", form: str = "JPEG", size: tuple[int, int] = (1200, 900)) -> bytes:
    saved = io.BytesIO()
    image_module.new("RGB", size, colour).save(saved, form)
    return saved.getvalue()


class Plants:
    """A library with one catalogue, built of a table beside a folder of pictures."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder / "table"
        self.folder.mkdir()
        self.app = App(settings)

    def build(self, *pictures: str, more: str = "") -> list[str]:
        table = self.folder / "plants.csv"
        table.write_text(
            "title,photo\n"
            + "".join(f"Plant {place},{one}\n" for place, one in enumerate(pictures))
        )
        text = SPEC.format(more)
        loaded = LoadedSpec(spec=compile_text(text, origin="plants"), declaration=text)
        source = open_rows(None, str(table))
        return add_catalogue(
            self.app,
            source,
            recipe=own_recipe(loaded),
            name="plants",
            progress=lambda _report: None,
            embed=False,
        ).notes

    def find(self, place: int) -> MediaFile | None:
        media = CallerMedia(LOCAL_USER, picture_media([self.app.open_catalogue("plants")]))
        return media.find_file_in("plants", f"Plant {place}", MediaKind.THUMBNAIL)

    @property
    def made(self) -> list[Path]:
        return sorted(
            (self.app.settings.home / "catalogues" / "plants" / THUMBNAILS_FOLDER).glob("*")
        )


@pytest.fixture
def settings(tmp_path: Path, file_server: FileServer) -> Settings:
    allowed = SourcesSettings(
        allowed_networks=("127.0.0.1/32",), allowed_ports=(str(file_server.port),)
    )
    return Settings(home=tmp_path / "home", sources=allowed)


@pytest.fixture
def plants(tmp_path: Path, settings: Settings) -> Iterator[Plants]:
    made = Plants(tmp_path, settings)
    with closing(made.app):
        yield made


def test_a_file_beside_the_table_becomes_a_small_webp(plants: Plants) -> None:
    (plants.folder / "rose.jpg").write_bytes(picture())
    assert plants.build("rose.jpg") == []
    found = plants.find(0)
    assert found is not None
    assert (found.mime_type, found.path) == ("image/webp", plants.made[0])
    with image_module.open(found.path) as small:
        assert small.size == (400, 300)


def test_a_file_that_changed_is_made_again_and_one_of_no_record_is_removed(plants: Plants) -> None:
    (plants.folder / "rose.jpg").write_bytes(picture())
    (plants.folder / "oak.png").write_bytes(picture("green", "PNG"))
    plants.build("rose.jpg", "oak.png")
    before = {path: path.read_bytes() for path in plants.made}
    (plants.folder / "rose.jpg").write_bytes(picture("blue"))
    os.utime(plants.folder / "rose.jpg", (4e9, 4e9))
    plants.build("rose.jpg")
    (left,) = plants.made
    assert left.read_bytes() != before[left]


@pytest.mark.parametrize(
    "name", ["../secret.jpg", "{outside}/secret.jpg", "link.jpg", "notes.txt", "none.jpg"]
)
def test_nothing_outside_the_folder_of_the_source_is_shown(
    plants: Plants, tmp_path: Path, name: str
) -> None:
    (tmp_path / "secret.jpg").write_bytes(picture())
    (plants.folder / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    (plants.folder / "notes.txt").write_text("a note")
    plants.build(name.format(outside=tmp_path))
    assert (plants.made, plants.find(0)) == ([], None)


def test_a_file_that_is_no_picture_is_said_and_the_others_are_made(plants: Plants) -> None:
    (plants.folder / "bad.jpg").write_bytes(b"no picture")
    (plants.folder / "good.jpg").write_bytes(picture())
    (note,) = plants.build("bad.jpg", "good.jpg")
    assert note.startswith("1 pictures have no small copy: bad.jpg: ")
    assert len(plants.made) == 1


def test_a_picture_of_too_many_pixels_is_refused(
    plants: Plants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thumbnails, "MOST_PIXELS", 1_000)
    (plants.folder / "vast.jpg").write_bytes(picture())
    (note,) = plants.build("vast.jpg")
    assert "more than 1,000 pixels" in note


def test_a_picture_on_the_web_is_fetched_only_where_the_owner_wants_it(
    plants: Plants, file_server: FileServer
) -> None:
    file_server.files["/rose.jpg"] = picture()
    address = f"{file_server.url}/rose.jpg"
    assert plants.build(address) == []
    assert (plants.made, plants.find(0), file_server.requests) == ([], None, [])
    assert plants.build(address, more="fetch_pictures = true") == []
    assert plants.find(0) is not None
    plants.build(address, more="fetch_pictures = true")
    assert len(file_server.requests) == 1


def test_an_address_inside_a_network_is_not_fetched(
    tmp_path: Path, file_server: FileServer
) -> None:
    plants = Plants(tmp_path, Settings(home=tmp_path / "home"))
    with closing(plants.app):
        (note,) = plants.build(f"{file_server.url}/rose.jpg", more="fetch_pictures = true")
    assert note.startswith("1 pictures have no small copy: ")
    assert (plants.made, file_server.requests) == ([], [])


def test_a_server_that_has_nothing_is_given_up_soon(
    plants: Plants, file_server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thumbnails, "MOST_FAILURES", 2)
    monkeypatch.setattr(thumbnails, "FETCHED_AT_ONCE", 1)
    gone = [f"{file_server.url}/{number}.jpg" for number in range(40)]
    left, failed = plants.build(*gone, more="fetch_pictures = true")
    assert "left to the next update" in left
    assert "have no small copy" in failed
    assert len(file_server.requests) < 20


def test_without_pillow_files_are_shown_as_they_are(
    plants: Plants, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thumbnails, "find_pillow", lambda: None)
    (plants.folder / "rose.jpg").write_bytes(picture())
    (note,) = plants.build("rose.jpg")
    assert "pip install pillow" in note
    found: Any = plants.find(0)
    assert (found.mime_type, found.path.name) == ("image/jpeg", "rose.jpg")
