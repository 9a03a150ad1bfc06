"""Searches in the audit that led to a record, as questions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pinakes.assembly.app import App
from pinakes.grading.questions import QuestionKind
from pinakes.grading.recorded_queries import find_recorded_questions
from pinakes.model.audit import AuditEntry, Outcome

pytestmark = [pytest.mark.row("N6"), pytest.mark.usefixtures("dishes")]

START = datetime(2026, 3, 1, tzinfo=UTC)


def entry(
    target: str, minute: float = 0, *, by: str = "ann", outcome: Outcome = Outcome.OK, **given: Any
) -> AuditEntry:
    return AuditEntry(
        at=START + timedelta(minutes=minute),
        call_id="",
        principal=by,
        via="http",
        operation="resources/read" if "://" in target else "tools/call",
        target=target,
        parameters=given,
        outcome=outcome,
    )


def found(app: App, *entries: AuditEntry) -> dict[str, tuple[str, ...]]:
    reader = app.open_catalogue("dishes").shelf.reader()
    questions = find_recorded_questions(entries, reader, catalogue="dishes")
    assert all(one.kind is QuestionKind.RECORDED for one in questions)
    return {one.query: tuple(one.expected) for one in questions}


def test_a_search_after_which_its_caller_read_a_record_is_a_question(app: App) -> None:
    assert found(
        app,
        entry("search", 0, query="winter  soup"),
        entry("search", 1, by="ben", query="wedding cake"),
        entry("fetch", 2, id="dishes/dish-3"),
        entry("pinakes://dishes/dish-4", 3, by="ben"),
        entry("fetch", 4, id="dish-5"),
    ) == {"winter soup": ("dish-3", "dish-5"), "wedding cake": ("dish-4",)}


@pytest.mark.parametrize(
    "following",
    [
        entry("fetch", 9, id="dish-3"),
        entry("fetch", 1, by="ben", id="dish-3"),
        entry("fetch", 1, id="other/dish-3"),
        entry("fetch", 1, id="dish-1000"),
        entry("fetch", 1, id="dish-3", outcome=Outcome.ERROR),
        entry("browse", 1, field="tags"),
    ],
)
def test_a_search_that_led_to_no_record_of_the_catalogue_is_none(app: App, following: AuditEntry) -> None:
    assert found(app, entry("search", 0, query="winter soup"), following) == {}


@pytest.mark.parametrize("given", [{"catalogue": "papers"}, {"filters": {"year": 1999}}])
def test_a_search_of_another_catalogue_or_with_filters_is_none(app: App, given: dict[str, Any]) -> None:
    assert found(app, entry("search", 0, query="soup", **given), entry("fetch", 1, id="dish-3")) == {}
