"""The state of the collections of a place: what the last look at its tables found, in a file of the library.

Whoever looks at the tables writes it; health and `doctor` read it, without LanceDB.
"""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from stackroom.collection_settings import is_remote
from stackroom.library import replace_file
from stackroom.settings import Settings

STATE_FILE = "collections.json"
COPY_SERVED = "the copy in the library is served"


class SyncOutcome(StrEnum):
    """How the last look at a collection ended."""

    SYNCED = "synced"
    SKIPPED = "skipped"
    """It has no table, or one that cannot be taken in."""
    FAILED = "failed"
    """Its table could not be read."""
    OWN = "own"
    """The library has a catalogue of this name that is not from the table, and keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionState:
    """One collection: its table as it was last seen, and how the library's copy stands to it."""

    name: str
    outcome: SyncOutcome
    reason: str = ""
    """Why it is not synced, or a remark on the copy."""
    version: int | None = None
    rows: int | None = None
    synced_at: str | None = None
    """When the copy was last found to be that of the table."""

    @property
    def problem(self) -> str | None:
        """Why the collection is not as it should be; None if it is."""
        if self.outcome in (SyncOutcome.SYNCED, SyncOutcome.OWN):
            return None
        if self.outcome is SyncOutcome.SKIPPED and self.synced_at is None:
            return f"skipped: {self.reason}"
        seen = f" of {self.synced_at}" if self.synced_at else ""
        return f"not synced: {self.reason}; {COPY_SERVED}{seen}" if self.synced_at else f"not synced: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceState:
    """A place, when it was last looked at, why that failed, and its collections."""

    place: str
    looked_at: str = ""
    problem: str | None = None
    collections: tuple[CollectionState, ...] = ()

    def find(self, name: str) -> CollectionState | None:
        """Return the state of a collection."""
        return next((collection for collection in self.collections if collection.name == name), None)

    def problems(self) -> dict[str, str]:
        """Return the collections that are not as they should be, each with the reason."""
        return {
            collection.name: collection.problem for collection in self.collections if collection.problem is not None
        }


def find_place(settings: Settings) -> str | None:
    """Return the database that collections are synced from; None where none is set, and the default is not there."""
    collections = settings.collections
    place = resolve_place(collections.place)
    if collections.is_given or (not is_remote(place) and Path(place).is_dir()):
        return place
    return None


def resolve_place(place: str) -> str:
    """Return an address as it is, and a folder as an absolute path."""
    if "://" in place and not place.startswith("file://"):
        return place.rstrip("/")
    return os.path.abspath(os.path.expanduser(place.removeprefix("file://")))


def load_state(home: Path, place: str) -> PlaceState:
    """Return what the last look at a place found; an empty state where there was none, or its file is damaged."""
    try:
        known = TypeAdapter(PlaceState).validate_json((home / STATE_FILE).read_bytes())
    except (OSError, ValueError):
        return PlaceState(place=place)
    return known if known.place == place else PlaceState(place=place)


def save_state(home: Path, state: PlaceState) -> None:
    """Replace the file."""
    replace_file(home / STATE_FILE, orjson.dumps(asdict(state), option=orjson.OPT_INDENT_2))


def note_problem(home: Path, place: str, problem: str) -> PlaceState:
    """Record that a place could not be looked at; what is known of its collections stays."""
    state = replace(load_state(home, place), looked_at=stamp(), problem=problem)
    save_state(home, state)
    return state


def find_collection_problems(settings: Settings) -> Iterator[tuple[str | None, str]]:
    """Yield the collections with what is wrong with them; None stands for the place as a whole."""
    place = find_place(settings)
    if place is None:
        return
    state = load_state(settings.home, place)
    if state.problem is not None:
        copies = f"; {COPY_SERVED}" if any(collection.synced_at for collection in state.collections) else ""
        yield None, f"{state.problem}{copies}"
    yield from state.problems().items()


def stamp() -> str:
    """Return the present time as the file has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
