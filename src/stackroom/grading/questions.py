"""Golden questions: queries with the records that answer them, kept beside the catalogue as JSON lines."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import orjson

from stackroom.errors import StorageError
from stackroom.library import replace_file
from stackroom.model.record import RecordId


class QuestionKind(StrEnum):
    """The rule by which a question was made, or where it comes from."""

    MISSPELT = "misspelt titles"
    SHORT = "short titles"
    OTHER_NAME = "other names"
    DESCRIPTION = "descriptions"
    TOPIC = "topics"
    FIELDS = "fields"
    SIMILAR = "similar"
    OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A query, and the records that answer it, all equally well."""

    kind: QuestionKind
    query: str
    expected: tuple[RecordId, ...]
    made_from: tuple[str, ...] = ()
    """The fields that the query was made from: when they change in a record, the question is no longer about it."""
    like: RecordId | None = None
    """The record whose neighbours are asked for, instead of an answer to `query`."""


def save_questions(questions: Iterable[Question], path: Path) -> None:
    """Write questions, one a line; replaces the file as a whole."""
    replace_file(path, b"".join(orjson.dumps(question) + b"\n" for question in questions))


def load_questions(path: Path) -> list[Question]:
    """Read questions; none where there is no file."""
    if not path.is_file():
        return []
    try:
        return [_question(known) for line in path.read_bytes().splitlines() if _is_known(known := orjson.loads(line))]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path} is damaged; remove it, and grade the catalogue again: stackroom eval") from error


def digest_of_questions(questions: Sequence[Question]) -> str:
    """Return a digest that is the same for the same questions."""
    return hashlib.sha256(b"\n".join(orjson.dumps(one) for one in questions)).hexdigest()[:16]


def _is_known(known: dict[str, object]) -> bool:
    """Tell whether a question is of a kind that is asked; those of recorded searches are not any more."""
    return known["kind"] != "recorded"


def _question(known: dict[str, object]) -> Question:
    like, expected, made_from = known.get("like"), known["expected"], known.get("made_from") or []
    if not isinstance(expected, list) or not isinstance(made_from, list):
        raise TypeError("a question's ids and fields are lists")
    return Question(
        kind=QuestionKind(str(known["kind"])),
        query=str(known["query"]),
        expected=tuple(RecordId(str(one)) for one in expected),
        made_from=tuple(map(str, made_from)),
        like=None if like is None else RecordId(str(like)),
    )
