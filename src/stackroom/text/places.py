"""Hiding places of the server in messages: callers need to know what is wrong, and not where it is on the disk.

The paths of this server's own interface (`/v1/…`) stay, and so do relative paths.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

_PART = r"[^\s/'\"`,;:()<>|\[\]{}]+"
_PATH = re.compile(rf"(?<![\w.:/~%-])/(?!v1/|health/|\.well-known/)(?:{_PART}/)+({_PART})?")
_ADDRESS = re.compile(r"(?: at)? [a-z]+(?:\+[a-z]+)?://[^\s'\"`,;()<>]*[^\s'\"`,;:()<>.]")


def hide_places(text: str) -> str:
    """Return a message with absolute paths cut to their last part, and without the addresses of other services."""
    return _ADDRESS.sub("", _PATH.sub(lambda found: found[1] or "a folder", text))


def hider_of(folders: Sequence[PurePath]) -> Callable[[str], str]:
    """Return `hide_places` with these folders known, whatever characters are in their names."""
    known = sorted({str(folder) for folder in folders}, key=len, reverse=True)

    def hide(text: str) -> str:
        for folder in known:
            text = text.replace(f"{folder}/", "").replace(folder, "the library")
        return hide_places(text)

    return hide
