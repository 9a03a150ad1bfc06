"""TOML as users write it: every problem is one line, with its place where it can be known."""

import re
import tomllib
from typing import Any

_LONG_KEY = re.compile(r"^[ \t\[]*[\w-]+(?:\.[\w-]+){200}", re.MULTILINE)
"""A key of more parts than anybody needs: the parser's time grows with the square of them."""
_LONG_NUMBER = re.compile(r"[0-9A-Za-z_]{4000}")


class TomlError(ValueError):
    """Text that is not TOML, or that no reader takes."""


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; a byte order mark, as editors on Windows write it, is passed over. Raise TomlError."""
    if (found := _LONG_KEY.search(text)) is not None:
        raise TomlError(f"a key has too many parts (at line {text.count(chr(10), 0, found.start()) + 1})")
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
        if not _has_long_number(document):
            return document
        problem = "a number has too many digits"
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    except RecursionError:
        deepest = max(enumerate(text.splitlines(), 1), key=lambda line: line[1].count("[") + line[1].count("{"))
        problem = f"lists or tables are nested too deeply (at line {deepest[0]})"
    except ValueError:
        found = _LONG_NUMBER.search(text)
        place = f" (at line {text.count(chr(10), 0, found.start()) + 1})" if found else ""
        problem = f"a number has too many digits{place}"
    raise TomlError(problem)


def _has_long_number(document: dict[str, Any]) -> bool:
    """Tell whether a whole number is beyond those of TOML, which have 64 bits; such a one cannot even be shown."""
    waiting: list[Any] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list):
            waiting += value.values() if isinstance(value, dict) else value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            return True
    return False
