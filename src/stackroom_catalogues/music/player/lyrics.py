"""Lyrics of tracks, from the tags of their files: plain lines, or lines with times as in LRC."""

import re
from typing import Any

from stackroom.api import EndpointRequest, EndpointResult, MediaKind
from stackroom_catalogues.music.audio.tags import read_lyrics

TIME = re.compile(r"\[(\d{1,3}):(\d{2}(?:[.:]\d{1,3})?)\]")
NOTE = re.compile(r"\[[a-z]+:.*\]", re.IGNORECASE)
"""A line that says something of the file, as `[ar:Name]`."""


class LyricsLine(EndpointResult):
    """A line, and when it begins where that is known."""

    start_s: float | None
    text: str


class LyricsResult(EndpointResult):
    """The lyrics of a track; none where its file has none."""

    lines: list[LyricsLine]


def show_lyrics(request: EndpointRequest[None, None]) -> LyricsResult:
    """Return the lyrics of a track."""
    return LyricsResult(lines=find_lyrics(request, request.path["id"]))


def find_lyrics(request: EndpointRequest[Any, Any], track_id: str) -> list[LyricsLine]:
    """Return the lines in the tags of a track's file."""
    return parse_lyrics(read_lyrics(request.media.get_file(track_id, MediaKind.AUDIO).path))


def parse_lyrics(text: str) -> list[LyricsLine]:
    """Return the lines of a text; those with times in the order of these."""
    lines = [line.strip() for line in text.splitlines() if not NOTE.fullmatch(line.strip())]
    timed = [
        LyricsLine(start_s=60 * int(minutes) + float(seconds.replace(":", ".")), text=TIME.sub("", line).strip())
        for line in lines
        for minutes, seconds in TIME.findall(line)
    ]
    plain = [LyricsLine(start_s=None, text=line) for line in lines]
    return sorted(timed, key=lambda line: line.start_s or 0.0) if timed else plain if any(lines) else []
