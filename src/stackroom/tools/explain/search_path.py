"""The path of a search tool through one catalogue, as the tool declares it, so that its answers can be explained.

A path runs the same search as the tool and cuts it in the same way. The tool that is asked decides what is found.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from stackroom.model.hits import Evidence
from stackroom.model.record import Key
from stackroom.model.scope import Scope
from stackroom.search.conditions import Label, argument_of
from stackroom.search.ranked import Ranked, RankedKey
from stackroom.search.searcher import Searcher
from stackroom.tools.catalogue import CatalogueView
from stackroom.tools.merge import FURTHEST, NEAREST_SHOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
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
    show: Callable[[Ranked], Shown]
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


def show_first(ranked: Ranked, limit: int) -> Shown:
    """Return the first hits, with a bounded number of one series; few where nothing answers."""
    page = ranked.page(limit)
    shown = page.hits[:NEAREST_SHOWN] if page.evidence is Evidence.NONE else page.hits
    return Shown(keys=[hit.key for hit in shown], evidence=page.evidence)
