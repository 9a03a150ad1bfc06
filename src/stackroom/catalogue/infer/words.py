"""What the words of a column's name tell of it, and the names of fields and catalogues."""

import re
import unicodedata
from collections.abc import Sequence

from stackroom.catalogue.column_words import CAMEL_JOINT, is_about, words_about
from stackroom.catalogue.compiler import FIELD_NAME
from stackroom.catalogue.profile import ColumnProfile, Form

QUESTION_WORDS = 5
UNNAMED = re.compile(r"(column|unnamed|field|var|v|x|f|col)?[\s_:.]*\d*|unnamed.*|index|_c\d+|\.\.\.\d+", re.IGNORECASE)
"""The name of a column that has none: as files, pandas, R and Spark write it."""
ALTERNATIVE = re.compile(
    r"alternatives?|aliase?s?|aka|(also )?known as|synonyms|nicknames?"
    r"|(alt|alternative|other|original|native|english|international) (titles?|names?|spellings?)"
    r"|(titles?|names?) (alt|alternative|original|native|english|official)"
)
NAME_LENGTH = 60
RESERVED = frozenset({"id", "kind", "catalogue", "score", "json", "limit"})
"""Names that records or commands use for something else."""
INSTEAD = {"id": "source_id", "kind": "kind_2"}
YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
PICTURE_FILE = re.compile(r".*\.(jpe?g|png|gif|webp|svg|avif)(\?.*)?", re.IGNORECASE)
DIGITS_JOINT = re.compile(r"(?<=[A-Za-z]{3})(?=\d)")


def is_code(column: ColumnProfile) -> bool:
    """Tell whether the column is named like ids or other codes."""
    return is_about(column.words[-1:], "codes")


def is_link(column: ColumnProfile) -> bool:
    """Tell whether the column is named like ids of rows: `id`, `book_id`, `id_drink`."""
    ends = column.words[-1:] + (column.words[:1] if len(column.words) == 2 else ())
    return is_about(ends, "row_ids")


def is_year(column: ColumnProfile) -> bool:
    """Tell whether the column has years and is named as such."""
    in_form = column.form in (Form.YEAR, Form.WHOLE) and column.share_of(Form.YEAR) >= 0.9
    return in_form and is_about(column.words, "years")


def names_pictures(column: ColumnProfile) -> bool:
    """Tell whether the cells are names or addresses of files of pictures."""
    return bool(column.texts) and all(PICTURE_FILE.fullmatch(text) for text in column.texts[:50])


def is_unnamed(column: ColumnProfile) -> bool:
    """Tell whether a column has no name of its own, or a question for a name, as in a survey."""
    name = column.name.strip()
    is_question = name.endswith("?") or (len(column.words) > 2 * QUESTION_WORDS)
    return bool(UNNAMED.fullmatch(name)) or (is_question and len(column.words) >= QUESTION_WORDS)


def is_title_name(column: ColumnProfile) -> bool:
    """Tell whether a column is named as one that names a record: `name`, `full_name`, `name.common`."""
    words, titles = column.words, words_about("titles")
    if len(words) < 2 or is_alternative(column):
        return bool(words) and words[0] in titles and len(words) == 1
    if words[0] in titles[:2] and words[1] in words_about("after_titles"):
        return True
    is_named = words[-1] in titles[:2] or words[0] in titles[:1]
    return is_named and not is_about(words[:-1], "not_titles")


def is_alternative(column: ColumnProfile) -> bool:
    """Tell whether a column is named as one of other names."""
    return bool(ALTERNATIVE.fullmatch(" ".join(column.words)))


def gaps(column: ColumnProfile) -> str:
    """Return the share of rows with a value, as the end of a reason; empty if nearly all have one."""
    return f", in {percent(column.filled_share)} of the rows" if column.filled_share < 0.95 else ""


def percent(share: float) -> str:
    """Return a share for people to read."""
    if 0.995 <= share < 1:
        return "over 99 %"
    return f"{share:.0%}".replace("%", " %") if share >= 0.01 or not share else "under 1 %"


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
        wanted = column.name if FIELD_NAME.fullmatch(column.name) else _legal(column.words, place)
        wanted = INSTEAD.get(wanted, wanted)
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted[:NAME_LENGTH]}_{number}", number + 1
        taken.add(name)
        names[column.name] = name
    return names


def _legal(words: Sequence[str], place: int) -> str:
    """Return a name made of words: those at its end where it is too long, which tell questions apart."""
    letters = sum(character.isalnum() for word in words for character in word)
    latin = [word for word in ("".join(re.findall(r"\w+", _latin(word))) for word in words) if word]
    while len(latin) > 3 and len("_".join(latin)) > NAME_LENGTH:
        del latin[2]
    kept = "_".join(latin)[:NAME_LENGTH]
    if not kept or 2 * len(kept.replace("_", "")) < min(letters, NAME_LENGTH):
        return f"column_{place}"
    if YEAR.fullmatch(kept):
        return f"year_{kept}"
    return kept if kept[0].isalpha() else f"column_{kept}"


def _latin(text: str) -> str:
    """Return the Latin letters and digits of a text without accents; other scripts are dropped."""
    spelt = text.replace("ß", "ss").replace("æ", "ae").replace("ø", "o").replace("ł", "l")
    return unicodedata.normalize("NFKD", spelt).encode("ascii", "ignore").decode()
