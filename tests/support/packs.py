"""Packs for tests: of a catalogue of a library, as if it had been installed from one."""

from pathlib import Path

from pinakes.assembly.app import App
from pinakes.library import PACK_FOLDER
from pinakes.packs.builder import PackLabel, build_pack
from pinakes.packs.manifest import Manifest


def install_pack(app: App, name: str) -> Path:
    """Write the pack of a catalogue to where an installed release has its files, and return the folder."""
    folder = app.library.get_installed(name).folder / PACK_FOLDER
    write_pack(app, name, folder)
    return folder


def write_pack(app: App, name: str, folder: Path) -> Manifest:
    """Write the pack of a catalogue."""
    installed = app.library.get_installed(name)
    label = PackLabel(
        catalogue=name, loaded=app.spec_of(installed), is_package=installed.own_declaration is None, version="1"
    )
    return build_pack(app.open_catalogue(name).shelf.reader(), label, folder)
