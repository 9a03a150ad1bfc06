"""Regular expressions that are compiled on first use, and those of TOML files.

In a file <<name>> stands for another expression of it, and <<words name>> for any phrase of a
table.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, cast

PLACEHOLDER: Final = re.compile(r"<<(?P<words>words )?(?P<name>\w+)>>")
NO_WORDS: Final[Mapping[str, Collection[str]]] = {}


def compose(
    parts: Mapping[str, str],
    name: str,
    flags: int = 0,
    *,
    words: Mapping[str, Collection[str]] = NO_WORDS,
) -> re.Pattern[str]:
    """Return an expression of a file, without its line breaks; it is compiled on first use."""

    def fill(found: re.Match[str]) -> str:
        return alternation(words[found["name"]]) if found["words"] else expanded(found["name"])

    def expanded(part: str) -> str:
        return PLACEHOLDER.sub(fill, parts[part].replace("\n", ""))

    return pattern(expanded(name), flags)


def alternation(phrases: Iterable[str]) -> str:
    """Return a pattern for any of these phrases, the longest first, each a whole word."""
    longest_first = sorted(phrases, key=len, reverse=True)
    return "|".join(
        re.escape(phrase).replace(r"\ ", r"\s{1,3}") + (r"\b" if phrase[-1].isalnum() else "")
        for phrase in longest_first
    )


METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn")


class _PatternOnDemand:
    """Stands for a compiled expression, whose methods it takes over when it is first asked for
    one.
    """

    def __init__(self, expression: str, flags: int) -> None:
        self._expression = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        """Compile the expression, and return an attribute of it."""
        compiled = re.compile(self._expression, self._flags)
        self.__dict__.update({method: getattr(compiled, method) for method in METHODS})
        return getattr(compiled, name)


def pattern(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return an expression that is compiled on first use; a wrong one is found only then."""
    return cast("re.Pattern[str]", _PatternOnDemand(expression, flags))
