"""A judged collection in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`, plain or `.zst`."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinakes.errors import InputError
from pinakes.model.record import Record, RecordId
from pinakes.sources.json_rows import JsonRows

DECLARATION = """
name = "beir"
title = "A judged collection"
summary = "Documents with a title and a text."

[fields.title]
type = "text"
role = "title"
search = { boost = 0.25 }

[fields.text]
type = "text"
role = "body"
search = true

[embed]
template = "{title}. {text}"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Queries with the documents that answer them; `corpus` is read when it is needed."""

    folder: Path
    queries: dict[str, str]
    relevant: dict[str, frozenset[str]]

    def corpus(self) -> JsonRows:
        """Return the documents as a source of rows."""
        return JsonRows(_file(self.folder, "corpus.jsonl"))


def load_collection(folder: Path, *, split: str) -> Collection:
    """Read the queries and judgements of a split; every judgement above 0 counts as relevant."""
    relevant: dict[str, set[str]] = {}
    for query, document, grade in _judgements(_file(folder, f"qrels/{split}.tsv")):
        if grade > 0:
            relevant.setdefault(query, set()).add(document)
    texts = {
        str(row.values["_id"]): str(row.values["text"]) for row in JsonRows(_file(folder, "queries.jsonl")).iter_rows()
    }
    missing = [query for query in relevant if query not in texts]
    if missing or not relevant:
        raise InputError(f"{folder}: {len(missing)} judged queries have no text, {len(relevant)} are judged")
    return Collection(
        folder=folder,
        queries={query: texts[query] for query in sorted(relevant)},
        relevant={query: frozenset(documents) for query, documents in relevant.items()},
    )


def document_of(row: Any) -> Record:
    """Return the record of a document."""
    fields = {"title": row.get("title") or None, "text": row.get("text") or None}
    return Record(id=RecordId(str(row["_id"])), fields=fields)


def _judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    lines = csv.reader(io.StringIO(path.read_text(encoding="utf-8")), delimiter="\t")
    next(lines, None)
    for number, line in enumerate(lines, start=2):
        if len(line) != 3 or not line[2].lstrip("-").isdigit():
            raise InputError(f"{path}, line {number}: wanted query, document and grade, parted by tabs")
        yield line[0], line[1], int(line[2])


def _file(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.zst", folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise InputError(f"{folder}: no {name} here; a BEIR folder has corpus.jsonl, queries.jsonl and qrels/test.tsv")
