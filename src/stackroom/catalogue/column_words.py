"""The words of a column's name by what they say of the column, as `column_words.toml` lists them."""

import re
from collections.abc import Iterable
from functools import cache

from stackroom.text.normalise import fold_name
from stackroom.toml_text import load_packaged

CAMEL_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z][A-Za-z])|(?<=[A-Z])(?=[A-Z][a-z])")
BOTH_GENDERS = re.compile(r"(?<=\w)[:*_/](?=in(nen)?\b)")
"""The mark in German words for people of any gender: `Wähler:innen`."""


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a column's name, folded; the same for `AuthorId` and `author_id`."""
    return tuple(fold_name(CAMEL_JOINT.sub(" ", BOTH_GENDERS.sub("", name))).split())


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
