"""Faults of an object store while collections are synced from it: what is served stays whole, and
it is said.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stackroom.assembly.app import App
from stackroom.assembly.sync import publish_catalogue, sync_place
from stackroom.background.background import Background, TaskContext
from stackroom.errors import ExpectedError
from stackroom.model.scope import WHOLE
from stackroom.settings import CollectionSettings, Settings
from stackroom.sources import collections as collection_syncs
from stackroom.sources.collections import PlaceState, load_state, sync_tasks
from support.faulty_proxy import FaultyProxy, every_request, no_fault, running_proxy, some_requests
from support.games import GAMES_SPEC
from support.gcs import GcsServer, running_gcs
from support.late import LateModule, require_lance
from support.libraries import add_rows
from support.processes import wait_until

require_lance()
lancedb = LateModule("lancedb")

PLACE = "gs://bucket/lancedb"
SPEC = f"""{GAMES_SPEC}
[fields.edition]
type = "int"
"""
RECORDS = 8
QUICK_CLIENT = {"CLIENT_MAX_RETRIES": "0", "CLIENT_RETRY_TIMEOUT": "1", "DOWNLOAD_RETRY_COUNT": "0"}


class Bucket:
    """A real server of Cloud Storage behind a faulty proxy, a library that publishes, and one that
    syncs.
    """

    def __init__(self, folder: Path, server: GcsServer, proxy: FaultyProxy) -> None:
        self.folder = folder
        self.server = server
        self.proxy = proxy
        self.here = App(Settings(home=folder / "here"))
        self.there = App(
            Settings(home=folder / "there", collections=CollectionSettings(base_db_path=PLACE))
        )

    def publish(self, edition: int) -> None:
        """Publish an edition, in which every record has its number, and one record is of this
        edition alone.
        """
        path = self.folder / "games.jsonl"
        rows = [
            {"id": f"g{one}", "title": f"Game {one}", "edition": edition} for one in range(RECORDS)
        ]
        rows.append({"id": f"only-{edition}", "title": "Extra", "edition": edition})
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        add_rows(self.here, path, SPEC, "games")
        former, self.proxy.find_fault = self.proxy.find_fault, no_fault
        publish_catalogue(self.here, "games", PLACE, progress=lambda _rows: None)
        self.proxy.find_fault = former

    def sync(self) -> PlaceState:
        """Sync, whatever comes of it."""
        try:
            return sync_place(self.there, PLACE)
        except ExpectedError:
            return load_state(self.there.settings.home, PLACE)

    def served_editions(self) -> set[Any]:
        """Return the editions of the records that are served; refuse where some are missing or left
        over.
        """
        reader = self.there.open_catalogue("games").shelf.reader()
        records = reader.fetch(reader.scan(scope=WHOLE, limit=1000), scope=WHOLE).values()
        editions = {record.get("edition") for record in records}
        expected = {f"g{one}" for one in range(RECORDS)} | {
            f"only-{edition}" for edition in editions
        }
        return editions if {record.id for record in records} == expected else {"a mixture"}


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    former = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in former.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A bucket with one collection, synced once."""
    folder = tmp_path_factory.mktemp("bucket")
    with ExitStack() as stack:
        server = stack.enter_context(running_gcs())
        proxy = stack.enter_context(running_proxy(server.port))
        stack.enter_context(environment(QUICK_CLIENT | server.environment(folder, port=proxy.port)))
        made = Bucket(folder, server, proxy)
        stack.enter_context(closing(made.here))
        stack.enter_context(closing(made.there))
        made.publish(1)
        assert [one.outcome for one in made.sync().collections] == ["synced"]
        yield made


@pytest.mark.row("T7")
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("403", "access is denied"),
        ("short", ""),
    ],
)
def test_a_store_that_fails_at_every_request_changes_nothing_and_is_named(
    bucket: Bucket, fault: str, reason: str
) -> None:
    before = bucket.served_editions()
    bucket.publish(next(iter(before)) + 1)
    bucket.proxy.find_fault = every_request(fault)
    state = bucket.sync()
    assert bucket.served_editions() == before
    problem = state.problem or state.collections[0].problem
    assert problem
    assert reason in problem
    assert not any(detail in problem for detail in (".rs", "Location", "{"))
    bucket.proxy.find_fault = no_fault
    assert [one.problem for one in bucket.sync().collections] == [None]
    assert bucket.served_editions() == {next(iter(before)) + 1}


@pytest.mark.row("T7")
def test_faults_at_random_leave_the_former_version_or_the_new_one(bucket: Bucket) -> None:
    (edition,) = bucket.served_editions()
    for number in range(2):
        bucket.publish(edition + number + 1)
        bucket.proxy.find_fault = some_requests(number, share=0.3)
        bucket.sync()
        (served,) = bucket.served_editions()
        assert edition <= served <= edition + number + 1
    assert sum(bucket.proxy.done.values()) > 0
    bucket.proxy.find_fault = no_fault
    bucket.sync()
    assert bucket.served_editions() == {edition + 2}


# Beside a server


class Looks:
    """Syncs in this process, counts the looks, and fails as it is told."""

    def __init__(self, bucket: Bucket, code: int | None) -> None:
        self.bucket = bucket
        self.count = 0
        self.code = code

    def run(self, _home: Path, place: str, _context: TaskContext) -> int:
        self.count += 1
        return self.code if self.code is not None else self._sync(place)

    def _sync(self, place: str) -> int:
        try:
            sync_place(self.bucket.there, place)
        except ExpectedError as error:
            return error.exit_code
        return 0


@pytest.fixture
def watching(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Looks]]:
    """Start watches, which are ended with the test."""
    background = Background()

    def start(*, refresh_s: float, code: int | None = None) -> Looks:
        collections = CollectionSettings(base_db_path=PLACE, refresh_s=refresh_s)
        settings = Settings(home=bucket.folder / "there", collections=collections)
        looks = Looks(bucket, code)
        monkeypatch.setattr(collection_syncs, "run_sync", looks.run)
        (task,) = sync_tasks(settings)
        background.add(replace(task, first_s=0.0, retry_s=0.02))
        background.start()
        return looks

    yield start
    background.stop()


@pytest.mark.row("T7")
def test_a_server_syncs_at_its_start_and_when_the_version_moves(
    bucket: Bucket, watching: Callable[..., Looks]
) -> None:
    bucket.proxy.find_fault = no_fault
    (edition,) = bucket.served_editions()
    bucket.publish(edition + 1)
    watching(refresh_s=0.05)
    wait_until(lambda: bucket.served_editions() == {edition + 1}, timeout_s=120)
    bucket.publish(edition + 2)
    wait_until(lambda: bucket.served_editions() == {edition + 2}, timeout_s=120)


@pytest.mark.row("T7")
def test_a_sync_that_crashes_is_noted_and_tried_again_after_a_pause(
    bucket: Bucket, watching: Callable[..., Looks]
) -> None:
    looks = watching(refresh_s=0.02, code=-11)
    wait_until(lambda: looks.count >= 3, timeout_s=120)
    state = load_state(bucket.folder / "there", PLACE)
    assert state.problem is not None
    assert "ended by signal 11" in state.problem
    looks.code = None
    wait_until(lambda: load_state(bucket.folder / "there", PLACE).problem is None, timeout_s=120)
    assert bucket.served_editions() != {"a mixture"}
