"""A small catalogue and packs of it; a place with releases of an invented catalogue, and libraries
that have them.
"""

import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.model.record import Record
from stackroom.packages import PACKAGES
from stackroom.packs.build import PackLabel, build_pack
from stackroom.packs.installed import InstalledPack, ReleaseSource
from stackroom.packs.manifest import Manifest, PackCalibration
from stackroom.packs.update import install_release
from stackroom.settings import Settings
from support.publisher import NAME, Publisher, make_stars, new_publisher

LABEL = PackLabel(
    catalogue="anime",
    loaded=PACKAGES.get("anime").loaded,
    is_package=True,
    licence="CC0-1.0",
    calibration=PackCalibration(middle=0.2, spread=0.05),
)


@pytest.fixture
def stories(shelved: Any, anime: Callable[..., Record]) -> Any:
    shelved.put(
        *(
            anime(f"Title {number}", synopsis=f"Story {number}", tags=["space"])
            for number in range(20)
        )
    )
    shelved.put(anime("Without a vector"), embed=False)
    return shelved


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., tuple[Path, Manifest]]:
    """Build the pack of a shelf."""

    def make(shelved: Any, name: str = "pack", **members: Any) -> tuple[Path, Manifest]:
        label = replace(LABEL, **members)
        return tmp_path / name, build_pack(shelved.shelf.reader(), label, tmp_path / name)

    return make


@pytest.fixture
def pack(stories: Any, build: Callable[..., tuple[Path, Manifest]]) -> Path:
    return build(stories)[0]


COUNT = 40


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Publisher:
    """A place with the release 1.0 of the stars, and a library `home` beside it that has it."""
    folder = tmp_path_factory.mktemp("released")
    found = new_publisher(folder)
    found.publish("1.0", make_stars(COUNT, "1.0").values())
    app = App(Settings(home=folder / "home"))
    install_release(app, NAME, str(found.folder))
    app.close()
    return found


@pytest.fixture
def publisher(released: Publisher, tmp_path: Path) -> Publisher:
    """A place of one's own with the release 1.0 of the stars."""
    for folder in (released.folder, released.packs):
        shutil.copytree(folder, tmp_path / folder.name)
    return replace(
        released,
        folder=tmp_path / released.folder.name,
        packs=tmp_path / released.packs.name,
        index=deepcopy(released.index),
        versions=list(released.versions),
    )


@pytest.fixture
def with_release(released: Publisher, publisher: Publisher, tmp_path: Path) -> Path:
    """A library of one's own with release 1.0."""
    home = tmp_path / "home"
    shutil.copytree(released.folder.parent / "home", home)
    InstalledPack(home / "catalogues" / NAME / "pack").save_source(
        ReleaseSource(place=str(publisher.folder))
    )
    return home


@pytest.fixture
def open_library(tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Open a library as a new process does; it is closed in the end."""
    apps: list[App] = []

    def open_app(name: str = "home", *, offline: bool = False) -> App:
        apps.append(App(Settings(home=tmp_path / name, offline=offline)))
        return apps[-1]

    yield open_app
    for app in apps:
        app.close()


@pytest.fixture
def app(open_library: Callable[..., App]) -> App:
    """An empty library."""
    return open_library()
