"""Names of artists, albums and files: as people write them, and as a filesystem takes them."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from pinakes.api import InputError

LONGEST_NAME = 200
LONGEST_COMPONENT_BYTES = 120
"""Short enough for every filesystem, with room for '.part.json.new' and ' (99)'."""
AUDIO_SUFFIXES = frozenset({".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".m4b", ".wav"})
TAKEN_SUFFIXES = AUDIO_SUFFIXES | {".jpg", ".jpeg", ".png", ".webp"}
"""The kinds of files that go into a music folder; nothing else is fetched."""
RESERVED = re.compile(r"(?i:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
UNSAFE = re.compile(r'[/\\:*?"<>|\x00-\x1f\x7f]')
NAMELESS = "Unknown"


def require_words(text: str, *, field: str) -> str:
    """Return a name as it is stored; refuse one that is empty, too long, or has characters that no name has."""
    words = unicodedata.normalize("NFC", " ".join(text.split()))
    if not words or len(words) > LONGEST_NAME:
        raise InputError(f"'{field}' must have 1 to {LONGEST_NAME} characters")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in words):
        raise InputError(f"'{field}' has characters that cannot be stored")
    return words


def component(words: str) -> str:
    """Return a name as one component of a path: never empty, hidden, reserved, or a way up."""
    safe = UNSAFE.sub("_", unicodedata.normalize("NFC", words))
    printable = "".join(character for character in safe if unicodedata.category(character) not in ("Cc", "Cf", "Cs"))
    short = printable.strip(" .").encode()[:LONGEST_COMPONENT_BYTES].decode(errors="ignore").strip(" .")
    return f"_{short}" if RESERVED.match(short) else short or NAMELESS


def suffix_of(name: str) -> str | None:
    """Return the ending of a file's name where it is of a kind that is taken."""
    suffix = PurePosixPath(name).suffix.lower()
    return suffix if suffix in TAKEN_SUFFIXES else None


def last_component(url: str) -> str:
    """Return the name of the file that an address leads to, as a person reads it."""
    return unquote(PurePosixPath(urlsplit(url).path).name, errors="replace")


def file_component(stem: str, suffix: str) -> str:
    """Return the name of a file as one component of a path."""
    return f"{component(stem)}{suffix}"


def iter_variants(name: str) -> Iterator[str]:
    """Yield a file's name, and what else it may be called where the name is taken: 'a.mp3', 'a (2).mp3' and so on."""
    yield name
    path = PurePosixPath(name)
    for number in range(2, 100):
        yield f"{path.stem} ({number}){path.suffix}"
