"""The queue of downloads over every database."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import inspect

from pinakes.control.database.engine import ControlDatabase
from pinakes.errors import ConflictError, ExpectedError, InputError, NotFoundError, RateLimitedError, UnavailableError
from pinakes_catalogues.music.downloads.items import Album, AlbumFile, Claim, Download, DownloadRequest, DownloadState
from pinakes_catalogues.music.downloads.queue import ClaimLostError, DownloadQueue, QueueRules
from pinakes_catalogues.music.tables import METADATA

pytestmark = pytest.mark.row("Z8")

RULES = QueueRules(max_open_per_user=3, max_per_day=5, attempts=3, most_lost=2, lease_s=60)
FILES = (AlbumFile(name="01.mp3", url="https://a.example.org/1", size=10), AlbumFile(name="02.mp3", url="u", size=20))
ALBUM = Album(artist="Handel", title="Water Music", files=FILES)
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


def claimed(queue: DownloadQueue) -> Claim:
    claim = queue.claim()
    assert claim is not None
    return claim


def put(queue: DownloadQueue, album: str = "Water Music", **options: Any) -> Download:
    download, is_new = queue.request("ann", request(album), **options)
    assert is_new
    return download


def states(queue: DownloadQueue) -> dict[int, str]:
    pages = [queue.list_downloads(state, limit=100)[0] for state in DownloadState]
    return {download.id: str(download.state) for page in pages for download in page}


def test_the_queue_makes_what_the_tables_say(database):
    database.create_missing(METADATA)
    with database.read() as connection:
        found = inspect(connection)
        for table in METADATA.sorted_tables:
            columns = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
            assert columns == {column.name: column.nullable for column in table.columns}
            indexes = {index["name"] for index in found.get_indexes(table.name) if not index.get("unique")}
            assert indexes == {index.name for index in table.indexes}


def test_what_is_asked_for_is_queued_with_everything_that_was_said(queue, place):
    download = put(queue, priority=7)

    assert download.state is DownloadState.QUEUED
    assert (download.user, download.request, download.priority) == ("ann", request(), 7)
    assert download.created_at == download.next_attempt_at == place.clock.now()
    assert queue.get(download.id) == download


def test_the_same_open_wish_is_not_queued_twice(queue, other):
    download = put(queue)

    again, is_new = other.request("ann", request("WATER MUSIC"))

    assert (again.id, is_new) == (download.id, False)
    assert other.request("bob", request())[1]
    assert other.request("ann", request(artist=None))[1]
    assert len(states(queue)) == 3


def test_what_workers_have_can_be_given_back_all_at_once(queue, other):
    first, second, over = put(queue, "A"), put(queue, "B"), put(queue, "C")
    queue.cancel(over.id, user="ann")
    assert [claimed(queue).download.id for _ in range(2)] == [first.id, second.id]
    assert other.claim() is None

    other.release_all()

    assert states(queue) == {first.id: "queued", second.id: "queued", over.id: "cancelled"}
    assert claimed(other).download.id == first.id


def test_the_same_wish_is_new_once_the_first_is_over(queue):
    first = put(queue)
    queue.cancel(first.id, user="ann")

    assert put(queue).id != first.id


def test_requests_at_once_make_one_download(queue, other, at_once):
    results = at_once([lambda one=one: one.request("ann", request()) for one in (queue, other) * 4])

    assert len({download.id for download, _ in results}) == 1
    assert [is_new for _, is_new in results].count(True) == 1


def test_a_user_has_so_many_open_downloads_and_no_more(queue):
    first, *_ = [put(queue, f"Album {number}") for number in range(3)]

    with pytest.raises(ConflictError, match="3 open downloads"):
        queue.request("ann", request("Album 4"))
    assert queue.request("bob", request("Album 4"))[1]
    queue.cancel(first.id, user="ann")
    assert put(queue, "Album 4")


def test_requests_at_once_do_not_pass_the_limit(queue, other, at_once):
    works = [lambda one=one, n=n: one.request("ann", request(f"Album {n}")) for n, one in enumerate((queue, other) * 4)]
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


def test_the_most_urgent_is_claimed_first_and_then_the_oldest(queue):
    late, first, second = put(queue, "a", priority=1), put(queue, "b"), put(queue, "c")
    urgent, _ = queue.request("bob", request("d"), priority=9)

    order = [claimed(queue).download.id for _ in range(4)]

    assert order == [urgent.id, first.id, second.id, late.id]
    assert queue.claim() is None


def test_the_queue_is_listed_in_the_order_of_its_turn_and_what_is_over_newest_first(queue, place):
    a, b, c = put(queue, "a", priority=1), put(queue, "b"), put(queue, "c", priority=1)
    claimed(queue)

    assert [one.id for one in queue.list_downloads()[0]] == [b.id, a.id, c.id]
    assert queue.list_downloads(limit=2, offset=2) == ([queue.get(c.id)], 3)
    queue.cancel(c.id, user="ann")
    place.clock.advance(1)
    queue.cancel(a.id, user="ann")
    assert [one.id for one in queue.list_downloads(DownloadState.CANCELLED)[0]] == [a.id, c.id]
    for wrong in ({"limit": 0}, {"limit": 101}, {"offset": -1}):
        with pytest.raises(InputError):
            queue.list_downloads(**wrong)


def test_workers_that_claim_at_once_never_get_the_same(queue, other, at_once):
    ids = {put(queue, f"Album {number}").id for number in range(3)}

    claims = [claim for claim in at_once([one.claim for one in (queue, other) * 4]) if claim is not None]

    assert all(isinstance(claim, Claim) for claim in claims)
    taken = [claim.download.id for claim in claims]
    while (claim := queue.claim()) is not None:
        taken.append(claim.download.id)
    assert sorted(taken) == sorted(ids)


def test_a_download_goes_from_claim_to_done(queue):
    download = put(queue)
    claim = claimed(queue)
    assert claim.download.state is DownloadState.RUNNING

    queue.plan(claim, ALBUM, folder="Handel/Water Music")
    queue.renew(claim, received_bytes=5)
    assert [file.is_fetched for file in queue.list_files(download.id)] == [False, False]
    queue.note_fetched(claim, 1, size=10, sha256="a" * 64)
    queue.note_fetched(claim, 2, size=20, sha256="b" * 64)
    queue.begin_install(claim, total_bytes=30)
    done = queue.finish(claim)

    assert (done.state, done.folder, done.total_bytes) == (DownloadState.DONE, "Handel/Water Music", 30)
    assert done.received_bytes == 30
    assert [(file.name, file.sha256, file.is_fetched) for file in queue.list_files(download.id)] == [
        ("01.mp3", "a" * 64, True),
        ("02.mp3", "b" * 64, True),
    ]
    assert queue.claim() is None


def test_what_is_done_counts_the_attempt_that_worked(queue, place):
    put(queue)
    queue.put_off(claimed(queue), FAILURE, wait_s=30)
    place.clock.advance(30)

    assert queue.finish(claimed(queue)).attempts == 2


def test_what_the_provider_calls_an_album_is_kept_beside_what_was_asked_for(queue):
    download, _ = queue.request("ann", request(artist=None, album=None, url="u"), call_id="c-1")
    claim = claimed(queue)
    queue.plan(claim, replace(ALBUM, title="Unknown"), folder="Handel/Unknown")

    planned = queue.get(download.id)

    assert (planned.call_id, planned.found_artist, planned.found_album) == ("c-1", "Handel", None)
    assert planned.request == download.request


def test_the_total_is_unknown_while_the_size_of_a_file_is(queue):
    put(queue)
    claim = claimed(queue)
    queue.plan(claim, replace(ALBUM, files=(*FILES, AlbumFile(name="03.mp3", url="u"))), folder="a/b")

    assert queue.get(claim.download.id).total_bytes is None


def test_a_dead_workers_download_goes_back_to_the_queue_with_its_plan(queue, other, place):
    download = put(queue)
    dead = claimed(queue)
    queue.plan(dead, ALBUM, folder="a/b")
    place.clock.advance(59)
    assert other.claim() is None
    place.clock.advance(2)

    again = claimed(other)

    assert again.download.id == download.id
    assert again.token != dead.token
    assert again.download.attempts == 0
    assert len(other.list_files(download.id)) == 2


def test_a_claim_that_is_renewed_does_not_run_out(queue, other, place):
    put(queue)
    claim = claimed(queue)
    for _ in range(5):
        place.clock.advance(50)
        queue.renew(claim, received_bytes=1)

    assert other.claim() is None


def test_a_worker_that_was_taken_for_dead_can_change_nothing_any_more(queue, other, place):
    put(queue)
    dead = claimed(queue)
    place.clock.advance(61)
    alive = claimed(other)
    steps = [
        lambda: queue.renew(dead, received_bytes=1),
        lambda: queue.plan(dead, ALBUM, folder="x/y"),
        lambda: queue.note_fetched(dead, 1, size=1, sha256="a"),
        lambda: queue.begin_install(dead, total_bytes=1),
        lambda: queue.finish(dead),
        lambda: queue.fail(dead, FAILURE),
        lambda: queue.put_off(dead, FAILURE, wait_s=1),
        lambda: queue.release(dead),
    ]

    for step in steps:
        with pytest.raises(ClaimLostError):
            step()
    assert other.get(alive.download.id) == alive.download
    other.finish(alive)


def test_control_without_the_token_the_dead_worker_would_finish_it(queue, other, place):
    put(queue)
    dead = claimed(queue)
    place.clock.advance(61)
    alive = claimed(other)

    queue.finish(Claim(download=dead.download, token=alive.token))

    assert queue.get(dead.download.id).state is DownloadState.DONE


def test_a_download_that_costs_too_many_workers_is_given_up(queue, place):
    download = put(queue)
    for _ in range(2):
        claimed(queue)
        place.clock.advance(61)

    assert queue.claim() is None
    given_up = queue.get(download.id)
    assert (given_up.state, given_up.error) == (DownloadState.FAILED, "its worker died too often")
    assert put(queue).id != download.id


def test_what_failed_is_put_off_and_given_up_in_the_end(queue, place):
    download = put(queue)

    for attempt in (1, 2):
        put_off = queue.put_off(claimed(queue), FAILURE, wait_s=30)
        assert (put_off.state, put_off.attempts) == (DownloadState.QUEUED, attempt)
        assert (put_off.error_code, put_off.error) == ("unavailable", FAILURE.message)
        assert put_off.next_attempt_at == place.clock.now() + timedelta(seconds=30)
        assert queue.claim() is None
        place.clock.advance(30)
    failed = queue.put_off(claimed(queue), FAILURE, wait_s=30)

    assert (failed.id, failed.state, failed.attempts) == (download.id, DownloadState.FAILED, 3)
    assert queue.claim() is None


def test_what_is_released_is_as_it_was(queue):
    put(queue)
    claim = claimed(queue)
    queue.plan(claim, ALBUM, folder="a/b")
    queue.release(claim)

    again = claimed(queue)

    assert again.download.attempts == 0
    assert len(queue.list_files(again.download.id)) == 2


def test_a_clock_that_was_wrong_keeps_no_download_waiting(queue, other, place):
    late, lost = put(queue, "a"), put(queue, "b")
    place.clock.advance(10 * 365 * 24 * 3600)
    queue.put_off(claimed(queue), FAILURE, wait_s=30)
    claimed(queue)  # by a worker that died
    place.clock.advance(-10 * 365 * 24 * 3600)
    assert [claimed(other).download.id for _ in range(2)] == [late.id, lost.id]


def test_what_failed_can_be_retried_from_the_start(queue):
    download = put(queue)
    claim = claimed(queue)
    queue.plan(claim, ALBUM, folder="a/b")
    queue.fail(claim, ExpectedError("x" * 10_000))
    assert len(queue.get(download.id).error) == 500

    retried = queue.retry(download.id, user="ann")

    assert (retried.state, retried.attempts, retried.error) == (DownloadState.QUEUED, 0, None)
    assert queue.list_files(download.id) == []
    assert claimed(queue).download.id == download.id


def test_what_waits_can_be_told_to_try_now(queue):
    download = put(queue)
    queue.put_off(claimed(queue), FAILURE, wait_s=3600)
    assert queue.claim() is None

    queue.retry(download.id, user="ann")

    assert claimed(queue).download.id == download.id


def test_what_runs_or_is_done_cannot_be_retried(queue):
    download = put(queue)
    claim = claimed(queue)
    with pytest.raises(ConflictError, match="running"):
        queue.retry(download.id, user="ann")
    queue.finish(claim)
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
    claim = claimed(queue)

    assert queue.cancel(download.id, user="ann").state is DownloadState.CANCELLED
    with pytest.raises(ClaimLostError):
        queue.renew(claim, received_bytes=1)
    with pytest.raises(ConflictError, match="cancelled"):
        queue.cancel(download.id, user="ann")
    assert queue.claim() is None


def test_what_is_cancelled_does_not_say_what_failed_before(queue):
    download = put(queue)
    queue.put_off(claimed(queue), FAILURE, wait_s=30)

    cancelled = queue.cancel(download.id, user="ann")

    assert (cancelled.error_code, cancelled.error) == (None, None)


def test_what_goes_in_place_cannot_be_cancelled_any_more(queue, place):
    download = put(queue)
    claim = claimed(queue)
    queue.begin_install(claim, total_bytes=1)

    with pytest.raises(ConflictError, match="being installed"):
        queue.cancel(download.id, user="ann")
    place.clock.advance(61)
    again = claimed(queue)
    with pytest.raises(ConflictError, match="being installed"):
        queue.cancel(download.id, user="ann")
    queue.finish(again)


def test_what_failed_to_go_in_place_can_be_cancelled_once_it_is_asked_for_again(queue):
    download = put(queue)
    claim = claimed(queue)
    queue.begin_install(claim, total_bytes=1)
    queue.fail(claim, FAILURE)

    assert not queue.retry(download.id, user="ann").is_installing  # its files are fetched anew
    assert queue.cancel(download.id, user="ann").state is DownloadState.CANCELLED


def test_a_cancel_and_an_install_at_once_never_both_win(queue, other, at_once):
    for number in range(5):
        download, _ = queue.request(f"user{number}", request(f"Album {number}"))
        claim = claimed(queue)
        installed, cancelled = at_once(
            [
                lambda claim=claim: queue.begin_install(claim, total_bytes=1),
                lambda id=download.id: other.cancel(id, user=None),
            ]
        )
        assert isinstance(installed, ClaimLostError) != isinstance(cancelled, ConflictError)


@pytest.mark.parametrize("act", ["retry", "cancel"])
def test_what_is_somebody_elses_is_not_found(queue, act):
    download = put(queue)
    queue.fail(claimed(queue), FAILURE)

    with pytest.raises(NotFoundError) as refused:
        getattr(queue, act)(download.id, user="bob")
    with pytest.raises(NotFoundError) as unknown:
        getattr(queue, act)(download.id + 1, user="bob")
    assert refused.value.message == unknown.value.message.replace(str(download.id + 1), str(download.id))
    getattr(queue, act)(download.id, user=None)


def test_the_queue_is_counted(queue, place):
    assert queue.stats().oldest_queued_at is None
    first_at = place.clock.now()
    put(queue, "a")
    place.clock.advance(10)
    put(queue, "b")
    queue.request("bob", request("c"), priority=9)
    claim = claimed(queue)
    queue.begin_install(claim, total_bytes=30)
    queue.finish(claim)

    stats = queue.stats()

    assert stats.by_state == {DownloadState.QUEUED: 2, DownloadState.DONE: 1}
    assert (stats.received_bytes, stats.users, stats.oldest_queued_at) == (30, 2, first_at)


def test_what_is_long_over_is_forgotten_and_nothing_else(queue, place):
    over, still_open = put(queue, "a"), put(queue, "b")
    claim = claimed(queue)
    queue.plan(claim, ALBUM, folder="a/b")
    queue.finish(claim)
    place.clock.advance(23 * 3600)
    assert queue.prune(place.clock.now()) == 0
    place.clock.advance(2 * 3600)

    assert queue.prune(place.clock.now()) == 1
    assert states(queue) == {still_open.id: "queued"}
    assert queue.list_files(over.id) == []


def test_the_states_of_what_gathers_are_known_by_key(queue):
    a, b = put(queue, "a"), put(queue, "b")
    queue.cancel(b.id, user="ann")

    assert queue.states_of([a.key, b.key, "none"]) == {
        a.key: DownloadState.QUEUED,
        b.key: DownloadState.CANCELLED,
    }


def test_processes_that_claim_at_once_never_get_the_same(queue, place):
    for number in range(12):
        queue.request(f"user{number}", request(f"Album {number}"))
    script = """
import sys
from datetime import UTC, datetime
from pinakes.control.database.engine import ControlDatabase
from pinakes_catalogues.music.downloads.queue import DownloadQueue, QueueRules
now = lambda: datetime(2026, 11, 16, tzinfo=UTC)
queue = DownloadQueue(ControlDatabase.open(sys.argv[1]), QueueRules(lease_s=3600), now=now)
print("ready", flush=True)
sys.stdin.readline()
taken = []
while (claim := queue.claim()) is not None:
    taken.append(claim.download.id)
print(*taken)
"""
    printed = place.run_together(script, 3)

    taken = [int(word) for line in printed for word in line.split()]
    assert len(taken) == len(set(taken)) == 12
