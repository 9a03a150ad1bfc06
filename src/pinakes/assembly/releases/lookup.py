"""Asking the place of a catalogue for its newest release, for whoever keeps the answer (`looks`)."""

from datetime import datetime

from pinakes.assembly.releases.looks import ReleaseLook
from pinakes.errors import ExpectedError
from pinakes.library import PACK_FOLDER, Installed
from pinakes.packs.releases.installed_pack import InstalledPack
from pinakes.packs.releases.newest import find_release, require_successor
from pinakes.packs.releases.places import open_place
from pinakes.settings import Settings


def look_up(installed: Installed, settings: Settings, *, now: datetime) -> ReleaseLook | None:
    """Return what the place of a catalogue has; None for a catalogue that was not installed from one.

    A release that could not follow the installed one is a problem, and so is a place that does not answer.
    """
    try:
        pack = InstalledPack(installed.folder / PACK_FOLDER)
        source, manifest = pack.find_source(), pack.find_manifest()
        if source is None or manifest is None:
            return None
        found = find_release(open_place(source.place, settings), key=source.key).manifest
        newest = found if require_successor(found, manifest) else manifest
    except ExpectedError as error:
        return ReleaseLook(asked_at=now, problem=error.message)
    return ReleaseLook(asked_at=now, version=newest.version, content=newest.content)
