"""The text index: tokens of every record in tantivy, ranked by BM25, filtered before ranking.

One catch-all field holds all searched text; boosted fields add a small score of their own.
Filterable fields are indexed as raw terms and numbers, so that conditions are part of the query. A
marker document, replaced in each commit, has the number of the store's change that the index has
reached.

A word is rare or frequent, and a text long or short, by comparison with the others: in an index of
all records, the scores of those that a caller sees tell of those that they do not. So callers who
may not see every record have indexes of their own, one for each set of audiences, in a temporary
folder, made when first asked for and after changes.
"""

import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import tantivy
from numpy.typing import NDArray

from stackroom.catalogue.spec import CatalogueSpec, FieldType
from stackroom.errors import StorageError
from stackroom.model.hits import Ranking, build_ranking
from stackroom.model.record import Key
from stackroom.model.scope import (
    KEY_FIELD,
    WORDS_FIELD,
    AllOf,
    AnyOf,
    Condition,
    NoneOf,
    Range,
    Scope,
)
from stackroom.shelf.embedded.index_files import META_FILE, TextFiles
from stackroom.shelf.embedded.segment import (
    DamagedIndexError,
    SegmentRow,
    UnwritableIndexError,
    why_unwritable,
)
from stackroom.shelf.embedded.store import Store
from stackroom.shelf.sqlite_files import scratch_folder
from stackroom.shelf.terms import (
    ColumnValues,
    asked_term,
    require_filterable,
    term_fields,
    text_tokens,
)
from stackroom.text.analyser import TextQuery

ALL = "all"
KEY = "key"
MARKER = "marker"
TOKENIZER = "tokens"
EDIT_HEAP_BYTES = 32_000_000
BULK_HEAP_BYTES = 256_000_000
BULK_DOCUMENTS = 5_000
SPARE_HITS = 16
# how many hits beyond the limit are read for ties with the last one: at first, and at most
MAX_TIES = 10_000
MOST_KEPT = 8
REBUILT_BELOW = 5_000
"""The number of records up to which such an index is rebuilt after a change, so that it has no
trace of former ones.
"""
TERMS_EACH = 300  # above this many values, a term set query is used
# the error of code that met what cannot be, such as a damaged file; it is not an `Exception`
PANIC = "PanicException"

MUST, MUST_NOT, SHOULD = tantivy.Occur.Must, tantivy.Occur.MustNot, tantivy.Occur.Should
CACHED_CLAUSES = 8

Clause = tuple[tantivy.Occur, tantivy.Query]
Hits = Sequence[tuple[float, tantivy.DocAddress]]

logger = logging.getLogger(__name__)


class TextIndex:
    """A tantivy index in a folder; `searcher` is of the commit at the last `reload`."""

    def __init__(self, folder: Path, spec: CatalogueSpec) -> None:
        self.spec = spec
        apart = (*spec.boosted_fields, *spec.fields_searched_as_names)
        self._texts = {
            ALL: spec.searched_fields,
            **{_boost_name(field.name): (field,) for field in apart},
        }
        """The token fields of the index, each with the catalogue's fields that it is made of."""
        self.schema = _schema(spec, self._texts)
        self.term = partial(tantivy.Query.term_query, self.schema, index_option="freq")
        """Matches a term in a field, scored by BM25."""
        self._clauses: dict[tuple[Condition, ...], list[Clause]] = {}
        self._marked = tantivy.Query.range_query(
            self.schema, MARKER, tantivy.FieldType.Unsigned, lower_bound=1
        )
        self.folder = folder
        self.has_failed = False
        """Whether a search has failed in a way that only damage explains."""
        self.weights = [
            (ALL, 1.0),
            *((_boost_name(field.name), field.boost) for field in spec.boosted_fields),
        ]
        """The fields that a search by words looks in, each with its weight."""
        self.name_weights = [
            (_boost_name(field.name), 1.0) for field in spec.fields_searched_as_names
        ]
        self.values = ColumnValues(spec)
        self._term_filters = list(map(_filter_name, term_fields(spec)))
        self._number_filters = [
            _filter_name(field.name) for field in spec.column_fields if field.is_numeric
        ]
        self.files = TextFiles(folder)
        with self.failing_as(DamagedIndexError, "opened"):
            self._index = tantivy.Index(self.schema, path=str(self.files.usable_folder()))
            self._index.config_reader("manual")
            # Texts are already analysed, and only split at spaces.
            spaces = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
            self._index.register_tokenizer(TOKENIZER, spaces.build())
            self.searcher = self._index.searcher()
            for field in self._texts:  # so that a missing or truncated file is noticed now
                self.searcher.search(self.term(field, ""), limit=1)

    def reload(self) -> None:
        """Open the searcher of the last commit."""
        with self.failing_as(DamagedIndexError, "read"):
            self._index.reload()
            self.searcher = self._index.searcher()

    def change_no(self) -> int:
        """Return the number of the store's change that this index has reached; 0 for a new
        index.
        """
        with self.failing_as(DamagedIndexError, "read"):
            found = self.searcher.search(self._marked, limit=1, order_by_field=MARKER).hits
        return int(found[0][0]) if found else 0

    def update(self, touched: Sequence[Key], rows: Iterable[SegmentRow], *, change_no: int) -> None:
        """Remove the touched keys, add the rows, and set the change number, in one commit."""
        self._write(touched, rows, lambda: change_no, is_bulk=len(touched) > BULK_DOCUMENTS)

    def build(self, rows: Iterable[SegmentRow], *, change_no: Callable[[], int]) -> None:
        """Add many rows to a new index, and set the change number after the last, in one commit."""
        self._write((), rows, change_no, is_bulk=True)

    def _write(
        self,
        touched: Sequence[Key],
        rows: Iterable[SegmentRow],
        change_no: Callable[[], int],
        *,
        is_bulk: bool,
    ) -> None:
        self._remove_leftovers()
        self.files.forget_sums()
        with self.failing_as(UnwritableIndexError, "written"):
            writer = self._index.writer(
                BULK_HEAP_BYTES if is_bulk else EDIT_HEAP_BYTES, num_threads=1
            )
            if touched and self.searcher.num_docs:
                # By query: `delete_documents_by_term` takes the key for a signed number, and finds
                # nothing.
                writer.delete_documents_by_query(self.any_value(KEY, [int(key) for key in touched]))
            for row in rows:
                writer.add_document(self._document(row))
            writer.delete_documents_by_query(self._marked)
            marker = tantivy.Document()
            marker.add_unsigned(MARKER, change_no())
            writer.add_document(marker)
            writer.commit()  # commit point: documents and marker become visible together
            writer.wait_merging_threads()
        self.files.save_sums()
        self.reload()

    def _remove_leftovers(self) -> None:
        """Remove the temporary files and the lists of deleted documents of a writer that was killed
        before its commit.

        The next commit uses the same numbers in the names of lists, and tantivy does not overwrite
        a file.
        """
        for path in self.folder.glob(".tmp*"):
            path.unlink(missing_ok=True)
        try:
            reached = int(orjson.loads((self.folder / META_FILE).read_bytes())["opstamp"])
        except (OSError, ValueError, KeyError, TypeError):
            return  # nothing was committed yet, or the damage is found elsewhere
        for path in self.folder.glob("*.del"):
            number = path.suffixes[0].removeprefix(".") if len(path.suffixes) == 2 else ""
            if number.isdecimal() and int(number) > reached:
                path.unlink(missing_ok=True)

    @contextmanager
    def failing_as(self, error_type: type[StorageError], what: str) -> Iterator[None]:
        """Raise tantivy's errors, which are built-in types, as the given type; also those that it
        did not foresee.
        """
        try:
            yield
        except (ValueError, OSError) as error:
            logger.warning("the text index in %s cannot be %s: %s", self.folder, what, error)
            raise error_type(f"the text index cannot be {what}: {why_unwritable(error)}") from error
        except BaseException as error:
            if type(error).__name__ != PANIC:
                raise
            self.has_failed = True
            raise DamagedIndexError(f"the text index cannot be {what}: it is damaged") from error

    def any_value(self, field: str, values: Sequence[str] | Sequence[int]) -> tantivy.Query:
        """Match any of the values; a few are faster as single terms than as a set, one value
        fifteen times.
        """
        if len(values) > TERMS_EACH:
            return tantivy.Query.term_set_query(self.schema, field, values)
        each = [(SHOULD, self.term(field, value, index_option="basic")) for value in values]
        return each[0][1] if len(each) == 1 else tantivy.Query.boolean_query(each)

    def any_term(
        self, query: TextQuery, weighted_fields: Sequence[tuple[str, float]]
    ) -> tantivy.Query:
        """Match any of the terms in any of the fields."""
        weighed = [
            (SHOULD, tantivy.Query.boost_query(self.term(field, token), boost * weight))
            for token, weight in query.terms
            for field, boost in weighted_fields
        ]
        return tantivy.Query.boolean_query(weighed)

    def meeting(self, conditions: tuple[Condition, ...], asked: tantivy.Query) -> tantivy.Query:
        """Match records that `asked` matches and that meet every condition, with the scores of
        `asked`. The last conditions are cached: most searches have the same.
        """
        if not conditions:
            return asked
        if (clauses := self._clauses.get(conditions)) is None:
            require_filterable(conditions, self.spec)
            if len(self._clauses) >= CACHED_CLAUSES:
                self._clauses = {}
            clauses = self._clauses[conditions] = [self._clause(one) for one in conditions]
        return tantivy.Query.boolean_query([(MUST, asked), *clauses])

    def _clause(self, condition: Condition) -> Clause:
        match condition:
            case AnyOf():
                return MUST, _unscored(self._one_of(condition.field, condition.values))
            case NoneOf():
                return MUST_NOT, self._one_of(condition.field, condition.values)
            case AllOf():
                each = [
                    (MUST, self._one_of(condition.field, (value,))) for value in condition.values
                ]
                every = tantivy.Query.boolean_query(each) if each else tantivy.Query.all_query()
                return MUST, _unscored(every)
            case Range():
                number = tantivy.Query.range_query(
                    self.schema,
                    _filter_name(condition.field),
                    tantivy.FieldType.Float,
                    lower_bound=-math.inf
                    if condition.at_least is None
                    else float(condition.at_least),
                    upper_bound=math.inf if condition.at_most is None else float(condition.at_most),
                    # Integers (years, counts) repeat: reading their postings takes half the time of
                    # a scan.
                    use_inverted_index=self.spec.fields[condition.field].type is FieldType.INT,
                )
                return MUST, _unscored(number)

    def _one_of(self, field: str, values: Iterable[str]) -> tantivy.Query:
        if field == KEY_FIELD:
            return self.any_value(KEY, [int(value) for value in values])
        terms = [asked_term(field, value) for value in values]
        return self.any_value(ALL if field == WORDS_FIELD else _filter_name(field), terms)

    def _document(self, row: SegmentRow) -> tantivy.Document:
        document, record = tantivy.Document(), row.record
        document.add_unsigned(KEY, int(row.key))
        for name, fields in self._texts.items():
            document.add_text(name, " ".join(text_tokens(record, fields)))
        entries, numbers = self.values.of(record)
        for filter_name, some in zip(self._term_filters, entries, strict=True):
            for term in dict.fromkeys([entry[0] for entry in some]):
                document.add_text(filter_name, term)
        # which have one more: how known
        for filter_name, number in zip(self._number_filters, numbers, strict=False):
            if not math.isnan(number):
                document.add_float(filter_name, number)
        return document


class SeenTexts:
    """The text indexes of a catalogue by the audiences that they are for; the last used are
    kept.
    """

    def __init__(self, spec: CatalogueSpec) -> None:
        self._spec = spec
        self._kept: OrderedDict[frozenset[str], TextIndex] = OrderedDict()
        self._folder: Path | None = None
        self._made = 0
        self._guard = threading.Lock()

    def open_text(
        self, scope: Scope, keys: Sequence[Key], store: Store, change_no: int
    ) -> TextIndex:
        """Return the index of these records, all those of a scope, as of a change."""
        audiences = scope.visibility.audiences or frozenset()
        with self._guard:
            text = self._kept.get(audiences)
            reached = text.change_no() if text else 0
            if (
                text is None
                or reached > change_no
                or (reached < change_no and len(keys) <= REBUILT_BELOW)
            ):
                self._folder = self._folder or scratch_folder(self)
                self._made += 1
                text = TextIndex(self._folder / str(self._made), self._spec)
                text.build(store.iter_rows_as_of(keys, change_no), change_no=lambda: change_no)
            elif reached < change_no:
                touched = store.changed_since(reached, until=change_no)
                rows = store.iter_rows_as_of(sorted(set(touched).intersection(keys)), change_no)
                text.update(touched, rows, change_no=change_no)
            self._kept[audiences] = text
            self._kept.move_to_end(audiences)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return text


@dataclass(frozen=True, kw_only=True)
class TextReads:
    """The reads of a snapshot that its text index answers, as of the searcher's commit."""

    spec: CatalogueSpec
    text: TextIndex
    searcher: tantivy.Searcher

    def lexical(
        self,
        query: TextQuery,
        *,
        scope: Scope,
        limit: int,
        counted: bool = True,
        in_names: bool = False,
    ) -> Ranking:
        """Rank the records in scope that have any of the terms."""
        fields = self.text.name_weights if in_names else self.text.weights
        # also where there is no term: it refuses conditions that cannot be met
        asked = self.text.meeting(scope.all_conditions(), self.text.any_term(query, fields))
        if not query.terms or not fields:
            return build_ranking((), (), limit=0)
        with self.text.failing_as(DamagedIndexError, "searched"):
            hits, total = _search_past_ties(self.searcher, asked, limit, counted=counted)
            return build_ranking(*_keys_and_scores(self.searcher, hits), limit=limit, total=total)

    def having_words(self, words: TextQuery, *, scope: Scope, limit: int) -> Ranking:
        """Rank the records in scope by the sum of the weights of the words that they have."""
        if not words.terms:
            return build_ranking((), (), limit=0)
        each = [
            (SHOULD, tantivy.Query.const_score_query(self.text.term(ALL, word), weight))
            for word, weight in words.terms
        ]
        asked = self.text.meeting(scope.all_conditions(), tantivy.Query.boolean_query(each))
        return build_ranking(*self._search(asked, limit=limit), limit=limit)

    def _search(
        self, asked: tantivy.Query, *, limit: int
    ) -> tuple[NDArray[np.int64], Sequence[float]]:
        with self.text.failing_as(DamagedIndexError, "searched"):
            return _keys_and_scores(
                self.searcher, self.searcher.search(asked, limit=limit, count=False).hits
            )

    def frequencies(self, tokens: Sequence[str]) -> list[int]:
        """Return how many records have each of these tokens."""
        with self.text.failing_as(DamagedIndexError, "searched"):
            return [self.searcher.doc_freq(ALL, token) for token in tokens]

    def count_with_terms(self, query: TextQuery, keys: Sequence[Key]) -> int:
        """Return how many of these records have any of the terms."""
        # Excluding every term takes a third of the time of matching any of them.
        without = [(MUST_NOT, self.text.term(ALL, token)) for token, _ in query.terms]
        these = MUST, self.text.any_value(KEY, [int(key) for key in keys])
        rest = _unscored(tantivy.Query.boolean_query([these, *without]))
        with self.text.failing_as(DamagedIndexError, "searched"):
            # the stub of tantivy lacks its `count`
            found: Any = self.searcher.search(rest, limit=1, count=True)
            return len(keys) - int(found.count)

    def term_scores(self, query: TextQuery, keys: Sequence[Key]) -> NDArray[np.float64]:
        """Return what each term adds to the score of each record."""
        scores = np.zeros((len(keys), len(query.terms)))
        rows = {int(key): row for row, key in enumerate(keys)}
        if not rows:
            return scores
        these = MUST, _unscored(self.text.any_value(KEY, list(rows)))
        for column, term in enumerate(query.terms):
            asked = self.text.any_term(TextQuery(terms=(term,)), self.text.weights)
            both = tantivy.Query.boolean_query([(MUST, asked), these])
            found, each = self._search(both, limit=len(rows))
            scores[[rows[key] for key in found.tolist()], column] = each
        return scores

    def keys_meeting(self, conditions: tuple[Condition, ...]) -> NDArray[np.int64]:
        """Return the keys of all records that meet the conditions, unordered."""
        asked = self.text.meeting(conditions, tantivy.Query.all_query())
        most = max(self.searcher.num_docs, 1)
        with self.text.failing_as(DamagedIndexError, "searched"):
            hits = self.searcher.search(asked, limit=most, count=False, order_by_field=KEY).hits
        return np.array([key for key, _ in hits if key], dtype=np.int64)


def _schema(spec: CatalogueSpec, text_fields: Iterable[str]) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(KEY, indexed=True, fast=True)
    builder.add_unsigned_field(MARKER, indexed=True, fast=True)
    for name in text_fields:
        builder.add_text_field(name, tokenizer_name=TOKENIZER, index_option="freq")
    for name in term_fields(spec):
        builder.add_text_field(_filter_name(name), tokenizer_name="raw", index_option="basic")
    for field in spec.column_fields:
        if field.is_numeric:
            builder.add_float_field(_filter_name(field.name), indexed=True, fast=True)
    return builder.build()


def _boost_name(field: str) -> str:
    return f"boost_{field}"


def _filter_name(field: str) -> str:
    return f"filter_{field}"


def _search_past_ties(
    searcher: tantivy.Searcher, query: tantivy.Query, limit: int, *, counted: bool
) -> tuple[Hits, int | None]:
    """Search deep enough to find every hit that ties with the last one, so that ties can be broken
    by key.
    """
    limit = max(limit, 1)
    depth = limit + SPARE_HITS
    while True:
        # the stub of tantivy lacks its `count`
        found: Any = searcher.search(query, limit=depth, count=counted)
        hits: Hits = found.hits
        if len(hits) < depth or hits[limit - 1][0] > hits[-1][0] or depth >= limit + MAX_TIES:
            return hits, int(found.count) if counted else None
        depth = min(4 * depth, limit + MAX_TIES)


def _keys_and_scores(
    searcher: tantivy.Searcher, hits: Hits
) -> tuple[NDArray[np.int64], Sequence[float]]:
    scores, addresses = zip(*hits, strict=True) if hits else ((), ())
    return np.array(searcher.fast_field_values(KEY, list(addresses)), dtype=np.int64), scores


def _unscored(query: tantivy.Query) -> tantivy.Query:
    return tantivy.Query.const_score_query(query, 0.0)
