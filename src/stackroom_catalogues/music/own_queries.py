"""The caller's likes, playlists and plays, as `catalog.get` answers them over every music catalogue."""

from collections.abc import Mapping, Sequence
from typing import Any

from stackroom.api import NotFoundError, Principal, Record, RecordId
from stackroom_catalogues.music.grouping import KINDS
from stackroom_catalogues.music.library import MusicLibrary
from stackroom_catalogues.music.player.items import OwnStore, Playlist
from stackroom_catalogues.music.player.own import get_own
from stackroom_catalogues.music.shapes import (
    GROUPS,
    MOST,
    Entry,
    GetParams,
    GetResult,
    KeptPlaylist,
    PlaylistGroup,
    entry_of,
    page_of,
)

OWN_QUERIES = ("likes", "playlists", "plays")
IDS_NOTED = 5


def is_own(params: GetParams) -> bool:
    """Tell whether an answer depends on what the caller keeps."""
    return params.query_type in OWN_QUERIES or (params.query_type == "playlist" and params.id is not None)


class OwnQueries:
    """Answers queries about what one caller keeps."""

    def __init__(self, store: OwnStore, libraries: Mapping[str, MusicLibrary], *, has_labels: bool) -> None:
        self._store = store
        self._libraries = libraries
        self._has_labels = has_labels

    def answer(self, principal: Principal, params: GetParams) -> GetResult:
        """Answer a query."""
        answers = {"likes": self._likes, "playlists": self._playlists, "plays": self._plays, "playlist": self._playlist}
        return answers[params.query_type](principal.name, params)

    def _likes(self, user: str, params: GetParams) -> GetResult:
        """Return what the caller likes, of each kind the newest first."""
        likes, _ = self._store.list_likes(user)
        found = self._find([one.record_id for one in likes])
        groups: dict[str, Any] = {
            GROUPS[kind]: page_of(
                [found[one.record_id] for one in likes if one.record_id in found and one.kind == kind],
                offset=params.offset,
                limit=params.limit,
            )
            for kind in KINDS
        }
        return GetResult(query_type="likes", **groups, notes=_gone([one.record_id for one in likes], found))

    def _playlists(self, user: str, params: GetParams) -> GetResult:
        """Return the caller's playlists by name."""
        kept, total = self._store.list_playlists(user)
        end = params.offset + params.limit
        shown = [
            KeptPlaylist(id=one.id, name=one.name, tracks=len(one.tracks), updated_at=one.updated_at)
            for one in kept[params.offset : end]
        ]
        return GetResult(
            query_type="playlists", playlists=PlaylistGroup(items=shown, total=total, has_more=end < total)
        )

    def _playlist(self, user: str, params: GetParams) -> GetResult:
        """Return a playlist of the caller's with its tracks, in their order."""
        kept, _ = self._store.list_playlists(user)
        playlist: Playlist = get_own(kept, params.id or "")
        found = self._find(playlist.tracks)
        entries = [found[one] for one in playlist.tracks if one in found]
        limit = params.limit if "limit" in params.model_fields_set else MOST
        return GetResult(
            query_type="playlist",
            item={"id": playlist.id, "kind": "playlist", "name": playlist.name},
            tracks=page_of(entries, offset=params.offset, limit=limit),
            seconds=round(sum(one.seconds or 0.0 for one in entries), 1),
            notes=_gone(playlist.tracks, found),
        )

    def _plays(self, user: str, params: GetParams) -> GetResult:
        """Return the tracks that the caller played most; with an id, those of an artist or album."""
        within = self._tracks_of(params.id) if params.id else None
        counts = [one for one in self._store.list_plays(user) if within is None or one.track_id in within]
        found = self._find([one.track_id for one in counts])
        entries = [
            found[one.track_id].model_copy(update={"plays": one.plays}) for one in counts if one.track_id in found
        ]
        page = page_of(entries, offset=params.offset, limit=params.limit)
        return GetResult(query_type="plays", tracks=page, notes=_gone([one.track_id for one in counts], found))

    def _tracks_of(self, stated: str) -> set[str]:
        """Return the ids of the tracks of an artist or album, in the first catalogue that has it."""
        missing: NotFoundError | None = None
        for library in self._libraries.values():
            try:
                return {str(track.id) for track in library.tracks_of(library.get_any(stated))}
            except NotFoundError as error:
                missing = missing or error
        raise missing or NotFoundError(f"no artist, album or track '{stated[:200]}'")

    def _find(self, ids: Sequence[str]) -> dict[str, Entry]:
        """Return the records of ids that the caller may see, each from the first catalogue that has it."""
        found: dict[str, Entry] = {}
        for name, library in self._libraries.items():
            left = [RecordId(one) for one in dict.fromkeys(ids) if one not in found]
            keys = library.reader.find(left, scope=library.scope())
            for record in library.fetch(list(keys.values())):
                found[record.id] = self._entry(record, name)
        return found

    def _entry(self, record: Record, catalogue: str) -> Entry:
        return entry_of(record, catalogue=catalogue if self._has_labels else None)


def _gone(ids: Sequence[str], found: Mapping[str, Entry]) -> list[str]:
    """Return a note on the ids whose records no longer exist."""
    gone = [one for one in dict.fromkeys(ids) if one not in found]
    listed = ", ".join(gone[:IDS_NOTED]) + (" …" if len(gone) > IDS_NOTED else "")
    return [f"{len(gone)} no longer in the catalogue: {listed}"] if gone else []
