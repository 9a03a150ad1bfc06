"""The order of versions: numbers by their value, and what is marked as a preliminary version before the version itself.

`2026.11.9` comes before `2026.11.16`, and `1.2.0-rc1` before `1.2.0`. A `+` begins the description of a build, which
decides nothing.
"""

import re

PART = re.compile(r"\d+|[a-z]+")
PRELIMINARY = frozenset({"a", "alpha", "b", "beta", "c", "rc", "pre", "preview", "dev"})
END = (1, 0, "")
CONTENT_LETTERS = 12
"""`SHORT` of the manifest, which is slow to import: how many letters of a content are a version."""

PartKey = tuple[int, int, str]
VersionKey = tuple[tuple[int, ...], tuple[PartKey, ...]]


def version_key(version: str) -> VersionKey:
    """Return a key by which versions are compared: the numbers that it begins with, and the rest."""
    parts = PART.findall(version.lower().removeprefix("v").partition("+")[0])
    count = next((place for place, part in enumerate(parts) if not part.isdigit()), len(parts))
    numbers = [int(part) for part in parts[:count]]
    while numbers and numbers[-1] == 0:  # 1.0 is 1
        numbers.pop()
    return tuple(numbers), (*map(_part_key, parts[count:]), END)


def _part_key(part: str) -> PartKey:
    if part.isdigit():
        return (2, int(part), "")
    return (0 if part in PRELIMINARY else 1, 1, part)


def is_older(version: str, than: str) -> bool:
    """Tell whether a version comes before another."""
    return version_key(version) < version_key(than)


def has_place(version: str, content: str) -> bool:
    """Tell whether a version has a place among others: one that was made of the content has none."""
    return version != content[:CONTENT_LETTERS]
