"""Packs for tests: of a catalogue of a library, as if it had been installed from one."""

import tempfile
from pathlib import Path

from stackroom.assembly.app import App
from stackroom.library import PACK_FOLDER
from stackroom.packs.build import PackLabel, build_pack, files_folder
from stackroom.packs.installed import InstalledPack
from stackroom.packs.manifest import Manifest
from stackroom.packs.patches import read_content


def install_pack(app: App, name: str) -> Path:
    """Write the pack of a catalogue to where an installed release has its files, and return the
    folder.
    """
    pack = InstalledPack(app.library.get_installed(name).folder / PACK_FOLDER)
    with tempfile.TemporaryDirectory() as folder:
        manifest = write_pack(app, name, Path(folder) / "pack")
        for file in manifest.files:
            path = files_folder(Path(folder) / "pack", manifest) / file.name
            pack.save_file(file, read_content(path, file))
    pack.settle(manifest)
    return pack.folder


def write_pack(app: App, name: str, folder: Path) -> Manifest:
    """Write the pack of a catalogue."""
    installed = app.library.get_installed(name)
    label = PackLabel(
        catalogue=name,
        loaded=app.spec_of(installed),
        is_package=installed.own_declaration is None,
        version="1",
    )
    return build_pack(app.open_catalogue(name).shelf.reader(), label, folder)
