"""The music tools, `catalog.search` and `catalog.get`. Names, parameters and defaults are a fixed
interface.

`catalog.get` also serves an agent that maintains a catalogue: similar records, gaps, playlists, and
corrections as arguments of `catalog.mutate`, for a user who may edit. Nothing here writes.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from stackroom import api
from stackroom_catalogues.music import search as searching
from stackroom_catalogues.music import shapes
from stackroom_catalogues.music.gaps import answer_fixes, answer_gaps
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, KINDS, TRACK
from stackroom_catalogues.music.library import MusicLibrary, find_similar
from stackroom_catalogues.music.playlist import make_playlist

TOP_TRACKS = 10  # albums and tracks of an artist that are listed unless a call says how many


class MusicTools:
    """The tools over every music catalogue."""

    def __init__(self, catalogues: api.LayoutCatalogues) -> None:
        self._catalogues = catalogues

    def search(
        self,
        principal: api.Principal,
        params: shapes.SearchMusicParams,
        *,
        catalogue: str | None = None,
    ) -> shapes.SearchMusicResult:
        """Search artists, albums and tracks by name and meaning."""
        scoped = searching.scope_search(self._catalogues.views(catalogue), principal, params)
        views = scoped.views

        def search(view: api.CatalogueView) -> searching.FoundKinds:
            library = MusicLibrary(view, principal, conditions=scoped.scopes[view.name].conditions)
            return searching.search_kinds(library, params)

        asked = api.ask_each(views.found, search)
        kinds = [params.kind] if params.kind else KINDS
        groups: dict[str, Any] = {
            shapes.GROUPS[kind]: self._group(
                [one.kinds[kind] for one in asked.found.values()], params
            )
            for kind in kinds
        }
        skipped = [*views.skipped, *asked.skipped]
        reasons = [
            *(f"{name}: {api.UNREADABLE}" for name in skipped),
            *(one.degraded for one in asked.found.values()),
        ]
        degraded = "; ".join(dict.fromkeys(filter(None, reasons))) or None
        evidence = api.Evidence.best(one.evidence for one in asked.found.values())
        understood = api.by_catalogue(
            {name: one.notes for name, one in asked.found.items()}, among=len(asked.found)
        )
        return shapes.SearchMusicResult(
            **groups,
            evidence=evidence,
            mode=api.SearchMode.FTS_ONLY if degraded else api.SearchMode.HYBRID,
            degraded=degraded,
            unread=skipped,
            notes=[*understood, *scoped.notes],
            offset=params.offset,
        )

    def search_path(
        self, principal: api.Principal, params: shapes.SearchMusicParams, name: str, kind: str
    ) -> api.SearchPath:
        """Return how `catalog.search` searches one catalogue for records of a kind."""
        scoped = searching.scope_search(self._catalogues.views(name), principal, params)
        library = MusicLibrary(
            scoped.views.found[name], principal, conditions=scoped.scopes[name].conditions
        )
        return searching.search_path(library, params, kind, scoped.notes)

    def _group(
        self, found: Sequence[searching.FoundOfKind], params: shapes.SearchMusicParams
    ) -> shapes.RecordGroup:
        """Return a page of what the catalogues found of one kind."""
        wanted = min(params.offset + params.limit, shapes.MOST)
        merged = api.merge([one.items for one in found])
        total = sum(one.total for one in found)
        nearest = (
            [] if total else api.merge([one.nearest for one in found])[: searching.NEAREST_OF_KIND]
        )
        return shapes.RecordGroup(
            items=list(map(self._entry, merged[params.offset : wanted])),
            nearest=list(map(self._entry, nearest)),
            total=total,
            has_more=(len(merged) > wanted or any(one.has_more for one in found))
            and wanted < shapes.MOST,
        )

    def _entry(self, item: api.MergedHit) -> shapes.Entry:
        label = self._catalogues.label(item.view.name)
        entry = shapes.entry_of(item.hit.record, score=item.hit.score, catalogue=label)
        return (
            entry.model_copy(update={"why": api.shape_why(item.hit.why)}) if item.hit.why else entry
        )

    def get(
        self, principal: api.Principal, params: shapes.GetParams, *, catalogue: str | None = None
    ) -> shapes.GetResult:
        """Music: a record, recent, similar, stats, gaps, fixes for catalog.mutate; make a
        playlist.
        """
        views = self._catalogues.views(catalogue)
        libraries = {name: MusicLibrary(view, principal) for name, view in views.found.items()}
        library, plain = self._meant(views, libraries, params)
        label = self._catalogues.label(library.catalogue.name)
        naming = {"catalogue": label} if label else {}  # names the catalogue to `catalog.mutate`
        answers: dict[str, Callable[[MusicLibrary, shapes.GetParams], shapes.GetResult]] = {
            **dict.fromkeys(KINDS, _record),
            "recent": _recent,
            "stats": _stats,
            "similar": _similar,
            "gaps": partial(answer_gaps, naming=naming),
            "playlist": make_playlist,
            "fixes": partial(answer_fixes, naming=naming),
        }
        result = answers[params.query_type](library, plain)
        notes = [*result.notes, *dict.fromkeys(library.notes)]
        return result.model_copy(
            update={"catalogue": label, "notes": notes, "offset": params.offset}
        )

    def _meant(
        self,
        views: api.ByCatalogue[api.CatalogueView],
        libraries: Mapping[str, MusicLibrary],
        params: shapes.GetParams,
    ) -> tuple[MusicLibrary, shapes.GetParams]:
        """Return the catalogue that a call is about, and its arguments with the id as that
        catalogue has it.
        """
        if len(libraries) == 1 or params.id is None:
            only = self._catalogues.require_one(
                views.found, f"query_type '{params.query_type}' is about one catalogue"
            )
            return libraries[only.name], params
        name, _, rest = params.id.partition("/")
        if name in libraries and rest:
            return libraries[name], params.model_copy(update={"id": rest})
        kind = params.query_type if params.query_type in KINDS else None
        found = self._catalogues.find_one(
            views,
            params.id,
            lambda view, stated: (
                libraries[view.name].find(stated) or libraries[view.name].find_named(kind, stated)
            ),
        )
        return libraries[found.view.name if found else next(iter(libraries))], params


def _required_id(params: shapes.GetParams) -> str:
    if params.id is None:
        raise api.InputError(
            f"'id' is missing: for query_type '{params.query_type}' it is an id or a name"
        )
    return params.id


def _record(library: MusicLibrary, params: shapes.GetParams) -> shapes.GetResult:
    """Return an artist with albums and most played tracks, an album with its tracks, or a track
    with both.
    """
    record = library.get(params.query_type, _required_id(params))
    shape = partial(shapes.entry_of, within=None if record.kind == TRACK else record)
    limit = (
        TOP_TRACKS
        if record.kind == ARTIST and "limit" not in params.model_fields_set
        else params.limit
    )
    groups: dict[str, Any] = {
        shapes.GROUPS[kind]: shapes.RecordGroup.of(
            records, shape, offset=params.offset, limit=limit
        )
        for kind, records in library.lists_of(record).items()
    }
    return shapes.GetResult(
        query_type=params.query_type, item=shapes.plain_fields(record), **groups
    )


def _recent(library: MusicLibrary, params: shapes.GetParams) -> shapes.GetResult:
    """Return the newest records of each kind."""
    end = params.offset + params.limit
    groups: dict[str, Any] = {}
    for kind, group in shapes.GROUPS.items():
        keys = library.recent_keys(kind)
        shown = [shapes.entry_of(record) for record in library.fetch(keys[params.offset : end])]
        groups[group] = shapes.RecordGroup(items=shown, total=len(keys), has_more=end < len(keys))
    return shapes.GetResult(query_type="recent", **groups)


def _stats(library: MusicLibrary, params: shapes.GetParams) -> shapes.GetResult:
    """Return counts, total length, genres and years."""
    keys = library.keys(TRACK)
    years = library.reader.numbers("year", keys)
    known = years[~np.isnan(years)].astype(int)
    seconds = float(np.nansum(library.reader.numbers("seconds", keys))) if keys else 0.0
    genres: Counter[str] = Counter()
    for facet in library.reader.facets("genres", scope=library.scope(TRACK)):
        genres[facet.value] += facet.count  # whatever its category
    shown = genres.most_common()[params.offset : params.offset + params.limit]
    decades, counts = np.unique(known // 10 * 10, return_counts=True)
    return shapes.GetResult(
        query_type="stats",
        stats=shapes.Stats(
            artists=library.reader.count(library.scope(ARTIST)),
            albums=library.reader.count(library.scope(ALBUM)),
            tracks=len(keys),
            seconds=round(seconds, 1),
            genres=[shapes.GenreCount(genre=genre, tracks=count) for genre, count in shown],
            genres_total=len(genres),
            first_year=int(known.min()) if len(known) else None,
            last_year=int(known.max()) if len(known) else None,
            decades={
                f"{decade}s": count
                for decade, count in zip(decades.tolist(), counts.tolist(), strict=True)
            },
            tracks_without_year=len(keys) - len(known),
        ),
    )


def _similar(library: MusicLibrary, params: shapes.GetParams) -> shapes.GetResult:
    """Return the records most similar to an artist, album or track."""
    record = library.get_any(_required_id(params))
    page = shapes.RecordGroup.of(
        find_similar(library, record, limit=shapes.MOST),
        lambda found: shapes.entry_of(found[0], score=found[1]),
        offset=params.offset,
        limit=params.limit,
    )
    group: dict[str, Any] = {shapes.GROUPS[record.kind]: page}
    return shapes.GetResult(query_type="similar", item=shapes.identity(record), **group)


def tools(catalogues: Sequence[api.OpenCatalogue]) -> list[api.ToolSpec]:
    """Declare the tools over every music catalogue that is served."""
    layout = api.LayoutCatalogues(catalogues)
    music = MusicTools(layout)
    every = [
        api.catalogue_tool(
            name="catalog.search",
            run=music.search,
            searches=music.search_path,
            count_of=lambda result: shapes.sum_totals(result.artists, result.albums, result.tracks),
        ),
        api.catalogue_tool(
            name="catalog.get",
            run=music.get,
            count_of=lambda result: shapes.sum_totals(
                result.artists, result.albums, result.tracks, result.fixes
            ),
        ),
    ]
    return layout.declare(every)
