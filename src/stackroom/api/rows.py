"""The row side of the public API: what sources and mappings have to do with rows, and readers of
files and folders. Loaded where rows are read.
"""

from stackroom.ingest.ledger import Ledger
from stackroom.library import replace_file
from stackroom.sources.compressed import (
    find_compressed,
    find_path,
    open_decompressed,
    without_compression,
)
from stackroom.sources.file_rows import WholeRows
from stackroom.sources.folder_rows import LEADS_OUT, FolderRows, day_of, is_inside, iter_files
from stackroom.sources.location import ReadOptions
from stackroom.sources.port import Reading, Readings, RowSource, SourceRow
from stackroom.sources.sqlite_rows import SqliteRows
from stackroom.text.chunks import first_heading, split_passages

__all__ = ["LEADS_OUT", "FolderRows", "Ledger", "ReadOptions", "Reading", "Readings", "RowSource"]
__all__ += ["SourceRow", "SqliteRows", "WholeRows", "day_of", "find_compressed", "find_path"]
__all__ += ["first_heading", "is_inside", "iter_files", "open_decompressed", "replace_file"]
__all__ += ["split_passages", "without_compression"]
