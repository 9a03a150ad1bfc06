"""The row side of the public API: readers of files and folders, ingestion, passages. Loaded where rows are read."""

from stackroom.ingest.batch import IngestCounts as IngestCounts
from stackroom.ingest.batch import ListRows as ListRows
from stackroom.ingest.batch import ingest_batch as ingest_batch
from stackroom.ingest.batch import ingest_from_provider as ingest_from_provider
from stackroom.ingest.ledger import Ledger as Ledger
from stackroom.ingest.pipeline import Target as Target
from stackroom.library import replace_file as replace_file
from stackroom.sources.compressed import find_compressed as find_compressed
from stackroom.sources.compressed import find_path as find_path
from stackroom.sources.compressed import open_decompressed as open_decompressed
from stackroom.sources.compressed import without_compression as without_compression
from stackroom.sources.csv_rows import CsvRows as CsvRows
from stackroom.sources.file_rows import WholeRows as WholeRows
from stackroom.sources.folder_rows import LEADS_OUT as LEADS_OUT
from stackroom.sources.folder_rows import FolderRows as FolderRows
from stackroom.sources.folder_rows import day_of as day_of
from stackroom.sources.folder_rows import is_inside as is_inside
from stackroom.sources.folder_rows import iter_files as iter_files
from stackroom.sources.json_rows import JsonRows as JsonRows
from stackroom.sources.location import ReadOptions as ReadOptions
from stackroom.sources.sqlite_rows import SqliteRows as SqliteRows
from stackroom.text.chunks import Passage as Passage
from stackroom.text.chunks import first_heading as first_heading
from stackroom.text.chunks import split_passages as split_passages
