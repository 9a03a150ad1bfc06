"""An open catalogue, as tools get it: what it is, and the ways to ask it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.model.hits import Hit
from pinakes.model.record import Record, RecordId
from pinakes.model.scope import Scope
from pinakes.recommend.recommender import Recommender
from pinakes.search.calibrate import Calibration
from pinakes.search.grade import Grade, grade
from pinakes.search.searcher import Searcher
from pinakes.shelf.port import Shelf


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

    def grade(self, query: str, hits: Sequence[Hit]) -> list[Grade]:
        """Tell how well each hit of a search answers the query."""
        return grade(hits, query, reader=self.shelf.reader(), spec=self.spec, calibration=self.calibration)
