"""Conditions of catalogues: back-off of one that cannot be read, and damage that a check found."""

import pytest

from stackroom.catalogue.spec import CatalogueSpec
from stackroom.errors import StorageError
from stackroom.shelf.conditions import (
    FIRST_PAUSE_S,
    JITTER,
    LONGEST_PAUSE_S,
    CatalogueConditions,
    ConditionKind,
)
from stackroom.shelf.port import Shelf
from stackroom.shelf.watched import WatchedShelf
from support.control import Clock

pytestmark = pytest.mark.row("T8")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def conditions(clock: Clock) -> CatalogueConditions:
    return CatalogueConditions(monotonic=clock.monotonic, now=clock.now, jitter=lambda: 0.0)


def test_the_pause_grows_with_each_failure_up_to_the_longest(
    conditions: CatalogueConditions,
) -> None:
    pauses = [conditions.note_failure("films", "gone") for _ in range(6)]
    assert pauses == pytest.approx([0.04, 0.16, 0.64, 2.56, LONGEST_PAUSE_S, LONGEST_PAUSE_S])


@pytest.mark.parametrize(("is_there", "last"), [(True, LONGEST_PAUSE_S), (False, FIRST_PAUSE_S)])
def test_files_that_are_gone_are_looked_for_again_after_the_first_pause_each_time(
    anime_spec: CatalogueSpec,
    conditions: CatalogueConditions,
    clock: Clock,
    is_there: bool,
    last: float,
) -> None:
    def fail() -> Shelf:
        raise StorageError("the folder is missing")

    shelf = WatchedShelf(
        anime_spec, fail, name="films", conditions=conditions, is_there=lambda: is_there
    )
    for _ in range(6):
        with pytest.raises(StorageError) as failed:
            shelf.reader()
        clock.advance(failed.value.retry_after_s or 0)
    assert failed.value.retry_after_s == last


def test_a_pause_is_longer_by_up_to_the_jitter(clock: Clock) -> None:
    conditions = CatalogueConditions(monotonic=clock.monotonic, jitter=lambda: 1.0)
    assert conditions.note_failure("films", "gone") == FIRST_PAUSE_S * (1 + JITTER)


def test_a_failing_catalogue_is_tried_by_one_caller_after_its_pause(
    conditions: CatalogueConditions, clock: Clock
) -> None:
    conditions.note_failure("films", "gone")
    refused = conditions.begin_try("films")
    assert refused is not None
    assert (refused.cause, refused.reason) == (ConditionKind.UNREADABLE, "gone")
    assert refused.retry_in_s == pytest.approx(FIRST_PAUSE_S)
    assert conditions.begin_try("plays") is None
    clock.advance(FIRST_PAUSE_S)
    assert conditions.list_due() == ["films"]
    assert conditions.begin_try("films") is None
    assert conditions.begin_try("films") is not None, (
        "the second caller waits for how the first try ends"
    )


def test_a_success_ends_the_condition_and_the_next_failure_begins_anew(
    conditions: CatalogueConditions,
) -> None:
    conditions.note_failure("films", "gone")
    conditions.note_failure("films", "gone")
    conditions.note_success("films")
    assert conditions.list_conditions() == []
    assert conditions.note_failure("films", "gone") == FIRST_PAUSE_S


def test_damage_stays_until_a_check_clears_it_and_does_not_keep_the_catalogue_from_being_read(
    conditions: CatalogueConditions,
) -> None:
    conditions.report("films", "two records differ from their checksums")
    conditions.note_success("films")
    assert conditions.begin_try("films") is None
    told = conditions.list_conditions()
    assert [(one.catalogue, one.cause, one.retry_in_s) for one in told] == [
        ("films", ConditionKind.DAMAGED, None)
    ]
    conditions.clear("films")
    assert conditions.list_conditions() == []
