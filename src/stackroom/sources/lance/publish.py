"""Publishing: a catalogue's records and vectors as one table of a LanceDB database."""

import logging
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import StorageError
from stackroom.shelf.port import ShelfReader
from stackroom.sources.lance.database import LanceDatabase
from stackroom.sources.lance.layout import build_schema, find_description, iter_batches, table_name

KEEP_VERSIONS_FOR = timedelta(days=1)
"""How long a version of the table can still be read after it was written, by clients that are in the middle of it."""

logger = logging.getLogger(__name__)


def publish(
    reader: ShelfReader,
    spec: CatalogueSpec,
    uri: str,
    *,
    name: str,
    declaration: str | None,
    progress: Callable[[int], object],
) -> dict[str, Any]:
    """Write all that the reader sees to the catalogue's table, in place of its rows; leave a table that is the same.

    Return its name, version and number of rows, and whether it was written. `declaration` is the text of a spec that no
    package has; `progress` is called with the number of rows of each batch.
    """
    database, schema = LanceDatabase(uri), build_schema(reader, spec, declaration=declaration)
    table, is_same = database.find_table(table_name(name)), False
    if table is not None and find_description(table.schema) == find_description(schema):
        is_same = set(schema.names) <= set(table.schema.names)  # no column was dropped from it since
    if table is None or not is_same:
        # By a file: LanceDB takes rows in from threads of its own, in which reading the catalogue would crash.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.arrow"
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as rows:
                for batch in iter_batches(reader, spec, schema):
                    rows.write_batch(batch)
                    progress(batch.num_rows)
            with pa.memory_map(str(path)) as file:
                table = database.replace_table(table_name(name), pa.ipc.open_stream(file))
        try:
            with database.failing("tidied up"):
                table.optimize(cleanup_older_than=KEEP_VERSIONS_FOR)
        except StorageError as error:
            logger.warning("published, but old versions stay: %s", error.message)
    return {"table": table_name(name), "version": table.version, "rows": table.count_rows(), "written": not is_same}
