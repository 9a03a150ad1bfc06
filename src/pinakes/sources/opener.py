"""Which source a location names: a file by its ending, a folder of documents, or a provider by its prefix."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pinakes.errors import InputError
from pinakes.sources.arxiv import open_arxiv
from pinakes.sources.csv_rows import CsvRows
from pinakes.sources.folder_rows import FolderRows
from pinakes.sources.json_rows import JsonRows
from pinakes.sources.parquet_rows import ParquetRows
from pinakes.sources.port import RowSource
from pinakes.sources.semantic_scholar import open_semantic_scholar
from pinakes.sources.sqlite_rows import SqliteRows
from pinakes.sources.unpacked import PACKED, require_file, without_packing

ENDINGS: Mapping[str, Callable[[Path], RowSource]] = {
    ".json": JsonRows,
    ".jsonl": JsonRows,
    ".ndjson": JsonRows,
    ".csv": CsvRows,
    ".tsv": CsvRows,
    ".tab": CsvRows,
    ".parquet": ParquetRows,
    ".pq": ParquetRows,
    ".sqlite": SqliteRows,
    ".sqlite3": SqliteRows,
    ".db": SqliteRows,
}
"""How a file is read, by how its name ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What providers are asked with: whether they may be asked at all, and the keys they gave."""

    offline: bool = False
    semantic_scholar_key: str = ""


ASKING_FREELY = Access()

Provider = Callable[[str, Access], RowSource]
"""Opens the rows that answer a query to a server on the network."""


def open_source(
    location: str, *, table: str | None = None, query: str | None = None, access: Access = ASKING_FREELY
) -> RowSource:
    """Return the source at a location, or refuse with the forms there are; table and query are for SQLite alone."""
    prefix, _, question = location.partition(":")
    if prefix in PREFIXES:
        _require_no_choice(location, table, query)
        return PREFIXES[prefix](question, access)
    path = _require_path(location)
    if path.is_dir():
        _require_no_choice(location, table, query)
        return FolderRows(path)
    reader = ENDINGS.get(without_packing(path).suffix.lower())
    if reader is None:
        raise InputError(f"{location}: a file of a kind that is not read; {_kinds()} are")
    if reader is SqliteRows:
        return SqliteRows(path, table=table, query=query)
    _require_no_choice(location, table, query)
    return reader(path)


PREFIXES: Mapping[str, Provider] = {
    "arxiv": lambda question, access: open_arxiv(question, offline=access.offline),
    "s2": lambda question, access: open_semantic_scholar(
        question, api_key=access.semantic_scholar_key, offline=access.offline
    ),
}
"""Who is asked for the rows, by what stands before the colon; what stands after it is the question."""


def _require_path(location: str) -> Path:
    try:
        path = Path(location).expanduser()
        return path if path.is_dir() else require_file(path)
    except (OSError, RuntimeError) as error:
        raise InputError(f"{location}: cannot be read: {error}") from error


def _require_no_choice(location: str, table: str | None, query: str | None) -> None:
    if table is not None or query is not None:
        raise InputError(
            f"{location}: a table or a query can be chosen in an SQLite file only (.sqlite, .sqlite3, .db)"
        )


def _kinds() -> str:
    return f"{', '.join(ENDINGS)} (each also packed: {', '.join(PACKED)})"
