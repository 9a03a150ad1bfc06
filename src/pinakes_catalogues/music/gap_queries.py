"""Gaps and corrections, as `catalog.get` answers them: with the arguments of `catalog.mutate` that mend them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pinakes.api import InputError, Record, RecordId, deferred, fold_name
from pinakes_catalogues.music.fixes import Fix, propose_fixes
from pinakes_catalogues.music.gaps import Found, Gap, Reference, ReferenceAlbum, find_gaps
from pinakes_catalogues.music.grouping import ALBUM, ARTIST, TRACK
from pinakes_catalogues.music.library import MusicLibrary
from pinakes_catalogues.music.shapes import (
    FixGroup,
    GapGroup,
    GapItem,
    GetParams,
    GetResult,
    ProposedFix,
    identity,
    plain_value,
)

MUSICBRAINZ = "musicbrainz"
"""The reference that stands for the albums that MusicBrainz has of an artist."""

fetch_reference = deferred("pinakes_catalogues.music.musicbrainz.reference:fetch_reference")


def is_asked_outside(params: GetParams) -> bool:
    """Tell whether a query asks another server, so that its answer is not of the catalogue alone."""
    return params.query_type == "gaps" and _is_musicbrainz(params.reference)


def answer_gaps(library: MusicLibrary, params: GetParams, *, naming: Mapping[str, str]) -> GetResult:
    """Return the gaps of the whole catalogue, or of an artist or album."""
    record = library.get_any(params.id) if params.id else None
    reference = _reference_for(library, params, record)
    tracks, albums = _under(library, record)
    further = _albums_with(library, tracks, albums) if reference else []
    gaps = find_gaps(tracks, albums, reference=reference, further=further)
    return GetResult(
        query_type="gaps",
        item=identity(record) if record else None,
        gaps=[_gap_group(gap, params, record, naming) for gap in gaps if gap.found],
        notes=list(reference.notes) if reference else [],
    )


def _is_musicbrainz(reference: Sequence[str] | None) -> bool:
    return bool(reference) and fold_name(reference[0]) == MUSICBRAINZ if reference else False


def _reference_for(library: MusicLibrary, params: GetParams, record: Record | None) -> Reference | None:
    """Return the albums that an artist should have: those of the call, or those of MusicBrainz."""
    if params.reference is None:
        return None
    if record is None or record.kind != ARTIST:
        raise InputError("'reference' lists the albums of an artist: give the artist as 'id'")
    if not _is_musicbrainz(params.reference):
        return Reference(albums=tuple(ReferenceAlbum(name=name) for name in params.reference))
    fetched: Reference = fetch_reference(record, params.reference[1:], library.catalogue.settings)
    return fetched


def _albums_with(library: MusicLibrary, tracks: Sequence[Record], albums: Sequence[Record]) -> list[Record]:
    """Return the albums of others that these tracks are on, such as compilations."""
    own = {album.id for album in albums}
    ids = dict.fromkeys(str(track.get("album_id")) for track in tracks if track.get("album_id"))
    keys = library.reader.find([RecordId(one) for one in ids if one not in own], scope=library.scope(ALBUM))
    return library.fetch(list(keys.values()))


def _under(library: MusicLibrary, record: Record | None) -> tuple[list[Record], list[Record]]:
    """Return the tracks and albums that belong to a record; without one, all of them."""
    if record is None:
        return list(library.iter_records(TRACK)), list(library.iter_records(ALBUM))
    if record.kind == ARTIST:
        albums = library.albums_of(record)
        on_albums = [track for album in albums for track in library.tracks_of(album)]
        return list({track.id: track for track in [*on_albums, *library.tracks_of(record)]}.values()), albums
    return library.tracks_of(record), [record] if record.kind == ALBUM else []


def _gap_group(gap: Gap, params: GetParams, record: Record | None, naming: Mapping[str, str]) -> GapGroup:
    end = params.offset + params.limit
    items = [_gap_item(found, record, naming) for found in gap.found[params.offset : end]]
    return GapGroup(gap=gap.name, total=len(gap.found), has_more=end < len(gap.found), items=items)


def _gap_item(found: Found, record: Record | None, naming: Mapping[str, str]) -> GapItem:
    if not found.records:
        return GapItem(**found.said, request=_creation(found.said, record, naming))
    first = found.records[0]
    is_several = len(found.records) > 1
    return GapItem(
        name=str(first.get("name")),
        id=None if is_several else first.id,
        artists=list(first.get("artists") or ()),
        album=None if is_several else first.get("album"),
        ids=[record.id for record in found.records] if is_several else None,
        **found.said,
    )


def _creation(said: Mapping[str, Any], artist: Record | None, naming: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of `catalog.mutate` that enter a missing album of an artist."""
    by = {"artist_ids": [artist.id]} if artist else {}
    return {"action": "create", **naming, "kind": ALBUM, "fields": {**said, **by}}


def answer_fixes(library: MusicLibrary, params: GetParams, *, naming: Mapping[str, str]) -> GetResult:
    """Return corrections inferred from related records, as arguments of `catalog.mutate`."""
    record = library.get_any(params.id) if params.id else None
    every_track, every_album = _under(library, None)
    wanted: Iterable[Record]
    if record is None:
        wanted = [*library.iter_records(ARTIST), *every_album, *every_track]
    else:
        tracks, albums = _under(library, record)
        wanted = {one.id: one for one in [record, *albums, *tracks]}.values()
    fixes = list(propose_fixes(wanted, albums=every_album, tracks=every_track))
    end = params.offset + params.limit
    return GetResult(
        query_type="fixes",
        fixes=FixGroup(
            items=[_proposed(fix, naming) for fix in fixes[params.offset : end]],
            total=len(fixes),
            has_more=end < len(fixes),
        ),
    )


def _proposed(fix: Fix, naming: Mapping[str, str]) -> ProposedFix:
    record = fix.record
    return ProposedFix(
        request={
            "action": "update",
            **naming,
            "id": record.id,
            "fields": {field: plain_value(value) for field, value in fix.fields.items()},
        },
        replaces={field: plain_value(record.get(field)) for field in fix.fields},
        reasons=list(fix.reasons),
    )
