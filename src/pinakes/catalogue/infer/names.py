"""Names of fields and catalogues, made of the names of columns and files."""

import re
import unicodedata
from collections.abc import Sequence

from pinakes.catalogue.compiler import FIELD_NAME
from pinakes.catalogue.profile import CAMEL_JOINT, ColumnProfile

NAME_LENGTH = 60
FIRST_WORDS = 2
"""The words of a shared beginning that the names of fields keep."""
RESERVED = frozenset({"id", "kind", "catalogue", "score", "json", "limit"})
"""Names that records or commands use for something else."""
INSTEAD = {"id": "source_id", "kind": "kind_2"}
YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
DIGITS_JOINT = re.compile(r"(?<=[A-Za-z]{3})(?=\d)")


def catalogue_name(text: str) -> str:
    """Return a valid catalogue name for a text, such as a file's name."""
    bare = "-".join(re.findall(r"[a-z0-9_]+", _latin(text).lower())).strip("-_")
    if not bare or not bare[0].isalpha():
        bare = f"catalogue-{bare}".rstrip("-")
    return bare[:NAME_LENGTH].rstrip("-_")


def catalogue_title(text: str) -> str:
    """Return a catalogue's name for people: words with spaces, the first with a capital letter."""
    spaced = CAMEL_JOINT.sub(" ", re.sub(r"[-_.\s]+", " ", text))
    words = DIGITS_JOINT.sub(" ", spaced).split()
    told = [word if word.isupper() and len(word) > 1 else word.lower() for word in words]
    line = " ".join(told)[:NAME_LENGTH].strip()
    return line[:1].upper() + line[1:] if line else "Catalogue"


def field_names(columns: Sequence[ColumnProfile]) -> dict[str, str]:
    """Return a unique valid field name for each column: its own name if valid, else made of its words."""
    names: dict[str, str] = {}
    taken = set(RESERVED)
    words = _distinctive_words(columns)
    for place, column in enumerate(columns, start=1):
        wanted = column.name if FIELD_NAME.fullmatch(column.name) else _legal(words[column.name], place)
        wanted = INSTEAD.get(wanted, wanted)
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted[:NAME_LENGTH]}_{number}", number + 1
        taken.add(name)
        names[column.name] = name
    return names


def _distinctive_words(columns: Sequence[ColumnProfile]) -> dict[str, tuple[str, ...]]:
    """Return the words that a field is named by: of long names that begin alike, the first words and those that differ.

    A header of two lines has such names: a question, and what it is asked about.
    """
    long = [column for column in columns if len("_".join(column.words)) > NAME_LENGTH]
    words = {column.name: column.words for column in columns}
    for column in long:
        shared = max((_shared(column.words, one.words) for one in long if one is not column), default=0)
        if FIRST_WORDS < shared < len(column.words):
            words[column.name] = column.words[:FIRST_WORDS] + column.words[shared:]
    return words


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two names have in common at the beginning."""
    differing = (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differing, min(len(one), len(other)))


def _legal(words: Sequence[str], place: int) -> str:
    letters = [character for word in words for character in word if character.isalnum()]
    words = [_latin(word) for word in words]
    kept = "_".join(word for word in ("".join(re.findall(r"\w+", one)) for one in words) if word)[:NAME_LENGTH]
    if 2 * len(kept.replace("_", "")) < len(letters) or not kept:
        return f"column_{place}"
    if YEAR.fullmatch(kept):
        return f"year_{kept}"
    return kept if kept[0].isalpha() else f"column_{kept}"


def _latin(text: str) -> str:
    """Return the Latin letters and digits of a text without accents; other scripts are dropped."""
    spelt = text.replace("ß", "ss").replace("æ", "ae").replace("ø", "o").replace("ł", "l")
    return unicodedata.normalize("NFKD", spelt).encode("ascii", "ignore").decode()
