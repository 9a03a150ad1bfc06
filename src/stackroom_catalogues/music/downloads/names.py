"""Names of artists, albums and files: validation, and conversion to safe path components."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from stackroom.api import InputError
from stackroom_catalogues.music.audio.files import AUDIO_ENDINGS

LONGEST_NAME = 200
LONGEST_COMPONENT_BYTES = 120
"""Short enough for every filesystem, with room for '.part.json.new' and ' (99)'."""
AUDIO_SUFFIXES = frozenset(AUDIO_ENDINGS)
TAKEN_SUFFIXES = AUDIO_SUFFIXES | {".jpg", ".jpeg", ".png", ".webp"}
"""Endings of files that are fetched: audio and pictures."""
RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
UNSAFE = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f]')
NAMELESS = "Unknown"


def require_words(text: str, *, field: str) -> str:
    """Return a name in normal form; refuse an empty or too long one, and control characters."""
    words = unicodedata.normalize("NFC", " ".join(text.split()))
    if not words or len(words) > LONGEST_NAME:
        raise InputError(f"'{field}' must have 1 to {LONGEST_NAME} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in words):
        raise InputError(f"'{field}' has control characters or lone surrogates; leave them out")
    return words


def component(words: str) -> str:
    """Return a name as one path component: never empty, hidden, reserved, or a parent folder."""
    safe = UNSAFE.sub("_", unicodedata.normalize("NFC", words))
    printable = "".join(character for character in safe if unicodedata.category(character) not in ("Cc", "Cf", "Cs"))
    short = printable.strip(" .").encode()[:LONGEST_COMPONENT_BYTES].decode(errors="ignore").strip(" .")
    return f"_{short}" if RESERVED.match(short) else short or NAMELESS


def suffix_of(name: str) -> str | None:
    """Return the ending of a file's name; None for one that is not accepted."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in TAKEN_SUFFIXES else None


def last_component(url: str) -> str:
    """Return the decoded file name of a URL."""
    return unquote(PurePosixPath(urlsplit(url).path).name, errors="replace")


def file_component(stem: str, suffix: str) -> str:
    """Return the name of a file as one path component."""
    return f"{component(stem)}{suffix}"


def iter_variants(name: str) -> Iterator[str]:
    """Yield a file's name and the alternatives where it is taken: 'a.mp3', 'a (2).mp3' and so on."""
    yield name
    path = PurePosixPath(name)
    for number in range(2, 100):
        yield f"{path.stem} ({number}){path.suffix}"
