"""Installing a catalogue from a release, updating it to a newer one of its place, and going back to
the one before.

An installation is built in a folder of its own, and visible when it is whole. Stopped at any point,
the same command goes on: files that are here are not fetched again. The changes of an update are
one transaction of the store, merged with what was edited by hand. Readers see the release before or
the new one, whole; a process that is killed leaves one of the two, and the next update goes on from
there.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from stackroom.background.background import FileLease
from stackroom.catalogue.codec import decode_record, encode_record
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.embed.port import Embedder
from stackroom.errors import (
    BusyError,
    ConflictError,
    ExpectedError,
    InputError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from stackroom.frozen import frozen
from stackroom.ingest.embedding import LateEmbedding
from stackroom.library import (
    BUILDING_FILE,
    CALIBRATION_FILE,
    NEXT_SPEC_FILE,
    PACK_FOLDER,
    Installed,
    require_name,
)
from stackroom.model.record import RecordId
from stackroom.net.addresses import shown_address
from stackroom.packs import places
from stackroom.packs.entries import BATCH_RECORDS, PackEntry, iter_differences
from stackroom.packs.installed import InstalledPack, NextRelease, ReleaseSource
from stackroom.packs.manifest import SHORT, SPEC_FILE, Manifest
from stackroom.search.evidence import Calibration, save_calibration
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.embedded.shelf_index import INDEX_FOLDER
from stackroom.shelf.embedded.store import Switch
from stackroom.shelf.opening import SpecLibrary, create_shelf, open_shelf
from stackroom.shelf.port import Author, Change, Delete, ShelfWriter, iter_key_batches
from stackroom.shelf.store_place import STORE_FILE

LOCK_FILE = "pack.lock"
LOCK_TIMEOUT_S = 10.0
AUTHOR_PREFIX = "release "


@frozen
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
    model: str | None = None  # the model of its vectors, which searches by meaning need
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, manifest: Manifest, *, name: str, former: str = "", fetched: int = 0
    ) -> "ReleaseReport":
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
        """Note a failure after the commit point: the release is installed, and the rest is made up
        for later.
        """
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
    """A catalogue package, as far as releases need it: its spec."""

    @property
    def loaded(self) -> LoadedSpec: ...


class ReleaseHost(SpecLibrary, Protocol):
    """The opened library that releases are installed into; `assembly.app.App` is one."""

    def find_package(self, name: str) -> _Package | None:
        """Return a catalogue package that it may use."""

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


@frozen
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
        """Bring the files up to a release whose changes are in the store. Stopped, it is done
        again.
        """
        save_released_calibration(self.installed.folder, manifest)
        next_spec = self.pack.folder / NEXT_SPEC_FILE
        if next_spec.is_file():
            self.host.library.put_back_declaration(
                self.installed, next_spec.read_text(encoding="utf-8")
            )
        self.pack.settle(manifest)


@contextmanager
def held_catalogue(host: ReleaseHost, name: str) -> Iterator[HeldCatalogue]:
    """Hold a catalogue that was installed from a place; one whose update was interrupted is settled
    first.
    """
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
            f"'{name}' is read-only ({installed.folder} cannot be written to), so it is served as"
            " it is and not updated; run this where the library can be written"
        )
    with holding_release(installed.folder, name):
        manifest = pack.find_manifest()
        if manifest is None:
            raise StorageError(
                f"{pack.folder} has no manifest; put it back from a back-up, or install '{name}'"
                " again"
            )
        yield _settled(
            HeldCatalogue(
                host=host, installed=installed, pack=pack, source=source, manifest=manifest
            )
        )


def _settled(held: HeldCatalogue) -> HeldCatalogue:
    """Return a catalogue whose interrupted update, if its changes are in the store, is settled."""
    pending = held.pack.find_next()
    if pending is None or pending.since is None:
        return held
    with closing(open_shelf(held.installed.folder, held.loaded.spec)) as shelf:
        # a spec alone logs no change
        is_other_spec = pending.mark not in (None, shelf.store.spec_mark())
        author = author_of(pending.manifest).principal
        is_committed = is_other_spec or shelf.store.has_change_by(author, after=pending.since)
    if not is_committed:
        return held
    held.settle(pending.manifest)
    return replace(
        held,
        installed=held.host.library.get_installed(held.installed.name),
        manifest=pending.manifest,
    )


def save_released_calibration(folder: Path, manifest: Manifest) -> None:
    """Write how relevant a cosine is, as a release says."""
    if (model := manifest.model_id) is not None and (known := manifest.calibration) is not None:
        calibration = Calibration(model=model, middle=known.middle, spread=known.spread)
        save_calibration(calibration, folder / CALIBRATION_FILE)


def spec_of_release(host: ReleaseHost, declaration: bytes, manifest: Manifest) -> LoadedSpec:
    """Return the spec that a catalogue follows with a release: that of its package here, or the one
    it brings.
    """
    if manifest.spec.is_package:
        if (package := host.find_package(manifest.spec.name)) is not None:
            return package.loaded
        raise InputError(
            f"the release of '{manifest.catalogue}' needs the catalogue package"
            f" '{manifest.spec.name}', which is not installed; install it with pip, then run this"
            " again"
        )
    try:
        text = declaration.decode()
    except UnicodeDecodeError as error:
        raise StorageError(f"the spec of the release is not a text: {error}") from error
    return LoadedSpec.of(text, origin="the spec of the release")


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
    source = ReleaseSource(place=places.resolved_location(location), key=key)
    installed = host.library.find_installed(name)
    if installed is not None:
        return _installed_already(installed, source)
    found = places.find_release(places.open_place(source.place, host.settings), key=key)
    manifest, shown = found.manifest, found.place.shown
    if manifest.catalogue != name:
        raise InputError(
            f"{shown} has releases of '{manifest.catalogue}', not of '{name}'; "
            f"to install it: stackroom init {manifest.catalogue} --from {shown}"
        )
    _require_resumable(host, name)
    files = places.plan_fetch(found, InstalledPack(host.library.folder / name / PACK_FOLDER), None)
    signed = "signed by the given key" if key else "not checked by a key"
    progress.say(
        f"{name} {manifest.version} from {shown}: {manifest.records:,} records, "
        f"{shown_size(files.size_bytes)} to fetch, {signed}"
    )
    loaded, is_package = _read_spec(host, found), manifest.spec.is_package
    declaration = None if is_package else loaded.declaration
    place = host.library.reserve(
        name, loaded.spec.name, declaration=declaration, is_package_name=is_package
    )
    try:
        with holding_release(place.folder, name):
            # while this one waited
            if (installed := host.library.find_installed(name)) is not None:
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


def _read_spec(host: ReleaseHost, found: places.FoundRelease) -> LoadedSpec:
    """Return the spec of the release, before anything is written."""
    file = found.manifest.get_file(SPEC_FILE)
    if file.size_bytes > MOST_SPEC_BYTES:
        raise StorageError(
            f"the spec of the release has {file.size_bytes:,} bytes; at most 1 MB is read"
        )
    return spec_of_release(host, found.read_small(file), found.manifest)


def _install(
    host: ReleaseHost,
    place: Installed,
    loaded: LoadedSpec,
    files: places.ReleaseFetcher,
    progress: ReleaseProgress,
) -> None:
    """Fetch, build and make visible; what a stopped installation wrote is written anew."""
    pack, manifest = files.pack, files.found.manifest
    pack.save_next(NextRelease(manifest=manifest))
    files.bring(progress.on_fetched)
    for ending in SIDE_FILES:
        (place.folder / f"{STORE_FILE}{ending}").unlink(missing_ok=True)
    shutil.rmtree(place.folder / INDEX_FOLDER, ignore_errors=True)
    with (
        closing(create_shelf(place.folder, loaded.spec, model=manifest.model_id)) as shelf,
        shelf.exclusive(),
    ):
        entries, written = pack.iter_entries(manifest), 0
        while batch := list(islice(entries, BATCH_RECORDS)):
            shelf.apply(
                [entry.build_put(loaded.spec) for entry in batch], author=author_of(manifest)
            )
            written += len(batch)
            progress.on_written(written, manifest.records)
        shelf.publish()
    save_released_calibration(place.folder, manifest)
    pack.settle(manifest)
    host.library.complete(place, source=None)  # commit point: it is installed from here on


def _installed_already(installed: Installed, source: ReleaseSource) -> ReleaseReport:
    """Return what is installed from this place already; refuse a name that is taken by something
    else.
    """
    pack = InstalledPack(installed.folder / PACK_FOLDER)
    known, manifest = pack.find_source(), pack.find_manifest()
    if known is None or manifest is None:
        raise ConflictError(
            f"'{installed.name}' is installed already, and not from a place; move"
            f" {installed.folder} away to install the release in its stead"
        )
    if known != source:
        raise ConflictError(
            f"'{installed.name}' is installed already, from {shown_address(known.place)}"
            f" {'with a key' if known.key else 'without a key'}; to take its updates from another"
            f" place or by another key: stackroom remove {installed.name}, then install it again"
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
            f"'{name}' is being built by stackroom add, or was stopped; finish that, or move"
            f" {folder} away"
        )


def list_released(host: ReleaseHost) -> list[Installed]:
    """Return the catalogues that were installed from a place."""
    catalogues = host.library.list_installed()
    return [
        catalogue
        for catalogue in catalogues
        if InstalledPack(catalogue.folder / PACK_FOLDER).find_source()
    ]


def update_catalogue(
    host: ReleaseHost, name: str, *, progress: ReleaseProgress = SILENT
) -> ReleaseReport:
    """Bring a catalogue to the newest release of its place; what was edited by hand is kept, or
    named as a conflict.
    """
    with held_catalogue(host, name) as held:
        found = places.find_release(
            places.open_place(held.source.place, host.settings), key=held.source.key
        )
        if not places.require_successor(found.manifest, held.manifest):
            return _mended(held, found)
        files, manifest = places.plan_fetch(found, held.pack, held.manifest), found.manifest
        how = "as a patch" if any(files.missing.values()) else f"in {len(files.missing)} files"
        progress.say(
            f"{name}: {held.manifest.version} → {manifest.version}, {shown_size(files.size_bytes)}"
            f" to fetch {how} (the whole release has {shown_size(manifest.size_bytes)})"
        )
        held.pack.save_next(NextRelease(manifest=manifest))
        files.bring(progress.on_fetched)
        return _change(held, manifest, fetched=files.fetched_bytes)


def _mended(held: HeldCatalogue, found: places.FoundRelease) -> ReleaseReport:
    """Fetch the files of the installed release that are damaged or gone, and report that nothing
    else changed.
    """
    report = ReleaseReport.of(held.manifest, name=held.installed.name, former=held.manifest.version)
    if held.manifest.content == found.manifest.content:
        files = places.plan_fetch(found, held.pack, None)
        files.bring()
        report.fetch_bytes = files.fetched_bytes
    if report.fetch_bytes:
        report.notes.append(
            "files of the installed release were damaged or gone, and fetched again"
        )
    former = held.pack.find_former()
    if former is not None and held.pack.find_fault(former):
        held.pack.forget_former()
        report.notes.append(
            f"files of release {former.version} were damaged, so it cannot be gone back to any more"
        )
    return report


def roll_back(host: ReleaseHost, name: str) -> ReleaseReport:
    """Bring a catalogue back to the release before the installed one, which is kept for it."""
    with held_catalogue(host, name) as held:
        former = held.pack.find_former()
        if former is None:
            raise NotFoundError(
                f"'{name}' has no release before {held.manifest.version} to go back to; an update"
                " keeps the one before"
            )
        if problem := held.pack.find_fault(former):
            raise StorageError(
                f"'{name}' cannot go back to {former.version}: {problem}. Nothing was changed"
            )
        return _change(held, former, fetched=0)


def _change(held: HeldCatalogue, manifest: Manifest, *, fetched: int) -> ReleaseReport:
    """Change a catalogue to a release whose files are here: merge, commit, settle the files, bring
    the indexes up.
    """
    former, spec = held.manifest.spec, manifest.spec
    if former != spec:
        raise ConflictError(
            f"the release follows the spec '{spec.name}', and the installed one '{former.name}';"
            " nothing was changed. Install it under another name"
        )
    loaded = spec_of_release(held.host, held.pack.read_file(manifest.get_file(SPEC_FILE)), manifest)
    report = ReleaseReport.of(
        manifest, name=held.installed.name, former=held.manifest.version, fetched=fetched
    )
    with closing(open_shelf(held.installed.folder, loaded.spec)) as shelf:
        with shelf.exclusive():
            _commit(shelf, held, manifest, loaded, report)
            with report.noting(
                "the release is installed, and its files are not in order yet; run it again"
            ):
                held.settle(manifest)
            with report.noting(
                "the release is installed, and the index is brought up when it is opened"
            ):
                shelf.publish()
        with report.noting("the release is installed, and new texts have no vector yet"):
            _embed_missing(shelf, held.host, loaded)
    return report


def _commit(
    shelf: CatalogueShelf,
    held: HeldCatalogue,
    manifest: Manifest,
    loaded: LoadedSpec,
    report: ReleaseReport,
) -> None:
    """Write the changes of the release in one transaction. The catalogue is locked for writing."""
    others = shelf.store.ids_last_changed_by_others(AUTHOR_PREFIX)
    before, after = _differences(shelf, held, manifest, loaded.spec)
    changes = merge(shelf, before, after, loaded.spec, report, edited=others)
    is_own = not manifest.spec.is_package
    is_other_spec = is_own and loaded.spec.digest != held.loaded.spec.digest
    held.pack.save_next_spec(loaded.declaration if is_other_spec else None)
    since, mark = shelf.store.change_no(), shelf.store.spec_mark()
    held.pack.save_next(NextRelease(manifest=manifest, since=since, mark=mark))
    switch = Switch(model=manifest.model_id, spec_digest=loaded.spec.digest if is_own else "")
    shelf.apply_release(changes, switch, author=author_of(manifest))  # commit point


def _differences(
    shelf: CatalogueShelf, held: HeldCatalogue, manifest: Manifest, spec: CatalogueSpec
) -> tuple[dict[RecordId, bytes | None], dict[RecordId, PackEntry]]:
    """Return what differs from the installed release, before and after; everything, if its files
    are of no use.

    A record that the release before did not have, or of which it is not known, is None before; one
    that is removed is missing after.
    """
    base, entries = held.manifest, held.pack.iter_entries(manifest)
    if held.pack.find_fault(base):
        reader, after = shelf.reader(), {entry.id: entry for entry in entries}
        known = {
            record_id: None for keys in iter_key_batches(reader) for record_id in reader.ids(keys)
        }
        return {**known, **dict.fromkeys(after)}, after
    former = held.pack.iter_entries(base)
    if base.model_id != manifest.model_id:
        former = (entry._replace(vector=None) for entry in former)  # every vector is another one
    before: dict[RecordId, bytes | None] = {}
    after = {}
    for old, new in iter_differences(former, entries):
        if new is not None:
            before[new.id], after[new.id] = None, new
        if old is not None:
            before[old.id] = encode_record(decode_record(old.id, old.body, spec))
    return before, after


def merge(
    writer: ShelfWriter,
    before: Mapping[RecordId, bytes | None],
    after: Mapping[RecordId, PackEntry],
    spec: CatalogueSpec,
    report: ReleaseReport,
    *,
    edited: AbstractSet[RecordId],
) -> list[Change]:
    """Return the changes to write, and report them.

    A record was edited if it is not as it was before, and is among the `edited` ones.
    """
    ids = sorted(before)
    records = writer.current_or_deleted(ids)
    mine = {
        record_id: encode_record(record)
        for record_id, record in records.items()
        if record is not None
    }
    kept = [
        record_id
        for record_id in ids
        if mine.get(record_id) != before[record_id] and record_id in edited
    ]
    puts = {record_id: entry.build_put(spec) for record_id, entry in after.items()}
    theirs = {record_id: encode_record(put.record) for record_id, put in puts.items()}
    taken = sorted({*ids}.difference(kept))
    written = [record_id for record_id in taken if record_id in puts]
    deleted = [record_id for record_id in taken if record_id in mine.keys() - puts.keys()]
    report.conflicts = [
        str(record_id) for record_id in kept if mine.get(record_id) != theirs.get(record_id)
    ]
    report.written = sum(mine.get(record_id) != theirs[record_id] for record_id in written)
    report.removed = len(deleted)
    return [*(puts[record_id] for record_id in written), *map(Delete, deleted)]


def _embed_missing(shelf: CatalogueShelf, host: ReleaseHost, loaded: LoadedSpec) -> None:
    """Embed the texts that came without a vector, or were edited, where their model is here."""
    model = shelf.store.model()
    if model is None or loaded.spec.embed is None or not shelf.count_unembedded():
        return
    embedder = host.embedder_named(model.name)
    if embedder.model == model and embedder.check() is None:
        with suppress(BusyError), shelf.sole_embedder(wait_s=0):
            LateEmbedding(spec=loaded.spec, writer=shelf, embedder=embedder).run()
