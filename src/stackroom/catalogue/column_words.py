"""The words of column names by their topics (`column_words.toml`), and labels of fields and values
for people.
"""

import re
from collections.abc import Iterable
from functools import cache

from stackroom.text.cells.values import canonical_unit
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


YEARS = re.compile(
    r"(publish(ed)?|publication|release(d)?) year|year (of )?(publish(ed)?|publication|release(d)?)"
)
TIME_UNITS = {"s": 1, "min": 60}
# a word in capitals that can be said: `MOVIE` and not `USSR`
SHOUTED = re.compile(r"[A-Z][A-Z0-9]*[AEIOUY][A-Z0-9]*")
UNSAID = frozenset(
    {
        "unknown",
        "undefined",
        "unspecified",
        "none",
        "null",
        "n/a",
        "na",
        "not specified",
        "not known",
    }
)
"""Values of an enumeration that say nothing."""


def plain_label(name: str) -> str:
    """Return the words of a field's name: `Release date` for `release_date`, `Weight class` for
    `WeightClass`.
    """
    return _begun(" ".join(map(_word, CAMEL_JOINT.sub(" ", name).replace("_", " ").split())))


def label_of(name: str) -> str:
    """Return a field's name as people write it: `Authors` for `author_names`, `Height (cm)` for
    `height_cm`.
    """
    label = plain_label(name)
    *before, last = words = label.lower().split() or [""]
    if YEARS.fullmatch(" ".join(words)):
        return "Year"
    if time_unit_of(name):
        return _begun(" ".join(label.split()[:-1])) or "Length"
    if before and is_about([last], "label_measures"):
        return f"{' '.join(label.split()[:-1])} ({last})"
    if before and last in ("name", "names") and is_about(before[-1:], "label_named"):
        thing = label.rpartition(" ")[0]
        return thing if last == "name" or thing.endswith("s") else f"{thing}s"
    return label


def time_unit_of(name: str) -> str:
    """Return the unit of time that a field's name ends with; empty if it ends with none that is
    sure.
    """
    *before, last = plain_label(name).lower().split() or [""]
    unit = canonical_unit(last)
    is_sure = last != "min" or is_about(before[-1:], "label_lengths")
    return unit if unit in TIME_UNITS and len(last) > 1 and is_sure else ""


def length_in_words(number: float, unit: str) -> str:
    """Return a length of time: `2 h 10 min`, `3 min 20 s`, `45 s`."""
    seconds = round(number * TIME_UNITS[unit])
    hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
    parts = [(hours, "h"), (minutes, "min"), (0 if hours else rest, "s")]
    return " ".join(f"{count} {name}" for count, name in parts if count) or f"0 {unit}"


def value_in_words(value: str) -> str:
    """Return a value of an enumeration: `Not yet aired` for `NOT_YET_AIRED`; `TV` stays."""
    words = value.replace("_", " ").split() if "_" in value else [value]
    is_shouted = any(len(word) > 3 and SHOUTED.fullmatch(word) for word in words)
    return (
        _begun(" ".join(word.lower() for word in words)) if is_shouted else _begun(" ".join(words))
    )


def _word(word: str) -> str:
    if is_about([word.lower()], "label_acronyms"):
        return word.upper()
    return word if word.isupper() and len(word) > 1 else word.lower()


def _begun(words: str) -> str:
    return words[:1].upper() + words[1:]
