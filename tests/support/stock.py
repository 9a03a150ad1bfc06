"""A shelf under test with short ways to fill and ask it, and a second process on the same
folder.
"""

import contextlib
import hashlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stackroom.catalogue.spec import CatalogueSpec, FieldRole, FieldType
from stackroom.model.record import Key, Record, RecordId, Tag
from stackroom.model.scope import WHOLE, Scope
from stackroom.model.vectors import ModelId, Vector
from stackroom.shelf.port import Delete, Embedding, Put, Shelf, ShelfReader
from stackroom.text.analyser import analyse_query
from support.launching import Started, launch

MODEL = ModelId(name="test-model", dimension=16)
ANSWER_TIMEOUT_S = 120.0


def occurrences_of(view: ShelfReader, field: str, *, scope: Scope) -> list[tuple[str, list[Key]]]:
    """Return each value of a field with the keys that have it, both in order."""
    found = view.occurrences(field, scope=scope)
    keys: list[list[Key]] = [[] for _ in found.values]
    for index, key in zip(found.indexes.tolist(), found.keys.tolist(), strict=True):
        keys[index].append(Key(key))
    return [(value, sorted(some)) for value, some in zip(found.values, keys, strict=True)]


@dataclass(frozen=True, kw_only=True)
class Stock:
    """A shelf under test, and records that fit its catalogue whatever its fields are called."""

    shelf: Shelf
    spec: CatalogueSpec

    @property
    def group_field(self) -> str:
        """A field that is filtered by its values and counted."""
        counted = [field for field in self.spec.column_fields if field.facet and field.filter]
        return max(counted, key=lambda field: field.type is FieldType.TAGS).name

    @property
    def number_field(self) -> str:
        """A field that is filtered by range."""
        return next(
            field.name for field in self.spec.column_fields if field.is_numeric and field.filter
        )

    @property
    def body_field(self) -> str:
        """The field that holds the running text."""
        field = self.spec.field_with_role(FieldRole.BODY)
        assert field is not None
        return field.name

    def record(
        self,
        name: str,
        *,
        title: str | None = None,
        body: str = "",
        group: Sequence[str] = (),
        number: int | None = None,
        kind: str | None = None,
        audiences: tuple[str, ...] = (),
    ) -> Record:
        """Return a record of this catalogue."""
        fields: dict[str, Any] = {
            self.spec.title_field.name: title or f"Title of {name}",
            self.body_field: body,
        }
        if group:
            fields[self.group_field] = self._group_value(group)
        if number is not None:
            is_date = self.spec.fields[self.number_field].type is FieldType.DATE
            fields[self.number_field] = f"{number}-01-01" if is_date else number
        return Record(
            id=RecordId(name), fields=fields, kind=kind or self.spec.kinds[0], audiences=audiences
        )

    def number(self, value: int) -> float:
        """Return what the number of a record is compared as."""
        is_date = self.spec.fields[self.number_field].type is FieldType.DATE
        return (
            float(np.datetime64(f"{value}-01-01").astype(int) + 719_163)
            if is_date
            else float(value)
        )

    def vector(self, name: str) -> Vector:
        """Return a unit vector that belongs to this name."""
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
        row = np.random.default_rng(seed).normal(size=MODEL.dimension)
        return (row / np.linalg.norm(row)).astype(np.float32)

    def embedded(self, record: Record, *, like: str | None = None) -> Put:
        """Return the change that puts the record with the vector of its id, or of another name."""
        name = like or record.id
        return Put(
            record=record, embedding=Embedding(digest=name.encode(), vector=self.vector(name))
        )

    def put(self, *records: Record) -> int:
        """Put the records with vectors, and publish."""
        return self.apply(*(self.embedded(record) for record in records))

    def delete(self, *names: str) -> int:
        """Delete the records, and publish."""
        return self.apply(*(Delete(RecordId(name)) for name in names))

    def apply(self, *changes: Put | Delete) -> int:
        """Make the changes, and publish."""
        writer = self.shelf.writer()
        last = writer.apply(changes)
        writer.publish()
        return last

    def lexical(self, text: str, *, scope: Scope = WHOLE, limit: int = 50) -> list[str]:
        """Return the ids that a fresh view finds by words."""
        view = self.shelf.reader()
        ranking = view.lexical(analyse_query(text, synonyms={}), scope=scope, limit=limit)
        return [str(record_id) for record_id in view.ids([hit.key for hit in ranking.best])]

    def nearest(self, name: str, *, scope: Scope = WHOLE, limit: int = 50) -> list[str]:
        """Return the ids that a fresh view finds by the vector of a name."""
        view = self.shelf.reader()
        (ranking,) = view.nearest(self.vector(name)[None, :], scope=scope, limit=limit)
        return [str(record_id) for record_id in view.ids([hit.key for hit in ranking.best])]

    def titles_like(self, text: str, *, scope: Scope = WHOLE, limit: int = 50) -> list[str]:
        """Return the ids whose names a fresh view finds like the text."""
        view = self.shelf.reader()
        return [
            str(one)
            for one in view.ids(
                [match.key for match in view.titles_like(text, scope=scope, limit=limit)]
            )
        ]

    def keys(self, *names: str) -> list[Key]:
        """Return the keys of these ids in a fresh view."""
        found = self.shelf.reader().find([RecordId(name) for name in names], scope=WHOLE)
        return [found[RecordId(name)] for name in names]

    def answers(self, view: ShelfReader, *, scope: Scope = WHOLE) -> dict[str, Any]:
        """Return what a view answers to one of every read."""
        keys = view.scan(scope=scope, limit=100)
        asked = analyse_query("robot story title", synonyms={})
        words = view.lexical(asked, scope=scope, limit=100)
        return {
            "scan": keys,
            "ids": view.ids(keys),
            "fetch": dict(view.fetch(keys, scope=scope)),
            "find": dict(view.find(view.ids(keys), scope=scope)),
            "lexical": (words.best, words.total),
            "nearest": [
                [hit.key for hit in ranking.best]
                for ranking in view.nearest(
                    np.stack([self.vector("one"), self.vector("two")]), scope=scope, limit=100
                )
            ],
            "vectors": view.vectors(keys).tolist(),
            "terms": view.terms(self.group_field, keys),
            "numbers": [str(number) for number in view.numbers(self.number_field, keys).tolist()],
            "titles_like": view.titles_like("title of one", scope=scope, limit=1),
            "facets": view.facets(self.group_field, scope=scope),
            "occurrences": occurrences_of(view, self.group_field, scope=scope),
            "count": view.count(scope),
        }

    def _group_value(self, group: Sequence[str]) -> Any:
        match self.spec.fields[self.group_field].type:
            case FieldType.TAGS:
                return tuple(Tag("theme", value) for value in group)
            case FieldType.TEXTS:
                return tuple(group)
            case _:
                return group[0]


OpenServer = Callable[[str], Stock]
"""Opens the shelf of a server, by its name."""


def require_followed_back(server_of: OpenServer, undo_last: Callable[[], None]) -> None:
    """Require that two servers follow a database that is put back to the state before its second
    change.
    """
    first, second = server_of("first"), server_of("second")
    first.put(first.record("heat", body="a robbery"))
    first.put(first.record("lost", body="a briefcase"))
    assert second.lexical("briefcase") == ["lost"]
    undo_last()
    assert first.put(first.record("new", body="a chase")) == 2
    for stock in (first, second):
        assert (stock.lexical("briefcase"), stock.lexical("chase"), stock.lexical("robbery")) == (
            [],
            ["new"],
            ["heat"],
        )


class Other:
    """Another process, asked line by line."""

    def __init__(self, process: Started) -> None:
        self._process = process

    def ask(self, line: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return json.loads(self.read())

    def has_spoken(self) -> bool:
        assert self._process.poll() in (None, 0), "the other process failed"
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout], [], [], 0)[0])

    def wait(self) -> int:
        return self._process.wait(ANSWER_TIMEOUT_S)

    def read(self) -> str:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], ANSWER_TIMEOUT_S)
        assert ready, "the other process did not answer"
        return str(self._process.stdout.readline()).strip()


@contextlib.contextmanager
def _other_process(script: str, folder: Path) -> Iterator[Other]:
    command = [sys.executable, "-c", script, str(folder)]
    with launch(
        command, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Other(process)
        finally:
            process.kill()
