"""Faults injected before a store while a server syncs from it and is asked all the time: none may
touch an answer.
"""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import httpx

from object_storage.stores import Store
from stackroom.assembly.app import App
from stackroom.assembly.build import add_catalogue, own_recipe
from stackroom.assembly.sync import publish_catalogue
from stackroom.background.background import Background
from stackroom.catalogue.compiler import LoadedSpec, compile_text
from stackroom.settings import CollectionSettings, Settings
from stackroom.sources.collections import sync_tasks
from stackroom.sources.json_rows import JsonRows
from support.faulty_proxy import FaultyProxy, no_fault, running_proxy, some_requests
from support.games import GAMES_SPEC
from support.processes import ServerProcess, becomes

NAMES = (
    "Azul",
    "Brass",
    "Catan",
    "Dixit",
    "Eclipse",
    "Furnace",
    "Hanabi",
    "Inis",
    "Jaipur",
    "Kingdomino",
)
EDITION = re.compile(r"edition (\d+)")
SHARE = 0.35
PAUSE_S = 0.05
LONGEST_S = 900.0


@dataclass(slots=True, kw_only=True)
class FaultReport:
    """What was injected, and what callers saw of it."""

    store: str
    faults: Counter[str] = field(default_factory=Counter)
    searches: int = 0
    failed: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    editions: set[int] = field(default_factory=set)
    told: int = 0
    """How often the health named the failing place."""
    ends_in_time: bool = True

    @property
    def is_good(self) -> bool:
        """Whether no search failed or was of two editions, and the copy followed the table."""
        return not (self.failed or self.mixed) and self.ends_in_time and len(self.editions) > 1


def inject(store: Store, folder: Path, *, faults: int, seed: int) -> FaultReport:
    """Serve a collection of a store behind a faulty proxy, until so many faults were injected."""
    assert store.port is not None
    with running_proxy(store.port) as proxy:
        publisher = _Publisher(store, folder)
        with closing(publisher.app):
            publisher.publish()
            return _run(store, folder, publisher, proxy, faults=faults, seed=seed)


class _Publisher:
    """Publishes one edition after another, in which every record has the number of the edition."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.path = folder / "games.jsonl"
        self.app = App(Settings(home=folder / "here"))
        self.edition = 2000
        self.recipe = own_recipe(
            LoadedSpec(spec=compile_text(GAMES_SPEC, origin="games"), declaration=GAMES_SPEC)
        )

    def publish(self) -> None:
        """Publish the next edition, past the proxy."""
        self.edition += 1
        rows = [{"id": name.lower(), "title": f"{name} edition {self.edition}"} for name in NAMES]
        self.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        source = JsonRows(self.path)
        add_catalogue(
            self.app,
            source,
            recipe=self.recipe,
            name="games",
            progress=lambda _report: None,
            embed=False,
        )
        with patch.dict("os.environ", self.store.environment):
            publish_catalogue(self.app, "games", self.store.place, progress=lambda _rows: None)


def _run(
    store: Store, folder: Path, publisher: _Publisher, proxy: FaultyProxy, *, faults: int, seed: int
) -> FaultReport:
    report = FaultReport(store=store.name)
    environment = {
        **store.environment_by(proxy.port),
        "base_db_path": store.place,
        "STACKROOM_COLLECTIONS": "games",  # so that a server that is ready serves it
    }
    server = ServerProcess(
        folder / "there",
        "--no-accounts",
        environment={**environment, "STACKROOM_COLLECTIONS_REFRESH_S": "0"},
    )
    try:
        with _asking(server.url, report), _syncing(store, folder / "there", environment):
            proxy.find_fault = some_requests(seed, share=SHARE)
            deadline = time.monotonic() + LONGEST_S
            while sum(proxy.done.values()) < faults and time.monotonic() < deadline:
                time.sleep(4)
                publisher.publish()
                print(
                    f"{store.name}: {sum(proxy.done.values())} faults, {report.searches} searches",
                    flush=True,
                )
            report.faults = Counter(proxy.done)
            proxy.find_fault = no_fault
            # within the longest pause after a failure
            report.ends_in_time = becomes(
                lambda: publisher.edition in report.editions, timeout_s=LONGEST_S
            )
    finally:
        server.stop()
    return report


@contextmanager
def _syncing(store: Store, home: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Sync as servers do, by processes, but without the pauses between and after failures."""
    collections = CollectionSettings(base_db_path=store.place, names=("games",), refresh_s=0.1)
    (task,) = sync_tasks(Settings(home=home, collections=collections))
    background = Background()
    background.add(replace(task, first_s=0.0, retry_s=0.1, longest_retry_s=0.5))
    with patch.dict("os.environ", environment):
        background.start()
        try:
            yield
        finally:
            background.stop()


@contextmanager
def _asking(url: str, report: FaultReport) -> Iterator[None]:
    """Search all the time, from another thread."""
    stopped = threading.Event()
    asker = threading.Thread(target=_ask, args=(url, report, stopped))
    asker.start()
    try:
        yield
    finally:
        stopped.set()
        asker.join()


def _ask(url: str, report: FaultReport, stopped: threading.Event) -> None:
    arguments = {"query": "edition", "limit": len(NAMES)}
    with httpx.Client(base_url=url, timeout=30) as client:
        while not stopped.wait(PAUSE_S):
            answer = client.post("/v1/tools/search", json=arguments)
            report.searches += 1
            if answer.status_code != 200:
                report.failed.append(answer.text[:300])
                continue
            _judge(answer.text, report)
            if report.searches % 20 == 0:
                report.told += bool(client.get("/health").json()["degraded"])


def _judge(answer: str, report: FaultReport) -> None:
    """Note an answer that is of several editions, or does not have every name."""
    editions = {int(number) for number in EDITION.findall(answer)}
    missing = [name for name in NAMES if name not in answer]
    if len(editions) != 1 or missing:
        report.mixed.append(f"editions {sorted(editions)}, without {missing}: {answer[:300]}")
    report.editions |= editions
