"""The library: which catalogues are installed on this machine, and where.

CATALOGUES/NAME/building.json    being built for the first time: not served, and resumed by building again
CATALOGUES/NAME/installed.json   whole; the file says which built-in catalogue's spec it uses
"""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import orjson

from pinakes.errors import InputError, NotFoundError, StorageError, did_you_mean

INSTALLED_FILE = "installed.json"
BUILDING_FILE = "building.json"
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A catalogue of the library: its name, the built-in spec it uses, and its folder."""

    name: str
    spec_name: str
    folder: Path


class Library:
    """The folder with every catalogue in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def list_installed(self) -> list[Installed]:
        """Return the catalogues that are whole, by name."""
        found = sorted(self.folder.glob(f"*/{INSTALLED_FILE}")) if self.folder.is_dir() else []
        return [_read(marker) for marker in found]

    def get_installed(self, name: str) -> Installed:
        """Return a catalogue, or refuse with the names there are."""
        installed = {one.name: one for one in self.list_installed()}
        if name not in installed:
            names = ", ".join(installed) or "none; run: pinakes init"
            raise NotFoundError(f"no catalogue '{name}'{did_you_mean(name, list(installed))}; installed: {names}")
        return installed[name]

    def reserve(self, name: str, spec_name: str) -> Installed:
        """Return the place for building a catalogue; refuse a name that another kind of catalogue has."""
        if not NAME.fullmatch(name):
            raise InputError(f"'{name}' cannot name a catalogue: lower-case letters, digits, '-' and '_' only")
        folder = self.folder / name
        for marker in (folder / INSTALLED_FILE, folder / BUILDING_FILE):
            if marker.is_file():
                there = _read(marker)
                if there.spec_name != spec_name:
                    raise InputError(f"'{name}' is a catalogue of '{there.spec_name}', not of '{spec_name}'")
                return there
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / BUILDING_FILE, spec_name)
        return Installed(name=name, spec_name=spec_name, folder=folder)

    def complete(self, catalogue: Installed) -> None:
        """Make a catalogue that was built visible."""
        building = catalogue.folder / BUILDING_FILE
        if building.is_file():
            os.replace(building, catalogue.folder / INSTALLED_FILE)  # commit point: it is installed from here on

    def abandon(self, catalogue: Installed) -> None:
        """Remove what is left of a first build that came to nothing."""
        if (catalogue.folder / BUILDING_FILE).is_file():
            shutil.rmtree(catalogue.folder)


def _read(marker: Path) -> Installed:
    try:
        spec_name = str(orjson.loads(marker.read_bytes())["spec"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise StorageError(
            f'{marker} is damaged; write {{"spec": "anime"}} (or the catalogue it follows) into it again'
        ) from error
    return Installed(name=marker.parent.name, spec_name=spec_name, folder=marker.parent)


def _write(marker: Path, spec_name: str) -> None:
    fresh = marker.with_name(f"{marker.name}.new")
    fresh.write_bytes(orjson.dumps({"spec": spec_name}))
    os.replace(fresh, marker)
