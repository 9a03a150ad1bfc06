"""Installing a catalogue from a release: built in a folder of its own, and visible when it is whole.

Stopped at any point, the same command goes on: files that are here are not fetched again. A release takes the place of
the sample data that came with a package; samples that were edited are kept.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from stackroom.catalogue.codec import decode_record, encode_record
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.errors import BusyError, ConflictError, ExpectedError, InputError, StorageError, UnavailableError
from stackroom.ingest.ledger import Ledger
from stackroom.library import BUILDING_FILE, LEDGER_FILE, PACK_FOLDER, Installed, require_name
from stackroom.model.record import RecordId
from stackroom.net.addresses import shown_address
from stackroom.packs.entries import BATCH_RECORDS, PackEntry
from stackroom.packs.fetch import FetchPlan, ReleaseFetcher, plan_fetch, require_room
from stackroom.packs.held import (
    ReleaseHost,
    author_of,
    holding_release,
    require_writable,
    save_release_calibration,
    spec_of_release,
)
from stackroom.packs.installed import InstalledPack, NextRelease, ReleaseSource
from stackroom.packs.manifest import SPEC_FILE, Manifest
from stackroom.packs.places import FoundRelease, ReleasePlace, find_release, open_place, resolved_location
from stackroom.packs.report import SILENT, ReleaseProgress, ReleaseReport, quality_of, shown_size
from stackroom.packs.update import ReleaseChanges, records_now
from stackroom.shelf.embedded.shelf import INDEX_FOLDER, STORE_FILE, EmbeddedShelf
from stackroom.shelf.embedded.store import Switch

MOST_SPEC_BYTES = 1_000_000
SIDE_FILES = ("", "-wal", "-shm")


def install_release(
    host: ReleaseHost,
    name: str,
    location: str,
    *,
    version: str | None = None,
    key: str = "",
    progress: ReleaseProgress = SILENT,
) -> ReleaseReport:
    """Install a catalogue from a release of a place: the newest, or that of a version."""
    require_name(name)
    source = ReleaseSource(place=resolved_location(location), key=key)
    installed = host.library.find_installed(name)
    if installed is not None and not _has_samples_only(host, installed):
        return _installed_already(installed, source, version)
    found = find_release(open_place(source.place, host.settings), key=key, version=version)
    _require_named(found.manifest, name, found.place)
    if installed is None:
        _require_resumable(host, name)
    pack = InstalledPack(host.library.folder / name / PACK_FOLDER)
    plan = plan_fetch(found, pack, None)
    require_room(pack.folder, plan)
    progress.say(_describe_plan(name, found, plan))
    return _Installation(
        host=host, name=name, source=source, version=version, found=found, pack=pack, plan=plan, progress=progress
    ).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installation:
    """One installation: what is fetched from where, into which folder."""

    host: ReleaseHost
    name: str
    source: ReleaseSource
    version: str | None
    """The version that was asked for."""
    found: FoundRelease
    pack: InstalledPack
    plan: FetchPlan
    progress: ReleaseProgress

    @property
    def _manifest(self) -> Manifest:
        return self.found.manifest

    def run(self) -> ReleaseReport:
        """Fetch, build and make visible."""
        loaded = self._read_spec()
        files = ReleaseFetcher(
            found=self.found,
            pack=self.pack,
            on_fetched=lambda done: self.progress.on_fetched(done, self.plan.size_bytes),
        )
        if (installed := self.host.library.find_installed(self.name)) is not None:
            if _has_samples_only(self.host, installed):
                return self._replace_samples(installed, loaded, files)
            return _installed_already(installed, self.source, self.version)
        place = self._reserve(loaded)
        try:
            with holding_release(place.folder, self.name):
                if (installed := self.host.library.find_installed(self.name)) is not None:  # while this one waited
                    return _installed_already(installed, self.source, self.version)
                self._install(place, loaded, files)
        except (UnavailableError, BusyError):
            raise  # what was fetched is kept: the same command goes on
        except ExpectedError:
            self.host.library.abandon(place)
            raise
        return _report(self.name, self._manifest, fetched=files.fetched_bytes)

    def _read_spec(self) -> LoadedSpec:
        """Return the spec of the release, before anything is written."""
        file = self._manifest.get_file(SPEC_FILE)
        if file.size_bytes > MOST_SPEC_BYTES:
            raise StorageError(f"the spec of the release has {file.size_bytes:,} bytes; at most 1 MB is read")
        return spec_of_release(self.host, self.found.read_small(file), self._manifest)

    def _install(self, place: Installed, loaded: LoadedSpec, files: ReleaseFetcher) -> None:
        """Build the catalogue of a release."""
        self.pack.save_source(self.source)
        self.pack.save_next(NextRelease(manifest=self._manifest))
        files.bring(self.plan)
        self._build(place, loaded)
        save_release_calibration(place.folder, self._manifest)
        self.pack.settle(self._manifest)
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
                for entries in _iter_batches(self.pack.iter_entries(self._manifest)):
                    puts = [entry.build_put(loaded.spec) for entry in entries]
                    shelf.apply(puts, author=author_of(self._manifest))
                    written += len(puts)
                    self.progress.on_written(written, self._manifest.records)
                shelf.publish()

    def _replace_samples(self, samples: Installed, loaded: LoadedSpec, files: ReleaseFetcher) -> ReleaseReport:
        """Install the release in the place of sample data, beside whatever was edited in it."""
        spec = self._manifest.spec
        if not spec.is_package or spec.name != samples.spec_name:
            raise ConflictError(
                f"'{self.name}' has sample data of '{samples.spec_name}', and the release follows the spec "
                f"'{spec.name}'; move {samples.folder} away to install it"
            )
        require_writable(samples)
        report = _report(self.name, self._manifest, fetched=0)
        report.notes.append("it takes the place of the sample data")
        with holding_release(samples.folder, self.name):
            self.pack.save_next(NextRelease(manifest=self._manifest))
            files.bring(self.plan)
            report.fetch_bytes = files.fetched_bytes
            with closing(EmbeddedShelf.open(samples.folder, loaded.spec)) as shelf, shelf.exclusive():
                with closing(Ledger(samples.folder / LEDGER_FILE)) as ledger:
                    self._commit_over_samples(samples, loaded, shelf, ledger, report)
                with report.noting("the release is installed, and the index is brought up when it is opened"):
                    shelf.publish()
        return report

    def _commit_over_samples(
        self, samples: Installed, loaded: LoadedSpec, shelf: EmbeddedShelf, ledger: Ledger, report: ReleaseReport
    ) -> None:
        """Write the changes from the samples, as they came, to the release in one transaction."""
        before = _read_samples(samples, loaded, shelf, ledger)
        after = {entry.id: entry for entry in self.pack.iter_entries(self._manifest)}
        changes = ReleaseChanges(before=before, after=after, ids=tuple(sorted({*before, *after})))
        written = changes.apply_to(shelf, loaded.spec, report)
        switch = Switch(model=self._manifest.model_id, spec_digest="")
        shelf.apply_release(written, switch, author=author_of(self._manifest))  # commit point
        try:
            self._settle_over_samples(samples, ledger)
        except (ExpectedError, OSError) as error:
            raise StorageError(
                f"the release is in '{self.name}', and its files are not in order yet: {error}; run the same command "
                "again"
            ) from error

    def _settle_over_samples(self, samples: Installed, ledger: Ledger) -> None:
        """Bring the files up to the store. Stopped, the same command does it again."""
        save_release_calibration(samples.folder, self._manifest)
        self.pack.save_source(self.source)
        self.pack.settle(self._manifest)
        self.host.library.drop_sources(samples)
        for source in samples.sources:
            ids = list(ledger.origins(source))
            ledger.forget_origins(source, ids)
            ledger.forget_identities(ids)


def _iter_batches(entries: Iterator[PackEntry]) -> Iterator[list[PackEntry]]:
    while batch := list(islice(entries, BATCH_RECORDS)):
        yield batch


def _has_samples_only(host: ReleaseHost, installed: Installed) -> bool:
    """Tell whether all data of a catalogue is what its package brought as samples."""
    if installed.own_declaration is not None or installed.spec_name not in host.packages.names:
        return False
    package = host.packages.get(installed.spec_name)
    return bool(installed.sources) and all(package.is_sample(source) for source in installed.sources)


def _read_samples(
    samples: Installed, loaded: LoadedSpec, shelf: EmbeddedShelf, ledger: Ledger
) -> dict[RecordId, bytes]:
    """Return the records as the samples gave them; without an edit, as they are now."""
    bodies: dict[RecordId, bytes] = {}
    for source in samples.sources:
        ids = list(ledger.origins(source))
        given = ledger.last_source_records(source, ids)
        bodies |= records_now(shelf, ids)
        bodies |= {
            record_id: encode_record(decode_record(record_id, body, loaded.spec)) for record_id, body in given.items()
        }
    return bodies


def _remove_unfinished(place: Installed) -> None:
    for ending in SIDE_FILES:
        (place.folder / f"{STORE_FILE}{ending}").unlink(missing_ok=True)
    shutil.rmtree(place.folder / INDEX_FOLDER, ignore_errors=True)


def _installed_already(installed: Installed, source: ReleaseSource, version: str | None) -> ReleaseReport:
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
            f"key: stackroom update {installed.name} --from PLACE --key KEY"
        )
    if version not in (None, manifest.version):
        raise ConflictError(
            f"'{installed.name}' is installed already, with version {manifest.version}; stackroom update takes the "
            "newest, and stackroom rollback the one before"
        )
    report = _report(installed.name, manifest, fetched=0)
    report.former = manifest.version
    return report


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


def _report(name: str, manifest: Manifest, *, fetched: int) -> ReleaseReport:
    return ReleaseReport(
        catalogue=name,
        version=manifest.version,
        fetch_bytes=fetched,
        written=manifest.records,
        records=manifest.records,
        model=manifest.model,
        quality=quality_of(manifest),
    )


def _describe_plan(name: str, found: FoundRelease, plan: FetchPlan) -> str:
    manifest = found.manifest
    signed = "signed by the given key" if found.is_signed else "not checked by a key"
    return (
        f"{name} {manifest.version} from {found.place.shown}: {manifest.records:,} records, "
        f"{shown_size(plan.size_bytes)} to fetch, {signed}"
    )
