"""The release that a catalogue was installed from, in the folder `pack` of the catalogue.

    source.json      the place that updates come from, and the key that they have to be signed with
    manifest.json    the installed release
    former.json      the one before it, which `rollback` goes back to
    next.json        the release that is being installed, and the state of the store before it
    next.toml        its spec, where the catalogue has a spec of its own and this is another
    files/CONTENT    the files of all of them, named by the SHA-256 of their content

The records of a catalogue are in its store, and its change log and the mark of its spec tell
whether `next.json` is among them: the transaction of the store is the commit point. Everything here
is brought up to it afterwards, by whoever comes next.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import orjson

from stackroom.checksums import DamagedChecksumsError, dump_checked, load_checked
from stackroom.errors import StorageError
from stackroom.frozen import frozen
from stackroom.library import NEXT_SPEC_FILE, replace_file
from stackroom.packs.entries import PackEntry, iter_entries
from stackroom.packs.manifest import (
    COMPRESSED_ENDING,
    MANIFEST_FILE,
    Manifest,
    PackFile,
    parse_manifest,
)
from stackroom.packs.patches import check_file, compress, read_content

SOURCE_FILE = "source.json"
FORMER_FILE = "former.json"
NEXT_FILE = "next.json"
NEXT_MEMBERS = ("manifest", "since", "mark")
FILES_FOLDER = "files"


@frozen
class ReleaseSource:
    """The place that a catalogue's releases come from, and the public key that they are signed
    with, if any.
    """

    place: str
    key: str = ""


@frozen
class NextRelease:
    """A release that is being installed."""

    manifest: Manifest
    # the last change before its own; None while they are not being written
    since: int | None = None
    # the mark of the spec in the store before its own; None where it is not known
    mark: str | None = None


class InstalledPack:
    """The files of an installed release."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_source(self) -> ReleaseSource | None:
        """Return where updates come from; None for a catalogue that was not installed from a
        place.
        """
        path = self.folder / SOURCE_FILE
        try:
            return ReleaseSource(
                **load_checked(path.read_bytes(), ("place", "key"), is_required=True)
            )
        except FileNotFoundError:
            return None
        except (OSError, TypeError, orjson.JSONDecodeError, DamagedChecksumsError) as error:
            raise StorageError(
                f"{path} is damaged: {error}; put it back from a back-up, or install the catalogue"
                " again"
            ) from error

    def save_source(self, source: ReleaseSource) -> None:
        """Write where updates come from."""
        self._write(SOURCE_FILE, dump_checked(asdict(source)))

    def find_manifest(self, name: str = MANIFEST_FILE) -> Manifest | None:
        """Return the installed release; None if there is none."""
        path = self.folder / name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"{path}: cannot be read: {error.strerror}") from error
        return parse_manifest(content, origin=str(path))

    def find_former(self) -> Manifest | None:
        """Return the release before the installed one, which can be gone back to; None if there is
        none.
        """
        return self.find_manifest(FORMER_FILE)

    def find_next(self) -> NextRelease | None:
        """Return the release that is being installed; None where there is none, or its file is
        damaged.
        """
        try:
            members = load_checked(
                (self.folder / NEXT_FILE).read_bytes(), NEXT_MEMBERS, is_required=True
            )
            manifest = parse_manifest(str(members.pop("manifest")).encode(), origin=NEXT_FILE)
            return NextRelease(manifest=manifest, **members)
        except (OSError, KeyError, orjson.JSONDecodeError, DamagedChecksumsError, StorageError):
            return None  # it is made again

    def save_next(self, release: NextRelease) -> None:
        """Write which release is being installed."""
        members = {
            "manifest": release.manifest.dump().decode(),
            "since": release.since,
            "mark": release.mark,
        }
        self._write(NEXT_FILE, dump_checked(members))

    def save_next_spec(self, declaration: str | None) -> None:
        """Write the spec of the release that is being installed; without one, the installed spec
        stays.
        """
        if declaration is None:
            (self.folder / NEXT_SPEC_FILE).unlink(missing_ok=True)
        else:
            self._write(NEXT_SPEC_FILE, declaration.encode())

    def settle(self, manifest: Manifest) -> None:
        """Make a release, whose changes are in the store, the installed one, and keep the one
        before it.

        Stopped at any point, it can be done again.
        """
        installed = self.find_manifest()
        if installed is not None and installed.content != manifest.content:
            self._write(FORMER_FILE, installed.dump())
        if installed is None or installed != manifest:
            self._write(MANIFEST_FILE, manifest.dump())
        for name in (NEXT_FILE, NEXT_SPEC_FILE):
            (self.folder / name).unlink(missing_ok=True)
        self.remove_other_files()

    def forget_former(self) -> None:
        """Forget the release before, so that nothing can be gone back to."""
        (self.folder / FORMER_FILE).unlink(missing_ok=True)
        self.remove_other_files()

    def path_of(self, file: PackFile) -> Path:
        """Return where a file is, or is to be."""
        return (
            self.folder
            / FILES_FOLDER
            / f"{file.content}{COMPRESSED_ENDING if file.is_compressed else ''}"
        )

    def check_file(self, file: PackFile) -> str | None:
        """Return what is wrong with a file; None if it is whole."""
        return check_file(self.path_of(file), file, is_shipped=False)

    def find_fault(self, manifest: Manifest) -> str | None:
        """Return what is wrong with the first file of a release that is damaged or gone; None if
        all are whole.
        """
        return next(filter(None, map(self.check_file, manifest.files)), None)

    def read_file(self, file: PackFile) -> bytes:
        """Return the content of a file; refuse one that is damaged or gone."""
        if (problem := self.check_file(file)) is not None:
            raise StorageError(problem)
        return read_content(self.path_of(file), file)

    def save_file(self, file: PackFile, content: bytes) -> None:
        """Write a file whose content was made here."""
        path = self.path_of(file).relative_to(self.folder)
        self._write(path.as_posix(), compress(content) if file.is_compressed else content)

    def iter_entries(self, manifest: Manifest) -> Iterator[PackEntry]:
        """Yield the records of a release whose files are here, with their vectors."""
        return iter_entries(manifest, {file.name: self.path_of(file) for file in manifest.files})

    def remove_other_files(self) -> None:
        """Remove the files that neither the installed release nor the one before it has."""
        known = (self.find_manifest(), self.find_former())
        kept = {
            self.path_of(file).name
            for manifest in known
            if manifest is not None
            for file in manifest.files
        }
        folder = self.folder / FILES_FOLDER
        for path in folder.iterdir() if folder.is_dir() else ():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def _write(self, name: str, content: bytes) -> None:
        """Write a file as a whole, on the disk when this returns."""
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content, is_synced=True)
        except OSError as error:
            raise StorageError(f"{path}: cannot be written: {error.strerror}") from error
