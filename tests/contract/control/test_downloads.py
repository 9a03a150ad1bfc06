"""The queue of downloads over every database."""

from datetime import timedelta
from typing import Any

import pytest

from stackroom.control.database.engine import ControlDatabase
from stackroom.errors import ConflictError, ExpectedError, RateLimitedError, UnavailableError
from stackroom_catalogues.music.downloads.manifest import DownloadRequest
from stackroom_catalogues.music.downloads.queue import (
    Download,
    DownloadCancelledError,
    DownloadQueue,
    DownloadState,
    QueueRules,
)

pytestmark = pytest.mark.row("Z8")

RULES = QueueRules(max_open_per_user=3, max_per_day=5, attempts=3)
FAILURE = UnavailableError("the server cannot be reached")


def request(album: str = "Water Music", **others: Any) -> DownloadRequest:
    return DownloadRequest(**{"provider": "archive", "artist": "Handel", "album": album, **others})


@pytest.fixture
def queue(place: Any, database: ControlDatabase) -> DownloadQueue:
    return DownloadQueue(database, RULES, now=place.clock.now)


@pytest.fixture
def other(place: Any, queue: DownloadQueue) -> DownloadQueue:
    """The same queue, as another process has it open."""
    return DownloadQueue(place.open(), RULES, now=place.clock.now)


def taken(queue: DownloadQueue) -> Download:
    download = queue.take_next()
    assert download is not None
    return download


def put(queue: DownloadQueue, album: str = "Water Music") -> Download:
    download, is_new = queue.request("ann", request(album))
    assert is_new
    return download


def states(queue: DownloadQueue) -> dict[int, str]:
    pages = [queue.list_downloads(state, limit=100)[0] for state in DownloadState]
    return {download.id: str(download.state) for page in pages for download in page}


def test_what_is_asked_for_is_queued_with_everything_that_was_said(queue, place):
    download = put(queue)

    assert download.state is DownloadState.QUEUED
    assert (download.user, download.provider, download.artist) == ("ann", "archive", "Handel")
    assert download.created_at == download.next_attempt_at == place.clock.now()
    assert queue.get(download.id) == download


def test_the_same_open_wish_is_not_queued_twice(queue, other):
    download = put(queue)

    again, is_new = other.request("ann", request("WATER MUSIC"))

    assert (again.id, is_new) == (download.id, False)
    assert other.request("bob", request())[1]
    assert other.request("ann", request(artist=None))[1]
    assert len(states(queue)) == 3
    queue.cancel(download.id, user="ann")
    assert put(queue).id != download.id


def test_a_user_has_so_many_open_downloads_and_no_more(queue):
    first, *_ = [put(queue, f"Album {number}") for number in range(3)]

    with pytest.raises(ConflictError, match="3 open downloads"):
        queue.request("ann", request("Album 4"))
    assert queue.request("bob", request("Album 4"))[1]
    queue.cancel(first.id, user="ann")
    assert put(queue, "Album 4")


def test_requests_at_once_make_one_download_and_do_not_pass_the_limit(queue, other, at_once):
    same = at_once([lambda one=one: one.request("bob", request()) for one in (queue, other) * 4])
    assert len({download.id for download, _ in same}) == 1
    assert [is_new for _, is_new in same].count(True) == 1
    works = [
        lambda one=one, n=n: one.request("ann", request(f"Album {n}"))
        for n, one in enumerate((queue, other) * 4)
    ]
    results = at_once(works)

    assert sum(isinstance(result, tuple) for result in results) == 3
    assert sum(isinstance(result, ConflictError) for result in results) == 5


def test_a_user_has_so_many_requests_in_a_day_and_is_told_when_to_come_back(queue, place):
    for number in range(5):
        queue.cancel(put(queue, f"Album {number}").id, user="ann")
        place.clock.advance(3600)

    with pytest.raises(RateLimitedError) as refused:
        queue.request("ann", request())
    assert refused.value.retry_after_s == 19 * 3600
    assert queue.request("bob", request())[1]
    place.clock.advance(19 * 3600)
    assert put(queue)


def test_the_queue_is_listed_in_the_order_of_its_turn_and_what_is_over_newest_first(queue, place):
    b, a, c = put(queue, "b"), put(queue, "a"), put(queue, "c")
    taken(queue)

    assert [one.id for one in queue.list_downloads()[0]] == [b.id, a.id, c.id]
    assert queue.list_downloads(limit=2, offset=2) == ([queue.get(c.id)], 3)
    queue.cancel(c.id, user="ann")
    place.clock.advance(1)
    queue.cancel(a.id, user="ann")
    assert [one.id for one in queue.list_downloads(DownloadState.CANCELLED)[0]] == [a.id, c.id]


def test_a_download_goes_from_claim_to_done(queue):
    put(queue)
    running = taken(queue)
    assert running.state is DownloadState.RUNNING

    queue.note(running, folder="Handel/Water Music", total_bytes=30)
    queue.note(running, received_bytes=5)
    queue.begin_install(running, total_bytes=30)
    done = queue.finish(running)

    assert (done.state, done.folder, done.total_bytes) == (
        DownloadState.DONE,
        "Handel/Water Music",
        30,
    )
    assert done.received_bytes == 30
    assert queue.take_next() is None


def test_a_download_that_costs_too_many_workers_is_given_up(queue, place):
    download = put(queue)
    for _ in range(3):
        taken(queue)
        place.clock.advance(61)

    assert queue.take_next() is None
    given_up = queue.get(download.id)
    assert (given_up.state, given_up.error) == (DownloadState.FAILED, "its worker died too often")
    assert put(queue).id != download.id


def test_what_failed_is_put_off_and_given_up_in_the_end(queue, place):
    download = put(queue)

    for attempt in (1, 2):
        put_off = queue.put_off(taken(queue), FAILURE, wait_s=30)
        assert (put_off.state, put_off.attempts) == (DownloadState.QUEUED, attempt)
        assert (put_off.error_code, put_off.error) == ("unavailable", FAILURE.message)
        assert put_off.next_attempt_at == place.clock.now() + timedelta(seconds=30)
        assert queue.take_next() is None
        place.clock.advance(30)
    failed = queue.put_off(taken(queue), FAILURE, wait_s=30)

    assert (failed.id, failed.state, failed.attempts) == (download.id, DownloadState.FAILED, 3)
    assert queue.take_next() is None


def test_what_failed_or_waits_is_retried_from_the_start_and_says_no_error_any_more(queue):
    download = put(queue)
    running = taken(queue)
    queue.fail(running, ExpectedError("x" * 10_000))
    assert len(queue.get(download.id).error) == 500

    retried = queue.retry(download.id, user="ann")

    assert (retried.state, retried.attempts, retried.error) == (DownloadState.QUEUED, 0, None)
    queue.put_off(taken(queue), FAILURE, wait_s=3600)
    assert queue.take_next() is None
    queue.retry(download.id, user="ann")
    queue.put_off(taken(queue), FAILURE, wait_s=3600)
    cancelled = queue.cancel(download.id, user="ann")
    assert (cancelled.error_code, cancelled.error) == (None, None)


def test_what_runs_or_is_done_cannot_be_retried(queue):
    download = put(queue)
    running = taken(queue)
    with pytest.raises(ConflictError, match="running"):
        queue.retry(download.id, user="ann")
    queue.finish(running)
    with pytest.raises(ConflictError, match="done"):
        queue.retry(download.id, user="ann")


def test_a_retry_does_not_pass_the_limits_nor_double_a_wish(queue):
    failed = put(queue, "a")
    queue.cancel(failed.id, user="ann")
    put(queue, "a")
    with pytest.raises(ConflictError, match="already"):
        queue.retry(failed.id, user="ann")
    other = put(queue, "b")
    queue.cancel(other.id, user="ann")
    put(queue, "c")
    put(queue, "d")
    with pytest.raises(ConflictError, match="open downloads"):
        queue.retry(other.id, user="ann")


def test_what_is_cancelled_is_lost_to_its_worker(queue):
    download = put(queue)
    running = taken(queue)

    assert queue.cancel(download.id, user="ann").state is DownloadState.CANCELLED
    with pytest.raises(DownloadCancelledError):
        queue.note(running, received_bytes=1)
    with pytest.raises(ConflictError, match="cancelled"):
        queue.cancel(download.id, user="ann")
    assert queue.take_next() is None


def test_what_goes_in_place_cannot_be_cancelled_any_more(queue, place):
    download = put(queue)
    running = taken(queue)
    queue.begin_install(running, total_bytes=1)

    with pytest.raises(ConflictError, match="being installed"):
        queue.cancel(download.id, user="ann")
    place.clock.advance(61)
    again = taken(queue)
    with pytest.raises(ConflictError, match="being installed"):
        queue.cancel(download.id, user="ann")
    queue.finish(again)


def test_what_failed_to_go_in_place_can_be_cancelled_once_it_is_asked_for_again(queue):
    download = put(queue)
    running = taken(queue)
    queue.begin_install(running, total_bytes=1)
    queue.fail(running, FAILURE)

    assert not queue.retry(download.id, user="ann").is_installing  # its files are fetched anew
    assert queue.cancel(download.id, user="ann").state is DownloadState.CANCELLED


def test_a_cancel_and_an_install_at_once_never_both_win(queue, other, at_once):
    for number in range(5):
        download, _ = queue.request(f"user{number}", request(f"Album {number}"))
        running = taken(queue)
        installed, cancelled = at_once(
            [
                lambda running=running: queue.begin_install(running, total_bytes=1),
                lambda id=download.id: other.cancel(id, user=None),
            ]
        )
        assert isinstance(installed, DownloadCancelledError) != isinstance(cancelled, ConflictError)
        if installed is None:
            queue.finish(running)


def test_what_is_long_over_is_forgotten_and_nothing_else(queue, place):
    put(queue, "a")
    still_open = put(queue, "b")
    running = taken(queue)
    queue.finish(running)
    place.clock.advance(23 * 3600)
    assert queue.prune(place.clock.now()) == 0
    place.clock.advance(2 * 3600)

    assert queue.prune(place.clock.now()) == 1
    assert states(queue) == {still_open.id: "queued"}


@pytest.mark.parametrize("act", ["cancel", "cancel and retry"])
def test_a_download_that_was_cancelled_is_not_changed_by_its_worker(queue, other, act):
    put(queue)
    running = taken(queue)
    after = other.cancel(running.id, user=None)
    if "retry" in act:
        after = other.retry(running.id, user=None)
    steps = [
        lambda: queue.note(running, received_bytes=1),
        lambda: queue.note(running, folder="x/y", total_bytes=None),
        lambda: queue.begin_install(running, total_bytes=1),
        lambda: queue.finish(running),
        lambda: queue.fail(running, FAILURE),
        lambda: queue.put_off(running, FAILURE, wait_s=1),
    ]

    for step in steps:
        with pytest.raises(DownloadCancelledError):
            step()
    assert not queue.release(running)
    assert other.get(running.id) == after
