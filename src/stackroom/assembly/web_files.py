"""Files on the web as sources. What fetches and reads them is loaded when one is named."""

import re
from typing import cast

from stackroom.packages import load_target
from stackroom.settings import Settings
from stackroom.sources.location import ReadOptions, split_locations
from stackroom.sources.port import RowSource

OPEN_WEB_FILE = "stackroom.sources.web_file:open_web_file"
WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


def names_web_file(location: str) -> bool:
    """Tell whether a location is an address of the web, or has one among several locations."""
    return any(WEB_ADDRESS.match(one) for one in split_locations(location))


def open_web_file(location: str, options: ReadOptions, settings: Settings) -> RowSource:
    """Return the rows of the file at `https://HOST/PATH#TABLE`."""
    return cast(RowSource, load_target(OPEN_WEB_FILE)(location, options, settings))
