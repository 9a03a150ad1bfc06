"""An open catalogue, as tools get it: what it is, and the ways to ask it."""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.errors import StorageError
from pinakes.model.hits import Hit
from pinakes.model.record import Record, RecordId
from pinakes.model.scope import WHOLE, Scope
from pinakes.recommend.recommender import Recommender
from pinakes.search.calibrate import Calibration
from pinakes.search.grade import Grade, grade
from pinakes.search.searcher import Searcher
from pinakes.shelf.port import Shelf

logger = logging.getLogger(__name__)

FoundT = TypeVar("FoundT")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCatalogue:
    """A catalogue that is being served."""

    name: str
    spec: CatalogueSpec
    shelf: Shelf
    searcher: Searcher
    recommender: Recommender
    calibration: Calibration | None = None
    """What a cosine means here; None where it was never measured, or has no vectors."""
    folder: Path | None = None
    """Where it is in the library; None where it is not in one."""
    list_sources: Callable[[], Sequence[str]] = tuple
    """Says what it was made of, which may become more while it is served."""

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files and folders that it was made of, where they are on this machine."""
        return tuple(Path(source) for source in self.list_sources())

    def find_record(self, record_id: RecordId, *, scope: Scope) -> Record | None:
        """Return the record of this id, where it exists and may be seen."""
        reader = self.shelf.reader()
        key = reader.find([record_id], scope=scope).get(record_id)
        return reader.fetch([key], scope=scope).get(key) if key is not None else None

    def find_problem(self) -> str | None:
        """Return why the catalogue cannot be read now, found out by reading one record; None where it can."""
        try:
            reader = self.shelf.reader()
            reader.fetch(reader.scan(scope=WHOLE, limit=1), scope=WHOLE)
        except StorageError as error:
            return error.message
        return None

    def grade(self, query: str, hits: Sequence[Hit]) -> list[Grade]:
        """Tell how well each hit of a search answers the query."""
        return grade(hits, query, reader=self.shelf.reader(), spec=self.spec, calibration=self.calibration)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered(Generic[FoundT]):
    """The answers of several catalogues by name, and the names of those that were skipped."""

    found: dict[str, FoundT]
    skipped: list[str]


def ask_each(
    catalogues: Iterable[OpenCatalogue], ask: Callable[[OpenCatalogue], FoundT], *, pool: Executor | None = None
) -> Gathered[FoundT]:
    """Ask every catalogue and skip those whose storage fails; raise StorageError where it fails for all of them."""
    asked = list(catalogues)
    run = pool.map if pool else map
    answers: list[FoundT | StorageError] = list(run(lambda catalogue: _answer_or_error(catalogue, ask), asked))
    errors = {one.name: answer for one, answer in zip(asked, answers, strict=True) if isinstance(answer, StorageError)}
    if errors and len(errors) == len(asked):
        raise next(iter(errors.values()))
    for name, error in errors.items():
        logger.warning("catalogue '%s' is skipped: %s", name, error.message)
    return Gathered(
        found={
            one.name: answer for one, answer in zip(asked, answers, strict=True) if not isinstance(answer, StorageError)
        },
        skipped=list(errors),
    )


def _answer_or_error(catalogue: OpenCatalogue, ask: Callable[[OpenCatalogue], FoundT]) -> FoundT | StorageError:
    try:
        return ask(catalogue)
    except StorageError as error:
        return error
