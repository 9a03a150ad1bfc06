"""A stream that is a terminal: one that somebody types at, or that keeps what it shows."""

import io


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Tell that it is one."""
        return True
