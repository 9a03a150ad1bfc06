"""Searching several catalogues at once: the scope in each, the merged list of hits, and the path
for explanations.

A catalogue that lacks a value is left out, and named, where another has it; where none has it, the
call is refused.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import NamedTuple

from pydantic import BaseModel

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import InputError
from stackroom.model.hits import Evidence, FacetCount, Hit, SearchMode, SearchPage
from stackroom.model.record import Key
from stackroom.model.scope import Condition, NoneOf, Scope, Visibility
from stackroom.model.vectors import ModelId
from stackroom.search.ranked import Ranked, RankedKey
from stackroom.search.searcher import QueryVector, Searcher
from stackroom.search.values import Label, argument_of, resolve_condition, without_adult
from stackroom.text.instructions import quoted
from stackroom.tools.catalogue import (
    ByCatalogue,
    CatalogueView,
    ask_each,
    notes_by_reason,
    unread_notes,
)
from stackroom.tools.reading import (
    EVERY,
    ReadQuestion,
    counted,
    in_order,
    list_page,
    plain_reading,
    read_question,
)

NEAREST_SHOWN = 5  # the number of hits that are shown where nothing answers

FURTHEST = 99
"""The last result that paging reaches: as deep as both arms of a search look, so that pages are
consistent.
"""

SORTED_DEEP = 400  # how many hits of a search are looked at for those that answer, to sort them

Rank = Callable[[CatalogueView, str, Scope, QueryVector | None, int], Ranked]
"""Ranks the records of a catalogue in a scope for a query, whose vector may be known; so many hits
are shown.
"""


class MergedHit(NamedTuple):
    """A hit of one catalogue in a merged list."""

    view: CatalogueView
    hit: Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPage:
    """The hits of several catalogues, the page of each, and the catalogues that could not be
    read.
    """

    items: list[MergedHit]
    pages: Mapping[str, SearchPage]
    unread: list[str]
    readings: Mapping[str, ReadQuestion] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """Notes on how the question was understood, and the number that it asks for."""
        noted = {}
        for name, reading in self.readings.items():
            total = (
                [f"{counted(self.pages[name].total_matches)} in all"] if reading.is_count else []
            )
            noted[name] = [*reading.notes, *total]
        return by_catalogue(noted, among=len(self.readings))

    @property
    def total_matches(self) -> int:
        """The total of matches."""
        return sum(page.total_matches for page in self.pages.values())

    @property
    def listed(self) -> int:
        """The number of hits over all pages of the answer; only a few where none is evidence."""
        most = NEAREST_SHOWN if self.evidence is Evidence.NONE else FURTHEST
        return min(most, sum(page.ranked for page in self.pages.values()))

    def first(self, limit: int) -> list[MergedHit]:
        """Return the first hits; only a few where none is evidence."""
        return self.items[: min(limit, NEAREST_SHOWN) if self.evidence is Evidence.NONE else limit]

    def page(self, start: int, limit: int, *, is_list: bool = False) -> list[MergedHit]:
        """Return a page of the hits; only a few where none is evidence, unless a list of all is
        wanted.
        """
        end = min(start + limit, FURTHEST + 1)
        return (self.items[:end] if is_list else self.first(end))[start:]

    def cursor_after(self, end: int, *, is_list: bool = False) -> str | None:
        """Return the cursor of the page that begins after so many hits; None where there is
        none.
        """
        is_continued = is_list or self.evidence is not Evidence.NONE
        return str(end) if is_continued and len(self.items) > end and end < FURTHEST else None

    @property
    def evidence(self) -> Evidence:
        """The evidence of the catalogue that has the strongest."""
        return Evidence.best(page.evidence for page in self.pages.values())

    @property
    def mode(self) -> SearchMode:
        """Hybrid where at least one catalogue was searched by vectors."""
        return mode_of(self.pages.values())

    @property
    def degraded(self) -> str | None:
        """Why the answer is degraded, None where it is not."""
        reasons = [
            *unread_notes(self.unread),
            *(page.degraded for page in self.pages.values() if page.degraded),
        ]
        return "; ".join(dict.fromkeys(reasons)) or None


def depth_for(start: int, limit: int) -> int:
    """Return how many hits of each catalogue a page is made from; InputError for a page that is too
    far.
    """
    if start > FURTHEST:
        raise InputError(
            f"'cursor' is not valid here; a search has pages up to its result {FURTHEST}"
        )
    return min(start + limit + 1, FURTHEST)


def usual_rank(
    view: CatalogueView, query: str, scope: Scope, vector: QueryVector | None, limit: int
) -> Ranked:
    """Rank the records in scope for a query in the catalogue's usual way."""
    return view.catalogue.searcher.rank(
        view.reader, query, scope=scope, limit=limit, query_vector=vector
    )


def search_scopes(
    views: ByCatalogue[CatalogueView],
    scopes: Mapping[str, Scope],
    query: str,
    *,
    limit: int,
    explain: bool = False,
    pool: Executor | None = None,
    rank: Rank = usual_rank,
    readings: Mapping[str, ReadQuestion] | None = None,
) -> MergedPage:
    """Read a question in every view, search each in its own scope, skip those whose storage fails,
    and merge the hits.

    `readings` are those of the question, where it was read already.
    """
    read = ByCatalogue(found=dict(readings or {}), skipped=[])
    if not readings:
        read = ask_each(views.found, lambda view: read_question(view, query, scopes[view.name]))
    known = {name: view for name, view in views.found.items() if name in read.found}
    vectors = _embed_once(known, {name: reading.query for name, reading in read.found.items()})

    def page_of(
        view: CatalogueView, reading: ReadQuestion, vector: QueryVector | None = None
    ) -> SearchPage:
        """Return the first hits of a question as it was read."""
        if reading.is_list:
            return list_page(view, reading, limit=limit)
        deep = max(limit, SORTED_DEEP) if reading.sort else limit
        ranked = rank(view, reading.query, reading.scope, vector, deep)
        return in_order(ranked, view, reading).page(limit, explain=explain)

    def answer(view: CatalogueView) -> tuple[CatalogueView, ReadQuestion, SearchPage]:
        reading = read.found[view.name]
        page = page_of(view, reading, vectors.get(view.name))
        if page.evidence is Evidence.NONE and reading.likely and not reading.names_moods:
            as_words = reading.likely  # words of the topic
            reading = read_question(view, reading.asked, reading.given, as_words=as_words)
            page = page_of(view, reading)
        return view, reading, page

    asked = ask_each(known, answer, pool=pool)
    return MergedPage(
        items=merge(
            [
                [MergedHit(view=view, hit=hit) for hit in page.hits]
                for view, _, page in asked.found.values()
            ]
        ),
        pages={name: page for name, (_, _, page) in asked.found.items()},
        unread=[*views.skipped, *read.skipped, *asked.skipped],
        readings={name: reading for name, (_, reading, _) in asked.found.items()},
    )


def merge(lists: Sequence[Sequence[MergedHit]]) -> list[MergedHit]:
    """Merge the lists of several catalogues by score; ties go by rank and then by name, so that
    equals take turns.
    """
    ranked = [
        (-item.hit.score, rank, item.view.name, item)
        for items in lists
        for rank, item in enumerate(items)
    ]
    return [item for *_, item in sorted(ranked, key=lambda entry: entry[:3])]


def _embed_once(
    views: Mapping[str, CatalogueView], queries: Mapping[str, str]
) -> dict[str, QueryVector]:
    """Return the vector of each catalogue's query, embedded once for all whose vectors are by the
    same model.

    Vectors that are centred differ by catalogue; their model embeds a query once all the same.
    """
    known: dict[tuple[ModelId | None, str, str], QueryVector] = {}
    vectors = {}
    for name, view in views.items():
        if query := queries[name]:
            key = (view.reader.model, name if view.reader.mean is not None else "", query)
            vectors[name] = known[key] = known.get(key) or view.embed(query)
    return vectors


def mode_of(pages: Iterable[SearchPage]) -> SearchMode:
    """Return hybrid where at least one catalogue was searched by vectors."""
    return (
        SearchMode.HYBRID
        if any(page.mode is SearchMode.HYBRID for page in pages)
        else SearchMode.FTS_ONLY
    )


def word_notes(pages: Mapping[str, SearchPage]) -> list[str]:
    """Return the notes on the words of a query, of the catalogue that has the best hit."""
    best = max(
        pages.values(), key=lambda page: page.hits[0].score if page.hits else 0.0, default=None
    )
    return [] if best is None else list(best.notes)


def degraded_notes(pages: Mapping[str, SearchPage]) -> list[str]:
    """Return a note for each reason why catalogues were searched by words alone, or not as well as
    they could be.
    """

    def why_degraded(page: SearchPage) -> str:
        if page.mode is SearchMode.HYBRID:
            return page.degraded or ""
        return (
            f"searched by words alone ({page.degraded})"
            if page.degraded
            else "searched by words alone"
        )

    return notes_by_reason((name, why_degraded(page)) for name, page in pages.items())


def fitting_notes(
    views: Mapping[str, CatalogueView], scopes: Mapping[str, Scope], found: int
) -> list[str]:
    """Return a note on how many records have the filters of a search, where more do than it
    found.
    """
    fitting = sum(ask_each(views, lambda view: view.reader.count(scopes[view.name])).found.values())
    return (
        [f"{fitting:,} records have these filters; query '{EVERY}' lists them all"]
        if fitting > found
        else []
    )


def merge_facets(lists: Iterable[Sequence[FacetCount]]) -> list[FacetCount]:
    """Add up the counts of several catalogues, most frequent first; a single list keeps its
    order.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for facet in chain.from_iterable(lists):
        counts[facet.category, facet.value] += facet.count
    return [FacetCount(category, value, count) for (category, value), count in counts.most_common()]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRequest:
    """The part of a call that limits what is found."""

    query: str
    visibility: Visibility
    conditions: Callable[[CatalogueSpec], Sequence[Condition]] = lambda _spec: ()
    """Returns the conditions for a catalogue of this spec."""
    # returns the name of the argument that a condition came from, for errors and notes
    label: Label = argument_of
    with_adult: Callable[[CatalogueSpec], bool] = lambda _spec: False
    """Tells whether the call asks for adult records too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueScopes:
    """The catalogues to search, the scope in each, and notes on how the filters were understood."""

    views: ByCatalogue[CatalogueView]
    scopes: Mapping[str, Scope]
    notes: list[str]


class _Scope(NamedTuple):
    """A scope in one catalogue, its notes, the fields it excludes values by, and the errors of
    values it lacks.
    """

    scope: Scope
    notes: list[str]
    excluding: set[str]
    unknown: dict[str, InputError]


def scope_each(views: ByCatalogue[CatalogueView], asked: ScopeRequest) -> CatalogueScopes:
    """Return the scope of a call in each catalogue; raise InputError for a value that no catalogue
    knows.
    """
    answers = ask_each(views.found, lambda view: _scope_or_refusal(view, asked))
    found = {name: one for name, one in answers.found.items() if isinstance(one, _Scope)}
    refused = {name: one for name, one in answers.found.items() if isinstance(one, InputError)}
    if refused and not found:
        raise next(iter(refused.values()))
    known = {name for one in found.values() for name in one.excluding}
    for name, error in (unknown for one in found.values() for unknown in one.unknown.items()):
        # to exclude what no catalogue has would do nothing, and nobody would be told
        if name not in known:
            raise error
    skipped = [*views.skipped, *answers.skipped]
    readable = ByCatalogue(found={name: views.found[name] for name in found}, skipped=skipped)
    left_out = (
        [f"not searched, without a value that was asked for: {', '.join(refused)}"]
        if refused
        else []
    )
    said = by_catalogue({name: one.notes for name, one in found.items()}, among=len(found))
    scopes = {name: one.scope for name, one in found.items()}
    return CatalogueScopes(views=readable, scopes=scopes, notes=[*left_out, *said])


def _scope_or_refusal(view: CatalogueView, asked: ScopeRequest) -> _Scope | InputError:
    """Return the scope of a call in one catalogue, or the error of a value that it does not know
    and must have.
    """
    conditions: list[Condition] = []
    notes, unknown, visibility = list[str](), dict[str, InputError](), asked.visibility
    resolve = partial(resolve_condition, visibility=visibility, label=asked.label)
    try:
        for condition in asked.conditions(view.spec):
            try:
                named, said = resolve(condition, view.reader, view.spec)
            except InputError as error:
                if not isinstance(condition, NoneOf):
                    raise
                unknown[condition.field] = error
            else:
                conditions.append(named)
                notes += said
        excluding = {condition.field for condition in conditions if isinstance(condition, NoneOf)}
        if not asked.with_adult(view.spec):
            conditions += without_adult(
                conditions, view.reader, view.spec, query=asked.query, visibility=visibility
            )
    except InputError as error:
        return error
    return _Scope(
        Scope(conditions=tuple(conditions), visibility=visibility), notes, excluding, unknown
    )


def scope_of(view: CatalogueView, asked: ScopeRequest) -> tuple[Scope, list[str]]:
    """Return the scope of a call in one catalogue, and notes; raise InputError for a value that it
    does not know.
    """
    only = scope_each(ByCatalogue(found={view.name: view}, skipped=[]), asked)
    return only.scopes[view.name], only.notes


def shown_scope(view: CatalogueView, visibility: Visibility) -> Scope:
    """Return the scope of what a search shows that asks for nothing: what the caller may see,
    without adult records.
    """
    return scope_of(view, ScopeRequest(query="", visibility=visibility))[0]


def by_catalogue(notes: Mapping[str, Sequence[str]], *, among: int) -> list[str]:
    """Return the notes of catalogues, each once, with the names of its catalogues unless all of so
    many have it.
    """
    return notes_by_reason(
        ((name, note) for name, some in notes.items() for note in some), among=among
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownHits:
    """The records that a tool shows of a ranking, in its order, and why it leaves out others that
    were ranked.
    """

    keys: Sequence[Key]
    left_out: Mapping[Key, str] = field(default_factory=dict)
    """Reasons as in "it repeats …"; records that are only too far down need none."""
    # the hits whose strength the tool raised
    raised: Mapping[Key, RankedKey] = field(default_factory=dict)
    evidence: Evidence  # the evidence of the whole answer


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPath:
    """How a tool searches one catalogue for a call."""

    view: CatalogueView
    scope: Scope
    # runs the tool's search in a scope, which may be wider than that of the call
    rank: Callable[[Scope], Ranked]
    show: Callable[[Ranked], ShownHits]
    limit: int  # how many records the tool shows at most, over all pages
    page: int  # how many records one answer has
    searcher: Searcher
    label: Label = argument_of
    notes: Sequence[str] = ()


def usual_path(
    view: CatalogueView,
    query: str,
    *,
    scope: Scope,
    limit: int,
    page: int | None = None,
    label: Label = argument_of,
    notes: Sequence[str] = (),
    rank: Rank = usual_rank,
    is_read: bool = True,
) -> SearchPath:
    """Return the path of a tool that shows the first hits of a catalogue's search, few where
    nothing answers.

    `is_read`: whether the tool reads its query for what it states.
    """
    reading = read_question(view, query, scope) if is_read else plain_reading(query, scope)
    if reading.is_list:
        raise InputError(
            f"'query': '{quoted(query[:60])}' only states what records have; add words to rank"
            " them by"
        )

    def show(ranked: Ranked) -> ShownHits:
        """Return the first hits, with a bounded number of one series; few where nothing answers."""
        found = ranked.page(limit)
        shown = found.hits[:NEAREST_SHOWN] if found.evidence is Evidence.NONE else found.hits
        return ShownHits(keys=[hit.key for hit in shown], evidence=found.evidence)

    return SearchPath(
        view=view,
        scope=reading.scope,
        rank=lambda within: in_order(rank(view, reading.query, within, None, limit), view, reading),
        show=show,
        limit=limit,
        page=page or limit,
        searcher=view.catalogue.searcher,
        label=label,
        notes=[*notes, *reading.notes],
    )


def reach_of(params: BaseModel, limit: int) -> int:
    """Return how many records the answers to a call can have, over all pages."""
    return FURTHEST if "cursor" in type(params).model_fields else limit
