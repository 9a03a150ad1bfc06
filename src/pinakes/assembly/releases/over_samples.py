"""Installing a release in the place of a catalogue's sample data, which came with its package.

The sample records are what the release is merged with: those that were not edited make way, those that were are kept.
Stopped at any point, the same command goes on.
"""

from contextlib import closing
from dataclasses import dataclass

from pinakes.assembly.app import App
from pinakes.assembly.releases.changes import changes_of, note_merged, records_now
from pinakes.assembly.releases.content import ReleaseReader
from pinakes.assembly.releases.held import author_of, holding_release, require_writable, save_release_calibration
from pinakes.assembly.releases.report import ReleaseReport
from pinakes.catalogue.codec import decode_record, encode_record
from pinakes.catalogue.loader import LoadedSpec
from pinakes.errors import ExpectedError, StorageError
from pinakes.ingest.ledger import Ledger
from pinakes.library import LEDGER_FILE, Installed
from pinakes.model.record import RecordId
from pinakes.packs.manifest import Manifest
from pinakes.packs.releases.fetching import BlockFetcher, FetchPlan, iter_ranges
from pinakes.packs.releases.installed_pack import InstalledPack, NextRelease, ReleaseSource
from pinakes.packs.releases.merge import RangeContent, merge
from pinakes.shelf.embedded.shelf import EmbeddedShelf
from pinakes.shelf.embedded.store import Switch


def has_samples_only(app: App, installed: Installed) -> bool:
    """Tell whether all data of a catalogue is what its package brought as samples."""
    if installed.own_declaration is not None or installed.spec_name not in app.packages.names:
        return False
    package = app.package_of(installed)
    return bool(installed.sources) and all(package.is_sample(source) for source in installed.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleReplacement:
    """A release that takes the place of the sample data of an installed catalogue."""

    app: App
    installed: Installed
    loaded: LoadedSpec
    source: ReleaseSource
    manifest: Manifest
    pack: InstalledPack

    def run(self, blocks: BlockFetcher, plan: FetchPlan, report: ReleaseReport) -> None:
        """Fetch the release, and commit it in one transaction."""
        require_writable(self.installed)
        with holding_release(self.installed.folder, self.installed.name):
            self.pack.remove_old_export()
            self.pack.save_next(NextRelease(manifest=self.manifest))
            blocks.bring(plan)
            with closing(EmbeddedShelf.open(self.installed.folder, self.loaded.spec)) as shelf, shelf.exclusive():
                self._commit(shelf, blocks, report)
                with report.noting("the release is installed, and the index is brought up when it is opened"):
                    shelf.publish()

    def _commit(self, shelf: EmbeddedShelf, blocks: BlockFetcher, report: ReleaseReport) -> None:
        with closing(Ledger(self.installed.folder / LEDGER_FILE)) as ledger:
            base = self._read_samples(shelf, ledger)
            reader = ReleaseReader(blocks=blocks, manifest=self.manifest, spec=self.loaded.spec)
            theirs = reader.read_content(iter_ranges(self.manifest))
            ids = sorted({*base.bodies, *theirs.bodies})
            mine = records_now(shelf, ids)
            merged = merge(ids, base=base, theirs=theirs, mine=mine, prefers_theirs=False)
            note_merged(report, merged, theirs, mine)
            changes = changes_of(merged, theirs, self.loaded)
            switch = Switch(model=self.manifest.model_id, spec_digest="")
            shelf.apply_release(changes, switch, author=author_of(self.manifest))  # commit point
            try:
                self._settle(ledger)
            except (ExpectedError, OSError) as error:
                raise StorageError(
                    f"the release is in '{self.installed.name}', and its files are not in order yet: {error}; run the "
                    "same command again"
                ) from error

    def _read_samples(self, shelf: EmbeddedShelf, ledger: Ledger) -> RangeContent:
        """Return the records as the samples gave them; without an edit, as they are now."""
        spec = self.loaded.spec
        bodies: dict[RecordId, bytes] = {}
        for source in self.installed.sources:
            ids = list(ledger.origins(source))
            said = ledger.last_source_records(source, ids)
            bodies |= records_now(shelf, ids)
            bodies |= {one: encode_record(decode_record(one, body, spec)) for one, body in said.items()}
        return RangeContent(bodies=bodies)

    def _settle(self, ledger: Ledger) -> None:
        """Bring the files up to the store. Stopped, the same command does it again."""
        save_release_calibration(self.installed.folder, self.manifest)
        self.pack.save_source(self.source)
        self.pack.settle(self.manifest)
        self.app.library.drop_sources(self.installed)
        for source in self.installed.sources:
            ids = list(ledger.origins(source))
            ledger.forget_origins(source, ids)
            ledger.forget_identities(ids)
