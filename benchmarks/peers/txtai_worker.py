"""txtai: faiss for meaning (vectors from outside), its BM25 for words, SQLite for content, filters
in its SQL.
"""

import time

STARTED = time.perf_counter()

from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
from txtai import Embeddings  # noqa: E402
from worker import FIELDS, TOP, Hits, Row, serve  # noqa: E402

COLUMNS = ", ".join(FIELDS)


class TxtaiEngine:
    """Implements `Engine`. Vectors are looked up by text, so that no model of its own is run."""

    def __init__(self) -> None:
        self._vectors: dict[str, np.ndarray] = {}

    def build(self, rows: list[Row], vectors: np.ndarray, folder: Path) -> None:
        self._vectors = {row["text"]: vector for row, vector in zip(rows, vectors, strict=True)}
        embeddings = Embeddings(
            method="external",
            transform=self._transform(),
            content=True,
            hybrid=True,
            columns={"text": "text"},
        )
        embeddings.index((row["id"], row, None) for row in rows)
        embeddings.save(str(folder / "index"))

    def open(self, folder: Path) -> None:
        self._embeddings = Embeddings()
        self._embeddings.load(str(folder / "index"), config={"transform": self._transform()})

    def text(self, text: str) -> Hits:
        return self._search(text, None, weights=0.0)

    def vector(self, vector: np.ndarray) -> Hits:
        return self._search("vector", vector, weights=1.0)

    def hybrid(self, text: str, vector: np.ndarray) -> Hits:
        return self._search(text, vector, weights=0.5)

    def filtered(self, text: str, vector: np.ndarray, kind: str) -> Hits:
        return self._search(text, vector, weights=0.5, condition=f"AND type = '{kind}'")

    def _search(
        self, text: str, vector: np.ndarray | None, *, weights: float, condition: str = ""
    ) -> Hits:
        if vector is not None:
            self._vectors = {text: vector}
        query = (
            f"SELECT {COLUMNS} FROM txtai WHERE similar(:text, {weights}) {condition} LIMIT {TOP}"
        )
        hits: Hits = self._embeddings.search(query, TOP, parameters={"text": text})
        return hits

    def _transform(self) -> Any:
        """Return a plain function, the only kind that is taken as it is."""

        def look_up(texts: Any) -> np.ndarray:
            nothing = np.full(384, 384**-0.5, dtype=np.float32)
            return np.array(
                [self._vectors.get(_text(text), nothing) for text in texts], dtype=np.float32
            )

        return look_up


def _text(text: Any) -> str:
    return str(text.get("text")) if isinstance(text, dict) else str(text)


if __name__ == "__main__":
    serve(TxtaiEngine(), STARTED)
