"""Orders to add a table or a folder: which table is the catalogue, how it is read, and the catalogue's name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stackroom.assembly.build import Recipe, own_recipe, package_recipe
from stackroom.assembly.locations import open_rows, remembered_options
from stackroom.assembly.workshop import Workshop
from stackroom.catalogue.compiler import load_spec
from stackroom.catalogue.infer.words import catalogue_name
from stackroom.errors import InputError
from stackroom.library import require_name
from stackroom.net.addresses import shown_address
from stackroom.packages import CataloguePackage
from stackroom.sources.compressed import find_path
from stackroom.sources.export_rows import ExportRows, is_export
from stackroom.sources.location import NO_OPTIONS, ReadOptions, stem_of
from stackroom.sources.opener import is_table_file, list_tables, open_file, open_related
from stackroom.sources.port import RowSource


def _choose_main(locations: Sequence[str], options: ReadOptions, spec_name: str | None) -> tuple[str, ReadOptions]:
    """Return the location to read, and how; of several tables that belong together, the others are joined to one.

    A folder for a package, and an exported one, is read as it is.
    """
    location = locations[0]
    if not location.strip():
        raise InputError("LOCATION is empty; give a file, a folder or a provider's query")
    folder = find_path(location)
    if len(locations) == 1 and not spec_name and folder and folder.is_dir() and not is_export(folder):
        locations = list_tables(folder) or locations
    if len(locations) == 1 and (folder is not None or "*" not in location or ":" in location):
        return locations[0], options
    files = list(map(Path, dict.fromkeys(locations)))
    if wrong := next((file for file in files if not is_table_file(file) or find_path(str(file)) is None), None):
        raise InputError(
            f"{shown_address(str(wrong))}: no file of a table; one location is added at a time, or several files with "
            "tables that belong together"
        )
    main = open_related(open_file(files[0], options), files[1:], is_chosen=False)
    return main.location, replace(options, join=main.joined_files)


@dataclass(frozen=True, slots=True, kw_only=True)
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
            is_package, name = exported.spec_name in workshop.packages.names, name or exported.catalogue
            spec_name, spec_file = (exported.spec_name, None) if is_package else (None, exported.declaration)
        else:
            spec_name, name = _get_folder_reader(workshop).name, name or name_of(location)
    package = workshop.packages.get(spec_name) if spec_name else None
    recipe = _given_recipe(package, spec_file)
    chosen = name or (recipe.spec_name if recipe else name_of(location, table=options.table))
    reading = remembered_options(workshop, chosen, location, options)
    source = open_rows(package, location, options=reading, workshop=workshop)
    return Order(location=location, source=source, name=chosen, recipe=recipe)


def _get_folder_reader(workshop: Workshop) -> CataloguePackage:
    """Return the package that reads folders given without --as."""
    package = workshop.packages.find_folder_reader()
    if package is None:
        raise InputError(
            f"no installed package reads folders; choose one with --as: {', '.join(workshop.packages.names)}"
        )
    return package


def name_of(location: str, *, table: str | None = None) -> str:
    """Return the default name of a catalogue built from a location."""
    stem = stem_of(location)
    return catalogue_name(f"{stem} {table}" if table else stem)


def _given_recipe(package: CataloguePackage | None, spec_file: Path | None) -> Recipe | None:
    """Return the recipe of --as or --spec; None without both."""
    if package and spec_file:
        raise InputError("give the layout of a package (--as) or a spec of your own (--spec), not both")
    if spec_file:
        return own_recipe(load_spec(spec_file))
    return package_recipe(package) if package else None
