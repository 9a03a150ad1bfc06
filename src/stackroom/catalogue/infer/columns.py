"""The columns that become fields, those that get none and why, numbered columns that are one, and
the id.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import groupby, takewhile

import numpy as np

from stackroom.catalogue.column_words import CAMEL_JOINT, is_about, name_words, words_about
from stackroom.catalogue.compiler import FIELD_NAME
from stackroom.catalogue.profile import (
    PLAIN_NUMBERS,
    ColumnProfile,
    Columns,
    Form,
    distinct_together,
)
from stackroom.frozen import frozen
from stackroom.text.cells.values import read_boolean

Names = Mapping[str, str]  # column → its field
QUESTION_WORDS = 5
UNNAMED = re.compile(
    r"(column|unnamed|field|var|v|x|f|col)?[\s_:.]*\d*|unnamed.*|index|_c\d+|\.\.\.\d+",
    re.IGNORECASE,
)
"""The name of a column that has none: as files, pandas, R and Spark write it."""
ALTERNATIVE = re.compile(
    r"alternatives?|aliase?s?|aka|(also )?known as|synonyms|nicknames?"
    r"|(alt|alternative|other|original|native|english|international) (titles?|names?|spellings?)"
    r"|(titles?|names?) (alt|alternative|original|native|english|official)"
)
NAME_LENGTH = 60
RESERVED = frozenset({"id", "kind", "catalogue", "score", "json", "limit"})
INSTEAD = {"id": "source_id", "kind": "kind_2"}
YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
PICTURE_FILE = re.compile(r".*\.(jpe?g|png|gif|webp|svg|avif)(\?.*)?", re.IGNORECASE)
DIGITS_JOINT = re.compile(r"(?<=[A-Za-z]{3})(?=\d)")


def is_code(column: ColumnProfile) -> bool:
    """Tell whether the column is named like ids or other codes."""
    return is_about(column.words[-1:], "codes")


def is_link(column: ColumnProfile) -> bool:
    """Tell whether the column is named like ids of rows: `id`, `book_id`, `id_drink`."""
    return is_about(
        column.words[-1:] + (column.words[:1] if len(column.words) == 2 else ()), "row_ids"
    )


def is_year(column: ColumnProfile) -> bool:
    """Tell whether the column has years and is named as such."""
    in_form = column.form in (Form.YEAR, Form.WHOLE) and column.share_of(Form.YEAR) >= 0.9
    return in_form and column.is_about("years")


def names_pictures(column: ColumnProfile) -> bool:
    """Tell whether the cells are names or addresses of files of pictures."""
    return bool(column.texts) and all(PICTURE_FILE.fullmatch(text) for text in column.texts[:50])


def is_unnamed(column: ColumnProfile) -> bool:
    """Tell whether a column has no name of its own, or a question for a name, as in a survey."""
    name = column.name.strip()
    is_question = name.endswith("?") or (len(column.words) > 2 * QUESTION_WORDS)
    return bool(UNNAMED.fullmatch(name)) or (is_question and len(column.words) >= QUESTION_WORDS)


def is_title_name(column: ColumnProfile) -> bool:
    """Tell whether a column is named as one that names a record: `name`, `full_name`,
    `name.common`.
    """
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
    """Return the share of rows with a value, as the end of a reason; empty if nearly all have
    one.
    """
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


def field_names(columns: Columns) -> dict[str, str]:
    """Return a unique valid field name for each column: its own name if valid, else made of its
    words.
    """
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
    """Return a name made of words: those at its end where it is too long, which tell questions
    apart.
    """
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


# the fewest rows in which a column with one value says nothing, and of which one may lack an id
FEWEST_ROWS = 20
LONGEST_ID, LONGEST_KEY, LONGEST_CODE = 100, 60, 8
FEWEST_CODES = 5  # the fewest rows in which different codes are no accident
MOST_MISSING, MOST_REPEATED = 0.02, 0.005
"""The shares of rows that may lack an id, or repeat one: a few bad rows do not keep the others from
having theirs.
"""
GOOD_NAMING, LEAST_KEYED = 0.9, 0.5
"""The shares of rows that a title tells apart: if it makes the best ids, and if it makes any."""
ID_FORMS = (Form.WHOLE, Form.YEAR, Form.CODE, Form.TEXT, Form.URL)
NUMBERED = re.compile(r"(.*?[^\W\d])[\s_.-]*(\d{1,2})", re.DOTALL)
FEWEST_MEMBERS = 3
LONGEST_ITEM = 40
LEAST_SHARED = 0.05  # the share of the second column's values that the first one has as well
MARK = "|"
FEWEST_MARKS, MOST_UNANSWERED = 5, 0.05
MARK_NAMES = ("features", "tags", "marks", "features_2")
JOINT = re.compile(r"[\s_.:-]+")


def find_left_out(columns: Columns) -> dict[str, str]:
    """Return the columns that become no fields, each with the reason."""
    reasons: dict[str, str] = {}
    first_with: dict[tuple[bytes | str, ...], str] = {}
    constants = [
        column
        for column in columns
        if column.distinct == 1 and column.filled == column.rows >= FEWEST_ROWS
    ]
    for column in sorted(columns, key=is_alternative):
        if (reason := _find_reason(column)) is None and len(constants) > 2 and column in constants:
            reason = f"it is '{column.texts[0][:40]}' in every row"
        if reason is None:
            twin = first_with.setdefault((column.codes.tobytes(), *column.texts), column.name)
            if twin != column.name and (
                column.distinct >= 10 or (column.distinct > 2 and column.rows >= 50)
            ):
                reason = f"it holds the same as '{twin}'"
        if reason is not None:
            reasons[column.name] = reason
    return {column.name: reasons[column.name] for column in columns if column.name in reasons}


def _find_reason(column: ColumnProfile) -> str | None:
    if not column.filled:
        return "it is empty"
    if not column.name.strip() or column.name.encode(errors="replace").decode() != column.name:
        return "its name is empty or cannot be encoded"
    if column.form is Form.BYTES:
        return "it holds bytes, not text"
    is_counter = len(column.words) == 1 and column.is_about("counters")
    is_unique = (
        column.is_unique
        and column.form in PLAIN_NUMBERS
        and column.rows > 1
        and column.least in (0.0, 1.0)
    )
    if (
        (is_counter or is_unnamed(column))
        and is_unique
        and np.all(np.diff(column.numbers[column.codes]) > 0)
    ):
        return "it only counts the rows"
    if is_about(column.name.lower().split(".")[:-1], "translations") and column.form is Form.TEXT:
        return "it is a translation"
    return None


def counts_parts(column: ColumnProfile, group: ColumnProfile) -> bool:
    """Tell whether a column only counts the rows of each record, or all rows."""
    if (
        column.form not in PLAIN_NUMBERS
        or column.filled < column.rows
        or column.least not in (0.0, 1.0)
    ):
        return False
    order = np.argsort(group.codes, kind="stable")
    is_same = np.diff(group.codes[order]) == 0
    return bool(np.all(np.diff(column.numbers[column.codes][order])[is_same] == 1))


def choose_id(columns: Columns, stated: str | None) -> tuple[ColumnProfile | None, list[str]]:
    """Return the column that identifies a row, or None, and notes; `stated` is the key that the
    source declares.
    """
    named = [
        one
        for place, one in enumerate(columns)
        if one.name == stated or _may_be_id(one, is_first=not place)
    ]
    notes: list[str] = []
    for column in sorted(
        named, key=lambda one: (one.name != stated, one.words != ("id",), not is_link(one))
    ):
        if (problem := id_problem(column)) is None or _names_equal_rows(column, columns):
            return column, [*notes, *_remarks(column)]
        notes.append(f"'{column.name}' cannot be the id: {problem}")
    code = next((column for column in columns if _is_unique_code(column)), None)
    return code, notes if code is None else []


def choose_key(columns: Columns, title: Columns) -> tuple[str, str]:
    """Return the template of ids where no column is one, and a note: the title, or a short text
    that is unique.
    """
    texts = [column for column in columns if column.form is Form.TEXT and not column.is_list]
    unique = [
        one
        for one in texts
        if one.is_unique and one.rows >= FEWEST_ROWS and one.longest <= LONGEST_KEY
    ]
    key = (
        title if len(title) == 1 and title[0].naming_share >= GOOD_NAMING else (unique[:1] or title)
    )
    has_braces = any(set(column.name) & set("{}") for column in key)
    is_long = sum(column.mean_length for column in key) > LONGEST_ID
    if not key or has_braces or distinct_together(key) < LEAST_KEYED * key[0].rows or is_long:
        return "", "no column identifies a row; ids are made of what the row says"
    template = " ".join(f"{{{column.name}}}" for column in key)
    names = "' and '".join(column.name for column in key)
    repeats = key[0].rows - distinct_together(key)
    told = f"; {_rows_repeat(repeats)} one, told apart by the other values" if repeats else ""
    return template, f"ids are made of '{names}'{told}"


def chosen_id(columns: Columns, stated: str) -> tuple[ColumnProfile | None, list[str]]:
    """Return the column that the user chose as the id, None for `none`, and notes on what it
    costs.
    """
    column = next((column for column in columns if column.name == stated), None)
    problem = id_problem(column) if column is not None else None
    return column, [f"'{stated}' is the id by your choice, although {problem}"] if problem else []


def id_problem(column: ColumnProfile) -> str | None:
    """Return why a column cannot be the id, or None."""
    one_missing = column.rows - column.filled == 1 and column.rows >= FEWEST_ROWS
    if column.filled < (1 - MOST_MISSING) * column.rows and not one_missing:
        return f"{percent(1 - column.filled_share)} of the rows have none"
    if column.filled - column.distinct > MOST_REPEATED * column.filled:
        return (
            f"{column.filled - column.distinct:,} of {column.filled:,} rows repeat an earlier one"
        )
    if column.form not in ID_FORMS or (column.form is Form.TEXT and column.longest > LONGEST_ID):
        return "its values are not names"
    return None


def _names_equal_rows(column: ColumnProfile, columns: Columns) -> bool:
    """Tell whether rows with the same id are the same in every column, so that nothing is lost with
    one of them.
    """
    if column.filled < column.rows or column.form not in ID_FORMS or column.longest > LONGEST_ID:
        return False
    return column.distinct > column.rows / 2 and distinct_together(columns) == column.distinct


def id_of(column: ColumnProfile, columns: Columns) -> str:
    """Return the id by a column; a template where rows repeat one, so that none of them is lost."""
    is_whole = column.distinct == column.filled or _names_equal_rows(column, columns)
    return column.name if is_whole else f"{{{column.name}}}"


def _remarks(column: ColumnProfile) -> list[str]:
    notes = []
    if missing := column.rows - column.filled:
        rows = "1 row has" if missing == 1 else f"{missing:,} rows have"
        notes.append(f"{rows} no '{column.name}'; their ids are made of what the row says")
    if repeated := column.filled - column.distinct:
        notes.append(f"{_rows_repeat(repeated)} the '{column.name}' of an earlier one")
    return notes


def _rows_repeat(count: int) -> str:
    return "1 row repeats" if count == 1 else f"{count:,} rows repeat"


def _may_be_id(column: ColumnProfile, *, is_first: bool) -> bool:
    """Tell whether a column is named like an id; repeated ids in later columns refer to another
    table.
    """
    if column.is_unique and is_about(column.words[-1:], "unique_codes") and column.form in ID_FORMS:
        return is_first or column.rows >= FEWEST_CODES
    is_of_row = (
        column.is_unique or is_first or column.words == ("id",) or id_problem(column) is None
    )
    return is_of_row if is_link(column) else is_code(column)


def _is_unique_code(column: ColumnProfile) -> bool:
    """Tell whether a column has short codes of equal length or with digits, another in each row:
    `cca3`, `W00009`.
    """
    if (
        not column.is_unique
        or column.rows < FEWEST_CODES
        or column.form not in (Form.TEXT, Form.CODE)
    ):
        return False
    if (
        column.is_list
        or is_title_name(column)
        or not column.is_spaceless
        or column.longest > LONGEST_KEY
    ):
        return False
    has_digits = (
        sum(any(sign.isdigit() for sign in text) for text in column.texts) >= 0.9 * column.rows
    )
    is_even = (
        column.longest - column.shortest <= 2
        and column.longest <= LONGEST_CODE
        and column.rows >= FEWEST_ROWS
    )
    return column.longest == column.shortest > 1 or is_even or has_digits


@frozen
class Family:
    """Columns with values of one kind, and the name of the field that has all of them."""

    name: str
    columns: tuple[ColumnProfile, ...]
    tags: Mapping[str, str] = field(default_factory=dict)
    """The tag of each column that says yes or no; empty for numbered columns, which have the
    values.
    """


def find_families(columns: Columns, names: Names, *, apart: Iterable[str] = ()) -> list[Family]:
    """Return the families of numbered columns; `apart` are columns that stay fields of their
    own.
    """
    members: dict[str, list[ColumnProfile]] = {}
    for column in columns:
        if (
            (found := NUMBERED.fullmatch(column.name))
            and column.name not in apart
            and _may_belong(column)
        ):
            members.setdefault(found[1], []).append(column)
    taken = set(names.values())
    families = []
    for some in members.values():
        first, second = (set(column.texts) for column in (some * 2)[:2])
        if len(some) < FEWEST_MEMBERS or len(first | second) <= FEWEST_MEMBERS:
            continue
        is_of_people = is_about(name_words(NUMBERED.sub(r"\1", some[0].name)), "people")
        if is_of_people or len(first & second) >= LEAST_SHARED * len(second):
            bare = names[some[0].name].rstrip("0123456789").rstrip("_")
            wanted = (bare, f"{bare}s", f"all_{bare}", f"{bare}_list")
            name = next(name for name in wanted if name not in taken and FIELD_NAME.fullmatch(name))
            taken.add(name)
            families.append(Family(name=name, columns=tuple(some)))
    return families


def _may_belong(column: ColumnProfile) -> bool:
    """Tell whether a column has short texts that can be items of a list."""
    if (
        column.form is not Form.TEXT
        or column.mean_length > LONGEST_ITEM
        or is_code(column)
        or is_link(column)
    ):
        return False
    is_plain = not set(column.name) & set("{}|") and not any(MARK in text for text in column.texts)
    return is_plain and not column.is_list


def find_marks(columns: Columns, names: Names, *, apart: Iterable[str] = ()) -> list[Family]:
    """Return the runs of columns that each say yes or no of one thing, as `barn`, `bridge`,
    `cactus` do.
    """
    families: list[Family] = []
    for style, run in groupby(
        columns, key=lambda column: "" if column.name in apart else _style_of_mark(column)
    ):
        marks = tuple(run)
        if not style or len(marks) < FEWEST_MARKS:
            continue
        words = [_label(column.name).split() for column in marks]
        shared = len(
            [
                *takewhile(
                    lambda some: len(set(some)) == 1,
                    zip(*(name[:-1] for name in words), strict=False),
                )
            ]
        )
        tags = {
            column.name: " ".join(some[shared:]) for column, some in zip(marks, words, strict=True)
        }
        prefix = "_".join(
            word
            for word in name_words("_".join(words[0][:shared]))
            if not is_about([word], "answers")
        )
        taken = {*names.values(), *(family.name for family in families)}
        wanted = [
            name
            for name in ((prefix, f"{prefix}s") if prefix else ())
            if FIELD_NAME.fullmatch(name)
        ]
        name = next((name for name in (*wanted, *MARK_NAMES) if name not in taken), None)
        if name and all(tags.values()) and len(set(tags.values())) == len(tags):
            families.append(Family(name=name, columns=marks, tags=tags))
    return families


def is_yes_no(column: ColumnProfile) -> bool:
    """Tell whether a column of numbers says no and yes as 0 and 1, and counts nothing."""
    is_binary = set(column.texts) == {"0", "1"} and column.rows >= FEWEST_ROWS
    return is_binary and not column.is_about("telling_count")


def _style_of_mark(column: ColumnProfile) -> str:
    """Return how a column says yes or no: some rows yes and the others nothing, or nearly every
    row; else nothing.
    """
    if not (column.form is Form.BOOLEAN or is_yes_no(column) or column.texts == ["1"]):
        return ""
    answers = {read_boolean(text) for text in column.texts}
    if answers == {True}:
        return "crosses" if column.filled < column.rows else ""
    is_answered = column.filled_share >= 1 - MOST_UNANSWERED and answers == {True, False}
    return ("figures" if is_yes_no(column) else "words") if is_answered else ""


def _label(name: str) -> str:
    """Return a column's name in words: `APPLE_FRAME` is `apple frame`."""
    words = JOINT.sub(" ", name if name.isupper() else CAMEL_JOINT.sub(" ", name)).strip(" ?")
    return words.lower() if words.isupper() else words
