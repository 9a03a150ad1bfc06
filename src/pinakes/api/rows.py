"""The row side of the public API: readers of files and folders, ingestion, passages. Loaded where rows are read."""

from pinakes.ingest.batch import IngestCounts, ListRows, ingest_batch, ingest_from_provider
from pinakes.ingest.ledger import Ledger
from pinakes.ingest.pipeline import Target
from pinakes.sources.compressed import find_compressed, find_path, open_decompressed, without_compression
from pinakes.sources.csv_rows import CsvRows
from pinakes.sources.folder_rows import LEADS_OUT, FolderRows, day_of, is_inside, iter_files
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.sqlite_rows import SqliteRows
from pinakes.sources.whole_rows import WholeRows
from pinakes.text.chunks import Passage, first_heading, split_passages

__all__ = [
    "LEADS_OUT",
    "CsvRows",
    "FolderRows",
    "IngestCounts",
    "JsonRows",
    "Ledger",
    "ListRows",
    "Passage",
    "SqliteRows",
    "Target",
    "WholeRows",
    "day_of",
    "find_compressed",
    "find_path",
    "first_heading",
    "ingest_batch",
    "ingest_from_provider",
    "is_inside",
    "iter_files",
    "open_decompressed",
    "split_passages",
    "without_compression",
]
