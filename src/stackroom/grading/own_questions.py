"""A user's own questions: a `golden.toml` with `[[questions]]`, each a query and the ids that should answer it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stackroom.errors import InputError
from stackroom.grading.questions import Question, QuestionKind
from stackroom.model.record import RecordId
from stackroom.model.scope import WHOLE
from stackroom.shelf.port import ShelfReader
from stackroom.toml_text import TomlError, parse_toml

OWN_FILE = "golden.toml"
UNKNOWN_KEY = "extra_forbidden"
"""The problem that is named first: a misspelt key is also missing under its right name."""
EXAMPLE = '[[questions]] with query = "…" and expect = ["id", …]'


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
    own = _parse(path)
    wanted = [RecordId(one) for question in own.questions for one in question.expect]
    known = reader.find(wanted, scope=WHOLE)
    for number, question in enumerate(own.questions, start=1):
        unknown = [one for one in question.expect if RecordId(one) not in known]
        if unknown:
            raise InputError(
                f"{path}: question {number} ('{question.query[:60]}'): 'expect' has '{unknown[0]}', which is no id; "
                f"ids here look like {_examples(reader)}"
            )
    return [
        Question(kind=QuestionKind.OWN, query=one.query, expected=tuple(map(RecordId, one.expect)))
        for one in own.questions
    ]


def _parse(path: Path) -> OwnQuestions:
    try:
        known = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; it should have {EXAMPLE}") from error
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


def _examples(reader: ShelfReader) -> str:
    return ", ".join(f"'{one}'" for one in reader.ids(reader.scan(scope=WHOLE, limit=2)))
