"""Vectors in a column of a table: little-endian 32-bit floats, whose model a small JSON file beside the table names.

    NAME.sqlite    a table with a column `embedding` of BLOBs
    NAME.json      {"model": "all-MiniLM-L6-v2", "dimension": 384}

Vectors with a `mean`, which was subtracted from them, are not those that the model made, and are not taken.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from pinakes.model.vectors import ModelId
from pinakes.sources.port import SourceRow, SourceVector

COLUMN = "embedding"
DTYPE = np.dtype("<f4")


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorColumn:
    """The column of a table that has the vectors of its rows, by a model."""

    model: ModelId

    @classmethod
    def find(cls, table: Path) -> "VectorColumn | None":
        """Return the column of the table in a file; None where no file beside it names a model."""
        try:
            stated = orjson.loads(table.with_suffix(".json").read_bytes())
            name, dimension = stated["model"], stated["dimension"]
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
            return None
        if not isinstance(name, str) or not isinstance(dimension, int) or "mean" in stated:
            return None
        return cls(model=ModelId(name=name, dimension=dimension))

    def take_from(self, row: SourceRow, cells: Mapping[str, Any]) -> SourceRow:
        """Return a row with the vector that its cells have; it has none where they have none of the right length."""
        blob = cells.get(COLUMN)
        if not isinstance(blob, bytes) or len(blob) != self.model.dimension * DTYPE.itemsize:
            return row
        vector = np.frombuffer(blob, dtype=DTYPE).astype(np.float32)
        if not np.isfinite(vector).all():
            return row
        values = {name: value for name, value in row.values.items() if name != COLUMN}
        return replace(row, values=values, vector=SourceVector(model=self.model, values=vector))
