"""Markdown and plain text, unchanged except for front matter."""

import re

from pinakes.sources.extract import Extracted
from pinakes.sources.text_encoding import decode

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_ENTRY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_COMMENT = re.compile(r"\s+#.*$")
_BLOCK = re.compile(r"[|>][-+\d]*")
"""Indicators of a value that follows on the next lines."""


def read_text(content: bytes) -> Extracted:
    """Return plain text."""
    return Extracted(text=decode(content))


def read_markdown(content: bytes) -> Extracted:
    """Return Markdown with front matter blanked out, so that every line keeps its number."""
    text = decode(content)
    front = _FRONT_MATTER.match(text)
    if front is None or not _is_front_matter(front[1] or ""):
        return Extracted(text=text)
    entries = _entries(front[1] or "")
    return Extracted(
        text="\n" * front[0].count("\n") + text[front.end() :],
        title=" ".join(entries.get("title", ())),
        tags=tuple(dict.fromkeys(tag for tag in entries.get("tags", ()) if tag)),
    )


def _is_front_matter(matter: str) -> bool:
    """Return whether the text between two rules is front matter: it begins with an entry or a comment, or is empty."""
    first = next((line for line in matter.split("\n") if line.strip()), "")
    return not first or first.startswith("#") or _ENTRY.match(first) is not None


def _entries(matter: str) -> dict[str, list[str]]:
    """Return the entries of simple YAML: scalars, bracketed lists and item lists; nested entries are left out."""
    entries: dict[str, list[str]] = {}
    values: list[str] = []
    for line in matter.split("\n"):
        if entry := _ENTRY.match(line):
            values = entries[entry[1].lower()] = _values(entry[2])
        elif item := _ITEM.match(line):
            values.append(_plain(item[1]))
    return entries


def _values(written: str) -> list[str]:
    written = written.strip()
    if written.startswith("[") and written.endswith("]"):
        return [_plain(one) for one in written[1:-1].split(",")]
    plain = _plain(written)
    return [plain] if plain and not _BLOCK.fullmatch(plain) else []


def _plain(written: str) -> str:
    """Return a scalar without its quotes, or without the comment after it."""
    written = written.strip()
    if len(written) > 1 and written[0] in "\"'" and written[-1] == written[0]:
        return written[1:-1].strip()
    return _COMMENT.sub("", written)
