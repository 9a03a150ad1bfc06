"""The words of a column's name by what they say of the column, as `column_words.toml` lists them."""

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import resources

WORDS_FILE = "column_words.toml"


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
    text = resources.files("stackroom.catalogue").joinpath(WORDS_FILE).read_text(encoding="utf-8")
    return tomllib.loads(text)
