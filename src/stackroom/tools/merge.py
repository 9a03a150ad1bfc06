"""Searching several catalogues at once: the scope in each, the merged list of hits, and the path for explanations.

A catalogue that lacks a value is left out, and named, where another has it; where none has it, the call is refused.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
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
from stackroom.search.values import Label, argument_of, resolve_conditions, without_adult
from stackroom.tools.catalogue import ByCatalogue, CatalogueView, ask_each, unread_notes

NEAREST_SHOWN = 5
"""The number of hits that are shown where nothing answers."""

FURTHEST = 99
"""The last result that paging reaches: as deep as both arms of a search look, so that pages are consistent."""

Search = Callable[[CatalogueView, QueryVector], SearchPage]


class MergedHit(NamedTuple):
    """A hit of one catalogue in a merged list."""

    view: CatalogueView
    hit: Hit


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPage:
    """The hits of several catalogues, the page of each, and the catalogues that could not be read."""

    items: list[MergedHit]
    pages: Mapping[str, SearchPage]
    unread: list[str]

    @property
    def total_matches(self) -> int:
        """The total of matches."""
        return sum(page.total_matches for page in self.pages.values())

    def first(self, limit: int) -> list[MergedHit]:
        """Return the first hits; only a few where none is evidence."""
        return self.items[: min(limit, NEAREST_SHOWN) if self.evidence is Evidence.NONE else limit]

    def page(self, start: int, limit: int, *, is_list: bool = False) -> list[MergedHit]:
        """Return a page of the hits; only a few where none is evidence, unless a list of all is wanted."""
        end = min(start + limit, FURTHEST + 1)
        return (self.items[:end] if is_list else self.first(end))[start:]

    def cursor_after(self, end: int, *, is_list: bool = False) -> str | None:
        """Return the cursor of the page that begins after so many hits; None where there is none."""
        is_continued = is_list or self.evidence is not Evidence.NONE
        return str(end) if is_continued and len(self.items) > end and end < FURTHEST else None

    @property
    def evidence(self) -> Evidence:
        """The evidence of the catalogue that has the strongest."""
        return Evidence.best(page.evidence for page in self.pages.values())

    @property
    def mode(self) -> SearchMode:
        """Hybrid where at least one catalogue was searched by vectors."""
        modes = {page.mode for page in self.pages.values()}
        return SearchMode.HYBRID if SearchMode.HYBRID in modes else SearchMode.FTS_ONLY

    @property
    def degraded(self) -> str | None:
        """Why the answer is degraded, None where it is not."""
        reasons = dict.fromkeys(
            [*unread_notes(self.unread), *(page.degraded for page in self.pages.values() if page.degraded)]
        )
        return "; ".join(reasons) or None


def depth_for(start: int, limit: int) -> int:
    """Return how many hits of each catalogue a page is made from; InputError for a page that is too far."""
    if start > FURTHEST:
        raise InputError(f"'cursor' is not valid here; a search has pages up to its result {FURTHEST}")
    return min(start + limit + 1, FURTHEST)


def search_each(
    views: ByCatalogue[CatalogueView], query: str, search: Search, *, pool: Executor | None = None
) -> MergedPage:
    """Search every view, skip those whose storage fails, and merge the hits by score."""
    vectors = _embed_once(views.found, query)
    asked = ask_each(views.found, lambda view: (view, search(view, vectors[view.name])), pool=pool)
    return MergedPage(
        items=merge([[MergedHit(view=view, hit=hit) for hit in page.hits] for view, page in asked.found.values()]),
        pages={name: page for name, (_, page) in asked.found.items()},
        unread=[*views.skipped, *asked.skipped],
    )


def search_scopes(
    views: ByCatalogue[CatalogueView],
    scopes: Mapping[str, Scope],
    query: str,
    *,
    limit: int,
    explain: bool = False,
    pool: Executor | None = None,
) -> MergedPage:
    """Search every view in the usual way, each in its own scope."""
    return search_each(
        views,
        query,
        lambda view, vector: view.search(
            query, scope=scopes[view.name], limit=limit, query_vector=vector, explain=explain
        ),
        pool=pool,
    )


def merge(lists: Sequence[Sequence[MergedHit]]) -> list[MergedHit]:
    """Merge the lists of several catalogues by score; ties go by rank and then by name, so that equals take turns."""
    ranked = [(-item.hit.score, rank, item.view.name, item) for items in lists for rank, item in enumerate(items)]
    return [item for *_, item in sorted(ranked, key=lambda entry: entry[:3])]


def _embed_once(views: Mapping[str, CatalogueView], query: str) -> dict[str, QueryVector]:
    """Return the query's vector for each catalogue, embedded once for all whose vectors are by the same model.

    Vectors that are centred differ by catalogue; their model embeds the query once all the same.
    """
    known: dict[tuple[ModelId | None, str], QueryVector] = {}
    keys = {name: (view.reader.model, name if view.reader.mean is not None else "") for name, view in views.items()}
    for name, view in views.items():
        if keys[name] not in known:
            known[keys[name]] = view.embed(query)
    return {name: known[key] for name, key in keys.items()}


def merge_facets(lists: Iterable[Sequence[FacetCount]]) -> list[FacetCount]:
    """Add up the counts of several catalogues, most frequent first; a single list keeps its order."""
    counts: Counter[tuple[str, str]] = Counter()
    for facet in chain.from_iterable(lists):
        counts[facet.category, facet.value] += facet.count
    return [FacetCount(category, value, count) for (category, value), count in counts.most_common()]


def no_conditions(_spec: CatalogueSpec) -> Sequence[Condition]:
    """Return no conditions, for a search without filters."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRequest:
    """The part of a call that limits what is found."""

    query: str
    visibility: Visibility
    conditions: Callable[[CatalogueSpec], Sequence[Condition]] = no_conditions
    """Returns the conditions for a catalogue of this spec."""
    label: Label = argument_of
    """Returns the name of the argument that a condition came from, for errors and notes."""
    with_adult: Callable[[CatalogueSpec], bool] = lambda _spec: False
    """Tells whether the call asks for adult records too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueScopes:
    """The catalogues to search, the scope in each, and notes on how the filters were understood."""

    views: ByCatalogue[CatalogueView]
    scopes: Mapping[str, Scope]
    notes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """A scope in one catalogue, its notes, the fields it excludes values by, and the errors of values it lacks."""

    scope: Scope
    notes: tuple[str, ...]
    excluding: frozenset[str]
    unknown: Mapping[str, InputError]


def scope_each(views: ByCatalogue[CatalogueView], asked: ScopeRequest) -> CatalogueScopes:
    """Return the scope of a call in each catalogue; raise InputError for a value that no catalogue knows."""
    answers = ask_each(views.found, lambda view: _scope_or_refusal(view, asked))
    found = {name: one for name, one in answers.found.items() if isinstance(one, _Scope)}
    refused = {name: one for name, one in answers.found.items() if isinstance(one, InputError)}
    if refused and not found:
        raise next(iter(refused.values()))
    _require_known_exclusions(list(found.values()))
    return CatalogueScopes(
        views=ByCatalogue(
            found={name: views.found[name] for name in found}, skipped=[*views.skipped, *answers.skipped]
        ),
        scopes={name: one.scope for name, one in found.items()},
        notes=[
            *([f"not searched, without a value that was asked for: {', '.join(refused)}"] if refused else []),
            *_notes({name: one.notes for name, one in found.items()}),
        ],
    )


def scope_of(view: CatalogueView, asked: ScopeRequest) -> tuple[Scope, list[str]]:
    """Return the scope of a call in one catalogue, and notes; raise InputError for a value that it does not know."""
    only = scope_each(ByCatalogue(found={view.name: view}, skipped=[]), asked)
    return only.scopes[view.name], only.notes


def shown_scope(view: CatalogueView, visibility: Visibility) -> Scope:
    """Return the scope of what a search shows that asks for nothing: what the caller may see, without adult records."""
    return scope_of(view, ScopeRequest(query="", visibility=visibility))[0]


def _scope_or_refusal(view: CatalogueView, asked: ScopeRequest) -> _Scope | InputError:
    try:
        conditions, notes, unknown = _resolved(view, asked)
        hidden = [] if asked.with_adult(view.spec) else _hidden(view, asked, conditions)
    except InputError as error:
        return error
    scope = Scope(conditions=(*conditions, *hidden), visibility=asked.visibility)
    excluding = frozenset(condition.field for condition in conditions if isinstance(condition, NoneOf))
    return _Scope(scope=scope, notes=tuple(notes), excluding=excluding, unknown=unknown)


def _resolved(view: CatalogueView, asked: ScopeRequest) -> tuple[list[Condition], list[str], dict[str, InputError]]:
    """Return the conditions with their values, notes, and the errors of excluded values, which no record here has."""
    conditions: list[Condition] = []
    notes: list[str] = []
    unknown: dict[str, InputError] = {}
    for condition in asked.conditions(view.spec):
        try:
            named = resolve_conditions(
                [condition], view.reader, view.spec, visibility=asked.visibility, label=asked.label
            )
        except InputError as error:
            if not isinstance(condition, NoneOf):
                raise
            unknown[condition.field] = error
            continue
        conditions += named.conditions
        notes += named.notes
    return conditions, notes, unknown


def _hidden(view: CatalogueView, asked: ScopeRequest, conditions: Sequence[Condition]) -> list[Condition]:
    return without_adult(conditions, view.reader, view.spec, query=asked.query, visibility=asked.visibility)


def _require_known_exclusions(scopes: Sequence[_Scope]) -> None:
    """Refuse an exclusion of a value that no catalogue knows: it would do nothing, and nobody would be told."""
    known = {name for scope in scopes for name in scope.excluding}
    for scope in scopes:
        for name, error in scope.unknown.items():
            if name not in known:
                raise error


def _notes(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the notes of all catalogues, each with the name of its catalogue unless all have the same."""
    different = {tuple(some) for some in notes.values()}
    if len(different) == 1:
        return list(*different)
    return [f"{name}: {note}" for name, some in notes.items() for note in some]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownHits:
    """The records that a tool shows of a ranking, in its order, and why it leaves out others that were ranked."""

    keys: Sequence[Key]
    left_out: Mapping[Key, str] = field(default_factory=dict)
    """Reasons as in "it repeats …"; records that are only too far down need none."""
    raised: Mapping[Key, RankedKey] = field(default_factory=dict)
    """The hits whose strength the tool raised."""
    evidence: Evidence
    """The evidence of the whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPath:
    """How a tool searches one catalogue for a call."""

    view: CatalogueView
    query: str
    scope: Scope
    rank: Callable[[Scope], Ranked]
    """Runs the tool's search in a scope, which may be wider than that of the call."""
    show: Callable[[Ranked], ShownHits]
    limit: int
    """How many records the tool shows at most, over all pages."""
    page: int
    """How many records one answer has."""
    searcher: Searcher
    label: Label = argument_of
    """Returns the name of the argument that a condition came from."""
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
) -> SearchPath:
    """Return the path of a tool that shows the first hits of a catalogue's own search, few where nothing answers."""
    searcher = view.catalogue.searcher
    return SearchPath(
        view=view,
        query=query,
        scope=scope,
        rank=lambda within: searcher.rank(view.reader, query, scope=within, limit=limit),
        show=lambda ranked: show_first(ranked, limit),
        limit=limit,
        page=page or limit,
        searcher=searcher,
        label=label,
        notes=notes,
    )


def reach_of(params: BaseModel, limit: int) -> int:
    """Return how many records the answers to a call can have, over all pages."""
    return FURTHEST if "cursor" in type(params).model_fields else limit


def show_first(ranked: Ranked, limit: int) -> ShownHits:
    """Return the first hits, with a bounded number of one series; few where nothing answers."""
    page = ranked.page(limit)
    shown = page.hits[:NEAREST_SHOWN] if page.evidence is Evidence.NONE else page.hits
    return ShownHits(keys=[hit.key for hit in shown], evidence=page.evidence)
