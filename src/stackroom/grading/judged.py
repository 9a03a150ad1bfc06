"""Search on a judged collection in the BEIR layout: `corpus.jsonl`, `queries.jsonl`,
`qrels/SPLIT.tsv`, or `.zst`.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from stackroom.catalogue.compiler import compile_text
from stackroom.catalogue.spec import CatalogueSpec, Fusion
from stackroom.embed.port import Embedder
from stackroom.errors import InputError
from stackroom.frozen import frozen
from stackroom.grading.metrics import Figure, build_figure, ndcg, recall, reciprocal_rank
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

NOT_GAINS = {"cranfield": "the lowest of Cranfield's grades mixes minimum interest with none"}
"""Collections by folder name whose grades are no gains, and why; figures of them are published as
binary.
"""

GRADE = re.compile(r"-?\d+(?:\.\d+)?")

DECLARATION = resources.files("stackroom.grading") / "judged.toml"


@frozen
class Collection:
    """Queries with the grades of their relevant documents, all above 0; `corpus` is read lazily."""

    folder: Path
    queries: dict[str, str]
    grades: dict[str, dict[str, int]]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    @property
    def is_graded(self) -> bool:
        """Whether some documents are more relevant than others."""
        return (
            len({grade for documents in self.grades.values() for grade in documents.values()}) > 1
        )

    def as_binary(self) -> "Collection":
        """Return the same judgements as relevant or not."""
        return replace(
            self,
            grades={query: dict.fromkeys(documents, 1) for query, documents in self.grades.items()},
        )

    def corpus(self) -> JsonRows:
        """Return the documents as a source of rows."""
        return JsonRows(_file(self.folder, "corpus.jsonl"))


def load_collection(folder: Path, *, split: str) -> Collection:
    """Read the queries and judgements of a split; every judgement above 0 counts as relevant."""
    grades = _read_grades(_file(folder, f"qrels/{split}.tsv"))
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


def choose_grades(collection: Collection, *, binary: bool | None) -> tuple[Collection, str]:
    """Return the collection with or without its grades, and which; by default (None) with those
    that are gains.
    """
    if not collection.is_graded:
        return collection, "binary: every judgement is the same"
    not_gains = NOT_GAINS.get(collection.name.casefold())
    if binary or (binary is None and not_gains):
        return (
            collection.as_binary(),
            f"binary: {not_gains if binary is None else 'every grade above 0 is relevant'}",
        )
    return collection, "used: the gain of a document is its grade"


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


def _read_grades(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    with open_decompressed(path) as file:
        lines = csv.reader(
            io.TextIOWrapper(file, encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE
        )
        for number, line in enumerate(lines, start=1):
            if len(line) == 3 and GRADE.fullmatch(line[2]):
                if (grade := int(float(line[2]))) > 0:
                    grades.setdefault(line[0], {})[line[1]] = grade
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


@frozen
class Quality:
    """The three metrics of one search method."""

    ndcg_10: Figure
    recall_100: Figure
    mrr_10: Figure


def judged_spec() -> CatalogueSpec:
    """Return the spec that the documents of every collection follow."""
    return compile_text(DECLARATION.read_text(encoding="utf-8"), origin=DECLARATION.name)


def evaluate(
    collection: Collection, *, embedder: Embedder, work: Path, progress: Progress
) -> dict[str, Quality]:
    """Index the collection under `work` (once) and measure every search method."""
    spec = judged_spec()
    shelf = create_shelf(work, spec, model=embedder.model)
    try:
        target = Target(
            spec=spec,
            mapping=RowMapping(records_of=lambda row: (document_of(row),)),
            writer=shelf,
            ledger=Ledger(),
            embedder=embedder,
        )
        ingest(collection.corpus(), target, progress=progress)
        reader = shelf.reader()
        asked = CatalogueEmbedder(shelf, lambda _model: embedder)
        vectors = {
            query: embed_query(asked, reader, text) for query, text in collection.queries.items()
        }
        calibration = calibrate(reader, asked)
        searcher = Searcher(spec=spec, calibration_of=lambda _model: calibration)
        by_ranks = replace(searcher, override=spec.search.model_copy(update={"fusion": Fusion.RRF}))

        def nearest(query: str) -> list[str]:
            vector = vectors[query].vector
            if vector is None:
                return []
            return list(
                reader.ids(
                    reader.nearest(vector[None, :], scope=WHOLE, limit=DEPTH)[0].keys.tolist()
                )
            )

        def search(by: Searcher, query: str, vector: QueryVector) -> list[str]:
            text = collection.queries[query]
            ranked = by.rank(reader, text, scope=WHOLE, limit=DEPTH, query_vector=vector)
            return list(reader.ids(ranked.first(DEPTH).keys.tolist()))

        ways: dict[str, Callable[[str], list[str]]] = {
            "lexical": lambda query: search(searcher, query, QueryVector(vector=None)),
            "vector": nearest,
            "rrf": lambda query: search(by_ranks, query, vectors[query]),
            "hybrid": lambda query: search(searcher, query, vectors[query]),
        }
        return {name: _quality(collection, rank) for name, rank in ways.items()}
    finally:
        shelf.close()


def _quality(collection: Collection, rank: Callable[[str], list[str]]) -> Quality:
    judged = [(rank(query), collection.grades[query]) for query in collection.queries]
    return Quality(
        ndcg_10=build_figure([ndcg(ranked, grades, depth=10) for ranked, grades in judged]),
        recall_100=build_figure(
            [recall(ranked, relevant, depth=100) for ranked, relevant in judged]
        ),
        mrr_10=build_figure(
            [reciprocal_rank(ranked, relevant, depth=10) for ranked, relevant in judged]
        ),
    )
