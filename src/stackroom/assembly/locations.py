"""The source at a location: a file, a file on the web or a provider's query.

What reads the web is loaded when an address is named.
"""

import re
from functools import partial
from typing import cast

from stackroom.assembly.workshop import Workshop
from stackroom.collection_settings import SCHEMES
from stackroom.errors import InputError
from stackroom.net.addresses import shown_address
from stackroom.packages import CataloguePackage, load_target
from stackroom.sources.compressed import find_path
from stackroom.sources.export_rows import ExportRows, is_export
from stackroom.sources.location import NO_OPTIONS, ReadOptions, SourceLocation, flag, is_same_location
from stackroom.sources.opener import open_source
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
    """Return the source at a location; a package may read some in its own way, and a workshop others than files."""
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


def remembered_options(workshop: Workshop, name: str, location: str, options: ReadOptions) -> ReadOptions:
    """Return the options given, or those that a catalogue's one table at this location was last read with."""
    installed = workshop.library.find_installed(name)
    if options.given or installed is None or installed.own_declaration is None:
        return options
    known = [SourceLocation.parse(source) for source in installed.sources]
    same = [one.options for one in known if is_same_location(one.location, location)]
    return same[0] if len(same) == 1 else options


def open_provider(workshop: Workshop, location: str, options: ReadOptions = NO_OPTIONS) -> RowSource | None:
    """Return the source of a web file or a provider's query; None for any other."""
    if DATABASE_ADDRESS.match(location):
        raise InputError(
            f"{shown_address(location)}: tables of a database server are not read; write the table to a file, as by "
            "psql's \\copy TABLE TO 'table.csv' CSV HEADER, and add that"
        )
    if WEB_ADDRESS.match(location):
        return cast(RowSource, load_target(OPEN_WEB_FILE)(location, options, workshop.settings))
    if location.partition("://")[0] in SCHEMES and "://" in location:
        raise InputError(
            f"{location} is in a bucket, from which LanceDB tables can be read, and no files. For the collections of a "
            f"database, run: stackroom sync {location}; for one of them, add --only NAME"
        )
    prefix, colon, query = location.partition(":")
    provider = workshop.packages.find_provider(prefix) if colon else None
    if provider is None:
        return None
    options.require_only((), location=location)
    return provider(query, workshop.settings)
