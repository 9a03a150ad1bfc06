"""The server over a real library: albums that came are taken in where they belong, and it ends in
time.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.cli.host import AdminServer
from stackroom.control.control import Control
from stackroom.errors import InputError
from stackroom.model.principal import LOCAL_USER
from stackroom.settings import Settings
from stackroom.tools.operation import Call, identity_of
from stackroom.tools.toolbox import Toolbox
from support.libraries import add_package

pytestmark = pytest.mark.row("Z8")


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
def server(app: App) -> Iterator[AdminServer]:
    with closing(Control.open(app.settings)) as control:
        server = AdminServer(app, control)
        yield server
        server.stop()


def test_downloads_are_offered_where_there_is_music_or_the_settings_say_where_to(
    tmp_path: Path, music: Path
) -> None:
    def names(app: App) -> set[str]:
        with closing(Control.open(app.settings)) as control:
            server = AdminServer(app, control)
            found = {tool.name for tool in server.tools.tools}
            server.stop()
        app.close()
        return found

    downloads = {"downloads.action", "downloads.query"}
    bare, filled = Settings(home=tmp_path / "bare"), App(Settings(home=tmp_path / "filled"))
    assert not downloads & names(App(bare))
    assert downloads <= names(
        App(bare.model_copy(update={"sections": {"downloads": {"folder": str(music)}}}))
    )
    add_package(filled, "music", music, name="songs")
    assert downloads <= names(filled)


def test_the_events_that_were_dropped_are_told(server: AdminServer) -> None:
    server.stop()
    for _ in range(7):
        server.events.record_play("ada", "track", 1.0)
    (query,) = (tool for tool in server.tools.tools if tool.name == "server.query")
    call = Call(identity=identity_of(LOCAL_USER), server=Toolbox([]))
    answer = query.run(call, query.params(query_type="info"))
    assert answer.values["events_dropped"] == 7


@pytest.mark.parametrize(
    "wrong", [{"allowed_ports": ("99999",)}, {"allowed_networks": ("10.0.0.1/8",)}]
)
def test_where_the_settings_of_downloads_are_wrong_the_section_is_named(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    app = App(Settings(home=tmp_path / "home", sections={"downloads": wrong}))
    with (
        closing(Control.open(app.settings)) as control,
        pytest.raises(InputError, match="the section 'downloads': "),
    ):
        AdminServer(app, control)
    app.close()
