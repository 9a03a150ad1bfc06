"""The state of the collections of a place: what the last look at its tables found, in a file of the
library.

A task beside a server looks at its start, and whenever the version of a table has moved: in a
process of its own, since LanceDB takes seconds to load and may hang or crash. One server of a
library syncs at a time.
"""

import logging
import os
from collections.abc import Hashable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import orjson
from pydantic import TypeAdapter

from stackroom.background.background import FileLease, Task, TaskContext
from stackroom.background.processes import LibraryCommand, describe_end
from stackroom.errors import StorageError, UnavailableError
from stackroom.frozen import frozen
from stackroom.library import replace_file
from stackroom.settings import Settings, is_remote

STATE_FILE = "collections.json"
COPY_SERVED = "the copy in the library is served"


class SyncOutcome(StrEnum):
    """How the last look at a collection ended."""

    SYNCED = "synced"
    SKIPPED = "skipped"  # it has no table, or one that cannot be taken in
    FAILED = "failed"  # its table could not be read
    OWN = "own"  # the library has a catalogue of this name that is not from the table, and keeps it


@frozen
class CollectionState:
    """One collection: its table as it was last seen, and how the library's copy stands to it."""

    name: str
    outcome: SyncOutcome
    reason: str = ""  # why it is not synced, or a remark on the copy
    version: int | None = None
    rows: int | None = None
    synced_at: str | None = None  # when the copy was last found to be that of the table

    @property
    def problem(self) -> str | None:
        """Why the collection is not as it should be; None if it is."""
        if self.outcome in (SyncOutcome.SYNCED, SyncOutcome.OWN):
            return None
        if self.outcome is SyncOutcome.SKIPPED and self.synced_at is None:
            return f"skipped: {self.reason}"
        served = f"; {COPY_SERVED} of {self.synced_at}" if self.synced_at else ""
        return f"not synced: {self.reason}{served}"


@frozen
class PlaceState:
    """A place, when it was last looked at, why that failed, and its collections."""

    place: str
    looked_at: str = ""
    problem: str | None = None
    collections: tuple[CollectionState, ...] = ()

    def find(self, name: str) -> CollectionState | None:
        """Return the state of a collection."""
        return next(
            (collection for collection in self.collections if collection.name == name), None
        )

    def problems(self) -> dict[str, str]:
        """Return the collections that are not as they should be, each with the reason."""
        return {one.name: one.problem for one in self.collections if one.problem is not None}


def find_place(settings: Settings) -> str | None:
    """Return the database that collections are synced from; None where none is set, and the default
    is not there.
    """
    collections = settings.collections
    place = resolve_place(collections.place)
    return (
        place if collections.is_given or (not is_remote(place) and Path(place).is_dir()) else None
    )


def resolve_place(place: str) -> str:
    """Return an address as it is, and a folder as an absolute path."""
    if "://" in place and not place.startswith("file://"):
        return place.rstrip("/")
    return os.path.abspath(os.path.expanduser(place.removeprefix("file://")))


def load_state(home: Path, place: str) -> PlaceState:
    """Return what the last look at a place found; an empty state where there was none, or its file
    is damaged.
    """
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
    if (place := find_place(settings)) is None:
        return
    state = load_state(settings.home, place)
    if state.problem is not None:
        copies = (
            f"; {COPY_SERVED}"
            if any(collection.synced_at for collection in state.collections)
            else ""
        )
        yield None, f"{state.problem}{copies}"
    yield from state.problems().items()


def stamp() -> str:
    """Return the present time as the file has it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


logger = logging.getLogger(__name__)

NAME = "sync collections"
FIRST_S = 1.0
RETRY_S = 5.0
JITTER = 0.25
# how often the files of a database on this machine are looked at, which costs next to nothing
FOLDER_LOOK_S = 2.0
LONGEST_SYNC_S = 3_600.0  # a process that takes longer is ended; what it has written is whole
LEASE_FILE = "collections.task.lock"


def sync_tasks(settings: Settings) -> list[Task]:
    """Return the task, unless there is no place to sync from, or it must not be asked."""
    if (place := find_place(settings)) is None:
        return []
    if settings.offline and is_remote(place):
        logger.warning("%s is not looked at offline; the copies in the library are served", place)
        return []
    look_s = settings.collections.refresh_s if is_remote(place) else FOLDER_LOOK_S
    return [
        Task(
            name=NAME,
            description=f"Brings the library up to the collections in {place}.",
            run=_Sync(settings.home, place).run,
            first_s=FIRST_S,
            period_s=look_s if settings.collections.refresh_s else None,
            jitter=JITTER,
            retry_s=RETRY_S,
            lease=FileLease(settings.home / LEASE_FILE),
        )
    ]


class _Sync:
    """The syncs of one library from one place."""

    def __init__(self, home: Path, place: str) -> None:
        self._home = home
        self._place = place
        self._synced: Hashable = None
        """What the place looked like before the last sync that succeeded."""
        self._told = ""

    def run(self, context: TaskContext) -> str:
        """Sync where the place has changed; a failure is raised, so that it is tried again."""
        if (seen := _stamp_of(self._place)) is not None and seen == self._synced:
            return self._told
        before = load_state(self._home, self._place)
        code = run_sync(self._home, self._place, context)
        context.check_stopped()
        state = load_state(self._home, self._place)
        # recorded, unless another process holds the right to sync
        is_refused = code == StorageError.exit_code
        if code != 0 and not is_refused and state == before:  # it ended before it could record why
            state = self._note(
                f"the process that syncs it ended {describe_end(code)}; to see why: stackroom sync"
            )
        told = "; ".join(
            f"collection '{name}': {problem}" for name, problem in state.problems().items()
        )
        if state.problem is not None or any(
            collection.outcome == "failed" for collection in state.collections
        ):
            raise StorageError("; ".join(reason for reason in (state.problem, told) if reason))
        if is_refused:
            raise UnavailableError(
                "another process is syncing the collections of this library; try again later"
            )
        if told and told != self._told:
            logger.warning("%s", told)
        self._told, self._synced = told, seen
        return told

    def _note(self, problem: str) -> PlaceState:
        """Record why a place could not be looked at, where the library can be written to."""
        try:
            return note_problem(self._home, self._place, problem)
        except OSError as error:
            problem = f"{problem}; the library cannot be written to: {error.strerror}"
            return PlaceState(place=self._place, problem=problem)


def run_sync(home: Path, place: str, context: TaskContext) -> int:
    """Run `stackroom sync` in a process of its own, and return its exit code; negative: the signal
    that ended it.
    """
    process = LibraryCommand("the process that syncs collections", home, "sync", place)
    process.finish(longest_s=LONGEST_SYNC_S, checkpoint=context.check_stopped)
    return process.exit_code or 0


def _stamp_of(place: str) -> Hashable:
    """Return a token of a database on this machine that differs when a version of a table was
    written.
    """
    if is_remote(place):
        return None
    try:
        tables = sorted(path for path in Path(place).iterdir() if path.suffix == ".lance")
        return tuple((table.name, (table / "_versions").stat().st_mtime_ns) for table in tables)
    except OSError:
        return "gone"
