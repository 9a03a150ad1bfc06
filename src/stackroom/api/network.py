"""The network side of the public API: polite requests to public servers. Loaded by providers only,
since it is slow.
"""

from stackroom.net.polite import Clock, Fetched, Pace, PoliteGetter, UnusableAnswerError
from stackroom.sources.location import read_provider_query

__all__ = ["Clock", "Fetched", "Pace", "PoliteGetter", "UnusableAnswerError", "read_provider_query"]
