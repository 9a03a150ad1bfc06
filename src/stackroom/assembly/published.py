"""Catalogues as LanceDB tables: published to a database, and synced from one. LanceDB is loaded when it is needed."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, cast

from stackroom.assembly.app import App
from stackroom.collection_settings import SCHEMES
from stackroom.packages import load_target
from stackroom.settings import Settings
from stackroom.sources.port import RowSource

TABLE_PREFIX = "lancedb"
"""What stands before the colon in the location of a table."""
OPEN_TABLE = "stackroom.sources.lance.rows:open_table"
PUBLISH = "stackroom.sources.lance.publish:publish"
REQUIRE_ALLOWED = "stackroom.sources.lance.database:require_allowed"


def names_bucket(location: str) -> bool:
    """Tell whether a location is an address in a bucket."""
    return location.partition("://")[0] in SCHEMES and "://" in location


def open_table(location: str, settings: Settings) -> RowSource:
    """Return the rows of the table at `DATABASE#TABLE`."""
    return cast(RowSource, load_target(OPEN_TABLE)(location, settings))


def publish_catalogue(app: App, name: str, uri: str, *, progress: Callable[[int], object]) -> dict[str, Any]:
    """Write a catalogue to its table in a database; return the table, its version and rows, and if it was written."""
    catalogue = app.open_catalogue(name)
    load_target(REQUIRE_ALLOWED)(uri, offline=app.settings.offline)
    own = app.library.get_installed(name).own_declaration
    declaration = own.read_text(encoding="utf-8") if own else None
    reader, write = catalogue.shelf.reader(), load_target(PUBLISH)
    return asdict(write(reader, catalogue.spec, uri, name=name, declaration=declaration, progress=progress))
