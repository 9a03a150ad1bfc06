"""Updating a catalogue to a newer release of its place, and going back to the one before.

The changes of a release are one transaction of the store, merged with what was edited by hand. Readers see the release
before or the new one, whole; a process that is killed leaves one of the two, and the next update goes on from there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress
from dataclasses import dataclass, field

from stackroom.catalogue.codec import decode_record, encode_record
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError, ConflictError, NotFoundError, StorageError
from stackroom.ingest.embedding import LateEmbedding
from stackroom.library import PACK_FOLDER, Installed
from stackroom.model.record import RecordId
from stackroom.packs.entries import PackEntry, iter_differences
from stackroom.packs.fetch import ReleaseFetcher, plan_fetch
from stackroom.packs.held import (
    AUTHOR_PREFIX,
    SILENT,
    HeldCatalogue,
    ReleaseHost,
    ReleaseProgress,
    ReleaseReport,
    author_of,
    held_catalogue,
    shown_size,
    spec_of_release,
)
from stackroom.packs.installed import InstalledPack, NextRelease
from stackroom.packs.manifest import SPEC_FILE, Manifest
from stackroom.packs.places import FoundRelease, find_release, open_place, require_successor
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.store import Switch
from stackroom.shelf.port import Change, Delete, ShelfWriter, iter_key_batches


def list_released(host: ReleaseHost) -> list[Installed]:
    """Return the catalogues that were installed from a place."""
    catalogues = host.library.list_installed()
    return [catalogue for catalogue in catalogues if InstalledPack(catalogue.folder / PACK_FOLDER).find_source()]


def update_catalogue(
    host: ReleaseHost,
    name: str,
    *,
    progress: ReleaseProgress = SILENT,
) -> ReleaseReport:
    """Bring a catalogue to the newest release of its place; what was edited by hand is kept, or named as a conflict."""
    with held_catalogue(host, name) as held:
        found = find_release(open_place(held.source.place, host.settings), key=held.source.key)
        if not require_successor(found.manifest, held.manifest):
            return _mended(held, found)
        files = plan_fetch(found, held.pack, held.manifest)
        progress.say(_describe_plan(held, files))
        held.pack.save_next(NextRelease(manifest=found.manifest))
        files.bring(progress.on_fetched)
        change = _ReleaseChange(held=held, manifest=found.manifest)
        return change.run(fetched=files.fetched_bytes)


def _mended(held: HeldCatalogue, found: FoundRelease) -> ReleaseReport:
    """Fetch the files of the installed release that are damaged or gone, and report that nothing else changed."""
    report = ReleaseReport.of(held.manifest, name=held.name, former=held.manifest.version)
    if held.manifest.content == found.manifest.content:
        files = plan_fetch(found, held.pack, None)
        files.bring()
        report.fetch_bytes = files.fetched_bytes
    if report.fetch_bytes:
        report.notes.append("files of the installed release were damaged or gone, and fetched again")
    former = held.pack.find_former()
    if former is not None and any(held.pack.check_file(file) for file in former.files):
        held.pack.forget_former()
        report.notes.append(f"files of release {former.version} were damaged, so it cannot be gone back to any more")
    return report


def roll_back(host: ReleaseHost, name: str) -> ReleaseReport:
    """Bring a catalogue back to the release before the installed one, which is kept for it."""
    with held_catalogue(host, name) as held:
        former = held.pack.find_former()
        if former is None:
            raise NotFoundError(
                f"'{name}' has no release before {held.manifest.version} to go back to; an update keeps the one before"
            )
        for file in former.files:
            if (problem := held.pack.check_file(file)) is not None:
                raise StorageError(f"'{name}' cannot go back to {former.version}: {problem}. Nothing was changed")
        return _ReleaseChange(held=held, manifest=former).run(fetched=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReleaseChange:
    """The change of a catalogue from its installed release to another, whose files are here."""

    held: HeldCatalogue
    manifest: Manifest

    def run(self, *, fetched: int) -> ReleaseReport:
        """Merge, commit, and settle the files; then bring the indexes up."""
        loaded = self._require_spec()
        former = self.held.manifest.version
        report = ReleaseReport.of(self.manifest, name=self.held.name, former=former, fetched=fetched)
        with closing(EmbeddedShelf.open(self.held.installed.folder, loaded.spec)) as shelf:
            with shelf.exclusive():
                self._commit(shelf, loaded, report)
                with report.noting("the release is installed, and its files are not in order yet; run it again"):
                    self.held.settle(self.manifest)
                with report.noting("the release is installed, and the index is brought up when it is opened"):
                    shelf.publish()
            with report.noting("the release is installed, and new texts have no vector yet"):
                self._embed_missing(shelf, loaded)
        return report

    def _require_spec(self) -> LoadedSpec:
        """Return the spec of the release; refuse one that follows a package where the installed one does not."""
        former, spec = self.held.manifest.spec, self.manifest.spec
        if (former.is_package, former.name) != (spec.is_package, spec.name):
            raise ConflictError(
                f"the release follows the spec '{spec.name}', and the installed one '{former.name}'; nothing was "
                "changed. Install it under another name"
            )
        declaration = self.held.pack.read_file(self.manifest.get_file(SPEC_FILE))
        return spec_of_release(self.held.host, declaration, self.manifest)

    def _commit(self, shelf: EmbeddedShelf, loaded: LoadedSpec, report: ReleaseReport) -> None:
        """Write the changes of the release in one transaction. The catalogue is locked for writing."""
        others = shelf.store.ids_last_changed_by_others(AUTHOR_PREFIX)
        changes = self._differences(shelf, loaded).apply_to(shelf, loaded.spec, report, edited=others)
        is_own = not self.manifest.spec.is_package
        is_other_spec = is_own and loaded.spec.digest != self.held.loaded.spec.digest
        self.held.pack.save_next_spec(loaded.declaration if is_other_spec else None)
        since, mark = shelf.store.change_no(), shelf.store.spec_mark()
        self.held.pack.save_next(NextRelease(manifest=self.manifest, since=since, mark=mark))
        switch = Switch(model=self.manifest.model_id, spec_digest=loaded.spec.digest if is_own else "")
        shelf.apply_release(changes, switch, author=author_of(self.manifest))  # commit point

    def _differences(self, shelf: EmbeddedShelf, loaded: LoadedSpec) -> "ReleaseChanges":
        """Return what differs from the installed release; everything, if its files are of no use."""
        base, pack = self.held.manifest, self.held.pack
        entries = pack.iter_entries(self.manifest)
        is_whole = not any(pack.check_file(file) for file in base.files)
        if not is_whole:
            return ReleaseChanges.of_everything(_ids_of(shelf), entries)
        old = pack.iter_entries(base)
        if base.model_id != self.manifest.model_id:
            old = (entry._replace(vector=None) for entry in old)  # every vector is another one
        return ReleaseChanges.of(iter_differences(old, entries), loaded.spec)

    def _embed_missing(self, shelf: EmbeddedShelf, loaded: LoadedSpec) -> None:
        """Embed the texts that came without a vector, or were edited, where their model is here."""
        model = shelf.store.model()
        if model is None or loaded.spec.embed is None or not shelf.count_unembedded():
            return
        embedder = self.held.host.embedder_named(model.name)
        if embedder.model == model and embedder.check() is None:
            with suppress(BusyError), shelf.sole_embedder(wait_s=0):
                LateEmbedding(spec=loaded.spec, writer=shelf, embedder=embedder).run()


def _ids_of(shelf: EmbeddedShelf) -> list[RecordId]:
    reader = shelf.reader()
    return [record_id for keys in iter_key_batches(reader) for record_id in reader.ids(keys)]


def _describe_plan(held: HeldCatalogue, files: ReleaseFetcher) -> str:
    manifest = files.found.manifest
    how = "as a patch" if files.has_patches else f"in {len(files.missing)} files"
    return (
        f"{held.name}: {held.manifest.version} → {manifest.version}, {shown_size(files.size_bytes)} to fetch {how} "
        f"(the whole release has {shown_size(manifest.size_bytes)})"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChanges:
    """The records that a release may change: as they were before it, and as it has them."""

    before: Mapping[RecordId, bytes] = field(default_factory=dict)
    """As the installed release has them; a record that is missing here was not there, or it is not known."""
    after: Mapping[RecordId, PackEntry] = field(default_factory=dict)
    """As the new release has them; one that is missing here is removed by it."""
    ids: tuple[RecordId, ...] = ()

    @classmethod
    def of(
        cls, differences: Iterable[tuple[PackEntry | None, PackEntry | None]], spec: CatalogueSpec
    ) -> "ReleaseChanges":
        """Return the differences between two releases."""
        before, after = dict[RecordId, bytes](), dict[RecordId, PackEntry]()
        for old, new in differences:
            if old is not None:
                before[old.id] = encode_record(decode_record(old.id, old.body, spec))
            if new is not None:
                after[new.id] = new
        return cls(before=before, after=after, ids=tuple(sorted({*before, *after})))

    @classmethod
    def of_everything(cls, known: Iterable[RecordId], entries: Iterator[PackEntry]) -> "ReleaseChanges":
        """Return a release over records of which it is not known what the installed release had."""
        after = {entry.id: entry for entry in entries}
        return cls(after=after, ids=tuple(sorted({*known, *after})))

    def apply_to(
        self,
        writer: ShelfWriter,
        spec: CatalogueSpec,
        report: ReleaseReport,
        *,
        edited: AbstractSet[RecordId],
    ) -> list[Change]:
        """Return the changes to write, and report them.

        A record was edited if it is not as it was before, and is among the `edited` ones.
        """
        mine = records_now(writer, self.ids)
        kept = {
            record_id
            for record_id in self.ids
            if mine.get(record_id) != self.before.get(record_id) and record_id in edited
        }
        puts = {record_id: entry.build_put(spec) for record_id, entry in self.after.items()}
        theirs = {record_id: encode_record(put.record) for record_id, put in puts.items()}
        conflicts = [
            record_id for record_id in self.ids if record_id in kept and mine.get(record_id) != theirs.get(record_id)
        ]
        taken = [record_id for record_id in self.ids if record_id not in kept]
        deleted = [record_id for record_id in taken if record_id not in puts and record_id in mine]
        report.conflicts = [str(record_id) for record_id in conflicts]
        report.written = sum(mine.get(record_id) != theirs[record_id] for record_id in taken if record_id in puts)
        report.removed = len(deleted)
        return [*(puts[record_id] for record_id in taken if record_id in puts), *map(Delete, deleted)]


def records_now(writer: ShelfWriter, ids: Sequence[RecordId]) -> dict[RecordId, bytes]:
    """Return the records of these ids that are in the catalogue, in the form in which they are compared."""
    records = writer.current_or_deleted(ids)
    return {record_id: encode_record(record) for record_id, record in records.items() if record is not None}
