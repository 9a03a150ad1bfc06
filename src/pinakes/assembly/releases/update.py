"""Updating a catalogue to a newer release of its place, and going back to the one before.

The changes of a release are one transaction of the store, merged with what was edited by hand. Readers see the release
before or the new one, whole; a process that is killed leaves one of the two, and the next update goes on from there.
"""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass

from pinakes.assembly.app import App
from pinakes.assembly.releases.changes import changes_of, note_merged, records_now
from pinakes.assembly.releases.content import ReleaseReader, read_declaration
from pinakes.assembly.releases.held import HeldCatalogue, author_of, held_catalogue, spec_of_release
from pinakes.assembly.releases.report import SILENT, ReleaseProgress, ReleaseReport, quality_of, shown_size
from pinakes.catalogue.loader import LoadedSpec
from pinakes.errors import BusyError, ConflictError, NotFoundError
from pinakes.ingest.embedding import LateEmbedding
from pinakes.library import PACK_FOLDER, Installed
from pinakes.packs.manifest import Manifest
from pinakes.packs.releases.fetching import BlockFetcher, FetchPlan, needed_blocks, plan_fetch, require_room
from pinakes.packs.releases.installed_pack import InstalledPack, NextRelease, ReleaseSource
from pinakes.packs.releases.merge import RangeContent, changed_ids, changed_ranges, merge
from pinakes.packs.releases.newest import FoundRelease, find_release, require_successor
from pinakes.packs.releases.places import DeferredPlace, ReleasePlace, open_place, resolved_location
from pinakes.shelf.embedded.shelf import EmbeddedShelf
from pinakes.shelf.embedded.store import Switch
from pinakes.shelf.port import Change


def list_released(app: App) -> list[Installed]:
    """Return the catalogues that were installed from a place."""
    return [one for one in app.library.list_installed() if InstalledPack(one.folder / PACK_FOLDER).find_source()]


def check_update(app: App, name: str) -> ReleaseReport:
    """Look for a newer release of a catalogue, and return what an update would fetch; nothing is changed."""
    installed = app.library.get_installed(name)
    pack = InstalledPack(installed.folder / PACK_FOLDER)
    source, manifest = pack.find_source(), pack.find_manifest()
    if source is None or manifest is None:
        raise NotFoundError(f"'{name}' was not installed from a place, so there is nothing to look for")
    found = find_release(open_place(source.place, app.settings), key=source.key)
    report = _report(name, manifest, former=manifest.version)
    if require_successor(found.manifest, manifest):
        report.available = found.manifest.version
        report.fetch_bytes = plan_fetch(found.manifest, pack, manifest).size_bytes
    return report


def update_catalogue(
    app: App,
    name: str,
    *,
    prefers_theirs: bool = False,
    moved_to: ReleaseSource | None = None,
    progress: ReleaseProgress = SILENT,
) -> ReleaseReport:
    """Bring a catalogue to the newest release of its place; what was edited by hand is kept, or named as a conflict.

    With `moved_to`, updates come from another place from now on, or have another key; without a key there, the present
    one stays.
    """
    with held_catalogue(app, name) as held:
        source = _chosen_source(held, moved_to)
        place = open_place(source.place, app.settings)
        found = find_release(place, key=source.key)
        is_newer = require_successor(found.manifest, held.manifest)
        if source != held.source:
            held.pack.save_source(source)
        if not is_newer:
            return _mended(held, found, place)
        plan = plan_fetch(found.manifest, held.pack, held.manifest)
        require_room(held.pack.folder, plan)
        progress.say(_describe_plan(name, held.manifest, found.manifest, plan))
        change = _change_to(held, found, place, plan, prefers_theirs=prefers_theirs, progress=progress)
        held.pack.save_next(NextRelease(manifest=found.manifest))
        change.blocks.bring(plan)
        return change.run(fetched=change.blocks.fetched_bytes)


def _chosen_source(held: HeldCatalogue, moved_to: ReleaseSource | None) -> ReleaseSource:
    if moved_to is None:
        return held.source
    return ReleaseSource(place=resolved_location(moved_to.place), key=moved_to.key or held.source.key)


def _mended(held: HeldCatalogue, found: FoundRelease, place: ReleasePlace) -> ReleaseReport:
    """Fetch the blocks of the installed release that are damaged or gone, and report that nothing else changed."""
    blocks = BlockFetcher(
        place=place, releases=found.releases, manifest=held.manifest, pack=held.pack, installed=held.manifest
    )
    for block in needed_blocks(held.manifest):
        blocks.read(block)
    report = _report(held.installed.name, held.manifest, former=held.manifest.version)
    report.fetch_bytes = blocks.fetched_bytes
    if report.fetch_bytes:
        report.notes.append("files of the installed release were damaged or gone, and fetched again")
    return report


def roll_back(app: App, name: str) -> ReleaseReport:
    """Bring a catalogue back to the release before the installed one, which is kept for it."""
    with held_catalogue(app, name) as held:
        former = held.pack.find_former()
        if former is None:
            raise NotFoundError(f"'{name}' has no release before {held.manifest.version} to go back to")
        place = DeferredPlace(held.source.place, app.settings)
        found, plan = FoundRelease(manifest=former, releases=None), plan_fetch(former, held.pack, held.manifest)
        change = _change_to(held, found, place, plan, prefers_theirs=False, progress=SILENT)
        change.blocks.bring(plan)
        return change.run(fetched=change.blocks.fetched_bytes)


def _change_to(
    held: HeldCatalogue,
    found: FoundRelease,
    place: ReleasePlace,
    plan: FetchPlan,
    *,
    prefers_theirs: bool,
    progress: ReleaseProgress,
) -> "_ReleaseChange":
    blocks = BlockFetcher(
        place=place,
        releases=found.releases,
        manifest=found.manifest,
        pack=held.pack,
        installed=held.manifest,
        on_fetched=lambda done: progress.on_fetched(done, plan.size_bytes),
    )
    return _ReleaseChange(held=held, manifest=found.manifest, blocks=blocks, prefers_theirs=prefers_theirs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReleaseChange:
    """The change of a catalogue from its installed release to another, whose blocks are here."""

    held: HeldCatalogue
    manifest: Manifest
    blocks: BlockFetcher
    prefers_theirs: bool

    def run(self, *, fetched: int) -> ReleaseReport:
        """Merge, commit, and settle the files; then bring the indexes up."""
        loaded = self._require_spec()
        report = _report(self.held.installed.name, self.manifest, former=self.held.manifest.version)
        report.fetch_bytes = fetched
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
        return spec_of_release(self.held.app, read_declaration(self.blocks.read, self.manifest), self.manifest)

    def _commit(self, shelf: EmbeddedShelf, loaded: LoadedSpec, report: ReleaseReport) -> None:
        """Write the changes of the release in one transaction. The catalogue is locked for writing."""
        changes = self._merged(shelf, loaded, report)
        is_own = not self.manifest.spec.is_package
        is_other_spec = is_own and loaded.spec.digest != self.held.loaded.spec.digest
        self.held.pack.save_next_spec(loaded.declaration if is_other_spec else None)
        since, mark = shelf.store.change_no(), shelf.store.spec_mark()
        self.held.pack.save_next(NextRelease(manifest=self.manifest, since=since, mark=mark))
        switch = Switch(model=self.manifest.model_id, spec_digest=loaded.spec.digest if is_own else "")
        shelf.apply_release(changes, switch, author=author_of(self.manifest))  # commit point

    def _merged(self, shelf: EmbeddedShelf, loaded: LoadedSpec, report: ReleaseReport) -> Sequence[Change]:
        base, theirs = self._read_sides(loaded)
        is_other_model = self.held.manifest.model_id != self.manifest.model_id
        ids = changed_ids(base, theirs, is_other_model=is_other_model)
        mine = records_now(shelf, ids)
        merged = merge(ids, base=base, theirs=theirs, mine=mine, prefers_theirs=self.prefers_theirs)
        note_merged(report, merged, theirs, mine)
        return changes_of(merged, theirs, loaded)

    def _read_sides(self, loaded: LoadedSpec) -> tuple[RangeContent, RangeContent]:
        """Return the ranges that differ, of the installed release and of the other one."""
        base, theirs = self.held.manifest, self.manifest
        of_base = ReleaseReader(blocks=self.blocks, manifest=base, spec=loaded.spec, is_trusted=True)
        of_theirs = ReleaseReader(blocks=self.blocks, manifest=theirs, spec=loaded.spec)
        return (
            of_base.read_content(changed_ranges(base, theirs)),
            of_theirs.read_content(changed_ranges(theirs, base)),
        )

    def _embed_missing(self, shelf: EmbeddedShelf, loaded: LoadedSpec) -> None:
        """Embed the texts that came without a vector, or were edited, where their model is here."""
        model = shelf.store.model()
        if model is None or loaded.spec.embed is None or not shelf.count_unembedded():
            return
        embedder = self.held.app.embedder_named(model.name)
        if embedder.model == model and embedder.check() is None:
            with suppress(BusyError), shelf.sole_embedder(wait_s=0):
                LateEmbedding(spec=loaded.spec, writer=shelf, embedder=embedder).run()


def _report(name: str, manifest: Manifest, *, former: str) -> ReleaseReport:
    return ReleaseReport(
        catalogue=name,
        version=manifest.version,
        former=former,
        records=manifest.records,
        model=manifest.model,
        quality=quality_of(manifest),
    )


def _describe_plan(name: str, installed: Manifest, manifest: Manifest, plan: FetchPlan) -> str:
    how = "as a delta" if plan.delta else f"in {len(plan.missing)} blocks"
    return (
        f"{name}: {installed.version} → {manifest.version}, {shown_size(plan.size_bytes)} to fetch {how} "
        f"(the whole release has {shown_size(manifest.size_bytes)})"
    )
