"""Commands as tests run them, and a stream that is a terminal: one that somebody types at, or that
keeps what it shows.
"""

import io
from collections.abc import Callable
from typing import Any

Run = Callable[..., Any]
"""Runs a command line, as `run("list")`."""


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Tell that it is one."""
        return True
