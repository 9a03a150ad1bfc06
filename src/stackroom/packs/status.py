"""The last check of the place of a catalogue: which release was the newest there, and when it was
asked.

    pack/latest.json    beside the installed release

Reading it takes no network, so that every command and `/health` can tell what a server or an update
has found out. Nothing slow is imported here: `places` has what asks a place.

Versions are ordered by their numbers, and what is marked as preliminary comes before the version
itself: `2026.11.9` before `2026.11.16`, `1.2.0-rc1` before `1.2.0`. A `+` begins the description of
a build, which decides nothing.
"""

import re
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import orjson

from stackroom.checksums import dump_checked, load_checked
from stackroom.frozen import frozen
from stackroom.library import PACK_FOLDER, Library, replace_file

LATEST_FILE = "latest.json"
INSTALLED_MANIFEST = "manifest.json"
MEMBERS = ("version", "content", "asked_at", "problem")
PART = re.compile(r"\d+|[a-z]+")
PRELIMINARY = frozenset(str.split("a alpha b beta c rc pre preview dev"))
END = (1, 0, "")

VersionKey = tuple[tuple[int, ...], tuple[tuple[int, int, str], ...]]


def version_key(version: str) -> VersionKey:
    """Return a key by which versions are compared: the numbers that it begins with, and the
    rest.
    """
    parts = PART.findall(version.lower().removeprefix("v").partition("+")[0])
    count = next((place for place, part in enumerate(parts) if not part.isdigit()), len(parts))
    numbers = [int(part) for part in parts[:count]]
    while numbers and numbers[-1] == 0:  # 1.0 is 1
        numbers.pop()
    rest = (
        (2, int(part), "") if part.isdigit() else (int(part not in PRELIMINARY), 1, part)
        for part in parts[count:]
    )
    return tuple(numbers), (*rest, END)


def is_older(version: str, than: str) -> bool:
    """Tell whether a version comes before another."""
    return version_key(version) < version_key(than)


@frozen
class ReleaseCheck:
    """One check of a place: its newest release, by version and content, or why it is not known."""

    asked_at: datetime
    version: str = ""
    content: str = ""
    problem: str = ""


@frozen
class NewerRelease:
    """A release of a catalogue that is newer than the installed one."""

    catalogue: str
    version: str
    installed: str

    def __str__(self) -> str:
        return (
            f"release {self.version} is available (installed: {self.installed}); to have it, "
            f"run: stackroom update {self.catalogue}"
        )


class ReleaseStatus:
    """The last checks of a library. Reading never fails: a file that cannot be read is one that is
    not there.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._unsaved: dict[str, ReleaseCheck] = {}
        """Checks of a library that cannot be written to."""

    def find_check(self, name: str) -> ReleaseCheck | None:
        """Return the last check of the place of a catalogue."""
        try:
            members = load_checked(
                (self._folder_of(name) / LATEST_FILE).read_bytes(), MEMBERS, is_required=True
            )
            asked_at = datetime.fromisoformat(str(members.pop("asked_at")))
            return ReleaseCheck(
                asked_at=asked_at, **{key: str(value) for key, value in members.items()}
            )
        except (OSError, ValueError, KeyError):
            return self._unsaved.get(name)

    def save_check(self, name: str, check: ReleaseCheck) -> None:
        """Keep a check, in the library if it can be written to; one that failed keeps what the one
        before found.
        """
        before = self.find_check(name)
        if check.problem and before is not None:
            check = replace(check, version=before.version, content=before.content)
        self._unsaved[name] = check
        with suppress(OSError):
            members = {**asdict(check), "asked_at": check.asked_at.isoformat()}
            replace_file(self._folder_of(name) / LATEST_FILE, dump_checked(members))
            del self._unsaved[name]

    def find_newer(self, name: str) -> NewerRelease | None:
        """Return the newer release that the last check found, unless it was installed since."""
        check = self.find_check(name)
        if check is None or not check.content:
            return None
        version, content = self._installed(name)
        if not content or check.content == content or not is_older(version, check.version):
            return None
        return NewerRelease(catalogue=name, version=check.version, installed=version)

    def installed_version(self, name: str) -> str | None:
        """Return the version of the installed release; None for a catalogue that was not installed
        from a place.
        """
        return self._installed(name)[0] or None

    def _installed(self, name: str) -> tuple[str, str]:
        """Return version and content of the installed release by its manifest; empty if there is
        none.
        """
        try:
            members = orjson.loads((self._folder_of(name) / INSTALLED_MANIFEST).read_bytes())
            return str(members["version"]), str(members["content"])
        except (OSError, ValueError, KeyError, TypeError):
            return "", ""

    def _folder_of(self, name: str) -> Path:
        return self._library.folder / name / PACK_FOLDER
