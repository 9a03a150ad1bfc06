"""Rows of a list as a source."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stackroom.sources.port import RowSource, SourceRow


class ListedRows(RowSource):
    """Implements `RowSource` over a list; it may break down after so many rows, and notes where each reading began."""

    name = "rows.jsonl"
    is_whole = True

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        *,
        name: str = "rows.jsonl",
        is_whole: bool = True,
        has_digests: bool = False,
        breaks_after: int | None = None,
    ) -> None:
        self.rows = rows
        self.name = name
        self.is_whole = is_whole
        self.has_digests = has_digests
        self.breaks_after = breaks_after
        self.starts: list[int] = []

    def count_rows(self) -> int | None:
        """Return the length of the list."""
        return len(self.rows)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the rows; with digests, like files, where there are to be some."""
        self.starts.append(start)
        for number, values in enumerate(self.rows[start:], start=start + 1):
            if self.breaks_after is not None and number > self.breaks_after:
                raise KeyboardInterrupt
            digest = repr(sorted(values.items())) if self.has_digests else ""
            yield SourceRow(place=f"line {number}", values=values, digest=digest)
