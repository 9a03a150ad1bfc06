"""Installing a catalogue from a release: built in a folder of its own, and visible when it is whole.

Stopped at any point, the same command goes on: files that are here are not fetched again.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.errors import BusyError, ConflictError, ExpectedError, InputError, StorageError, UnavailableError
from stackroom.library import BUILDING_FILE, PACK_FOLDER, Installed, require_name
from stackroom.net.addresses import shown_address
from stackroom.packs.entries import BATCH_RECORDS, PackEntry
from stackroom.packs.fetch import ReleaseFetcher, plan_fetch
from stackroom.packs.held import (
    SILENT,
    ReleaseHost,
    ReleaseProgress,
    ReleaseReport,
    author_of,
    holding_release,
    save_beside_records,
    shown_size,
    spec_of_release,
)
from stackroom.packs.installed import InstalledPack, NextRelease, ReleaseSource
from stackroom.packs.manifest import SPEC_FILE, Manifest
from stackroom.packs.places import ReleasePlace, find_release, open_place, resolved_location
from stackroom.shelf.embedded.shelf import INDEX_FOLDER, EmbeddedShelf
from stackroom.shelf.store_place import STORE_FILE

MOST_SPEC_BYTES = 1_000_000
SIDE_FILES = ("", "-wal", "-shm")


def install_release(
    host: ReleaseHost,
    name: str,
    location: str,
    *,
    key: str = "",
    progress: ReleaseProgress = SILENT,
) -> ReleaseReport:
    """Install a catalogue from the newest release of a place."""
    require_name(name)
    source = ReleaseSource(place=resolved_location(location), key=key)
    installed = host.library.find_installed(name)
    if installed is not None and _has_samples_only(host, installed):
        raise ConflictError(f"'{name}' has sample data; move {installed.folder} away to install the release")
    if installed is not None:
        return _installed_already(installed, source)
    found = find_release(open_place(source.place, host.settings), key=key)
    _require_named(found.manifest, name, found.place)
    _require_resumable(host, name)
    files = plan_fetch(found, InstalledPack(host.library.folder / name / PACK_FOLDER), None)
    progress.say(_describe_plan(name, files))
    return _Installation(host=host, name=name, source=source, files=files, progress=progress).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installation:
    """One installation: what is fetched from where, into which folder."""

    host: ReleaseHost
    name: str
    source: ReleaseSource
    files: ReleaseFetcher
    progress: ReleaseProgress

    @property
    def _manifest(self) -> Manifest:
        return self.files.found.manifest

    def run(self) -> ReleaseReport:
        """Fetch, build and make visible."""
        loaded = self._read_spec()
        place = self._reserve(loaded)
        try:
            with holding_release(place.folder, self.name):
                if (installed := self.host.library.find_installed(self.name)) is not None:  # while this one waited
                    return _installed_already(installed, self.source)
                self._install(place, loaded)
        except (UnavailableError, BusyError):
            raise  # what was fetched is kept: the same command goes on
        except ExpectedError:
            self.host.library.abandon(place)
            raise
        report = ReleaseReport.of(self._manifest, name=self.name, fetched=self.files.fetched_bytes)
        report.written = report.records
        return report

    def _read_spec(self) -> LoadedSpec:
        """Return the spec of the release, before anything is written."""
        file = self._manifest.get_file(SPEC_FILE)
        if file.size_bytes > MOST_SPEC_BYTES:
            raise StorageError(f"the spec of the release has {file.size_bytes:,} bytes; at most 1 MB is read")
        return spec_of_release(self.host, self.files.found.read_small(file), self._manifest)

    def _install(self, place: Installed, loaded: LoadedSpec) -> None:
        """Build the catalogue of a release."""
        pack = self.files.pack
        pack.save_source(self.source)
        pack.save_next(NextRelease(manifest=self._manifest))
        self.files.bring(self.progress.on_fetched)
        self._build(place, loaded)
        save_beside_records(place.folder, pack, self._manifest)
        pack.settle(self._manifest)
        self.host.library.complete(place, source=None)  # commit point: it is installed from here on

    def _reserve(self, loaded: LoadedSpec) -> Installed:
        """Return the folder to build in, which is not listed before it is complete."""
        is_package = self._manifest.spec.is_package
        return self.host.library.reserve(
            self.name,
            loaded.spec.name,
            declaration=None if is_package else loaded.declaration,
            is_package_name=is_package,
        )

    def _build(self, place: Installed, loaded: LoadedSpec) -> None:
        """Write all records with their vectors, and index them; what a stopped installation wrote is written anew."""
        _remove_unfinished(place)
        with closing(EmbeddedShelf.create(place.folder, loaded.spec, model=self._manifest.model_id)) as shelf:
            written = 0
            with shelf.exclusive():
                for entries in _iter_batches(self.files.pack.iter_entries(self._manifest)):
                    puts = [entry.build_put(loaded.spec) for entry in entries]
                    shelf.apply(puts, author=author_of(self._manifest))
                    written += len(puts)
                    self.progress.on_written(written, self._manifest.records)
                shelf.publish()


def _iter_batches(entries: Iterator[PackEntry]) -> Iterator[list[PackEntry]]:
    while batch := list(islice(entries, BATCH_RECORDS)):
        yield batch


def _has_samples_only(host: ReleaseHost, installed: Installed) -> bool:
    """Tell whether all data of a catalogue is what its package brought as samples."""
    package = host.find_package(installed.spec_name)
    if installed.own_declaration is not None or package is None:
        return False
    return bool(installed.sources) and all(package.is_sample(source) for source in installed.sources)


def _remove_unfinished(place: Installed) -> None:
    for ending in SIDE_FILES:
        (place.folder / f"{STORE_FILE}{ending}").unlink(missing_ok=True)
    shutil.rmtree(place.folder / INDEX_FOLDER, ignore_errors=True)


def _installed_already(installed: Installed, source: ReleaseSource) -> ReleaseReport:
    """Return what is installed from this place already; refuse a name that is taken by something else."""
    pack = InstalledPack(installed.folder / PACK_FOLDER)
    known, manifest = pack.find_source(), pack.find_manifest()
    if known is None or manifest is None:
        raise ConflictError(
            f"'{installed.name}' is installed already, and not from a place; move {installed.folder} away to install "
            "the release in its stead"
        )
    if known != source:
        raise ConflictError(
            f"'{installed.name}' is installed already, from {shown_address(known.place)} "
            f"{'with a key' if known.key else 'without a key'}; to take its updates from another place or by another "
            f"key: stackroom remove {installed.name}, then install it again"
        )
    return ReleaseReport.of(manifest, name=installed.name, former=manifest.version)


def _require_named(manifest: Manifest, name: str, place: ReleasePlace) -> None:
    if manifest.catalogue != name:
        raise InputError(
            f"{place.shown} has releases of '{manifest.catalogue}', not of '{name}'; "
            f"to install it: stackroom init {manifest.catalogue} --from {place.shown}"
        )


def _require_resumable(host: ReleaseHost, name: str) -> None:
    """Refuse a folder that something else than an installation from a place left unfinished."""
    folder = host.library.folder / name
    if not folder.is_dir():
        return
    if (problem := host.library.check().get(name)) is not None:
        raise StorageError(problem)
    is_build = (folder / BUILDING_FILE).is_file() and (folder / STORE_FILE).is_file()
    if is_build and InstalledPack(folder / PACK_FOLDER).find_source() is None:
        raise ConflictError(
            f"'{name}' is being built by stackroom add, or was stopped; finish that, or move {folder} away"
        )


def _describe_plan(name: str, files: ReleaseFetcher) -> str:
    found, manifest = files.found, files.found.manifest
    signed = "signed by the given key" if found.is_signed else "not checked by a key"
    return (
        f"{name} {manifest.version} from {found.place.shown}: {manifest.records:,} records, "
        f"{shown_size(files.size_bytes)} to fetch, {signed}"
    )
