"""Checking a pack: every file by its SHA-256, its entries by what the manifest says, the manifest by its checksum.

A pack as shipped is checked byte for byte, and read as a receiver reads it. The files of an installed release may have
been made by a patch and compressed anew, so they are checked by the SHA-256 of their content.
"""

from collections import deque
from collections.abc import Iterator
from pathlib import Path

from stackroom.catalogue.compiler import compile_text
from stackroom.errors import ExpectedError, StorageError
from stackroom.packs.build import files_folder
from stackroom.packs.entries import iter_entries, iter_thumbnails
from stackroom.packs.installed import FORMER_FILE, InstalledPack
from stackroom.packs.manifest import MANIFEST_FILE, SIGNATURE_FILE, SPEC_FILE, THUMBNAILS_FILE, load_manifest
from stackroom.packs.patches import check_file
from stackroom.packs.signing import PublicKey, verify_signature
from stackroom.shelf.port import Checkpoint, never_stop


def check_pack(folder: Path) -> Iterator[str]:
    """Yield the faults of a pack; none if it is whole."""
    try:
        manifest = load_manifest(folder)
    except StorageError as error:
        yield error.message
        return
    paths = {file.name: files_folder(folder, manifest) / file.name for file in manifest.files}
    problems = [*filter(None, (check_file(paths[file.name], file, is_shipped=True) for file in manifest.files))]
    yield from problems
    if problems:
        return
    try:
        compile_text(paths[SPEC_FILE].read_text(encoding="utf-8", errors="replace"), origin=SPEC_FILE)
        deque(iter_entries(manifest, paths), maxlen=0)
        deque(iter_thumbnails(paths[THUMBNAILS_FILE]) if THUMBNAILS_FILE in paths else (), maxlen=0)
    except ExpectedError as error:
        yield error.message


def check_signature(folder: Path, key: PublicKey) -> Iterator[str]:
    """Yield why a pack is not signed by a key; nothing if it is."""
    try:
        content = (folder / MANIFEST_FILE).read_bytes()
        verify_signature(content, (folder / SIGNATURE_FILE).read_bytes(), key)
    except OSError as error:
        yield f"{error.filename}: cannot be read: {error.strerror}; the pack is not signed, or not whole"
    except ExpectedError as error:
        yield f"{folder / SIGNATURE_FILE}: {error.message}"


def check_installed_pack(folder: Path, *, checkpoint: Checkpoint = never_stop) -> Iterator[str]:
    """Yield the faults of the release that a catalogue was installed from, and of the one before it."""
    pack = InstalledPack(folder)
    for name in (MANIFEST_FILE, FORMER_FILE):
        try:
            manifest = pack.find_manifest(name)
        except StorageError as error:
            yield error.message
            continue
        for file in manifest.files if manifest is not None else ():
            checkpoint()
            yield from filter(None, [pack.check_file(file)])
