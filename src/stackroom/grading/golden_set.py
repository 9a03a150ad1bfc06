"""The golden set that a catalogue writes for itself: questions made by rules from its records and
relations.

The same records, seed and number give the same questions: misspelt and shortened names,
descriptions, topics. Records are drawn by a hash of their ids, so that most questions stay when
records are added. They are kept beside the catalogue as JSON lines. Questions of people are in a
`golden.toml` with `[[questions]]`, each a query and the ids that should answer it.
"""

import hashlib
import math
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldType, FilterKind, texts_of
from stackroom.errors import InputError, StorageError
from stackroom.frozen import frozen
from stackroom.library import replace_file
from stackroom.model.record import Key, Record, RecordId
from stackroom.model.scope import (
    KIND_FIELD,
    KNOWN_FIELD,
    WHOLE,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Scope,
)
from stackroom.search.values import adult_conditions
from stackroom.shelf.port import ShelfReader
from stackroom.text.analyser import FUNCTION_TOKENS, query_tokens
from stackroom.text.normalise import fold_name, plain_text
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


SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
SUBTITLE = re.compile(r"\s*[:(–—]\s*|\s+-\s+")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LEAST_MISSPELT_CHARS = 5  # a shorter name with a wrong letter is another name
LEAST_SHORT_WORDS = 2
SHORT_SHARE = 0.6  # the share of a name's words that a shortened form keeps

LEAST_TELLING_WORDS = 6
MOST_TELLING_WORDS = 10
RARE_SHARE = 1 / 3
"""The share of a description's words, the rarest, that is left out: people who describe a thing
rarely use the very words that only its record has.
"""
REWORDED_SHARE = 1 / 3
"""The share of a description's words that its record does not have; it is .34 in descriptions of
plots by people.
"""
TOPIC_WORDS = 2
LONGEST_HEADING_WORDS = 8
PUNCTUATION = " ,;:.!?-–—"

ItemT = TypeVar("ItemT")
Frequencies = Callable[[Sequence[str]], list[int]]  # returns how many records have each token
DEFAULT_QUESTIONS = 300
TO_TUNE_BY = 600
# in a larger catalogue, records are drawn from so many that are spread over it
MOST_DRAWN_FROM = 200_000
TRIED_FOR_ONE = 6  # the number of records that are tried for a question of a kind
SEED = 0  # of the draw: the same records give the same questions
AT_ONCE = 100
MOST_ANSWERS = 40  # a combination of values that more records have is too wide to grade by
SAME_NAME = 5
SHARED_TRIED = 10
NEIGHBOURS = 3
# the weight in the draw of a record of which nothing is known: people ask for what is known
LEAST_KNOWN = 0.05
VALUE_TYPES = (FieldType.TAGS, FieldType.TEXTS, FieldType.ENUM, FieldType.TEXT)
Rule = Callable[[Record, random.Random], Question | None]


def misspell(name: str, generator: random.Random) -> str | None:
    """Return a name with one letter left out, doubled, swapped or replaced; None where it is too
    short.
    """
    places = [
        index
        for index in range(1, len(name) - 1)
        if name[index].isalpha() and name[index + 1].isalpha()
    ]
    if len(name) < LEAST_MISSPELT_CHARS or not places or not name.isascii():
        return None
    at = generator.choice(places)
    letter, following = name[at], name[at + 1]
    forms = [
        name[:at] + name[at + 1 :],
        name[:at] + letter + name[at:],
        name[:at] + following + letter + name[at + 2 :],
        name[:at] + generator.choice(LETTERS) + name[at + 1 :],
    ]
    return next((form for form in generator.sample(forms, len(forms)) if form != name), None)


def shorten(name: str) -> str | None:
    """Return the first part of a name: before its subtitle, or most of its words; None where little
    would be left.
    """
    whole = name.split()
    before = SUBTITLE.split(name.strip(), maxsplit=1)[0].split()
    words = before if len(before) < len(whole) else whole[: round(len(whole) * SHORT_SHARE)]
    while words and set(query_tokens(words[-1])) <= FUNCTION_TOKENS:
        words = words[:-1]
    short = " ".join(words).strip(PUNCTUATION)
    return short if len(set(query_tokens(short)) - FUNCTION_TOKENS) >= LEAST_SHORT_WORDS else None


def describe(
    text: str,
    *,
    without: Collection[str],
    others: str,
    frequencies: Frequencies,
    generator: random.Random,
) -> str | None:
    """Return a description of one sentence by its telling words, but for a name's words and the
    rarest.

    Some words are replaced by words of `others`, texts about similar things: people do not use the
    very words of a record. None where no sentence has enough words.
    """
    sentences = [one for one in SENTENCE_END.split(text) if one.strip()]
    for sentence in generator.sample(sentences, len(sentences)):
        tokens = _telling(sentence, without)
        if len(tokens) < LEAST_TELLING_WORDS:
            continue
        rarest_first = _by_rarity(tokens, frequencies)
        left_out = set(rarest_first[: round(len(rarest_first) * RARE_SHARE)])
        kept = [word for word in tokens if word not in left_out][:MOST_TELLING_WORDS]
        near = list(_telling(others, {*without, *_telling(text, ()).values()}))
        places = generator.sample(
            range(len(kept)), min(round(len(kept) * REWORDED_SHARE), len(near))
        )
        replacing = dict(zip(places, generator.sample(near, len(places)), strict=True))
        return " ".join(replacing.get(place, word) for place, word in enumerate(kept))
    return None


def name_topic(heading: str, text: str, *, frequencies: Frequencies) -> str | None:
    """Return a heading with the rarest other words of a text; None where the text is too short, or
    the heading long.
    """
    tokens = _telling(text, set(query_tokens(heading)))
    if len(tokens) < LEAST_TELLING_WORDS or len(heading.split()) > LONGEST_HEADING_WORDS:
        return None
    return " ".join([heading, *_by_rarity(tokens, frequencies)[:TOPIC_WORDS]])


def _telling(text: str, without: Collection[str]) -> dict[str, str]:
    """Return the words of a text that carry meaning, each once, with its token; names' words are
    left out.
    """
    words: dict[str, str] = {}
    for word in WORD.findall(text):
        token = next(iter(query_tokens(word)), "")
        if token and token not in FUNCTION_TOKENS and token not in without and not word.isdigit():
            words.setdefault(word.lower(), token)
    return words


def _by_rarity(tokens: Mapping[str, str], frequencies: Frequencies) -> list[str]:
    """Return the words, the rarest first."""
    words = list(tokens)
    counts = dict(zip(words, frequencies([tokens[word] for word in words]), strict=True))
    return sorted(words, key=lambda word: (counts[word], word))


def write_golden_set(reader: ShelfReader, spec: CatalogueSpec, questions: int) -> list[Question]:
    """Return so many questions made from a catalogue, about as many of each kind as of another."""
    writer = _Writer(reader, spec, TRIED_FOR_ONE * questions)
    left = {kind: writer.iter_questions(kind, rule) for kind, rule in writer.rules().items()}
    taken: dict[QuestionKind, list[Question]] = {kind: [] for kind in left}
    wanted = questions
    while left and wanted:
        for kind in list(left)[:wanted]:  # one of each kind in turn, while there are any
            question = next(left[kind], None)
            if question is None:
                del left[kind]
            else:
                taken[kind].append(question)
                wanted -= 1
    return list(chain.from_iterable(taken.values()))


def default_scope(spec: CatalogueSpec) -> Scope:
    """Return the scope of a search without filters: no kinds that are hidden from it, nothing for
    adults only.
    """
    hidden: list[Condition] = adult_conditions(spec)
    if spec.kinds_hidden_from_search:
        hidden.append(NoneOf(KIND_FIELD, spec.kinds_hidden_from_search))
    return Scope(conditions=tuple(hidden))


class _Writer:
    """Draws records of one catalogue and makes questions of them."""

    def __init__(self, reader: ShelfReader, spec: CatalogueSpec, tried: int) -> None:
        self._reader = reader
        self._spec = spec
        self._tried = tried
        self._scope = default_scope(spec)
        self._keys = spread(
            reader.scan(scope=self._scope, limit=reader.count(self._scope)), MOST_DRAWN_FROM
        )
        self._ids = dict(zip(self._keys, reader.ids(self._keys), strict=True))
        known = reader.numbers(KNOWN_FIELD, self._keys).tolist() if spec.known else []
        self._weights: dict[Key, float] = {
            key: max(one, LEAST_KNOWN) for key, one in zip(self._keys, known, strict=bool(known))
        }
        self._body = spec.field_with_role(FieldRole.BODY)
        self._headings = [
            field.name
            for field in spec.fields.values()
            if field.type is FieldType.TEXTS
            and field.searched
            and field.role is None
            and field.filter is None
        ]
        """The fields with lists of words that a text stands under and that no filter has."""
        self._value_fields = [
            field.name
            for field in spec.fields.values()
            if field.filter in (FilterKind.EQUALS, FilterKind.ANY_OF, FilterKind.ALL_OF)
            and field.type in VALUE_TYPES
            and field.facet
            and (field.searched or field.name in spec.search.named)
        ]
        """The fields whose values both a filter and a query can name."""

    def rules(self) -> dict[QuestionKind, Rule]:
        """Return the rules that this catalogue has fields for."""
        rules: dict[QuestionKind, Rule] = {
            QuestionKind.MISSPELT: lambda record, generator: self._by_name(
                record, QuestionKind.MISSPELT, misspell(self._spec.title_of(record), generator)
            ),
            QuestionKind.SHORT: self._short,
        }
        if any(field.role is FieldRole.ALTERNATIVES for field in self._spec.name_fields):
            rules[QuestionKind.OTHER_NAME] = self._other_name
        if self._body is not None and self._body.searched:
            rules[QuestionKind.DESCRIPTION] = self._description
            if self._headings:
                rules[QuestionKind.TOPIC] = self._topic
        if self._value_fields:
            rules[QuestionKind.FIELDS] = self._fields
        return rules

    def iter_questions(self, kind: QuestionKind, rule: Rule) -> Iterator[Question]:
        """Yield questions of one kind, each query once."""
        asked: set[str] = set()
        for record in self._draw(kind):
            question = rule(record, random.Random(f"{SEED} {kind} {record.id}"))
            if question is not None and question.query not in asked:
                asked.add(question.query)
                yield question

    def _draw(self, kind: QuestionKind) -> Iterator[Record]:
        """Yield records in an order that their ids, the kind and the seed determine."""

        def place(key: Key) -> float:
            digest = hashlib.sha256(f"{SEED} {kind} {self._ids[key]}".encode()).digest()
            share = (int.from_bytes(digest[:8], "big") + 1) / 2**64
            # a draw by weights, without replacement
            return -math.log(share) / self._weights.get(key, 1.0)

        drawn = sorted(self._keys, key=place)[: self._tried]
        for start in range(0, len(drawn), AT_ONCE):
            some = drawn[start : start + AT_ONCE]
            records = self._reader.fetch(some, scope=self._scope)
            yield from (records[key] for key in some if key in records)

    def _short(self, record: Record, _generator: random.Random) -> Question | None:
        short = shorten(self._spec.title_of(record))
        if not short:
            return None
        alike = [
            match.key
            for match in self._reader.titles_like(short, scope=self._scope, limit=SHARED_TRIED)
        ]
        others = [
            one
            for one in self._reader.fetch(alike, scope=self._scope).values()
            if one.id != record.id
        ]
        names = (fold_name(name) for other in others for name in self._spec.names_of(other))
        is_shared = any(name.startswith(fold_name(short)) for name in names)
        return None if is_shared else self._by_name(record, QuestionKind.SHORT, short)

    def _other_name(self, record: Record, generator: random.Random) -> Question | None:
        others = [name for name in self._spec.names_of(record)[1:] if len(name) > SAME_NAME]
        return self._by_name(
            record, QuestionKind.OTHER_NAME, generator.choice(others) if others else None
        )

    def _by_name(self, record: Record, kind: QuestionKind, query: str | None) -> Question | None:
        """Return the question for a name; records that share the title answer it as well."""
        if not query:
            return None
        alike = self._reader.titles_like(
            self._spec.title_of(record), scope=self._scope, limit=SAME_NAME
        )
        same = self._reader.ids([match.key for match in alike if match.likeness == 1.0])
        fields = tuple(field.name for field in self._spec.name_fields)
        return Question(
            kind=kind,
            query=query,
            expected=tuple(dict.fromkeys((record.id, *same))),
            made_from=fields,
        )

    def _description(self, record: Record, generator: random.Random) -> Question | None:
        names = {token for name in self._spec.names_of(record) for token in query_tokens(name)}
        query = describe(
            self._text_of(record),
            without=names,
            others=self._texts_near(record),
            frequencies=self._reader.frequencies,
            generator=generator,
        )
        return self._by_body(record, QuestionKind.DESCRIPTION, query)

    def _topic(self, record: Record, generator: random.Random) -> Question | None:
        headings = [name for field in self._headings for name in texts_of(record.get(field))]
        if not headings:
            return None
        query = name_topic(
            generator.choice(headings), self._text_of(record), frequencies=self._reader.frequencies
        )
        return self._by_body(record, QuestionKind.TOPIC, query)

    def _by_body(self, record: Record, kind: QuestionKind, query: str | None) -> Question | None:
        if not query or self._body is None:
            return None
        return Question(
            kind=kind,
            query=query,
            expected=(record.id,),
            made_from=(self._body.name, *self._headings),
        )

    def _texts_near(self, record: Record) -> str:
        """Return the texts of the records most like one; empty in a catalogue without vectors."""
        keys = list(self._reader.find([record.id], scope=self._scope).values())
        if self._reader.model is None or not keys:
            return ""
        (near,) = self._reader.nearest(
            self._reader.vectors(keys), scope=self._scope, limit=NEIGHBOURS + 1
        )
        others = self._reader.fetch(
            [key for key in near.keys.tolist() if key != keys[0]], scope=self._scope
        )
        return "\n".join(self._text_of(other) for other in others.values())

    def _text_of(self, record: Record) -> str:
        if self._body is None:
            return ""
        text = "\n".join(texts_of(record.get(self._body.name)))
        return plain_text(text) if self._spec.embed and self._spec.embed.markdown else text

    def _fields(self, record: Record, generator: random.Random) -> Question | None:
        """Return the question for records that share two values of this one: `comedy of 1998`,
        `film about robots`.
        """
        values = [
            (field, value) for field in self._value_fields for value in texts_of(record.get(field))
        ]
        if not values:
            return None
        chosen = generator.sample(values, min(2, len(values)))
        conditions: list[Condition] = [AnyOf(field, (value,)) for field, value in chosen]
        query = " about ".join(value for _, value in chosen)
        time = self._spec.field_with_role(FieldRole.TIME)
        if (
            time
            and time.type is FieldType.INT
            and time.filter is FilterKind.RANGE
            and len(chosen) == 1
        ):
            year = record.get(time.name)
            if year is None:
                return None
            conditions.append(Range(time.name, at_least=year, at_most=year))
            query = f"{query} of {year}"
        keys = self._reader.scan(scope=self._scope.narrowed(*conditions), limit=MOST_ANSWERS + 1)
        if len(keys) > MOST_ANSWERS:
            return None
        used = tuple(condition.field for condition in conditions)
        expected = tuple(self._reader.ids(keys))
        return Question(kind=QuestionKind.FIELDS, query=query, expected=expected, made_from=used)


def spread(items: Sequence[ItemT], most: int) -> Sequence[ItemT]:
    """Return at most so many of a list, evenly spread over it."""
    return items[:: -(-len(items) // most) or 1]
