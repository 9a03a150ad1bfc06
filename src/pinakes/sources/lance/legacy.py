"""Catalogues that earlier versions kept in LanceDB tables, read once to be moved to the embedded shelf.

NAME_documents    one row per record: key, change_no, id, body (the encoded record), digest and vector (its embedding)
NAME_changes      one row per change: who made it, and what it replaced; missing in the oldest catalogues
NAME_pointer      one row: the current version of the documents, their model, the last change number and key
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from lancedb.table import Table

from pinakes.errors import StorageError
from pinakes.model.record import Key, RecordId
from pinakes.model.vectors import ModelId
from pinakes.shelf.embedded.transfer import StoreContent, StoredRecord
from pinakes.shelf.history import LoggedChange
from pinakes.shelf.port import Author, Op
from pinakes.sources.lance.database import LanceDatabase

LAYOUT_VERSION = 1
RECORD_COLUMNS = ("key", "change_no", "id", "body", "digest")


def read_catalogue(folder: Path, name: str) -> StoreContent:
    """Return the records, vectors and history that a catalogue's tables have; refuse what cannot be read."""
    if not folder.is_dir():
        raise StorageError(f"{folder} is missing; put it back from a back-up, or build the catalogue again")
    database = LanceDatabase(str(folder))
    with database.failing("read"):
        pointer = database.get_table(f"{name}_pointer").to_arrow().to_pylist()[0]
        if pointer["layout"] > LAYOUT_VERSION:
            raise StorageError(f"{folder}: written by a newer version (layout {pointer['layout']}); update Pinakes")
        documents = database.get_table(f"{name}_documents")
        documents.checkout(pointer["documents_version"])  # later ones were written by a process that was stopped
        return StoreContent(
            model=_model_of(pointer),
            change_no=pointer["change_no"],
            last_key=pointer["last_key"],
            records=list(_iter_records(documents)),
            changes=list(_iter_changes(database.find_table(f"{name}_changes"), pointer["change_no"])),
        )


def _model_of(pointer: dict[str, Any]) -> ModelId | None:
    if pointer["model"] is None or pointer["dimension"] is None:
        return None
    return ModelId(name=pointer["model"], dimension=pointer["dimension"])


def _iter_records(documents: Table) -> Iterator[StoredRecord]:
    columns = [*RECORD_COLUMNS, *(("vector",) if "vector" in documents.schema.names else ())]
    for row in documents.search().select(columns).to_arrow().to_pylist():
        vector = row.get("vector")
        yield StoredRecord(
            key=Key(row["key"]),
            change_no=row["change_no"],
            id=RecordId(row["id"]),
            body=row["body"],
            digest=row["digest"],
            vector=None if vector is None else np.array(vector, dtype=np.float32),
        )


def _iter_changes(log: Table | None, last: int) -> Iterator[LoggedChange]:
    """Yield the changes that were committed, in their order."""
    rows = [] if log is None else log.to_arrow().sort_by("change_no").to_pylist()
    for row in rows:
        if row["change_no"] <= last:
            yield LoggedChange(
                change_no=row["change_no"],
                id=RecordId(row["id"]),
                op=Op(row["op"]),
                before=row["before"],
                author=Author(principal=row["principal"], call_id=row["call_id"]),
                at=row["at"],
            )
