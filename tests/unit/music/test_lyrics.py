"""Lyrics in the tags of files: plain, and with the times of lines."""

from typing import Any

import mutagen
import pytest
from mutagen import id3

from stackroom_catalogues.music.player.endpoints import LyricsLine, parse_lyrics
from stackroom_catalogues.music.tags import read_lyrics

pytestmark = pytest.mark.row("Z17")


def test_lyrics_are_read_from_the_tags_of_every_format(audio: Any) -> None:
    for ending in ("flac", "ogg"):
        assert read_lyrics(audio.add(f"a.{ending}", title="A", lyrics="One\nTwo")) == "One\nTwo"
    path = audio.add("a.mp3", title="A")
    tags = mutagen.File(path)
    tags.tags.add(id3.USLT(encoding=3, lang="eng", desc="", text="One\nTwo"))
    tags.save()
    assert read_lyrics(path) == "One\nTwo"
    tags.tags.add(
        id3.SYLT(encoding=3, lang="eng", format=2, type=1, text=[("One", 1500), ("Two", 61_250)])
    )
    tags.save()
    times = [(line.start_s, line.text) for line in parse_lyrics(read_lyrics(path))]
    assert times == [(pytest.approx(1.5, abs=0.01), "One"), (pytest.approx(61.25, abs=0.01), "Two")]
    assert read_lyrics(audio.add("b.mp3", title="B")) == ""


def test_lines_with_times_come_in_their_order_and_notes_of_the_file_are_left_out() -> None:
    text = "[ar:Somebody]\n[00:12.50][01:02.00]Chorus\n[00:01.00] First\n[00:30]\n"
    lines = [(line.start_s, line.text) for line in parse_lyrics(text)]
    assert lines == [(1.0, "First"), (12.5, "Chorus"), (30.0, ""), (62.0, "Chorus")]
    assert parse_lyrics("One\n\nTwo") == [
        LyricsLine(start_s=None, text=text) for text in ("One", "", "Two")
    ]
    assert parse_lyrics(" \n") == []
