"""Downloads from request to album, against a real server; only time and name servers are the test's own."""

import errno
import json
import shutil
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from stackroom.errors import InputError, InvalidUrlError, NotFoundError, StorageError, UnavailableError
from stackroom_catalogues.music.downloads import staging
from stackroom_catalogues.music.downloads.queue import DownloadState
from stackroom_catalogues.music.downloads.worker import LONGEST_RETRY_AFTER_S
from support.processes import wait_until

pytestmark = pytest.mark.row("Z8")


def request(downloads: Any, **request: Any) -> Any:
    return downloads.request("ann", **{"artist": "Handel", "album": "Water Music", **request})[0]


def cut(body: bytes, size: int) -> Any:
    return lambda handler: handler.send(200, body[:size], {"ETag": '"a"'}, length=len(body))


def status(code: int, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(code, b"", named)


def test_an_album_lands_whole_and_is_taken_up_and_nothing_is_left_over(place, tracks):
    downloads = place.downloads()
    download = request(downloads)

    assert downloads.worker.work_once()

    assert place.landed() == tracks
    assert place.albums == [place.music / "Handel" / "Water Music"]
    assert [one.id for one in place.finished] == [download.id]
    done = downloads.queue.get(download.id)
    assert (done.state, done.folder, done.error) == (DownloadState.DONE, "Handel/Water Music", None)
    assert done.received_bytes == done.total_bytes == sum(map(len, tracks.values()))
    assert list((place.music / ".downloads").iterdir()) == []
    assert not downloads.worker.work_once()


def test_what_could_not_be_taken_up_of_an_album_is_said_of_it(place, tracks):
    place.on_album = lambda _folder: "not in the catalogue: 01.mp3"
    downloads = place.downloads()
    download = request(downloads)
    downloads.worker.work_once()

    done = downloads.queue.get(download.id)
    assert (done.state, done.attempts) == (DownloadState.DONE, 1)
    assert (done.error_code, done.error) == (None, "not in the catalogue: 01.mp3")
    assert place.landed() == tracks


def test_an_album_of_which_nothing_is_music_fails_and_leaves_nothing_behind(place, tracks):
    place.find_problem = lambda file: f"{file.name} is a page"
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    failed = downloads.queue.get(download.id)
    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "unavailable")
    assert failed.error == "nothing of it can be read as music; '01.mp3': 01.mp3 is a page"
    assert [path.name for path in place.music.rglob("*") if path.name != ".downloads"] == []
    place.find_problem = lambda _file: None
    again = place.downloads()
    again.retry(download.id, user="ann")
    again.worker.work_once()
    assert place.landed() == tracks


def test_nothing_is_fetched_for_whoever_may_not_have_downloads_any_more(place):
    downloads = place.downloads()
    download = request(downloads)
    asked = len(place.server.requests)
    place.find_refusal = lambda one: f"'{one.user}' is gone"

    assert downloads.worker.work_once()

    failed = downloads.queue.get(download.id)
    assert (failed.state, failed.error_code, failed.error) == (DownloadState.FAILED, "forbidden", "'ann' is gone")
    assert len(place.server.requests) == asked
    assert list(place.music.glob(".downloads/*")) == []
    assert not downloads.worker.work_once()


def test_an_album_does_not_land_whose_user_lost_the_right_while_it_came(place):
    answers = iter([None, "'ann' is gone"])
    place.find_refusal = lambda _download: next(answers)
    downloads = place.downloads()
    download = request(downloads)

    assert downloads.worker.work_once()

    failed = downloads.queue.get(download.id)
    assert (failed.state, failed.error_code, failed.error) == (DownloadState.FAILED, "forbidden", "'ann' is gone")
    assert [path.name for path in place.music.rglob("*")] == [".downloads"]
    assert (place.albums, place.finished) == ([], [])


def test_an_album_that_has_begun_to_land_is_taken_up_though_its_user_is_gone(place, tracks):
    def is_full(_folder: Path) -> str | None:
        raise StorageError("the disk is full")

    place.on_album = is_full
    downloads = place.downloads()
    download = request(downloads)
    assert downloads.worker.work_once()
    assert place.state(download) is DownloadState.QUEUED
    place.on_album, place.find_refusal = (lambda _folder: None), (lambda _download: "they are gone")
    place.passed_s += 3600

    assert downloads.worker.work_once()

    assert place.state(download) is DownloadState.DONE
    assert place.landed() == tracks


def test_an_album_of_which_something_is_music_lands(place, tracks):
    place.find_problem = lambda file: None if file.name == "02.flac" else "it is a page"
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    assert place.state(download) is DownloadState.DONE
    assert place.landed() == tracks


def test_the_files_of_an_album_may_be_on_another_server(place, tracks):
    manifest = place.serve_album()
    place.names["elsewhere.example.org"] = ["127.0.0.1"]
    manifest["files"][0]["url"] = f"http://elsewhere.example.org:{place.server.port}/Handel/01.mp3"
    place.server.files["/Handel/Water%20Music.json"] = json.dumps(manifest).encode()
    downloads = place.downloads()
    request(downloads)

    downloads.worker.work_once()

    assert place.landed() == tracks


def test_a_single_track_is_fetched_by_its_address(place, tracks):
    downloads = place.downloads()
    download, _ = downloads.request("ann", url=f"{place.server.url}/Handel/01.mp3?key=1", artist="Handel")
    place.server.files["/Handel/01.mp3?key=1"] = tracks["01.mp3"]

    downloads.worker.work_once()

    assert place.state(download) is DownloadState.DONE
    assert place.landed("Handel/Unknown") == {"01.mp3": tracks["01.mp3"]}


def test_a_manifest_is_fetched_by_its_address_and_the_callers_names_win(place, tracks):
    downloads = place.downloads()
    download, _ = downloads.request("ann", url=f"{place.server.url}/Handel/Water%20Music.json", album="HWV 348")

    downloads.worker.work_once()

    assert place.state(download) is DownloadState.DONE
    assert place.landed("Handel/HWV 348") == tracks


def test_a_transfer_that_is_cut_is_put_off_and_begun_again(place, tracks):
    body = tracks["01.mp3"]
    place.server.replies["/Handel/01.mp3"] = [cut(body, 40_000)]
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()
    put_off = downloads.queue.get(download.id)
    assert (put_off.state, put_off.attempts, put_off.error_code) == (DownloadState.QUEUED, 1, "unavailable")
    assert not downloads.worker.work_once()
    assert place.staged() == []
    place.passed_s += 30
    downloads.worker.work_once()

    assert place.landed() == tracks


@pytest.mark.parametrize("reply", ["done", "failed"])
def test_no_folder_of_a_download_without_files_is_left(place, reply):
    if reply == "failed":
        place.server.replies["/Handel/Water%20Music.json"] = [status(404)]
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    assert downloads.queue.get(download.id).state == reply
    assert [path.name for path in (place.music / ".downloads").iterdir() if path.is_dir()] == []


def test_a_busy_server_says_when_to_come_back(place):
    place.server.replies["/Handel/Water%20Music.json"] = [status(429, Retry_After="600")]
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    put_off = downloads.queue.get(download.id)
    assert (put_off.next_attempt_at - place.now()).total_seconds() == 600


def test_a_download_that_keeps_failing_fails_and_can_be_retried(place, tracks):
    place.server.replies["/Handel/02.flac"] = [status(503)] * 3
    downloads = place.downloads()
    download = request(downloads)

    for _ in range(3):
        assert downloads.worker.work_once()
        place.passed_s += 3600
    failed = downloads.queue.get(download.id)
    assert (failed.state, failed.error) == (DownloadState.FAILED, "the server answered status 503; try again later")
    assert not (place.music / "Handel").exists()
    downloads.retry(download.id, user="ann")
    downloads.worker.work_once()

    assert place.landed() == tracks
    assert len(place.server.asked("/Handel/01.mp3")) == 1


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"nonsense", "manifest is invalid"),
        (b"{}", "files"),
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
    place.server.files["/Handel/Water%20Music.json"] = body
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    failed = downloads.queue.get(download.id)
    assert failed.state is DownloadState.FAILED
    assert told in failed.error
    assert [path for path, _ in place.server.requests] == ["/Handel/Water%20Music.json"]


@pytest.mark.parametrize("code", [404, 403, 410])
def test_an_album_that_the_provider_does_not_have_fails_at_once(place, code):
    place.server.replies["/Handel/Water%20Music.json"] = [status(code)]
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    assert place.state(download) is DownloadState.FAILED


def test_a_file_with_another_checksum_never_lands(place):
    place.server.files["/Handel/01.mp3"] = b"other" * 20_000
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    failed = downloads.queue.get(download.id)
    assert (failed.state, "sha256" in failed.error) == (DownloadState.FAILED, True)
    assert not (place.music / "Handel").exists()


def test_an_album_beyond_the_bound_ends_while_it_comes(place):
    manifest = place.serve_album()
    for file in manifest["files"]:
        del file["size"], file["sha256"]
    place.server.files["/Handel/Water%20Music.json"] = json.dumps(manifest).encode()
    downloads = place.downloads(max_album_bytes=150_000)
    download = request(downloads)

    downloads.worker.work_once()

    failed = downloads.queue.get(download.id)
    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "too_large")
    assert not (place.music / "Handel").exists()


@pytest.mark.parametrize("location", ["http://127.0.0.2:{port}/a", "http://169.254.169.254/", "http://10.0.0.1/a.mp3"])
def test_a_file_that_redirects_inward_fails_the_download(place, location):
    place.server.replies["/Handel/01.mp3"] = [status(302, Location=location.format(port=place.server.port))]
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    failed = downloads.queue.get(download.id)
    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "invalid_url")


def test_a_name_that_leads_inward_by_the_time_it_is_fetched_fails_the_download(place):
    place.names["music.example.org"] = ["93.184.215.14"]
    downloads = place.downloads()
    download, _ = downloads.request("ann", url="http://music.example.org/a.mp3")
    place.names["music.example.org"] = ["10.0.0.1"]

    downloads.worker.work_once()

    failed = downloads.queue.get(download.id)
    assert (failed.state, failed.error_code) == (DownloadState.FAILED, "invalid_url")


def test_the_same_album_again_is_not_doubled(place, tracks):
    downloads = place.downloads()
    request(downloads)
    downloads.worker.work_once()
    second = request(downloads)

    downloads.worker.work_once()

    assert place.state(second) is DownloadState.DONE
    assert place.landed() == tracks


def test_another_edition_lands_beside_what_is_there_and_overwrites_nothing(place, tracks):
    album = place.music / "Handel" / "Water Music"
    album.mkdir(parents=True)
    (album / "01.mp3").write_bytes(b"my own recording")
    (album / "cover.jpg").write_bytes(tracks["cover.jpg"])
    downloads = place.downloads()
    request(downloads)

    downloads.worker.work_once()

    assert place.landed() == {
        "01 (2).mp3": tracks["01.mp3"],
        "01.mp3": b"my own recording",
        "02.flac": tracks["02.flac"],
        "cover.jpg": tracks["cover.jpg"],
    }
    again = request(downloads)
    downloads.worker.work_once()
    assert place.state(again) is DownloadState.DONE
    assert len(place.landed()) == 4


def test_an_album_that_is_not_taken_up_is_tried_again_without_fetching(place, tracks):
    problems = [InputError("the catalogue is broken"), StorageError("the disk is full")]

    def fail(_folder: Path) -> None:
        if problems:
            raise problems.pop(0)

    place.on_album = fail
    downloads = place.downloads()
    download = request(downloads)
    for _ in range(3):
        downloads.worker.work_once()
        place.passed_s += 3600

    assert place.state(download) is DownloadState.DONE
    assert place.landed() == tracks
    assert len(place.albums) == 3
    assert len(place.server.requests) == 4


def test_a_bug_in_taking_up_is_put_off_and_told(place, caplog):
    def fail(_folder: Path) -> None:
        raise ZeroDivisionError

    place.on_album = fail
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    put_off = downloads.queue.get(download.id)
    assert (put_off.state, "ZeroDivisionError" in put_off.error) == (DownloadState.QUEUED, True)
    assert "unexpected error" in caplog.text


def test_what_vanished_from_the_staging_folder_is_fetched_again(place, tracks):
    place.server.replies["/Handel/02.flac"] = [status(503)]
    downloads = place.downloads()
    request(downloads)
    downloads.worker.work_once()
    shutil.rmtree(place.music / ".downloads")
    place.passed_s += 3600

    downloads.worker.work_once()

    assert place.landed() == tracks


def test_a_disk_that_is_full_is_put_off(place, tracks, monkeypatch):
    def full(*_arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    downloads = place.downloads()
    download = request(downloads)
    with monkeypatch.context() as patched:
        patched.setattr(staging, "sync_folder", full)
        downloads.worker.work_once()
    put_off = downloads.queue.get(download.id)
    assert (put_off.state, put_off.error_code) == (DownloadState.QUEUED, "storage")
    place.passed_s += 3600
    downloads.worker.work_once()

    assert place.landed() == tracks


def test_a_provider_that_is_gone_fails_the_download(place):
    download = request(place.downloads())
    downloads = place.downloads(providers={})

    downloads.worker.work_once()

    assert place.state(download) is DownloadState.FAILED


def test_the_worker_does_what_is_queued_and_what_is_cancelled_stops(place, tracks):
    place.server.on_block = lambda sent: time.sleep(0.01) if sent > 32_000 else None
    downloads = place.downloads()
    first = request(downloads)
    place.start(downloads)
    wait_until(place.staged)
    downloads.cancel(first.id, user="ann")
    wait_until(lambda: not place.staged())
    assert not (place.music / "Handel").exists()
    place.server.on_block = lambda _sent: None

    second = request(downloads)
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
    download = request(downloads)
    background = place.start(downloads)
    wait_until(lambda: "01.mp3.part" in place.staged())
    background.stop()

    assert place.state(download) is DownloadState.QUEUED
    assert downloads.queue.get(download.id).attempts == 0
    downloads.worker.work_once()
    assert place.landed() == tracks


def test_a_worker_that_cannot_be_left_does_not_keep_the_server_from_stopping(place):
    begun, goes_on = threading.Event(), threading.Event()

    def take_up(_folder: Any) -> None:
        begun.set()
        goes_on.wait()

    place.on_album = take_up
    downloads = place.downloads()
    download = request(downloads)
    background = place.start(downloads)
    assert begun.wait(120)
    background.stop(1)
    goes_on.set()

    wait_until(lambda: place.state(download) is DownloadState.DONE)


def test_two_processes_bring_each_album_once(place, tracks):
    for number in range(5):
        place.serve_album(f"/Handel/Album%20{number}.json", album=f"Album {number}")
    pools = [place.downloads(), place.downloads()]
    downloads = [request(pools[0], album=f"Album {number}") for number in range(5)]
    for pool in pools:
        place.start(pool)
    wait_until(lambda: len(place.finished) == 5)

    assert sorted(one.id for one in place.finished) == [one.id for one in downloads]
    for number in range(5):
        assert place.landed(f"Handel/Album {number}") == tracks


def test_what_is_over_or_unknown_is_swept_and_what_is_open_stays(place):
    place.server.replies["/Handel/02.flac"] = [status(503)] * 2
    downloads = place.downloads()
    kept = request(downloads)
    downloads.worker.work_once()
    place.serve_album("/Handel/Other.json", album="Other")
    over = request(downloads, album="Other")
    downloads.worker.work_once()
    downloads.cancel(over.id, user="ann")
    (place.music / ".downloads" / "unknown").mkdir()

    downloads.worker.sweep()

    folders = {path.name for path in (place.music / ".downloads").iterdir() if path.is_dir()}
    assert folders == {kept.key}


def test_a_name_in_a_manifest_never_leads_out_of_its_folder(place, tracks):
    names = ["../../../evil.mp3", "/etc/passwd.mp3", "..\\..\\x.mp3", "con.mp3", ".hidden.mp3", "a\u202egnp.mp3"]
    files = [{"url": "01.mp3", "name": name} for name in [*names, "x" * 300 + ".mp3"]]
    place.serve_album(files=files, artist="../..", album="/")
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    assert place.state(download) is DownloadState.DONE
    landed = place.landed("_/_")
    assert set(place.folder.rglob("*.mp3")) == {place.music / "_" / "_" / name for name in landed}
    assert len(landed) == 7
    assert not any(name.startswith(".") or "/" in name or "\\" in name for name in landed)


@pytest.mark.parametrize(
    ("wanted", "error", "told"),
    [
        ({"artist": "Handel", "provider": "archive"}, InputError, "'album'; or give a 'url' instead"),
        ({"album": "a"}, InputError, "'artist'"),
        ({"album": "a", "artist": ".."}, InputError, "dots"),
        ({"album": "a\x00", "artist": "b"}, InputError, "'album'"),
        ({"album": "\ud800", "artist": "b"}, InputError, "'album'"),
        ({"album": " ", "artist": "b"}, InputError, "'album'"),
        ({"album": "a" * 201, "artist": "b"}, InputError, "200"),
        ({"album": "a", "artist": "b", "provider": "arkive"}, NotFoundError, "did you mean 'archive'"),
        ({"album": "a", "artist": "b", "provider": "archive", "url": "http://93.184.215.14/"}, InputError, "leave out"),
        ({"provider": "url"}, InputError, "'url' is missing"),
        ({"url": "http://no.such.example.org/"}, InvalidUrlError, "cannot be resolved"),
        ({"url": "http://10.0.0.1/"}, InvalidUrlError, "not public"),
        ({"url": "http://10.0.0.1/", "provider": "none", "album": ""}, InvalidUrlError, "not public"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_when_it_is_made(place, wanted, error, told):
    downloads = place.downloads()

    with pytest.raises(error, match=told):
        downloads.request("ann", **wanted)
    assert downloads.queue.list_downloads() == ([], 0)


def test_without_providers_the_queue_says_so(place):
    with pytest.raises(InputError, match="none is configured"):
        place.downloads(providers={}).request("ann", album="a")
    with pytest.raises(NotFoundError, match=r"no provider 'archive'; providers: none$"):
        place.downloads(providers={}).request("ann", provider="archive", album="a")


def test_offline_not_even_a_name_is_asked_for(place, monkeypatch):
    downloads = place.downloads(offline=True)
    asked: list[str] = []
    monkeypatch.setattr(type(place), "_resolve", lambda _place, host, _port: asked.append(host) or ["93.184.215.14"])

    with pytest.raises(UnavailableError, match="offline"):
        place.downloads(offline=True).request("ann", url="https://music.example.org/a.mp3")
    with pytest.raises(InvalidUrlError):
        downloads.request("ann", url="http://169.254.169.254/a.mp3")
    assert asked == []


def test_offline_nothing_is_queued_and_no_worker_runs(place):
    download = request(place.downloads())
    downloads = place.downloads(offline=True)
    assert downloads.tasks == []

    with pytest.raises(UnavailableError, match="offline"):
        request(downloads, album="Other")
    assert place.state(download) is DownloadState.QUEUED


@pytest.mark.parametrize(("asked", "waited_s"), [("", 30), ("500", 500), ("999999999", LONGEST_RETRY_AFTER_S)])
def test_a_server_may_ask_for_a_longer_wait_within_a_bound(place, asked, waited_s):
    place.server.replies["/Handel/Water%20Music.json"] = [status(503, Retry_After=asked)]
    downloads = place.downloads()
    download = request(downloads)

    downloads.worker.work_once()

    assert downloads.queue.get(download.id).next_attempt_at == place.now() + timedelta(seconds=waited_s)


def test_a_failure_of_the_database_does_not_end_the_worker(place, monkeypatch, caplog):
    downloads = place.downloads()
    real = downloads.queue.take_next
    failures: list[Exception] = [StorageError("the database is away"), ZeroDivisionError()]

    def take_next() -> Any:
        if failures:
            raise failures.pop(0)
        return real()

    monkeypatch.setattr(downloads.queue, "take_next", take_next)
    download = request(downloads)
    background = place.start(downloads)
    for runs in (1, 2):
        assert background.wait_for("downloads", runs=runs, timeout_s=20)
        background.wake("downloads")
    wait_until(lambda: place.state(download) is DownloadState.DONE)

    assert "the database is away" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_transfer_outlives_a_database_that_is_away_for_a_moment(place, monkeypatch, tracks):
    downloads = place.downloads(poll_s=0.01)
    real = downloads.queue.note_progress
    failures = [StorageError("the database is away")] * 3

    def note_progress(*arguments: Any, **named: Any) -> None:
        if failures:
            raise failures.pop(0)
        real(*arguments, **named)

    monkeypatch.setattr(downloads.queue, "note_progress", note_progress)
    place.server.on_block = lambda _sent: time.sleep(0.02)
    download = request(downloads)
    downloads.worker.work_once()

    assert failures == []
    assert place.state(download) is DownloadState.DONE
    assert place.landed() == tracks


def test_a_download_that_is_cancelled_before_it_lands_never_lands(place):
    downloads = place.downloads(poll_s=60)
    download = request(downloads)
    place.server.on_block = lambda _sent: (
        downloads.queue.get(download.id).state is DownloadState.RUNNING and downloads.cancel(download.id, user="ann")
    )

    downloads.worker.work_once()

    assert place.state(download) is DownloadState.CANCELLED
    assert not (place.music / "Handel").exists()
    assert place.staged() == []
