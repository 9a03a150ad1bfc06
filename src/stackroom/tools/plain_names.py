"""Tool names for clients that allow letters, digits, `_` and `-` only: `catalog.mutate` is also `catalog_mutate`."""

import re
from collections.abc import Iterable, Mapping

PLAIN = re.compile(r"[A-Za-z0-9_-]+")
OTHER = re.compile(r"[^A-Za-z0-9_-]")


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """Return the plain name of each tool. No two are the same, and a tool's own name is never given to another."""
    ordered = sorted(names)
    found = {name: name for name in ordered if PLAIN.fullmatch(name)}
    taken = set(found)
    for name in ordered:
        if name not in found:
            found[name] = _free(OTHER.sub("_", name), taken)
            taken.add(found[name])
    return found


def _free(name: str, taken: set[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def with_plain_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which every tool is named by its plain name."""
    for name in sorted(names, key=len, reverse=True):
        if name != names[name]:
            text = text.replace(name, names[name])
    return text
