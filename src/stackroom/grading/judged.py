"""Search on a judged collection in the BEIR layout: `corpus.jsonl`, `queries.jsonl`,
`qrels/SPLIT.tsv`, or `.zst`.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec, Fusion
from stackroom.embed.port import Embedder
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.grading.metrics import Quality, measure
from stackroom.ingest.ledger import Ledger
from stackroom.ingest.mapping import RowMapping
from stackroom.ingest.pipeline import Progress, Target, ingest
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import WHOLE
from stackroom.search.catalogue_embedder import CatalogueEmbedder
from stackroom.search.evidence import calibrate
from stackroom.search.searcher import QueryVector, Searcher, embed_query
from stackroom.shelf.opening import create_shelf
from stackroom.sources.compressed import find_compressed, open_decompressed
from stackroom.sources.json_rows import JsonRows

GRADE = re.compile(r"-?\d+(?:\.\d+)?")

DECLARATION = resources.files("stackroom.grading") / "judged.toml"


@frozen
class Collection:
    """Queries with the grades of their relevant documents, all above 0; `corpus` is read lazily."""

    folder: Path
    queries: dict[str, str]
    grades: dict[str, dict[str, int]]

    def corpus(self) -> JsonRows:
        """Return the documents as a source of rows."""
        return JsonRows(_file(self.folder, "corpus.jsonl"))


def load_collection(folder: Path, *, split: str = "test", is_binary: bool = False) -> Collection:
    """Read the queries and judgements of a split; every judgement above 0 counts as relevant, in a
    binary collection as much as any other.
    """
    grades = _read_grades(_file(folder, f"qrels/{split}.tsv"), is_binary=is_binary)
    texts = dict(_queries(_file(folder, "queries.jsonl")))
    missing = [query for query in grades if query not in texts]
    if missing or not grades:
        raise InputError(
            f"{folder}: {len(missing)} judged queries have no text, {len(grades)} are judged; each"
            " needs a text"
        )
    return Collection(
        folder=folder, queries={query: texts[query] for query in sorted(grades)}, grades=grades
    )


def document_of(row: Any) -> Record:
    """Return the record of a document."""
    fields = {"title": row.get("title") or None, "text": row.get("text") or None}
    if "_id" not in row:
        raise InputError("'_id' is missing; every document needs one")
    return Record(id=RecordId(str(row["_id"])), fields=fields)


def _queries(path: Path) -> Iterator[tuple[str, str]]:
    for row in JsonRows(path).iter_rows():
        if row.problem or "_id" not in row.values or not isinstance(row.values.get("text"), str):
            raise InputError(
                f"{path}, {row.place}: {row.problem or 'wanted an object with _id and text'}"
            )
        yield str(row.values["_id"]), row.values["text"]


def _read_grades(path: Path, *, is_binary: bool) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    with open_decompressed(path) as file:
        lines = csv.reader(
            io.TextIOWrapper(file, encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE
        )
        for number, line in enumerate(lines, start=1):
            if len(line) == 3 and GRADE.fullmatch(line[2]):
                if (grade := int(float(line[2]))) > 0:
                    grades.setdefault(line[0], {})[line[1]] = 1 if is_binary else grade
            elif number > 1:  # the first line may be a heading
                raise InputError(
                    f"{path}, line {number}: wanted query, document and grade, separated by tabs"
                )
    return grades


def _file(folder: Path, name: str) -> Path:
    found = find_compressed(folder / name)
    if found is None:
        raise InputError(
            f"{folder}: no {name} here; a BEIR folder has corpus.jsonl, queries.jsonl and"
            " qrels/test.tsv"
        )
    return found


DEPTH = 100


def judged_spec() -> CatalogueSpec:
    """Return the spec that the documents of every collection follow."""
    return compile_text(DECLARATION.read_text(encoding="utf-8"), origin=DECLARATION.name)


def evaluate(
    collection: Collection, *, embedder: Embedder, work: Path, progress: Progress
) -> dict[str, Quality]:
    """Index the collection under `work` (once) and measure every search method."""
    spec = judged_spec()
    with closing(create_shelf(work, spec, model=embedder.model)) as shelf:
        target = Target(
            spec=spec,
            mapping=RowMapping(records_of=lambda row: (document_of(row),)),
            writer=shelf,
            ledger=Ledger(),
            embedder=embedder,
        )
        ingest(collection.corpus(), target, progress=progress)
        reader, asked = shelf.reader(), CatalogueEmbedder(shelf, lambda _model: embedder)
        calibration, texts = calibrate(reader, asked), collection.queries
        vectors = {query: embed_query(asked, reader, text) for query, text in texts.items()}
        searcher = Searcher(spec=spec, calibration_of=lambda _model: calibration)
        by_ranks = replace(searcher, override=spec.search.model_copy(update={"fusion": Fusion.RRF}))

        def nearest(query: str) -> list[Any]:
            if (vector := vectors[query].vector) is None:
                return []
            (ranked,) = reader.nearest(vector[None, :], scope=WHOLE, limit=DEPTH)
            return list(ranked.keys.tolist())

        def search(by: Searcher, query: str, vector: QueryVector) -> list[Any]:
            ranked = by.rank(reader, texts[query], scope=WHOLE, limit=DEPTH, query_vector=vector)
            return list(ranked.first(DEPTH).keys.tolist())

        ways: dict[str, Callable[[str], list[Any]]] = {
            "lexical": lambda query: search(searcher, query, QueryVector(vector=None)),
            "vector": nearest,
            "rrf": lambda query: search(by_ranks, query, vectors[query]),
            "hybrid": lambda query: search(searcher, query, vectors[query]),
        }

        def judge(rank: Callable[[str], list[Any]]) -> Quality:
            judged = [(reader.ids(rank(query)), collection.grades[query]) for query in texts]
            return measure(judged, depth=DEPTH)

        return {name: judge(rank) for name, rank in ways.items()}
