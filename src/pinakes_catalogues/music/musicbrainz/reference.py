"""The albums that an artist of the catalogue should have, according to MusicBrainz."""

import re
from collections.abc import Sequence
from functools import lru_cache

from pinakes.api import InputError, Record, Settings, UnavailableError, read_section
from pinakes_catalogues.music.downloads.settings import DownloadsSettings
from pinakes_catalogues.music.gaps import Reference, ReferenceAlbum
from pinakes_catalogues.music.musicbrainz.answers import ID
from pinakes_catalogues.music.musicbrainz.client import Discography, MusicBrainz

MBID = re.compile(ID[1:-1])
EVERYTHING = "all"
KINDS = {
    "live": "Live",
    "compilation": "Compilation",
    "compilations": "Compilation",
    "soundtrack": "Soundtrack",
    "soundtracks": "Soundtrack",
    "remix": "Remix",
    "demo": "Demo",
}
"""Kinds of albums that are left out unless they are asked for, by the words that ask for them."""


def fetch_reference(artist: Record, words: Sequence[str], settings: Settings | None) -> Reference:
    """Return the albums of an artist; words name further kinds to include, or the artist's id at MusicBrainz."""
    ids = [word for word in words if MBID.fullmatch(word)]
    kinds = [word.lower() for word in words if not MBID.fullmatch(word)]
    unknown = [kind for kind in kinds if kind != EVERYTHING and kind not in KINDS]
    if unknown:
        raise InputError(
            f"'reference': '{unknown[0][:80]}' is not a kind of album; after \"musicbrainz\" may follow "
            f"{EVERYTHING}, {', '.join(KINDS)}, or the artist's id there"
        )
    names = [str(artist.get("name")), *(artist.get("aliases") or ())]
    known_id = ids[0] if ids else _find_id(artist)
    found = _get_client(settings).get_discography(names, artist_id=known_id)
    return _reference_of(found, {KINDS[kind] for kind in kinds if kind in KINDS}, with_all=EVERYTHING in kinds)


def _find_id(artist: Record) -> str | None:
    """Return the id at MusicBrainz of an artist whose files were tagged with it."""
    found = MBID.search(str(artist.id))
    return found[0] if found else None


def _reference_of(found: Discography, kinds: set[str], *, with_all: bool) -> Reference:
    wanted = [one for one in found.albums if with_all or set(one.kinds) <= kinds]
    left_out = len(found.albums) - len(wanted)
    notes = [f"compared with {len(wanted)} albums that MusicBrainz has of {found.artist.label}"]
    if left_out:
        notes.append(
            f'{left_out} live albums, compilations and the like are left out: include them with "{EVERYTHING}"'
        )
    if found.total > len(found.albums):
        notes.append(f"only the first {len(found.albums)} of its {found.total} albums there were looked at")
    albums = tuple(ReferenceAlbum(name=one.title, year=one.year) for one in wanted)
    return Reference(albums=albums, notes=tuple(notes))


def _get_client(settings: Settings | None) -> MusicBrainz:
    section = read_section(settings, "downloads", DownloadsSettings) if settings else DownloadsSettings()
    if not section.musicbrainz_contact:
        raise UnavailableError(
            "MusicBrainz is not asked: its contact, an e-mail address or web page of whoever runs this server, is not "
            "set ('musicbrainz_contact' in [downloads]); or list the albums as 'reference'"
        )
    return _open(
        section.musicbrainz_url.rstrip("/"), section.musicbrainz_contact, settings is not None and settings.offline
    )


@lru_cache(maxsize=4)
def _open(url: str, contact: str, offline: bool) -> MusicBrainz:
    """Return the client of a server, one for the whole process, which keeps its pace."""
    return MusicBrainz(url=url, contact=contact, offline=offline)
