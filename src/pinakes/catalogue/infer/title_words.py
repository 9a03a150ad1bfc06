"""Words in the names of columns that name a record."""

import re

from pinakes.catalogue.profile import ColumnProfile, name_words

TITLE_NAMES = name_words(
    "title name headline label heading product item film movie book song track album game recipe work term question "
    "titel titre titulo titolo nombre nome nom название 標題 标题 タイトル 書名 제목"
)
"""Names of title columns, the most certain first."""
NOT_A_TITLE = frozenset(
    name_words(
        "first last middle given family sur user author artist file brand publisher company vendor country city meta "
        "category subcategory section school team venue location host seller customer organization owner region state"
    )
)
"""Words before `name` or `title` that make it the name of something else."""
AFTER_NAME = frozenset(("common", "full", "display", "english", "preferred", "text", "value", "short", "main"))
ALTERNATIVE = re.compile(
    r"alternatives?|aliase?s?|aka|(also )?known as|synonyms|nicknames?"
    r"|(alt|alternative|other|original|native|english|international) (titles?|names?|spellings?)"
    r"|(titles?|names?) (alt|alternative|original|native|english|official)"
)
FIRST_NAME = re.compile(r"first ?name|given ?name|forename")
LAST_NAME = re.compile(r"last ?name|sur ?name|family ?name")


def is_title_name(column: ColumnProfile) -> bool:
    """Tell whether a column is named as one that names a record."""
    return (len(column.words) == 1 and column.words[0] in TITLE_NAMES) or ends_as_title(column)


def ends_as_title(column: ColumnProfile) -> bool:
    """Tell whether the name of a column ends, or begins, as that of a title: `full_name`, `name.common`."""
    words = column.words
    if len(words) < 2 or is_alternative(column):
        return False
    if words[0] in TITLE_NAMES[:2] and words[1] in AFTER_NAME:
        return True
    is_named = words[-1] in TITLE_NAMES[:2] or words[0] in TITLE_NAMES[:1]
    return is_named and not NOT_A_TITLE.intersection(words[:-1])


def is_alternative(column: ColumnProfile) -> bool:
    """Tell whether a column is named as one of other names."""
    return bool(ALTERNATIVE.fullmatch(" ".join(column.words)))
