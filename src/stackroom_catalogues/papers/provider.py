"""Papers from a public search service: the answers to a query, page by page, with its pace and its limit."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

from stackroom.api import InputError, RowSource, SourceRow, UnavailableError
from stackroom.api.network import Clock, Fetched, Pace, PoliteGetter

PAGE_ROWS = 100


class PaperPage(NamedTuple):
    """A page of results, about how many there are in all, and where the next page begins; None at the end."""

    total: int
    rows: Sequence[tuple[Mapping[str, Any], str | None]]
    """The values of each result, and why it is none that can be used."""
    next: int | None


class ProviderPapers(RowSource):
    """Implements `RowSource` over a query to one service, which a subclass describes."""

    is_whole = False
    """Results of a query: a paper that is no longer among them is not deleted."""
    title: ClassVar[str]
    prefix: ClassVar[str]
    example: ClassVar[str]
    address: ClassVar[str]
    max_rows: ClassVar[int]
    usual_pace: ClassVar[Pace]

    def __init__(
        self,
        query: str,
        *,
        limit: int,
        base_url: str = "",
        headers: Mapping[str, str] | None = None,
        offline: bool = False,
        pace: Pace | None = None,
        clock: Clock | None = None,
    ) -> None:
        if not query.strip():
            raise InputError(f"{self.title} needs a query, such as {self.example}")
        if not 1 <= limit <= self.max_rows:
            raise InputError(f"'limit' is {limit}; {self.title} gives from 1 to {self.max_rows:,} results for a query")
        self._query = query.strip()
        self._limit = limit
        self._getter = PoliteGetter(
            base_url=base_url or self.address,
            pace=pace or self.usual_pace,
            headers=dict(headers or {}),
            offline=offline,
            clock=clock or Clock(),
        )

    @property
    def name(self) -> str:
        """The query with the prefix of the service."""
        return f"{self.prefix}:{self._query}"

    def count_rows(self) -> int | None:
        """Return the number of papers, from the first page; of some services an estimate."""
        return min(self._first_page.total, self._limit)

    def iter_rows(self, *, start: int = 0) -> Iterator[SourceRow]:
        """Yield the papers in the order of relevance, after the first `start` ones."""
        position: int | None = start
        while position is not None and position < self._limit:
            page = self._first_page if position == 0 else self._fetch_page(position)
            for number, (values, problem) in enumerate(page.rows[: self._limit - position], start=position + 1):
                yield SourceRow(place=f"result {number}", values=values, problem=problem)
            position = page.next

    def params_of(self, query: str, position: int, count: int) -> dict[str, str | int]:
        """Return the parameters of a request for so many results from a position on."""
        raise NotImplementedError

    def read_page(self, answer: Fetched, *, position: int) -> PaperPage:
        """Return the page; raise UnusableAnswerError, which retries, where it cannot be the page at this position."""
        raise NotImplementedError

    @cached_property
    def _first_page(self) -> PaperPage:
        return self._fetch_page(0)

    def _fetch_page(self, position: int) -> PaperPage:
        params = self.params_of(self._query, position, min(PAGE_ROWS, self._limit - position))
        try:
            return self._getter.fetch(params, read=partial(self.read_page, position=position))
        except UnavailableError as error:
            raise UnavailableError(
                f"{self.name}: stopped at result {position + 1}: {error.message}; add it again to go on from there"
            ) from error
