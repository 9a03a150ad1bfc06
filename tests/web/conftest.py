"""What the tests of the page share: a served sample library, a real browser, and visits that notice
every problem.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from stackroom.packages import PACKAGES
from support.browsing import PASSWORD, Visit, Windows, find_chromium, launch
from support.libraries import copy_samples
from support.processes import ServerProcess

Start = Callable[..., Visit]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything here, so that it runs apart from the tests that need no browser."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.web)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """The driver of browsers, where there is one to drive."""
    if find_chromium() is None:
        pytest.skip(
            "no Chromium is installed, so nobody looks at the page (Debian: apt install chromium)"
        )
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A real Chromium."""
    started = launch(playwright)
    yield started
    started.close()


@pytest.fixture(scope="session")
def page_home(sample_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with every sample, one of them with vectors."""
    home = tmp_path_factory.mktemp("page")
    shutil.copytree(sample_home, home, dirs_exist_ok=True, symlinks=True)
    others = (sample.name for _package, sample in PACKAGES.iter_samples() if sample.name != "anime")
    return copy_samples(home, *others)


@pytest.fixture(scope="session")
def open_server(page_home: Path, start_server: Callable[..., ServerProcess]) -> ServerProcess:
    """A server without accounts, whose visitors may do everything, and whose chat may call models
    on loopback.
    """
    return start_server(
        page_home, "--no-accounts", environment={"STACKROOM_WEB_CONNECT": "http://127.0.0.1:*"}
    )


@pytest.fixture(scope="session")
def shared_server(
    page_home: Path,
    tmp_path_factory: pytest.TempPathFactory,
    start_server: Callable[..., ServerProcess],
) -> ServerProcess:
    """A server with accounts: `admin` has the password PASSWORD, and may call as often as the tests
    do.
    """
    home = tmp_path_factory.mktemp("shared")
    shutil.copytree(page_home, home, dirs_exist_ok=True, symlinks=True)
    server = start_server(home, "--accounts")
    with httpx.Client(base_url=server.url) as client:
        client.post(
            "/v1/login", json={"name": "admin", "password": server.admin_secret}
        ).raise_for_status()
        client.post("/v1/me/password", json={"password": PASSWORD}).raise_for_status()
        for role in ("admin", "user"):
            more = {
                "action": "update_role",
                "name": role,
                "quotas": {"read": 10_000, "write": 10_000, "sql": 1_000},
            }
            client.post("/v1/tools/users.mutate", json=more).raise_for_status()
    return server


@pytest.fixture(scope="session")
def windows(browser: Browser) -> Windows:
    """The windows of the browser."""
    return Windows(browser)


@pytest.fixture
def visit(windows: Windows, open_server: ServerProcess) -> Iterator[Start]:
    """Start visits to the open server, or to another origin; at the end none may have met a
    problem.
    """
    visits: list[tuple[Visit, dict[str, Any]]] = []

    def start(
        origin: str | None = None,
        *,
        width: int = 1440,
        scheme: str = "light",
        script: str = "",
        allowed: tuple[str, ...] = (),
    ) -> Visit:
        kind = {"width": width, "scheme": scheme, "script": script}
        visits.append((windows.visit(origin or open_server.url, allowed=allowed, **kind), kind))
        return visits[-1][0]

    yield start
    problems = [problem for one, _kind in visits for problem in one.found_problems()]
    for one, kind in visits:
        windows.take_back(one, **kind)
    assert problems == []
