"""Pictures of records: files beside the source, and nothing outside of it or on the web."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, own_recipe
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom.tools.media import CallerMedia, MediaFile, MediaKind, picture_media

pytestmark = pytest.mark.row("Z16")

SPEC = """\
name = "plants"
title = "Plants"
summary = "Plants."
id = "title"
[fields.title]
type = "text"
role = "title"
[fields.photo]
type = "text"
role = "picture"
"""
Find = Callable[[str], MediaFile | None]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """The folder of a table, with a picture in it and one beside it."""
    folder = tmp_path / "table"
    folder.mkdir()
    for path in (folder / "rose.jpg", tmp_path / "secret.jpg"):
        path.write_bytes(b"picture")
    (folder / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    (folder / "notes.txt").write_text("a note")
    return folder


@pytest.fixture
def find(table: Path, tmp_path: Path) -> Iterator[Find]:
    """Find the picture of a plant whose row names it so."""
    loaded = LoadedSpec(spec=compile_text(SPEC, origin="plants"), declaration=SPEC)
    with closing(App(Settings(home=tmp_path / "home"))) as app:

        def find_named(name: str) -> MediaFile | None:
            (table / "plants.csv").write_text(f"title,photo\nRose,{name}\n")
            add_catalogue(
                app,
                open_rows(None, str(table / "plants.csv")),
                recipe=own_recipe(loaded),
                name="plants",
                progress=lambda _report: None,
                embed=False,
            )
            media = CallerMedia(LOCAL_USER, picture_media([app.open_catalogue("plants")]))
            return media.find_file_in("plants", "Rose", MediaKind.COVER)

        yield find_named


def test_a_file_beside_the_table_is_the_picture_of_its_record(find: Find, table: Path) -> None:
    found = find("rose.jpg")
    assert found is not None
    assert (found.mime_type, found.path) == ("image/jpeg", table / "rose.jpg")


@pytest.mark.parametrize(
    "name",
    [
        "../secret.jpg",
        "{outside}/secret.jpg",
        "link.jpg",
        "notes.txt",
        "none.jpg",
        "https://pictures.example/rose.jpg",
    ],
)
def test_nothing_outside_the_folder_of_the_source_is_shown(
    find: Find, tmp_path: Path, name: str
) -> None:
    assert find(name.format(outside=tmp_path)) is None
