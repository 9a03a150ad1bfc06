"""The row side of the public API: readers of files and folders, ingestion, passages. Loaded where
rows are read.
"""

from stackroom.ingest.ledger import Ledger
from stackroom.ingest.pipeline import (
    IngestCounts,
    ListRows,
    Target,
    ingest_batch,
    ingest_from_provider,
)
from stackroom.library import replace_file
from stackroom.sources.compressed import (
    find_compressed,
    find_path,
    open_decompressed,
    without_compression,
)
from stackroom.sources.csv_rows import CsvRows
from stackroom.sources.file_rows import WholeRows
from stackroom.sources.folder_rows import LEADS_OUT, FolderRows, day_of, is_inside, iter_files
from stackroom.sources.json_rows import JsonRows
from stackroom.sources.location import ReadOptions
from stackroom.sources.sqlite_rows import SqliteRows
from stackroom.text.chunks import Passage, first_heading, split_passages

__all__ = [
    "LEADS_OUT",
    "CsvRows",
    "FolderRows",
    "IngestCounts",
    "JsonRows",
    "Ledger",
    "ListRows",
    "Passage",
]
__all__ += [
    "ReadOptions",
    "SqliteRows",
    "Target",
    "WholeRows",
    "day_of",
    "find_compressed",
    "find_path",
]
__all__ += [
    "first_heading",
    "ingest_batch",
    "ingest_from_provider",
    "is_inside",
    "iter_files",
    "open_decompressed",
]
__all__ += ["replace_file", "split_passages", "without_compression"]
