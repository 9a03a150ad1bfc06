"""Databases on servers as sources. What reads them is loaded when one is named."""

from typing import cast

from stackroom.errors import InputError
from stackroom.packages import load_target
from stackroom.settings import Settings
from stackroom.sources.database_address import is_database_address
from stackroom.sources.location import ReadOptions, SourceLocation, split_locations
from stackroom.sources.port import RowSource

OPEN_DATABASE = "stackroom.sources.database_rows:open_database"


def names_database(location: str) -> bool:
    """Tell whether a location is the address of a database, or has one among several locations."""
    return any(is_database_address(one) for one in split_locations(location))


def open_database(location: str, options: ReadOptions, settings: Settings) -> RowSource:
    """Return the rows at `postgresql://USER@HOST/DATABASE#TABLE`; an option given beside it comes first."""
    if len(split_locations(location)) > 1:
        raise InputError("the table of a database is read alone; give its address as the only LOCATION")
    place = SourceLocation.parse(location)
    source = load_target(OPEN_DATABASE)(place.location, options.over(place.options), settings)
    return cast(RowSource, source)
