"""Music catalogues behind a server without sockets."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import orjson

from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, open_rows, package_recipe
from stackroom.packages import PACKAGES
from stackroom.settings import Settings
from stackroom.tools.media import media_of
from stackroom.tools.own_storage import OwnStorage
from stackroom.tools.toolbox import Toolbox, ToolboxesByVisibility
from stackroom_catalogues.music.rows import name_file


def build_music(home: Path, rows: Iterable[dict[str, Any]]) -> tuple[App, Path]:
    """Build a library with a music catalogue of these rows; return it, and the folder `media` of
    the catalogue.
    """
    source = home / "rows.jsonl"
    source.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    app, package = App(Settings(home=home)), PACKAGES.get("music")
    report = add_catalogue(
        app,
        open_rows(package, str(source)),
        recipe=package_recipe(package),
        name="music",
        progress=lambda _report: None,
        embed=False,
    )
    assert report.rejected == 0
    media = Path(str(app.open_catalogue("music").folder)) / "media"
    media.mkdir(exist_ok=True)
    return app, media


def toolboxes_of(app: App) -> ToolboxesByVisibility:
    """Return the toolboxes of a server of such a library."""

    def toolbox(names: tuple[str, ...]) -> Toolbox:
        opened = [app.open_catalogue(name) for name in names]
        return Toolbox([], catalogues=opened, media=[media_of(one, name_file) for one in opened])

    return ToolboxesByVisibility(["music"], toolbox)


def serve_music(make_site: Callable[..., Any], app: App) -> Any:
    """Serve such a library with accounts, in which likes and playlists are kept."""
    site = make_site(toolboxes=toolboxes_of(app))
    app.own_records.keep_in(
        OwnStorage(database=site.control.database, record_play=site.recorder.record_play)
    )
    return site
