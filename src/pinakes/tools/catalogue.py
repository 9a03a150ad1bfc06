"""An open catalogue, as tools get it: what it is, and the ways to ask it."""

from dataclasses import dataclass
from pathlib import Path

from pinakes.catalogue.spec import CatalogueSpec
from pinakes.recommend.recommender import Recommender
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
    folder: Path | None = None
    """Where it is in the library; None where it is not in one."""
