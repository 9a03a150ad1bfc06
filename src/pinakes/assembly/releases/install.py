"""Installing a catalogue from a release: built in a folder of its own, and visible when it is whole.

Stopped at any point, the same command goes on: blocks that are here are not fetched again.
"""

import shutil
from contextlib import closing
from dataclasses import dataclass

from pinakes.assembly.app import App
from pinakes.assembly.map_making import keep_map
from pinakes.assembly.releases.content import ReleaseReader, read_declaration
from pinakes.assembly.releases.held import author_of, holding_release, save_release_calibration, spec_of_release
from pinakes.assembly.releases.over_samples import SampleReplacement, has_samples_only
from pinakes.assembly.releases.report import SILENT, ReleaseProgress, ReleaseReport, quality_of, shown_size
from pinakes.catalogue.loader import LoadedSpec
from pinakes.errors import BusyError, ConflictError, ExpectedError, InputError, StorageError, UnavailableError
from pinakes.library import BUILDING_FILE, PACK_FOLDER, Installed, require_name
from pinakes.net.shown import shown_address
from pinakes.packs.manifest import Manifest
from pinakes.packs.releases.fetching import BlockFetcher, FetchPlan, iter_ranges, plan_fetch, require_room
from pinakes.packs.releases.installed_pack import InstalledPack, NextRelease, ReleaseSource
from pinakes.packs.releases.newest import FoundRelease, find_release
from pinakes.packs.releases.places import ReleasePlace, open_place, resolved_location
from pinakes.shelf.embedded.shelf import INDEX_FOLDER, STORE_FILE, EmbeddedShelf
from pinakes.shelf.embedded.transfer import SIDE_FILES


def install_release(
    app: App,
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
    installed = app.library.find_installed(name)
    if installed is not None and not has_samples_only(app, installed):
        return _installed_already(installed, source, version)
    place = open_place(source.place, app.settings)
    found = find_release(place, key=key, version=version)
    _require_named(found.manifest, name, place)
    if installed is None:
        _require_resumable(app, name)
    pack = InstalledPack(app.library.folder / name / PACK_FOLDER)
    plan = plan_fetch(found.manifest, pack, None)
    require_room(pack.folder, plan)
    progress.say(_describe_plan(name, found, plan, place))
    return _Installation(
        app=app, name=name, source=source, version=version, found=found, place=place, pack=pack, plan=plan
    ).run(progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Installation:
    """One installation: what is fetched from where, into which folder."""

    app: App
    name: str
    source: ReleaseSource
    version: str | None
    """The version that was asked for."""
    found: FoundRelease
    place: ReleasePlace
    pack: InstalledPack
    plan: FetchPlan

    def run(self, progress: ReleaseProgress) -> ReleaseReport:
        """Fetch, build and make visible."""
        manifest = self.found.manifest
        blocks = BlockFetcher(
            place=self.place,
            releases=self.found.releases,
            manifest=manifest,
            pack=self.pack,
            installed=None,
            on_fetched=lambda done: progress.on_fetched(done, self.plan.size_bytes),
        )
        loaded = spec_of_release(self.app, read_declaration(blocks.read_ahead, manifest), manifest)
        if (installed := self.app.library.find_installed(self.name)) is not None:
            if has_samples_only(self.app, installed):
                return self._replace_samples(installed, loaded, blocks)
            return _installed_already(installed, self.source, self.version)
        place = self._reserve(loaded)
        try:
            with holding_release(place.folder, self.name):
                if (installed := self.app.library.find_installed(self.name)) is not None:  # while this one waited
                    return _installed_already(installed, self.source, self.version)
                problem = self._install(place, loaded, blocks, progress)
        except (UnavailableError, BusyError):
            raise  # what was fetched is kept: the same command goes on
        except ExpectedError:
            self.app.library.abandon(place)
            raise
        report = _report(self.name, manifest, fetched=blocks.fetched_bytes)
        report.notes += [problem] if problem is not None else []
        return report

    def _replace_samples(self, samples: Installed, loaded: LoadedSpec, blocks: BlockFetcher) -> ReleaseReport:
        """Install the release in the place of sample data, beside whatever was edited in it."""
        manifest = self.found.manifest
        if not manifest.spec.is_package or manifest.spec.name != samples.spec_name:
            raise ConflictError(
                f"'{self.name}' has sample data of '{samples.spec_name}', and the release follows the spec "
                f"'{manifest.spec.name}'; move {samples.folder} away to install it"
            )
        report = _report(self.name, manifest, fetched=0)
        SampleReplacement(
            app=self.app, installed=samples, loaded=loaded, source=self.source, manifest=manifest, pack=self.pack
        ).run(blocks, self.plan, report)
        report.fetch_bytes = blocks.fetched_bytes
        report.notes.append("it takes the place of the sample data")
        return report

    def _install(
        self, place: Installed, loaded: LoadedSpec, blocks: BlockFetcher, progress: ReleaseProgress
    ) -> str | None:
        """Build the catalogue of a release; return why its map could not be kept."""
        manifest = self.found.manifest
        self.pack.save_source(self.source)
        self.pack.save_next(NextRelease(manifest=manifest))
        blocks.bring(self.plan)
        self._build(place, loaded, blocks, progress)
        save_release_calibration(place.folder, manifest)
        self.pack.settle(manifest)
        self.app.library.complete(place, source=None)  # commit point: it is installed from here on
        return keep_map(place, lambda: closing(EmbeddedShelf.open(place.folder, loaded.spec)))

    def _reserve(self, loaded: LoadedSpec) -> Installed:
        """Return the folder to build in, which is not listed before it is complete."""
        is_package = self.found.manifest.spec.is_package
        return self.app.library.reserve(
            self.name,
            loaded.spec.name,
            declaration=None if is_package else loaded.declaration,
            is_package_name=is_package,
        )

    def _build(self, place: Installed, loaded: LoadedSpec, blocks: BlockFetcher, progress: ReleaseProgress) -> None:
        """Write all records with their vectors, and index them; what a stopped installation wrote is written anew."""
        manifest = self.found.manifest
        _remove_unfinished(place)
        reader = ReleaseReader(blocks=blocks, manifest=manifest, spec=loaded.spec)
        with closing(EmbeddedShelf.create(place.folder, loaded.spec, model=manifest.model_id)) as shelf:
            written = 0
            with shelf.exclusive():
                for puts in reader.iter_puts(iter_ranges(manifest)):
                    shelf.apply(puts, author=author_of(manifest))
                    written += len(puts)
                    progress.on_written(written, manifest.records)
                shelf.publish()


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
            f"key: pinakes update {installed.name} --from PLACE --key KEY"
        )
    if version not in (None, manifest.version):
        raise ConflictError(
            f"'{installed.name}' is installed already, with version {manifest.version}; pinakes update takes the "
            "newest, and pinakes rollback the one before"
        )
    report = _report(installed.name, manifest, fetched=0)
    report.former = manifest.version
    return report


def _require_named(manifest: Manifest, name: str, place: ReleasePlace) -> None:
    if manifest.catalogue != name:
        raise InputError(
            f"{place.shown} has releases of '{manifest.catalogue}', not of '{name}'; "
            f"to install it: pinakes init {manifest.catalogue} --from {place.shown}"
        )


def _require_resumable(app: App, name: str) -> None:
    """Refuse a folder that something else than an installation from a place left unfinished."""
    folder = app.library.folder / name
    if not folder.is_dir():
        return
    if (problem := app.library.check().get(name)) is not None:
        raise StorageError(problem)
    is_build = (folder / BUILDING_FILE).is_file() and (folder / STORE_FILE).is_file()
    if is_build and InstalledPack(folder / PACK_FOLDER).find_source() is None:
        raise ConflictError(
            f"'{name}' is being built by pinakes add, or was stopped; finish that, or move {folder} away"
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


def _describe_plan(name: str, found: FoundRelease, plan: FetchPlan, place: ReleasePlace) -> str:
    manifest = found.manifest
    signed = "signed by the given key" if found.is_signed else "not checked by a key"
    return (
        f"{name} {manifest.version} from {place.shown}: {manifest.records:,} records, "
        f"{shown_size(plan.size_bytes)} to fetch, {signed}"
    )
