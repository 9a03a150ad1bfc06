"""TOML as users write it: every problem is one line, with its place where it can be known."""

import re
import tomllib
from importlib import resources
from typing import Any

_PART = r"[\"']?[\w-]+[\"']?"
_LONG_KEY = re.compile(rf"(?:^|[{{,])[ \t\[]*{_PART}(?:[ \t]*\.[ \t]*{_PART}){{200}}", re.MULTILINE)
_LONG_NUMBER = re.compile(r"(?:^|[=,\[])[ \t]*[+-]?(?:0[xob])?[0-9a-fA-F_]{1000}", re.MULTILINE)
TOO_LONG = {"a key has too many parts": _LONG_KEY, "a number has too many digits": _LONG_NUMBER}
"""The parser's time grows with the square of a key's parts, and a number of many digits cannot even
be shown.
"""


class TomlError(ValueError):
    """Text that is not TOML, or that no reader takes."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; a byte order mark, as editors on Windows write it, is passed over. Raise
    TomlError.
    """
    for problem, pattern in TOO_LONG.items():
        if (found := pattern.search(text)) is not None:
            raise TomlError(f"{problem} (at line {text.count(chr(10), 0, found.start()) + 1})")
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise TomlError("lists or tables are nested too deeply") from None
    except ValueError as error:
        raise TomlError(str(error)) from error


def load_packaged(package: str, name: str) -> dict[str, Any]:
    """Read a TOML file that is a part of a package."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
