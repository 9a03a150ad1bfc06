"""Surveys: tables with a row for each respondent and a column for each question."""

import re
from collections.abc import Sequence

from pinakes.catalogue.infer.columns import is_question
from pinakes.catalogue.infer.title_words import is_title_name
from pinakes.catalogue.profile import ColumnProfile

MANY_QUESTIONS = 3
FEW_ANSWERS = 12
MANY_COLUMNS = 15
RESPONDENT = re.compile(r"respondents?|responses?|submissions?|participants?|interviews?")


def is_survey(columns: Sequence[ColumnProfile]) -> bool:
    """Tell whether most columns have few different answers, and are named by questions or belong to a respondent."""
    few = [column for column in columns if column.distinct <= FEW_ANSWERS]
    if 2 * len(few) < len(columns):
        return False
    if sum(map(is_question, columns)) >= MANY_QUESTIONS:
        return True
    has_respondent = any(RESPONDENT.fullmatch(word) for column in columns for word in column.words)
    has_title = any(is_title_name(column) and column.distinct_share >= 0.5 for column in columns)
    return has_respondent and not has_title and len(columns) >= MANY_COLUMNS
