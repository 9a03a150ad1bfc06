"""The music tools, `catalog.search` and `catalog.get`. Names, parameters and defaults are a fixed
interface.

`catalog.get` also serves an agent that maintains a catalogue: similar records, gaps, playlists, and
corrections as arguments of `catalog.mutate`, for a user who may edit. Nothing here writes.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stackroom import api
from stackroom.api.shapes import plain_record
from stackroom_catalogues.music import search as searching
from stackroom_catalogues.music import shapes
from stackroom_catalogues.music.gaps import answer_fixes, answer_gaps
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, KINDS, TRACK
from stackroom_catalogues.music.library import MusicLibrary, find_similar
from stackroom_catalogues.music.playlist import make_playlist

TOP_TRACKS = 10  # albums and tracks of an artist that are listed unless a call says how many


def find(call: api.Call, params: shapes.SearchMusicParams) -> api.ResultSet:
    """Return what `catalog.search` finds, of all kinds that are asked for."""
    return _all_kinds(searching.find_kinds(call, params))


@api.operation(
    "catalog.search",
    finds=find,
    reads=True,
    count_of=lambda result: shapes.sum_totals(result.artists, result.albums, result.tracks),
)
def search(call: api.Call, params: shapes.SearchMusicParams) -> shapes.SearchMusicResult:
    """Search artists, albums and tracks by name and meaning."""
    found = searching.find_kinds(call, params)
    groups: dict[str, Any] = {
        shapes.GROUPS[kind]: _group(call, one, params) for kind, one in found.items()
    }
    whole = _all_kinds(found)
    return shapes.SearchMusicResult(
        **groups,
        **{**whole.told(), "mode": "fts_only" if whole.degraded else "hybrid"},
        degraded=whole.degraded,
        notes=[*searching.notes_of(found.values()), *whole.filter_notes],
        offset=params.offset,
    )


def _group(
    call: api.Call, found: api.ResultSet, params: shapes.SearchMusicParams
) -> shapes.RecordGroup:
    """Return a page of what was found of one kind."""
    end, total = min(params.offset + params.limit, shapes.MOST), found.total
    nearest = [] if total else searching.find_nearest(found, params)
    return shapes.RecordGroup(
        items=[_entry(call, hit) for hit in found.page(params.offset, end - params.offset)],
        nearest=[_entry(call, hit) for hit in nearest],
        total=total,
        has_more=end < min(total, shapes.MOST),
    )


def _entry(call: api.Call, hit: api.Hit) -> shapes.Entry:
    told = hit.told()
    del told["relevance"]
    return shapes.entry_of(hit.record, catalogue=call.label_of(hit.view.name), **told)


@api.operation(
    "catalog.get",
    reads=True,
    count_of=lambda result: shapes.sum_totals(
        result.artists, result.albums, result.tracks, result.fixes
    ),
)
def get(call: api.Call, params: shapes.GetParams) -> shapes.GetResult:
    """Music: a record, recent, similar, stats, gaps, fixes for catalog.mutate; make a
    playlist.
    """
    library, plain = _meant(api.Views.of(call), params)
    label = call.label_of(library.catalogue.name)
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
    return result.model_copy(update={"catalogue": label, "notes": notes, "offset": params.offset})


TOOLS = (search, get)


def _meant(views: api.Views, params: shapes.GetParams) -> tuple[MusicLibrary, shapes.GetParams]:
    """Return the catalogue that a call is about, and its arguments with the id as that
    catalogue has it.
    """
    libraries = {name: MusicLibrary(view, views.principal) for name, view in views.found.items()}
    if len(libraries) == 1 or params.id is None:
        only = views.require_one(f"query_type '{params.query_type}' is about one catalogue")
        return libraries[only.name], params
    name, _, rest = params.id.partition("/")
    if name in libraries and rest:
        return libraries[name], params.model_copy(update={"id": rest})
    kind = params.query_type if params.query_type in KINDS else None
    found = views.find_one(
        params.id,
        lambda view, stated: (
            libraries[view.name].find(stated) or libraries[view.name].find_named(kind, stated)
        ),
    )
    return libraries[found.view.name if found else next(iter(libraries))], params


def _all_kinds(found: Mapping[str, api.ResultSet]) -> api.ResultSet:
    some = list(found.values())
    return replace(some[0], parts=[part for one in some for part in one.parts])


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
        query_type=params.query_type, item=plain_record(record, library.view.spec), **groups
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
        lambda found: shapes.entry_of(found[0], score=round(found[1], 4)),
        offset=params.offset,
        limit=params.limit,
    )
    group: dict[str, Any] = {shapes.GROUPS[record.kind]: page}
    return shapes.GetResult(query_type="similar", item=shapes.identity(record), **group)
