"""An order: the source that somebody wants to add, as what they gave says, with the name of the
catalogue and its recipe.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stackroom.assembly.build import Recipe, open_rows, own_recipe, package_recipe
from stackroom.assembly.workshop import Workshop
from stackroom.catalogue.compiler import load_spec
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.ingest.proposal import name_of
from stackroom.library import require_name
from stackroom.net.addresses import shown_address
from stackroom.sources.compressed import find_path
from stackroom.sources.export_rows import ExportRows, is_export
from stackroom.sources.location import NO_OPTIONS, ReadOptions, SourceLocation, is_same_location
from stackroom.sources.opener import is_table_file, list_tables, open_file, open_related
from stackroom.sources.port import RowSource


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
            is_package, name = (
                exported.spec_name in workshop.packages.names,
                name or exported.catalogue,
            )
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
