"""Build catalogues: a source in, a catalogue in the library out. An order is the source that
somebody wants to add, as what they gave says.
"""

from __future__ import annotations

import importlib.resources
import re
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stackroom.assembly.model_choice import embed_beside, get_embedder, keep_calibration, want_model
from stackroom.assembly.workshop import Workshop, with_own_words
from stackroom.catalogue.compiler import LoadedSpec, load_spec
from stackroom.embed.port import Embedder
from stackroom.errors import ExpectedError, InputError, ModelError, RegressionError, StorageError
from stackroom.frozen import frozen
from stackroom.ingest.edits.relations import describe_dangling, find_dangling
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.mapping import RowMapping, build_mapping, mapping_of_source
from stackroom.ingest.pipeline import (
    UNREQUESTED,
    IngestReport,
    IngestRequest,
    Progress,
    Target,
    embed_late,
    ingest_rows,
    remove_source,
)
from stackroom.ingest.proposal import name_of
from stackroom.library import CALIBRATION_FILE, LEDGER_FILE, QUESTIONS_FILE, Installed, require_name
from stackroom.maps.making import keep_map
from stackroom.model.scope import WHOLE
from stackroom.net.addresses import shown_address
from stackroom.packages import CataloguePackage, load_target
from stackroom.search.catalogue_embedder import CatalogueEmbedder
from stackroom.search.evidence import find_calibration
from stackroom.settings import SCHEMES
from stackroom.shelf.opening import create_shelf, load_postgres
from stackroom.shelf.port import BuildableShelf, ShelfReader
from stackroom.shelf.store_place import StorePlace
from stackroom.sources.compressed import find_path
from stackroom.sources.export_rows import ExportRows, is_export
from stackroom.sources.location import (
    NO_OPTIONS,
    ReadOptions,
    SourceLocation,
    flag,
    is_same_location,
    is_same_table,
)
from stackroom.sources.opener import (
    is_table_file,
    list_tables,
    open_file,
    open_related,
    open_source,
)
from stackroom.sources.port import RowSource

OPEN_WEB_FILE = "stackroom.sources.web_file:open_web_file"
WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
DATABASE_ADDRESS = re.compile(r"(postgres|mysql|mariadb)[\w+]*://", re.IGNORECASE)


def open_rows(
    package: CataloguePackage | None,
    location: str,
    *,
    options: ReadOptions = NO_OPTIONS,
    workshop: Workshop | None = None,
) -> RowSource:
    """Return the source at a location; a package may read some in its own way, and a workshop
    others than files.
    """
    folder = find_path(location)
    if folder is not None and is_export(folder):
        options.require_only((), location=location)
        return ExportRows(folder)
    own = package.open_rows(location) if package else None
    if package and own is not None and options.given:
        raise InputError(
            f"{location}: a catalogue of '{package.name}' reads it whole, in a way of its own; "
            f"{', '.join(map(flag, options.given))} can be given where it is read without --as"
        )
    providing = partial(open_provider, workshop) if workshop else None
    return own or open_source(location, options=options, open_provider=providing)


def open_provider(
    workshop: Workshop, location: str, options: ReadOptions = NO_OPTIONS
) -> RowSource | None:
    """Return the source of a web file or a provider's query; None for any other."""
    if DATABASE_ADDRESS.match(location):
        raise InputError(
            f"{shown_address(location)}: tables of a database server are not read; write the table"
            " to a file, as by psql's \\copy TABLE TO 'table.csv' CSV HEADER, and add that"
        )
    if WEB_ADDRESS.match(location):
        return cast(RowSource, load_target(OPEN_WEB_FILE)(location, options, workshop.settings))
    if location.partition("://")[0] in SCHEMES and "://" in location:
        raise InputError(
            f"{location} is in a bucket, from which LanceDB tables can be read, and no files. For"
            f" the collections of a database, run: stackroom sync {location}; for one of them, add"
            " --only NAME"
        )
    prefix, colon, query = location.partition(":")
    if (provider := workshop.packages.find_provider(prefix) if colon else None) is None:
        return None
    options.require_only((), location=location)
    return provider(query, workshop.settings)


if TYPE_CHECKING:
    from stackroom.grading.graded_catalogue import UpdateGuard

MOVING = "stackroom.shelf.postgres.move"
# loaded for catalogues that were graded: it searches
FIND_GUARD = "stackroom.grading.graded_catalogue:find_guard"
SAMPLES_REPLACED = "the sample data was replaced: {} sample records were removed"
READ_OTHERWISE = "the table is read with other options; removed records of the former reading: {}"
WAIT_S = 10.0  # how long the update of a graded catalogue waits for another process that embeds


@frozen
class Recipe:
    """Everything needed to build a catalogue: its spec, how rows become records, and the package
    that it follows.
    """

    loaded: LoadedSpec
    mapping: RowMapping
    package: CataloguePackage | None = None

    @property
    def is_own(self) -> bool:
        """Whether the spec is the user's own."""
        return self.package is None

    @property
    def spec_name(self) -> str:
        """The name of the spec."""
        return self.loaded.spec.name


def package_recipe(package: CataloguePackage) -> Recipe:
    """Return the recipe of a catalogue package; without a mapping of its own, rows are mapped as
    its spec says.
    """
    return Recipe(
        loaded=package.loaded,
        mapping=package.mapping or build_mapping(package.spec),
        package=package,
    )


def own_recipe(loaded: LoadedSpec) -> Recipe:
    """Return the recipe of a user's own spec."""
    return Recipe(loaded=loaded, mapping=build_mapping(loaded.spec))


def _choose_main(
    locations: Sequence[str], options: ReadOptions, spec_name: str | None
) -> tuple[str, ReadOptions]:
    """Return the location to read, and how; several tables are joined to one, unless for a package
    or of an export.
    """
    location = locations[0]
    if not location.strip():
        raise InputError("LOCATION is empty; give a file, a folder or a provider's query")
    folder = find_path(location)
    if (
        len(locations) == 1
        and not spec_name
        and folder
        and folder.is_dir()
        and not is_export(folder)
    ):
        locations = list_tables(folder) or locations
    if len(locations) == 1 and (folder is not None or "*" not in location or ":" in location):
        return locations[0], options
    files = list(map(Path, dict.fromkeys(locations)))
    if wrong := next(
        (file for file in files if not is_table_file(file) or find_path(str(file)) is None), None
    ):
        raise InputError(
            f"{shown_address(str(wrong))}: no file of a table; one location is added at a time, or"
            " several files with tables that belong together"
        )
    main = open_related(open_file(files[0], options), files[1:], is_chosen=False)
    return main.location, replace(options, join=main.joined_files)


@frozen
class Order:
    """A source to add, the catalogue's name, and the recipe of --as or --spec."""

    location: str
    source: RowSource
    name: str
    recipe: Recipe | None


def read_order(
    workshop: Workshop,
    locations: Sequence[str],
    *,
    spec_name: str | None = None,
    spec_file: Path | None = None,
    name: str | None = None,
    options: ReadOptions = NO_OPTIONS,
) -> Order:
    """Open what the arguments name; refuse those that do not go together."""
    if name is not None:
        require_name(name)
    location, options = _choose_main(locations, options, spec_name)
    folder = find_path(location)
    if spec_name is None and spec_file is None and folder is not None and folder.is_dir():
        if is_export(folder):
            exported = ExportRows(folder)
            is_package = exported.spec_name in workshop.packages.names
            name = name or exported.catalogue
            spec_name, spec_file = (
                (exported.spec_name, None) if is_package else (None, exported.declaration)
            )
        else:
            if (reader := workshop.packages.find_folder_reader()) is None:
                known = ", ".join(workshop.packages.names)
                raise InputError(
                    f"no installed package reads folders; choose one with --as: {known}"
                )
            spec_name, name = reader.name, name or name_of(location)
    if (package := workshop.packages.get(spec_name) if spec_name else None) and spec_file:
        raise InputError(
            "give the layout of a package (--as) or a spec of your own (--spec), not both"
        )
    recipe = (
        package_recipe(package)
        if package
        else own_recipe(load_spec(spec_file))
        if spec_file
        else None
    )
    chosen = name or (recipe.spec_name if recipe else name_of(location, table=options.table))
    reading = _remembered_options(workshop, chosen, location, options)
    source = open_rows(package, location, options=reading, workshop=workshop)
    return Order(location=location, source=source, name=chosen, recipe=recipe)


def _remembered_options(
    workshop: Workshop, name: str, location: str, options: ReadOptions
) -> ReadOptions:
    """Return the options given, or those that a catalogue's one table at this location was last
    read with.
    """
    installed = workshop.library.find_installed(name)
    if options.given or installed is None or installed.own_declaration is None:
        return options
    known = [SourceLocation.parse(source) for source in installed.sources]
    same = [one.options for one in known if is_same_location(one.location, location)]
    return same[0] if len(same) == 1 else options


def add_catalogue(
    workshop: Workshop,
    source: RowSource,
    *,
    recipe: Recipe,
    name: str,
    progress: Progress,
    embed: bool = True,
    request: IngestRequest = UNREQUESTED,
    replaces_samples: bool = False,
    model: str | None = None,
    force: bool = False,
    replaces: bool = False,
    store: StorePlace | None = None,
) -> IngestReport:
    """Build a catalogue from a source, in a database where a store is given, or update an installed
    one from it.

    With `replaces`, the source takes the place of the only one that the catalogue has, with
    `replaces_samples` that of its sample data; edits by hand stay. With another `model` than that
    of its vectors, all texts are embedded anew first, while readers go on with the former ones. The
    update of a graded catalogue that answers worse than before is undone and refused, unless it is
    made by `force` or for single rows that were requested.
    """
    if (known := workshop.library.find_installed(name)) is not None:
        recipe = replace(recipe, loaded=with_own_words(recipe.loaded, known))
    adopted = _find_adopted(known, source) if replaces else None
    spec = recipe.loaded.spec
    embedder = _choose_embedder(workshop, recipe, known, model) if embed and spec.embed else None
    is_graded = known is not None and (known.folder / QUESTIONS_FILE).is_file()
    is_guarded = is_graded and not force and request is UNREQUESTED
    guard: UpdateGuard | None = load_target(FIND_GUARD)(workshop, name) if is_guarded else None
    moving = None if store is None else load_postgres(MOVING)
    if moving is not None:
        moving.require_place(workshop.library, name, store)
    with closing(guard) if guard is not None else nullcontext():
        place = workshop.library.reserve(
            name,
            recipe.spec_name,
            declaration=recipe.loaded.declaration if recipe.is_own else None,
            is_package_name=recipe.spec_name in workshop.packages.names,
        )
        place = replace(place, model=model or place.model)
        if moving is not None:
            moving.start_in_database(workshop.library, place, store)
        before = embed_beside(place, spec, embedder, progress) if embedder is not None else 0
        shelf = create_shelf(place.folder, spec, model=embedder.model if embedder else None)
        update = _Update(
            workshop,
            source,
            recipe,
            place,
            shelf,
            embedder,
            request,
            guard,
            adopted,
            replaces_samples=replaces_samples,
        )
        is_abandoned = False
        try:
            report = update.run(progress)
            if embedder is not None and (problem := keep_map(place.folder, shelf)) is not None:
                report.notes.append(problem)
        except ExpectedError:
            is_abandoned = shelf.is_empty()
            raise
        finally:
            shelf.close()  # writes a checksum, so a folder that is removed goes after it
            if is_abandoned:
                if moving is not None and known is None:
                    moving.drop_tables(store)
                workshop.library.abandon(place)
    report.embedded += before
    return report


@dataclass(frozen=True, slots=True)
class _Update:
    """One update of a catalogue from a source, on its open shelf."""

    workshop: Workshop
    source: RowSource
    recipe: Recipe
    place: Installed
    shelf: BuildableShelf
    embedder: Embedder | None
    request: IngestRequest
    guard: UpdateGuard | None
    adopted: str | None  # the source whose place this one takes
    replaces_samples: bool = field(kw_only=True)

    def run(self, progress: Progress) -> IngestReport:
        """Write what has changed, then embed and derive the rest; that of a graded catalogue is
        judged unseen.
        """
        if self.guard is not None:
            return self._run_guarded(self.guard, progress)
        with closing(Ledger(self.place.folder / LEDGER_FILE)) as ledger:
            target = self._target(ledger)
            with self.shelf.writer().exclusive():
                report = self._write(target, ledger, progress)
            embed_late(target.writer, target.spec, target.embedder, report, progress=progress)
        self._derive(self.shelf.reader(), report)
        return report

    def _run_guarded(self, guard: UpdateGuard, progress: Progress) -> IngestReport:
        writer = self.shelf.writer()
        try:
            with writer.sole_embedder(wait_s=WAIT_S), writer.exclusive():
                last = self.shelf.history().list_changes(limit=1)
                guard.begin()
                with self.shelf.withheld():
                    try:
                        with closing(Ledger(self.place.folder / LEDGER_FILE)) as ledger:
                            report = self._write(self._target(ledger), ledger, progress)
                    except RegressionError:
                        since = last[0].change_no if last else 0
                        guard.undo(self.shelf, since=since, author=self.request.author)
                        raise
                    self._derive(self.shelf.reader(), report)
                    return report
        except RegressionError:
            guard.publish_former()
            raise

    def _write(self, target: Target, ledger: Ledger, progress: Progress) -> IngestReport:
        """Write the rows, and make the catalogue visible as a whole; where it fails, an adopted
        source is as it was.
        """
        if self.adopted is not None:
            ledger.rename_source(self.adopted, self.source.name)
        try:
            return self._write_rows(target, ledger, progress)
        except BaseException:
            if self.adopted is not None:
                ledger.rename_source(self.source.name, self.adopted)
            raise

    def _write_rows(self, target: Target, ledger: Ledger, progress: Progress) -> IngestReport:
        source, place, spec = self.source, self.place, self.recipe.loaded.spec
        report = _ingested(
            source, target, self.shelf, is_known=source.name in place.sources, progress=progress
        )
        package = self.recipe.package
        is_own = (
            package is not None and self.replaces_samples and not package.is_sample(source.name)
        )
        samples = [one for one in place.sources if is_own and package and package.is_sample(one)]
        former = [
            one for one in place.sources if one != source.name and is_same_table(one, source.name)
        ]
        for replaced, note in ((samples, SAMPLES_REPLACED), (former, READ_OTHERWISE)):
            if replaced:
                report = _replace_sources(
                    replaced, source, target, self.shelf, report=report, note=note
                )
                kept = (one for one in place.sources if one not in replaced or ledger.origins(one))
                place = replace(place, sources=tuple(kept))
        if self.guard is not None:
            embed_late(target.writer, target.spec, target.embedder, report, progress=progress)
            self.guard.require_no_regression(self.shelf.reader(), spec, report, self.embedder)
        dangling = find_dangling(self.shelf.reader(), spec)
        report.dangling = len(dangling)
        report.notes += describe_dangling(dangling)
        if package is not None:
            package.keep_files(source.name, place.folder)
        sources = tuple(one for one in place.sources if one != self.adopted)
        self.workshop.library.complete(replace(place, sources=sources), source=source.name)
        return report

    def _target(self, ledger: Ledger) -> Target:
        spec = self.recipe.loaded.spec
        return Target(
            spec=spec,
            mapping=mapping_of_source(self.recipe.mapping, spec, self.source.name),
            writer=self.shelf.writer(),
            ledger=ledger,
            embedder=self.embedder,
            request=self.request,
        )

    def _derive(self, reader: ShelfReader, report: IngestReport) -> None:
        """Measure the calibration, unless it is that of the records already."""
        if (embedder := self.embedder) is None:
            return
        measured_by = CatalogueEmbedder(self.shelf, lambda _model: embedder)
        try:
            known = find_calibration(self.place.folder / CALIBRATION_FILE)
        except StorageError:
            known = None
        is_measured = known is not None and known.model == measured_by.model
        if report.written or report.removed or report.embedded or not is_measured:
            keep_calibration(reader, measured_by, self.place)


def _find_adopted(known: Installed | None, source: RowSource) -> str | None:
    """Return the source whose place another takes; None where it is the same."""
    if known is None or len(known.sources) != 1:
        count = len(known.sources) if known else 0
        raise InputError(
            f"the catalogue has {count} sources, and a source takes the place of one; leave out"
            " --replace"
        )
    return None if known.sources[0] == source.name else known.sources[0]


def _choose_embedder(
    workshop: Workshop, recipe: Recipe, known: Installed | None, asked: str | None
) -> Embedder:
    """Return the embedder of a catalogue, before anything is made: a model may be missing."""
    choice = want_model(workshop, recipe.loaded.spec, known, asked=asked, is_own=recipe.is_own)
    embedder = get_embedder(workshop, choice)
    # an endpoint may be there when it is needed
    is_local = workshop.settings.embedding.kind == "local"
    if is_local and (problem := embedder.check()) is not None:
        raise ModelError(problem)
    return embedder


def _ingested(
    source: RowSource, target: Target, shelf: BuildableShelf, *, is_known: bool, progress: Progress
) -> IngestReport:
    """Ingest a source; where the ledger lost its origins, count the records of unknown origin."""
    is_forgotten = source.is_whole and is_known and not target.ledger.origins(source.name)
    report = ingest_rows(source, target, progress=progress)
    if is_forgotten:
        report.unplaced = max(
            shelf.reader().count(WHOLE) - target.ledger.count_ids_from_sources(), 0
        )
    if shelf.is_empty():
        raise InputError(
            f"{source.name}: none of its {report.rows} rows makes a record{report.first_reason}"
        )
    return report


def _replace_sources(
    former: Sequence[str],
    source: RowSource,
    target: Target,
    shelf: BuildableShelf,
    *,
    report: IngestReport,
    note: str,
) -> IngestReport:
    """Remove what came from former sources alone, and say so; a source is read again where rows of
    it were left out.
    """
    if not (report.written or report.unchanged or report.duplicates):
        return report
    removed = sum(remove_source(one, target) for one in former)
    if report.rejects:  # some may be duplicates of the former records
        report = _ingested(source, target, shelf, is_known=True, progress=lambda _report: None)
    report.removed += removed
    report.notes.append(note.format(removed))
    return report


def find_own_recipe(workshop: Workshop, name: str) -> Recipe | None:
    """Return the recipe of an installed catalogue with a spec of its own; None where no such
    catalogue is installed.
    """
    if (installed := workshop.library.find_installed(name)) is None:
        return None
    loaded = workshop.spec_of(installed)
    if installed.own_declaration is None:
        raise InputError(
            f"'{name}' is a catalogue of the package '{installed.spec_name}'; choose another"
            f" --name, or give --as {installed.spec_name} where the rows have its layout"
        )
    return own_recipe(loaded)


def add_sample(
    workshop: Workshop, name: str, *, progress: Progress, embed: bool = True
) -> IngestReport:
    """Install the catalogue of sample data of this name."""
    package, sample = next(
        found for found in workshop.packages.iter_samples() if found[1].name == name
    )
    with importlib.resources.as_file(sample.files) as path:
        rows, recipe = open_rows(package, str(path)), package_recipe(package)
        report = add_catalogue(
            workshop, rows, recipe=recipe, name=name, progress=progress, embed=embed
        )
    installed = workshop.library.get_installed(name)
    if sample.title and not installed.title:
        workshop.library.describe(replace(installed, title=sample.title))
    return report
