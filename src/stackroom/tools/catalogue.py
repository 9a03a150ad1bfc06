"""An open catalogue as tools get it, a view of it at one moment, addresses of records, and asking
several at once.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import field, replace
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import quote, unquote

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import StorageError
from stackroom.frozen import frozen
from stackroom.ingest.ledger import find_identified
from stackroom.library import LEDGER_FILE
from stackroom.maps.making import CatalogueMap
from stackroom.model.record import Record, RecordId
from stackroom.model.scope import Scope
from stackroom.recommend.recommender import (
    Recommendation,
    Recommendations,
    Recommender,
    Request,
)
from stackroom.recommend.vocabulary import preference_vocabulary
from stackroom.search.names import (
    SCHEME,
    NameChoice,
    choice_of,
    example_id,
    find_by_id,
    find_by_number,
    page_forms,
    resolve_name,
)
from stackroom.search.question import View, plain_reading
from stackroom.search.result_set import Part, notes_by_reason
from stackroom.search.searcher import FURTHEST, QueryVector, Searcher
from stackroom.search.values import FieldValues, field_values
from stackroom.settings import Settings
from stackroom.shelf.port import Shelf, ShelfReader
from stackroom.text.analyser import analyse_query
from stackroom.text.normalise import like_words
from stackroom.text.preferences import Preferences, understand
from stackroom.tools.own_storage import OpenStorage, refuse_storage

logger = logging.getLogger(__name__)

AskedT = TypeVar("AskedT")
FoundT = TypeVar("FoundT")


@frozen
class OpenCatalogue:
    """A catalogue that is being served."""

    name: str
    spec: CatalogueSpec
    shelf: Shelf
    searcher: Searcher
    recommender: Recommender
    folder: Path | None = None  # its folder in the library; None where it is not in one
    list_sources: Callable[[], Sequence[str]] = tuple
    """Lists the locations it was built from; may grow while it is served."""
    list_unserved: Callable[[], Sequence[str]] = tuple
    """Lists the catalogues of its package that could not be opened when serving began."""
    open_storage: OpenStorage = refuse_storage  # opens where what belongs to users is kept
    settings: Settings | None = None
    """The settings of the server, from which a package reads its own section; None where there is
    no server.
    """
    map: CatalogueMap = field(default_factory=CatalogueMap)

    @property
    def sources(self) -> tuple[Path, ...]:
        """The files and folders that it was built from."""
        return tuple(Path(source) for source in self.list_sources())

    def view(self) -> "CatalogueView":
        """Return the catalogue as it is at this moment; raise StorageError where it cannot be
        read.
        """
        return CatalogueView(
            catalogue=self,
            reader=self.shelf.reader(),
            name=self.name,
            spec=self.spec,
            folder=self.folder,
        )


@frozen
class CatalogueView:
    """A catalogue at one moment. A call opens one view of each catalogue it reads, so that its
    reads agree.
    """

    catalogue: OpenCatalogue
    reader: ShelfReader
    name: str
    spec: CatalogueSpec
    folder: Path | None

    def find_record(self, record_id: RecordId, *, scope: Scope) -> Record | None:
        """Return the record of this id, where it exists and may be seen."""
        key = self.reader.find([record_id], scope=scope).get(record_id)
        return self.reader.fetch([key], scope=scope).get(key) if key is not None else None

    def find_stated(self, stated: str, *, scope: Scope) -> Record | None:
        """Return the record that an id means in any form that was ever shown: an id, an address, a
        page, a number.
        """
        key = find_by_id(self.reader, stated, scope=scope, catalogue=self.name)
        if key is None and self.catalogue.folder and (pages := page_forms(stated)):
            holder = find_identified(self.catalogue.folder / LEDGER_FILE, pages)
            return self.find_record(holder, scope=scope) if holder else None
        if key is None:
            key = find_by_number(self.reader, stated, scope=scope)
        return None if key is None else self.reader.fetch([key], scope=scope).get(key)

    def resolve(self, text: str, *, scope: Scope) -> NameChoice:
        """Return the record that a name or an id most likely means, with the others that it could
        mean.
        """
        return resolve_name(self.reader, self.spec, text, scope=scope, catalogue=self.name)

    def describe_id(self, stated: str, *, scope: Scope) -> str:
        """Return a sentence that says that there is no such id, and what an id looks like."""
        example = example_id(self.reader, scope=scope)
        looks = f"; an id looks like '{example}'" if example else ""
        return f"'{self.name}' has no record with the id '{stated[:80]}'{looks}"

    def records(self, *, scope: Scope, limit: int | None = None) -> list[Record]:
        """Return the records of a scope in the order in which they came, all or the first."""
        count = self.reader.count(scope) if limit is None else limit
        keys = self.reader.scan(scope=scope, limit=count)
        return list(self.reader.fetch(keys, scope=scope).values())

    def ids_like(self, stated: str, *, scope: Scope) -> Sequence[RecordId]:
        """Return the ids of a scope that contain a text or are spelt similarly, best first."""
        ids = self.reader.ids(self.reader.scan(scope=scope, limit=self.reader.count(scope)))
        return [RecordId(one) for one in like_words(stated, ids)]

    def values_of(self, field: str, *, scope: Scope) -> FieldValues:
        """Return the values that the visible records of a scope's caller have in a field."""
        return field_values(self.reader, self.spec, field, visibility=scope.visibility)

    def embed(self, query: str) -> QueryVector:
        """Return the vector of a query for this catalogue, or the reason why there is none."""
        return self.catalogue.searcher.embed(self.reader, query)

    def search(self, query: str, *, scope: Scope, limit: int = FURTHEST) -> Part:
        """Return the best records in scope for a query in plain words, so many deep."""
        ranked = self.catalogue.searcher.rank(self.reader, query, scope=scope, limit=limit)
        reading = plain_reading(query, scope)
        return Part(view=self, reading=reading, ranking=ranked.ranking, ranked=ranked)

    def recommend(self, request: Request, *, scope: Scope) -> Recommendations:
        """Return recommendations for the titles and preferences of a request."""
        return self.catalogue.recommender.recommend(self.reader, request, scope=scope)

    def similar_to(self, record: Record, *, scope: Scope, limit: int) -> Sequence[Recommendation]:
        """Return the records of a scope that are most like one."""
        key = self.reader.find([record.id], scope=Scope(visibility=scope.visibility))[record.id]
        liked = choice_of(self.spec, record.id, key, record)
        request = Request(titles=(), limit=limit)
        recommender = self.catalogue.recommender
        return recommender.recommend_for(self.reader, [liked], request, scope=scope).items

    def understand(
        self, sentence: str, *, names: Mapping[str, tuple[str, str]], scope: Scope
    ) -> Preferences:
        """Return the wishes in a sentence, as conditions where they can be; `names` are those of
        values that it may have, with their fields.
        """
        year = self.catalogue.recommender.this_year()
        words = preference_vocabulary(self.reader, self.spec, scope=scope, this_year=year)
        return understand(sentence, replace(words, names=names))

    def with_words_of(self, text: str, *, scope: Scope, limit: int) -> list[Record]:
        """Return the records of a scope that have most words of a text, best first."""
        found = self.reader.lexical(analyse_query(text, synonyms={}), scope=scope, limit=limit)
        records = self.reader.fetch(found.keys.tolist(), scope=scope)
        return [records[key] for key in found.keys.tolist() if key in records]


class FoundRecord(NamedTuple):
    """A record, and the view that it was read from."""

    view: CatalogueView
    record: Record


@frozen
class ByCatalogue(Generic[FoundT]):
    """Answers by catalogue, and the names of the catalogues that were skipped."""

    found: dict[str, FoundT]
    skipped: list[str]

    def ask(
        self, ask: Callable[[FoundT], AskedT], *, pool: Executor | None = None
    ) -> "ByCatalogue[AskedT]":
        """Ask each further; skip those whose storage fails, unless it fails for all of them."""
        asked = ask_each(self.found, ask, pool=pool)
        return ByCatalogue(found=asked.found, skipped=[*self.skipped, *asked.skipped])


def ask_each(
    asked: Mapping[str, AskedT], ask: Callable[[AskedT], FoundT], *, pool: Executor | None = None
) -> ByCatalogue[FoundT]:
    """Ask every catalogue and skip those whose storage fails; raise StorageError where it fails for
    all of them.
    """

    def answer_or_error(one: AskedT) -> FoundT | StorageError:
        try:
            return ask(one)
        except StorageError as error:
            return error

    found: dict[str, FoundT] = {}
    errors: dict[str, StorageError] = {}
    run = pool.map if pool else map
    for name, answer in zip(asked, run(answer_or_error, asked.values()), strict=True):
        if isinstance(answer, StorageError):
            errors[name] = answer
        else:
            found[name] = answer
    if errors and not found:
        raise next(iter(errors.values()))
    for name, error in errors.items():
        logger.warning("catalogue '%s' is skipped: %s", name, error.message)
    return ByCatalogue(found=found, skipped=list(errors))


def promise_notes(views: Iterable[View]) -> list[str]:
    """Return a note on the catalogues whose answers are not exact, and on what is promised of
    them.
    """
    return notes_by_reason((view.name, str(view.reader.promises or "")) for view in views)


def address_of(catalogue: str, record_id: RecordId) -> str:
    """Return the id of a record in the generic tools."""
    return f"{catalogue}/{record_id}"


def uri_of(catalogue: str, record_id: RecordId) -> str:
    """Return the resource URI of a record."""
    return f"{SCHEME}{catalogue}/{quote(record_id, safe='/')}"


def parse_address(address: str) -> tuple[str, RecordId] | None:
    """Parse `CATALOGUE/ID` or a URI; None where it is neither."""
    is_uri = address.startswith(SCHEME)
    catalogue, slash, record_id = address.removeprefix(SCHEME).partition("/")
    if not catalogue or not slash or not record_id:
        return None
    return catalogue, RecordId(unquote(record_id) if is_uri else record_id)
