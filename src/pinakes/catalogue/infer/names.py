"""Names of fields and catalogues, made of the names of columns and files."""

import re
import unicodedata
from collections.abc import Sequence

from pinakes.catalogue.compiler import FIELD_NAME
from pinakes.catalogue.profile import CAMEL_JOINT, ColumnProfile

NAME_LENGTH = 60
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
    for place, column in enumerate(columns, start=1):
        wanted = column.name if FIELD_NAME.fullmatch(column.name) else _legal(column, place)
        wanted = INSTEAD.get(wanted, wanted)
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted[:NAME_LENGTH]}_{number}", number + 1
        taken.add(name)
        names[column.name] = name
    return names


def _legal(column: ColumnProfile, place: int) -> str:
    letters = [character for character in column.name if character.isalnum()]
    words = [_latin(word) for word in column.words]
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
