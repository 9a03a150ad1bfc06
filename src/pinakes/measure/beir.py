"""A judged collection in the BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`, plain or `.zst`."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinakes.errors import InputError
from pinakes.model.record import Record, RecordId
from pinakes.sources.compressed import find_compressed, open_decompressed
from pinakes.sources.json_rows import JsonRows

GRADE = re.compile(r"-?\d+(?:\.\d+)?")

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
    """Queries with their relevant documents; `corpus` is read lazily."""

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
    texts = dict(_queries(_file(folder, "queries.jsonl")))
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
    if "_id" not in row:
        raise InputError("'_id' is missing")
    return Record(id=RecordId(str(row["_id"])), fields=fields)


def _queries(path: Path) -> Iterator[tuple[str, str]]:
    for row in JsonRows(path).iter_rows():
        if row.problem or "_id" not in row.values or not isinstance(row.values.get("text"), str):
            raise InputError(f"{path}, {row.place}: {row.problem or 'wanted an object with _id and text'}")
        yield str(row.values["_id"]), row.values["text"]


def _judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    with open_decompressed(path) as file:
        lines = csv.reader(io.TextIOWrapper(file, encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE)
        for number, line in enumerate(lines, start=1):
            is_grade = len(line) == 3 and GRADE.fullmatch(line[2])
            if is_grade:
                yield line[0], line[1], int(float(line[2]))
            elif number > 1:  # the first line may be a heading
                raise InputError(f"{path}, line {number}: wanted query, document and grade, parted by tabs")


def _file(folder: Path, name: str) -> Path:
    found = find_compressed(folder / name)
    if found is None:
        raise InputError(f"{folder}: no {name} here; a BEIR folder has corpus.jsonl, queries.jsonl and qrels/test.tsv")
    return found
