"""The words of a column's name by what they say of the column, as `column_words.toml` lists them."""

import re
from collections.abc import Iterable
from functools import cache

from stackroom.toml_text import load_packaged


def is_about(words: Iterable[str], topic: str) -> bool:
    """Tell whether one of the words of a name is about a topic."""
    return any(map(_pattern_of(topic).fullmatch, words))


@cache
def words_about(topic: str) -> tuple[str, ...]:
    """Return the words for a topic, in the order of the file."""
    return tuple(_topics()[topic].split())


@cache
def _pattern_of(topic: str) -> re.Pattern[str]:
    return re.compile("|".join(words_about(topic)))


@cache
def _topics() -> dict[str, str]:
    """Return the words for each topic, separated by blanks."""
    return load_packaged("stackroom.catalogue", "column_words.toml")
