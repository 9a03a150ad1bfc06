"""TOML as users write it: every problem is one line, with its place where it can be known."""

import tomllib
from typing import Any


class TomlError(ValueError):
    """Text that is not TOML, or that no reader takes."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; a byte order mark, as editors on Windows write it, is passed over. Raise TomlError."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise TomlError("lists or tables are nested too deeply") from None
    except ValueError as error:
        raise TomlError(str(error)) from error
