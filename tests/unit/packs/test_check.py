"""Checking for newer releases beside serving: who is asked, when, and where it is told."""

import json
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.server_health import ServerHealth
from stackroom.assembly.upkeep import release_task
from stackroom.background.background import TaskContext
from stackroom.packs.places import ReleaseChecker
from stackroom.packs.status import ReleaseCheck
from stackroom.packs.update import install_release
from stackroom.settings import Settings, UpdatesSettings
from support.loopback import FileServer
from support.publisher import NAME, Publisher, make_stars, new_publisher

pytestmark = pytest.mark.row("A11")

START = datetime(2026, 11, 16, 12, tzinfo=UTC)
PATIENCE_S = 120.0


class Site:
    """A publisher whose folder is served on loopback, and counts the requests."""

    def __init__(self, folder: Path, server: FileServer) -> None:
        self.publisher: Publisher = new_publisher(folder)
        self.server = server

    def publish(self, version: str) -> None:
        self.publisher.publish(version, make_stars(20, version).values())
        place = self.publisher.folder
        files = {
            f"/{path.relative_to(place).as_posix()}": path
            for path in place.rglob("*")
            if path.is_file()
        }
        self.server.files = {name: path.read_bytes() for name, path in files.items()}
        self.server.requests.clear()


@pytest.fixture
def site(tmp_path: Path, file_server: FileServer) -> Site:
    made = Site(tmp_path, file_server)
    made.publish("1")
    return made


@pytest.fixture
def open_installed(tmp_path: Path, site: Site) -> Iterator[Callable[..., App]]:
    """Open the library with the catalogue of the site, installed once, by some settings."""
    opened: list[App] = []

    def make(**settings: object) -> App:
        app = App(Settings.model_validate({"home": tmp_path / "home", **settings}))
        if app.library.find_installed(NAME) is None:
            install_release(app, NAME, site.server.url)
            site.server.requests.clear()
        app.build_gate()
        opened.append(app)
        return app

    yield make
    for app in opened:
        app.close()


def check(app: App, *, at: datetime = START) -> None:
    ReleaseChecker(app.library, app.settings, app.release_status, now=lambda: at).check_once(NAME)


def state_of(app: App) -> str:
    return ServerHealth(app, None).states()[f"catalogue {NAME}"]


def test_a_newer_release_is_logged_once_and_told_by_health_doctor_and_list(
    site: Site,
    open_installed: Callable[..., App],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    run: Callable[..., Any],
) -> None:
    app = open_installed()
    site.publish("2")
    task = release_task(app)

    for _ in range(2):
        task.run(TaskContext())

    told = f"release 2 is available (installed: 1); to have it, run: stackroom update {NAME}"
    warnings = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert warnings == [f"catalogue '{NAME}' is outdated: {told}"]
    assert state_of(app) == told
    assert not ServerHealth(app, None).problems().get(f"catalogue {NAME}")
    monkeypatch.setenv("STACKROOM_HOME", str(app.settings.home))
    assert f"{NAME}: release: {told}" in run(["doctor"]).out
    listed = run(["list", "--json"])
    assert json.loads(listed.out)[0]["release"] == "1"
    assert f"'{NAME}' is outdated: {told}" in listed.err


@pytest.mark.parametrize(("found", "is_told"), [("2", False), ("3", False), ("10", True)])
def test_a_release_that_is_not_newer_than_the_installed_one_is_not_offered(
    site: Site, open_installed: Callable[..., App], found: str, is_told: bool
) -> None:
    site.publish("3")
    app = open_installed()

    app.release_status.save_check(
        NAME, ReleaseCheck(asked_at=START, version=found, content="f" * 64)
    )

    assert (state_of(app) != "ok") is is_told


def test_the_place_is_asked_once_a_day_over_all_servers(
    site: Site, open_installed: Callable[..., App]
) -> None:
    check(open_installed())
    asked = len(site.server.requests)

    check(open_installed(), at=START + timedelta(hours=23))
    assert len(site.server.requests) == asked > 0

    check(open_installed(), at=START + timedelta(hours=25))
    assert len(site.server.requests) == 2 * asked


@pytest.mark.parametrize("settings", [{"offline": True}, {"updates": UpdatesSettings(check=False)}])
def test_nobody_is_asked_offline_or_where_the_check_is_off(
    site: Site, open_installed: Callable[..., App], settings: dict[str, object]
) -> None:
    open_installed()
    site.publish("2")

    release_task(open_installed(**settings)).run(TaskContext())

    assert site.server.requests == []


def test_a_place_that_does_not_answer_is_no_problem_and_asked_again_in_an_hour(
    site: Site, open_installed: Callable[..., App], caplog: pytest.LogCaptureFixture
) -> None:
    app = open_installed()
    site.server.files = {}

    check(app)

    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert state_of(app) == "ok"
    site.publish("2")
    check(app, at=START + timedelta(minutes=59))
    assert site.server.requests == []
    check(app, at=START + timedelta(minutes=61))
    assert "release 2 is available" in state_of(app)
    site.server.files = {}
    check(app, at=START + timedelta(hours=26))
    assert "release 2 is available" in state_of(app)


def test_a_catalogue_that_was_not_installed_from_a_place_is_never_asked_about(
    site: Site, open_installed: Callable[..., App]
) -> None:
    app = open_installed()
    (app.library.folder / NAME / "pack" / "source.json").unlink()

    check(app)

    assert site.server.requests == []
    assert app.release_status.find_check(NAME) is None
