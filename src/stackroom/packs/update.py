"""Updating a catalogue to a newer release of its place, and going back to the one before.

The changes of a release are one transaction of the store, merged with what was edited by hand. Readers see the release
before or the new one, whole; a process that is killed leaves one of the two, and the next update goes on from there.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress

from stackroom.catalogue.codec import decode_record, encode_record
from stackroom.catalogue.compiler import LoadedSpec
from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import BusyError, ConflictError, NotFoundError, StorageError
from stackroom.ingest.embedding import LateEmbedding
from stackroom.library import PACK_FOLDER, Installed
from stackroom.model.record import RecordId
from stackroom.packs.entries import PackEntry, iter_differences
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
from stackroom.packs.places import FoundRelease, find_release, open_place, plan_fetch, require_successor
from stackroom.shelf.embedded.shelf import EmbeddedShelf
from stackroom.shelf.embedded.store import Switch
from stackroom.shelf.port import Change, Delete, ShelfWriter, iter_key_batches


def list_released(host: ReleaseHost) -> list[Installed]:
    """Return the catalogues that were installed from a place."""
    catalogues = host.library.list_installed()
    return [catalogue for catalogue in catalogues if InstalledPack(catalogue.folder / PACK_FOLDER).find_source()]


def update_catalogue(host: ReleaseHost, name: str, *, progress: ReleaseProgress = SILENT) -> ReleaseReport:
    """Bring a catalogue to the newest release of its place; what was edited by hand is kept, or named as a conflict."""
    with held_catalogue(host, name) as held:
        found = find_release(open_place(held.source.place, host.settings), key=held.source.key)
        if not require_successor(found.manifest, held.manifest):
            return _mended(held, found)
        files, manifest = plan_fetch(found, held.pack, held.manifest), found.manifest
        how = "as a patch" if any(missing.patch for missing in files.missing) else f"in {len(files.missing)} files"
        progress.say(
            f"{name}: {held.manifest.version} → {manifest.version}, {shown_size(files.size_bytes)} to fetch {how} "
            f"(the whole release has {shown_size(manifest.size_bytes)})"
        )
        held.pack.save_next(NextRelease(manifest=manifest))
        files.bring(progress.on_fetched)
        return _change(held, manifest, fetched=files.fetched_bytes)


def _mended(held: HeldCatalogue, found: FoundRelease) -> ReleaseReport:
    """Fetch the files of the installed release that are damaged or gone, and report that nothing else changed."""
    report = ReleaseReport.of(held.manifest, name=held.installed.name, former=held.manifest.version)
    if held.manifest.content == found.manifest.content:
        files = plan_fetch(found, held.pack, None)
        files.bring()
        report.fetch_bytes = files.fetched_bytes
    if report.fetch_bytes:
        report.notes.append("files of the installed release were damaged or gone, and fetched again")
    former = held.pack.find_former()
    if former is not None and held.pack.find_fault(former):
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
        if problem := held.pack.find_fault(former):
            raise StorageError(f"'{name}' cannot go back to {former.version}: {problem}. Nothing was changed")
        return _change(held, former, fetched=0)


def _change(held: HeldCatalogue, manifest: Manifest, *, fetched: int) -> ReleaseReport:
    """Change a catalogue to a release whose files are here: merge, commit, settle the files, bring the indexes up."""
    loaded = _require_spec(held, manifest)
    report = ReleaseReport.of(manifest, name=held.installed.name, former=held.manifest.version, fetched=fetched)
    with closing(EmbeddedShelf.open(held.installed.folder, loaded.spec)) as shelf:
        with shelf.exclusive():
            _commit(shelf, held, manifest, loaded, report)
            with report.noting("the release is installed, and its files are not in order yet; run it again"):
                held.settle(manifest)
            with report.noting("the release is installed, and the index is brought up when it is opened"):
                shelf.publish()
        with report.noting("the release is installed, and new texts have no vector yet"):
            _embed_missing(shelf, held.host, loaded)
    return report


def _require_spec(held: HeldCatalogue, manifest: Manifest) -> LoadedSpec:
    """Return the spec of the release; refuse one that follows a package where the installed one does not."""
    former, spec = held.manifest.spec, manifest.spec
    if former != spec:
        raise ConflictError(
            f"the release follows the spec '{spec.name}', and the installed one '{former.name}'; nothing was "
            "changed. Install it under another name"
        )
    return spec_of_release(held.host, held.pack.read_file(manifest.get_file(SPEC_FILE)), manifest)


def _commit(
    shelf: EmbeddedShelf, held: HeldCatalogue, manifest: Manifest, loaded: LoadedSpec, report: ReleaseReport
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
    shelf: EmbeddedShelf, held: HeldCatalogue, manifest: Manifest, spec: CatalogueSpec
) -> tuple[dict[RecordId, bytes | None], dict[RecordId, PackEntry]]:
    """Return what differs from the installed release, before and after; everything, if its files are of no use.

    A record that the release before did not have, or of which it is not known, is None before; one that is removed is
    missing after.
    """
    base, entries = held.manifest, held.pack.iter_entries(manifest)
    if held.pack.find_fault(base):
        reader, after = shelf.reader(), {entry.id: entry for entry in entries}
        known = {record_id: None for keys in iter_key_batches(reader) for record_id in reader.ids(keys)}
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
    mine = {record_id: encode_record(record) for record_id, record in records.items() if record is not None}
    kept = [record_id for record_id in ids if mine.get(record_id) != before[record_id] and record_id in edited]
    puts = {record_id: entry.build_put(spec) for record_id, entry in after.items()}
    theirs = {record_id: encode_record(put.record) for record_id, put in puts.items()}
    taken = sorted({*ids}.difference(kept))
    written = [record_id for record_id in taken if record_id in puts]
    deleted = [record_id for record_id in taken if record_id not in puts and record_id in mine]
    report.conflicts = [str(record_id) for record_id in kept if mine.get(record_id) != theirs.get(record_id)]
    report.written = sum(mine.get(record_id) != theirs[record_id] for record_id in written)
    report.removed = len(deleted)
    return [*(puts[record_id] for record_id in written), *map(Delete, deleted)]


def _embed_missing(shelf: EmbeddedShelf, host: ReleaseHost, loaded: LoadedSpec) -> None:
    """Embed the texts that came without a vector, or were edited, where their model is here."""
    model = shelf.store.model()
    if model is None or loaded.spec.embed is None or not shelf.count_unembedded():
        return
    embedder = host.embedder_named(model.name)
    if embedder.model == model and embedder.check() is None:
        with suppress(BusyError), shelf.sole_embedder(wait_s=0):
            LateEmbedding(spec=loaded.spec, writer=shelf, embedder=embedder).run()
