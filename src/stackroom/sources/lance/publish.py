"""Publishing: a catalogue's records and vectors as one table of a LanceDB database."""

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import StorageError
from stackroom.shelf.port import ShelfReader
from stackroom.sources.lance.database import LanceDatabase
from stackroom.sources.lance.layout import build_schema, find_description, iter_batches, table_name

KEEP_VERSIONS_FOR = timedelta(days=1)
"""How long a version of the table can still be read after it was written, by clients that are in the middle of it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The table of a catalogue: its name, its current version, how many rows it has, and whether it was written."""

    table: str
    version: int
    rows: int
    written: bool


def publish(
    reader: ShelfReader,
    spec: CatalogueSpec,
    uri: str,
    *,
    name: str,
    declaration: str | None,
    progress: Callable[[int], object],
) -> Published:
    """Write all that the reader sees to the catalogue's table, in place of its rows; leave a table that is the same.

    `declaration` is the text of a spec that no package has; `progress` is called with the number of rows of each batch.
    """
    database = LanceDatabase(uri)
    table = table_name(name)
    schema = build_schema(reader, spec, declaration=declaration)
    found = database.find_table(table)
    if found is not None and _is_same(found.schema, schema):
        return Published(table=table, version=found.version, rows=found.count_rows(), written=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.arrow"
        _write_rows(reader, spec, schema, path, progress)
        with pa.memory_map(str(path)) as file:
            written = database.replace_table(table, pa.ipc.open_stream(file))
    try:
        with database.failing("tidied up"):
            written.optimize(cleanup_older_than=KEEP_VERSIONS_FOR)
    except StorageError as error:
        logger.warning("published, but old versions stay: %s", error.message)
    return Published(table=table, version=written.version, rows=written.count_rows(), written=True)


def _is_same(found: pa.Schema, schema: pa.Schema) -> bool:
    """Tell whether a table has this content, and no column was dropped from it since."""
    return find_description(found) == find_description(schema) and set(schema.names) <= set(found.names)


def _write_rows(
    reader: ShelfReader, spec: CatalogueSpec, schema: pa.Schema, path: Path, progress: Callable[[int], object]
) -> None:
    """Write the rows to a file of this machine.

    LanceDB takes them in from threads of its own, in which reading the catalogue would crash the process.
    """
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as rows:
        for batch in iter_batches(reader, spec, schema):
            rows.write_batch(batch)
            progress(batch.num_rows)
