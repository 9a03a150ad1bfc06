"""Audio files for tests."""

import io
import wave
from typing import Any

from mutagen import id3
from mutagen.wave import WAVE

SILENCE = bytes(16_000)
"""A second of it."""


def tagged_wav(*, title: str, album: str, artist: str, frames: bytes = SILENCE) -> bytes:
    """Return a WAV file with tags."""
    sound = io.BytesIO()
    with wave.open(sound, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(frames)
    open_tags: Any = WAVE
    tagged = open_tags(sound)
    tagged.add_tags()
    for frame, text in ((id3.TIT2, title), (id3.TALB, album), (id3.TPE1, artist)):
        tagged.tags.add(frame(text=text))
    sound.seek(0)
    tagged.save(sound)
    return sound.getvalue()
