"""Names as callers write them: another case or other separators mean the same name, where only one is like it."""

import re
from collections.abc import Iterable


def letters_of(name: str) -> str:
    """Return a name without case, blanks, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def meant(name: str, known: Iterable[str]) -> str:
    """Return the known name that is meant; the name itself where none is, or where several could be."""
    names = list(known)
    if name in names:
        return name
    alike = [one for one in names if letters_of(one) == letters_of(name)]
    return alike[0] if len(alike) == 1 else name
