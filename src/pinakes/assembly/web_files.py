"""Files on the web as sources. What fetches and reads them is loaded when one is named."""

import re
from typing import cast

from pinakes.api.package import load_target
from pinakes.settings import Settings
from pinakes.sources.location import split_locations
from pinakes.sources.options import ReadOptions
from pinakes.sources.port import RowSource

OPEN_WEB_FILE = "pinakes.sources.web_file:open_web_file"
WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


def names_web_file(location: str) -> bool:
    """Tell whether a location is an address of the web, or has one among several locations."""
    return any(WEB_ADDRESS.match(one) for one in split_locations(location))


def open_web_file(location: str, options: ReadOptions, settings: Settings) -> RowSource:
    """Return the rows of the file at `https://HOST/PATH#TABLE`."""
    return cast(RowSource, load_target(OPEN_WEB_FILE)(location, options, settings))
