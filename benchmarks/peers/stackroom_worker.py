"""Ours: the search function with hydrated records, as tools call it."""

import time

STARTED = time.perf_counter()

import hashlib  # noqa: E402
from collections.abc import Iterable  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from worker import FIELDS, TOP, Hits, Row, serve  # noqa: E402

from stackroom.model.record import Record, RecordId, Tag  # noqa: E402
from stackroom.model.scope import WHOLE, AnyOf, Scope  # noqa: E402
from stackroom.model.vectors import ModelId  # noqa: E402
from stackroom.packages import PACKAGES  # noqa: E402
from stackroom.search.searcher import QueryVector, Searcher  # noqa: E402
from stackroom.shelf.opening import create_shelf, open_shelf  # noqa: E402
from stackroom.shelf.port import Embedding, Put  # noqa: E402


class StackroomEngine:
    """Implements `Engine`."""

    def __init__(self) -> None:
        self._spec = PACKAGES.get("anime").spec

    def build(self, rows: list[Row], vectors: np.ndarray, folder: Path) -> None:
        model = ModelId(name="given", dimension=vectors.shape[1])
        shelf = create_shelf(folder, self._spec, model=model)
        shelf.apply([_put(row, vector) for row, vector in zip(rows, vectors, strict=True)])
        shelf.publish()
        shelf.close()

    def open(self, folder: Path) -> None:
        self._shelf = open_shelf(folder, self._spec)
        self._searcher = Searcher(spec=self._spec)

    def text(self, text: str) -> Hits:
        return self._search(text, None, WHOLE)

    def vector(self, vector: np.ndarray) -> Hits:
        reader = self._shelf.reader()
        found = reader.nearest(vector[None, :], scope=WHOLE, limit=TOP)[0].keys.tolist()
        records = reader.fetch(found, scope=WHOLE)
        return _hits(records[key] for key in found)

    def hybrid(self, text: str, vector: np.ndarray) -> Hits:
        return self._search(text, vector, WHOLE)

    def filtered(self, text: str, vector: np.ndarray, kind: str) -> Hits:
        return self._search(text, vector, WHOLE.narrowed(AnyOf("type", (kind,))))

    def _search(self, text: str, vector: np.ndarray | None, scope: Scope) -> Hits:
        meaning = QueryVector(vector=vector)
        reader = self._shelf.reader()
        ranked = self._searcher.rank(reader, text, scope=scope, query_vector=meaning)
        found = ranked.first(TOP).keys.tolist()
        records = reader.fetch(found, scope=scope)
        return _hits(records[key] for key in found)


def _hits(records: Iterable[Record]) -> Hits:
    return [
        {"id": record.id} | {name: record.get(name) for name in FIELDS[1:]} for record in records
    ]


def _put(row: Row, vector: np.ndarray) -> Put:
    fields = {name: row[name] for name in ("title", "type", "year", "synopsis") if row[name]}
    fields["alternatives"] = tuple(row["alternatives"])
    fields["tags"] = tuple(Tag(category, value) for category, value in row["tags"])
    digest = hashlib.sha256(row["id"].encode()).digest()
    record = Record(id=RecordId(row["id"]), fields=fields)
    return Put(record=record, embedding=Embedding(digest=digest, vector=vector))


if __name__ == "__main__":
    serve(StackroomEngine(), STARTED)
