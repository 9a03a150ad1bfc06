"""A source under another name: a file that was fetched, or taken from an archive."""

from collections.abc import Iterator, Sequence

from pinakes.sources.port import RowSource, SourceRow, TableSource, id_column_of, notes_of


class RenamedRows:
    """Implements `RowSource` by another source, with a name of its own, and notes and tables in addition."""

    def __init__(
        self, source: RowSource, name: str, *, notes: Sequence[str] = (), other_tables: Sequence[str] = ()
    ) -> None:
        self._source = source
        self._name = name
        self._notes = notes
        self._other_tables = other_tables

    @property
    def name(self) -> str:
        """The name that it was given."""
        return self._name

    @property
    def is_whole(self) -> bool:
        """Whether the rows are complete."""
        return self._source.is_whole

    @property
    def notes(self) -> tuple[str, ...]:
        """The decisions made in reading."""
        return (*self._notes, *notes_of(self._source))

    @property
    def other_tables(self) -> tuple[str, ...]:
        """The other tables."""
        inner = self._source.other_tables if isinstance(self._source, TableSource) else ()
        return (*self._other_tables, *inner)

    @property
    def table_option(self) -> str:
        """The option that chooses another table."""
        is_of_tables = isinstance(self._source, TableSource) and not self._other_tables
        return self._source.table_option if is_of_tables and isinstance(self._source, TableSource) else "--table"

    @property
    def id_column(self) -> str | None:
        """The column that identifies rows, where the source declares one."""
        return id_column_of(self._source)

    def count_rows(self) -> int | None:
        """Return the number of rows, where it is known."""
        return self._source.count_rows()

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows."""
        return self._source.iter_rows(start=start)
