"""Resolving a typed title to a record."""

from collections.abc import Sequence
from dataclasses import dataclass

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.model.record import Key, Record
from pinakes.model.scope import Scope
from pinakes.shelf.port import ShelfReader
from pinakes.text.normalise import fold_name
from pinakes.text.query import analyse_query

SURE = 0.72
"""The likeness from which a title is taken for the typed one."""

WORDS_LIKENESS = 0.75
"""The likeness of a title that has all the typed words among others."""

TRIED = 3
SUGGESTIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleChoice:
    """The record that a typed title was resolved to, or similar titles as suggestions."""

    asked: str
    key: Key | None = None
    record: Record | None = None
    title: str = ""
    likeness: float = 0.0
    suggestions: tuple[str, ...] = ()


def resolve_title(reader: ShelfReader, spec: CatalogueSpec, asked: str, *, scope: Scope) -> TitleChoice:
    """Return the record that a typed title most likely means; near misses become suggestions."""
    likeness = _likely(reader, asked, scope)
    if not likeness or max(likeness.values()) < SURE:
        likeness = _with_all_words(reader, spec, asked, scope) or likeness
    records = reader.fetch(list(likeness), scope=scope)
    ranked = sorted(records, key=lambda key: _preference(records[key], likeness[key], asked, spec, key))
    if ranked and likeness[ranked[0]] >= SURE:
        best = ranked[0]
        record = records[best]
        title = spec.title_of(record)
        return TitleChoice(asked=asked, key=best, record=record, title=title, likeness=likeness[best])
    names = dict.fromkeys(spec.title_of(records[key]) for key in ranked)
    return TitleChoice(asked=asked, suggestions=tuple(names)[:SUGGESTIONS])


def _likely(reader: ShelfReader, asked: str, scope: Scope) -> dict[Key, float]:
    return {match.key: match.likeness for match in reader.titles_like(asked, scope=scope, limit=TRIED)}


def _with_all_words(reader: ShelfReader, spec: CatalogueSpec, asked: str, scope: Scope) -> dict[Key, float]:
    """Return the records one of whose names has all the typed words, in that order."""
    wanted = f" {fold_name(asked)} "
    found = reader.lexical(analyse_query(asked, synonyms={}), scope=scope, limit=TRIED * 10)
    records = reader.fetch(found.keys.tolist(), scope=scope)
    return {key: WORDS_LIKENESS for key, record in records.items() if _has_words(spec.names_of(record), wanted)}


def _has_words(names: Sequence[str], wanted: str) -> bool:
    return bool(wanted.strip()) and any(wanted in f" {fold_name(name)} " for name in names)


def _preference(record: Record, likeness: float, asked: str, spec: CatalogueSpec, key: Key) -> tuple[object, ...]:
    """Order records of like titles: the likeliest, then by title rather than alternative, then the shortest, oldest."""
    own_title = fold_name(spec.title_of(record))
    by_own_title = own_title == fold_name(asked)
    time_field = next((field.name for field in spec.fields.values() if field.role == "time"), "")
    return -likeness, not by_own_title, str(record.get(time_field) or "9999"), len(own_title), key
