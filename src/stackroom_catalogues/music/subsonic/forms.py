"""What clients of the OpenSubsonic API send and read: how they log in, records as it has them, and
answers as XML and JSON. What a record does not have is left out.

A password is checked by the server's accounts, and an access token is an API key. Tokens made of a
password and a salt cannot be checked, since only hashes of secrets are stored: they are refused
with the code by which clients know that.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from xml.etree import ElementTree

import orjson

from stackroom import __version__, api
from stackroom.api import http
from stackroom_catalogues.music.grouping import ALBUM, ARTIST, TRACK
from stackroom_catalogues.music.player.endpoints import LyricsLine
from stackroom_catalogues.music.player.listening import ListedRecord, sorted_as

# the day of an album that does not say when it came, since clients insist on one
UNKNOWN_DAY = "1970-01-01"

VERSION = "1.16.1"  # the version of the Subsonic API that OpenSubsonic extends
NAMESPACE = "http://subsonic.org/restapi"
HEX_PREFIX = "enc:"
CODES: dict[type[api.ExpectedError], int] = {
    http.UnauthenticatedError: 40,
    api.ForbiddenError: 50,
    api.NotFoundError: 70,
}
OTHER_ERROR, MISSING_PARAMETER, NO_SALTED_TOKENS, SEVERAL_LOGINS, WRONG_KEY = 0, 10, 41, 43, 44

Form = dict[str, Any]


def record_form(record: ListedRecord, starred: Mapping[str, datetime]) -> Form:
    """Return a record in the form of its kind, with when its caller came to like it."""
    form = {ARTIST: _artist, ALBUM: _album, TRACK: _song}[record.kind](record)
    at = starred.get(record.id)
    form |= {"id": record.id, "starred": _moment(at) if at else None}
    return {name: value for name, value in form.items() if value not in (None, [])}


def letter_of(artist: ListedRecord) -> str:
    """Return the letter under which an artist is listed."""
    first = sorted_as(artist.name)[:1].upper()
    return first if first.isalpha() else "#"


def _artist(artist: ListedRecord) -> Form:
    return {"name": artist.name, "albumCount": artist.count or 0, "coverArt": _cover(artist)}


def _album(album: ListedRecord) -> Form:
    """Return an album, with what makes it a folder to older clients."""
    return {
        **_shared(album),
        "isDir": True,
        "name": album.name,
        "album": album.name,
        "parent": next((artist.id for artist in album.artists), None),
        "songCount": album.count or 0,
        "duration": round(album.seconds or 0),
        "created": f"{album.added or UNKNOWN_DAY}T00:00:00Z",
    }


def _song(song: ListedRecord) -> Form:
    album = song.album
    return {
        **_shared(song),
        "parent": album and album.id,
        "album": album and album.name,
        "albumId": album and album.id,
        "isDir": False,
        "isVideo": False,
        "type": "music",
        "mediaType": "song",
        "track": song.position,
        "discNumber": song.disc,
        "duration": None if song.seconds is None else round(song.seconds),
        "suffix": song.suffix,
        "contentType": http.MediaFile.type_of(f"song.{song.suffix}"),
        "created": f"{song.added}T00:00:00Z" if song.added else None,
    }


def playlist_form(playlist: Any, owner: str, lengths: Mapping[str, float]) -> Form:
    """Return a playlist without its songs, of which those count whose lengths are given; clients
    want both times.
    """
    changed = _moment(playlist.updated_at)
    songs = [lengths[track] for track in playlist.tracks if track in lengths]
    return {
        "id": playlist.id,
        "name": playlist.name,
        "owner": owner,
        "public": False,
        "songCount": len(songs),
        "duration": round(sum(songs)),
        "created": changed,
        "changed": changed,
    }


def lyrics_form(lines: Sequence[LyricsLine], song: ListedRecord) -> Form:
    """Return the lyrics of a song."""
    timed = [
        {"start": round(1000 * line.start_s), "value": line.text}
        for line in lines
        if line.start_s is not None
    ]
    plain = [{"value": line.text} for line in lines]
    names = {
        "displayArtist": ", ".join(artist.name for artist in song.artists),
        "displayTitle": song.name,
    }
    return {**names, "lang": "xxx", "synced": bool(timed), "line": timed or plain}


def _shared(record: ListedRecord) -> Form:
    """Return what albums and songs have alike."""
    names = ", ".join(artist.name for artist in record.artists) or None
    return {
        "title": record.name,
        "sortName": sorted_as(record.name),
        "artist": names,
        "displayArtist": names,
        "artistId": next((artist.id for artist in record.artists), None),
        "artists": [{"id": artist.id, "name": artist.name} for artist in record.artists],
        "year": record.year,
        "genre": next(iter(record.genres), None),
        "genres": [{"name": genre} for genre in record.genres],
        "coverArt": _cover(record),
        "playCount": record.plays,
    }


def _cover(record: ListedRecord) -> str | None:
    """Return the id of a record's cover: a song has its album's, so that it is fetched once."""
    if record.image is None:
        return None
    return record.album.id if record.album else record.id


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class LoginFormError(http.UnauthenticatedError):
    """A login in a form that is not taken, with the code of the API."""

    def __init__(self, message: str, *, subsonic_code: int) -> None:
        super().__init__(message)
        self.subsonic_code = subsonic_code


def find_login(parameters: Mapping[str, str]) -> http.GivenLogin:
    """Return the API key, or the user's name with a password or token."""
    key, user, password = parameters.get("apiKey"), parameters.get("u", ""), parameters.get("p")
    if key is not None:
        if user or password is not None or "t" in parameters:
            raise LoginFormError(
                "give 'apiKey' alone, without 'u', 'p' and 't'", subsonic_code=SEVERAL_LOGINS
            )
        return http.GivenLogin(secret=key)
    if "t" in parameters:
        raise LoginFormError(
            "salted tokens cannot be checked here, since passwords are stored as hashes only: have"
            " the player send an API key or the password",
            subsonic_code=NO_SALTED_TOKENS,
        )
    if not user or password is None:
        raise api.InputError(f"'{'p' if user else 'u'}' is missing: give 'u' and 'p', or 'apiKey'")
    return http.GivenLogin(user=user, secret=_decoded(password))


def _decoded(password: str) -> str:
    if not password.startswith(HEX_PREFIX):
        return password
    try:
        return bytes.fromhex(password.removeprefix(HEX_PREFIX)).decode()
    except ValueError as error:
        raise api.InputError("'p' is not hexadecimal UTF-8 after 'enc:'") from error


def render(content: Mapping[str, object], form: str, *, status: str = "ok") -> http.TextReply:
    """Return an answer as XML or JSON."""
    about = {"type": "stackroom", "serverVersion": __version__, "openSubsonic": True}
    answer = {"status": status, "version": VERSION, **about, **content}
    if form == "json":
        document = {"subsonic-response": answer}
        return http.TextReply(text=orjson.dumps(document).decode(), media_type="application/json")
    root = _element("subsonic-response", {"xmlns": NAMESPACE, **answer})
    text = ElementTree.tostring(root, encoding="unicode", xml_declaration=True)
    return http.TextReply(text=text, media_type="text/xml")


def _element(name: str, content: object) -> ElementTree.Element:
    """Return a value as XML: fields are attributes, `value` is the text, and what has parts is
    within.
    """
    element = ElementTree.Element(name)
    fields = content if isinstance(content, Mapping) else {"value": content}
    for key, value in fields.items():
        if key == "value":
            element.text = _text(value)
        elif isinstance(value, list):
            element.extend(_element(key, one) for one in value)
        elif isinstance(value, Mapping):
            element.append(_element(key, value))
        else:
            element.set(key, _text(value))
    return element


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def reply_error(error: api.ExpectedError, parameters: Mapping[str, str]) -> http.TextReply:
    """Return an error with its code."""
    content = {"error": {"code": _code_of(error, parameters), "message": error.message}}
    return render(content, parameters.get("f", "xml"), status="failed")


def _code_of(error: api.ExpectedError, parameters: Mapping[str, str]) -> int:
    if isinstance(error, LoginFormError):
        return error.subsonic_code
    if isinstance(error, http.UnauthenticatedError) and "apiKey" in parameters:
        return WRONG_KEY
    if isinstance(error, api.InputError) and "' is missing" in error.message:
        return MISSING_PARAMETER
    return next((code for kind, code in CODES.items() if isinstance(error, kind)), OTHER_ERROR)


PROTOCOL = http.ClientProtocol(suffix=".view", find_login=find_login, reply_error=reply_error)
