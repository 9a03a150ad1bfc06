"""Catalogues published as LanceDB tables. LanceDB is loaded when it is needed."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from typing import Any

from stackroom.assembly.workshop import Workshop
from stackroom.packages import load_target

PUBLISH = "stackroom.sources.lance.publish:publish"
REQUIRE_ALLOWED = "stackroom.sources.lance.database:require_allowed"


def publish_catalogue(workshop: Workshop, name: str, uri: str, *, progress: Callable[[int], object]) -> dict[str, Any]:
    """Write a catalogue to its table in a database; return the table, its version and rows, and if it was written."""
    load_target(REQUIRE_ALLOWED)(uri, offline=workshop.settings.offline)
    installed = workshop.library.get_installed(name)
    own = installed.own_declaration
    declaration = own.read_text(encoding="utf-8") if own else None
    with closing(workshop.open_shelf(installed)) as shelf:
        write = load_target(PUBLISH)
        return asdict(write(shelf.reader(), shelf.spec, uri, name=name, declaration=declaration, progress=progress))
