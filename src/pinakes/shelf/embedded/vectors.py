"""Vectors of a segment: a quick scan over 8-bit codes, then exact cosines for the best of it.

Small tables are scanned whole; large ones are cut into `cells`, of which the nearest are scanned. Rows that a filter
leaves out are never scored, so a narrow filter costs less than none and loses nothing.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pinakes.model.vectors import Vector
from pinakes.shelf.embedded.cells import CELLS_ABOVE, Cells, build_cells
from pinakes.shelf.embedded.codes import Codes, Scores, code_dots, quantise
from pinakes.shelf.embedded.columns import Mask

Rows = NDArray[np.int64]

SPARE = 100
"""How many more rows than asked for are scored exactly, to make up for what 8 bits blur."""

GATHER_BELOW = 0.25
"""A filter that keeps a smaller share than this has its rows gathered; above, everything is scanned and masked."""

GATHER_ROWS = 30_000
"""In a table with cells, a filter that keeps no more rows than this has all of them scored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorTable:
    """One unit vector a row in `exact`; `codes` and `scales` in scan order. No vector: zeros, scale 0."""

    exact: Vector
    codes: Codes
    scales: Scores
    cells: Cells | None = None

    def nearest(self, query: Vector, *, mask: Mask | None, limit: int) -> tuple[Rows, Scores]:
        """Return the rows of the mask nearest to the query, best first, with their cosines; ties by row."""
        rows, blurred = self._scan(query, mask)
        rows = rows[_top(blurred, limit + SPARE)]
        cosines = self.exact[rows] @ query
        order = np.lexsort((rows, -cosines))[:limit]
        return rows[order], cosines[order]

    def _scan(self, query: Vector, mask: Mask | None) -> tuple[Rows, Scores]:
        """Return candidate rows with their cosines as the codes see them, up to a constant factor."""
        code = quantise(query[None, :])[0][0]
        if self.cells is not None:
            return self._scan_cells(self.cells, query, code, mask)
        if mask is None:
            return self._with_vector(np.arange(len(self.codes)), code_dots(code, self.codes) * self.scales)
        rows = np.flatnonzero(mask)
        if len(rows) < GATHER_BELOW * len(mask):
            return self._with_vector(rows, code_dots(code, self.codes[rows]) * self.scales[rows])
        return self._with_vector(rows, (code_dots(code, self.codes) * self.scales)[rows])

    def _scan_cells(self, cells: Cells, query: Vector, code: Codes, mask: Mask | None) -> tuple[Rows, Scores]:
        in_scope = len(cells.order) if mask is None else int(np.count_nonzero(mask))
        if mask is not None and in_scope <= GATHER_ROWS:
            rows = np.flatnonzero(mask)
            places = cells.positions[rows]
            return self._with_vector(rows, code_dots(code, self.codes[places]) * self.scales[places])
        found: list[Rows] = []
        scores: list[Scores] = []
        for cell in cells.probe(query, share=in_scope / len(cells.order)):
            rows, codes, scales = cells.order[cell], self.codes[cell], self.scales[cell]
            if mask is not None:
                kept = mask[rows]
                rows, codes, scales = rows[kept], codes[kept], scales[kept]
            found.append(rows)
            scores.append(code_dots(code, codes) * scales)
        return self._with_vector(np.concatenate(found).astype(np.int64), np.concatenate(scores))

    def _with_vector(self, rows: Rows, scores: Scores) -> tuple[Rows, Scores]:
        """Drop the rows that have no vector: their codes are zeros, and so is their score."""
        if scores.all():
            return rows, scores
        has_vector = scores != 0
        return rows[has_vector], scores[has_vector]


def build_vector_table(exact: Vector) -> VectorTable:
    """Quantise the vectors, and cut a large table into cells."""
    codes, scales = quantise(exact)
    if len(exact) < CELLS_ABOVE:
        return VectorTable(exact=exact, codes=codes, scales=scales)
    cells = build_cells(exact)
    return VectorTable(exact=exact, codes=codes[cells.order], scales=scales[cells.order], cells=cells)


def _top(scores: Scores, limit: int) -> Rows:
    if len(scores) <= limit:
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - limit)[-limit:]
