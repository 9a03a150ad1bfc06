"""The network side of the public API: polite requests to public servers. Loaded by providers only,
since it is slow.
"""

from stackroom.net.polite import Clock, Fetched, Pace, PoliteGetter, UnusableAnswerError
from stackroom.settings import Settings, read_section
from stackroom.sources.location import read_provider_query
from stackroom.sources.port import RowSource, SourceRow

__all__ = ["Clock", "Fetched", "Pace", "PoliteGetter", "RowSource", "Settings", "SourceRow"]
__all__ += ["UnusableAnswerError", "read_provider_query", "read_section"]
