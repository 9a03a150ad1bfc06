"""Fetching the files of a release that are not here: as patches from the installed release, or whole.

A file is checked by the SHA-256 that the manifest names, however it came. A patch that is damaged, gone or of no use is
made up for by the whole file, so that correctness never depends on one.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from stackroom.errors import ExpectedError, StorageError
from stackroom.packs.installed import InstalledPack
from stackroom.packs.manifest import Manifest, PackFile
from stackroom.packs.patches import PATCH_ENDING, apply_patch, can_be_patched, patch_name
from stackroom.packs.places import Asset, FoundRelease

logger = logging.getLogger(__name__)

OnFetched = Callable[[int, int], None]
"""Gets how many bytes were fetched so far, and all that are to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingFile:
    """A file to fetch, and the file that is here with the patch that makes it of that, if there is one."""

    file: PackFile
    patch: tuple[PackFile, Asset] | None = None

    @property
    def size_bytes(self) -> int:
        """The bytes to fetch."""
        return self.file.size_bytes if self.patch is None else self.patch[1].size_bytes or 0


def plan_fetch(found: FoundRelease, pack: InstalledPack, installed: Manifest | None) -> "ReleaseFetcher":
    """Return what has to be fetched for a release, given what is here."""
    missing = []
    for file in found.manifest.files:
        if not pack.path_of(file).is_file():  # whoever reads one that is there checks it
            base = installed.find_file(file.name) if installed else None
            missing.append(MissingFile(file=file, patch=_find_patch(file, base, found, pack)))
    return ReleaseFetcher(found=found, pack=pack, missing=missing)


def _find_patch(
    file: PackFile, base: PackFile | None, found: FoundRelease, pack: InstalledPack
) -> tuple[PackFile, Asset] | None:
    if base is None or not can_be_patched(base, file) or not pack.path_of(base).is_file():
        return None
    patch = found.release.find_asset(patch_name(base, file))
    is_smaller = patch is not None and patch.size_bytes is not None and patch.size_bytes < file.size_bytes
    return (base, patch) if patch is not None and is_smaller else None


@dataclass(slots=True, kw_only=True)
class ReleaseFetcher:
    """The files to fetch for a release, and the folder of the installed one that they are brought into."""

    found: FoundRelease
    pack: InstalledPack
    missing: list[MissingFile]
    fetched_bytes: int = field(default=0, init=False)
    _on_fetched: OnFetched = field(default=lambda _done, _total: None, init=False)

    @property
    def size_bytes(self) -> int:
        """The bytes to fetch."""
        return sum(missing.size_bytes for missing in self.missing)

    def bring(self, on_fetched: OnFetched = lambda _done, _total: None) -> None:
        """Make all files of the release be here, and whole; what is here already is not fetched again."""
        self._on_fetched = on_fetched
        for missing in self.missing:
            if missing.patch is None or not self._bring_patched(missing.file, *missing.patch):
                self._bring_whole(missing.file)
        for file in self.found.manifest.files:
            if self.pack.check_file(file) is not None:
                self._bring_whole(file)

    def _bring_patched(self, file: PackFile, base: PackFile, patch: Asset) -> bool:
        """Make a file of the installed one and a patch; tell whether that worked."""
        path = self.pack.path_of(file)
        path = path.with_name(f"{path.name}{PATCH_ENDING}")
        try:
            old = self.pack.read_file(base)
            self._bring(patch, path, max_bytes=file.size_bytes)
            self.pack.save_file(file, apply_patch(old, path.read_bytes(), file))
        except ExpectedError as error:
            logger.info("%s is fetched whole, since its patch is of no use: %s", file.name, error.message)
            return False
        finally:
            path.unlink(missing_ok=True)
        return True

    def _bring_whole(self, file: PackFile) -> None:
        """Fetch a file, with the size and the checksum that the manifest names."""
        path = self.pack.path_of(file)
        path.unlink(missing_ok=True)
        self._bring(self.found.get_asset(file), path, max_bytes=file.size_bytes)
        if (problem := self.pack.check_file(file)) is not None:
            path.unlink(missing_ok=True)
            raise StorageError(problem)

    def _bring(self, asset: Asset, path: Path, *, max_bytes: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = self.fetched_bytes

        def count(received: int) -> None:
            self.fetched_bytes = before + received
            self._on_fetched(self.fetched_bytes, self.size_bytes)

        self.found.place.bring(asset, path, max_bytes=max_bytes, on_bytes=count)
