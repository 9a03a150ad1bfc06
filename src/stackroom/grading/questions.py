"""Golden questions: queries with the records that answer them, kept beside the catalogue as JSON
lines.

A user's own are in a `golden.toml` with `[[questions]]`, each a query and the ids that should
answer it.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from stackroom.errors import InputError, StorageError
from stackroom.frozen import frozen
from stackroom.library import replace_file
from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE
from stackroom.shelf.port import ShelfReader
from stackroom.toml_text import TomlError, parse_toml

OWN_FILE = "golden.toml"
# the problem that is named first: a misspelt key is also missing under its right name
UNKNOWN_KEY = "extra_forbidden"
EXAMPLE = '[[questions]] with query = "…" and expect = ["id", …]'


class QuestionKind(StrEnum):
    """The rule by which a question was made, or where it comes from."""

    MISSPELT = "misspelt titles"
    SHORT = "short titles"
    OTHER_NAME = "other names"
    DESCRIPTION = "descriptions"
    TOPIC = "topics"
    FIELDS = "fields"
    OWN = "own"


@frozen
class Question:
    """A query, and the records that answer it, all equally well."""

    kind: QuestionKind
    query: str
    expected: tuple[RecordId, ...]
    made_from: tuple[str, ...] = ()
    """The fields that the query was made from: when they change in a record, the question is no
    longer about it.
    """


STORED = TypeAdapter(Question)


def save_questions(questions: Iterable[Question], path: Path) -> None:
    """Write questions, one a line; replaces the file as a whole."""
    replace_file(path, b"".join(orjson.dumps(question) + b"\n" for question in questions))


def load_questions(path: Path) -> list[Question]:
    """Read questions; none where there is no file."""
    if not path.is_file():
        return []
    try:
        return [STORED.validate_json(line) for line in path.read_bytes().splitlines()]
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{path} is damaged; remove it, and grade the catalogue again: stackroom eval"
        ) from error


class OwnQuestion(BaseModel):
    """`[[questions]]` of a `golden.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query: str = Field(min_length=1)
    expect: list[str] = Field(min_length=1)


class OwnQuestions(BaseModel):
    """A whole `golden.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    questions: list[OwnQuestion] = Field(min_length=1)


def load_own_questions(path: Path, reader: ShelfReader) -> list[Question]:
    """Read a user's own questions; refuse a wrong file, or ids that the catalogue does not have."""
    own = _parse_own(path)
    wanted = [RecordId(one) for question in own.questions for one in question.expect]
    known = reader.find(wanted, scope=WHOLE)
    examples = ", ".join(
        f"'{record_id}'" for record_id in reader.ids(reader.scan(scope=WHOLE, limit=2))
    )
    for number, question in enumerate(own.questions, start=1):
        unknown = [one for one in question.expect if RecordId(one) not in known]
        if unknown:
            raise InputError(
                f"{path}: question {number} ('{question.query[:60]}'): 'expect' has '{unknown[0]}',"
                f" which is no id; ids here look like {examples}"
            )
    return [
        Question(kind=QuestionKind.OWN, query=one.query, expected=tuple(map(RecordId, one.expect)))
        for one in own.questions
    ]


def _parse_own(path: Path) -> OwnQuestions:
    """Read a file of questions; refuse a wrong one, with an example of what it should have."""
    try:
        known = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read: {error.strerror}; it should have {EXAMPLE}"
        ) from error
    except (TomlError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}; it should have {EXAMPLE}") from error
    try:
        return OwnQuestions.model_validate(known)
    except ValidationError as error:
        problems = sorted(error.errors(), key=lambda problem: problem["type"] != UNKNOWN_KEY)
        raise InputError(f"{path}: {_reason(problems[0])}; it should have {EXAMPLE}") from error


def _reason(problem: Any) -> str:
    """Return the first problem of a file in words, with its place."""
    place: Sequence[str | int] = problem["loc"]
    number = f"question {int(place[1]) + 1}: " if len(place) > 1 else ""
    name = next((one for one in reversed(place) if isinstance(one, str)), "")
    reasons = {"missing": "is missing", UNKNOWN_KEY: "is not a known key"}
    return f"{number}'{name}' {reasons.get(problem['type'], problem['msg'].lower())}"
