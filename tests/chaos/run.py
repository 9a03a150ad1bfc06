"""One chaos run from beginning to end."""

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from chaos.actors import Actor, Damage, Downloader, Editor, JobStarter, Keeper, Searcher, found_ids
from chaos.client import Caller
from chaos.faults import Conductor
from chaos.record import Record
from chaos.verdict import (
    ask_doctor,
    count_acknowledged,
    find_audit_gaps,
    find_losses,
    find_lost_albums,
    find_lost_users,
)
from chaos.world import UNEDITED, World, made_world
from stackroom.control.control import Control

QUERIES: Mapping[str, Sequence[str]] = {
    "dnd": (
        "dragon breath",
        "falling damage",
        "healing potion",
        "grappled",
        "long rest",
        "goblin ambush",
        "counterspell",
    ),
    "anime": (
        "space pirates",
        "high school romance",
        "giant robots",
        "cooking",
        "detective",
        "time travel",
        "football",
    ),
}
PAUSE_S = 4
"""Seconds of quiet between two faults."""
LAST_DOWNLOADS_S = 120


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    record: Record
    acknowledged: Mapping[str, int]
    problems: Sequence[str]
    starts: int
    has_disk: bool


def run_chaos(folder: Path, *, minutes: float, seed: int) -> Outcome:
    """Make a world, let it go wrong for some minutes, and judge it."""
    chance, damage = random.Random(seed), Damage()
    with made_world(folder) as world:
        record = Record()
        turns = random.Random(seed + 1)

        def find_url() -> str:
            urls = [place.url for place in world.places if place.url]
            return turns.choice(urls) if urls else "http://127.0.0.1:9"

        def caller(actor: str, user: str) -> Caller:
            return Caller(actor, world.tokens[user], find_url, record, str(world.home))

        expected = ask_all(caller("beginning", "reader"))
        editors = [Editor(caller(name, name), record, seed) for name in ("editor-1", "editor-2")]
        searchers = [
            Searcher(
                caller(f"reader {number}", "reader"),
                record,
                seed + number,
                expected=expected,
                damage=damage,
            )
            for number in range(3)
        ]
        downloader = Downloader(caller("downloader", "admin"), record, seed)
        keeper = Keeper(caller("keeper", "keeper"), record, seed)
        actors: list[Actor] = [
            *editors,
            *searchers,
            downloader,
            keeper,
            JobStarter(caller("jobs", "admin"), record, seed),
        ]
        conductor = Conductor(world, record, damage, caller("conductor", "admin"), chance)
        for actor in actors:
            actor.start()
        let_faults_happen(conductor, minutes=minutes)
        for actor in actors:
            actor.stop()
        losses = judge(world, record, caller("judge", "admin"), editors, downloader, keeper)
        again = ask_all(caller("end", "reader"))
        changed = [
            f"the answer to {query!r} in {name} changed"
            for (name, query), ids in again.items()
            if ids != expected[name, query]
        ]
        problems = [*record.problems(), *losses, *changed]
        acknowledged = count_acknowledged(editors, downloader, keeper)
        starts = sum(place.starts for place in world.places)
        return Outcome(record, acknowledged, problems, starts, world.disk is not None)


def ask_all(caller: Caller) -> dict[tuple[str, str], list[str]]:
    """Ask every question, and return the ids that are found."""
    answers = {}
    for name in UNEDITED:
        for query in QUERIES[name]:
            answer = caller.call("search", catalogue=name, query=query)
            assert answer.is_ok, answer
            answers[name, query] = found_ids(answer)
    caller.close()
    return answers


def let_faults_happen(conductor: Conductor, *, minutes: float) -> None:
    """Bring about faults in a random order, each as often as the others, until the time is over."""
    ends_at = time.monotonic() + minutes * 60
    names: list[str] = []
    shown = 0
    while time.monotonic() < ends_at:
        if not names:
            names = list(conductor.list_faults())
            conductor.chance.shuffle(names)
        entry = conductor.bring_about(names.pop())
        told = (
            f"told after {entry.told_after_s:.1f} s ({entry.told_by})"
            if entry.told_after_s is not None
            else ""
        )
        well = (
            f"well after {entry.well_after_s:.1f} s"
            if entry.well_after_s is not None
            else "NOT WELL"
        )
        print(f"{entry.began_at:6.0f} s  {entry.name}: {told}, {well}", flush=True)
        for problem in conductor.record.wrong[shown:]:
            shown += 1
            print(f"          WRONG {problem}", flush=True)
        time.sleep(PAUSE_S)


def judge(
    world: World,
    record: Record,
    caller: Caller,
    editors: Sequence[Editor],
    downloader: Downloader,
    keeper: Keeper,
) -> list[str]:
    """Return everything that was acknowledged and is lost, and everything that is not whole."""
    folder = world.home / "downloaded"
    ends_at = time.monotonic() + LAST_DOWNLOADS_S
    while (albums := find_lost_albums(downloader, caller, folder)) and time.monotonic() < ends_at:
        time.sleep(1)
    losses = find_losses(editors, caller)
    caller.close()
    with closing(Control.open(world.settings)) as control:
        users = find_lost_users(keeper, control)
        gaps = find_audit_gaps(world, control, editors)
    return [*losses, *albums, *users, *gaps, *ask_doctor(world)]
