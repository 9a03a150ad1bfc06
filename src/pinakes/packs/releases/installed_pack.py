"""The release that a catalogue was installed from, in the folder `pack` of the catalogue.

    source.json      the place that updates come from, and the key that they have to be signed with
    manifest.json    the installed release
    former.json      the one before it, which `rollback` goes back to
    next.json        the release that is being installed, and the state of the store before it
    next.toml        its spec, where the catalogue has a spec of its own and this is another
    blocks/          the blocks of all of them

The records of a catalogue are in its store, and its change log and the mark of its spec tell whether `next.json` is
among them: the transaction of the store is the commit point. Everything here is brought up to it afterwards, by whoever
comes next.

Earlier versions of Pinakes wrote an export of the catalogue into the same folder: no release, and nothing needs it.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from pinakes.checksums import DamagedChecksumsError, dump_checked, load_checked
from pinakes.errors import StorageError
from pinakes.library import NEXT_SPEC_FILE
from pinakes.net.partial import sync_file, sync_folder
from pinakes.packs.manifest import BLOCKS_FOLDER, MANIFEST_FILE, Block, Manifest, block_path, parse_manifest
from pinakes.packs.verify import OLD_RECORDS_FILE

SOURCE_FILE = "source.json"
FORMER_FILE = "former.json"
NEXT_FILE = "next.json"
NEXT_MEMBERS = ("manifest", "since", "mark")
OLD_FILES = (MANIFEST_FILE, "catalogue.toml", "embeddings.parquet", OLD_RECORDS_FILE)
"""The export of an earlier version; the last file is the one that it is known by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSource:
    """The place that a catalogue's releases come from, and the public key that they are signed with, if any."""

    place: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRelease:
    """A release that is being installed."""

    manifest: Manifest
    since: int | None = None
    """The last change before its own; None while they are not being written."""
    mark: str | None = None
    """The mark of the spec in the store before its own; None where it is not known."""


class InstalledPack:
    """The files of an installed release."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find_source(self) -> ReleaseSource | None:
        """Return where updates come from; None for a catalogue that was not installed from a place."""
        path = self.folder / SOURCE_FILE
        try:
            members = load_checked(path.read_bytes(), ("place", "key"), is_required=True)
            return ReleaseSource(place=str(members["place"]), key=str(members.get("key", "")))
        except FileNotFoundError:
            return None
        except (OSError, KeyError, orjson.JSONDecodeError, DamagedChecksumsError) as error:
            raise StorageError(
                f"{path} is damaged: {error}; put it back from a back-up, or install the catalogue again"
            ) from error

    def save_source(self, source: ReleaseSource) -> None:
        """Write where updates come from."""
        self._write(SOURCE_FILE, dump_checked({"place": source.place, "key": source.key}))

    def find_manifest(self) -> Manifest | None:
        """Return the installed release; None where there is none, but the export of an earlier version."""
        return None if (self.folder / OLD_RECORDS_FILE).is_file() else self._find(MANIFEST_FILE)

    def remove_old_export(self) -> None:
        """Make way for a release where an earlier version exported the catalogue. Stopped, it is done again."""
        if (self.folder / OLD_RECORDS_FILE).is_file():
            for name in OLD_FILES:
                (self.folder / name).unlink(missing_ok=True)

    def find_former(self) -> Manifest | None:
        """Return the release before the installed one."""
        return self._find(FORMER_FILE)

    def find_next(self) -> NextRelease | None:
        """Return the release that is being installed; None where there is none, or its file is damaged."""
        try:
            members = load_checked((self.folder / NEXT_FILE).read_bytes(), NEXT_MEMBERS, is_required=True)
            manifest = parse_manifest(str(members["manifest"]).encode(), origin=NEXT_FILE)
            since, mark = members.get("since"), members.get("mark")
        except (OSError, KeyError, orjson.JSONDecodeError, DamagedChecksumsError, StorageError):
            return None  # it is made again
        return NextRelease(
            manifest=manifest,
            since=since if isinstance(since, int) else None,
            mark=mark if isinstance(mark, str) else None,
        )

    def save_next(self, release: NextRelease) -> None:
        """Write which release is being installed."""
        members = {"manifest": release.manifest.dump().decode(), "since": release.since, "mark": release.mark}
        self._write(NEXT_FILE, dump_checked(members))

    def save_next_spec(self, declaration: str | None) -> None:
        """Write the spec of the release that is being installed; without one, the installed spec stays."""
        if declaration is None:
            (self.folder / NEXT_SPEC_FILE).unlink(missing_ok=True)
        else:
            self._write(NEXT_SPEC_FILE, declaration.encode())

    def settle(self, manifest: Manifest) -> None:
        """Make a release, whose changes are in the store, the installed one, and keep the one before it.

        Stopped at any point, it can be done again.
        """
        installed = self.find_manifest()
        if installed is not None and installed.content != manifest.content:
            self._write(FORMER_FILE, installed.dump())
        if installed is None or installed != manifest:
            self._write(MANIFEST_FILE, manifest.dump())
        self.forget_next()
        self._remove_other_blocks()

    def forget_next(self) -> None:
        """Forget the release that was being installed."""
        (self.folder / NEXT_FILE).unlink(missing_ok=True)
        (self.folder / NEXT_SPEC_FILE).unlink(missing_ok=True)

    def has_block(self, block: Block) -> bool:
        """Tell whether there is a file of a block; whoever reads it checks it."""
        return block_path(self.folder, block).is_file()

    def save_block(self, block: Block, data: bytes) -> None:
        """Write the file of a block that was made here."""
        (self.folder / BLOCKS_FOLDER).mkdir(parents=True, exist_ok=True)
        self._write(f"{BLOCKS_FOLDER}/{block.file_name}", data)

    def copy_block(self, known: Block, block: Block) -> None:
        """Give a block that has the content of another a file of its own."""
        self.save_block(block, block_path(self.folder, known).read_bytes())

    def _remove_other_blocks(self) -> None:
        """Remove the files of blocks that neither the installed release nor the one before it has."""
        kept = {block.file_name for manifest in self._kept_manifests() for block in manifest.all_blocks}
        for path in (self.folder / BLOCKS_FOLDER).iterdir():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def _kept_manifests(self) -> Iterable[Manifest]:
        found = (self.find_manifest(), self.find_former())
        return [manifest for manifest in found if manifest is not None]

    def _find(self, name: str) -> Manifest | None:
        path = self.folder / name
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageError(f"{path}: cannot be read: {error.strerror}") from error
        return parse_manifest(content, origin=str(path))

    def _write(self, name: str, content: bytes) -> None:
        """Write a file as a whole, on the disk when this returns."""
        path = self.folder / name
        fresh = path.with_name(f"{path.name}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(content)
            sync_file(fresh)
            os.replace(fresh, path)
            sync_folder(path.parent)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise StorageError(f"{path}: cannot be written: {error.strerror}") from error
