"""Separators of lists within the texts of a column: `Drama|Crime`, `Jane Doe, John Roe`."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LIST_WORD = re.compile(
    r"genres?|tags?|keywords?|categor(y|ies)|(book)?shel(f|ves)|topics?|themes?|subjects?|labels?|ingredients?"
    r"|mechanics?|styles?|moods?|skills?|languages|countries"
)
"""A word in the names of columns that tend to hold several values and to describe topics."""
ONE_VALUE_WORD = re.compile(r"category|topic|theme|subject|label|style|ingredient")
"""A word in the names of columns with one value, which may have a comma."""
NAMES_WORD = re.compile(r"synonyms|aliases|spellings|nicknames|aka")
"""A word in the names of columns with other names."""
PEOPLE_WORD = re.compile(
    r"(co)?authors?|artists?|directors?|directed|actors?|actress(es)?|cast|starring|stars|writers?|screenwriters?|written"
    r"|composers?|creators?|created|performers?|singers?|bands?|musicians?|illustrators?|photographers?|translators?"
    r"|narrators?|editors?|designers?|developers?|inventors?|architects?|painters?|presenters?|hosts?|speakers?|players?"
    r"|producers?|laureates?|winners?|contributors?|authored|auteurs?|autor(es|en)?|interpreten?|regisseure?"
)
"""A word in the names of columns with people, or with those who made a thing."""
PLACE_WORD = re.compile(
    r"places?|locations?|cit(y|ies)|towns?|address(es)?|venues?|birthplace|born|hometown|residence|headquarters|lieux?"
)
"""A word in the names of columns with places, which are written from the smaller to the larger."""
LONGEST_ITEM = 40
PEOPLE_MARKS = (",", ";", "|", "/", "&")


@dataclass(frozen=True, slots=True, kw_only=True)
class Separator:
    """A possible separator of list values within a text, and the evidence that it needs."""

    mark: str
    between: str
    repeated: float
    """The share of parts that must occur in more than one text."""
    moving: float
    """The share of those that must occur both first and later: in `Paris, France` positions are fixed."""


SEPARATORS = (
    Separator(mark=";", between=";", repeated=0.2, moving=0.0),
    Separator(mark="|", between="|", repeated=0.2, moving=0.0),
    Separator(mark=">", between=" > ", repeated=0.3, moving=0.0),
    Separator(mark=",", between=",", repeated=0.4, moving=0.2),
)


def find_separator(texts: Sequence[str], words: Sequence[str]) -> str:
    """Return the separator of lists in the different texts of a column, or an empty text if they are not lists.

    `words` are those of the column's name.
    """
    if _has(words, PEOPLE_WORD) and (mark := _find_mark_of_people(texts)):
        return mark
    is_hinted = _has(words, LIST_WORD) or _has(words, NAMES_WORD)
    marks = [one for one in SEPARATORS if one.mark != "," or not _has(words, PLACE_WORD)]
    only_one = {","} if _has(words, ONE_VALUE_WORD) else set[str]()
    return next(
        (one.mark for one in marks if _separates(one, texts, is_hinted=is_hinted and one.mark not in only_one)), ""
    )


def parts_of(text: str, mark: str) -> list[str]:
    """Return the parts of a text at a separator, without empty ones."""
    return [part for one in text.split(mark) if (part := one.strip())]


def count_parts(values: Iterable[tuple[str, int]], mark: str) -> Counter[str]:
    """Count the parts of texts, each of which occurs so many times."""
    parts: Counter[str] = Counter()
    for value, count in values if mark else ():
        for part in parts_of(value, mark):
            parts[part] += count
    return parts


def _has(words: Iterable[str], pattern: re.Pattern[str]) -> bool:
    return any(pattern.fullmatch(word) for word in words)


def _find_mark_of_people(texts: Sequence[str]) -> str:
    """Return the separator of people's names: parts of two words or more, so that `King, Stephen` stays whole."""
    for mark in PEOPLE_MARKS:
        rows = [parts_of(text, mark) for text in texts]
        several = [row for row in rows if len(row) > 1]
        parts = [part for row in several for part in row]
        if len(several) < max(1, 0.02 * len(texts)):
            continue
        full = sum(len(part) <= LONGEST_ITEM and (" " in part or "." in part) for part in parts)
        least = 0.75 if mark in ",;|" else 0.97  # a band may be called AC/DC
        if full >= least * len(parts) and _occur_alone(rows, several):
            return mark
    return ""


def _occur_alone(rows: Sequence[Sequence[str]], several: Sequence[Sequence[str]]) -> bool:
    """Tell whether some parts of longer texts are in other texts too."""
    counts = Counter(part for row in rows for part in set(row))
    return any(counts[part] > 1 for row in several for part in row)


def _separates(separator: Separator, texts: Sequence[str], *, is_hinted: bool) -> bool:
    """Tell whether the parts of the texts are short and recur in other texts, as values of lists do."""
    parted = sum(separator.between in text for text in texts)
    if parted < (1 if is_hinted else max(2, 0.05 * len(texts))):
        return False
    rows = [parts_of(text, separator.mark) for text in texts]
    parts = [part for row in rows for part in row]
    short = sum(len(part) <= LONGEST_ITEM and len(part.split()) <= 5 for part in parts)
    if not parts or short < 0.95 * len(parts):
        return False
    return is_hinted or _come_again(separator, rows)


def _come_again(separator: Separator, rows: Sequence[Sequence[str]]) -> bool:
    counts = Counter(part for row in rows for part in set(row))
    repeated = {part for part, count in counts.items() if count > 1}
    if not repeated or sum(counts[part] for part in repeated) < separator.repeated * counts.total():
        return False
    several = [row for row in rows if len(row) > 1]
    first = {row[0] for row in several}
    later = {part for row in several for part in row[1:]}
    moving, fixed = repeated & first & later, repeated & (first | later)
    return len(moving) >= separator.moving * len(fixed)
