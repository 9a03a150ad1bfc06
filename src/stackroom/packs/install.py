"""Installing a catalogue from a release: built in a folder of its own, and visible when it is whole.

Stopped at any point, the same command goes on: files that are here are not fetched again.
"""

import shutil
from contextlib import closing
from itertools import islice

from stackroom.catalogue.compiler import LoadedSpec
from stackroom.errors import BusyError, ConflictError, ExpectedError, InputError, StorageError, UnavailableError
from stackroom.library import BUILDING_FILE, PACK_FOLDER, Installed, require_name
from stackroom.net.addresses import shown_address
from stackroom.packs.entries import BATCH_RECORDS
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
from stackroom.packs.manifest import SPEC_FILE
from stackroom.packs.places import FoundRelease, ReleaseFetcher, find_release, open_place, plan_fetch, resolved_location
from stackroom.shelf.embedded.shelf import INDEX_FOLDER, EmbeddedShelf
from stackroom.shelf.store_place import STORE_FILE

MOST_SPEC_BYTES = 1_000_000
SIDE_FILES = ("", "-wal", "-shm")


def install_release(
    host: ReleaseHost, name: str, location: str, *, key: str = "", progress: ReleaseProgress = SILENT
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
    manifest, shown = found.manifest, found.place.shown
    if manifest.catalogue != name:
        raise InputError(
            f"{shown} has releases of '{manifest.catalogue}', not of '{name}'; "
            f"to install it: stackroom init {manifest.catalogue} --from {shown}"
        )
    _require_resumable(host, name)
    files = plan_fetch(found, InstalledPack(host.library.folder / name / PACK_FOLDER), None)
    signed = "signed by the given key" if found.is_signed else "not checked by a key"
    progress.say(
        f"{name} {manifest.version} from {shown}: {manifest.records:,} records, "
        f"{shown_size(files.size_bytes)} to fetch, {signed}"
    )
    loaded, is_package = _read_spec(host, found), manifest.spec.is_package
    declaration = None if is_package else loaded.declaration
    place = host.library.reserve(name, loaded.spec.name, declaration=declaration, is_package_name=is_package)
    try:
        with holding_release(place.folder, name):
            if (installed := host.library.find_installed(name)) is not None:  # while this one waited
                return _installed_already(installed, source)
            files.pack.save_source(source)
            _install(host, place, loaded, files, progress)
    except (UnavailableError, BusyError):
        raise  # what was fetched is kept: the same command goes on
    except ExpectedError:
        host.library.abandon(place)
        raise
    report = ReleaseReport.of(manifest, name=name, fetched=files.fetched_bytes)
    report.written = report.records
    return report


def _read_spec(host: ReleaseHost, found: FoundRelease) -> LoadedSpec:
    """Return the spec of the release, before anything is written."""
    file = found.manifest.get_file(SPEC_FILE)
    if file.size_bytes > MOST_SPEC_BYTES:
        raise StorageError(f"the spec of the release has {file.size_bytes:,} bytes; at most 1 MB is read")
    return spec_of_release(host, found.read_small(file), found.manifest)


def _install(
    host: ReleaseHost, place: Installed, loaded: LoadedSpec, files: ReleaseFetcher, progress: ReleaseProgress
) -> None:
    """Fetch, build and make visible; what a stopped installation wrote is written anew."""
    pack, manifest = files.pack, files.found.manifest
    pack.save_next(NextRelease(manifest=manifest))
    files.bring(progress.on_fetched)
    for ending in SIDE_FILES:
        (place.folder / f"{STORE_FILE}{ending}").unlink(missing_ok=True)
    shutil.rmtree(place.folder / INDEX_FOLDER, ignore_errors=True)
    with closing(EmbeddedShelf.create(place.folder, loaded.spec, model=manifest.model_id)) as shelf, shelf.exclusive():
        entries, written = pack.iter_entries(manifest), 0
        while batch := list(islice(entries, BATCH_RECORDS)):
            shelf.apply([entry.build_put(loaded.spec) for entry in batch], author=author_of(manifest))
            written += len(batch)
            progress.on_written(written, manifest.records)
        shelf.publish()
    save_beside_records(place.folder, pack, manifest)
    pack.settle(manifest)
    host.library.complete(place, source=None)  # commit point: it is installed from here on


def _has_samples_only(host: ReleaseHost, installed: Installed) -> bool:
    """Tell whether all data of a catalogue is what its package brought as samples."""
    package = host.find_package(installed.spec_name)
    if installed.own_declaration is not None or package is None:
        return False
    return bool(installed.sources) and all(package.is_sample(source) for source in installed.sources)


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
