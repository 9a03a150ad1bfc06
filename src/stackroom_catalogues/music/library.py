"""A music catalogue as one caller sees it: records by id or name, those that belong to them, and
similar ones.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from stackroom import api
from stackroom.api.ranking import Key, ShelfReader
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, KINDS, TRACK
from stackroom_catalogues.music.names import work_key

ID = re.compile(rf"({'|'.join(KINDS)})-\S+")
SCAN_KEYS = 5_000
WORDS_TRIED = 50
SUGGESTIONS = 3
EXACT = 1.0  # similarity of a name that is exactly the wanted one
LIKE = 0.5  # similarity from which a name is suggested


class MusicLibrary:
    """One snapshot of one catalogue for one caller, of it the records that meet the conditions."""

    def __init__(
        self,
        view: api.CatalogueView,
        principal: api.Principal,
        *,
        conditions: Sequence[api.Condition] = (),
    ) -> None:
        self.view = view
        self._conditions = tuple(conditions)
        self.catalogue = view.catalogue
        self.principal = principal
        self.notes: list[str] = []
        """What was taken for a name that is not exactly a record's, and what else it could be."""

    @property
    def reader(self) -> ShelfReader:
        """The snapshot, of what the caller may see."""
        return self.view.reader.seen_by(self.principal.visibility)

    def scope(self, kind: str | None = None, *conditions: api.Condition) -> api.Scope:
        """Return the scope of a kind, or of all kinds, that the caller may see."""
        of_kind = (api.AnyOf(api.KIND_FIELD, (kind,)),) if kind else ()
        return api.Scope(
            conditions=(*of_kind, *self._conditions, *conditions),
            visibility=self.principal.visibility,
        )

    def keys(self, kind: str, *conditions: api.Condition) -> list[Key]:
        """Return the keys of records, in insertion order."""
        scope = self.scope(kind, *conditions)
        return self.reader.scan(scope=scope, limit=self.reader.count(scope))

    def fetch(self, keys: Sequence[Key]) -> list[api.Record]:
        """Return the records of keys, in their order."""
        found = self.reader.fetch(keys, scope=self.scope())
        return [found[key] for key in keys if key in found]

    def fetch_ids(self, ids: Iterable[str]) -> list[api.Record]:
        """Return the records of ids that there are."""
        known = self.reader.find([api.RecordId(one) for one in ids], scope=self.scope())
        return self.fetch(list(known.values()))

    def iter_records(self, kind: str, *conditions: api.Condition) -> Iterator[api.Record]:
        """Yield records in insertion order."""
        keys = self.keys(kind, *conditions)
        for start in range(0, len(keys), SCAN_KEYS):
            yield from self.fetch(keys[start : start + SCAN_KEYS])

    def find(self, record_id: str) -> api.Record | None:
        """Return the record of an id, in any form in which tools show it."""
        return self.view.find_stated(record_id, scope=self.scope())

    def albums_of(self, artist: api.Record) -> list[api.Record]:
        """Return an artist's albums, the oldest first."""
        found = self.iter_records(ALBUM, api.AnyOf("artist_ids", (artist.id,)))
        return sorted(
            found, key=lambda album: (album.get("year") or 9999, str(album.get("name")), album.id)
        )

    def tracks_of(self, record: api.Record) -> list[api.Record]:
        """Return the tracks of an album in their order, or those of an artist, or a track
        itself.
        """
        if record.kind == TRACK:
            return [record]
        field = "album_id" if record.kind == ALBUM else "artist_ids"
        return sorted(self.iter_records(TRACK, api.AnyOf(field, (record.id,))), key=_place_on_album)

    def top_tracks_of(self, artist: api.Record) -> list[api.Record]:
        """Return the tracks of an artist, most played first, else the oldest first."""
        tracks = self.tracks_of(artist)
        return sorted(
            tracks, key=lambda track: (-(track.get("plays") or 0), track.get("year") or 9999)
        )

    def lists_of(self, record: api.Record) -> dict[str, list[api.Record]]:
        """Return the records around one by their kind: of an artist, an album or a track."""
        if record.kind == ARTIST:
            return {ALBUM: self.albums_of(record), TRACK: self.top_tracks_of(record)}
        if record.kind == ALBUM:
            return {TRACK: self.tracks_of(record)}
        ids = (*(record.get("artist_ids") or ()), record.get("album_id") or "")
        around = self.fetch_ids(ids)
        return {kind: [one for one in around if one.kind == kind] for kind in (ARTIST, ALBUM)}

    def recent_keys(self, kind: str, *conditions: api.Condition) -> list[Key]:
        """Return the keys of a kind, newest first.

        Where a record does not say when it was added, it was no earlier than those that came before
        it.
        """
        keys = np.array(self.keys(kind, *conditions), dtype=np.int64)
        days = self.reader.numbers("added", keys.tolist())
        latest = np.fmax.accumulate(np.where(np.isnan(days), -np.inf, days)) if len(days) else days
        order = np.lexsort((-keys, -np.where(np.isnan(days), latest, days)))
        return [Key(key) for key in keys[order].tolist()]

    def get(self, kind: str, wanted: str) -> api.Record:
        """Return a record by id or name; refuse an unknown or ambiguous one."""
        record = self.find(wanted) or self._named((kind,), wanted)
        if record.kind != kind:
            raise api.InputError(
                f"'{wanted[:200]}' is a record of kind {record.kind}, not {kind}; give query_type"
                f" '{record.kind}'"
            )
        return record

    def find_named(self, kind: str | None, wanted: str) -> api.Record | None:
        """Return the record of a name, of one kind or of any; None where there is none."""
        try:
            return self._named((kind,) if kind else KINDS, wanted)
        except api.NotFoundError:
            return None

    def get_any(self, wanted: str) -> api.Record:
        """Return a record of any kind by id or name; artists before albums before tracks."""
        return self.find(wanted) or self._named(KINDS, wanted)

    def _named(self, kinds: Sequence[str], wanted: str) -> api.Record:
        choices = [self.view.resolve(wanted, scope=self.scope(kind)) for kind in kinds]
        likeliest = max(choices, key=lambda choice: choice.likeness)
        record = likeliest.record
        if record is None or ID.fullmatch(wanted):
            raise api.NotFoundError(
                f"no {' or '.join(kinds)} '{wanted[:200]}'{self.hint(kinds, wanted)}"
            )
        if likeliest.likeness < EXACT:
            taken, *others = [
                f"'{one.get('name')}' ({one.id})"
                for one in (record, *(other.record for other in likeliest.others))
            ]
            hint = f"; it could also be {'; '.join(others)}" if others else ""
            self.notes.append(f"'{wanted[:100]}' was taken for {taken}{hint}")
            return record
        namesakes = [
            record,
            *(other.record for other in likeliest.others if other.likeness >= EXACT),
        ]
        if len(namesakes) > 1:
            listed = "; ".join(f"{one.id} ({described(one)})" for one in namesakes)
            raise api.InputError(
                f"'id': several are called '{wanted[:100]}'; give one of these ids: {listed}"
            )
        return record

    def iter_named_in(self, kind: str, sentence: str) -> Iterator[tuple[api.Record, str]]:
        """Yield the records whose whole name occurs in a sentence, with that name."""
        words = f" {api.fold_name(sentence)} "
        for record in self.view.with_words_of(sentence, scope=self.scope(kind), limit=WORDS_TRIED):
            for name in self.catalogue.spec.names_of(record):
                if api.fold_name(name) and f" {api.fold_name(name)} " in words:
                    yield record, name

    def hint(self, kinds: Sequence[str], wanted: str) -> str:
        """Return a hint with similar names; a wrong id is read as the name that it was made
        from.
        """
        kind, _, rest = wanted.partition("-")
        spelt = rest.replace("-", " ") if kind in KINDS and rest else wanted
        matches = [
            match
            for one in kinds
            for match in self.reader.titles_like(spelt, scope=self.scope(one), limit=SUGGESTIONS)
            if match.likeness >= LIKE
        ]
        best = sorted(matches, key=lambda match: (-match.likeness, match.key))[:SUGGESTIONS]
        names = [
            f"'{record.get('name')}' ({record.id})"
            for record in self.fetch([match.key for match in best])
        ]
        return (
            f"; did you mean {' or '.join(names)}?"
            if names
            else "; search for it with catalog.search"
        )


def _place_on_album(track: api.Record) -> tuple[object, ...]:
    place = (track.get("disc") or 0, track.get("position") or 9999)
    return str(track.get("album_id") or ""), *place, str(track.get("name")), track.id


def described(record: api.Record) -> str:
    """Return a short description that distinguishes a record from others of its name."""
    parts = [
        ", ".join(record.get("artists") or ()),
        str(record.get("album") or ""),
        str(record.get("year") or ""),
    ]
    return " – ".join(part for part in parts if part) or record.kind


SPARE = 4  # candidates for each wanted record, so that enough are left of different artists
# at every rank at most two of the tracks so far, or one in this many, are by the same artist
SAME_ARTIST_SHARE = 4


def find_similar(
    library: MusicLibrary, record: api.Record, *, limit: int
) -> list[tuple[api.Record, float]]:
    """Return the most similar records of the same kind, each with its similarity, 0–1."""
    scope = library.scope(record.kind)
    found = library.view.similar_to(record, scope=scope, limit=SPARE * limit)
    fit = [
        (one.record, one.score)
        for one in found
        if one.score > 0 and not _is_the_same(one.record, record)
    ]
    return _varied(fit, limit=limit) if record.kind == TRACK else fit[:limit]


def _is_the_same(one: api.Record, other: api.Record) -> bool:
    """Tell whether two records are the same, or recordings of the same work by the same artists."""
    by_same = set(one.get("artist_ids") or ()) == set(other.get("artist_ids") or ())
    is_same_work = by_same and work_key(str(one.get("name"))) == work_key(str(other.get("name")))
    return one.id == other.id or is_same_work


def _varied(
    found: Sequence[tuple[api.Record, float]], *, limit: int
) -> list[tuple[api.Record, float]]:
    """Return the best records with a bound on those by the same artist, where there are others."""
    counts: Counter[str] = Counter()
    waiting = list(found)
    kept: list[tuple[api.Record, float]] = []
    while waiting and len(kept) < limit:
        most = max(2, len(kept) // SAME_ARTIST_SHARE)
        fitting = (
            one for one in waiting if all(counts[artist] < most for artist in _artists_of(one[0]))
        )
        best = next(fitting, waiting[0])
        waiting.remove(best)
        counts.update(_artists_of(best[0]))
        kept.append(best)
    return kept


def _artists_of(record: api.Record) -> Iterable[str]:
    return record.get("artist_ids") or record.get("artists") or ()
