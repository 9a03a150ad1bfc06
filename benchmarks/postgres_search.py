"""`python benchmarks/postgres_search.py`: search inside PostgreSQL beside the embedded index, on
real anime.

Controls for: the records and vectors (one shelf's are put into the other), the queries and their
vectors (drawn and embedded beforehand), the machine (every query goes to both, one after the
other), and warm caches (each query is asked once before it is timed; each shelf's own caches of a
view are emptied between two queries). Recall and overlap are against the embedded index.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from real_anime import DEFAULT_WORK, Query, RealAnime, draw_queries, load_real_anime

from stackroom.model.scope import WHOLE, AnyOf, Range, Scope
from stackroom.search.searcher import QueryVector, Searcher
from stackroom.shelf.catalogue_shelf import CatalogueShelf
from stackroom.shelf.opening import create_shelf, open_shelf
from stackroom.shelf.port import Put, ShelfReader, iter_key_batches
from stackroom.shelf.postgres_search.view import PostgresqlView
from stackroom.shelf.store_place import IN_DATABASE, StorePlace, save_place
from stackroom.text.analyser import TextQuery, analyse_query

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from support.postgres import PostgresServer

LIMIT = 100
TOP = 10
SCOPES = {
    "whole": WHOLE,
    "10 %": Scope(conditions=(AnyOf("type", ("OVA",)), Range("year", at_least=1995))),
    "1 %": Scope(conditions=(AnyOf("tags", ("space",)), AnyOf("type", ("OVA",)))),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK)
    parser.add_argument("--queries", type=int, default=60)
    options = parser.parse_args()
    anime = load_real_anime(options.work)
    queries = draw_queries(anime, count=options.queries)
    with (
        started() as place,
        closing(open_shelf(anime.folder, anime.spec)) as embedded,
        tempfile.TemporaryDirectory() as folder,
        closing(copied(embedded, Path(folder), place)) as searched,
    ):
        report = {"build": timed_build(searched), **compared(anime, embedded, searched, queries)}
        report["an edit until it is seen, ms"] = edited(searched)
    print(json.dumps(report, indent=2))


@contextmanager
def started() -> Iterator[StorePlace]:
    """Start a PostgreSQL server for the block."""
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = PostgresServer(Path(folder))
        try:
            yield replace(server.new_place(), search=IN_DATABASE)
        finally:
            server.stop()


def copied(embedded: CatalogueShelf, folder: Path, place: StorePlace) -> CatalogueShelf:
    """Put the records of a shelf, with the same keys, into PostgreSQL."""
    save_place(folder, place)
    model = embedded.reader().model
    shelf = create_shelf(folder, embedded.spec, model=model)
    for keys in iter_key_batches(embedded.reader()):
        rows = list(embedded.store.iter_rows(keys))
        vectors = embedded.reader().embeddings(keys)
        shelf.apply([Put(record=row.record, embedding=vectors.get(row.key)) for row in rows])
    return shelf


def timed_build(shelf: CatalogueShelf) -> dict[str, float]:
    """Build the index, and return what it took."""
    began, used = time.perf_counter(), time.process_time()
    shelf.publish()
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - used
    return {
        "wall_s": round(wall_s, 1),
        "cpu_s_here": round(cpu_s, 1),
        "mb": round(shelf.describe().index_bytes / 1e6),
    }


def compared(
    anime: RealAnime, embedded: CatalogueShelf, searched: CatalogueShelf, queries: Sequence[Query]
) -> dict[str, Any]:
    exact, view = embedded.reader(), searched.reader()
    report: dict[str, Any] = {}
    for name, scope in SCOPES.items():
        report[name] = {
            "records": exact.count(scope),
            "vectors": timed(
                queries, exact, view, lambda one, query, where=scope: nearest(one, query, where)
            ),
            "words": timed(
                queries, exact, view, lambda one, query, where=scope: words(one, query, where)
            ),
            "facets": timed(
                queries[:5], exact, view, lambda one, _, where=scope: facets(one, where)
            ),
        }
    searcher = Searcher(spec=anime.spec)
    report["search"] = timed(
        queries, exact, view, lambda one, query: whole_search(searcher, one, query)
    )
    # every fourth query is a title
    report["misspelt titles"] = timed(queries[::4], exact, view, names)
    return report


def ids(reader: ShelfReader, keys: Sequence[Any]) -> list[str]:
    return list(map(str, reader.ids(keys)))


def nearest(reader: ShelfReader, query: Query, scope: Scope) -> list[str]:
    return ids(
        reader, reader.nearest(query.vector[None], scope=scope, limit=LIMIT)[0].keys[:TOP].tolist()
    )


def words(reader: ShelfReader, query: Query, scope: Scope) -> list[str]:
    terms: TextQuery = analyse_query(query.text, synonyms={})
    return ids(
        reader, reader.lexical(terms, scope=scope, limit=LIMIT, counted=False).keys[:TOP].tolist()
    )


def facets(reader: ShelfReader, scope: Scope) -> list[Any]:
    return [(one.value, one.count) for one in reader.facets("tags", scope=scope)][:TOP]


def names(reader: ShelfReader, query: Query) -> list[str]:
    typed = query.text[:1] + query.text[2:40]
    return ids(reader, [match.key for match in reader.titles_like(typed, scope=WHOLE, limit=1)])


def whole_search(searcher: Searcher, reader: ShelfReader, query: Query) -> list[str]:
    ranked = searcher.rank(
        reader, query.text, scope=WHOLE, limit=TOP, query_vector=QueryVector(vector=query.vector)
    )
    return ids(reader, [one.key for one in ranked.ranking[:TOP]])


def timed(
    queries: Sequence[Query],
    exact: ShelfReader,
    view: PostgresqlView,
    ask: Callable[[Any, Query], list[Any]],
) -> dict[str, float]:
    """Ask both for every query in turn; return how much of what the exact one finds the other
    finds, and the times.
    """
    shares, spent = [], {"embedded": [], "postgresql": []}
    for query in queries:
        ask(exact, query), ask(view, query)
        for name, reader in {"embedded": exact, "postgresql": without_caches(view)}.items():
            began = time.perf_counter()
            found = ask(reader, query)
            spent[name].append(1_000 * (time.perf_counter() - began))
            if name == "embedded":
                wanted = found
        shares.append(len(set(wanted) & set(found)) / len(wanted) if wanted else 1.0)
    return {
        "overlap": round(float(np.mean(shares)), 4),
        **{f"{name}_p50_ms": round(statistics.median(some), 1) for name, some in spent.items()},
        **{
            f"{name}_p95_ms": round(sorted(some)[int(0.95 * len(some))], 1)
            for name, some in spent.items()
        },
    }


def without_caches(view: PostgresqlView) -> PostgresqlView:
    return replace(view, _selections={}, _postings={}, _rows={}, _terms={}, _vectors={})


def edited(searched: CatalogueShelf) -> list[float]:
    """Change a record's text, and return the milliseconds until a new view has it, of several."""
    view, spent = searched.reader(), []
    records = view.fetch(view.scan(scope=WHOLE, limit=10), scope=WHOLE)
    for record in records.values():
        began = time.perf_counter()
        searched.apply(
            [Put(record=replace(record, fields={**record.fields, "synopsis": "A sentence."}))]
        )
        searched.reader()
        spent.append(round(1_000 * (time.perf_counter() - began), 1))
    return spent


if __name__ == "__main__":
    main()
