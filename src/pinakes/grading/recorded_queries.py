"""Real queries as questions: searches in the audit after which the same caller soon read one record.

Only the words of a search and the id of the record read after it are used; who asked is not kept. Searches that no
reading followed are left out: nobody knows what would have answered them.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from pinakes.grading.questions import Question, QuestionKind
from pinakes.model.audit import AuditEntry, Outcome
from pinakes.model.record import RecordId
from pinakes.model.scope import WHOLE
from pinakes.search.ids import SCHEME, find_by_id
from pinakes.shelf.port import ShelfReader

SOON = timedelta(minutes=5)
QUERY = "query"
NAMED_BY = ("id", "uri")
"""The parameters by which a call names the one record that it reads."""
SEARCH_BEGINS = "search"
MOST_QUESTIONS = 300
LONGEST_QUERY = 300


def find_recorded_questions(entries: Iterable[AuditEntry], reader: ShelfReader, *, catalogue: str) -> list[Question]:
    """Return the searches of a catalogue that were followed by reading a record, each query once, the last ones."""
    answers: dict[str, dict[RecordId, None]] = {}
    for query, record_id in _followed(entries, reader, catalogue):
        answers.setdefault(query, {})[record_id] = None
    questions = [
        Question(kind=QuestionKind.RECORDED, query=query, expected=tuple(found)) for query, found in answers.items()
    ]
    return questions[-MOST_QUESTIONS:]


def _followed(entries: Iterable[AuditEntry], reader: ShelfReader, catalogue: str) -> Iterator[tuple[str, RecordId]]:
    """Yield each search with the record that its caller read next; entries are the oldest first."""
    last: dict[tuple[str, str], AuditEntry] = {}
    for entry in entries:
        if entry.outcome is not Outcome.OK:
            continue
        caller = entry.principal, entry.via
        query = entry.parameters.get(QUERY)
        if isinstance(query, str) and SEARCH_BEGINS in entry.target:
            last[caller] = entry
            continue
        found = _find_read(entry, reader, catalogue)
        search = last.get(caller)
        if found is None or search is None or entry.at - search.at > SOON:
            continue
        if search.parameters.get("catalogue") in (None, catalogue) and not search.parameters.get("filters"):
            yield " ".join(str(search.parameters[QUERY]).split())[:LONGEST_QUERY], found


def _find_read(entry: AuditEntry, reader: ShelfReader, catalogue: str) -> RecordId | None:
    """Return the record of this catalogue that a call read; None where it read none, or of another."""
    stated = next((one for name in NAMED_BY if isinstance(one := entry.parameters.get(name), str)), None)
    stated = stated or (entry.target if entry.target.startswith(SCHEME) else None)
    if stated is None or not _may_be_of(stated, catalogue):
        return None
    key = find_by_id(reader, stated, scope=WHOLE, catalogue=catalogue)
    return None if key is None else reader.ids([key])[0]


def _may_be_of(stated: str, catalogue: str) -> bool:
    """Tell whether an address is not of another catalogue."""
    return not stated.startswith(SCHEME) or stated.startswith(f"{SCHEME}{catalogue}/")
