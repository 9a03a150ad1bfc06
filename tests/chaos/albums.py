"""The albums that a provider on loopback offers."""

import hashlib
import json
from collections.abc import Sequence
from urllib.parse import quote

from support.sounds import tagged_wav

ALBUMS = 40
TRACKS = 2


def album_names() -> Sequence[str]:
    """Return the names of the albums."""
    return [f"Storm {number:02}" for number in range(ALBUMS)]


def album_files(album: str) -> dict[str, bytes]:
    """Return the manifest and the tracks of an album, by path."""
    slug = album.lower().replace(" ", "-")
    tracks = {
        f"/{slug}-{number}.wav": track_bytes(album, number) for number in range(1, TRACKS + 1)
    }
    files = [
        {"url": path, "size": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        for path, body in tracks.items()
    ]
    manifest = {"artist": "The Weather", "album": album, "files": files}
    return {**tracks, f"/albums/{quote(album)}.json": json.dumps(manifest).encode()}


def track_bytes(album: str, number: int) -> bytes:
    """Return two seconds of a quiet tone as a tagged WAV file."""
    title = f"{album}, part {number}"
    return tagged_wav(
        title=title, album=album, artist="The Weather", frames=bytes(range(256)) * 125
    )
