"""The files that clients read: derived from the catalogue on every read, never stored.

    judokon://judoka.json                 the cards, in the layout of the project's file
    judokon://client_embeddings.json      {model, dim, items: [{id, text, embedding, source, tags,
                                          qaContext, version}]}
    judokon://synonyms.json               the synonyms that queries are expanded with
    judokon://offline_rag_vectors.bin     the vectors alone: no header, rows of `dim` little-endian
                                          float32 one after another, each of unit length
    judokon://offline_rag_metadata.json   {model, count, dim, dtype, layout, ids, kinds}: row i of
                                          the vectors is the record `ids[i]`

A record without a vector is in neither of the last two, and has no `embedding` in the second.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import orjson

from stackroom import api
from stackroom_catalogues.judoka.rows import CARD, PASSAGE, TECHNIQUE, card_of, shown_id, stats_of
from stackroom_catalogues.judoka.synonyms import load_kept

CARDS = api.AnyOf(api.KIND_FIELD, (CARD,))
PREFIX = "judokon://"
JSON, BINARY = "application/json", "application/octet-stream"
FILES = {
    "judoka.json": ("Judoka cards", JSON),
    "client_embeddings.json": ("Texts and embeddings", JSON),
    "synonyms.json": ("Synonyms", JSON),
    "offline_rag_vectors.bin": ("Vectors for offline use", BINARY),
    "offline_rag_metadata.json": ("What the vectors are of", JSON),
}
DECIMALS = 6
DTYPE = "<f4"
LAYOUT = "no header; row-major float32, little-endian, unit length; row i is the vector of ids[i]"
SOURCES = {CARD: "judoka.json", TECHNIQUE: "techniques.json"}


def text_of(record: api.Record) -> str:
    """Return a record as plain text."""
    if record.kind == PASSAGE:
        return str(record.get("text"))
    if record.kind == TECHNIQUE:
        head = " ".join(filter(None, map(record.get, ("name", "japanese"))))
        return ". ".join(
            filter(None, (head, *map(record.get, ("category", "subCategory", "description"))))
        )
    stats = ", ".join(f"{stat} {number}" for stat, number in stats_of(record).items())
    parts = map(record.get, ("name", "country", "weightClass", "rarity", "signatureMove"))
    return ". ".join(filter(None, (*parts, stats, record.get("bio"))))


def source_of(record: api.Record) -> str:
    """Return the source of a record: what a passage states, a technique's file, else the file of
    its kind.
    """
    stated = record.get("source") or (record.get("rest") or {}).get("source")
    return str(stated or SOURCES.get(record.kind, "passages.json"))


def declare_files(catalogue: api.OpenCatalogue, prefix: str) -> api.ResourceSpec:
    """Declare the files of one catalogue."""
    entries = [
        api.ResourceEntry(uri=f"{prefix}{name}", name=name, title=title, mime_type=mime_type)
        for name, (title, mime_type) in FILES.items()
    ]
    return api.ResourceSpec(
        prefix=prefix,
        action=api.Action.ACCESS_CATALOG,
        entries=lambda _principal: entries,
        read=partial(_read_file, catalogue),
        is_file=True,
    )


def _read_file(
    catalogue: api.OpenCatalogue, principal: api.Principal, name: str
) -> api.ResourceContent | None:
    """Return a file's content."""
    view, scope = catalogue.view(), api.Scope(visibility=principal.visibility)
    reader = view.reader
    model, dimension = (reader.model.name, reader.model.dimension) if reader.model else (None, 0)
    match name:
        case "judoka.json":
            return _json(
                [card_of(record) for record, _ in _iter_records(view, scope.narrowed(CARDS))]
            )
        case "client_embeddings.json":
            items = [_item(record, vector) for record, vector in _iter_records(view, scope)]
            return _json({"model": model, "dim": dimension, "items": items})
        case "synonyms.json":
            return _json(load_kept(catalogue))
        case "offline_rag_vectors.bin":
            rows = [vector for _, vector in _iter_records(view, scope) if vector.any()]
            return api.ResourceContent(mime_type=BINARY, blob=np.array(rows, dtype=DTYPE).tobytes())
        case "offline_rag_metadata.json":
            records = [record for record, vector in _iter_records(view, scope) if vector.any()]
            about = {
                "model": model,
                "count": len(records),
                "dim": dimension,
                "dtype": "float32",
                "layout": LAYOUT,
            }
            ids, kinds = [record.id for record in records], [record.kind for record in records]
            return _json({**about, "ids": ids, "kinds": kinds})
    return None


def _iter_records(
    view: api.CatalogueView, scope: api.Scope
) -> Iterator[tuple[api.Record, np.ndarray[Any, Any]]]:
    """Yield each record with its vector, in the order in which they were added."""
    reader = view.reader
    keys = reader.scan(scope=scope, limit=reader.count(scope))
    records = reader.fetch(keys, scope=scope)
    vectors = reader.vectors(keys) if reader.model else np.zeros((len(keys), 0), np.float32)
    yield from (
        (records[key], vector) for key, vector in zip(keys, vectors, strict=True) if key in records
    )


def _item(record: api.Record, vector: np.ndarray[Any, Any]) -> dict[str, Any]:
    item = {
        "id": shown_id(record),
        "text": text_of(record),
        "source": source_of(record),
        "tags": list(record.get("tags") or (record.kind,)),
        "qaContext": record.get("qaContext"),
        "version": record.get("version"),
        "embedding": np.round(vector.astype(np.float64), DECIMALS).tolist()
        if vector.any()
        else None,
    }
    return {key: value for key, value in item.items() if value is not None}


def _json(value: Any) -> api.ResourceContent:
    return api.ResourceContent(mime_type=JSON, text=orjson.dumps(value).decode())
