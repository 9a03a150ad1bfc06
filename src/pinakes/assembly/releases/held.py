"""An installed catalogue with its release, held against other updates; a release that was interrupted is settled."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import filelock

from pinakes.assembly.app import App
from pinakes.catalogue.loader import LoadedSpec
from pinakes.errors import BusyError, InputError, StorageError
from pinakes.library import CALIBRATION_FILE, NEXT_SPEC_FILE, PACK_FOLDER, Installed
from pinakes.packs.manifest import SHORT, Manifest
from pinakes.packs.releases.installed_pack import InstalledPack, ReleaseSource
from pinakes.search.calibrate import Calibration, save_calibration
from pinakes.shelf.embedded.shelf import EmbeddedShelf
from pinakes.shelf.port import Author

LOCK_FILE = "pack.lock"
LOCK_TIMEOUT_S = 10.0


def author_of(manifest: Manifest) -> Author:
    """Return the author of a release's changes, by which they are found in the change log."""
    return Author(principal=f"release {manifest.version} ({manifest.content[:SHORT]})")


@contextmanager
def holding_release(folder: Path, name: str) -> Iterator[None]:
    """Keep other installations and updates of a catalogue away."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(folder / LOCK_FILE, timeout=LOCK_TIMEOUT_S):
            yield
    except filelock.Timeout as error:
        raise BusyError(f"'{name}' is being installed or updated by another process; wait for it") from error
    except (PermissionError, NotImplementedError) as error:
        raise StorageError(f"'{name}' cannot be written to: {error}; nothing was changed") from error
    except OSError as error:
        raise StorageError(f"'{name}' cannot be written to: {error.strerror}; nothing was changed") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCatalogue:
    """A catalogue that was installed from a release."""

    app: App
    installed: Installed
    pack: InstalledPack
    source: ReleaseSource
    manifest: Manifest
    """The installed release."""

    @property
    def loaded(self) -> LoadedSpec:
        """The spec that the records follow."""
        return self.app.spec_of(self.installed)

    def settle(self, manifest: Manifest) -> None:
        """Bring the files up to a release whose changes are in the store. Stopped, it is done again."""
        save_release_calibration(self.installed.folder, manifest)
        next_spec = self.pack.folder / NEXT_SPEC_FILE
        if next_spec.is_file():
            self.app.library.put_back_declaration(self.installed, next_spec.read_text(encoding="utf-8"))
        self.pack.settle(manifest)


@contextmanager
def held_catalogue(app: App, name: str) -> Iterator[HeldCatalogue]:
    """Hold a catalogue that was installed from a place; one whose update was interrupted is settled first."""
    installed = app.library.get_installed(name)
    pack = InstalledPack(installed.folder / PACK_FOLDER)
    source = pack.find_source()
    if source is None:
        raise InputError(
            f"'{name}' was not installed from a place, so there is nothing to update it from; "
            f"to install one: pinakes init NAME --from PLACE"
        )
    require_writable(installed)
    with holding_release(installed.folder, name):
        manifest = pack.find_manifest()
        if manifest is None:
            raise StorageError(f"{pack.folder} has no manifest; put it back from a back-up, or install '{name}' again")
        held = HeldCatalogue(app=app, installed=installed, pack=pack, source=source, manifest=manifest)
        yield _settled(held)


def require_writable(installed: Installed) -> None:
    """Refuse a catalogue whose folder is read-only, before anything is fetched."""
    if not os.access(installed.folder, os.W_OK):
        raise StorageError(
            f"'{installed.name}' is read-only ({installed.folder} cannot be written to), so it is served as it is and "
            "not updated; run this where the library can be written"
        )


def _settled(held: HeldCatalogue) -> HeldCatalogue:
    """Return a catalogue whose interrupted update, if its changes are in the store, is settled."""
    pending = held.pack.find_next()
    if pending is None or pending.since is None:
        return held
    with closing(EmbeddedShelf.open(held.installed.folder, held.loaded.spec)) as shelf:
        is_other_spec = pending.mark not in (None, shelf.store.spec_mark())  # one alone logs no change
        is_committed = is_other_spec or shelf.store.has_change_by(
            author_of(pending.manifest).principal, after=pending.since
        )
    if not is_committed:
        return held
    held.settle(pending.manifest)
    return HeldCatalogue(
        app=held.app,
        installed=held.app.library.get_installed(held.installed.name),
        pack=held.pack,
        source=held.source,
        manifest=pending.manifest,
    )


def save_release_calibration(folder: Path, manifest: Manifest) -> None:
    """Write what a release says of the nearness of vectors, where it says something."""
    model = manifest.model_id
    if manifest.calibration is None or model is None:
        return
    told = Calibration(model=model, middle=manifest.calibration.middle, spread=manifest.calibration.spread)
    save_calibration(told, folder / CALIBRATION_FILE)


def spec_of_release(app: App, brought: LoadedSpec, manifest: Manifest) -> LoadedSpec:
    """Return the spec that a catalogue follows with a release: that of its package here, or the one it brings."""
    if not manifest.spec.is_package:
        return brought
    if manifest.spec.name not in app.packages.names:
        raise InputError(
            f"the release of '{manifest.catalogue}' needs the catalogue package '{manifest.spec.name}', which is not "
            "installed; install it with pip, then run this again"
        )
    return app.packages.get(manifest.spec.name).loaded
