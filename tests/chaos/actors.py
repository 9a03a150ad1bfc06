"""The actors of a chaos run: each calls the servers in a thread of its own, and remembers what was
acknowledged.
"""

import random
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from chaos.albums import album_names
from chaos.client import UNKNOWN, Answer, Caller
from chaos.record import Record

State = str | None
"""The text of a record, or None where there is no such record."""
JOBS = (
    "backup",
    "verify_indexes",
    "rebuild_indexes",
    "integrity_check",
    "refresh_sources",
    "recalibrate_labels",
)
GONE = ("not_found",)
NO_ANSWER = ("Nothing here answers this", "No record has all these words")
"""The note of an answer that is right, and has nothing but what is nearest."""
BEHIND = "another process is writing"
"""What an answer says that may lack the last edits, as while an index is replaced."""
NEW_QUESTIONS = 0.2
"""The part of the searches that ask something new, whose answer is not compared."""


class Actor(ABC):
    """Does one thing after another until it is told to stop."""

    pause_s = 0.05

    def __init__(self, caller: Caller, record: Record, seed: int) -> None:
        self.caller = caller
        self.record = record
        self.chance = random.Random(seed)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=caller.actor, daemon=True)

    @abstractmethod
    def act(self) -> None:
        """Do one thing."""

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after what is being done."""
        self._stopping.set()
        self._thread.join(120)
        if self._thread.is_alive():
            self.record.blame(f"{self.caller.actor}: a call has not ended after 120 s")
        self.caller.close()

    def _run(self) -> None:
        while not self._stopping.wait(self.pause_s * self.chance.random() * 2):
            try:
                self.act()
            # an actor that dies would make the run look better than it is
            except Exception as error:
                self.record.blame(
                    f"{self.caller.actor}: an answer in an unexpected form: {error!r}"
                )


@dataclass
class Entry:
    """A record of an editor: the states that it may have, and the last call that changed it."""

    states: set[State]
    call_id: str | None = None
    before: State = None
    shown: set[State] = field(default_factory=set)
    """Former states that may still be shown: the last change was acknowledged as not indexed
    yet.
    """


class Editor(Actor):
    """Creates, changes, deletes and undoes records of its own, and reads each back from any
    server.
    """

    pause_s = 0.1

    def __init__(self, caller: Caller, record: Record, seed: int) -> None:
        super().__init__(caller, record, seed)
        self.entries: dict[str, Entry] = {}
        self.acknowledged: list[str] = []
        """The call ids of acknowledged changes."""
        self._number = 0

    def act(self) -> None:
        """Make one change, and read a record."""
        sure = [one for one, entry in self.entries.items() if entry.states != {None}]
        if len(sure) < 5 or self.chance.random() < 0.1:
            self._create()
        else:
            self.chance.choice(
                (self._update, self._update, self._update, self._delete, self._undo)
            )(self.chance.choice(sure))
        if self.entries:
            self._read_back(self.chance.choice(list(self.entries)))

    def _create(self) -> None:
        self._number += 1
        name = f"{self.caller.actor} wrote {self._number}"
        about = self._new_text()
        fields = {"name": name, "about": about}
        answer = self.caller.call("catalog.mutate", action="create", kind="artist", fields=fields)
        if answer.is_ok:
            record_id = str(answer.value["changes"][0]["id"])
            self.entries[record_id] = Entry(
                {about}, shown={None} if _is_unindexed(answer) else set()
            )
            self._acknowledge(self.entries[record_id], answer, before=None)

    def _update(self, record_id: str) -> None:
        entry, about = self.entries[record_id], self._new_text()
        answer = self.caller.call(
            "catalog.mutate", action="update", id=record_id, fields={"about": about}
        )
        self._settle(entry, answer, about)

    def _delete(self, record_id: str) -> None:
        answer = self.caller.call("catalog.mutate", action="delete", id=record_id)
        self._settle(self.entries[record_id], answer, None)

    def _undo(self, record_id: str) -> None:
        entry = self.entries[record_id]
        if entry.call_id is not None and len(entry.states) == 1:
            answer = self.caller.call("catalog.mutate", action="undo", id=entry.call_id)
            self._settle(entry, answer, entry.before)

    def _settle(self, entry: Entry, answer: Answer, after: State) -> None:
        """Note the states that a record may have after a call: a refused call has changed
        nothing.
        """
        if answer.is_ok:
            before = next(iter(entry.states)) if len(entry.states) == 1 else None
            is_sure = len(entry.states) == 1
            entry.shown = entry.states | entry.shown if _is_unindexed(answer) else set()
            entry.states = {after}
            self._acknowledge(entry, answer, before=before if is_sure else None)
            if not is_sure:
                entry.call_id = None
        elif answer.outcome == UNKNOWN or (answer.outcome in GONE and None in entry.states):
            entry.states = entry.states | {after}
            entry.call_id = None

    def _acknowledge(self, entry: Entry, answer: Answer, *, before: State) -> None:
        entry.call_id, entry.before = answer.value["call_id"], before
        if entry.call_id is not None:
            self.acknowledged.append(entry.call_id)

    def _read_back(self, record_id: str) -> None:
        answer = self.caller.call("catalog.get", query_type="artist", id=record_id)
        seen = read_state(answer)
        expected = self.entries[record_id].states | self.entries[record_id].shown
        notes = answer.value.get("notes", ()) if answer.is_ok else ()
        if any(BEHIND in note for note in notes):
            self.record.count(self.caller.actor, "ok, with a note")
        elif seen is not UNREADABLE and seen not in expected:
            what = f"{record_id} is {seen!r} and should be one of {expected}; notes: {notes}"
            self.record.blame(f"{self.caller.actor}: {what}")

    def _new_text(self) -> str:
        return f"text {self.chance.getrandbits(48):012x}"


UNREADABLE = object()


def _is_unindexed(answer: Answer) -> bool:
    return any("once it can be indexed" in note for note in answer.value["notes"])


def read_state(answer: Answer) -> object:
    """Return the state of a record as an answer has it; UNREADABLE where the answer is an error."""
    if answer.is_ok:
        return answer.value["item"].get("about")
    return None if answer.outcome in GONE else UNREADABLE


@dataclass
class Damage:
    """The catalogues whose files were damaged and not checked since."""

    catalogues: set[str] = field(default_factory=set)


class Searcher(Actor):
    """Asks questions whose answers are known from the beginning."""

    def __init__(
        self,
        caller: Caller,
        record: Record,
        seed: int,
        *,
        expected: Mapping[tuple[str, str], Sequence[str]],
        damage: Damage,
    ) -> None:
        super().__init__(caller, record, seed)
        self._expected = expected
        self._damage = damage

    def act(self) -> None:
        """Ask one question, and compare."""
        catalogue, query = self.chance.choice(list(self._expected))
        if self.chance.random() < NEW_QUESTIONS:  # one that no cache knows
            self.caller.call(
                "search", catalogue=catalogue, query=f"{query} {self.chance.getrandbits(32):08x}"
            )
            return
        was_damaged = catalogue in self._damage.catalogues
        answer = self.caller.call("search", catalogue=catalogue, query=query)
        if not answer.is_ok:
            return
        found = found_ids(answer)
        excuses = [note for note in answer.value["notes"] if not note.startswith(NO_ANSWER)]
        if excuses:
            self.record.count(self.caller.actor, "ok, with a note")
            self.record.notes[str(excuses[0])] += 1
        elif found != self._expected[catalogue, query]:
            self._complain(catalogue, query, found, was_damaged=was_damaged)

    def _complain(
        self, catalogue: str, query: str, found: Sequence[str], *, was_damaged: bool
    ) -> None:
        if was_damaged or catalogue in self._damage.catalogues:
            self.record.before_check[catalogue] += 1
            return
        expected = self._expected[catalogue, query]
        self.record.blame(
            f"search {query!r} in {catalogue}: {found[:4]}… and not {list(expected[:4])}…, without"
            " a note"
        )


def found_ids(answer: Answer) -> list[str]:
    """Return the ids of a search's results."""
    return [str(one["id"]) for one in answer.value["results"]]


class Downloader(Actor):
    """Requests albums, each once or more often."""

    pause_s = 3.0

    def __init__(self, caller: Caller, record: Record, seed: int) -> None:
        super().__init__(caller, record, seed)
        self.acknowledged: set[str] = set()
        self._open: list[str] = list(album_names())

    def act(self) -> None:
        """Request the next album, until it is acknowledged."""
        if not self._open:
            return
        answer = self.caller.call("downloads.action", action="request", album=self._open[0])
        if answer.is_ok:
            self.acknowledged.add(self._open.pop(0))


class Keeper(Actor):
    """Adds users."""

    pause_s = 2.0

    def __init__(self, caller: Caller, record: Record, seed: int) -> None:
        super().__init__(caller, record, seed)
        self.acknowledged: list[str] = []
        self._number = 0

    def act(self) -> None:
        """Add a user."""
        self._number += 1
        name = f"guest-{self._number}"
        answer = self.caller.call("users.mutate", action="create", name=name)
        if answer.is_ok:
            self.acknowledged.append(name)


class JobStarter(Actor):
    """Triggers jobs."""

    pause_s = 10.0

    def act(self) -> None:
        """Trigger a job."""
        self.caller.call("jobs.action", action="trigger", job_id=self.chance.choice(JOBS))
