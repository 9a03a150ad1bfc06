"""LanceDB: IVF_HNSW_SQ over cosine, its full-text index, its reciprocal rank fusion, filters before
the search.
"""

import time

STARTED = time.perf_counter()

import os  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

os.environ["LANCE_LOG"] = "error"

import lancedb  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from lancedb.index import FTS, Bitmap, HnswSq  # noqa: E402
from lancedb.rerankers import RRFReranker  # noqa: E402
from worker import FIELDS, TOP, Hits, Row, serve  # noqa: E402


class LanceEngine:
    """Implements `Engine`."""

    def build(self, rows: list[Row], vectors: np.ndarray, folder: Path) -> None:
        columns = {name: [row[name] for row in rows] for name in (*FIELDS, "text")}
        flat = pa.array(vectors.ravel())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
        table = lancedb.connect(folder).create_table("anime", pa.table(columns))
        table.create_index("vector", config=HnswSq(distance_type="cosine"))
        table.create_index("text", config=FTS())
        table.create_index("type", config=Bitmap())
        table.optimize()

    def open(self, folder: Path) -> None:
        self._table = lancedb.connect(folder).open_table("anime")
        self._fusion = RRFReranker()

    def text(self, text: str) -> Hits:
        return self._fetch(self._table.search(text, query_type="fts"))

    def vector(self, vector: np.ndarray) -> Hits:
        return self._fetch(
            self._table.search(vector, vector_column_name="vector").distance_type("cosine")
        )

    def hybrid(self, text: str, vector: np.ndarray) -> Hits:
        return self._fetch(self._hybrid(text, vector))

    def filtered(self, text: str, vector: np.ndarray, kind: str) -> Hits:
        return self._fetch(self._hybrid(text, vector).where(f"type = '{kind}'", prefilter=True))

    def _hybrid(self, text: str, vector: np.ndarray) -> Any:
        search = self._table.search(
            query_type="hybrid", vector_column_name="vector", fts_columns="text"
        )
        return search.vector(vector).text(text).distance_type("cosine").rerank(self._fusion)

    def _fetch(self, search: Any) -> Hits:
        hits: Hits = search.select(list(FIELDS)).limit(TOP).to_list()
        return hits


if __name__ == "__main__":
    serve(LanceEngine(), STARTED)
