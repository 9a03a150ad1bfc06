"""Downloads from request to album, against a real server; only time and name servers are the test's
own.
"""

import errno
import json
import time
from datetime import timedelta
from typing import Any

import pytest

from stackroom.errors import (
    InputError,
    InvalidUrlError,
    NotFoundError,
    StorageError,
    UnavailableError,
)
from stackroom_catalogues.music.downloads import staging
from stackroom_catalogues.music.downloads.downloads import LONGEST_RETRY_AFTER_S
from stackroom_catalogues.music.downloads.queue import DownloadState
from support.processes import wait_until

pytestmark = pytest.mark.row("Z8")

MANIFEST = "/Handel/Water%20Music.json"


def status(code: int, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(code, b"", named)


def raises(error: Exception) -> Any:
    def fail(*_arguments: Any) -> None:
        raise error

    return fail


def test_an_album_lands_whole_and_is_taken_up_and_nothing_is_left_over(place, tracks):
    place.on_album = lambda _folder: "not in the catalogue: 01.mp3"
    downloads = place.downloads()
    done = place.fetch(downloads)

    assert place.landed() == tracks
    assert place.albums == [place.music / "Handel" / "Water Music"]
    assert [one.id for one in place.finished] == [done.id]
    assert (done.state, done.folder) == (DownloadState.DONE, "Handel/Water Music")
    assert (done.error_code, done.error) == (None, "not in the catalogue: 01.mp3")
    assert done.attempts == 1
    assert done.received_bytes == done.total_bytes == sum(map(len, tracks.values()))
    assert list((place.music / ".downloads").iterdir()) == []
    assert not downloads.work_once()


def test_an_album_of_which_nothing_is_music_fails_and_leaves_nothing_behind(place, tracks):
    place.find_problem = lambda file: f"{file.name} is a page"
    failed = place.fetch()

    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "unavailable")
    assert failed.error.startswith("nothing of it can be read as music; '01.mp3': 01.mp3 is a page")
    assert [path.name for path in place.music.rglob("*") if path.name != ".downloads"] == []
    place.find_problem = lambda file: None if file.name == "02.flac" else "it is a page"
    again = place.downloads()
    again.retry(failed.id, user="ann")
    again.work_once()
    assert place.landed() == tracks


@pytest.mark.parametrize("answers", [["'ann' is gone"], [None, "'ann' is gone"]])
def test_an_album_does_not_land_whose_user_has_lost_the_right_by_its_start_or_end(place, answers):
    left = iter(answers)
    place.find_refusal = lambda _download: next(left)
    failed = place.fetch()

    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "forbidden")
    assert failed.error == "'ann' is gone"
    assert bool(place.server.requests) is (len(answers) == 2)
    assert [path.name for path in place.music.rglob("*")] == [".downloads"]
    assert (place.albums, place.finished) == ([], [])


def test_an_album_that_has_begun_to_land_is_taken_up_though_its_user_is_gone(place, tracks):
    place.on_album = raises(StorageError("the disk is full"))
    downloads = place.downloads()
    put_off = place.fetch(downloads)
    assert put_off.state is DownloadState.QUEUED
    place.on_album, place.find_refusal = (lambda _folder: None), (lambda _download: "they are gone")
    place.passed_s += 3600

    assert downloads.work_once()
    assert place.state(put_off) is DownloadState.DONE
    assert place.landed() == tracks


def test_a_single_track_is_fetched_by_its_address(place, tracks):
    place.server.files["/Handel/01.mp3?key=1"] = tracks["01.mp3"]
    done = place.fetch(url=f"{place.server.url}/Handel/01.mp3?key=1", album=None)
    assert done.state is DownloadState.DONE
    assert place.landed("Handel/Unknown") == {"01.mp3": tracks["01.mp3"]}


def test_a_transfer_that_is_cut_is_put_off_and_begun_again(place, tracks):
    body = tracks["01.mp3"]
    place.server.replies["/Handel/01.mp3"] = [
        lambda handler: handler.send(200, body[:40_000], {"ETag": '"a"'}, length=len(body))
    ]
    downloads = place.downloads()
    put_off = place.fetch(downloads)
    assert (put_off.state, put_off.error_code) == (DownloadState.QUEUED, "unavailable")
    assert not downloads.work_once()
    assert place.staged() == []
    place.passed_s += 30
    downloads.work_once()
    assert place.landed() == tracks


def test_a_download_that_keeps_failing_fails_and_can_be_retried(place, tracks):
    place.server.replies["/Handel/02.flac"] = [status(503)] * 3
    downloads = place.downloads()
    download = place.fetch(downloads)
    for _ in range(2):
        place.passed_s += 3600
        assert downloads.work_once()
    failed = place.get(download)
    assert failed.state is DownloadState.FAILED
    assert failed.error == "the server answered status 503; try again later"
    assert not (place.music / "Handel").exists()
    downloads.retry(download.id, user="ann")
    downloads.work_once()

    assert place.landed() == tracks
    assert len(place.server.asked("/Handel/01.mp3")) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"nonsense", "manifest is invalid"),
        (b'{"files": []}', "files"),
        (b'{"files": [{"url": "a.exe"}]}', "has an ending that is not accepted"),
        (b'{"files": [{"url": "a.mp3", "sha256": "x"}]}', "sha256"),
        (b'{"files": [{"url": "a.mp3", "size": -1}]}', "size"),
        (b'{"files": [{"url": "cover.jpg"}]}', "no audio file"),
        (b'{"files": [{"url": "http://169.254.169.254/a.mp3"}]}', "not public"),
        (b'{"files": [{"url": "file:///etc/passwd.mp3"}]}', "http"),
        (b'{"files": [{"url": "http://[/a.mp3"}]}', "not a URL"),
        (b'{"files": [{"url": "a.mp3", "size": 99999999999}]}', "larger than the limit"),
        (b'{"artist": "\\u0000", "files": [{"url": "a.mp3"}]}', "artist"),
        (json.dumps({"files": [{"url": "a.mp3"}] * 501}).encode(), "files"),
        (json.dumps({"files": [{"url": "a.mp3"}] * 500}).encode(), "too many files"),
    ],
)
def test_a_manifest_that_cannot_be_used_fails_at_once_and_says_why(place, body, told):
    place.server.files[MANIFEST] = body
    failed = place.fetch()
    assert failed.state is DownloadState.FAILED
    assert told in failed.error
    assert [path for path, _ in place.server.requests] == [MANIFEST]


@pytest.mark.parametrize(
    ("path", "reply", "code"),
    [
        (MANIFEST, status(404), "unavailable"),
        ("/Handel/01.mp3", lambda handler: handler.send(200, b"other" * 20_000, {}), "unavailable"),
        ("/Handel/01.mp3", status(302, Location="http://10.0.0.1/a.mp3"), "invalid_url"),
    ],
)
def test_what_the_provider_does_not_have_or_answers_wrongly_fails_at_once(place, path, reply, code):
    place.server.replies[path] = [reply]
    failed = place.fetch()
    assert (failed.state, failed.error_code) == (DownloadState.FAILED, code)
    assert not (place.music / "Handel").exists()


def test_an_album_beyond_the_bound_ends_while_it_comes(place):
    files = [{"url": name} for name in ("01.mp3", "02.flac")]
    place.serve_album(files=files)
    failed = place.fetch(place.downloads(max_album_bytes=150_000))
    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "too_large")
    assert not (place.music / "Handel").exists()


def test_a_name_that_leads_inward_by_the_time_it_is_fetched_fails_the_download(place):
    place.names["music.example.org"] = ["93.184.215.14"]
    downloads = place.downloads()
    download = place.request(downloads, url="http://music.example.org/a.mp3")
    place.names["music.example.org"] = ["10.0.0.1"]
    downloads.work_once()
    failed = place.get(download)
    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "invalid_url")


def test_another_edition_lands_beside_what_is_there_and_overwrites_nothing(place, tracks):
    album = place.music / "Handel" / "Water Music"
    album.mkdir(parents=True)
    (album / "01.mp3").write_bytes(b"my own recording")
    (album / "cover.jpg").write_bytes(tracks["cover.jpg"])
    for _ in range(2):
        assert place.fetch().state is DownloadState.DONE
        assert place.landed() == {
            "01 (2).mp3": tracks["01.mp3"],
            "01.mp3": b"my own recording",
            "02.flac": tracks["02.flac"],
            "cover.jpg": tracks["cover.jpg"],
        }


def test_an_album_that_is_not_taken_up_is_tried_again_without_fetching(place, tracks):
    problems = [InputError("the catalogue is broken"), StorageError("the disk is full")]
    place.on_album = lambda folder: raises(problems.pop(0))(folder) if problems else None
    downloads = place.downloads()
    download = place.fetch(downloads)
    for _ in range(2):
        place.passed_s += 3600
        downloads.work_once()

    assert place.state(download) is DownloadState.DONE
    assert place.landed() == tracks
    assert len(place.albums) == 3
    assert len(place.server.requests) == 4


def test_a_bug_in_taking_up_is_put_off_and_told(place, caplog):
    place.on_album = raises(ZeroDivisionError())
    put_off = place.fetch()
    assert (put_off.state, "ZeroDivisionError" in put_off.error) == (DownloadState.QUEUED, True)
    assert "unexpected error" in caplog.text


def test_a_disk_that_is_full_is_put_off(place, tracks, monkeypatch):
    downloads = place.downloads()
    with monkeypatch.context() as patched:
        patched.setattr(
            staging, "sync_folder", raises(OSError(errno.ENOSPC, "No space left on device"))
        )
        put_off = place.fetch(downloads)
    assert (put_off.state, put_off.error_code) == (DownloadState.QUEUED, "storage")
    place.passed_s += 3600
    downloads.work_once()
    assert place.landed() == tracks


def test_the_worker_does_what_is_queued_and_what_is_cancelled_stops(place, tracks):
    place.server.on_block = lambda sent: time.sleep(0.01) if sent > 32_000 else None
    downloads = place.downloads()
    first = place.request(downloads)
    place.start(downloads)
    wait_until(place.staged)
    downloads.cancel(first.id, user="ann")
    wait_until(lambda: not place.staged())
    assert not (place.music / "Handel").exists()
    place.server.on_block = lambda _sent: None

    second = place.request(downloads)
    wait_until(lambda: place.state(second) is DownloadState.DONE)
    assert place.landed() == tracks
    assert place.state(first) is DownloadState.CANCELLED


def test_a_worker_that_stops_gives_back_what_it_was_at(place, tracks):
    def hold(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.send_header("ETag", '"a"')
        handler.end_headers()
        handler.wfile.write(tracks["01.mp3"][:50_000])
        handler.released.wait(30)

    place.server.replies["/Handel/01.mp3"] = [hold]
    downloads = place.downloads()
    download = place.request(downloads)
    background = place.start(downloads)
    wait_until(lambda: "01.mp3.part" in place.staged())
    background.stop()

    given_back = place.get(download)
    assert (given_back.state, given_back.attempts) == (DownloadState.QUEUED, 0)
    downloads.work_once()
    assert place.landed() == tracks


def test_what_is_over_or_unknown_is_swept_and_what_is_open_stays(place):
    place.server.replies["/Handel/02.flac"] = [status(503)] * 2
    downloads = place.downloads()
    kept = place.fetch(downloads)
    place.serve_album("/Handel/Other.json", album="Other")
    over = place.fetch(downloads, album="Other")
    downloads.cancel(over.id, user="ann")
    (place.music / ".downloads" / "unknown").mkdir()
    downloads.sweep()
    assert {path.name for path in (place.music / ".downloads").iterdir() if path.is_dir()} == {
        kept.key
    }


def test_a_name_in_a_manifest_never_leads_out_of_its_folder(place):
    names = ["../../../evil.mp3", "/etc/passwd.mp3", "..\\..\\x.mp3", ".hidden.mp3"]
    files = [{"url": "01.mp3", "name": name} for name in [*names, "x" * 300 + ".mp3"]]
    place.serve_album(files=files, artist="../..", album="/")
    assert place.fetch().state is DownloadState.DONE
    landed = place.landed("_/_")
    assert set(place.folder.rglob("*.mp3")) == {place.music / "_" / "_" / name for name in landed}
    assert len(landed) == 5
    assert not any(name.startswith(".") or "/" in name or "\\" in name for name in landed)


@pytest.mark.parametrize(
    ("wanted", "error", "told"),
    [
        (
            {"artist": "Handel", "provider": "archive"},
            InputError,
            "'album'; or give a 'url' instead",
        ),
        ({"album": "a"}, InputError, "'artist'"),
        ({"album": "a", "artist": ".."}, InputError, "dots"),
        ({"album": "\ud800", "artist": "b"}, InputError, "'album'"),
        ({"album": " ", "artist": "b"}, InputError, "'album'"),
        ({"album": "a" * 201, "artist": "b"}, InputError, "200"),
        (
            {"album": "a", "artist": "b", "provider": "arkive"},
            NotFoundError,
            "did you mean 'archive'",
        ),
        (
            {"album": "a", "artist": "b", "provider": "archive", "url": "http://93.184.215.14/"},
            InputError,
            "leave out",
        ),
        ({"provider": "url"}, InputError, "'url' is missing"),
        ({"url": "http://no.such.example.org/"}, InvalidUrlError, "cannot be resolved"),
        ({"url": "http://10.0.0.1/"}, InvalidUrlError, "not public"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_when_it_is_made(place, wanted, error, told):
    downloads = place.downloads()
    with pytest.raises(error, match=told):
        downloads.request("ann", **wanted)
    assert downloads.queue.list_downloads() == ([], 0)


def test_without_providers_the_queue_says_so(place):
    downloads = place.downloads(providers={})
    with pytest.raises(InputError, match="none is configured"):
        downloads.request("ann", album="a")
    with pytest.raises(NotFoundError, match=r"no provider 'archive'; providers: none$"):
        downloads.request("ann", provider="archive", album="a")


def test_offline_nothing_is_queued_no_worker_runs_and_no_name_is_asked_for(place, monkeypatch):
    download = place.request(place.downloads())
    asked: list[str] = []
    monkeypatch.setattr(
        type(place), "resolve", lambda _place, host, _port: asked.append(host) or ["93.184.215.14"]
    )
    downloads = place.downloads(offline=True)
    assert downloads.tasks == []
    for wanted in ({"album": "Other"}, {"url": "https://music.example.org/a.mp3"}):
        with pytest.raises(UnavailableError, match="offline"):
            place.request(downloads, **wanted)
    with pytest.raises(InvalidUrlError):
        place.request(downloads, url="http://169.254.169.254/a.mp3")
    assert (asked, place.state(download)) == ([], DownloadState.QUEUED)


@pytest.mark.parametrize(
    ("code", "asked", "waited_s"),
    [
        (503, "", 30),
        (503, "500", 500),
        (429, "600", 600),
        (503, "999999999", LONGEST_RETRY_AFTER_S),
    ],
)
def test_a_server_may_ask_for_a_longer_wait_within_a_bound(place, code, asked, waited_s):
    place.server.replies[MANIFEST] = [status(code, Retry_After=asked)]
    assert place.fetch().next_attempt_at == place.now() + timedelta(seconds=waited_s)


def test_a_transfer_outlives_a_database_that_is_away_for_a_moment(place, monkeypatch, tracks):
    downloads = place.downloads(poll_s=0.01)
    download = place.request(downloads)
    real, failures = downloads.queue.note, [StorageError("the database is away")] * 3

    def note(running: Any, **values: Any) -> None:
        if failures and values.keys() == {"received_bytes"}:
            raise failures.pop()
        real(running, **values)

    monkeypatch.setattr(downloads.queue, "note", note)
    place.server.on_block = lambda _sent: time.sleep(0.02)
    downloads.work_once()
    assert failures == []
    assert place.state(download) is DownloadState.DONE
    assert place.landed() == tracks


def test_a_download_that_is_cancelled_before_it_lands_never_lands(place):
    downloads = place.downloads(poll_s=60)
    download = place.request(downloads)
    place.server.on_block = lambda _sent: (
        place.state(download) is DownloadState.RUNNING and downloads.cancel(download.id, user="ann")
    )
    downloads.work_once()
    assert place.state(download) is DownloadState.CANCELLED
    assert not (place.music / "Handel").exists()
    assert place.staged() == []
