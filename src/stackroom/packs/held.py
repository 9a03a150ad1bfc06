"""A catalogue that was installed from a release, held against other updates, and the reports of what is done to it."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from stackroom.background.task import FileLease
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, InputError, StorageError
from stackroom.library import (
    CALIBRATION_FILE,
    NEXT_SPEC_FILE,
    PACK_FOLDER,
    THUMBNAILS_FOLDER,
    Installed,
    Library,
    seal_thumbnails,
)
from stackroom.packs.entries import save_thumbnails
from stackroom.packs.installed import InstalledPack, ReleaseSource
from stackroom.packs.manifest import SHORT, THUMBNAILS_FILE, Manifest
from stackroom.search.evidence import Calibration, save_calibration
from stackroom.settings import Settings
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.port import Author

LOCK_FILE = "pack.lock"
LOCK_TIMEOUT_S = 10.0
AUTHOR_PREFIX = "release "


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseProgress:
    """The listeners of a command: what is about to be done, and how far it is."""

    say: Callable[[str], None] = lambda _text: None
    on_fetched: Callable[[int, int], None] = lambda _done, _total: None
    """Gets the bytes that were fetched, and all that are to be."""
    on_written: Callable[[int, int], None] = lambda _done, _total: None
    """Gets the records that were written, and all that are to be."""


SILENT = ReleaseProgress()


@dataclass(slots=True, kw_only=True)
class ReleaseReport:
    """The outcome of an installation, an update or a rollback."""

    catalogue: str
    version: str
    former: str = ""
    fetch_bytes: int = 0
    written: int = 0
    removed: int = 0
    conflicts: list[str] = field(default_factory=list)
    """Ids of records that were edited here and changed differently by the release."""
    records: int = 0
    model: str | None = None
    """The model of its vectors, which searches by meaning need."""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, manifest: Manifest, *, name: str, former: str = "", fetched: int = 0) -> "ReleaseReport":
        """Return the report of a release that is installed under a name."""
        return cls(
            catalogue=name,
            version=manifest.version,
            former=former,
            fetch_bytes=fetched,
            records=manifest.records,
            model=manifest.model,
        )

    @contextmanager
    def noting(self, undone: str) -> Iterator[None]:
        """Note a failure after the commit point: the release is installed, and the rest is made up for later."""
        try:
            yield
        except (ExpectedError, OSError) as error:
            self.notes.append(f"{undone}: {error}")

    @property
    def is_changed(self) -> bool:
        """Whether another version is installed than before."""
        return self.version != self.former


def shown_size(size_bytes: int) -> str:
    """Return a size for people."""
    return f"{size_bytes / 1e6:,.1f} MB" if size_bytes >= 100_000 else f"{size_bytes / 1e3:,.1f} kB"


class _Package(Protocol):
    """A catalogue package, as far as releases need it: its spec, and whether a location is its sample data."""

    @property
    def loaded(self) -> LoadedSpec: ...

    def is_sample(self, location: str) -> bool: ...


class ReleaseHost(Protocol):
    """The opened library that releases are installed into; `assembly.app.App` is one."""

    library: Library
    settings: Settings

    def find_package(self, name: str) -> _Package | None:
        """Return a catalogue package that it may use."""

    def spec_of(self, installed: Installed) -> LoadedSpec:
        """Return the spec that a catalogue follows."""

    def embedder_named(self, name: str) -> Embedder:
        """Return the embedder of a model."""


def author_of(manifest: Manifest) -> Author:
    """Return the author of a release's changes, by which they are found in the change log."""
    return Author(principal=f"{AUTHOR_PREFIX}{manifest.version} ({manifest.content[:SHORT]})")


def holding_release(folder: Path, name: str) -> AbstractContextManager[None]:
    """Keep other installations and updates of a catalogue away."""
    return FileLease(folder / LOCK_FILE).held(
        wait_s=LOCK_TIMEOUT_S,
        busy=f"'{name}' is being installed or updated by another process; wait for it",
        failed=f"'{name}' cannot be written to; nothing was changed",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCatalogue:
    """A catalogue that was installed from a release."""

    host: ReleaseHost
    installed: Installed
    pack: InstalledPack
    source: ReleaseSource
    manifest: Manifest

    @property
    def loaded(self) -> LoadedSpec:
        """The spec that the records follow."""
        return self.host.spec_of(self.installed)

    def settle(self, manifest: Manifest) -> None:
        """Bring the files up to a release whose changes are in the store. Stopped, it is done again."""
        save_beside_records(self.installed.folder, self.pack, manifest)
        next_spec = self.pack.folder / NEXT_SPEC_FILE
        if next_spec.is_file():
            self.host.library.put_back_declaration(self.installed, next_spec.read_text(encoding="utf-8"))
        self.pack.settle(manifest)


@contextmanager
def held_catalogue(host: ReleaseHost, name: str) -> Iterator[HeldCatalogue]:
    """Hold a catalogue that was installed from a place; one whose update was interrupted is settled first."""
    installed = host.library.get_installed(name)
    pack = InstalledPack(installed.folder / PACK_FOLDER)
    source = pack.find_source()
    if source is None:
        raise InputError(
            f"'{name}' was not installed from a place, so there is nothing to update it from; "
            f"to install one: stackroom init NAME --from PLACE"
        )
    if not os.access(installed.folder, os.W_OK):
        raise StorageError(
            f"'{name}' is read-only ({installed.folder} cannot be written to), so it is served as it is and "
            "not updated; run this where the library can be written"
        )
    with holding_release(installed.folder, name):
        manifest = pack.find_manifest()
        if manifest is None:
            raise StorageError(f"{pack.folder} has no manifest; put it back from a back-up, or install '{name}' again")
        yield _settled(HeldCatalogue(host=host, installed=installed, pack=pack, source=source, manifest=manifest))


def _settled(held: HeldCatalogue) -> HeldCatalogue:
    """Return a catalogue whose interrupted update, if its changes are in the store, is settled."""
    pending = held.pack.find_next()
    if pending is None or pending.since is None:
        return held
    with closing(EmbeddedShelf.open(held.installed.folder, held.loaded.spec)) as shelf:
        is_other_spec = pending.mark not in (None, shelf.store.spec_mark())  # a spec alone logs no change
        author = author_of(pending.manifest).principal
        is_committed = is_other_spec or shelf.store.has_change_by(author, after=pending.since)
    if not is_committed:
        return held
    held.settle(pending.manifest)
    return replace(held, installed=held.host.library.get_installed(held.installed.name), manifest=pending.manifest)


def save_beside_records(folder: Path, pack: InstalledPack, manifest: Manifest) -> None:
    """Write what a release has besides its records: its thumbnails, and how relevant a cosine is."""
    if (file := manifest.find_file(THUMBNAILS_FILE)) is not None:
        save_thumbnails(pack.path_of(file), folder / THUMBNAILS_FOLDER)
        seal_thumbnails(folder)
    if (model := manifest.model_id) is not None and (known := manifest.calibration) is not None:
        calibration = Calibration(model=model, middle=known.middle, spread=known.spread)
        save_calibration(calibration, folder / CALIBRATION_FILE)


def spec_of_release(host: ReleaseHost, declaration: bytes, manifest: Manifest) -> LoadedSpec:
    """Return the spec that a catalogue follows with a release: that of its package here, or the one it brings."""
    if manifest.spec.is_package:
        if (package := host.find_package(manifest.spec.name)) is not None:
            return package.loaded
        raise InputError(
            f"the release of '{manifest.catalogue}' needs the catalogue package '{manifest.spec.name}', which is not "
            "installed; install it with pip, then run this again"
        )
    try:
        text = declaration.decode()
    except UnicodeDecodeError as error:
        raise StorageError(f"the spec of the release is not a text: {error}") from error
    return LoadedSpec(spec=compile_text(text, origin="the spec of the release"), declaration=text)
