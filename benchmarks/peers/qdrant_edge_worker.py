"""qdrant-edge: HNSW over cosine, BM25 as sparse vectors with idf, its own reciprocal rank fusion
and filters.
"""

import time

STARTED = time.perf_counter()

import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import qdrant_edge as q  # noqa: E402
from worker import DEPTH, FIELDS, RRF_K, TOP, Hits, Row, serve  # noqa: E402

BATCH = 1_000


class QdrantEdgeEngine:
    """Implements `Engine`. A higher `ef` than its default buys recall with time; 0 is the
    default.
    """

    def __init__(self, *, ef: int) -> None:
        self._params = q.SearchParams(hnsw_ef=ef) if ef else None
        self._bm25 = q.Bm25()

    def build(self, rows: list[Row], vectors: np.ndarray, folder: Path) -> None:
        config = q.EdgeConfig(
            vectors={
                "dense": q.EdgeVectorParams(size=vectors.shape[1], distance=q.Distance.Cosine)
            },
            sparse_vectors={"words": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
            optimizers=q.EdgeOptimizersConfig(indexing_threshold=1_000, default_segment_number=1),
        )
        shard = q.EdgeShard.create(str(folder), config)
        shard.update(q.UpdateOperation.create_field_index("type", q.PayloadSchemaType.Keyword))
        for start in range(0, len(rows), BATCH):
            batch = zip(
                range(start, start + BATCH),
                rows[start : start + BATCH],
                vectors[start:],
                strict=False,
            )
            points = [self._point(number, row, vector) for number, row, vector in batch]
            shard.update(q.UpdateOperation.upsert_points(points))
        shard.optimize()
        shard.flush()
        shard.close()

    def open(self, folder: Path) -> None:
        self._shard = q.EdgeShard.load(str(folder))

    def text(self, text: str) -> Hits:
        return self._query(query=self._words(text))

    def vector(self, vector: np.ndarray) -> Hits:
        return self._query(query=_near(vector), params=self._params)

    def hybrid(self, text: str, vector: np.ndarray, only: Any = None) -> Hits:
        arms = [
            q.Prefetch(limit=DEPTH, query=self._words(text), filter=only),
            q.Prefetch(limit=DEPTH, query=_near(vector), params=self._params, filter=only),
        ]
        return self._query(query=q.Fusion.Rrf(k=RRF_K), prefetches=arms)

    def filtered(self, text: str, vector: np.ndarray, kind: str) -> Hits:
        only = q.Filter(must=[q.FieldCondition(key="type", match=q.MatchValue(kind))])
        return self.hybrid(text, vector, only)

    def _point(self, number: int, row: Row, vector: np.ndarray) -> Any:
        both = {"dense": vector.tolist(), "words": self._bm25.embed_document(row["text"])}
        return q.Point(number, both, {name: row[name] for name in FIELDS})

    def _words(self, text: str) -> Any:
        return q.Query.Nearest(self._bm25.embed_query(text), using="words")

    def _query(self, **parts: Any) -> Hits:
        found = self._shard.query(q.QueryRequest(limit=TOP, with_payload=True, **parts))
        return [point.payload for point in found]


def _near(vector: np.ndarray) -> Any:
    return q.Query.Nearest(vector.tolist(), using="dense")


if __name__ == "__main__":
    serve(QdrantEdgeEngine(ef=int(sys.argv[1]) if sys.argv[1:] else 0), STARTED)
